//! Tracking: matches clusters of a series of experiments that are the same phase of the program.
//!
//! The clusters of an experiment are images of the phases of the program. Between experiments,
//! clusters move, split, merge, appear and vanish (Llort et al., "the paper" below). An
//! [`Observation`] is the input of tracking for one experiment; a [`Tracking`] is the result.
//!
//! ```
//! use perf_core::Job;
//! use perf_track::{ClusterId, Points};
//! use perf_track::tracking::{Observation, Tracking};
//!
//! // Two phases; with twice the tasks both have half the instructions (second axis, logarithms).
//! let (a, b) = (ClusterId(1), ClusterId(2));
//! let four = [0.50, 0.80, 0.51, 0.81, 0.20, 0.30, 0.21, 0.31];
//! let eight = [0.20, 0.10, 0.21, 0.11, 0.50, 0.60, 0.51, 0.61];
//! let experiments = [
//!     Observation::new("4", 4, Points::new(&four, 2)?, &[a, a, b, b], &[9.0, 9.0, 2.0, 2.0])?,
//!     Observation::new("8", 8, Points::new(&eight, 2)?, &[b, b, a, a], &[1.0, 1.0, 4.5, 4.5])?,
//! ];
//! let params = Tracking::params().check()?;
//! let tracking = Tracking::of(&experiments, &params, &Job::default())?;
//! assert_eq!(tracking.regions.len(), 2);
//! assert_eq!(tracking.regions[0].members, [[a], [a]]);
//! assert!(tracking.regions[0].confidence > 0.8);
//! # Ok::<(), perf_track::Error>(())
//! ```
//!
//! # Method
//! [`Evaluator`]s compare pairs of experiments; a [`Pair`] keeps the matrices of all evaluators. In
//! [`Mode::Published`], links above a threshold are closed transitively and chained, as in section
//! III.D of the paper. In [`Mode::Optimal`], the default,
//! * the displacement common to all clusters is removed first, and each burst is weighted by the
//!   proximity of its nearest neighbour, so that a cluster without a counterpart is not linked;
//! * the evidence of a pair of clusters is the weighted mean of all evaluators that have a vote on
//!   the pair; the weight of callers depends on how well callers distinguish clusters;
//! * program positions come first: call sites are aligned between the experiments, so that lines may
//!   shift and calls may appear or vanish; a changed call contradicts only if both clusters have a better
//!   partner; the order of the clusters in the program is aligned as well;
//! * one assignment links the clusters of each experiment with those of the next and of the next
//!   but one, which yields chains of clusters;
//! * a chain that begins or ends next to another chain is tested for being a part of that chain,
//!   which is a split or a merge;
//! * every link and tracked region has a confidence.
//!
//! Results do not depend on the order of points or the number of threads.

mod composition;
mod evaluators;
mod evidence;
mod matrix;
mod observation;
mod optimal;
mod params;
mod pipeline;
mod program_position;
mod published;
mod result;
mod sentences;
mod side;
mod table;
mod windows;

pub use crate::Mode;
pub use composition::mixture::Mixture;
pub use composition::regroup::{Parts, regroup_by_position};
pub use matrix::Matrix;
pub use observation::{MOST_CLUSTERS, Observation};
pub use params::{Threshold, TrackChecked, TrackParams};
pub use program_position::aligned::AlignedBursts;
pub use program_position::callers::{CallerWeight, Callers};
pub use program_position::code_position::CodePosition;
pub use program_position::occurrence::Occurrence;
pub use result::{
    Evaluator, Event, Link, LinkKind, Pair, TrackedExperiment, TrackedRegion, TrackedRegionId,
    Tracking, Vote,
};
pub(crate) use table::clusters;
pub use windows::{Windows, windows};
