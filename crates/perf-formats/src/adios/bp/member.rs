//! [`Member`]: one of the files of a BP file, read by offset within its bounds; [`Claims`]: check
//! that the steps together claim no more bytes of a file than it has.

use super::primitives::Damage;
use crate::{Error, Result};
use perf_core::Place;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// A file that may grow.
#[derive(Debug)]
pub(in crate::adios) struct Member {
    /// Opened file.
    file: File,
    /// Name for diagnostics.
    name: Arc<str>,
}

impl Member {
    pub(in crate::adios) fn open(path: &Path) -> Result<Self> {
        let name: Arc<str> = path.to_string_lossy().into();
        match File::open(path) {
            Ok(file) => Ok(Member { file, name }),
            Err(source) => Err(Error::Io {
                place: Place::file(name),
                source,
            }),
        }
    }

    pub(in crate::adios) fn place(&self, offset: u64) -> Place {
        Place::file(Arc::clone(&self.name)).at(offset)
    }

    /// Returns the error for bytes that were read from `start` on and are damaged.
    pub(in crate::adios) fn malformed(&self, start: u64, damage: Damage) -> Error {
        Error::Malformed {
            place: self.place(start.saturating_add(damage.at as u64)),
            expected: damage.expected.into(),
            got: "something else, or the end".into(),
        }
    }

    pub(in crate::adios) fn len(&self) -> Result<u64> {
        let metadata = self.file.metadata();
        Ok(metadata.map_err(|source| self.failed(0, source))?.len())
    }

    fn failed(&self, offset: u64, source: io::Error) -> Error {
        Error::Io {
            place: self.place(offset),
            source,
        }
    }

    /// Reads `len` bytes from `offset` on. The length is compared with that of the file before
    /// memory is allocated.
    pub(in crate::adios) fn read(&mut self, offset: u64, len: u64, what: &str) -> Result<Vec<u8>> {
        let mut bytes = vec![0; self.check(offset, len, what)?];
        self.fill(offset, &mut bytes)?;
        Ok(bytes)
    }

    /// Checks that `len` bytes exist at `offset`, and returns `len` as a size in memory.
    pub(in crate::adios) fn check(&self, offset: u64, len: u64, what: &str) -> Result<usize> {
        let whole = self.len()?;
        let is_there = offset.checked_add(len).is_some_and(|end| end <= whole);
        let size = usize::try_from(len).ok().filter(|_| is_there);
        size.ok_or_else(|| Error::Truncated {
            place: self.place(if is_there { offset } else { whole.min(offset) }),
            expected: what.into(),
        })
    }

    /// Fills `bytes` from `offset` on.
    pub(in crate::adios) fn fill(&mut self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        let done = self.file.seek(SeekFrom::Start(offset));
        let done = done.and_then(|_| self.file.read_exact(bytes));
        done.map_err(|source| self.failed(offset, source))
    }

    /// Returns `true` if the byte at `offset` is not 0.
    pub(in crate::adios) fn flag(&mut self, offset: u64) -> Result<bool> {
        let byte = self.read(offset, 1, "the header of an index of steps")?;
        Ok(byte.first().is_some_and(|byte| *byte != 0))
    }
}

/// Number of bytes of a file that steps have claimed. Steps with a common index would otherwise
/// take the time of the whole index each.
#[derive(Debug, Default)]
pub(in crate::adios) struct Claims {
    /// Number of claimed bytes.
    sum: u64,
    /// Last counted step.
    counted: Option<u64>,
}

impl Claims {
    /// Adds the part of the file that a step claims. A step that is read again because it was
    /// incomplete counts once.
    pub(in crate::adios) fn claim(
        &mut self,
        step: u64,
        part: Range<u64>,
        file: &Member,
        place: &Place,
    ) -> Result<()> {
        if self.counted != Some(step) {
            self.counted = Some(step);
            let len = part.end.saturating_sub(part.start);
            self.sum = self.sum.saturating_add(len);
        }
        let there = file.len()?;
        // A truncated index is reported separately.
        if self.sum <= there || part.end > there {
            return Ok(());
        }
        Err(Error::Malformed {
            place: place.clone(),
            expected: format!("at most {there} bytes in all steps together"),
            got: format!("{} bytes", self.sum),
        })
    }
}
