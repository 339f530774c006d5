//! [`Lines`]: the lines of a file that may be packed, or may still grow.

use super::rules;
use crate::bytes::GZIP;
use crate::{Error, Result};
use flate2::bufread::MultiGzDecoder;
use perf_core::{Diagnostics, Place};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

/// Lines of a file, one at a time, in a buffer that is used again.
pub(super) struct Lines {
    from: Box<dyn BufRead + Send>,
    name: Arc<str>,
    is_packed: bool,
    /// Whether there may be more after the end.
    grows: bool,
    limit: usize,
    line: Vec<u8>,
    /// Whether the line has no end yet, though the file has.
    is_partial: bool,
    /// Where the line begins, unpacked.
    start: u64,
    /// Where reading goes on.
    offset: u64,
}

/// What a look at a file brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Polled {
    /// A line; whether it has an end.
    Line(bool),
    /// Nothing yet; the file may grow.
    Later,
    /// Nothing, ever.
    End,
}

impl Lines {
    pub(super) fn open(path: &Path, limit: usize) -> Result<Self> {
        let name: Arc<str> = path.to_string_lossy().into();
        let failed = |source| Error::Io {
            place: Place::file(Arc::clone(&name)),
            source,
        };
        let file = File::open(path).map_err(failed)?;
        let from = BufReader::with_capacity(BUFFER, file);
        Lines::new(Box::new(from), Arc::clone(&name), limit).map_err(failed)
    }

    /// Lines of bytes from anywhere.
    pub(super) fn new(
        mut from: Box<dyn BufRead + Send>,
        name: Arc<str>,
        limit: usize,
    ) -> io::Result<Self> {
        let is_packed = from.fill_buf()?.starts_with(&GZIP);
        if is_packed {
            from = Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(from)));
        }
        Ok(Lines {
            from,
            name,
            is_packed,
            grows: false,
            limit,
            line: Vec::new(),
            is_partial: false,
            start: 0,
            offset: 0,
        })
    }

    /// The end of the file is not that of the stream.
    pub(super) fn grow(&mut self) -> Result<()> {
        if self.is_packed {
            return Err(Error::Unsupported {
                place: Place::file(Arc::clone(&self.name)),
                what: "following a file that is packed".into(),
            });
        }
        self.grows = true;
        Ok(())
    }

    /// What there is now is all.
    pub(super) fn stop(&mut self) {
        self.grows = false;
    }

    pub(super) fn place(&self) -> Place {
        Place::file(Arc::clone(&self.name)).at(self.start)
    }

    /// The line that was read last, without its end, and without the mark that some editors put
    /// before the first.
    pub(super) fn line(&self) -> &[u8] {
        let line = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match self.start {
            0 => line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line),
            _ => line,
        }
    }

    /// Reads the next line, if it is there. Never waits for one.
    pub(super) fn poll(&mut self, found: &mut Diagnostics) -> Result<Polled> {
        loop {
            if !std::mem::take(&mut self.is_partial) {
                self.line.clear();
                self.start = self.offset;
            }
            let is_whole = self.read_line(found)?;
            if !is_whole && self.grows {
                self.is_partial = true;
                return Ok(Polled::Later);
            }
            if self.line.is_empty() {
                return Ok(Polled::End);
            }
            if self.line.len() > self.limit {
                found.add(rules::LONG_LINE, self.place());
                continue;
            }
            if !is_whole {
                found.add(rules::UNFINISHED, self.place());
            }
            return Ok(Polled::Line(is_whole));
        }
    }

    /// Reads up to the end of a line; whether there was one. Of a line past the limit the first
    /// bytes are kept, one more than the limit.
    fn read_line(&mut self, found: &mut Diagnostics) -> Result<bool> {
        loop {
            let bytes = match self.from.fill_buf() {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) if self.is_packed => {
                    found.add(
                        rules::TRUNCATED,
                        Place::file(Arc::clone(&self.name)).at(self.offset),
                    );
                    self.from = Box::new(io::empty());
                    self.is_packed = false;
                    continue;
                }
                Err(source) => {
                    let place = Place::file(Arc::clone(&self.name)).at(self.offset);
                    return Err(Error::Io { place, source });
                }
            };
            if bytes.is_empty() {
                return Ok(false);
            }
            let end = memchr::memchr(b'\n', bytes);
            let taken = end.map_or(bytes.len(), |end| end + 1);
            let room = (self.limit + 1).saturating_sub(self.line.len());
            let kept = bytes.get(..taken.min(room)).unwrap_or_default();
            self.line.extend_from_slice(kept);
            self.from.consume(taken);
            self.offset += taken as u64;
            if end.is_some() {
                return Ok(true);
            }
        }
    }
}

impl std::fmt::Debug for Lines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lines")
            .field("name", &self.name)
            .field("offset", &self.offset)
            .finish_non_exhaustive()
    }
}

const BUFFER: usize = 1 << 16;

/// The first line of bytes that may be packed and cut off, to tell what they are.
pub(super) fn first_line(head: &[u8]) -> Vec<u8> {
    let mut bytes = head.to_vec();
    if head.starts_with(&GZIP) {
        bytes.clear();
        let mut byte = [0];
        let mut unpacked = MultiGzDecoder::new(head);
        // What is cut off ends in an error; what came before is enough.
        while let Ok(1) = unpacked.read(&mut byte) {
            bytes.extend(byte);
        }
    }
    let end = memchr::memchr(b'\n', &bytes).unwrap_or(bytes.len());
    bytes.truncate(end);
    bytes
}
