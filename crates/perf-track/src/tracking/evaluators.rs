//! Evaluators: similarity of each pair of clusters of two experiments, by nearest bursts,
//! centroids, callers, durations, densities and sequences; also the displacement between the
//! experiments.

use super::matrix::Matrix;
use super::side::Side;
use crate::Result;
use crate::cluster::KdTree;
use crate::tracking::program_position::callers::{Histogram, overlap};
use perf_core::Job;
use std::collections::BTreeMap;

/// Number of bursts that are looked up between two cancellation checks.
const PIECE: usize = 4096;

/// Computes the fraction of the bursts of each cluster of `from` (rows) whose nearest burst of `to`
/// is in each cluster of `to` (columns). `shift` is added to the bursts of `from`.
///
/// In the first matrix all bursts have equal weight. In the second matrix the weight of each burst is a
/// Gaussian of its distance with deviation `reach`.
pub(crate) fn cross(
    from: &Side,
    to: &Side,
    tree: &KdTree,
    shift: &[f64],
    reach: f64,
    job: &Job,
) -> Result<(Matrix, Matrix)> {
    let mut plain = Matrix::filled(from.clusters, to.clusters, 0.0);
    let mut soft = plain.clone();
    let pieces = found(from, to, tree, shift, job)?;
    for (&class, found) in from.classes.iter().zip(pieces.into_iter().flatten()) {
        let Some((partner, square)) = found else {
            continue;
        };
        let share = 1.0 / from.sizes[class as usize] as f64;
        plain.add(class as usize, partner as usize, 1.0);
        soft.add(
            class as usize,
            partner as usize,
            share * near(square, reach),
        );
    }
    let sizes = |row: usize| from.sizes[row].max(1) as f64;
    let plain = Matrix::from_fn(from.clusters, to.clusters, |row, column| {
        plain.at(row, column) / sizes(row)
    });
    Ok((plain, soft.map(|value| value.min(1.0))))
}

