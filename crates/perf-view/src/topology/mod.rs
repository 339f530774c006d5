//! Severities on grids: one cube for each cell, green for low and red for high values.
//!
//! | type | output |
//! |---|---|
//! | [`Picture`] | one grid of up to three axes as PNG or SVG, without a graphics card |
//! | [`View`] | a section of a page: two grids with one camera, the correlated views, and the spectrum |
//!
//! Grids of more than about 20,000 cells are coarsened. [`Coarse`] merges neighbours and keeps the
//! maximum and the spread as well as the mean, so that outliers remain visible.

#[cfg(feature = "spectral")]
mod correlated;
mod cubes;
mod merged_cells;
mod spectrum;
mod view;

pub use cubes::Picture;
pub use merged_cells::{Coarse, MOST_CUBES};
pub use view::{Found, View};
