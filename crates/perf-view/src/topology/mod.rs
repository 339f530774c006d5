//! Severities on grids: one cube for each cell, green for low and red for high values.
//!
//! | type | output |
//! |---|---|
//! | [`Picture`] | one grid of up to three axes as PNG or SVG, without a graphics card |
//! | [`View`] | a section of a page: two grids with one camera, the correlated views, and the spectrum |
//!
//! Grids of more than about 20,000 cells are coarsened. [`Coarse`] merges neighbours and keeps the
//! maximum and the spread as well as the mean, so that outliers remain visible.

mod coarse;
mod cubes;
#[cfg(feature = "spectral")]
mod ranked;
mod spectrum;
mod view;

pub use coarse::{Coarse, MOST_CUBES};
pub use cubes::Picture;
pub use view::{Found, View};
