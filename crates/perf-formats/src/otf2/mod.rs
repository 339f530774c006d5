//! OTF2 archives.

pub mod archive;
mod codes;
pub mod schema;
pub mod wire;
mod write;

pub use archive::{Archive, Folder, Members};
pub use wire::ByteOrder;
pub use write::{
    ATTRIBUTE_NOT_WRITTEN, Arg, EVENT_NOT_WRITTEN, Encoder, NewFolder, REGION_NAMED, Sink,
    WriteOptions, Writer, write,
};
