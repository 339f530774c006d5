//! [`Archive`]: writes a tar archive that CubeLib can read, member by member.

use crate::{Error, Result};
use perf_core::Place;
use std::io::{self, Write};
use std::sync::Arc;

const BLOCK: usize = 512;
/// Maximum length of a member name in bytes.
pub(super) const LONGEST: usize = 100;
/// Maximum size that eleven octal digits can represent.
const OCTAL: u64 = 0o777_7777_7777;

/// An archive that is being written.
///
/// No member may have a size that is a positive multiple of 512: CubeLib expects one block more
/// after such a member than the format specifies.
pub(super) struct Archive<W> {
    /// Target of the bytes.
    to: W,
    /// Current member.
    member: Arc<str>,
}

impl<W: Write> Archive<W> {
    pub(super) fn new(to: W) -> Self {
        Archive {
            to,
            member: "".into(),
        }
    }

    pub(super) fn failed(&self, source: io::Error) -> Error {
        Error::Io {
            place: Place::file(Arc::clone(&self.member)),
            source,
        }
    }

    /// Writes a whole member; the name must have at most [`LONGEST`] bytes.
    pub(super) fn member(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        self.begin(name, bytes.len() as u64)?;
        self.write(bytes)?;
        self.end(bytes.len() as u64)
    }

    /// Writes the header of a member of that size.
    pub(super) fn begin(&mut self, name: &str, size: u64) -> Result<()> {
        self.member = name.into();
        debug_assert!(size == 0 || !size.is_multiple_of(512), "{name} is aligned");
        if size > OCTAL {
            let record = format!(" size={size}\n");
            // The length includes its own digits.
            let mut length = record.len() + 1;
            while length != record.len() + length.to_string().len() {
                length += 1;
            }
            let record = format!("{length}{record}");
            self.header("PaxHeader", record.len() as u64, b'x')?;
            self.write(record.as_bytes())?;
            self.end(record.len() as u64)?;
        }
        self.header(name, size.min(OCTAL), b'0')
    }

    fn header(&mut self, name: &str, size: u64, kind: u8) -> Result<()> {
        let mut header = [0; BLOCK];
        let mut put = |at: usize, text: &str| {
            let text = text.as_bytes();
            header[at..at + text.len()].copy_from_slice(text);
        };
        put(0, name);
        put(100, "0000600");
        put(108, "0000000");
        put(116, "0000000");
        put(124, &format!("{size:011o}"));
        // No timestamp, so that the output is reproducible.
        put(136, "00000000000");
        put(148, "        ");
        put(257, "ustar\0");
        put(263, "00");
        put(265, "nouser");
        put(297, "users");
        header[156] = kind;
        let sum: u32 = header.iter().copied().map(u32::from).sum();
        header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        self.write(&header)
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let done = self.to.write_all(bytes);
        done.map_err(|source| self.failed(source))
    }

    /// Pads the last block of a member of that size.
    pub(super) fn end(&mut self, size: u64) -> Result<()> {
        let rest = (size % BLOCK as u64) as usize;
        match rest {
            0 => Ok(()),
            rest => self.write(&[0; BLOCK][rest..]),
        }
    }

    /// Writes the end of the archive.
    pub(super) fn finish(mut self) -> Result<()> {
        self.write(&[0; 2 * BLOCK])?;
        let done = self.to.flush();
        done.map_err(|source| self.failed(source))
    }
}
