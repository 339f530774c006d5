//! [`Sink`]: target for the bytes of a written archive, implemented for a new folder
//! ([`NewArchive`]) and for members in memory ([`MemoryArchive`]).

use crate::otf2::archive::MemoryArchive;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;

/// Takes the members of an archive, each from its beginning to its end.
///
/// ```
/// use perf_core::Job;
/// use perf_formats::otf2::{Sink, write};
/// use std::io;
/// /// How large an archive would be.
/// #[derive(Default)]
/// struct Size(u64);
/// impl Sink for Size {
///     fn append(&mut self, _member: &str, bytes: &[u8]) -> io::Result<()> {
///         self.0 += bytes.len() as u64;
///         Ok(())
///     }
/// }
/// let (trace, mut size) = (perf_core::samples::cosmo::trace(), Size::default());
/// write(trace.view(), &mut size, &Default::default(), &Job::default())?;
/// assert!(size.0 > 2 * trace.len() as u64);
/// # Ok::<(), perf_formats::Error>(())
/// ```
pub trait Sink {
    /// Appends bytes to a member, which is created by the first call.
    ///
    /// # Errors
    ///
    /// Returns the errors of the target.
    fn append(&mut self, member: &str, bytes: &[u8]) -> io::Result<()>;
}

impl Sink for MemoryArchive {
    fn append(&mut self, member: &str, bytes: &[u8]) -> io::Result<()> {
        match self.get_mut(member) {
            Some(there) => there.extend_from_slice(bytes),
            None => self.insert(member, bytes.to_vec()),
        }
        Ok(())
    }
}

/// Writes an archive into a folder of the file system. Existing files are never replaced.
#[derive(Debug)]
pub struct NewArchive {
    /// Folder of the archive.
    root: PathBuf,
    /// Name and file of the current member.
    current: Option<(String, File)>,
}

impl NewArchive {
    /// Creates an archive with its anchor in `root`, which is created if it is missing.
    ///
    /// # Errors
    ///
    /// Returns the errors of the file system.
    pub fn new(root: impl Into<PathBuf>) -> io::Result<Self> {
        let root = root.into();
        std::fs::create_dir_all(&root)?;
        Ok(NewArchive {
            root,
            current: None,
        })
    }
}

impl Sink for NewArchive {
    fn append(&mut self, member: &str, bytes: &[u8]) -> io::Result<()> {
        if let Some((name, file)) = &mut self.current
            && name == member
        {
            return file.write_all(bytes);
        }
        let path = self.root.join(member);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
        file.write_all(bytes)?;
        self.current = Some((member.to_string(), file));
        Ok(())
    }
}
