//! [`Clusters`] of CPU bursts and their tracking across experiments, as input of a [`Picture`] and
//! of a section of a page ([`View`]).
//!
//! | type | output |
//! |---|---|
//! | [`Clusters`] | the data of all drawings: points, tracked regions, links, trends |
//! | [`Picture`] | all experiments in common axes, trends with boxes, matrices, as PNG or SVG |
//! | [`View`] | a section of a page, with a slider through the experiments, a choice of axes, and the votes for each match |
//!
//! A tracked region has the same colour in all experiments and pictures. Points in no tracked
//! region are grey. In names of items a tracked region is called region, and an experiment experiment.

mod matrices;
mod merged_points;
mod model;
mod picture;
mod space_axis;
mod time_balance;
mod timeline;
mod tracked;
mod trend;
mod view;

pub use model::Clusters;
pub use picture::Picture;
pub use view::View;

use crate::{Colour, Theme, numbered};

/// Returns the colour of a tracked region, which has a number from 1. The number 0 stands for
/// points in no tracked region.
fn colour(region: u32, theme: &Theme) -> Colour {
    match (region as usize).checked_sub(1) {
        Some(index) => numbered(index),
        None => theme.quiet.mix(theme.paper, 0.45),
    }
}
