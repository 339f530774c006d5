//! Folded timelines: one row for each group of streams.
//!
//! | type | output |
//! |---|---|
//! | [`Picture`] | one fold as PNG or SVG |
//! | [`View`] | a section of a page: unfold, choose the operation, zoom |
//!
//! A cell has the colour of its state. If the operation selects the most frequent state, the colour
//! is lighter where fewer streams agree. Colours follow from the names of states, so pictures of
//! different runs can be compared.

mod cell_colour;
mod legend;
mod links;
mod markup;
mod overlay;
mod page_overlays;
mod picture;
mod pyramid;
mod view;

pub use links::Marker;
pub use overlay::Overlay;
pub use picture::Picture;
pub use view::View;
