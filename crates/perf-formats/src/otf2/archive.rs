//! Where the bytes of an archive come from: a folder, or members in memory.

use crate::{Error, Result};
use perf_core::Place;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The members of an archive, by name. `/` separates folder and file: `traces/0.evt`.
///
/// Implement it to read archives from anywhere else: a tar file, an object store, a browser.
///
/// ```
/// use perf_formats::{OpenOptions, otf2::{Archive, MemoryArchive, Reader, write}};
/// use std::io;
/// # let trace = perf_testdata::cosmo::trace();
/// # let mut archive = MemoryArchive::default();
/// # write(trace.view(), &mut archive, &Default::default(), &(), &Default::default())?;
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
/// let reader = Reader::new(Below("run", moved), &OpenOptions::new())?;
/// assert_eq!(reader.read()?.0.len(), trace.len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Archive: Send + Sync {
    /// Names of the members in `folder` (`""` for the top), without those of folders below it,
    /// in ascending order. Empty where there is no such folder.
    ///
    /// # Errors
    /// What the source says.
    fn members(&self, folder: &str) -> io::Result<Vec<String>>;

    /// Size of a member in bytes.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] for a member that is not there, and what the source says.
    fn size(&self, member: &str) -> io::Result<u64>;

    /// Reads from byte `offset` of a member until `buffer` is full or the member ends, and says
    /// how many bytes that were.
    ///
    /// # Errors
    /// As [`size`](Self::size).
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
/// Files are opened for each read and closed again, so that an archive of many thousand locations
/// needs no more open files than there are threads that read.
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
    root: PathBuf,
}

impl DiskArchive {
    /// The archive whose anchor and global definitions lie in `root`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        DiskArchive { root: root.into() }
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn path(&self, member: &str) -> PathBuf {
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
            // A name that is not UTF-8 is none of ours.
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
    members: BTreeMap<String, Vec<u8>>,
}

impl MemoryArchive {
    /// All members of the archive in a folder, read into memory.
    ///
    /// # Errors
    /// What the file system says.
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

    /// Takes a member out.
    pub fn remove(&mut self, name: &str) -> Option<Vec<u8>> {
        self.members.remove(name)
    }

    /// The bytes of a member.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.members.get(name).map(Vec::as_slice)
    }

    /// The bytes of a member, to change them.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Vec<u8>> {
        self.members.get_mut(name)
    }

    /// Names and bytes, in ascending order of the names.
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

/// Where an archive is: the folder of its anchor, the anchor, and the name of its other files.
#[derive(Debug)]
pub(crate) struct Located {
    pub(crate) folder: DiskArchive,
    /// The anchor in that folder, which may be missing.
    pub(crate) anchor: String,
    /// What definitions and event files are called by: usually what comes before `.otf2`.
    pub(crate) name: String,
}

/// Finds an archive from the path of its anchor, of the folder that holds it, or of the folder of
/// its event files.
pub(crate) fn locate(path: &Path) -> Result<Located> {
    // Without a slash at the end, which only folders may have.
    let path: PathBuf = path.components().collect();
    let text = path.to_string_lossy().into_owned();
    let failed = |source| Error::Io {
        place: Place::file(text.as_str()),
        source,
    };
    let not_utf8 = || Error::Malformed {
        place: Place::file(text.as_str()),
        expected: "a file name in UTF-8".into(),
        got: "another".into(),
    };
    if path.is_dir() {
        let folder = DiskArchive::new(&path);
        if is_event_folder(&folder) {
            let (parent, name) = split(&path).map_or_else(
                // Such as `.`, whose name the system knows.
                || split(&path.canonicalize().map_err(failed)?).ok_or_else(not_utf8),
                Ok,
            )?;
            let here = DiskArchive::new(parent);
            let anchor = format!("{name}.otf2");
            if !here.path(&anchor).is_file()
                && let Ok(real) = path.canonicalize()
                && let Some((parent, name)) = split(&real)
                && parent.join(format!("{name}.otf2")).is_file()
            {
                return Ok(Located {
                    folder: DiskArchive::new(parent),
                    anchor: format!("{name}.otf2"),
                    name,
                });
            }
            return Ok(Located {
                folder: here,
                anchor,
                name,
            });
        }
        return match find_anchor(&folder) {
            Ok(anchor) => Ok(named(folder, anchor)),
            Err(error) => match find_folder(&path) {
                Some(name) if !has_anchor(&folder) => Ok(Located {
                    folder,
                    anchor: format!("{name}.otf2"),
                    name,
                }),
                _ => Err(error.in_file(&text)),
            },
        };
    }
    let (parent, file) = split(&path).ok_or_else(not_utf8)?;
    let folder = DiskArchive::new(parent);
    let stem = file.strip_suffix(".otf2").unwrap_or(&file);
    let is_here = is_beside(&folder, stem);
    if let Err(source) = std::fs::metadata(&path) {
        // Other files may be there where the anchor is not.
        return if is_here {
            Ok(Located {
                folder,
                anchor: format!("{stem}.otf2"),
                name: stem.to_string(),
            })
        } else {
            Err(failed(source))
        };
    }
    if !is_here
        && let Ok(real) = path.canonicalize()
        && real != path
        && let Some((parent, file)) = split(&real)
    {
        // A link to an anchor leads to the files beside that.
        let there = DiskArchive::new(parent);
        if is_beside(&there, file.strip_suffix(".otf2").unwrap_or(&file)) {
            return Ok(named(there, file));
        }
    }
    Ok(named(folder, file))
}

