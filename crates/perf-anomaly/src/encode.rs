//! Little-endian bytes of models: what is written here is read here, and every length is checked.
//!
//! No dependency, no reflection: a server of ten thousand ranks reads each number once.

use crate::{Error, Result};

/// Appends numbers to bytes.
#[derive(Debug, Default)]
pub(crate) struct Writer(pub(crate) Vec<u8>);

impl Writer {
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    pub(crate) fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    pub(crate) fn u16(&mut self, value: u16) {
        self.bytes(&value.to_le_bytes());
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.bytes(&value.to_le_bytes());
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.bytes(&value.to_le_bytes());
    }

    pub(crate) fn f64(&mut self, value: f64) {
        self.u64(value.to_bits());
    }

    pub(crate) fn i64(&mut self, value: i64) {
        self.u64(value.cast_unsigned());
    }

    /// Its length, and its bytes.
    pub(crate) fn text(&mut self, text: &str) {
        self.varint(text.len() as u64);
        self.bytes(text.as_bytes());
    }

    /// A number near 0 is short, whatever its sign.
    pub(crate) fn signed(&mut self, value: i64) {
        self.varint(((value << 1) ^ (value >> 63)).cast_unsigned());
    }

    /// Seven bits a byte, low ones first, the eighth bit on all but the last: small counts are short.
    pub(crate) fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.u8(value as u8 | 0x80);
            value >>= 7;
        }
        self.u8(value as u8);
    }
}

