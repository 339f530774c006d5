//! [`Bytes`]: random access to the bytes of a file or of a buffer in memory; [`unpack`]:
//! decompression of gzip into memory, up to a limit.

use crate::{Error, Result};
use flate2::read::MultiGzDecoder;
use perf_core::{Job, Limits, Place};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

/// A source of bytes that is read by offset.
///
/// Files are read by offset and not mapped into memory: a map would need `unsafe`, and the process
/// ends with a signal when another program truncates the file. A map is not faster either: reading
/// 106 MB in rows of 32 KiB, with each byte added up, took 21 ms by offset, 19 ms from a map and 23
/// ms copied out of one (cached, ext4, Linux 6.18).
#[derive(Clone, Debug)]
pub(crate) struct Bytes {
    /// Source of the bytes.
    from: From,
    /// Length in bytes.
    len: u64,
    /// Name for errors.
    name: Arc<str>,
}

#[derive(Clone, Debug)]
enum From {
    File(Arc<Source>),
    Memory(Arc<[u8]>),
}

/// An open file.
#[derive(Debug)]
struct Source {
    file: File,
    /// Serialises the reads that use the position of the file.
    #[cfg(not(unix))]
    position: std::sync::Mutex<()>,
    /// The file, opened again for each thread that reads several buffers at the same time: such a
    /// read uses the position of the file.
    #[cfg(all(unix, feature = "cube"))]
    again: [std::sync::Mutex<Reopened>; HANDLES],
    /// Path of the file.
    #[cfg(all(unix, feature = "cube"))]
    path: std::path::PathBuf,
}

/// Maximum number of threads that read several buffers together. Further threads read one buffer at
/// a time.
#[cfg(all(unix, feature = "cube"))]
const HANDLES: usize = 16;

/// A file that is opened again when it is needed.
#[cfg(all(unix, feature = "cube"))]
#[derive(Debug, Default)]
enum Reopened {
    /// It was not needed yet.
    #[default]
    Not,
    /// Its own position belongs to one thread at a time.
    Open(File),
    /// The file cannot be opened again, for example because another one has replaced it.
    Failed,
}

impl Source {
    fn new(file: File, path: &Path) -> Self {
        #[cfg(not(all(unix, feature = "cube")))]
        let _ = path;
        Source {
            file,
            #[cfg(not(unix))]
            position: std::sync::Mutex::new(()),
            #[cfg(all(unix, feature = "cube"))]
            again: Default::default(),
            #[cfg(all(unix, feature = "cube"))]
            path: path.into(),
        }
    }

    /// Fills `buffer` from `offset` on.
    fn fill(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        #[cfg(unix)]
        return std::os::unix::fs::FileExt::read_exact_at(&self.file, buffer, offset);
        #[cfg(not(unix))]
        {
            use std::io::{Seek, SeekFrom};
            let position = self.position.lock();
            let _position = position.unwrap_or_else(std::sync::PoisonError::into_inner);
            let mut file = &self.file;
            file.seek(SeekFrom::Start(offset))?;
            file.read_exact(buffer)
        }
    }

    /// Fills several buffers from `offset` on with two system calls. Returns the number of bytes
    /// read, which may be less than all, and is 0 if the file cannot be opened again.
    ///
    /// Each thread uses a position of its own. With a common one, it often had to read the buffers
    /// one by one while another thread read: two threads then took 6.5 instead of 5.6 ms of wall time
    /// for 106 MB in rows of 32 KiB.
    #[cfg(all(unix, feature = "cube"))]
    fn fill_together(&self, offset: u64, buffers: &mut [&mut [u8]]) -> io::Result<usize> {
        use std::io::{IoSliceMut, Seek, SeekFrom};
        let mut handles = self.again.iter();
        let Some(mut handle) = handles.find_map(|handle| handle.try_lock().ok()) else {
            return Ok(0);
        };
        if let Reopened::Not = *handle {
            *handle = self.reopened().map_or(Reopened::Failed, Reopened::Open);
        }
        let Reopened::Open(file) = &mut *handle else {
            return Ok(0);
        };
        file.seek(SeekFrom::Start(offset))?;
        let buffers = buffers.iter_mut().map(|buffer| IoSliceMut::new(buffer));
        let mut buffers: Vec<_> = buffers.collect();
        file.read_vectored(&mut buffers)
    }

    /// Other systems read one buffer at a time.
    #[cfg(all(not(unix), feature = "cube"))]
    fn fill_together(&self, _: u64, _: &mut [&mut [u8]]) -> io::Result<usize> {
        Ok(0)
    }

