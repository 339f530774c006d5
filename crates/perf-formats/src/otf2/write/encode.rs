//! [`Encoder`]: encodes the primitive types of OTF2 and whole records, the inverse of the cursor of
//! [`wire`](crate::otf2::wire).

use crate::otf2::schema::{Count, Field, Kind, Record, Space};
use crate::otf2::wire::ByteOrder;

/// A field of a definition record.
#[derive(Clone, Debug, PartialEq)]
pub enum Arg {
    /// A number: an integer, an id, or the bits of a float.
    N(u64),
    /// Text.
    T(String),
    /// A value with its type code.
    V(u8, u64),
    /// The elements of a list, each with its fields.
    L(Vec<Vec<Arg>>),
}

impl From<u32> for Arg {
    fn from(number: u32) -> Self {
        Arg::N(number.into())
    }
}

impl From<u64> for Arg {
    fn from(number: u64) -> Self {
        Arg::N(number)
    }
}

impl From<u8> for Arg {
    fn from(number: u8) -> Self {
        Arg::N(number.into())
    }
}

/// Buffer of encoded bytes.
#[derive(Clone, Debug, Default)]
pub struct Encoder {
    /// Byte order of the output.
    order: ByteOrder,
    /// Encoded bytes.
    bytes: Vec<u8>,
}

/// The undefined id of 32 bits: all bits set.
pub(super) const NONE: u64 = u32::MAX as u64;

impl Encoder {
    /// Creates an empty encoder.
    pub fn new(order: ByteOrder) -> Self {
        Encoder {
            order,
            bytes: Vec::new(),
        }
    }

    /// Returns the encoded bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Clears the buffer and keeps its memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Returns the byte order.
    pub fn order(&self) -> ByteOrder {
        self.order
    }

    /// Appends bytes that are already encoded.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends one byte.
    pub fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    fn u16(&mut self, value: u16) {
        let bytes = match self.order {
            ByteOrder::Little => value.to_le_bytes(),
            ByteOrder::Big => value.to_be_bytes(),
        };
        self.bytes.extend_from_slice(&bytes);
    }

    /// Appends four bytes.
    pub fn u32(&mut self, value: u32) {
        let bytes = match self.order {
            ByteOrder::Little => value.to_le_bytes(),
            ByteOrder::Big => value.to_be_bytes(),
        };
        self.bytes.extend_from_slice(&bytes);
    }

    /// Appends eight bytes.
    pub fn u64(&mut self, value: u64) {
        let bytes = match self.order {
            ByteOrder::Little => value.to_le_bytes(),
            ByteOrder::Big => value.to_be_bytes(),
        };
        self.bytes.extend_from_slice(&bytes);
    }

    /// Appends text and a zero byte. Text is cut at its first zero.
    pub fn text(&mut self, text: &str) {
        let text = text.split('\0').next().unwrap_or_default();
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.push(0);
    }

    /// Appends a compressed integer of 64 bits.
    pub fn v64(&mut self, value: u64) {
        if value == u64::MAX {
            self.u8(0xFF);
        } else {
            self.compressed(value);
        }
    }

    /// Appends a compressed integer of 32 bits; higher bits are dropped.
    pub fn v32(&mut self, value: u64) {
        let value = value & NONE;
        if value == NONE {
            self.u8(0xFF);
        } else {
            self.compressed(value);
        }
    }

    fn compressed(&mut self, value: u64) {
        let len = 8 - value.leading_zeros() as usize / 8;
        self.bytes.push(len as u8);
        match self.order {
            ByteOrder::Little => {
                let bytes = value.to_le_bytes();
                self.bytes.extend_from_slice(&bytes[..len]);
            }
            ByteOrder::Big => {
                let bytes = value.to_be_bytes();
                self.bytes.extend_from_slice(&bytes[8 - len..]);
            }
        }
    }

    /// Appends a definition record. Optional fields may be omitted from the end.
    pub fn record(&mut self, record: &Record, args: &[Arg]) {
        self.framed(record, |payload| payload.fields(record.fields, args));
    }

    /// Appends an event record from numbers: the fields in order, the count of a list before its
    /// elements.
    pub fn event(&mut self, record: &Record, numbers: &[u64]) {
        self.framed(record, |payload| {
            payload.numbers(record.fields, &mut numbers.iter().copied());
        });
    }

