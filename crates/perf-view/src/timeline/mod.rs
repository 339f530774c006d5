//! Folded timelines: what many streams do, a row a group.
//!
//! | | |
//! |---|---|
//! | [`Picture`] | one fold as PNG or SVG |
//! | [`View`] | a section of a page: unfold, choose the operation, zoom |
//!
//! A cell has the colour of its state, lighter where fewer streams agree if the operation selects what
//! most of them do. Colours follow from the names of states, so pictures of different runs can be laid
//! side by side.

mod legend;
mod links;
mod markup;
mod over;
mod overlay;
mod paint;
mod picture;
mod pyramid;
mod view;

pub use links::Marker;
pub use overlay::Overlay;
pub use picture::Picture;
pub use view::View;
