//! Clusters of CPU bursts, and their tracking across experiments.
//!
//! | type | output |
//! |---|---|
//! | [`Clusters`] | the numbers behind all drawings: points, tracked regions, links, trends |
//! | [`Picture`] | all experiments in common axes, trends with boxes, matrices, as PNG or SVG |
//! | [`View`] | a section of a page: a slider through the experiments, a choice of axes, the votes behind each match |
//!
//! A tracked region has the same colour in all experiments and pictures. Points in no tracked
//! region are grey. A tracked region is called object, and an experiment frame, in names of items
//! and in pages.

mod matrices;
mod merged_points;
mod model;
mod picture;
mod space_axis;
mod time_balance;
mod tracked;
mod trend;
mod view;

pub use model::Clusters;
pub use picture::Picture;
pub use view::View;

use crate::{Colour, Theme, numbered};

/// Returns the colour of a tracked region, numbered from 1; 0 stands for points in none.
fn colour(object: u32, theme: &Theme) -> Colour {
    match (object as usize).checked_sub(1) {
        Some(index) => numbered(index),
        None => theme.quiet.mix(theme.paper, 0.45),
    }
}
