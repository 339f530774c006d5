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
mod mode;
mod par;
mod points;
mod scale;
mod spmd;
pub mod track;
pub mod trend;

pub use bursts::{
    Amount, Burst, Bursts, ChainId, Column, Delimiter, Dropped, Extract, ExtractParams, Formula,
    Kind, Thread, ZeroDivision, drop_small_clusters,
};
pub use error::{Error, Result};
pub use frame::Frame;
pub use labels::{ClusterId, Labels};
pub use mode::Mode;
pub use points::Points;
pub use scale::{
    Dimension, FrameAxis, Scale, ScaleMode, ScaleParams, Scaled, ScaledFrame, Shift, Transform,
    TransformAxis,
};
pub use spmd::{
    Align, AlignMethod, AlignParams, Alignment, ClusterScore, Sequences, SpmdScore, SpmdScorer,
    time_shares,
};
