//! Schema of the OTF2 records for reader and writer: [`Record`] and [`Field`], the namespaces of
//! ids ([`Space`]), look-up of records by id or name, and structural bytes ([`internal`]).
//!
//! [`EVENTS`] and [`DEFINITIONS`] list every record of trace format 2 with its fields in the order
//! of the file. The [`Kind`] of a field gives its encoding and, for an id, its [`Space`], so that
//! mapping tables can be applied to any record generically.

/// Declares records as `id Name { field: kind, field: kind; optional_field: kind }`. Records without
/// a length byte have parentheses in place of braces.
///
/// A kind is an encoding, such as `u32`, the [`Space`] of an id, such as `Region`, or a list, as in
/// `[u8; member: u64]`: the encoding of the count, and the fields of one element.
macro_rules! records {
    (@record $id:literal $name:ident $has_length:literal
     $($field:ident: $kind:tt),* $(; $($optional:ident: $of:tt),*)?) => {
        Record {
            id: $id,
            name: stringify!($name),
            has_length: $has_length,
            fields: &[
                $(records!(@field $field $kind false),)*
                $($(records!(@field $optional $of true),)*)?
            ],
        }
    };
    (@record $id:literal $name:ident {$($fields:tt)*}) => {
        records!(@record $id $name true $($fields)*)
    };
    (@record $id:literal $name:ident ($($fields:tt)*)) => {
        records!(@record $id $name false $($fields)*)
    };
    (@field $name:ident $kind:tt $optional:literal) => {
        Field { name: stringify!($name), kind: records!(@kind $kind), optional: $optional }
    };
    (@kind u8) => { Kind::U8 };
    (@kind u32) => { Kind::U32 };
    (@kind u64) => { Kind::U64 };
    (@kind i64) => { Kind::I64 };
    (@kind fixed64) => { Kind::Fixed64 };
    (@kind f64) => { Kind::F64 };
    (@kind text) => { Kind::Text };
    (@kind value) => { Kind::Value };
    (@kind [$count:tt; $($field:ident: $kind:tt),*]) => {
        Kind::List {
            count: records!(@count $count),
            of: &[$(records!(@field $field $kind false)),*],
        }
    };
    (@kind $space:ident) => { Kind::Id(Space::$space) };
    (@count u8) => { Count::U8 };
    (@count u32) => { Count::U32 };
    ($($id:literal $name:ident $fields:tt)*) => {
        &[$(records!(@record $id $name $fields)),*]
    };
}

mod definitions;
pub(crate) mod event_ids;
mod events;

pub use definitions::{DEFINITIONS, LOCAL_DEFINITIONS};
pub use events::EVENTS;

/// Namespace of an id.
///
/// Ids of the spaces up to [`LocationGroup`](Space::LocationGroup) can be local to a location. The
/// mapping table with number [`Space::mapping`] translates them to global ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "the names are those of the definition records")]
#[non_exhaustive]
pub enum Space {
    String,
    Attribute,
    Location,
    Region,
    Group,
    /// Metric classes and metric instances, which share their ids.
    Metric,
    /// Communicators and inter-communicators, which share their ids.
    Comm,
    Parameter,
    RmaWin,
    SourceCodeLocation,
    CallingContext,
    InterruptGenerator,
    /// Regular files and directories, which share their ids.
    IoFile,
    IoHandle,
    LocationGroup,
    SystemTreeNode,
    Callsite,
    Callpath,
    MetricMember,
    CartDimension,
    CartTopology,
}

impl Space {
    /// Spaces with mapping tables, by the number of their table.
    pub const MAPPED: [Space; 15] = [
        Space::String,
        Space::Attribute,
        Space::Location,
        Space::Region,
        Space::Group,
        Space::Metric,
        Space::Comm,
        Space::Parameter,
        Space::RmaWin,
        Space::SourceCodeLocation,
        Space::CallingContext,
        Space::InterruptGenerator,
        Space::IoFile,
        Space::IoHandle,
        Space::LocationGroup,
    ];

    /// Returns the number of the mapping table of this space, or `None` if its ids are always
    /// global.
    pub fn mapping(self) -> Option<u8> {
        let at = Self::MAPPED.iter().position(|space| *space == self)?;
        u8::try_from(at).ok()
    }

    /// Returns the space of the mapping table with number `kind`.
    pub fn from_mapping(kind: u8) -> Option<Self> {
        Self::MAPPED.get(usize::from(kind)).copied()
    }

    /// Returns the space that a value of attribute type `code` refers to, or `None` for plain
    /// values.
    ///
    /// ```
    /// use perf_formats::otf2::schema::Space;
    /// assert_eq!(Space::of_type(14), Some(Space::Region));
    /// assert_eq!(Space::of_type(4), None);
    /// ```
    pub fn of_type(code: u8) -> Option<Self> {
        Some(match code {
            11 => Space::String,
            12 => Space::Attribute,
            13 => Space::Location,
            14 => Space::Region,
            15 => Space::Group,
            16 => Space::Metric,
            17 => Space::Comm,
            18 => Space::Parameter,
            19 => Space::RmaWin,
            20 => Space::SourceCodeLocation,
            21 => Space::CallingContext,
            22 => Space::InterruptGenerator,
            23 => Space::IoFile,
            24 => Space::IoHandle,
            25 => Space::LocationGroup,
            _ => return None,
        })
    }

