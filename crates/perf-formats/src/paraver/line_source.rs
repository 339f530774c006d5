//! [`Source`]: splits the bytes of a trace into chunks of whole lines.

use crate::Error;
use perf_core::{Limits, Place};
use std::io::{ErrorKind, Read};
use std::sync::Arc;

/// Number of bytes parsed at once. It is large enough to keep a core busy, and small enough to fit into the
/// second-level cache together with the records.
const CHUNK: usize = 1 << 19;
/// Longest line, as a multiple of the limit on strings. Lines may be long because communicators and headers list every
/// task.
const LINE: usize = 64;

/// Returns the longest accepted line in bytes. Lines shorter than a chunk are accepted regardless
/// of the limits.
pub(super) fn longest(limits: &Limits) -> usize {
    (limits.string as usize).saturating_mul(LINE)
}

/// Text of whole lines.
#[derive(Debug)]
pub(super) struct Chunk {
    /// Bytes of the lines.
    pub(super) text: Vec<u8>,
    /// Offset of the text in the trace.
    pub(super) offset: u64,
}

/// Source of whole lines.
pub(super) struct Source<'a> {
    /// Reader of the uncompressed trace.
    pub(super) read: Box<dyn Read + Send + 'a>,
    /// Name for errors.
    pub(super) name: Arc<str>,
    /// Start of an incomplete line.
    pub(super) rest: Vec<u8>,
    /// Offset of the next chunk.
    pub(super) offset: u64,
    /// `true` after the end was read.
    pub(super) is_done: bool,
    /// Length of the longest accepted line in bytes; see [`longest`].
    pub(super) longest: usize,
    /// Used texts, whose memory is reused.
    pub(super) spare: Vec<Vec<u8>>,
    /// Error that is returned after all preceding lines.
    pub(super) failed: Option<Error>,
}

impl Source<'_> {
    /// Returns whole lines of about [`CHUNK`] bytes, or `None` at the end.
    fn chunk(&mut self) -> Option<Chunk> {
        let mut text = self.spare.pop().unwrap_or_default();
        text.clear();
        text.append(&mut self.rest);
        text.reserve(CHUNK.saturating_sub(text.len()));
        while !self.is_done {
            let before = text.len();
            let wanted = CHUNK.max(before * 2) - before;
            let read = (&mut self.read).take(wanted as u64).read_to_end(&mut text);
            if let Err(error) = read {
                self.fail(error, self.offset + text.len() as u64);
            } else if text.len() - before < wanted {
                self.is_done = true;
            }
            if self.is_done {
                break;
            }
            let new = &text[before..];
            if let Some(end) = memchr::memrchr(b'\n', new) {
                let whole = before + end + 1;
                self.rest.extend_from_slice(&text[whole..]);
                text.truncate(whole);
                break;
            }
            if text.len() > self.longest {
                self.is_done = true;
                self.failed = Some(Error::Limit {
                    place: Place::file(Arc::clone(&self.name)).at(self.offset),
                    what: "length of a line in bytes",
                    got: text.len() as u64,
                    limit: self.longest as u64,
                });
                text.clear();
            }
        }
        if self.failed.is_some() {
            // Remove the incomplete last line.
            let end = memchr::memrchr(b'\n', &text).map_or(0, |end| end + 1);
            text.truncate(end);
        }
        if text.is_empty() {
            return None;
        }
        let offset = self.offset;
        self.offset += text.len() as u64;
        Some(Chunk { text, offset })
    }

    fn fail(&mut self, error: std::io::Error, at: u64) {
        let place = Place::file(Arc::clone(&self.name)).at(at);
        self.is_done = true;
        self.failed = Some(match error.kind() {
            ErrorKind::UnexpectedEof => Error::Truncated {
                place,
                expected: "the rest of the compressed data".into(),
            },
            ErrorKind::InvalidInput | ErrorKind::InvalidData => Error::Malformed {
                place,
                expected: "data compressed with gzip".into(),
                got: error.to_string(),
            },
            _ => Error::Io {
                place,
                source: error,
            },
        });
    }

    pub(super) fn chunks(&mut self, count: usize) -> Vec<Chunk> {
        (0..count).map_while(|_| self.chunk()).collect()
    }
}
