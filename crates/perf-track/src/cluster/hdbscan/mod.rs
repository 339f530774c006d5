//! [`Hdbscan`]: hierarchical density-based clustering without a radius; [`Hierarchy`]: labels,
//! membership strengths and stabilities of the clusters.

mod condense;
mod params;
pub(super) mod spanning;

pub use params::{HdbscanChecked, HdbscanParams};

use super::{Clusterer, KdTree, k_distance};
use crate::{ClusterId, Labels, Points, Result};
use perf_core::Job;

/// Hierarchical density-based clustering (Campello, Moulavi and Sander 2013).
///
/// The core distance of a point is the distance to its `min_points`-th nearest point, itself
/// included, as in [`Dbscan`](super::Dbscan). The mutual reachability distance of two points is the
/// maximum of their two core distances and their distance. The minimum spanning tree under this
/// distance holds DBSCAN's clusters for every eps. The tree is cut at its longest edges first. A part
/// that splits into two parts of at least `min_cluster_size` points is a cluster with two children;
/// smaller parts that split off are dropped. The selected clusters have the largest total excess of
/// mass, and no selected cluster lies within another.
///
/// Equal distances are ordered by the indices of the points. Clusters are numbered by their first
/// point. The spanning tree is computed with Borůvka's method over a k-d tree, about n log n in few
/// dimensions; memory is O(n).
///
/// ```
/// use perf_core::Job;
/// use perf_track::{Points, cluster::Hdbscan};
/// // Two groups, one of them ten times as dense, and a distant point.
/// let mut values: Vec<f64> = (0..20).map(|i| 0.01 * f64::from(i)).collect();
/// values.extend((0..20).map(|i| 5.0 + 0.1 * f64::from(i)));
/// values.push(50.0);
/// let hdbscan = Hdbscan::new(Hdbscan::params().min_cluster_size(5).check()?);
/// let found = hdbscan.scan(Points::new(&values, 1)?, &Job::default())?;
/// assert_eq!(found.labels().sizes()?, [20, 20]);
/// assert_eq!(found.labels().noise(), 1);
/// # Ok::<(), perf_track::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hdbscan(HdbscanChecked);

/// Result of [`Hdbscan::scan`].
///
/// ```
/// use perf_core::Job;
/// use perf_track::{Points, cluster::Hdbscan};
/// let mut values: Vec<f64> = (0..20).map(|i| 0.01 * f64::from(i)).collect();
/// values.extend((0..20).map(|i| 5.0 + 0.1 * f64::from(i)));
/// let hdbscan = Hdbscan::new(Hdbscan::params().min_cluster_size(5).check()?);
/// let found = hdbscan.scan(Points::new(&values, 1)?, &Job::default())?;
/// assert_eq!((found.strength().len(), found.stability().len()), (40, 2));
/// // The denser cluster is more stable.
/// assert!(found.stability()[0] > found.stability()[1]);
/// # Ok::<(), perf_track::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Hierarchy {
    /// Cluster of each point.
    labels: Labels,
    /// Membership strength of each point.
    strength: Vec<f64>,
    /// Excess of mass of each cluster.
    stability: Vec<f64>,
}

impl Hierarchy {
    /// Returns the cluster of each point.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// Returns the membership strength of each point, in `0.0..=1.0`: the density at which the point
    /// leaves its cluster divided by the highest density at which any point leaves the cluster. 0 for
    /// noise.
    pub fn strength(&self) -> &[f64] {
        &self.strength
    }

    /// Returns the excess of mass of each cluster: the sum over its points of the density (1 divided
    /// by the distance) at which the point leaves the cluster minus the density at which the cluster
    /// appears.
    pub fn stability(&self) -> &[f64] {
        &self.stability
    }
}

impl Hdbscan {
    /// Returns parameters with their default values.
    pub fn params() -> HdbscanParams {
        HdbscanParams::default()
    }

    /// Creates a clusterer with these parameters.
    pub fn new(params: HdbscanChecked) -> Self {
        Hdbscan(params)
    }

    /// Computes labels and membership strengths.
    ///
    /// # Errors
    /// Returns [`Error::Cancelled`](crate::Error::Cancelled) if the job is cancelled.
    pub fn scan(&self, points: Points<'_>, job: &Job) -> Result<Hierarchy> {
        job.check()?;
        let noise = Hierarchy {
            labels: Labels::new(vec![ClusterId::NOISE; points.len()]),
            strength: vec![0.0; points.len()],
            stability: Vec::new(),
        };
        let (size, least) = (self.0.min_cluster_size(), self.0.min_points());
        // There are too few points for a cluster or for a finite core distance.
        if points.len() < size || points.len() < least {
            return Ok(noise);
        }
        let tree = KdTree::new(points, job)?;
        let core = match least {
            1 => vec![0.0; points.len()],
            _ => k_distance::squared(&tree, least - 1, job)?,
        };
        let edges = spanning::edges(&tree, &core, job)?;
        drop(tree);
        let single = self.0.single();
        let clusters = condense::clusters(points.len(), &edges, size, single, job)?;
        Ok(clusters.hierarchy(points.len()))
    }
}

impl Clusterer for Hdbscan {
    fn cluster(&self, points: Points<'_>, job: &Job) -> Result<Labels> {
        Ok(self.scan(points, job)?.labels)
    }
}
