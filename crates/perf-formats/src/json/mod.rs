//! JSON that is pulled through a window: events of files larger than memory, and of damaged ones.
//!
//! A [`Source`] holds a part of the text; a [`Cursor`] reads one value of it and says so when the
//! part ends too early. Numbers stay text until somebody wants them, names are borrowed.
//! Offsets are those of the text, also where the file is packed.

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