/// Takes numbers from bytes, with the place of what is wrong.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Whether losses have a count of calls beyond experience: those of earlier versions have none.
    pub(crate) has_beyond_experience: bool,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Reader {
            bytes,
            at: 0,
            has_beyond_experience: true,
        }
    }

    /// The error that something else was `expected` at `back` bytes before here.
    pub(crate) fn error(&self, back: usize, expected: &'static str) -> Error {
        Error::Decode {
            at: self.at.saturating_sub(back),
            expected,
        }
    }

    #[inline]
    pub(crate) fn array<const N: usize>(&mut self, expected: &'static str) -> Result<[u8; N]> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let Some(bytes) = rest.first_chunk::<N>() else {
            return Err(self.error(0, expected));
        };
        self.at += N;
        Ok(*bytes)
    }

    #[inline]
    pub(crate) fn u8(&mut self, expected: &'static str) -> Result<u8> {
        self.array(expected).map(|[byte]| byte)
    }

    #[inline]
    pub(crate) fn u16(&mut self, expected: &'static str) -> Result<u16> {
        self.array(expected).map(u16::from_le_bytes)
    }

    #[inline]
    pub(crate) fn u32(&mut self, expected: &'static str) -> Result<u32> {
        self.array(expected).map(u32::from_le_bytes)
    }

    #[inline]
    pub(crate) fn u64(&mut self, expected: &'static str) -> Result<u64> {
        self.array(expected).map(u64::from_le_bytes)
    }

    #[inline]
    pub(crate) fn f64(&mut self, expected: &'static str) -> Result<f64> {
        self.u64(expected).map(f64::from_bits)
    }

    pub(crate) fn i64(&mut self, expected: &'static str) -> Result<i64> {
        self.u64(expected).map(u64::cast_signed)
    }

    /// A text of at most `most` bytes.
    pub(crate) fn text(&mut self, most: u64, expected: &'static str) -> Result<&'a str> {
        let length = self.varint(expected)?;
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let bytes = match length <= most {
            true => rest.get(..length as usize),
            false => None,
        };
        let text = bytes.and_then(|bytes| std::str::from_utf8(bytes).ok());
        let text = text.ok_or_else(|| self.error(0, expected))?;
        self.at += text.len();
        Ok(text)
    }

    #[inline]
    pub(crate) fn signed(&mut self, expected: &'static str) -> Result<i64> {
        let value = self.varint(expected)?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    #[inline]
    pub(crate) fn varint(&mut self, expected: &'static str) -> Result<u64> {
        match self.bytes.get(self.at) {
            Some(&byte) if byte < 0x80 => {
                self.at += 1;
                Ok(byte.into())
            }
            _ => match self.long_varint() {
                Some(value) => Ok(value),
                None => self.slow_varint(expected),
            },
        }
    }

    /// One of up to eight bytes at once: the first byte below 128 ends it, and groups of seven bits are
    /// moved together in three steps. Nothing for others, which are read byte by byte. An error is larger than
    /// registers, and is left to who reads those.
    fn long_varint(&mut self) -> Option<u64> {
        let chunk = self.bytes.get(self.at..)?.first_chunk::<8>()?;
        let word = u64::from_le_bytes(*chunk);
        let ends = !word & 0x8080_8080_8080_8080;
        if ends == 0 {
            return None;
        }
        let end = ends.trailing_zeros();
        let bits = word & (u64::MAX >> (63 - end)) & 0x7f7f_7f7f_7f7f_7f7f;
        // A last byte that adds nothing is not what a writer writes.
        if end > 7 && (bits >> (end - 7)) == 0 {
            return None;
        }
        let pairs = (bits & 0x007f_007f_007f_007f) | ((bits & 0x7f00_7f00_7f00_7f00) >> 1);
        let fours = (pairs & 0x0000_3fff_0000_3fff) | ((pairs & 0x3fff_0000_3fff_0000) >> 2);
        self.at += end as usize / 8 + 1;
        Some((fours & 0x0fff_ffff) | ((fours & 0x0fff_ffff_0000_0000) >> 4))
    }

    #[cold]
    fn slow_varint(&mut self, expected: &'static str) -> Result<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8(expected)?;
            let bits = u64::from(byte & 0x7f);
            // Bits beyond 64, or a last byte that adds nothing: not what a writer writes.
            if (bits << shift) >> shift != bits || (byte == 0 && shift > 0) {
                break;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.error(1, expected))
    }

    /// A number of 32 bits as a [`varint`](Writer::varint).
    pub(crate) fn varint32(&mut self, expected: &'static str) -> Result<u32> {
        let value = self.varint(expected)?;
        u32::try_from(value).map_err(|_| self.error(1, expected))
    }

    /// How many items of at least `size` bytes each follow: a `u32` that the bytes left can hold.
    pub(crate) fn count(&mut self, size: usize, expected: &'static str) -> Result<usize> {
        let count = self.u32(expected)? as usize;
        let left = self.bytes.len() - self.at;
        match count.checked_mul(size) {
            Some(needed) if needed <= left => Ok(count),
            _ => Err(self.error(4, expected)),
        }
    }

    /// Nothing may follow.
    pub(crate) fn end(&self) -> Result<()> {
        match self.at == self.bytes.len() {
            true => Ok(()),
            false => Err(self.error(0, "the end")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_come_back_and_too_long_ones_are_refused() {
        let values = [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX];
        let mut writer = Writer::default();
        for value in values {
            writer.varint(value);
        }
        let mut reader = Reader::new(&writer.0);
        for value in values {
            assert_eq!(reader.varint("a number").ok(), Some(value));
        }
        assert!(reader.end().is_ok());
        // All lengths, with bytes behind them and without.
        for bits in 0..64 {
            for value in [1_u64 << bits, (1 << bits) - 1, u64::MAX >> bits] {
                for behind in [0, 9] {
                    let mut writer = Writer::default();
                    writer.varint(value);
                    let length = writer.0.len();
                    writer.0.resize(length + behind, 0xff);
                    let mut reader = Reader::new(&writer.0);
                    assert_eq!(reader.varint("a number").ok(), Some(value));
                    assert_eq!(reader.at, length);
                    writer.0[length - 1] |= 0x80;
                    writer.0.truncate(length);
                    writer.0.push(0);
                    writer.0.resize(length + 1 + behind, 0xff);
                    assert!(Reader::new(&writer.0).varint("a number").is_err());
                }
            }
        }
        for bytes in [
            &[0xff_u8; 11][..],
            &[0x80; 3],
            &[0x85, 0],
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02],
        ] {
            assert!(Reader::new(bytes).varint("a number").is_err());
        }
    }

    #[test]
    fn a_count_that_the_bytes_cannot_hold_is_an_error_with_its_place() {
        let mut writer = Writer::default();
        writer.u16(7);
        writer.u32(1_000_000_000);
        writer.u64(0);
        let mut reader = Reader::new(&writer.0);
        assert_eq!(reader.u16("a version").ok(), Some(7));
        let error = reader
            .count(8, "a count of items")
            .map_err(|e| e.to_string());
        assert_eq!(error, Err("byte 2: expected a count of items".into()));
    }
}
