//! Streaming JSON reader for files larger than memory and for damaged files.
//!
//! A [`Source`] holds a part of the text. A [`Cursor`] reads one value of it and reports if the
//! part ends too early. Numbers remain text until they are needed, and names are borrowed. Offsets
//! refer to the uncompressed text.
//!
//! serde_json cannot resume after damage and has no offset inside a compressed file. This scanner
//! reads 497 MB/s of a Kineto trace on one core (`docs/benchmarks.md`); a streaming visitor of
//! serde_json read 238 MB/s of a similar trace on a similar machine.

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
