//! Cube profiles: CUBE4 archives (`.cubex`), read and written, and Cube3 documents (`.cube`), read.
//!
//! A `.cubex` is a tar archive with an XML document, `anchor.xml`, and for each metric an index and
//! a matrix of call paths by locations. [`Cube`] opens one and [`write()`] makes one.

mod anchor;
mod cubepl;
mod derived;
mod dtype;
mod format;
mod index;
mod names;
mod order;
mod read;
mod resolve;
mod rows;
pub mod rules;
mod tar;
mod text;
mod write;

pub use format::FORMAT;
pub use names::property;
pub use read::Cube;
pub use write::{Layout, WriteOptions, write};
