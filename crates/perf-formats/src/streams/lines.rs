//! [`Lines`]: the lines of a file that may be compressed or growing.

use super::rules;
use crate::bytes::GZIP;
use crate::{Error, Result};
use flate2::bufread::MultiGzDecoder;
use perf_core::{Diagnostics, Place};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

/// Reader of lines, one at a time, with a reusable buffer.
pub(super) struct Lines {
    /// Reader of the uncompressed text.
    from: Box<dyn BufRead + Send>,
    /// Name for diagnostics.
    name: Arc<str>,
    /// `true` for compressed input.
    is_packed: bool,
    /// `true` if data may be appended after the end.
    grows: bool,
    /// Maximum length of a line in bytes.
    limit: usize,
    /// Last line.
    line: Vec<u8>,
    /// `true` if the line is incomplete at the end of the file.
    is_partial: bool,
    /// Offset of the line in the uncompressed text.
    start: u64,
    /// Offset of the next read.
    offset: u64,
}

/// Result of polling a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Polled {
    /// A line; `true` if it is complete.
    Line(bool),
    /// No line yet; the file may grow.
    Later,
    /// End of the file.
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

    /// Reads lines from any reader.
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

    /// Enables waiting for appended data at the end of the file.
    pub(super) fn grow(&mut self) -> Result<()> {
        if self.is_packed {
            return Err(Error::Unsupported {
                place: Place::file(Arc::clone(&self.name)),
                what: "following a compressed file".into(),
            });
        }
        self.grows = true;
        Ok(())
    }

    /// Disables waiting for appended data: the current end of the file is final.
    pub(super) fn stop(&mut self) {
        self.grows = false;
    }

    pub(super) fn place(&self) -> Place {
        Place::file(Arc::clone(&self.name)).at(self.start)
    }

    /// Returns the last line without its line end, and without a byte order mark.
    pub(super) fn line(&self) -> &[u8] {
        let line = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match self.start {
            0 => line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line),
            _ => line,
        }
    }

    /// Reads the next line if it is available, without waiting.
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

    /// Reads up to the end of a line; returns `true` if it was found. A line beyond the limit is
    /// cut to one byte more than the limit.
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
            let kept = &bytes[..taken.min(room)];
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

/// Returns the first line of a possibly compressed and truncated text, for format detection.
pub(super) fn first_line(head: &[u8]) -> Vec<u8> {
    let mut bytes = head.to_vec();
    if head.starts_with(&GZIP) {
        bytes.clear();
        let mut byte = [0];
        let mut unpacked = MultiGzDecoder::new(head);
        // A truncated stream ends in an error; the text before it is sufficient.
        while let Ok(1) = unpacked.read(&mut byte) {
            bytes.extend(byte);
        }
    }
    let end = memchr::memchr(b'\n', &bytes).unwrap_or(bytes.len());
    bytes.truncate(end);
    bytes
}
