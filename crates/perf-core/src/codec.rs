//! [`Writer`] and [`Reader`]: encoding and decoding of numbers and texts as little-endian bytes,
//! for messages between ranks and for storage.
//!
//! A [`Writer`] appends values and a [`Reader`] consumes them. Every length is checked against the
//! remaining bytes before anything is allocated, and errors contain the offset of the invalid
//! bytes. The encoding does not describe itself: reader and writer must agree on the order of the
//! values.
//!
//! ```
//! use perf_core::codec::{Malformed, Reader, Writer};
//! let mut to = Writer::default();
//! to.u16(1);
//! to.text("solve");
//! to.varint(300);
//! assert_eq!(to.0.len(), 2 + 6 + 2);
//! let mut from: Reader<'_> = Reader::new(&to.0);
//! assert_eq!(from.u16("a version")?, 1);
//! assert_eq!(from.text(64, "a name")?, "solve");
//! assert_eq!(from.varint("a count")?, 300);
//! assert_eq!(from.u8("a flag").unwrap_err().to_string(), "byte 10: expected a flag");
//! # Ok::<(), Malformed>(())
//! ```

/// Unexpected or truncated bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {at}: expected {expected}")]
pub struct Malformed {
    /// Offset of the bytes.
    pub at: usize,
    /// Description of the expected bytes.
    pub expected: &'static str,
}

/// Appends numbers and texts to its buffer.
#[derive(Clone, Debug, Default)]
pub struct Writer(pub Vec<u8>);

impl Writer {
    /// Appends bytes unchanged.
    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Appends 8 bits.
    #[inline]
    pub fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    /// Appends 16 bits.
    #[inline]
    pub fn u16(&mut self, value: u16) {
        self.bytes(&value.to_le_bytes());
    }

    /// Appends 32 bits.
    #[inline]
    pub fn u32(&mut self, value: u32) {
        self.bytes(&value.to_le_bytes());
    }

    /// Appends 64 bits.
    #[inline]
    pub fn u64(&mut self, value: u64) {
        self.bytes(&value.to_le_bytes());
    }

    /// Appends 64 bits, signed.
    #[inline]
    pub fn i64(&mut self, value: i64) {
        self.u64(value.cast_unsigned());
    }

    /// Appends the 64 bits of a floating-point number.
    #[inline]
    pub fn f64(&mut self, value: f64) {
        self.u64(value.to_bits());
    }

    /// Appends a length as a [`varint`](Self::varint), then the bytes of a text.
    #[inline]
    pub fn text(&mut self, text: &str) {
        self.varint(text.len() as u64);
        self.bytes(text.as_bytes());
    }

    /// Appends a length of 32 bits, then the bytes, of which there must be fewer than 2^32.
    #[inline]
    pub fn block(&mut self, bytes: &[u8]) {
        self.u32(bytes.len() as u32);
        self.bytes(bytes);
    }

    /// Appends a number in an encoding that is short for values near 0 of either sign.
    #[inline]
    pub fn signed(&mut self, value: i64) {
        self.varint(((value << 1) ^ (value >> 63)).cast_unsigned());
    }

    /// Appends a number with seven bits in each byte, low bits first. The eighth bit is set in all
    /// bytes but the last.
    #[inline]
    pub fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.u8(value as u8 | 0x80);
            value >>= 7;
        }
        self.u8(value as u8);
    }
}

/// Reads numbers and texts from bytes. `C` is context that the readers of parts need, such as a
/// version.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a, C = ()> {
    /// Bytes to read.
    bytes: &'a [u8],
    /// Current offset.
    at: usize,
    /// Context that the readers of parts need.
    pub context: C,
}

impl<'a, C: Default> Reader<'a, C> {
    /// Creates a reader at the start of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader {
            bytes,
            at: 0,
            context: C::default(),
        }
    }
}

impl<'a, C> Reader<'a, C> {
    /// Returns the number of bytes read.
    #[inline]
    pub fn at(&self) -> usize {
        self.at
    }

