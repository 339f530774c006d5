//! [`Dbscan`]: exact density-based clustering with a fixed radius, on a grid or a k-d tree;
//! [`Scan`]: the resulting labels and core points.
//!
//! This crate has its own grid: 100,000 points with eps 0.002 take 10.5 ms on one core, and 2.93 s
//! with linfa, whose labels are equal. With eps 0.01, where neighbourhoods have 25 times as many
//! points, it is 4.04 ms against 35.1 s (`docs/benchmarks.md`). linfa is the oracle of tests, and
//! another [`Clusterer`] with the feature `linfa`.

mod border;
mod cells;
mod grid;
mod params;
mod proximity;
mod tree;

pub use params::{Border, Checked, DbscanParams, Index};

use super::{Clusterer, KdTree};
use crate::{ClusterId, Labels, Points, Result};
use perf_core::Job;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Density-based clustering (Ester, Kriegel, Sander and Xu 1996).
///
/// A point is *core* if its closed ball of radius eps holds at least `min_points` points, itself
/// included. Core points within eps of each other are in one cluster. Other points are *border*
/// points if a core point is within eps ([`Border`] decides their cluster), and noise otherwise.
/// "Within" means `dx*dx + dy*dy + ... <= eps*eps` as computed in `f64`. The result is exactly that
/// of comparing all pairs in this way, because all shortcuts are bounds that hold to the last bit.
///
/// Clusters are numbered by their core point of lowest index; [`Labels::by_weight`] renumbers them
/// by time. Takes about n log n time, independent of the number of neighbours, and O(n) memory.
///
/// ```
/// use perf_core::Job;
/// use perf_track::{ClusterId, Points, cluster::Dbscan};
/// let values = [0.0, 0.1, 0.2, 5.0, 5.1, 5.2, 9.0];
/// let params = Dbscan::params().eps(0.15).min_points(2).check()?;
/// let points = Points::new(&values, 1)?;
/// let scan = Dbscan::new(params).scan(points, &Job::default())?;
/// assert_eq!(scan.labels().sizes()?, [3, 3]);
/// assert_eq!(scan.labels().as_slice()[6], ClusterId::NOISE);
/// assert_eq!((scan.core_points(), scan.border_points(), scan.noise_points()), (6, 0, 1));
/// # Ok::<(), perf_track::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dbscan(Checked);

impl Dbscan {
    /// Returns a minimum number of points for a number of points: 4, or one in 500 points if that
    /// is more.
    ///
    /// Among tens of thousands of bursts, four lie close together by chance everywhere and join all
    /// clusters of an axis into one. For the 14,359 longest bursts of a molecular dynamics run on 4
    /// ranks, clustered by duration, 4 points and a radius of 0.011 of the range yield one cluster;
    /// 28 points yield five.
    ///
    /// ```
    /// use perf_track::cluster::Dbscan;
    /// assert_eq!((Dbscan::min_points_for(600), Dbscan::min_points_for(14_359)), (4, 28));
    /// ```
    pub fn min_points_for(points: usize) -> usize {
        (points / 500).max(4)
    }

    /// Returns parameters with their default values.
    pub fn params() -> DbscanParams {
        DbscanParams::default()
    }

    /// Creates a clusterer with these parameters.
    pub fn new(params: Checked) -> Self {
        Dbscan(params)
    }

    /// Returns the parameters.
    pub fn checked(&self) -> &Checked {
        &self.0
    }

    /// Returns an upper bound of the memory in bytes that a scan of these points takes, determined in
    /// two passes over the points. In the plane a scan takes 26 bytes for each point and 64 for each
    /// occupied cell of the grid, or the 16 to 48 bytes for each point that sorting takes, if that is
    /// more. If eps is so small that there are more than 64 cells per point, each point is assumed to
    /// occupy a separate cell.
    ///
    /// ```
    /// use perf_track::{Points, cluster::Dbscan};
    /// let values: Vec<f64> = (0..20_000).map(|at| f64::from(at % 173)).collect();
    /// let dbscan = Dbscan::new(Dbscan::params().eps(2.0).min_points(4).check()?);
    /// let bytes = dbscan.memory(Points::new(&values, 2)?);
    /// assert!((26 * 10_000..100 * 10_000).contains(&bytes), "{bytes}");
    /// # Ok::<(), perf_track::Error>(())
    /// ```
    pub fn memory(&self, points: Points<'_>) -> usize {
        let (count, dimensions) = (points.len(), points.dimensions());
        let eps = self.0.eps();
        let grid = match (self.0.index(), dimensions) {
            (Index::Tree, _) => None,
            // Points on a line are copied to the plane.
            (_, 1) => {
                let line = Points::new(points.values(), 1).ok();
                line.and_then(|line| grid::memory::<1>(line, eps))
                    .map(|bytes| bytes + 24 * count)
            }
            (_, 2) => grid::memory::<2>(points, eps),
            (_, 3) => grid::memory::<3>(points, eps),
            _ => None,
        };
        // The steps after building the tree take less memory than building it frees.
        grid.unwrap_or_else(|| KdTree::memory(count, dimensions))
    }

