//! Severities on grids: a cube a cell, green where little was spent and red where much was.
//!
//! | | |
//! |---|---|
//! | [`Picture`] | one grid of up to three axes as PNG or SVG, without a graphics card |
//! | [`View`] | a section of a page: two grids with one camera, what correlates, and its spectrum |
//!
//! More than about 20,000 cubes are neither drawn nor told apart: [`Coarse`] takes neighbours together
//! and keeps the largest and the spread beside the mean, so that outliers survive.

mod coarse;
mod cubes;
#[cfg(feature = "spectral")]
mod ranked;
mod spectrum;
mod view;

pub use coarse::{Coarse, MOST_CUBES};
pub use cubes::Picture;
pub use view::{Found, View};
