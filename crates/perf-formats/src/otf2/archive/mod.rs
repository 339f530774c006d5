//! [`Archive`]: source of the bytes of an OTF2 archive, implemented for a folder ([`DiskArchive`])
//! and for members in memory ([`MemoryArchive`]).

pub(super) mod anchor;
pub(super) mod discovery;
pub(super) mod files;

use crate::{Error, Result};
use discovery::{Located, locate};
use perf_core::Place;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The members of an archive, by name. `/` separates folder and file: `traces/0.evt`.
///
/// Implement this trait to read archives from other sources: a tar file, an object store, a
/// browser.
///
/// ```
/// use perf_core::Job;
/// use perf_formats::{OpenOptions, otf2::{Archive, MemoryArchive, Reader, write}};
/// use std::io;
/// # let trace = perf_core::samples::cosmo::trace();
/// # let mut archive = MemoryArchive::default();
/// # write(trace.view(), &mut archive, &Default::default(), &Job::default())?;
/// /// Members below a prefix, as in a tar file.
/// struct Below(&'static str, MemoryArchive);
///
/// impl Archive for Below {
///     fn members(&self, folder: &str) -> io::Result<Vec<String>> {
///         let inner = self.1.members(&format!("{}/{folder}", self.0).replace("//", "/"))?;
///         let name = |one: String| one.strip_prefix(self.0).map(|rest| rest[1..].to_string());
///         Ok(inner.into_iter().filter_map(name).collect())
///     }
///     fn size(&self, member: &str) -> io::Result<u64> {
///         self.1.size(&format!("{}/{member}", self.0))
///     }
///     fn read_at(&self, member: &str, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
///         self.1.read_at(&format!("{}/{member}", self.0), offset, buffer)
///     }
/// }
/// # let mut moved = MemoryArchive::default();
/// # for folder in ["", "traces"] {
/// #     for member in archive.members(folder)? {
/// #         let mut bytes = vec![0; archive.size(&member)? as usize];
/// #         archive.read_at(&member, 0, &mut bytes)?;
/// #         moved.insert(&format!("run/{member}"), bytes);
/// #     }
/// # }
///
/// let reader = Reader::new(Below("run", moved), &OpenOptions::new(), &Job::default())?;
/// assert_eq!(reader.read()?.0.len(), trace.len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Archive: Send + Sync {
    /// Returns the names of the members in `folder` (`""` for the top) in ascending order, without
    /// those in its subfolders. The list is empty if there is no such folder.
    ///
    /// # Errors
    ///
    /// Returns the errors of the source.
    fn members(&self, folder: &str) -> io::Result<Vec<String>>;

    /// Returns the size of a member in bytes.
    ///
    /// # Errors
    ///
    /// Returns [`io::ErrorKind::NotFound`] if there is no such member, and the errors of the
    /// source.
    fn size(&self, member: &str) -> io::Result<u64>;

    /// Reads from byte `offset` of a member until `buffer` is full or the member ends. Returns the
    /// number of bytes read.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`size`](Self::size).
    fn read_at(&self, member: &str, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;
}

impl<A: Archive + ?Sized> Archive for Box<A> {
    fn members(&self, folder: &str) -> io::Result<Vec<String>> {
        (**self).members(folder)
    }

    fn size(&self, member: &str) -> io::Result<u64> {
        (**self).size(member)
    }

    fn read_at(&self, member: &str, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        (**self).read_at(member, offset, buffer)
    }
}

impl<A: Archive + ?Sized> Archive for &A {
    fn members(&self, folder: &str) -> io::Result<Vec<String>> {
        (**self).members(folder)
    }

    fn size(&self, member: &str) -> io::Result<u64> {
        (**self).size(member)
    }

    fn read_at(&self, member: &str, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        (**self).read_at(member, offset, buffer)
    }
}

/// An archive in a folder of the file system.
///
/// Files are opened for each read and closed again. An archive of many thousand locations therefore
/// needs no more open files than there are reading threads.
///
/// ```
/// use perf_formats::otf2::{Archive, DiskArchive};
/// let archive = DiskArchive::new("../../data/recordings/jacobi-4");
/// let members = archive.members("")?;
/// assert!(members.contains(&"eztrace_log.otf2".to_string()), "{members:?}");
/// assert!(archive.size("eztrace_log.def")? > 0);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct DiskArchive {
    /// Folder of the archive.
    pub(super) root: PathBuf,
}

impl DiskArchive {
    /// Creates an archive from the folder of its anchor and global definitions.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        DiskArchive { root: root.into() }
    }

    /// Returns the folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn path(&self, member: &str) -> PathBuf {
        let mut path = self.root.clone();
        path.extend(member.split('/'));
        path
    }
}