    /// Returns `true` if ids have 64 bits; all others have 32.
    pub fn is_wide(self) -> bool {
        self == Space::Location
    }

    /// Returns the undefined id of the space: all bits set.
    pub fn undefined(self) -> u64 {
        if self.is_wide() {
            u64::MAX
        } else {
            u64::from(u32::MAX)
        }
    }

    /// Returns a noun for messages, such as `region`.
    pub fn noun(self) -> &'static str {
        match self {
            Space::String => "string",
            Space::Attribute => "attribute",
            Space::Location => "location",
            Space::Region => "region",
            Space::Group => "group",
            Space::Metric => "metric",
            Space::Comm => "communicator",
            Space::Parameter => "parameter",
            Space::RmaWin => "window",
            Space::SourceCodeLocation => "source location",
            Space::CallingContext => "calling context",
            Space::InterruptGenerator => "interrupt generator",
            Space::IoFile => "file",
            Space::IoHandle => "file handle",
            Space::LocationGroup => "location group",
            Space::SystemTreeNode => "system node",
            Space::Callsite => "call site",
            Space::Callpath => "call path",
            Space::MetricMember => "metric member",
            Space::CartDimension => "dimension",
            Space::CartTopology => "topology",
        }
    }
}

/// Encoding of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// One byte (`b` in the tables of the specification).
    U8,
    /// Compressed integer of 32 bits (`v`).
    U32,
    /// Compressed integer of 64 bits (`v`).
    U64,
    /// Compressed integer of 64 bits, signed (`v`).
    I64,
    /// Eight bytes (`q`).
    Fixed64,
    /// Eight bytes of floating point (`d`).
    F64,
    /// Text that ends with a zero byte (`s`).
    Text,
    /// Compressed integer that is an id (`v`).
    Id(Space),
    /// A type code (one byte) and a value of that type, as in attribute lists.
    Value,
    /// A count, followed by that many groups of fields.
    List {
        /// Encoding of the count.
        count: Count,
        /// Fields of one element.
        of: &'static [Field],
    },
}

/// Encoding of the count of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// One byte.
    U8,
    /// Compressed integer of 32 bits.
    U32,
}

/// A field of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name, in snake case.
    pub name: &'static str,
    /// Encoding of the field.
    pub kind: Kind,
    /// `true` if older archives omit the field at the end of the record.
    pub optional: bool,
}

/// A kind of record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Id byte at the start of the record.
    pub id: u8,
    /// OTF2 name of the record, such as `MpiSend`.
    pub name: &'static str,
    /// `true` if a length byte follows the id. Ten old events have none: their payload is a single
    /// compressed integer.
    pub has_length: bool,
    /// Fields of the record, in the order of the file.
    pub fields: &'static [Field],
}

/// Bytes that structure the file and are not records of a table.
pub mod internal {
    /// End of the chunk; the rest of it is zero.
    pub const END_OF_CHUNK: u8 = 0;
    /// End of the buffer.
    pub const END_OF_BUFFER: u8 = 1;
    /// End of the file.
    pub const END_OF_FILE: u8 = 2;
    /// Header of a chunk, and the first byte of an anchor.
    pub const CHUNK_HEADER: u8 = 3;
    /// Timestamp in event files.
    pub const TIMESTAMP: u8 = 5;
    /// Attributes of the next event, in event files.
    pub const ATTRIBUTES: u8 = 6;
    /// Byte that marks a little-endian file.
    pub const LITTLE: u8 = 0x42;
    /// Byte that marks a big-endian file.
    pub const BIG: u8 = 0x23;
    /// Length of a chunk header in bytes: id 3, byte order, first and last event number.
    pub const CHUNK_HEADER_LEN: usize = 18;
}

/// Returns the event record with this id.
///
/// ```
/// use perf_formats::otf2::schema;
/// assert_eq!(schema::event(14).map(|record| record.name), Some("MpiSend"));
/// assert_eq!(schema::event(9), None);
/// ```
#[inline]
pub fn event(id: u8) -> Option<&'static Record> {
    EVENTS.get(usize::from(*EVENT_AT.get(usize::from(id))?))
}

/// Index of each event id in [`EVENTS`]; past its end for ids without a record.
const EVENT_AT: [u8; 256] = {
    let mut at = [u8::MAX; 256];
    let mut index = 0;
    while index < EVENTS.len() {
        at[EVENTS[index].id as usize] = index as u8;
        index += 1;
    }
    at
};

