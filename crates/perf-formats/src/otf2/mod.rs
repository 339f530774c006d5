//! OTF2 archives: Score-P, EZTrace, APEX and others write them.
//!
//! | level | what |
//! |---|---|
//! | [`schema`] | every record of the format as one table |
//! | [`Archive`] | where bytes come from: a [`DiskArchive`], [`MemoryArchive`] in memory, or one's own |
//! | [`Reader`] | definitions, and events in columns, merged by time, or record by record |
//!
//! Reading is tolerant: what real tools write and libotf2 refuses is repaired and counted under
//! one of the [`rules`]. Strict reading makes the first repair an error.
//!
//! What the columns of a trace have no place for: enters and leaves of calling contexts become those
//! of their regions, and samples keep their context alone. [`Reader::records`] and [`cut`] keep all.
//!
//! Time never goes back inside a location: what is earlier than the event before is held at its time
//! and counted. One corrupt time far ahead therefore holds all that follows there. A read of a
//! window may skip the chunk with the corrupt time, and then has the later events at their own times
//! where a read of everything, seen through the same window, has none.

pub mod archive;
pub mod rules;
pub mod schema;

mod anchor;
mod codes;
mod cut;
mod definitions;
mod events;
mod format;
mod kinds;
mod local;
mod locate;
mod maps;
mod merge;
mod open;
mod read;
mod reader;
mod records;
mod resolve;
mod source;
mod tree;
pub(crate) mod wire;
mod write;

pub use anchor::Anchor;
pub use archive::{Archive, DiskArchive, MemoryArchive};
pub use cut::{Cut, cut};
pub use definitions::{DefinitionFile, DefinitionRecord};
pub use format::FORMAT;
pub use kinds::record_name;
pub use local::LocalDefinitions;
pub use merge::Merged;
pub use reader::{Estimate, Reader};
pub use records::RawEvent;
pub use wire::ByteOrder;
pub use write::{
    ATTRIBUTE_NOT_WRITTEN, Arg, EVENT_NOT_WRITTEN, Encoder, NewArchive, REGION_NAMED,
    SAMPLE_COMPLETED, Sink, WriteOptions, Writer, write,
};
