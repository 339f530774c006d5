//! Clusters of points: which bursts behave alike.
//!
//! | question | item |
//! |---|---|
//! | clusters of density, exactly | [`Dbscan`] |
//! | nearest neighbours | [`KdTree`] |

mod dbscan;
mod distance;
mod par;
mod tree;
mod union;

pub use dbscan::{Border, Checked, Dbscan, DbscanParams, Index, Scan};
pub use tree::{KdTree, Near};

use crate::{Labels, Points, Result};
use perf_core::{CancelToken, Progress};

/// Anything that clusters points.
///
/// Implementations are deterministic: the same points in the same order get the same labels,
/// whatever the number of threads. Clusters are numbered 1, 2, ... in the order of the
/// implementation; [`Labels::by_weight`] renumbers them by time.
///
/// ```
/// use perf_core::CancelToken;
/// use perf_track::Points;
/// use perf_track::cluster::{Clusterer, Dbscan};
/// let clusterer: Box<dyn Clusterer> = Box::new(Dbscan::new(Dbscan::params().eps(1.0).check()?));
/// let values = vec![0.5; 20];
/// let labels = clusterer.cluster(Points::new(&values, 2)?, &(), &CancelToken::new())?;
/// assert_eq!(labels.sizes(), [10]);
/// # Ok::<(), perf_track::Error>(())
/// ```
pub trait Clusterer: Sync {
    /// The cluster of each point.
    ///
    /// # Errors
    /// [`Error::Cancelled`](crate::Error::Cancelled), and what the implementation says.
    fn cluster(
        &self,
        points: Points<'_>,
        progress: &dyn Progress,
        cancel: &CancelToken,
    ) -> Result<Labels>;
}
