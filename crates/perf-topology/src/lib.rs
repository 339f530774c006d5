//! Cartesian topologies: the position of each location of a recording on an n-dimensional grid.
//!
//! A profile holds one severity for each location. A [`Topology`] maps each location to a cell of a
//! grid. It thereby turns a severity view into an n-dimensional array, a [`Grid`], with a mask of
//! the cells that hold a location. Locations that share a cell are combined into one value
//! according to their metric: a sum, an extreme value, or a ratio of sums ([`Topology::view_of`]).
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
//! | source of the topology | constructor |
//! |---|---|
//! | a grid that the recording defines | [`Topology::from_cart`] |
//! | machine node, process, thread | [`Topology::from_system`] |
//! | ranks in order over given lengths | [`Topology::by_order`] |
//! | a given number of ranks, as close to a cube as possible | [`balanced`] |
//! | coordinates in a table | [`Topology::from_table`] |
//! | coordinates in properties of the recording, such as `BGP Coords` | [`Topology::from_metadata`], [`coordinates_in`] |
//!
//! [`Topology::to_cart`] returns a topology as a grid that a recording can define.
//!
//! # Method
//! The last axis varies fastest in the cell numbers. In a shape `L_1 x .. x L_n`, the cell of
//! `(c_1, .., c_n)` is
//!
//! ```text
//! cell = (..((c_1 L_2 + c_2) L_3 + c_3)..) L_n + c_n
//! ```
//!
//! [`AxisOrder`] selects the order in which ranks fill the cells. [`balanced`] chooses the
//! factorisation with the shortest longest axis, then the shortest second-longest axis, and so on.
//! The value of a cell is the sum over its locations, their minimum or maximum, or a ratio of sums,
//! depending on the metric ([`Combine`](perf_core::Combine)).
//!
//! # Cost
//! A topology takes 4 bytes for each location, a grid 9 bytes for each cell. A view takes time
//! proportional to the number of locations. There are at most [`MAX_AXES`] axes and [`MAX_CELLS`]
//! cells.
//!
//! # Pitfalls
//! * [`Check`] counts the defects of a topology: locations without a cell, with coordinates outside
//!   of the grid or with two cells, and cells that several locations share.
//! * A cell without a location has no value; no value is not the same as 0. [`Grid::filled`] stores
//!   a chosen value in such cells.
//! * In Cube and in many applications the *first* axis varies fastest. In this crate the last axis
//!   does, unless [`AxisOrder`] selects otherwise. The periodicity of each axis is stored;
//!   [`Axis::new`] creates a periodic axis.
//! * [`balanced`] is a guess. Two adjacent ranks on a guessed grid need not communicate, and correlations on a wrong
//!   grid seem less likely by chance than they are.
#![doc(html_root_url = "../")]

mod cart;
mod defects;
mod derived;
mod error;
mod grid;
mod property_coordinates;
mod rules;
mod shape;
mod sharing;
mod system;
mod topology;

pub use cart::Ranks;
pub use defects::Check;
pub use error::{Error, Result};
pub use grid::{Aggregate, Fill, Grid, Plane};
pub use property_coordinates::coordinates_in;
pub use rules::{AxisOrder, balanced};
pub use shape::{Axis, MAX_AXES, MAX_CELLS, Shape};
pub use sharing::Sharing;
pub use system::Place;
pub use topology::Topology;