/// Returns the square of the Euclidean distance.
fn squared(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// Cluster and squared distance.
type Found = Option<(u32, f64)>;

/// Finds the nearest burst of `to` for each burst of `from`, in pieces of [`PIECE`] bursts.
fn found(
    from: &Side,
    to: &Side,
    tree: &KdTree,
    shift: &[f64],
    job: &Job,
) -> Result<Vec<Vec<Found>>> {
    let pieces: Vec<&[f64]> = from.coordinates.chunks(PIECE * from.dimensions).collect();
    perf_core::parallel::try_map(pieces.len(), |at| -> Result<_> {
        job.check()?;
        let piece = pieces[at];
        let mut moved = vec![0.0; from.dimensions];
        let mut found = Vec::with_capacity(piece.len() / from.dimensions);
        for point in piece.chunks(from.dimensions) {
            let shifted = point.iter().zip(shift).map(|(value, shift)| value + shift);
            moved
                .iter_mut()
                .zip(shifted)
                .for_each(|(to, value)| *to = value);
            // At equal distances the first burst wins, which is in the cluster of lowest number.
            let near = tree.nearest(&moved)?;
            found.push(near.and_then(|near| {
                let class = *to.classes.get(near.index as usize)?;
                Some((class, near.distance * near.distance))
            }));
        }
        Ok(found)
    })
}

/// Returns a Gaussian of the distance with deviation `reach`: 1 at distance 0.
pub(crate) fn near(square: f64, reach: f64) -> f64 {
    (-0.5 * square / (reach * reach)).exp()
}

/// Returns half of the median distance from a centroid to the nearest centroid of its experiment at
/// another place. Bursts further away are more likely to belong to another cluster. Two clusters are at
/// one place if their bursts scatter more than their centroids are apart, as those of functions with equal
/// metrics. Infinite if no experiment has clusters at two places.
pub(crate) fn reach(sides: [&Side; 2]) -> f64 {
    let mut gaps = Vec::new();
    for side in sides {
        let scatter = scatter(side);
        for a in side.present() {
            let others = side.present().filter(|&b| b != a);
            let gap = others
                .map(|b| (b, squared(side.centroid(a), side.centroid(b))))
                .filter(|(b, gap)| *gap > scatter[a] + scatter[*b])
                .map(|(_, gap)| gap);
            gaps.push(gap.fold(f64::INFINITY, f64::min));
        }
    }
    gaps.retain(|gap| gap.is_finite());
    gaps.sort_unstable_by(f64::total_cmp);
    let median = gaps.get(gaps.len() / 2);
    median.map_or(f64::INFINITY, |square| square.sqrt() / 2.0)
}

/// Returns the mean squared distance of the bursts of each cluster from its centroid.
fn scatter(side: &Side) -> Vec<f64> {
    let mut sums = vec![0.0; side.clusters];
    let points = side.coordinates.chunks(side.dimensions.max(1));
    for (point, &class) in points.zip(&side.classes) {
        sums[class as usize] += squared(point, side.centroid(class as usize));
    }
    let sizes = side.sizes.iter();
    let means = sums.iter().zip(sizes);
    means
        .map(|(sum, size)| sum / (*size).max(1) as f64)
        .collect()
}

/// Number of clusters of an experiment, those with the most time, that are considered for the
/// displacement. The limit is needed because the time grows with the fourth power of this number.
const ANCHORS: usize = 24;
/// Factor by which a displacement must fit better than no displacement.
const CLEARLY: f64 = 1.25;

/// Finds the common displacement of the clusters: the vector that brings the centroids of `from`
/// nearest to those of `to`. Candidates are all vectors from a centroid of `from` to a centroid of
/// `to`. Returns zeros unless a candidate fits better by the factor [`CLEARLY`].
pub(crate) fn displacement(from: &Side, to: &Side, callers: &Matrix, reach: f64) -> Vec<f64> {
    let none = vec![0.0; from.dimensions];
    if reach.is_infinite() {
        return none;
    }
    let longest = |side: &Side| {
        let mut all: Vec<usize> = side.present().collect();
        all.sort_unstable_by(|&a, &b| side.time[b].total_cmp(&side.time[a]).then(a.cmp(&b)));
        all.truncate(ANCHORS);
        all
    };
    let (left, right) = (longest(from), longest(to));
    let (p, q) = (from.shares(), to.shares());
    let difference = |i: usize, j: usize| -> Vec<f64> {
        let (a, b) = (from.centroid(i), to.centroid(j));
        a.iter().zip(b).map(|(a, b)| b - a).collect()
    };
    // Fit of the best partner of a cluster under a displacement.
    let fit = |shift: &[f64], i: usize| {
        let value = |j: usize| {
            let same = callers.at(i, j);
            let same = if same.is_nan() {
                1.0
            } else {
                0.25 + 0.75 * same
            };
            let weight = (p[i] * q[j]).powf(0.25);
            (
                j,
                weight * same * near(squared(&difference(i, j), shift), reach),
            )
        };
        let all = right.iter().map(|&j| value(j));
        all.fold(
            (usize::MAX, 0.0),
            |best, next| if next.1 > best.1 { next } else { best },
        )
    };
    let score = |shift: &[f64]| left.iter().map(|&i| fit(shift, i).1).sum::<f64>();
    let mut best = (none.clone(), CLEARLY * score(&none));
    for &i in &left {
        for &j in &right {
            let shift = difference(i, j);
            let score = score(&shift);
            if score > best.1 {
                best = (shift, score);
            }
        }
    }
    if best.0 == none {
        return none;
    }
    // The vector belongs to one pair; the mean over all matching pairs is more accurate.
    let (mut sum, mut weights) = (none, 0.0);
    for &i in &left {
        let (j, weight) = fit(&best.0, i);
        if j != usize::MAX {
            weights += weight;
            for (sum, value) in sum.iter_mut().zip(difference(i, j)) {
                *sum += weight * value;
            }
        }
    }
    sum.iter_mut().for_each(|sum| *sum /= weights);
    sum
}

/// Computes the proximity of the centroids, in `0.0..=1.0`, after displacing `from` by `shift`.
pub(crate) fn centroids(from: &Side, to: &Side, shift: &[f64], reach: f64) -> Matrix {
    Matrix::from_fn(from.clusters, to.clusters, |i, j| {
        if from.sizes[i] == 0 || to.sizes[j] == 0 {
            return f64::NAN;
        }
        let moved = from
            .centroid(i)
            .iter()
            .zip(shift)
            .map(|(c, shift)| c + shift);
        near(squared(&moved.collect::<Vec<_>>(), to.centroid(j)), reach)
    })
}

/// Computes the overlap of the histograms of callers.
pub(crate) fn callers(from: &[Histogram], to: &[Histogram]) -> Matrix {
    Matrix::from_fn(from.len(), to.len(), |i, j| overlap(&from[i], &to[j]))
}

/// Computes the similarity of the calls around the bursts, if both experiments have the names of calls alone.
pub(crate) fn contexts(from: &Side, to: &Side) -> Matrix {
    Matrix::from_fn(from.clusters, to.clusters, |i, j| {
        let first = |side: &'_ Side, class: usize| Some(side.contexts.get(class)?.first()?.clone());
        match (first(from, i), first(to, j)) {
            (Some(one), Some(other)) => one.similarity(&other),
            _ => f64::NAN,
        }
    })
}

/// Returns the smaller fraction divided by the larger one; NaN if both are 0.
fn ratio(a: f64, b: f64) -> f64 {
    let largest = a.max(b);
    if largest > 0.0 {
        a.min(b) / largest
    } else {
        f64::NAN
    }
}

/// Computes the similarity of the fractions of time.
pub(crate) fn durations(from: &Side, to: &Side) -> Matrix {
    let (p, q) = (from.shares(), to.shares());
    Matrix::from_fn(p.len(), q.len(), |i, j| ratio(p[i], q[j]))
}

/// Computes the similarity of the numbers of bursts, as fractions of all bursts.
pub(crate) fn densities(from: &Side, to: &Side) -> Matrix {
    let all = |side: &Side| side.classes.len().max(1) as f64;
    Matrix::from_fn(from.clusters, to.clusters, |i, j| {
        ratio(
            from.sizes[i] as f64 / all(from),
            to.sizes[j] as f64 / all(to),
        )
    })
}

/// Computes the published density evaluator, a greedy 0/1 knapsack. For each cluster of `from`,
/// clusters of `to` are taken in descending order of size as long as their bursts fit into that
/// cluster. The value is the size of the taken cluster as a fraction of the cluster of `from`.
/// Bursts are counted per task, because an experiment with more tasks has more bursts.
pub(crate) fn knapsack(from: &Side, to: &Side) -> Matrix {
    let mut order: Vec<usize> = to.present().collect();
    order.sort_unstable_by_key(|&j| (std::cmp::Reverse(to.sizes[j]), j));
    let (p, q) = (u64::from(from.tasks.max(1)), u64::from(to.tasks.max(1)));
    let mut taken = Matrix::filled(from.clusters, to.clusters, 0.0);
    for i in from.present() {
        let whole = from.sizes[i] as u64 * q;
        let mut room = whole;
        for &j in &order {
            let size = to.sizes[j] as u64 * p;
            if let Some(left) = room.checked_sub(size) {
                room = left;
                taken.add(i, j, size as f64 / whole as f64);
            }
        }
    }
    taken
}

/// Counts how often clusters of two experiments occur at the same position between anchors of the
/// common sequences.
///
/// A sequence consists of the set of clusters of each step. An anchor is a step with a single
/// cluster that has a certain partner (`partner`). If the same two anchors follow one another in
/// both sequences with the same number of steps in between, those steps are compared one by one,
/// for every such segment of one sequence with every such segment of the other. Without any certain
/// partner, the whole sequences are compared if they have equal lengths.
pub(crate) fn sequences(
    (from, from_clusters): (&[Vec<usize>], usize),
    (to, to_clusters): (&[Vec<usize>], usize),
    partner: &[Option<usize>],
) -> Matrix {
    let mut counts = Matrix::filled(from_clusters, to_clusters, 0.0);
    if partner.iter().all(Option::is_none) {
        if from.len() == to.len() {
            for (a, b) in from.iter().zip(to) {
                for &i in a {
                    b.iter().for_each(|&j| counts.add(i, j, 1.0));
                }
            }
        }
        return counts;
    }
    let mut back = vec![None; to_clusters];
    for (i, j) in partner.iter().enumerate() {
        if let Some(slot) = j.and_then(|j| back.get_mut(j)) {
            *slot = Some(i);
        }
    }
    // Anchors are identified by their cluster in `from`.
    let sure = |i: usize| partner.get(i).copied().flatten().map(|_| i);
    let left = stretches(from, sure);
    let right = stretches(to, |j| back.get(j).copied().flatten());
    for (key, left) in &left {
        let Some(right) = right.get(key) else {
            continue;
        };
        for (a, b) in left.iter().zip(right) {
            for (&i, &m) in a {
                for (&j, &n) in b {
                    counts.add(i, j, (m * n) as f64);
                }
            }
        }
    }
    counts
}

/// Number of occurrences of each cluster at each step.
type Tally = Vec<BTreeMap<usize, u64>>;

/// Counts the clusters between consecutive anchors. The key is the first anchor, the second anchor
/// and the number of steps in between; segments with equal keys are added up.
fn stretches(
    steps: &[Vec<usize>],
    anchor: impl Fn(usize) -> Option<usize>,
) -> BTreeMap<(usize, usize, usize), Tally> {
    let mut found: BTreeMap<(usize, usize, usize), Tally> = BTreeMap::new();
    let mut last: Option<(usize, usize)> = None;
    for (at, step) in steps.iter().enumerate() {
        let [only] = step[..] else { continue };
        let Some(name) = anchor(only) else { continue };
        if let Some((before, start)) = last {
            let between = &steps[start + 1..at];
            let key = (before, name, between.len());
            let tally = found
                .entry(key)
                .or_insert_with(|| vec![BTreeMap::new(); between.len()]);
            for (tally, step) in tally.iter_mut().zip(between) {
                for &cluster in step {
                    *tally.entry(cluster).or_default() += 1;
                }
            }
        }
        last = Some((name, at));
    }
    found
}
