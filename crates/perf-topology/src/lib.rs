//! Cartesian topologies: where on an n-dimensional grid each location of a recording lies.
//!
//! A profile holds one severity a location. A [`Topology`] says which cell of a grid each location
//! lies in, and so turns a severity view into an n-dimensional array, a [`Grid`]: the values and
//! a mask of the cells that hold a location at all. Locations that share a cell are one number as their
//! metric says: a sum, an extreme, or a ratio of sums ([`Topology::view_of`]).
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
//! Every topology counts what is wrong with it, see [`Check`].

mod cart;
mod check;
mod error;
mod grid;
mod metadata;
mod ops;
mod rules;
mod shape;
mod system;
mod topology;

pub use cart::Ranks;
pub use check::Check;
pub use error::{Error, Result};
pub use grid::{Aggregate, Fill, Grid, Plane};
pub use metadata::coordinates_in;
pub use rules::{AxisOrder, balanced};
pub use shape::{Axis, MAX_AXES, MAX_CELLS, Shape};
pub use system::Place;
pub use topology::Topology;
