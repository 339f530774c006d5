//! [`Sampled`]: clusters of a sample, and all other points by their nearest neighbour in it.

use super::{Clusterer, KdTree};
use crate::{ClusterId, Error, Labels, Points, Result};
use perf_core::{Job, parallel};
use std::collections::BTreeMap;

/// Points that a thread takes at a time.
const PIECE: usize = 1_024;

/// The indices of a stratified sample of about `most` points, ascending: of each stratum (such as a
/// thread) its share, at least one point, evenly spread over the order of its points. No chance is
/// involved. All points if there are no more than `most`.
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
        // The middle of each of `share` stretches of equal length.
        let middle = |at: usize| (2 * at + 1) * points.len() / (2 * share);
        sample.extend((0..share).filter_map(|at| points.get(middle(at))));
    }
    sample.sort_unstable();
    sample
}

/// Clusters a stratified sample with another [`Clusterer`], and gives every other point the cluster
/// of the nearest point of the sample, if that is near enough.
///
/// For inputs so large that one does not want to wait. A sample is thinner than what it stands for:
/// a radius and a count that fit all points have to be chosen for the sample.
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
    clusterer: &'a dyn Clusterer,
    strata: &'a [u32],
    most: usize,
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
    /// Samples about `most` points, of each of the `strata` (one a point) its share. A point farther
    /// than `near` from all of the sample is noise: the eps of the sample's clusters, as a rule.
    ///
    /// # Errors
    /// `most` is 0, or `near` is negative or not a number.
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
    /// Not one stratum a point, and what the clusters of the sample say.
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
                    // A point of the sample may have an equal before it with another label.
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