    /// Returns the number of bytes that have not been read.
    #[inline]
    pub fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    /// Returns an error for the bytes that start `back` bytes before the current offset; `expected`
    /// describes them.
    pub fn error(&self, back: usize, expected: &'static str) -> Malformed {
        Malformed {
            at: self.at.saturating_sub(back),
            expected,
        }
    }

    /// Reads `count` bytes.
    ///
    /// # Errors
    /// Returns [`Malformed`] if fewer are left.
    #[inline]
    pub fn bytes(&mut self, count: usize, expected: &'static str) -> Result<&'a [u8], Malformed> {
        let rest = &self.bytes[self.at..];
        let Some(bytes) = rest.get(..count) else {
            return Err(self.error(0, expected));
        };
        self.at += count;
        Ok(bytes)
    }

    /// Reads `N` bytes.
    ///
    /// # Errors
    /// Returns [`Malformed`] if fewer are left.
    #[inline]
    pub fn array<const N: usize>(&mut self, expected: &'static str) -> Result<[u8; N], Malformed> {
        let rest = &self.bytes[self.at..];
        let Some(bytes) = rest.first_chunk::<N>() else {
            return Err(self.error(0, expected));
        };
        self.at += N;
        Ok(*bytes)
    }

    /// Reads 8 bits.
    ///
    /// # Errors
    /// Returns [`Malformed`] if fewer are left.
    #[inline]
    pub fn u8(&mut self, expected: &'static str) -> Result<u8, Malformed> {
        self.array(expected).map(|[byte]| byte)
    }

    /// Reads 16 bits.
    ///
    /// # Errors
    /// Returns [`Malformed`] if fewer are left.
    #[inline]
    pub fn u16(&mut self, expected: &'static str) -> Result<u16, Malformed> {
        self.array(expected).map(u16::from_le_bytes)
    }

    /// Reads 32 bits.
    ///
    /// # Errors
    /// Returns [`Malformed`] if fewer are left.
    #[inline]
    pub fn u32(&mut self, expected: &'static str) -> Result<u32, Malformed> {
        self.array(expected).map(u32::from_le_bytes)
    }

    /// Reads 64 bits.
    ///
    /// # Errors
    /// Returns [`Malformed`] if fewer are left.
    #[inline]
    pub fn u64(&mut self, expected: &'static str) -> Result<u64, Malformed> {
        self.array(expected).map(u64::from_le_bytes)
    }

    /// Reads the 64 bits of a floating-point number.
    ///
    /// # Errors
    /// Returns [`Malformed`] if fewer are left.
    #[inline]
    pub fn f64(&mut self, expected: &'static str) -> Result<f64, Malformed> {
        self.u64(expected).map(f64::from_bits)
    }

    /// Reads 64 bits, signed.
    ///
    /// # Errors
    /// Returns [`Malformed`] if fewer are left.
    #[inline]
    pub fn i64(&mut self, expected: &'static str) -> Result<i64, Malformed> {
        self.u64(expected).map(u64::cast_signed)
    }

    /// Reads a text of `length` bytes, at most `most`.
    fn text_of(
        &mut self,
        length: u64,
        most: u64,
        expected: &'static str,
    ) -> Result<&'a str, Malformed> {
        let rest = &self.bytes[self.at..];
        let bytes = match usize::try_from(length) {
            Ok(length) if length as u64 <= most => rest.get(..length),
            _ => None,
        };
        let text = bytes.and_then(|bytes| std::str::from_utf8(bytes).ok());
        let text = text.ok_or_else(|| self.error(0, expected))?;
        self.at += text.len();
        Ok(text)
    }

