//! [`k_distances`]: distance of each point to its k-th neighbour.

use super::tree;
use super::tree::{KdTree, Nearest, by_dimension};
use crate::{Error, Points, Result};
use perf_core::{Job, parallel};

/// Number of points that a thread processes at a time.
const PIECE: usize = 512;

/// Returns the distance of each point to its `k`-th nearest other point, in the order of the
/// points. Distances are infinite if there are fewer than `k` other points. Takes about n k log n time
/// and O(n) memory.
///
/// Sorted in descending order this is the k-distance graph of Ester et al. (1996, section 4.2):
/// points left of its knee are noise for eps at the knee.
///
/// ```
/// use perf_core::Job;
/// use perf_track::{Points, cluster::k_distances};
/// let points = Points::new(&[0.0, 1.0, 3.0, 3.5], 1)?;
/// let second = k_distances(points, 2, &Job::default())?;
/// assert_eq!(second, [3.0, 2.0, 2.0, 2.5]);
/// # Ok::<(), perf_track::Error>(())
/// ```
///
/// # Errors
/// Returns [`Error::Parameter`](crate::Error::Parameter) if `k` is 0, or [`Error::Cancelled`] if
/// the job is cancelled.
pub fn k_distances(points: Points<'_>, k: usize, job: &Job) -> Result<Vec<f64>> {
    job.check()?;
    let mut all = squared(&KdTree::new(points, job)?, k, job)?;
    all.iter_mut()
        .for_each(|distance| *distance = distance.sqrt());
    Ok(all)
}

/// Returns the squared distances by index.
pub(crate) fn squared(tree: &KdTree, k: usize, job: &Job) -> Result<Vec<f64>> {
    let found = some_squared(tree, k, 1, job)?;
    let mut all = vec![0.0; tree.len()];
    for (&index, distance) in tree.indices().iter().zip(found) {
        all[index as usize] = distance;
    }
    Ok(all)
}

/// Returns the squared distances of every `step`-th point, in the order of the tree, so that
/// consecutive points search the same places.
pub(crate) fn some_squared(tree: &KdTree, k: usize, step: usize, job: &Job) -> Result<Vec<f64>> {
    if k == 0 {
        return Err(Error::Parameter {
            name: "k",
            value: "0".into(),
            range: "at least 1",
        });
    }
    let count = tree.len().div_ceil(step.max(1));
    if k >= tree.len() {
        return Ok(vec![f64::INFINITY; count]);
    }
    let found = by_dimension!(tree, view => parallel::try_map(parallel::chunk_count(count, PIECE), |piece| -> Result<_> {
        job.check()?;
        let range = parallel::chunk(count, PIECE, piece);
        let mut nearest = Nearest::new(k);
        let mut found = Vec::with_capacity(range.len());
        for at in range {
            found.push(kth(view, at * step.max(1), &mut nearest));
        }
        job.advance("k-distances", found.len() as u64, count as u64);
        Ok(found)
    })?);
    Ok(found.concat())
}

fn kth<const D: usize>(view: tree::View<'_, D>, place: usize, nearest: &mut Nearest) -> f64 {
    nearest.found.clear();
    view.nearest(view.tree.root(), view.point(place), place, nearest);
    nearest.found.last().map_or(f64::INFINITY, |last| last.0)
}
