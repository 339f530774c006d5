//! [`Cursor`]: decodes the primitive types of OTF2 (integers, compressed integers, texts, lengths
//! of records) from bytes of either [`ByteOrder`].
//!
//! No length or count is trusted: each read checks the remaining bytes and reports a failed
//! expectation.

use super::schema::{Count, Field, Kind, Space, internal};
use perf_core::Value;

/// Byte order of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Least significant byte first, as in all current archives.
    #[default]
    Little,
    /// Most significant byte first.
    Big,
}

impl ByteOrder {
    /// Returns the byte order for the second byte of an anchor or chunk.
    pub fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            internal::LITTLE => Some(ByteOrder::Little),
            internal::BIG => Some(ByteOrder::Big),
            _ => None,
        }
    }

    /// Returns the byte that marks this order.
    pub fn byte(self) -> u8 {
        match self {
            ByteOrder::Little => internal::LITTLE,
            ByteOrder::Big => internal::BIG,
        }
    }
}

/// A failed read, with its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Damage {
    /// Offset in the bytes of the cursor.
    pub(crate) at: usize,
    /// Element that should be there.
    pub(crate) expected: &'static str,
    /// `true` if the bytes ended; otherwise they are wrong.
    pub(crate) short: bool,
}

pub(crate) type Read<T> = Result<T, Damage>;