impl Archive for DiskArchive {
    fn members(&self, folder: &str) -> io::Result<Vec<String>> {
        let path = if folder.is_empty() {
            self.root.clone()
        } else {
            self.path(folder)
        };
        let entries = match std::fs::read_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            // Archives have ASCII member names, so a name that is not UTF-8 cannot be a member.
            if let Some(name) = name.to_str()
                && entry.path().is_file()
            {
                names.push(join(folder, name));
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn size(&self, member: &str) -> io::Result<u64> {
        let metadata = std::fs::metadata(self.path(member))?;
        if metadata.is_file() {
            Ok(metadata.len())
        } else {
            Err(io::ErrorKind::NotFound.into())
        }
    }

    fn read_at(&self, member: &str, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut file = File::open(self.path(member))?;
        if offset > 0 {
            file.seek(SeekFrom::Start(offset))?;
        }
        fill(&mut file, buffer)
    }
}

/// An archive in memory: the bytes of each member by name.
///
/// ```
/// use perf_formats::otf2::{Archive, MemoryArchive};
/// let members = MemoryArchive::from_iter([("traces/0.evt".to_string(), vec![3, 0x42])]);
/// assert_eq!(members.size("traces/0.evt")?, 2);
/// assert_eq!(members.members("traces")?, ["traces/0.evt"]);
/// assert!(members.members("")?.is_empty());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct MemoryArchive {
    /// Bytes of each member by name.
    members: BTreeMap<String, Vec<u8>>,
}

impl MemoryArchive {
    /// Reads all members of the archive in a folder into memory.
    ///
    /// # Errors
    ///
    /// Returns the errors of the file system.
    pub fn read(path: &Path) -> Result<Self> {
        let Located {
            folder,
            anchor,
            name,
        } = locate(path)?;
        let mut members = MemoryArchive::default();
        let mut names = vec![anchor, format!("{name}.def")];
        let at = |name: &str| Place::file(folder.path(name).to_string_lossy().into_owned());
        names.extend(folder.members(&name).map_err(|source| Error::Io {
            place: at(&name),
            source,
        })?);
        for name in names {
            match std::fs::read(folder.path(&name)) {
                Ok(bytes) => members.insert(name, bytes),
                Err(source) if source.kind() == io::ErrorKind::NotFound => {}
                Err(source) => {
                    let place = at(&name);
                    return Err(Error::Io { place, source });
                }
            }
        }
        Ok(members)
    }

    /// Adds a member, or replaces it.
    pub fn insert(&mut self, name: impl Into<String>, bytes: Vec<u8>) {
        self.members.insert(name.into(), bytes);
    }

    /// Removes a member and returns its bytes.
    pub fn remove(&mut self, name: &str) -> Option<Vec<u8>> {
        self.members.remove(name)
    }

    /// Returns the bytes of a member.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.members.get(name).map(Vec::as_slice)
    }

    /// Returns the bytes of a member for modification.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Vec<u8>> {
        self.members.get_mut(name)
    }

    /// Iterates over names and bytes, in ascending order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.members
            .iter()
            .map(|(name, bytes)| (name.as_str(), bytes.as_slice()))
    }
}

impl FromIterator<(String, Vec<u8>)> for MemoryArchive {
    fn from_iter<T: IntoIterator<Item = (String, Vec<u8>)>>(members: T) -> Self {
        MemoryArchive {
            members: members.into_iter().collect(),
        }
    }
}

impl Archive for MemoryArchive {
    fn members(&self, folder: &str) -> io::Result<Vec<String>> {
        let inside = |name: &&String| match name.rsplit_once('/') {
            Some((parent, _)) => parent == folder,
            None => folder.is_empty(),
        };
        Ok(self.members.keys().filter(inside).cloned().collect())
    }

    fn size(&self, member: &str) -> io::Result<u64> {
        let bytes = self.members.get(member).ok_or(io::ErrorKind::NotFound)?;
        Ok(bytes.len() as u64)
    }

    fn read_at(&self, member: &str, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.members.get(member).ok_or(io::ErrorKind::NotFound)?;
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        // Nothing can be read beyond the end, as in a file.
        let mut rest = bytes.get(start..).unwrap_or_default();
        fill(&mut rest, buffer)
    }
}

fn fill(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut done = 0;
    while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match from.read(rest) {
            Ok(0) => break,
            Ok(some) => done += some,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

pub(crate) fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() {
        name.to_string()
    } else {
        format!("{folder}/{name}")
    }
}
