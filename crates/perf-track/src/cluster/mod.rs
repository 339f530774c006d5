//! Clustering of points, to find bursts with similar behaviour: the interface [`Clusterer`],
//! algorithms, and refinement and comparison of clusters.
//!
//! | task | item |
//! |---|---|
//! | exact density-based clustering | [`Dbscan`] |
//! | choice of the radius | [`EpsSearch`], [`k_distances`] |
//! | clustering without a radius | [`Hdbscan`] |
//! | clustering driven by a score | [`Refinement`] |
//! | phases of few bursts among phases of many | [`Remainder`] |
//! | clustering of a sample of too many points | [`Sampled`] |
//! | splitting of clusters that mix call sites | [`split_by_key`] |
//! | similarity of two clusterings | [`Agreement`], [`same_core_partition`] |
//! | nearest neighbours | [`KdTree`] |
//! | other algorithms | implementations of [`Clusterer`]; `linfa` with the feature of that name |

mod agreement;
mod dbscan;
mod disjoint_sets;
mod distance;
mod eps;
mod hdbscan;
mod k_distance;
#[cfg(feature = "linfa")]
pub mod linfa;
mod refine;
mod remainder;
mod sampled;
mod split;
mod table;
mod tree;

pub use agreement::{Agreement, same_core_partition};
pub use dbscan::{Border, Checked, Dbscan, DbscanParams, Index, Scan};
pub use eps::{EpsChecked, EpsChoice, EpsParams, EpsSearch, EpsStep, EpsWhy, knee};
pub use hdbscan::{Hdbscan, HdbscanChecked, HdbscanParams, Hierarchy};
pub use k_distance::k_distances;
pub use refine::{
    RefineChecked, RefineMode, RefineNode, RefineParams, Refined, Refinement, Score, merge_together,
};
pub use remainder::Remainder;
pub use sampled::{Sampled, stratified};
pub use split::split_by_key;
pub use tree::{KdTree, Near};

use crate::{Labels, Points, Result};
use perf_core::Job;

/// Clustering algorithm.
///
/// Implementations are deterministic: the same points in the same order get the same labels, for
/// any number of threads. Clusters are numbered 1, 2, ... in the order of the implementation;
/// [`Labels::by_weight`] renumbers them by time.
///
/// ```
/// use perf_core::Job;
/// use perf_track::Points;
/// use perf_track::cluster::{Clusterer, Dbscan};
/// let clusterer: Box<dyn Clusterer> = Box::new(Dbscan::new(Dbscan::params().eps(1.0).check()?));
/// let values = vec![0.5; 20];
/// let labels = clusterer.cluster(Points::new(&values, 2)?, &Job::default())?;
/// assert_eq!(labels.sizes()?, [10]);
/// # Ok::<(), perf_track::Error>(())
/// ```
pub trait Clusterer: Sync {
    /// Computes the cluster of each point.
    ///
    /// # Errors
    /// Returns [`Error::Cancelled`](crate::Error::Cancelled) if the job is cancelled, and the
    /// errors of the implementation.
    fn cluster(&self, points: Points<'_>, job: &Job) -> Result<Labels>;
}
