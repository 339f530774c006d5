//! [`Source`]: sliding window over a JSON text, compressed with gzip or not, which reads keys and
//! values and skips values of any length.

use super::{Cursor, Stop, decode};
use crate::bytes::GZIP;
use crate::{Error, Result};
use flate2::read::MultiGzDecoder;
use memchr::memchr2;
use perf_core::Place;
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;

/// Initial size of the window in bytes.
const WINDOW: usize = 1 << 18;

/// Result of extending the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum More {
    /// This number of bytes was added.
    Read(usize),
    /// The text has ended.
    End,
    /// The window is full and has its maximum size.
    Full,
}

/// Result of reading a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Got<T> {
    /// The value.
    Value(T),
    /// The text ends.
    End,
    /// Malformed input: the token that was expected.
    Bad(&'static str),
    /// The value exceeds the maximum window.
    Long,
}

/// Next item of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// A member, by its key; the cursor is at its value.
    Key(String),
    /// The end of the object.
    Close,
    /// The end of the text.
    End,
    /// Malformed input: the token that was expected.
    Bad(&'static str),
}

/// A text that is partly in memory.
pub(crate) struct Source {
    /// Reader of the uncompressed text.
    from: Box<dyn Read + Send>,
    /// Name for diagnostics.
    name: Arc<str>,
    /// Memory of the window.
    buffer: Vec<u8>,
    /// Start of the unconsumed bytes in the buffer.
    start: usize,
    /// End of the text in the buffer.
    end: usize,
    /// Offset of the buffer in the text.
    base: u64,
    /// Maximum size of a value in bytes.
    most: usize,
    /// `true` after the end of the text was read.
    is_ended: bool,
    /// `true` for compressed input.
    is_packed: bool,
    /// Error of the decompression, if it failed.
    damage: Option<String>,
    /// Key, including its quotes, at which the skipping of a value stops.
    stop_key: Option<&'static str>,
    /// `true` if the skipping of a value stopped at the key.
    has_stopped: bool,
    /// Length of the file; 0 if it is not the length of the text.
    pub(crate) total: u64,
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source")
            .field("name", &self.name)
            .field("offset", &self.offset())
            .finish_non_exhaustive()
    }
}

impl Source {
    /// Opens a file, compressed with gzip or not. A value may have up to `most` bytes.
    pub(crate) fn open(path: &Path, most: usize) -> Result<Self> {
        let name: Arc<str> = path.to_string_lossy().into();
        let failed = |source| Error::Io {
            place: Place::file(Arc::clone(&name)),
            source,
        };
        let file = File::open(path).map_err(failed)?;
        let total = file.metadata().map_err(failed)?.len();
        let mut source = Source::read(&name, file, most)?;
        source.total = if source.is_packed { 0 } else { total };
        Ok(source)
    }

    /// Reads from any reader; `name` is used in messages.
    pub(crate) fn read(
        name: &str,
        mut from: impl Read + Send + 'static,
        most: usize,
    ) -> Result<Self> {
        let name: Arc<str> = name.into();
        let mut magic = Vec::new();
        let head = (&mut from).take(GZIP.len() as u64).read_to_end(&mut magic);
        head.map_err(|source| Error::Io {
            place: Place::file(Arc::clone(&name)),
            source,
        })?;
        let is_packed = magic == GZIP;
        let whole = std::io::Cursor::new(magic).chain(from);
        let from: Box<dyn Read + Send> = if is_packed {
            Box::new(MultiGzDecoder::new(BufReader::with_capacity(
                1 << 16,
                whole,
            )))
        } else {
            Box::new(whole)
        };
        Ok(Source {
            from,
            name,
            buffer: vec![0; WINDOW.min(most.max(1))],
            start: 0,
            end: 0,
            base: 0,
            most: most.max(1),
            is_ended: false,
            damage: None,
            stop_key: None,
            has_stopped: false,
            is_packed,
            total: 0,
        })
    }

    /// Returns the unconsumed bytes in the window.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Consumes bytes of the window.
    #[inline]
    pub(crate) fn take(&mut self, count: usize) {
        self.start = self.end.min(self.start + count);
    }

    /// Returns the offset of the window in the text.
    pub(crate) fn offset(&self) -> u64 {
        self.base + self.start as u64
    }

    /// Returns the place at which the window begins.
    pub(crate) fn place(&self) -> Place {
        self.place_at(self.offset())
    }

    pub(crate) fn place_at(&self, offset: u64) -> Place {
        Place::file(Arc::clone(&self.name)).at(offset)
    }

    pub(crate) fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Returns the decompression error after all readable text.
    pub(crate) fn damage(&self) -> Option<&str> {
        self.damage.as_deref()
    }

