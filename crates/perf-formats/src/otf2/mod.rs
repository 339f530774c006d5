//! OTF2 archives.

pub mod archive;
pub mod schema;
pub mod wire;

pub use archive::{Archive, Folder, Members};
pub use wire::ByteOrder;
