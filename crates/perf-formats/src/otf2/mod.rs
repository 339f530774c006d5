//! Reader and writer of OTF2 archives, as written by Score-P, EZTrace, APEX and others.
//!
//! | level | purpose |
//! |---|---|
//! | [`schema`] | every record of the format as one table |
//! | [`Archive`] | source of bytes: a [`DiskArchive`], a [`MemoryArchive`], or a custom one |
//! | [`Reader`] | definitions, and events in columns, merged by time, or record by record |
//!
//! The reader is tolerant: violations that occur in real archives and that libotf2 rejects are
//! repaired and counted under one of the [`rules`]. In strict mode, the first repair is an error.
//!
//! The columns of a trace cannot represent everything: enters and leaves of calling contexts become
//! those of their regions, and samples keep only their context. [`Reader::records`] and [`cut`]
//! keep all information.
//!
//! Time never decreases within a location: an event that is earlier than its predecessor gets the
//! time of the predecessor and is counted. A single corrupt time far ahead, if it is not recognised
//! as an outlier, therefore holds all later events of the location at that time. A read of a window
//! may skip the chunk with the corrupt time; it then returns the later events at their own times,
//! whereas the same window of a complete read is empty.

pub mod archive;
pub mod rules;
pub mod schema;

mod codes;
mod definitions;
mod events;
mod format;
mod merge;
mod reader;
mod subset;
pub(crate) mod wire;
mod write;

use events::{column_reader, event_conversion, open_regions, raw_events};

pub use archive::anchor::Anchor;
pub use archive::{Archive, DiskArchive, MemoryArchive};
pub use definitions::local::LocalDefinitions;
pub use definitions::{DefinitionFile, DefinitionRecord};
pub use event_conversion::record_name;
pub use format::FORMAT;
pub use merge::Merged;
pub use raw_events::RawEvent;
pub use reader::{Estimate, Reader};
pub use subset::{Cut, cut};
pub use wire::ByteOrder;
pub use write::{
    ATTRIBUTE_NOT_WRITTEN, Arg, EVENT_NOT_WRITTEN, Encoder, NewArchive, REGION_NAMED,
    SAMPLE_COMPLETED, Sink, WriteOptions, Writer, write,
};