/// Read position in the bytes of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    /// Bytes to read.
    data: &'a [u8],
    /// Read position.
    at: usize,
    /// End of reading; at most the length of the data.
    limit: usize,
    /// Byte order of the bytes.
    order: ByteOrder,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(data: &'a [u8], order: ByteOrder) -> Self {
        Cursor {
            data,
            at: 0,
            limit: data.len(),
            order,
        }
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn jump(&mut self, at: usize) {
        self.at = at.min(self.limit);
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        &self.data[self.at..self.limit]
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.at >= self.limit
    }

    fn short<T>(&self, expected: &'static str) -> Read<T> {
        Err(Damage {
            at: self.at,
            expected,
            short: true,
        })
    }

    pub(crate) fn wrong<T>(&self, expected: &'static str) -> Read<T> {
        Err(Damage {
            at: self.at,
            expected,
            short: false,
        })
    }

    fn bytes<const N: usize>(&mut self, expected: &'static str) -> Read<[u8; N]> {
        let Some(bytes) = self.rest().first_chunk::<N>() else {
            return self.short(expected);
        };
        self.at += N;
        Ok(*bytes)
    }

    pub(crate) fn take(&mut self, len: usize, expected: &'static str) -> Read<&'a [u8]> {
        let Some(bytes) = self.rest().get(..len) else {
            return self.short(expected);
        };
        self.at += len;
        Ok(bytes)
    }

    #[inline]
    pub(crate) fn u8(&mut self, expected: &'static str) -> Read<u8> {
        let [byte] = self.bytes::<1>(expected)?;
        Ok(byte)
    }

    pub(crate) fn u16(&mut self, expected: &'static str) -> Read<u16> {
        let bytes = self.bytes(expected)?;
        Ok(match self.order {
            ByteOrder::Little => u16::from_le_bytes(bytes),
            ByteOrder::Big => u16::from_be_bytes(bytes),
        })
    }

    pub(crate) fn u32(&mut self, expected: &'static str) -> Read<u32> {
        let bytes = self.bytes(expected)?;
        Ok(match self.order {
            ByteOrder::Little => u32::from_le_bytes(bytes),
            ByteOrder::Big => u32::from_be_bytes(bytes),
        })
    }

    #[inline]
    pub(crate) fn u64(&mut self, expected: &'static str) -> Read<u64> {
        let bytes = self.bytes(expected)?;
        Ok(match self.order {
            ByteOrder::Little => u64::from_le_bytes(bytes),
            ByteOrder::Big => u64::from_be_bytes(bytes),
        })
    }

    /// Reads a compressed integer of 32 bits.
    #[inline]
    pub(crate) fn v32(&mut self, expected: &'static str) -> Read<u32> {
        let value = self.compressed(4, expected)?;
        Ok(value as u32)
    }

    /// Reads a compressed integer of 64 bits.
    #[inline]
    pub(crate) fn v64(&mut self, expected: &'static str) -> Read<u64> {
        self.compressed(8, expected)
    }

    #[inline]
    fn compressed(&mut self, width: u8, expected: &'static str) -> Read<u64> {
        // Loads nine bytes at once if available, even beyond the record: one check instead of one
        // for each byte. The integer itself must end within the record.
        let bytes = self
            .data
            .get(self.at..)
            .and_then(|rest| rest.first_chunk::<9>());
        if let Some([len, value @ ..]) = bytes
            && *len <= width
            && self.at + 1 + usize::from(*len) <= self.limit
        {
            self.at += 1 + usize::from(*len);
            return Ok(low_bytes(*value, *len, self.order));
        }
        self.compressed_slow(width, expected)
    }

    #[cold]
    fn compressed_slow(&mut self, width: u8, expected: &'static str) -> Read<u64> {
        let start = *self;
        let len = self.u8(expected)?;
        match len {
            0xFF if width == 8 => Ok(u64::MAX),
            0xFF => Ok(u64::from(u32::MAX)),
            _ if len > width => start.wrong(expected),
            _ => {
                let bytes = self.take(usize::from(len), expected)?;
                let mut value = [0; 8];
                for (to, from) in value.iter_mut().zip(bytes) {
                    *to = *from;
                }
                Ok(low_bytes(value, len, self.order))
            }
        }
    }

    /// Reads text up to its zero byte, which is skipped.
    pub(crate) fn text(&mut self, expected: &'static str) -> Read<&'a [u8]> {
        let rest = self.rest();
        let Some(len) = rest.iter().position(|byte| *byte == 0) else {
            return self.short(expected);
        };
        self.at += len + 1;
        Ok(&rest[..len])
    }

    /// Reads the length byte of a record and returns the payload. The cursor then stands after the
    /// record.
    #[inline]
    pub(crate) fn payload(&mut self) -> Read<&'a [u8]> {
        const EXPECTED: &str = "a record of the announced length";
        let len = match self.u8("the length of a record")? {
            0xFF => {
                let len = self.u64("the length of a record")?;
                let Ok(len) = usize::try_from(len) else {
                    return self.short(EXPECTED);
                };
                len
            }
            len => usize::from(len),
        };
        self.take(len, EXPECTED)
    }

    /// Returns a cursor over the payload of a record. This cursor then stands after the record.
    #[inline]
    pub(crate) fn record(&mut self) -> Read<Cursor<'a>> {
        let len = self.payload()?.len();
        Ok(Cursor {
            at: self.at - len,
            limit: self.at,
            ..*self
        })
    }

    /// Reads a value of an attribute type and returns its bits; see [`typed`].
    pub(crate) fn value(&mut self, code: u8) -> Read<u64> {
        const EXPECTED: &str = "the value of an attribute";
        Ok(match code {
            1 => self.u8(EXPECTED)?.into(),
            5 => i64::from(self.u8(EXPECTED)?.cast_signed()).cast_unsigned(),
            2 => self.u16(EXPECTED)?.into(),
            6 => i64::from(self.u16(EXPECTED)?.cast_signed()).cast_unsigned(),
            3 => self.v32(EXPECTED)?.into(),
            7 => i64::from(self.v32(EXPECTED)?.cast_signed()).cast_unsigned(),
            4 | 8 | 13 => self.v64(EXPECTED)?,
            9 => f64::from(f32::from_bits(self.u32(EXPECTED)?)).to_bits(),
            10 => self.u64(EXPECTED)?,
            11..=25 => self.v32(EXPECTED)?.into(),
            _ => return self.wrong("a known type of attribute"),
        })
    }

    /// Reads the fields of an event as numbers, in order. The count of a list precedes its
    /// elements.
    pub(crate) fn numbers(
        &mut self,
        fields: &[Field],
        out: &mut Vec<u64>,
        map: &mut impl FnMut(Space, u64) -> u64,
    ) -> Read<()> {
        for field in fields {
            if field.optional && self.is_empty() {
                break;
            }
            let value = match field.kind {
                Kind::U8 => self.u8(field.name)?.into(),
                Kind::U32 => self.v32(field.name)?.into(),
                Kind::U64 | Kind::I64 => self.v64(field.name)?,
                Kind::Fixed64 | Kind::F64 => self.u64(field.name)?,
                Kind::Id(space) => {
                    let id = self.id(space, field.name)?;
                    map(space, id)
                }
                Kind::List { count, of } => {
                    let count = self.count(count, field.name)?;
                    out.push(count.into());
                    // Each element takes at least one byte, so that a wrong count ends the loop at
                    // the end of the record.
                    for _ in 0..count {
                        self.numbers(of, out, map)?;
                    }
                    continue;
                }
                Kind::Text | Kind::Value => return self.wrong(field.name),
            };
            out.push(value);
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn id(&mut self, space: Space, expected: &'static str) -> Read<u64> {
        if space.is_wide() {
            self.v64(expected)
        } else {
            self.v32(expected).map(u64::from)
        }
    }

    pub(crate) fn count(&mut self, count: Count, expected: &'static str) -> Read<u32> {
        match count {
            Count::U8 => self.u8(expected).map(u32::from),
            Count::U32 => self.v32(expected),
        }
    }
}

/// Returns the integer in the first `len` (at most 8) of eight bytes.
#[inline]
pub(crate) fn low_bytes(bytes: [u8; 8], len: u8, order: ByteOrder) -> u64 {
    let unused = 64 - 8 * u32::from(len);
    match order {
        ByteOrder::Little => {
            let mask = u64::MAX.checked_shr(unused).unwrap_or_default();
            u64::from_le_bytes(bytes) & mask
        }
        ByteOrder::Big => u64::from_be_bytes(bytes)
            .checked_shr(unused)
            .unwrap_or_default(),
    }
}

/// Returns the value for the bits of attribute type `code`; ids are unsigned.
pub(crate) fn typed(code: u8, bits: u64) -> Value {
    match code {
        5..=8 => Value::I64(bits.cast_signed()),
        9 | 10 => Value::F64(f64::from_bits(bits)),
        _ => Value::U64(bits),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v64(bytes: &[u8], order: ByteOrder) -> Read<u64> {
        Cursor::new(bytes, order).v64("number")
    }

    #[test]
    fn compressed_integers_read_the_same_with_and_without_room() {
        let mut bytes = vec![3, 1, 2, 3];
        for _ in 0..2 {
            assert_eq!(v64(&bytes, ByteOrder::Little), Ok(0x03_02_01));
            assert_eq!(v64(&bytes, ByteOrder::Big), Ok(0x01_02_03));
            bytes.resize(12, 0xAA);
        }
        assert_eq!(v64(&[0], ByteOrder::Little), Ok(0));
        assert_eq!(v64(&[0; 9], ByteOrder::Big), Ok(0));
        assert_eq!(v64(&[0xFF; 9], ByteOrder::Big), Ok(u64::MAX));
        let all: Vec<u8> = (0..9).rev().collect();
        assert_eq!(v64(&all, ByteOrder::Little), Ok(0x0001_0203_0405_0607));
    }

    #[test]
    fn integers_too_wide_or_cut_are_damage() {
        let wide = Cursor::new(&[5, 0, 0, 0, 0, 0, 0, 0, 0, 0], ByteOrder::Little).v32("number");
        assert!(matches!(
            wide,
            Err(Damage {
                at: 0,
                short: false,
                ..
            })
        ));
        let cut = v64(&[4, 1, 2], ByteOrder::Little);
        assert!(matches!(cut, Err(Damage { short: true, .. })));
        let undefined = Cursor::new(&[0xFF], ByteOrder::Little).v32("number");
        assert_eq!(undefined, Ok(u32::MAX));
    }

    #[test]
    fn a_long_record_announces_its_length_in_eight_bytes() {
        let mut bytes = vec![0xFF, 0, 1, 0, 0, 0, 0, 0, 0];
        bytes.resize(9 + 256, 7);
        let mut cursor = Cursor::new(&bytes, ByteOrder::Little);
        assert_eq!(cursor.payload().map(<[u8]>::len), Ok(256));
        assert!(cursor.is_empty());
        let huge = [0xFF; 9];
        assert!(Cursor::new(&huge, ByteOrder::Little).payload().is_err());
    }

    #[test]
    fn values_keep_their_sign() {
        let mut cursor = Cursor::new(&[0xFD, 4, 0xFB, 0xFF, 0xFF, 0xFF], ByteOrder::Little);
        assert_eq!(
            cursor.value(5).map(|bits| typed(5, bits)),
            Ok(Value::I64(-3))
        );
        assert_eq!(
            cursor.value(7).map(|bits| typed(7, bits)),
            Ok(Value::I64(-5))
        );
        assert!(cursor.value(99).is_err());
    }
}
