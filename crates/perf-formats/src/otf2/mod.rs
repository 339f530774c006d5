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
mod maps;
mod merge;
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
    ATTRIBUTE_NOT_WRITTEN, Arg, EVENT_NOT_WRITTEN, Encoder, NewArchive, REGION_NAMED, Sink,
    WriteOptions, Writer, write,
};
