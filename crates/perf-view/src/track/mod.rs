//! Clusters of bursts, and what becomes of them from frame to frame.
//!
//! | | |
//! |---|---|
//! | [`Clusters`] | what is shown: points, objects, links, trends; without any drawing |
//! | [`Picture`] | every frame in common axes, trends with boxes, matrices, as PNG or SVG |
//! | [`View`] | a section of a page: a slider from frame to frame, axes to choose, the vote behind each match |
//!
//! Equal objects have equal colours in all frames and pictures; what is in none is grey.

mod axes;
mod balance;
mod coarse;
mod matrices;
mod model;
mod picture;
mod tracked;
mod trend;
mod view;

pub use model::Clusters;
pub use picture::Picture;
pub use view::View;

use crate::{Colour, Theme, numbered};

/// The colour of an object, from 1; 0 is what is in none.
fn colour(object: u32, theme: &Theme) -> Colour {
    match (object as usize).checked_sub(1) {
        Some(index) => numbered(index),
        None => theme.quiet.mix(theme.paper, 0.45),
    }
}
