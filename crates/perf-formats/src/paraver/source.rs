//! Bytes of a trace, cut into whole lines.

use crate::Error;
use perf_core::{Limits, Place};
use std::io::{ErrorKind, Read};
use std::sync::Arc;

/// Bytes of text that are parsed in one go: enough to keep a core busy, few enough to stay in a
/// cache of the second level with their records.
const CHUNK: usize = 1 << 19;
/// The longest line, in strings: communicators and headers name every task.
const LINE: usize = 64;

/// The longest line, in bytes. Shorter ones than a chunk are read whatever the limits say.
pub(super) fn longest(limits: &Limits) -> usize {
    (limits.string as usize).saturating_mul(LINE)
}

/// Whole lines of text.
#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) text: Vec<u8>,
    pub(super) offset: u64,
}

/// Bytes that are cut into whole lines.
pub(super) struct Source<'a> {
    pub(super) read: Box<dyn Read + Send + 'a>,
    pub(super) name: Arc<str>,
    /// The beginning of a line whose end is still to come.
    pub(super) rest: Vec<u8>,
    pub(super) offset: u64,
    pub(super) is_done: bool,
    /// See [`longest`].
    pub(super) longest: usize,
    /// Texts that were parsed, for their memory.
    pub(super) spare: Vec<Vec<u8>>,
    /// What went wrong, to be told once all before it was.
    pub(super) failed: Option<Error>,
}

impl Source<'_> {
    /// Whole lines of about [`CHUNK`] bytes, `None` at the end.
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
            let new = text.get(before..).unwrap_or_default();
            if let Some(end) = memchr::memrchr(b'\n', new) {
                let whole = before + end + 1;
                self.rest
                    .extend_from_slice(text.get(whole..).unwrap_or_default());
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
            // Half a line is none.
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
                expected: "the rest of the packed data".into(),
            },
            ErrorKind::InvalidInput | ErrorKind::InvalidData => Error::Malformed {
                place,
                expected: "data packed with gzip".into(),
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