    /// Opens the file again, unless its path now leads to another file.
    #[cfg(all(unix, feature = "cube"))]
    fn reopened(&self) -> Option<File> {
        use std::os::unix::fs::MetadataExt;
        let id = |file: &File| file.metadata().ok().map(|own| (own.dev(), own.ino()));
        let file = File::open(&self.path).ok()?;
        (id(&file)? == id(&self.file)?).then_some(file)
    }
}

impl Bytes {
    /// Opens a file. A gzip-compressed file is decompressed into memory.
    pub(crate) fn open(path: &Path, limits: &Limits, job: &Job) -> Result<Self> {
        let name: Arc<str> = path.to_string_lossy().into();
        let failed = |source| Error::Io {
            place: Place::file(Arc::clone(&name)),
            source,
        };
        let mut file = File::open(path).map_err(failed)?;
        let len = file.metadata().map_err(failed)?.len();
        let mut magic = Vec::new();
        let head = (&mut file).take(2).read_to_end(&mut magic);
        head.map_err(failed)?;
        if magic == GZIP {
            let bytes = unpack(magic.as_slice().chain(file), &name, limits, job)?;
            return Ok(Bytes::memory(bytes, name));
        }
        Ok(Bytes {
            from: From::File(Arc::new(Source::new(file, path))),
            len,
            name,
        })
    }

    /// Wraps bytes in memory. Gzip-compressed bytes are decompressed.
    pub(crate) fn new(bytes: Vec<u8>, name: &str, limits: &Limits, job: &Job) -> Result<Self> {
        if bytes.starts_with(&GZIP) {
            let bytes = unpack(bytes.as_slice(), name, limits, job)?;
            return Ok(Bytes::memory(bytes, name.into()));
        }
        Ok(Bytes::memory(bytes, name.into()))
    }

    fn memory(bytes: Vec<u8>, name: Arc<str>) -> Self {
        Bytes {
            len: bytes.len() as u64,
            from: From::Memory(bytes.into()),
            name,
        }
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn name(&self) -> &Arc<str> {
        &self.name
    }

    pub(crate) fn place(&self, offset: u64) -> Place {
        Place::file(Arc::clone(&self.name)).at(offset)
    }

    /// Returns all bytes as one shared buffer in memory.
    pub(crate) fn into_memory(self, job: &Job) -> Result<Arc<[u8]>> {
        if let From::Memory(bytes) = self.from {
            return Ok(bytes);
        }
        let Ok(size) = usize::try_from(self.len) else {
            return Err(Error::Truncated {
                place: self.place(self.len),
                expected: "a file that fits into memory".into(),
            });
        };
        let mut bytes = vec![0; size];
        let mut offset = 0;
        for part in bytes.chunks_mut(BYTES_PER_CHECK) {
            job.check()?;
            self.fill(offset, part)?;
            offset += part.len() as u64;
        }
        Ok(bytes.into())
    }

    /// Returns `len` bytes from `offset` on. The length is compared with that of the file before
    /// memory is allocated.
    #[cfg(feature = "cube")]
    pub(crate) fn read(&self, offset: u64, len: u64, what: &str) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.read_into(offset, len, what, &mut bytes)?;
        Ok(bytes)
    }

    /// Like [`read`](Self::read), into a buffer that the caller reuses.
    #[cfg(feature = "cube")]
    pub(crate) fn read_into(
        &self,
        offset: u64,
        len: u64,
        what: &str,
        bytes: &mut Vec<u8>,
    ) -> Result<()> {
        let end = offset.checked_add(len).filter(|end| *end <= self.len);
        let size = end.and_then(|_| usize::try_from(len).ok());
        let Some(size) = size else {
            return Err(Error::Truncated {
                place: self.place(self.len.min(offset)),
                expected: what.into(),
            });
        };
        if bytes.is_empty() {
            // A fresh buffer takes zeroed pages from the system, which is cheaper than clearing an
            // old one.
            *bytes = vec![0; size];
        } else {
            bytes.resize(size, 0);
        }
        let done = self.fill(offset, bytes);
        if done.is_err() {
            bytes.clear();
        }
        done
    }