    /// Computes labels and core points.
    ///
    /// # Errors
    /// Returns [`Error::Cancelled`](crate::Error::Cancelled) if the job is cancelled.
    pub fn scan(&self, points: Points<'_>, job: &Job) -> Result<Scan> {
        job.check()?;
        if points.is_empty() {
            return Ok(Scan::default());
        }
        let params = &self.0;
        let grid = match (params.index(), points.dimensions()) {
            (Index::Tree, _) => None,
            // The distances of points on a line in the plane are exactly the same.
            (_, 1) => {
                let plane: Vec<f64> = points.values().iter().flat_map(|&x| [x, 0.0]).collect();
                grid::scan::<2>(Points::new(&plane, 2)?, params, job)?
            }
            (_, 2) => grid::scan::<2>(points, params, job)?,
            (_, 3) => grid::scan::<3>(points, params, job)?,
            _ => None,
        };
        let found = match grid {
            Some(found) => found,
            None => tree::scan(points, params, job)?,
        };
        Ok(found.finish())
    }
}

impl Clusterer for Dbscan {
    fn cluster(&self, points: Points<'_>, job: &Job) -> Result<Labels> {
        Ok(self.scan(points, job)?.labels)
    }
}

/// Result of [`Dbscan::scan`].
///
/// ```
/// use perf_core::Job;
/// use perf_track::{Points, cluster::Dbscan};
/// let values = [0.0, 0.1, 0.2, 0.29, 5.0, 5.1, 5.2, 9.0];
/// let dbscan = Dbscan::new(Dbscan::params().eps(0.15).min_points(3).check()?);
/// let found = dbscan.scan(Points::new(&values, 1)?, &Job::default())?;
/// assert_eq!(found.labels().sizes()?, [4, 3]);
/// assert_eq!((found.core_points(), found.border_points(), found.noise_points()), (3, 4, 1));
/// assert!(found.core()[1] && !found.core()[0]);
/// # Ok::<(), perf_track::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Scan {
    /// Cluster of each point.
    labels: Labels,
    /// `true` for each core point.
    core: Vec<bool>,
    /// Number of core points.
    cores: usize,
}

impl Scan {
    /// Returns the cluster of each point.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// Returns the cluster of each point by value.
    pub fn into_labels(self) -> Labels {
        self.labels
    }

    /// Returns for each point `true` if it is core.
    pub fn core(&self) -> &[bool] {
        &self.core
    }

    /// Returns the number of core points.
    pub fn core_points(&self) -> usize {
        self.cores
    }

    /// Returns the number of points that are in a cluster but not core.
    pub fn border_points(&self) -> usize {
        self.labels.len() - self.cores - self.labels.noise()
    }

    /// Returns the number of points in no cluster.
    pub fn noise_points(&self) -> usize {
        self.labels.noise()
    }
}

/// Labels and core flags in the original order of the points. Several threads fill them in, each
/// point by one thread.
#[derive(Debug)]
struct Found {
    /// Cluster of each point.
    labels: Vec<AtomicU32>,
    /// Core flag of each point.
    core: Vec<AtomicBool>,
}

impl Found {
    fn new(points: usize) -> Self {
        Found {
            labels: (0..points).map(|_| AtomicU32::default()).collect(),
            core: (0..points).map(|_| AtomicBool::default()).collect(),
        }
    }

    /// Stores the cluster of a point, from 0.
    fn set(&self, index: u32, cluster: u32, core: bool) {
        self.labels[index as usize].store(cluster + 1, Ordering::Relaxed);
        self.core[index as usize].store(core, Ordering::Relaxed);
    }

    fn finish(self) -> Scan {
        let labels = self.labels.into_iter().map(|id| ClusterId(id.into_inner()));
        let core = self.core.into_iter().map(AtomicBool::into_inner);
        let (labels, core) = (Labels::new(labels.collect()), core.collect::<Vec<bool>>());
        Scan {
            cores: core.iter().filter(|&&core| core).count(),
            labels,
            core,
        }
    }
}
