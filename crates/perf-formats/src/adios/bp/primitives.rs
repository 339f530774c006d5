//! [`Fields`]: read position in the bytes of a BP file, which decodes numbers and texts in either
//! byte order; [`Kind`]: types of numbers; [`Damage`]: a failed read.

/// A failed read, with its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::adios) struct Damage {
    /// Position in the bytes.
    pub(in crate::adios) at: usize,
    /// Element that should be there.
    pub(in crate::adios) expected: &'static str,
}

pub(in crate::adios) type Read<T> = Result<T, Damage>;

/// Read position in bytes, with bounds checks.
#[derive(Clone, Copy, Debug)]
pub(in crate::adios) struct Fields<'a> {
    /// Bytes to read.
    bytes: &'a [u8],
    /// Read position.
    at: usize,
    /// Offset of the bytes in those for which damage is reported.
    base: usize,
    /// `true` for big-endian bytes.
    is_big: bool,
}

impl<'a> Fields<'a> {
    pub(in crate::adios) fn new(bytes: &'a [u8], is_big: bool) -> Self {
        Fields {
            bytes,
            at: 0,
            base: 0,
            is_big,
        }
    }

    pub(in crate::adios) fn is_empty(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// Returns fields of the same bytes with another read position and byte order.
    pub(in crate::adios) fn at(
        &self,
        at: u64,
        is_big: bool,
        expected: &'static str,
    ) -> Read<Fields<'a>> {
        let inside = usize::try_from(at)
            .ok()
            .filter(|at| *at <= self.bytes.len());
        Ok(Fields {
            at: inside.ok_or_else(|| self.damage(expected))?,
            is_big,
            ..*self
        })
    }

    /// Returns the last `len` bytes before the read position as separate fields.
    pub(in crate::adios) fn before(&self, len: u64, expected: &'static str) -> Read<Fields<'a>> {
        let len = usize::try_from(len).ok();
        let start = len.and_then(|len| self.at.checked_sub(len));
        let mut fields = *self;
        fields.at = start.ok_or_else(|| self.damage(expected))?;
        fields.part((self.at - fields.at) as u64, expected)
    }

    /// Returns the number of bytes before and after the read position.
    pub(in crate::adios) fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Returns the read position in the bytes for which damage is reported.
    pub(in crate::adios) fn position(&self) -> u64 {
        (self.base + self.at) as u64
    }

    pub(in crate::adios) fn damage(&self, expected: &'static str) -> Damage {
        Damage {
            at: self.base + self.at,
            expected,
        }
    }

    pub(in crate::adios) fn bytes(&mut self, len: u64, expected: &'static str) -> Read<&'a [u8]> {
        let end = usize::try_from(len)
            .ok()
            .and_then(|len| self.at.checked_add(len));
        let taken = end.and_then(|end| self.bytes.get(self.at..end));
        let taken = taken.ok_or_else(|| self.damage(expected))?;
        self.at += taken.len();
        Ok(taken)
    }

    /// Returns the next `len` bytes as separate fields.
    pub(in crate::adios) fn part(&mut self, len: u64, expected: &'static str) -> Read<Fields<'a>> {
        let base = self.base + self.at;
        Ok(Fields {
            bytes: self.bytes(len, expected)?,
            at: 0,
            base,
            is_big: self.is_big,
        })
    }

    fn array<const N: usize>(&mut self, expected: &'static str) -> Read<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.bytes(N as u64, expected)?);
        if self.is_big {
            array.reverse();
        }
        Ok(array)
    }

    pub(in crate::adios) fn u8(&mut self, expected: &'static str) -> Read<u8> {
        Ok(u8::from_le_bytes(self.array(expected)?))
    }

    pub(in crate::adios) fn u16(&mut self, expected: &'static str) -> Read<u16> {
        Ok(u16::from_le_bytes(self.array(expected)?))
    }

    pub(in crate::adios) fn u32(&mut self, expected: &'static str) -> Read<u32> {
        Ok(u32::from_le_bytes(self.array(expected)?))
    }

    pub(in crate::adios) fn u64(&mut self, expected: &'static str) -> Read<u64> {
        Ok(u64::from_le_bytes(self.array(expected)?))
    }

    /// Reads a text after its length in two bytes. Invalid UTF-8 is replaced.
    pub(in crate::adios) fn text(&mut self, expected: &'static str) -> Read<String> {
        let len = self.u16(expected)?;
        let bytes = self.bytes(len.into(), expected)?;
        Ok(String::from_utf8_lossy(bytes).into_owned())
    }

    /// Reads the bytes up to a zero byte, which is skipped.
    pub(in crate::adios) fn zero_terminated(&mut self, expected: &'static str) -> Read<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        let len = rest.iter().position(|byte| *byte == 0);
        let len = len.ok_or_else(|| self.damage(expected))?;
        let text = self.bytes(len as u64, expected)?;
        self.at += 1;
        Ok(text)
    }

    /// Reads an integer of a type; negative ones wrap around like casts to unsigned.
    pub(in crate::adios) fn integer(&mut self, kind: Kind, expected: &'static str) -> Read<u64> {
        Ok(match kind {
            Kind::I8 => self.u8(expected)?.cast_signed() as i64 as u64,
            Kind::I16 => self.u16(expected)?.cast_signed() as i64 as u64,
            Kind::I32 => self.u32(expected)?.cast_signed() as i64 as u64,
            Kind::I64 | Kind::U64 => self.u64(expected)?,
            Kind::U8 => self.u8(expected)?.into(),
            Kind::U16 => self.u16(expected)?.into(),
            Kind::U32 => self.u32(expected)?.into(),
            _ => return Err(self.damage(expected)),
        })
    }
}

/// Type of a variable or attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::adios) enum Kind {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    Text,
    Texts,
    /// A type that events do not use, with its length in bytes.
    Other(u8),
}

impl Kind {
    pub(in crate::adios) fn of(code: u8) -> Option<Self> {
        Some(match code {
            0 | 55 => Kind::I8,
            1 => Kind::I16,
            2 => Kind::I32,
            4 => Kind::I64,
            5 => Kind::Other(4),
            6 | 10 => Kind::Other(8),
            7 | 11 => Kind::Other(16),
            9 => Kind::Text,
            12 => Kind::Texts,
            50 => Kind::U8,
            51 => Kind::U16,
            52 => Kind::U32,
            54 => Kind::U64,
            _ => return None,
        })
    }

    /// Returns the size of a number in bytes.
    pub(in crate::adios) fn size(self) -> u64 {
        match self {
            Kind::I8 | Kind::U8 | Kind::Text | Kind::Texts => 1,
            Kind::I16 | Kind::U16 => 2,
            Kind::I32 | Kind::U32 => 4,
            Kind::I64 | Kind::U64 => 8,
            Kind::Other(size) => size.into(),
        }
    }

    pub(in crate::adios) fn is_integer(self) -> bool {
        !matches!(self, Kind::Text | Kind::Texts | Kind::Other(_))
    }
}
