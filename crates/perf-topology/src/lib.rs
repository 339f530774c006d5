//! Cartesian topologies: where on an n-dimensional grid each location of a recording lies.
//!
//! A profile holds one severity a location. A [`Topology`] says which cell of a grid each location
//! lies in, and so turns a severity view into an n-dimensional array, a [`Grid`]: the values and
//! a mask of the cells that hold a location at all. Locations that share a cell are one number as their
//! metric says: a sum, an extreme, or a ratio of sums ([`Topology::view_of`]).
//!
//! ```
//! use perf_core::Severities;
//! use perf_topology::{Aggregate, AxisOrder, Shape, Topology};
//! // Five ranks in rows of three: the last cell has none.
//! let grid = Topology::by_order(Shape::of(&[2, 3])?, AxisOrder::LastFastest, 5);
//! let view = grid.view(&Severities::F64(vec![1.0, 2.0, 3.0, 10.0, 20.0]))?;
//! assert_eq!((view.get(&[0, 2]), view.get(&[1, 2])), (Some(3.0), None));
//! assert_eq!((view.missing(), grid.check().outside), (1, 0));
//! // Over the rows: a grid of one axis.
//! let sums = view.aggregate(0, Aggregate::Sum)?;
//! assert_eq!(sums.get(&[0]), Some(11.0));
//! # Ok::<(), perf_topology::Error>(())
//! ```
//!
//! | where a topology comes from | |
//! |---|---|
//! | a grid that the recording defines | [`Topology::from_cart`] |
//! | machine node, process, thread | [`Topology::from_system`] |
//! | ranks in order over given lengths | [`Topology::by_order`] |
//! | as many ranks as there are, as near to a cube as possible | [`balanced`] |
//! | coordinates in a table | [`Topology::from_table`] |
//! | coordinates in properties of the recording, such as `BGP Coords` | [`Topology::from_metadata`], [`coordinates_in`] |
//!
//! # How
//! Cells are numbered with the last axis the fastest: of a shape `L_1 x .. x L_n`, the cell of `(c_1, .., c_n)` is
//!
//! ```text
//! cell = (..((c_1 L_2 + c_2) L_3 + c_3)..) L_n + c_n
//! ```
//!
//! [`AxisOrder`] says in which order ranks fill the cells. Of all factorisations [`balanced`] takes the one whose longest
//! axis is the shortest, then the second longest, and so on. The value of a cell is the sum over its locations, their
//! least or largest value, or a ratio of sums, as the metric says ([`Combine`](perf_core::Combine)).
//!
//! # Cost
//! A topology takes 4 bytes a location, a grid 9 bytes a cell. A view takes time in proportion to the
//! locations; there are at most [`MAX_AXES`] axes and [`MAX_CELLS`] cells.
//!
//! # What to mind
//! * Every topology counts what is wrong with it, see [`Check`]: locations without a cell, outside of the
//!   grid, with two cells, and cells that several share.
//! * A cell without a location has no value, which is not 0: [`Grid::filled`] says what to take instead.
//! * Cube and many codes let the *first* axis run fastest, this crate the last unless told otherwise
//!   ([`AxisOrder`]). Whether an axis is periodic is kept and told; [`Axis::new`] takes it to be.
//! * [`balanced`] guesses. Two ranks side by side on a guessed grid need not be neighbours.
#![doc(html_root_url = "../")]

mod cart;
mod check;
mod error;
mod grid;
mod metadata;
mod ops;
mod rules;
mod shape;
mod sharing;
mod system;
mod topology;

pub use cart::Ranks;
pub use check::Check;
pub use error::{Error, Result};
pub use grid::{Aggregate, Fill, Grid, Plane};
pub use metadata::coordinates_in;
pub use rules::{AxisOrder, balanced};
pub use shape::{Axis, MAX_AXES, MAX_CELLS, Shape};
pub use sharing::Sharing;
pub use system::Place;
pub use topology::Topology;