    /// Fills `buffer` from `offset` on.
    pub(crate) fn fill(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let wanted = buffer.len();
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::UnexpectedEof => Error::Truncated {
                place: self.place(offset),
                expected: format!("{wanted} more bytes"),
            },
            _ => Error::Io {
                place: self.place(offset),
                source,
            },
        };
        match &self.from {
            From::Memory(bytes) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX);
                let end = start.saturating_add(buffer.len());
                match bytes.get(start..end) {
                    Some(part) => buffer.copy_from_slice(part),
                    None => return Err(failed(io::ErrorKind::UnexpectedEof.into())),
                }
                Ok(())
            }
            From::File(file) => file.fill(offset, buffer).map_err(failed),
        }
    }

    /// Fills several buffers from `offset` on, each from the end of the previous one.
    #[cfg(feature = "cube")]
    pub(crate) fn fill_each(&self, offset: u64, buffers: &mut [&mut [u8]]) -> Result<()> {
        let mut done = 0;
        if let (From::File(file), 2..) = (&self.from, buffers.len()) {
            // Reading again reports the error.
            done = file.fill_together(offset, buffers).unwrap_or(0);
        }
        let mut start = offset;
        for buffer in buffers {
            let size = buffer.len();
            let is_read = done.min(size);
            self.fill(start + is_read as u64, &mut buffer[is_read..])?;
            done -= is_read;
            start += size as u64;
        }
        Ok(())
    }
}

/// Magic number at the start of a gzip stream.
pub(crate) const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Upper bound on the decompressed bytes unless [`Limits::memory`] is set: a few bytes of gzip can
/// expand to a thousand times as many.
const UNPACKED: u64 = 1 << 32;

/// Number of bytes read between two cancellation checks.
const BYTES_PER_CHECK: usize = 1 << 20;

/// Reader that makes a cancellation check on each read.
struct Watched<'a, R> {
    /// Wrapped reader.
    unpacked: R,
    /// Job whose cancellation is checked.
    job: &'a Job,
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if self.job.is_cancelled() {
            return Err(io::Error::other("cancelled"));
        }
        let most = to.len().min(BYTES_PER_CHECK);
        self.unpacked.read(&mut to[..most])
    }
}

/// Decompresses a gzip stream into memory.
pub(crate) fn unpack(packed: impl Read, name: &str, limits: &Limits, job: &Job) -> Result<Vec<u8>> {
    let limit = match limits.memory {
        u64::MAX => UNPACKED,
        limit => limit,
    };
    let mut bytes = Vec::new();
    let unpacked = MultiGzDecoder::new(packed).take(limit.saturating_add(1));
    let mut unpacked = Watched { unpacked, job };
    let read = unpacked.read_to_end(&mut bytes);
    job.check()?;
    let place = || Place::file(name);
    match read {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(Error::Truncated {
            place: place().at(bytes.len() as u64),
            expected: "the rest of the compressed data".into(),
        }),
        Err(error) => Err(Error::Malformed {
            place: place().at(bytes.len() as u64),
            expected: "data compressed with gzip".into(),
            got: error.to_string(),
        }),
        Ok(_) if bytes.len() as u64 > limit => Err(Error::Limit {
            place: place(),
            what: "uncompressed size in bytes",
            got: bytes.len() as u64,
            limit,
        }),
        Ok(_) => Ok(bytes),
    }
}

#[cfg(test)]
#[cfg(all(unix, feature = "cube"))]
mod tests {
    use super::*;

    fn fill_each(bytes: &Bytes, offset: u64) -> Vec<u8> {
        let mut filled = vec![0; 700];
        let (left, right) = filled.split_at_mut(300);
        bytes.fill_each(offset, &mut [left, right]).unwrap();
        filled
    }

    #[test]
    fn several_buffers_are_filled_from_the_opened_file_by_all_threads() {
        let path = std::env::temp_dir().join(format!("perf-formats-bytes-{}", std::process::id()));
        let content: Vec<u8> = (0..100_000_u32).map(|at| (at % 251) as u8).collect();
        let open = || Bytes::open(&path, &Limits::default(), &Job::default()).unwrap();
        std::fs::write(&path, &content).unwrap();
        let bytes = open();
        let replaced = open();
        let check = |bytes: &Bytes, offset: usize| {
            let expected = &content[offset..offset + 700];
            assert_eq!(fill_each(bytes, offset as u64), expected);
        };
        // More threads than handles.
        std::thread::scope(|scope| {
            for thread in 0..HANDLES + 4 {
                let (check, bytes) = (&check, &bytes);
                scope.spawn(move || (0..500).for_each(|at| check(bytes, at * 190 + thread)));
            }
        });
        // Another file of the same name is not read.
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, vec![0; content.len()]).unwrap();
        check(&replaced, 5_000);
        check(&bytes, 5_000);
        let From::File(source) = &replaced.from else {
            panic!("a file is read from the disk");
        };
        assert!(source.reopened().is_none());
        std::fs::remove_file(&path).unwrap();
        check(&replaced, 6_000);
    }
}
