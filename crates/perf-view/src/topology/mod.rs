//! Pictures and page sections of severities on grids, with one cube for each cell.
//!
//! | type | output |
//! |---|---|
//! | [`Picture`] | one grid of up to three axes as PNG or SVG, without a graphics card |
//! | [`View`] | a section of a page, with two grids and a common camera, the correlated views, and the spectrum |
//!
//! [`View::served`] makes a page that asks a server for its lists and values, from [`Served`].
//!
//! Grids of more than about 20,000 cells are coarsened. [`Coarse`] merges neighbouring cells. It
//! keeps the maximum and the spread as well as the mean, so that outliers remain visible.

#[cfg(feature = "spectral")]
mod coded_views;
#[cfg(feature = "spectral")]
mod correlated;
mod cubes;
#[cfg(feature = "spectral")]
mod explored;
mod merged_cells;
mod page_data;
#[cfg(feature = "spectral")]
mod range_coder;
#[cfg(feature = "spectral")]
mod served;
mod spectrum;
#[cfg(feature = "spectral")]
mod trees;
mod view;

pub use cubes::Picture;
pub use merged_cells::{Coarse, MOST_CUBES};
#[cfg(feature = "spectral")]
pub use served::{Selected, Served};
pub use view::{Found, View};
