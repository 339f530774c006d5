//! [`Sampled`]: clusters a sample of the points, and gives each other point the cluster of the
//! nearest one; [`stratified`]: chooses the sample.

use super::{Clusterer, KdTree};
use crate::{ClusterId, Error, Labels, Points, Result};
use perf_core::{Job, parallel};
use std::collections::BTreeMap;

/// Number of points that a thread processes at a time.
const PIECE: usize = 1_024;

/// Returns the indices of a stratified sample of about `most` points, in ascending order. Each
/// stratum (such as a thread) contributes its share, at least one point, evenly spread over the
/// order of its points. The selection is deterministic. Returns all points if there are at most
/// `most` points.
///
/// ```
/// use perf_track::cluster::stratified;
/// // Thread 0 has eight bursts, thread 1 two.
/// assert_eq!(stratified(&[0, 0, 1, 0, 0, 0, 0, 1, 0, 0], 5), [1, 4, 6, 7, 9]);
/// ```
pub fn stratified(strata: &[u32], most: usize) -> Vec<u32> {
    if strata.len() <= most {
        return (0..strata.len() as u32).collect();
    }
    let mut of: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (&stratum, point) in strata.iter().zip(0..) {
        of.entry(stratum).or_default().push(point);
    }
    let mut sample = Vec::with_capacity(most + of.len());
    for points in of.values() {
        let share = (points.len() as u128 * most as u128 / strata.len() as u128).max(1) as usize;
        // The middle of each of `share` intervals of equal length.
        let middle = |at: usize| (2 * at + 1) * points.len() / (2 * share);
        sample.extend((0..share).filter_map(|at| points.get(middle(at))));
    }
    sample.sort_unstable();
    sample
}

/// Clusters a stratified sample with another [`Clusterer`], and assigns every other point to the
/// cluster of its nearest sample point if the distance is small enough.
///
/// Intended for inputs that would take too long otherwise. A sample is less dense than the full set, so
/// that radius and minimum number of points must be chosen for the sample.
///
/// ```
/// use perf_core::Job;
/// use perf_track::Points;
/// use perf_track::cluster::{Clusterer, Dbscan, Sampled};
/// let values: Vec<f64> = (0..3000).map(|i| f64::from(i % 3) + 0.0001 * f64::from(i / 3)).collect();
/// let dbscan = Dbscan::new(Dbscan::params().eps(0.05).min_points(3).check()?);
/// let threads = vec![0; 3000];
/// let sampled = Sampled::new(&dbscan, &threads, 300, 0.05)?;
/// let labels = sampled.cluster(Points::new(&values, 1)?, &Job::default())?;
/// assert_eq!(labels.sizes()?, [1000, 1000, 1000]);
/// # Ok::<(), perf_track::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Sampled<'a> {
    /// Algorithm for the sample.
    clusterer: &'a dyn Clusterer,
    /// Stratum of each point.
    strata: &'a [u32],
    /// Size of the sample.
    most: usize,
    /// Largest distance of a point to the sample.
    near: f64,
}

impl std::fmt::Debug for Sampled<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut fields = f.debug_struct("Sampled");
        fields.field("most", &self.most).field("near", &self.near);
        fields.finish_non_exhaustive()
    }
}

impl<'a> Sampled<'a> {
    /// Samples about `most` points. `strata` has the stratum of each point, and each stratum contributes
    /// its share. A point farther than `near` from all sample points is noise; `near` is usually the
    /// eps of the sample.
    ///
    /// # Errors
    /// Returns [`Error::Parameter`](crate::Error::Parameter) if `most` is 0, or `near` is negative
    /// or NaN.
    pub fn new(
        clusterer: &'a dyn Clusterer,
        strata: &'a [u32],
        most: usize,
        near: f64,
    ) -> Result<Self> {
        let wrong = |name, value: String, range| Err(Error::Parameter { name, value, range });
        if most == 0 {
            return wrong("most", most.to_string(), "at least 1");
        }
        if near.is_nan() || near < 0.0 {
            return wrong("near", near.to_string(), "at least 0");
        }
        Ok(Sampled {
            clusterer,
            strata,
            most,
            near,
        })
    }
}

impl Clusterer for Sampled<'_> {
    /// # Errors
    /// Returns [`Error::Length`](crate::Error::Length) if there is not one stratum for each point,
    /// and the errors of the clusterer.
    fn cluster(&self, points: Points<'_>, job: &Job) -> Result<Labels> {
        if self.strata.len() != points.len() {
            return Err(Error::Length {
                what: "strata of points",
                expected: points.len(),
                got: self.strata.len(),
            });
        }
        let sample = stratified(self.strata, self.most);
        let rows = sample.iter().filter_map(|&at| points.get(at as usize));
        let values: Vec<f64> = rows.flatten().copied().collect();
        let chosen = Points::new(&values, points.dimensions())?;
        let labels = self.clusterer.cluster(chosen, job)?;
        if sample.len() == points.len() {
            return Ok(labels);
        }
        let tree = KdTree::new(chosen, job)?;
        let d = points.dimensions();
        let classified = parallel::try_map(
            parallel::chunk_count(points.len(), PIECE),
            |piece| -> Result<_> {
                job.check()?;
                let range = parallel::chunk(points.len(), PIECE, piece);
                let rows = points.values()[range.start * d..range.end * d].chunks_exact(d);
                let classify = |point: &[f64]| {
                    // A sample point may have an equal point before it with another label.
                    let near = tree
                        .nearest(point)?
                        .filter(|near| near.distance <= self.near);
                    let label = near.and_then(|near| labels.as_slice().get(near.index as usize));
                    Ok(label.copied().unwrap_or(ClusterId::NOISE))
                };
                let all: Result<Vec<ClusterId>> = rows.map(classify).collect();
                job.advance("classification", range.len() as u64, points.len() as u64);
                all
            },
        )?;
        let mut all = classified.concat();
        for (&at, &label) in sample.iter().zip(labels.as_slice()) {
            all[at as usize] = label;
        }
        Ok(Labels::new(all))
    }
}