    /// Returns the error for a text that ends, or whose compressed data are damaged, before the
    /// expected element.
    pub(crate) fn ended(&self, expected: &str) -> Error {
        match self.damage() {
            Some(damage) => Error::Malformed {
                place: self.place(),
                expected: "data compressed with gzip".into(),
                got: damage.into(),
            },
            None => Error::Truncated {
                place: self.place(),
                expected: expected.into(),
            },
        }
    }

    /// Reads more text into the window. Compressed data that are truncated or damaged end the text.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`] if the system cannot read.
    pub(crate) fn more(&mut self) -> Result<More> {
        if self.is_ended {
            return Ok(More::End);
        }
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.base += self.start as u64;
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.buffer.len() {
            if self.end >= self.most {
                return Ok(More::Full);
            }
            let larger = (2 * self.end).min(self.most);
            self.buffer.resize(larger, 0);
        }
        // Fill all available space: short reads would cause the same value to be scanned again
        // after each of them.
        let before = self.end;
        while !self.is_ended {
            let room = &mut self.buffer[self.end..];
            if room.is_empty() {
                break;
            }
            match self.from.read(room) {
                Ok(0) => self.is_ended = true,
                Ok(count) => self.end += count,
                Err(error) => match error.kind() {
                    ErrorKind::Interrupted => {}
                    ErrorKind::UnexpectedEof | ErrorKind::InvalidData | ErrorKind::InvalidInput => {
                        self.is_ended = true;
                        self.damage = Some(error.to_string());
                    }
                    _ => {
                        return Err(Error::Io {
                            place: self.place(),
                            source: error,
                        });
                    }
                },
            }
        }
        match self.end - before {
            0 => Ok(More::End),
            count => Ok(More::Read(count)),
        }
    }

    /// Skips white space and returns the next byte without consuming it; `None` at the end.
    pub(crate) fn peek(&mut self) -> Result<Option<u8>> {
        loop {
            let blank = self.bytes().iter().position(|byte| *byte > b' ');
            match blank {
                Some(blank) => {
                    self.take(blank);
                    return Ok(self.bytes().first().copied());
                }
                None => self.take(self.end),
            }
            if self.more()? == More::End {
                return Ok(None);
            }
        }
    }