/// The folder of a path and its name.
fn split(path: &Path) -> Option<(PathBuf, String)> {
    let name = path.file_name()?.to_str()?.to_string();
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    Some((parent.unwrap_or(Path::new(".")).to_path_buf(), name))
}

/// An archive by its anchor, whose other files may have another name.
fn named(folder: DiskArchive, anchor: String) -> Located {
    let mut name = name_of(&folder, &anchor);
    if !is_beside(&folder, &name)
        && let Some(other) = find_folder(&folder.root)
    {
        name = other;
    }
    Located {
        folder,
        anchor,
        name,
    }
}

/// Whether there are definitions or event files of this name.
fn is_beside(archive: &dyn Archive, name: &str) -> bool {
    archive.size(&format!("{name}.def")).is_ok()
        || archive.members(name).is_ok_and(|all| !all.is_empty())
}

/// The name of the files that belong to an anchor: its own, or where there are none that of the only
/// definitions that no other anchor claims.
pub(crate) fn name_of(archive: &dyn Archive, anchor: &str) -> String {
    let own = anchor.strip_suffix(".otf2").unwrap_or(anchor);
    if is_beside(archive, own) {
        return own.to_string();
    }
    let members = archive.members("").unwrap_or_default();
    let has = |name: String| members.contains(&name);
    let mut free = members
        .iter()
        .filter_map(|member| member.strip_suffix(".def"))
        .filter(|name| !has(format!("{name}.otf2")));
    match (free.next(), free.next()) {
        (Some(only), None) => only.to_string(),
        _ => own.to_string(),
    }
}

fn has_anchor(folder: &DiskArchive) -> bool {
    let members = folder.members("").unwrap_or_default();
    members.iter().any(|name| name.ends_with(".otf2"))
}

/// Whether a member is a file of one location: `7.evt` or `7.def`.
fn is_of_location(member: &str) -> bool {
    let file = member.rsplit_once('/').map_or(member, |(_, file)| file);
    let stem = file.strip_suffix(".evt").or(file.strip_suffix(".def"));
    stem.is_some_and(|stem| stem.parse::<u64>().is_ok())
}

/// Whether a folder holds the files of locations and nothing else. An archive whose name is a
/// number has its definitions beside a folder of that name.
pub(crate) fn is_event_folder(folder: &DiskArchive) -> bool {
    let members = folder.members("").unwrap_or_default();
    let is_archive = |member: &String| {
        let name = member.strip_suffix(".def");
        name.is_some_and(|name| folder.path(name).is_dir())
    };
    !members.is_empty()
        && members.iter().all(|member| is_of_location(member))
        && !members.iter().any(is_archive)
}

/// The one folder in `path` that holds event files or local definitions, in ascending order of
/// names.
pub(crate) fn find_folder(path: &Path) -> Option<String> {
    let mut names: Vec<String> = std::fs::read_dir(path)
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| path.join(name).is_dir())
        .collect();
    names.sort_unstable();
    let folder = DiskArchive::new(path);
    names.into_iter().find(|name| {
        let members = folder.members(name).unwrap_or_default();
        members.iter().any(|member| is_of_location(member))
    })
}

/// The name of the anchor of an archive. Without one, as aborted runs leave it, the name it would
/// have: that of the global definitions, or of the folder of event files if it is a usual one.
pub(crate) fn find_anchor(archive: &dyn Archive) -> Result<String> {
    let failed = |source| Error::Io {
        place: Place::file(""),
        source,
    };
    let members = archive.members("").map_err(failed)?;
    let ends = |with: &'static str| members.iter().filter(move |name| name.ends_with(with));
    let mut anchors = ends(".otf2");
    match (anchors.next(), anchors.next()) {
        (Some(only), None) => return Ok(only.clone()),
        (Some(first), Some(second)) => {
            return Err(Error::Malformed {
                place: Place::file(""),
                expected: "one anchor (.otf2)".into(),
                got: format!("several, such as {first} and {second}: name one"),
            });
        }
        (None, _) => {}
    }
    if let Some(definitions) = ends(".def").next() {
        let name = definitions.strip_suffix(".def").unwrap_or(definitions);
        return Ok(format!("{name}.otf2"));
    }
    for name in ["traces", "eztrace_log", "APEX"] {
        if !archive.members(name).map_err(failed)?.is_empty() {
            return Ok(format!("{name}.otf2"));
        }
    }
    Err(Error::Malformed {
        place: Place::file(""),
        expected: "an anchor (.otf2)".into(),
        got: "none".into(),
    })
}
