//! [`Message`]: encoder of protobuf messages, field by field; [`field`]: numbers of the fields of
//! Perfetto's messages.

use prost::encoding::{WireType, encode_key, encode_varint};

/// Numbers of the written fields, by message.
pub(super) mod field {
    pub(crate) const TRACE_PACKET: u32 = 1;

    pub(crate) const PACKET_CLOCK_SNAPSHOT: u32 = 6;
    pub(crate) const PACKET_TIMESTAMP: u32 = 8;
    pub(crate) const PACKET_SEQUENCE: u32 = 10;
    pub(crate) const PACKET_TRACK_EVENT: u32 = 11;
    pub(crate) const PACKET_INTERNED_DATA: u32 = 12;
    pub(crate) const PACKET_SEQUENCE_FLAGS: u32 = 13;
    pub(crate) const PACKET_TRACK_DESCRIPTOR: u32 = 60;

    pub(crate) const SNAPSHOT_CLOCKS: u32 = 1;
    pub(crate) const CLOCK_ID: u32 = 1;
    pub(crate) const CLOCK_TIMESTAMP: u32 = 2;

    pub(crate) const TRACK_UUID: u32 = 1;
    pub(crate) const TRACK_NAME: u32 = 2;
    pub(crate) const TRACK_PROCESS: u32 = 3;
    pub(crate) const TRACK_THREAD: u32 = 4;
    pub(crate) const TRACK_PARENT: u32 = 5;
    pub(crate) const TRACK_COUNTER: u32 = 8;
    pub(crate) const PROCESS_PID: u32 = 1;
    pub(crate) const PROCESS_NAME: u32 = 6;
    pub(crate) const THREAD_PID: u32 = 1;
    pub(crate) const THREAD_TID: u32 = 2;
    pub(crate) const THREAD_NAME: u32 = 5;
    pub(crate) const COUNTER_UNIT_NAME: u32 = 6;

    pub(crate) const EVENT_ANNOTATION: u32 = 4;
    pub(crate) const EVENT_TYPE: u32 = 9;
    pub(crate) const EVENT_NAME_IID: u32 = 10;
    pub(crate) const EVENT_TRACK_UUID: u32 = 11;
    pub(crate) const EVENT_COUNTER: u32 = 30;
    pub(crate) const EVENT_DOUBLE_COUNTER: u32 = 44;
    pub(crate) const EVENT_FLOWS: u32 = 47;
    pub(crate) const EVENT_LAST_FLOWS: u32 = 48;

    pub(crate) const ANNOTATION_UINT: u32 = 3;
    pub(crate) const ANNOTATION_INT: u32 = 4;
    pub(crate) const ANNOTATION_DOUBLE: u32 = 5;
    pub(crate) const ANNOTATION_NAME: u32 = 10;

    pub(crate) const INTERNED_EVENT_NAMES: u32 = 2;
    pub(crate) const NAME_IID: u32 = 1;
    pub(crate) const NAME_TEXT: u32 = 2;
}

/// A message under construction. Fields are written in the order of the calls.
#[derive(Clone, Debug, Default)]
pub(super) struct Message(pub(super) Vec<u8>);

impl Message {
    /// Appends a non-negative number or an enum.
    pub(super) fn number(&mut self, field: u32, value: u64) -> &mut Self {
        encode_key(field, WireType::Varint, &mut self.0);
        encode_varint(value, &mut self.0);
        self
    }

    /// Appends an `int64` or `int32`; negative values take ten bytes.
    pub(super) fn signed(&mut self, field: u32, value: i64) -> &mut Self {
        self.number(field, value.cast_unsigned())
    }

    /// Appends a `fixed64`.
    pub(super) fn fixed(&mut self, field: u32, value: u64) -> &mut Self {
        encode_key(field, WireType::SixtyFourBit, &mut self.0);
        self.0.extend(value.to_le_bytes());
        self
    }

    /// Appends a `double`.
    pub(super) fn double(&mut self, field: u32, value: f64) -> &mut Self {
        self.fixed(field, value.to_bits())
    }

    /// Appends text.
    pub(super) fn text(&mut self, field: u32, text: &str) -> &mut Self {
        self.bytes(field, text.as_bytes())
    }

    /// Appends a nested message.
    pub(super) fn message(&mut self, field: u32, inner: &Message) -> &mut Self {
        self.bytes(field, &inner.0)
    }

    fn bytes(&mut self, field: u32, bytes: &[u8]) -> &mut Self {
        encode_key(field, WireType::LengthDelimited, &mut self.0);
        encode_varint(bytes.len() as u64, &mut self.0);
        self.0.extend_from_slice(bytes);
        self
    }
}
