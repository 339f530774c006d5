//! Clusters of CPU bursts, and their tracking from one experiment to the next.
//!
//! The nouns: [`Bursts`] are stretches of computation with their metrics and callers; [`Points`]
//! are what is clustered; [`Labels`] say which cluster each burst belongs to; a [`Frame`] is one
//! experiment with its clusters. [`cluster`] makes labels of points.

mod bursts;
pub mod cluster;
mod error;
mod frame;
mod labels;
mod points;

pub use bursts::{Burst, Bursts, ChainId, Column, Kind, Thread};
pub use error::{Error, Result};
pub use frame::Frame;
pub use labels::{ClusterId, Labels};
pub use points::Points;