    /// Reads a value that fits the window.
    pub(crate) fn value<T>(
        &mut self,
        mut read: impl FnMut(&mut Cursor<'_>) -> std::result::Result<T, Stop>,
    ) -> Result<Got<T>> {
        if self.peek()?.is_none() {
            return Ok(Got::End);
        }
        loop {
            let mut cursor = Cursor::new(self.bytes());
            match read(&mut cursor) {
                Ok(value) => {
                    let used = cursor.at();
                    self.take(used);
                    return Ok(Got::Value(value));
                }
                Err(Stop::Bad(expected)) => return Ok(Got::Bad(expected)),
                Err(Stop::More) => match self.more()? {
                    More::Read(_) => {}
                    More::End => return Ok(Got::End),
                    More::Full => return Ok(Got::Long),
                },
            }
        }
    }

    /// Sets a key, including its quotes, that does not occur in skipped values. A value that
    /// contains it has lost its closing bracket or a quote.
    pub(crate) fn stop_at(&mut self, key: Option<&'static str>) {
        self.stop_key = key;
    }

    /// Returns `true` if the skipping of a value stopped at the key of [`stop_at`](Self::stop_at)
    /// since the last call.
    pub(crate) fn has_stopped(&mut self) -> bool {
        std::mem::take(&mut self.has_stopped)
    }

    /// Returns `true` if the stop key is `at` bytes into the window.
    fn is_stop_key(&mut self, at: usize) -> Result<bool> {
        let Some(key) = self.stop_key else {
            return Ok(false);
        };
        while self.bytes().len() < at + key.len() {
            match self.more()? {
                More::Read(_) => {}
                More::End | More::Full => return Ok(false),
            }
        }
        Ok(self.bytes()[at..].starts_with(key.as_bytes()))
    }

    /// Returns `true` if the next bracket ends the enclosing array; see
    /// [`Cursor::is_end_of_array`].
    pub(crate) fn is_end_of_array(&mut self) -> Result<bool> {
        loop {
            match Cursor::new(self.bytes()).is_end_of_array() {
                Ok(is_end) => return Ok(is_end),
                Err(_) => match self.more()? {
                    More::Read(_) => {}
                    // White space fills the window; look no further.
                    More::End | More::Full => return Ok(true),
                },
            }
        }
    }

    /// Consumes all text before the next member `key` of any object. Returns `false` if there is
    /// none.
    pub(crate) fn find_key(&mut self, key: &str) -> Result<bool> {
        let quoted = format!("\"{key}\"");
        loop {
            let found = memchr::memmem::find(self.bytes(), quoted.as_bytes());
            if let Some(at) = found {
                self.take(at);
                return Ok(true);
            }
            // The window may end within the key.
            let count = self.bytes().len().saturating_sub(quoted.len());
            self.take(count);
            if self.more()? == More::End {
                return Ok(false);
            }
        }
    }

    /// Returns the next key of an object after its opening bracket or a value. Commas are not
    /// counted.
    pub(crate) fn next_key(&mut self) -> Result<Next> {
        loop {
            match self.peek()? {
                None => return Ok(Next::End),
                Some(b'}') => {
                    self.take(1);
                    return Ok(Next::Close);
                }
                Some(b',') => self.take(1),
                Some(b'"') => break,
                Some(_) => return Ok(Next::Bad("a key, `,` or `}`")),
            }
        }
        let key = self.value(|cursor| Ok(decode(cursor.value()?.bytes()).0))?;
        let key = match key {
            Got::Value(key) => key,
            Got::End => return Ok(Next::End),
            Got::Bad(expected) => return Ok(Next::Bad(expected)),
            Got::Long => return Ok(Next::Bad("a key within the limit for strings")),
        };
        match self.peek()? {
            None => Ok(Next::End),
            Some(b':') => {
                self.take(1);
                Ok(Next::Key(key))
            }
            Some(_) => Ok(Next::Bad("`:`")),
        }
    }

    /// Skips a value of any length and depth. Returns `false` if the text ends within it.
    pub(crate) fn skip(&mut self) -> Result<bool> {
        let Some(first) = self.peek()? else {
            return Ok(false);
        };
        match first {
            b'"' => {
                self.take(1);
                self.skip_string()
            }
            b'{' | b'[' => self.skip_nested(),
            _ => loop {
                let is_end = |byte: &u8| matches!(byte, b',' | b'}' | b']') || *byte <= b' ';
                if let Some(end) = self.bytes().iter().position(is_end) {
                    self.take(end);
                    return Ok(true);
                }
                self.take(self.end);
                if self.more()? == More::End {
                    return Ok(false);
                }
            },
        }
    }

    fn skip_nested(&mut self) -> Result<bool> {
        let mut depth = 0_u64;
        loop {
            let is_mark = |byte: &u8| matches!(byte, b'{' | b'[' | b'}' | b']' | b'"');
            let Some(at) = self.bytes().iter().position(is_mark) else {
                self.take(self.end);
                match self.more()? {
                    More::End => return Ok(false),
                    _ => continue,
                }
            };
            let mark = self.bytes().get(at).copied();
            if mark == Some(b'"') && self.is_stop_key(at)? {
                self.take(at);
                self.has_stopped = true;
                return Ok(true);
            }
            self.take(at + 1);
            match mark {
                Some(b'{' | b'[') => depth += 1,
                Some(b'"') => {
                    if !self.skip_string()? {
                        return Ok(false);
                    }
                    if self.has_stopped {
                        return Ok(true);
                    }
                }
                _ => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return Ok(true);
                    }
                }
            }
        }
    }

    /// Skips the rest of a string.
    fn skip_string(&mut self) -> Result<bool> {
        loop {
            let Some(at) = memchr2(b'"', b'\\', self.bytes()) else {
                self.take(self.end);
                match self.more()? {
                    More::End => return Ok(false),
                    _ => continue,
                }
            };
            let is_end = self.bytes().get(at) == Some(&b'"');
            if is_end && self.is_stop_key(at)? {
                self.take(at);
                self.has_stopped = true;
                return Ok(true);
            }
            self.take(at + 1);
            if is_end {
                return Ok(true);
            }
            if self.bytes().is_empty() && self.more()? == More::End {
                return Ok(false);
            }
            self.take(1);
        }
    }
}

/// Returns the first bytes of a file, decompressed as far as possible.
pub(crate) fn unpacked_head(head: &[u8]) -> Vec<u8> {
    if !head.starts_with(&GZIP) {
        return head.to_vec();
    }
    let mut text = Vec::new();
    let mut chunk = [0; 256];
    let mut from = flate2::read::GzDecoder::new(head);
    // The head ends within the compressed data, so an error at its end is expected.
    while let Ok(count @ 1..) = from.read(&mut chunk) {
        text.extend_from_slice(&chunk[..count]);
        if text.len() >= 1 << 16 {
            break;
        }
    }
    text
}
