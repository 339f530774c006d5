//! JSON that is pulled through a window: events of files larger than memory, and of damaged ones.
//!
//! A [`Source`] holds a part of the text; a [`Cursor`] reads one value of it and says so when the
//! part ends too early. Numbers stay text until somebody wants them, names are borrowed.
//! Offsets are those of the text, also where the file is packed.
//!
//! serde_json cannot resume behind damage and has no offset inside a packed file. The scanner reads 497 MB/s of a Kineto
//! trace on one core (`docs/benchmarks.md`); a streaming visitor of serde_json read 238 MB/s of a similar trace on a
//! similar machine.

mod cursor;
mod elements;
mod number;
mod source;
mod text;

pub(crate) use cursor::{Cursor, Stop, Token};
pub(crate) use elements::{Element, Elements, End};
#[cfg(feature = "chrome")]
pub(crate) use number::integer;
pub(crate) use number::{nanos, whole};
pub(crate) use source::{Got, More, Next, Source, unpacked_head};
pub(crate) use text::decode;
#[cfg(any(feature = "chrome", feature = "nsys"))]
pub(crate) use text::encode;
