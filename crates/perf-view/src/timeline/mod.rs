//! Pictures and page sections of folded timelines, with one row for each group of streams.
//!
//! | type | output |
//! |---|---|
//! | [`Picture`] | one fold as PNG or SVG |
//! | [`MatrixPicture`] | messages between rows as PNG or SVG |
//! | [`View`] | a section of a page, to unfold rows, choose the operation and zoom |
//! | [`Served`] | the data of a section that asks a server for the cells it shows |
//!
//! A cell has the colour of its state. If the operation selects the most frequent state, the colour
//! is lighter if fewer streams agree. The name of a state determines its colour, so pictures of
//! different runs can be compared.

mod cell_colour;
mod counters;
mod legend;
mod matrix;
mod message_bundles;
mod overlay;
mod page;
mod picture;

pub use matrix::{MatrixPicture, Measure};
pub use message_bundles::Marker;
pub use overlay::Overlay;
pub use page::{Part, Served, View};
pub use picture::Picture;