    /// Reads a text of at most `most` bytes written by [`Writer::text`].
    ///
    /// # Errors
    /// Returns [`Malformed`] if the text is longer than that or than the bytes left, or is not
    /// UTF-8.
    pub fn text(&mut self, most: u64, expected: &'static str) -> Result<&'a str, Malformed> {
        let length = self.varint(expected)?;
        self.text_of(length, most, expected)
    }

    /// Reads a text of at most `most` bytes written by [`Writer::block`].
    ///
    /// # Errors
    /// Returns [`Malformed`] if the text is longer than that or than the bytes left, or is not
    /// UTF-8.
    pub fn text_block(&mut self, most: u64, expected: &'static str) -> Result<&'a str, Malformed> {
        let length = self.u32(expected)?;
        self.text_of(length.into(), most, expected)
    }

    /// Reads bytes written by [`Writer::block`].
    ///
    /// # Errors
    /// Returns [`Malformed`] if fewer are left.
    pub fn block(&mut self, expected: &'static str) -> Result<&'a [u8], Malformed> {
        let length = self.u32(expected)?;
        self.bytes(length as usize, expected)
    }

    /// Reads a number written by [`Writer::signed`].
    ///
    /// # Errors
    /// Returns [`Malformed`] if the bytes are not such a number.
    #[inline]
    pub fn signed(&mut self, expected: &'static str) -> Result<i64, Malformed> {
        let value = self.varint(expected)?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    /// Reads a number written by [`Writer::varint`].
    ///
    /// # Errors
    /// Returns [`Malformed`] if the bytes are not such a number, or are not its shortest encoding.
    #[inline]
    pub fn varint(&mut self, expected: &'static str) -> Result<u64, Malformed> {
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

    /// Reads a number of up to eight bytes at once. The first byte below 128 ends the number, and
    /// groups of seven bits are joined in three steps. Returns `None` for all other encodings,
    /// which [`slow_varint`](Self::slow_varint) reads byte by byte. It returns no error, because
    /// that would not fit in registers.
    #[inline]
    fn long_varint(&mut self) -> Option<u64> {
        let chunk = self.bytes.get(self.at..)?.first_chunk::<8>()?;
        let word = u64::from_le_bytes(*chunk);
        let ends = !word & 0x8080_8080_8080_8080;
        if ends == 0 {
            return None;
        }
        let end = ends.trailing_zeros();
        let bits = word & (u64::MAX >> (63 - end)) & 0x7f7f_7f7f_7f7f_7f7f;
        // A final zero byte is not the shortest encoding.
        if end > 7 && (bits >> (end - 7)) == 0 {
            return None;
        }
        let pairs = (bits & 0x007f_007f_007f_007f) | ((bits & 0x7f00_7f00_7f00_7f00) >> 1);
        let fours = (pairs & 0x0000_3fff_0000_3fff) | ((pairs & 0x3fff_0000_3fff_0000) >> 2);
        self.at += end as usize / 8 + 1;
        Some((fours & 0x0fff_ffff) | ((fours & 0x0fff_ffff_0000_0000) >> 4))
    }

    #[cold]
    fn slow_varint(&mut self, expected: &'static str) -> Result<u64, Malformed> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8(expected)?;
            let bits = u64::from(byte & 0x7f);
            // No writer produces bits beyond 64 or a final zero byte.
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

    /// Reads a number of 32 bits written by [`Writer::varint`].
    ///
    /// # Errors
    /// Returns [`Malformed`] if the bytes are not such a number, or if the number does not fit in
    /// 32 bits.
    #[inline]
    pub fn varint32(&mut self, expected: &'static str) -> Result<u32, Malformed> {
        let value = self.varint(expected)?;
        u32::try_from(value).map_err(|_| self.error(1, expected))
    }

    /// Reads a 32-bit count of items that follow, of at least `size` bytes each.
    ///
    /// # Errors
    /// Returns [`Malformed`] if the bytes left cannot hold the items.
    #[inline]
    pub fn count(&mut self, size: usize, expected: &'static str) -> Result<usize, Malformed> {
        let count = self.u32(expected)?;
        self.fits(count.into(), size, 4, expected)
    }

    /// Reads a 64-bit count of items that follow, of at least `size` bytes each.
    ///
    /// # Errors
    /// Returns [`Malformed`] if the bytes left cannot hold the items.
    #[inline]
    pub fn count64(&mut self, size: usize, expected: &'static str) -> Result<usize, Malformed> {
        let count = self.u64(expected)?;
        self.fits(count, size, 8, expected)
    }

    /// Returns a count that was read `back` bytes before the current offset if the remaining bytes
    /// can hold that many items, otherwise an error.
    #[inline]
    fn fits(
        &self,
        count: u64,
        size: usize,
        back: usize,
        expected: &'static str,
    ) -> Result<usize, Malformed> {
        match usize::try_from(count) {
            Ok(count) if count <= self.left() / size.max(1) => Ok(count),
            _ => Err(self.error(back, expected)),
        }
    }

    /// Checks that no bytes are left.
    ///
    /// # Errors
    /// Returns [`Malformed`] if there are bytes left.
    pub fn end(&self) -> Result<(), Malformed> {
        match self.left() {
            0 => Ok(()),
            _ => Err(self.error(0, "the end")),
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
        let mut reader = Reader::<()>::new(&writer.0);
        for value in values {
            assert_eq!(reader.varint("a number").ok(), Some(value));
        }
        assert!(reader.end().is_ok());
        // All encoded lengths, with and without further bytes.
        for bits in 0..64 {
            for value in [1_u64 << bits, (1 << bits) - 1, u64::MAX >> bits] {
                for behind in [0, 9] {
                    let mut writer = Writer::default();
                    writer.varint(value);
                    let length = writer.0.len();
                    writer.0.resize(length + behind, 0xff);
                    let mut reader = Reader::<()>::new(&writer.0);
                    assert_eq!(reader.varint("a number").ok(), Some(value));
                    assert_eq!(reader.at, length);
                    writer.0[length - 1] |= 0x80;
                    writer.0.truncate(length);
                    writer.0.push(0);
                    writer.0.resize(length + 1 + behind, 0xff);
                    assert!(Reader::<()>::new(&writer.0).varint("a number").is_err());
                }
            }
        }
        for bytes in [
            &[0xff_u8; 11][..],
            &[0x80; 3],
            &[0x85, 0],
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02],
        ] {
            assert!(Reader::<()>::new(bytes).varint("a number").is_err());
        }
    }

    #[test]
    fn a_count_that_the_bytes_cannot_hold_is_an_error_with_its_place() {
        let mut writer = Writer::default();
        writer.u16(7);
        writer.u32(1_000_000_000);
        writer.u64(0);
        let mut reader = Reader::<()>::new(&writer.0);
        assert_eq!(reader.u16("a version").ok(), Some(7));
        let error = reader
            .count(8, "a count of items")
            .map_err(|e| e.to_string());
        assert_eq!(error, Err("byte 2: expected a count of items".into()));
    }

    #[test]
    fn blocks_and_texts_end_with_the_bytes() {
        let mut writer = Writer::default();
        writer.block(b"halo");
        writer.text("halo");
        writer.u64(3);
        writer.bytes(&[1, 2]);
        let mut reader = Reader::<()>::new(&writer.0);
        let mut other = reader;
        assert_eq!(reader.block("bytes"), Ok(&b"halo"[..]));
        assert_eq!(other.text_block(4, "a text"), Ok("halo"));
        assert!(other.clone().text(3, "a text").is_err());
        assert_eq!(other.text(4, "a text"), Ok("halo"));
        let error = other.count64(1, "a count").map_err(|error| error.at);
        assert_eq!(error, Err(13));
        assert_eq!(other.bytes(2, "two bytes"), Ok(&[1, 2][..]));
        assert_eq!(other.end(), Ok(()));
        assert!(other.bytes(usize::MAX, "more").is_err());
        // Invalid UTF-8, and a length beyond the end.
        for bytes in [&[1, 0, 0, 0, 0xff][..], &[0xff, 0xff, 0xff, 0xff, 1]] {
            assert!(
                Reader::<()>::new(bytes)
                    .text_block(u64::MAX, "a text")
                    .is_err()
            );
        }
        assert!(
            Reader::<()>::new(&[0xff, 0xff, 0xff, 0xff, 1])
                .block("bytes")
                .is_err()
        );
    }
}
