//! Numbers and texts as bytes, little-endian. What is read is checked against what is there.

use crate::{Error, Result};

/// Appends to bytes.
#[derive(Debug, Default)]
pub(super) struct Writer(pub(super) Vec<u8>);

impl Writer {
    /// A message of a kind begins.
    pub(super) fn new(kind: u8, room: usize) -> Self {
        let mut to = Writer(Vec::with_capacity(room + 16));
        to.0.extend_from_slice(&[b'P', b'K', b'L', kind]);
        to.0.extend_from_slice(&super::VERSION.to_le_bytes());
        to
    }

    pub(super) fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    pub(super) fn u32(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(super) fn u64(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    /// Their length in 32 bits, and the bytes.
    pub(super) fn block(&mut self, bytes: &[u8]) {
        self.u32(bytes.len() as u32);
        self.0.extend_from_slice(bytes);
    }
}

/// Takes from bytes, with the place of what is wrong.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// What follows the head of a message of a kind.
    pub(super) fn new(bytes: &'a [u8], kind: u8, expected: &'static str) -> Result<Self> {
        let mut from = Reader { bytes, at: 0 };
        if from.take(4, expected)? != [b'P', b'K', b'L', kind] {
            return Err(Error::Wire { at: 0, expected });
        }
        let version = from.take(2, "a version")?;
        if version != super::VERSION.to_le_bytes() {
            return Err(Error::Wire {
                at: 4,
                expected: "version 1 of a message",
            });
        }
        Ok(from)
    }

    /// The next bytes.
    fn take(&mut self, count: usize, expected: &'static str) -> Result<&'a [u8]> {
        let end = self.at.checked_add(count);
        let found = end.and_then(|end| self.bytes.get(self.at..end));
        let Some(found) = found else {
            return Err(Error::Wire {
                at: self.at,
                expected,
            });
        };
        self.at += count;
        Ok(found)
    }

    fn array<const N: usize>(&mut self, expected: &'static str) -> Result<[u8; N]> {
        let at = self.at;
        let found = self.take(N, expected)?;
        found.try_into().map_err(|_| Error::Wire { at, expected })
    }

    pub(super) fn u8(&mut self, expected: &'static str) -> Result<u8> {
        Ok(u8::from_le_bytes(self.array(expected)?))
    }

    pub(super) fn u32(&mut self, expected: &'static str) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array(expected)?))
    }

    pub(super) fn u64(&mut self, expected: &'static str) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array(expected)?))
    }

    /// Bytes behind their length.
    pub(super) fn block(&mut self, expected: &'static str) -> Result<&'a [u8]> {
        let length = self.u32(expected)?;
        self.take(length as usize, expected)
    }

    /// A text behind its length, of at most so many bytes.
    pub(super) fn text(&mut self, most: usize, expected: &'static str) -> Result<&'a str> {
        let at = self.at;
        let bytes = self.block(expected)?;
        let text = std::str::from_utf8(bytes).ok();
        let text = text.filter(|text| text.len() <= most);
        text.ok_or(Error::Wire { at, expected })
    }

    /// Nothing may follow.
    pub(super) fn end(self) -> Result<()> {
        match self.at == self.bytes.len() {
            true => Ok(()),
            false => Err(Error::Wire {
                at: self.at,
                expected: "the end",
            }),
        }
    }
}