/// Returns the event record with this name.
///
/// ```
/// use perf_formats::otf2::schema;
/// let send = schema::event_named("MpiSend").expect("it is one");
/// assert_eq!((send.id, send.fields[0].name), (14, "receiver"));
/// ```
pub fn event_named(name: &str) -> Option<&'static Record> {
    EVENTS.iter().find(|record| record.name == name)
}

/// Returns the global definition record with this id.
pub fn definition(id: u8) -> Option<&'static Record> {
    find(DEFINITIONS, id)
}

/// Returns the global definition record with this name.
///
/// ```
/// use perf_formats::otf2::schema;
/// let region = schema::definition_named("Region").expect("it is one");
/// assert_eq!(schema::definition(region.id), Some(region));
/// ```
pub fn definition_named(name: &str) -> Option<&'static Record> {
    DEFINITIONS.iter().find(|record| record.name == name)
}

/// Returns the record with this id in a local definition file: mapping tables and clock offsets,
/// and the definitions from id 10 on.
pub fn local_definition(id: u8) -> Option<&'static Record> {
    match id {
        0..10 => find(LOCAL_DEFINITIONS, id),
        _ => definition(id),
    }
}

/// Finds a record by id. Tables are ordered by id, mostly without gaps.
fn find(table: &'static [Record], id: u8) -> Option<&'static Record> {
    let at = table.binary_search_by_key(&id, |record| record.id).ok()?;
    table.get(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_of_event_ids_agree_with_the_table() {
        let named = [
            (event_ids::BUFFER_FLUSH, "BufferFlush"),
            (event_ids::MEASUREMENT_ON_OFF, "MeasurementOnOff"),
            (event_ids::ENTER, "Enter"),
            (event_ids::LEAVE, "Leave"),
            (event_ids::MPI_SEND, "MpiSend"),
            (event_ids::MPI_ISEND, "MpiIsend"),
            (event_ids::MPI_ISEND_COMPLETE, "MpiIsendComplete"),
            (event_ids::MPI_IRECV_REQUEST, "MpiIrecvRequest"),
            (event_ids::MPI_RECV, "MpiRecv"),
            (event_ids::MPI_IRECV, "MpiIrecv"),
            (event_ids::MPI_REQUEST_TEST, "MpiRequestTest"),
            (event_ids::MPI_REQUEST_CANCELLED, "MpiRequestCancelled"),
            (event_ids::MPI_COLLECTIVE_BEGIN, "MpiCollectiveBegin"),
            (event_ids::MPI_COLLECTIVE_END, "MpiCollectiveEnd"),
            (event_ids::METRIC, "Metric"),
            (event_ids::RMA_PUT, "RmaPut"),
            (event_ids::RMA_GET, "RmaGet"),
            (event_ids::RMA_ATOMIC, "RmaAtomic"),
            (event_ids::RMA_OP_COMPLETE_BLOCKING, "RmaOpCompleteBlocking"),
            (
                event_ids::RMA_OP_COMPLETE_NON_BLOCKING,
                "RmaOpCompleteNonBlocking",
            ),
            (event_ids::RMA_OP_TEST, "RmaOpTest"),
            (event_ids::RMA_OP_COMPLETE_REMOTE, "RmaOpCompleteRemote"),
            (event_ids::CONTEXT_ENTER, "CallingContextEnter"),
            (event_ids::CONTEXT_LEAVE, "CallingContextLeave"),
            (event_ids::CONTEXT_SAMPLE, "CallingContextSample"),
            (
                event_ids::COLLECTIVE_REQUEST,
                "NonBlockingCollectiveRequest",
            ),
            (
                event_ids::COLLECTIVE_COMPLETE,
                "NonBlockingCollectiveComplete",
            ),
        ];
        for (id, name) in named {
            assert_eq!(event(id).map(|record| record.name), Some(name));
        }
    }

    #[test]
    fn tables_are_in_order_of_id() {
        for table in [EVENTS, DEFINITIONS, LOCAL_DEFINITIONS] {
            assert!(table.is_sorted_by(|a, b| a.id < b.id));
        }
        for id in 0..=u8::MAX {
            assert_eq!(event(id), find(EVENTS, id));
        }
    }

    #[test]
    fn bare_records_are_one_compressed_integer() {
        let bare = EVENTS.iter().filter(|record| !record.has_length);
        let ids: Vec<u8> = bare.clone().map(|record| record.id).collect();
        assert_eq!(ids, [12, 13, 16, 17, 20, 21, 24, 28, 29, 30]);
        for record in bare {
            assert_eq!(record.fields.len(), 1, "{}", record.name);
        }
    }

    #[test]
    fn optional_fields_come_last() {
        for record in EVENTS.iter().chain(DEFINITIONS) {
            let optional = record.fields.iter().map(|field| field.optional);
            assert!(optional.is_sorted(), "{}", record.name);
        }
    }

    #[test]
    fn mapped_spaces_are_numbered_as_in_the_format() {
        for (number, space) in Space::MAPPED.iter().enumerate() {
            assert_eq!(space.mapping(), Some(number as u8));
        }
        assert_eq!(Space::MetricMember.mapping(), None);
    }
}