    /// Appends id, length and payload. The length is filled in after the payload.
    pub fn framed(&mut self, record: &Record, payload: impl FnOnce(&mut Encoder)) {
        self.u8(record.id);
        if !record.has_length {
            payload(self);
            return;
        }
        let start = self.bytes.len();
        self.u8(0);
        payload(self);
        let len = self.bytes.len() - start - 1;
        match u8::try_from(len) {
            Ok(short) if short < 0xFF => {
                if let Some(byte) = self.bytes.get_mut(start) {
                    *byte = short;
                }
            }
            _ => {
                let mut long = Encoder::new(self.order);
                long.u8(0xFF);
                long.u64(len as u64);
                self.bytes.splice(start..=start, long.bytes);
            }
        }
    }

    fn fields(&mut self, fields: &[Field], args: &[Arg]) {
        for (field, arg) in fields.iter().zip(args) {
            match (field.kind, arg) {
                (Kind::Text, Arg::T(text)) => self.text(text),
                (Kind::Value, Arg::V(code, bits)) => {
                    self.u8(*code);
                    self.value(*code, *bits);
                }
                (Kind::List { count, of }, Arg::L(elements)) => {
                    self.count(count, elements.len() as u64);
                    for element in elements {
                        self.fields(of, element);
                    }
                }
                (kind, Arg::N(number)) => self.number(kind, *number),
                (kind, other) => debug_assert!(false, "{}: {other:?} is no {kind:?}", field.name),
            }
        }
    }

    fn numbers(&mut self, fields: &[Field], numbers: &mut impl Iterator<Item = u64>) {
        for field in fields {
            let Some(number) = numbers.next() else {
                return;
            };
            match field.kind {
                Kind::List { count, of } => {
                    self.count(count, number);
                    for _ in 0..number {
                        self.numbers(of, numbers);
                    }
                }
                kind => self.number(kind, number),
            }
        }
    }

    fn count(&mut self, count: Count, number: u64) {
        match count {
            Count::U8 => self.u8(number as u8),
            Count::U32 => self.v32(number),
        }
    }

    fn number(&mut self, kind: Kind, number: u64) {
        match kind {
            Kind::U8 => self.u8(number as u8),
            Kind::U32 => self.v32(number),
            Kind::U64 | Kind::I64 => self.v64(number),
            Kind::Fixed64 | Kind::F64 => self.u64(number),
            Kind::Id(space) => self.id(space, number),
            Kind::Text | Kind::Value | Kind::List { .. } => {}
        }
    }

    fn id(&mut self, space: Space, id: u64) {
        if space.is_wide() {
            self.v64(id);
        } else {
            self.v32(id);
        }
    }

    /// Appends a value of attribute type `code` from its bits; floats are given as those of an
    /// `f64`.
    pub fn value(&mut self, code: u8, bits: u64) {
        match code {
            1 | 5 => self.u8(bits as u8),
            2 | 6 => self.u16(bits as u16),
            9 => self.u32((f64::from_bits(bits) as f32).to_bits()),
            10 => self.u64(bits),
            4 | 8 | 13 => self.v64(bits),
            _ => self.v32(bits),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::otf2::schema;
    use crate::otf2::wire::Cursor;
    use proptest::prelude::*;

    fn order() -> impl Strategy<Value = ByteOrder> {
        prop_oneof![Just(ByteOrder::Little), Just(ByteOrder::Big)]
    }

    proptest! {
        #[test]
        fn compressed_integers_come_back(value: u64, shift in 0u32..64, order in order()) {
            let value = value >> shift;
            let mut encoder = Encoder::new(order);
            encoder.v64(value);
            encoder.v32(value);
            let mut cursor = Cursor::new(encoder.bytes(), order);
            prop_assert_eq!(cursor.v64("number"), Ok(value));
            prop_assert_eq!(cursor.v32("number"), Ok(value as u32));
            prop_assert!(cursor.is_empty());
        }

        #[test]
        fn every_event_record_comes_back(
            at in 0..schema::EVENTS.len(),
            numbers in prop::collection::vec(0u64..200, 6),
            elements in 0u64..200,
            order in order(),
        ) {
            let record = &schema::EVENTS[at];
            let mut given = Vec::new();
            for (field, number) in record.fields.iter().zip(&numbers) {
                if let Kind::List { of, .. } = field.kind {
                    given.push(elements);
                    given.extend((0..elements * of.len() as u64).map(|n| n % 250));
                } else {
                    given.push(*number);
                }
            }
            let mut encoder = Encoder::new(order);
            encoder.event(record, &given);
            let mut cursor = Cursor::new(encoder.bytes(), order);
            prop_assert_eq!(cursor.u8("id"), Ok(record.id));
            let payload = if record.has_length { cursor.payload() } else { Ok(cursor.rest()) };
            let mut read = Vec::new();
            let mut cursor = Cursor::new(payload.unwrap(), order);
            cursor.numbers(record.fields, &mut read, &mut |_, id| id).unwrap();
            prop_assert_eq!(read, given);
        }
    }
}
