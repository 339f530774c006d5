//! Evidence that clusters of two experiments are the same: the weighted mean of all evaluators.

use super::aligned::sets;
use super::callers::contained;
use super::evaluators;
use super::matrix::Matrix;
use super::params::TrackChecked;
use super::prepared::Side;
use super::result::{Evaluator, Pair, Vote};
use crate::cluster::KdTree;
use crate::{Points, Result};
use perf_core::Job;

/// Overlap below which informative callers contradict that two clusters are the same.
const CONTRADICTION: f64 = 0.1;
/// Evidence that an anchor of sequences requires.
const SURE: f64 = 0.6;
/// Largest evidence of another pair with a cluster of an anchor, as a fraction of the evidence of
/// the anchor.
const RIVAL: f64 = 0.7;
/// Weight of simultaneity as evidence for a part that is not near the whole. Such a part is the same
/// region on other ranks, which occurs if an imbalance splits a cluster.
const SUPPORT: f64 = 0.75;

/// Returns the weight of an evaluator. Callers identify the executed region and therefore outweigh
/// positions in space, which change between experiments.
fn weight(evaluator: Evaluator) -> f64 {
    match evaluator {
        Evaluator::Forward | Evaluator::Backward => 0.75,
        Evaluator::Centroid | Evaluator::Duration => 0.5,
        Evaluator::CallersBefore => 3.0,
        Evaluator::CallersAfter => 2.0,
        Evaluator::Sequence => 1.5,
        Evaluator::Density => 0.25,
        // Used by the published mode only.
        Evaluator::Simultaneity => 0.0,
    }
}

/// Experiment with its search tree.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// Bursts by cluster.
    pub(crate) side: Side,
    /// Search tree of the bursts.
    pub(crate) tree: KdTree,
}

impl Prepared {
    pub(crate) fn new(side: Side, job: &Job) -> Result<Self> {
        let points = Points::new(&side.coordinates, side.dimensions)?;
        let tree = KdTree::new(points, job)?;
        Ok(Prepared { side, tree })
    }
}

/// Compares two experiments for the optimal mode.
pub(crate) fn compare(
    (from_frame, from): (usize, &Prepared),
    (to_frame, to): (usize, &Prepared),
    params: &TrackChecked,
    job: &Job,
) -> Result<Pair> {
    let (a, b) = (&from.side, &to.side);
    let reach = evaluators::reach([a, b]);
    let before = evaluators::callers(&a.before, &b.before);
    let after = evaluators::callers(&a.after, &b.after);
    let displacement = if params.displace() {
        let known = if params.use_callers() {
            before.clone()
        } else {
            before.map(|_| f64::NAN)
        };
        evaluators::displacement(a, b, &known, reach)
    } else {
        vec![0.0; a.dimensions]
    };
    let back: Vec<f64> = displacement.iter().map(|shift| -shift).collect();
    let (there_plain, there) = evaluators::cross(a, b, &to.tree, &displacement, reach, job)?;
    let (back_plain, back) = evaluators::cross(b, a, &from.tree, &back, reach, job)?;
    let mut pair = Pair {
        from: from_frame,
        to: to_frame,
        reach,
        cross: [there_plain, back_plain],
        ..Pair::default()
    };
    let mut vote = |evaluator, matrix: Matrix| {
        if matrix.values().iter().any(|value| !value.is_nan()) {
            pair.votes.push(Vote { evaluator, matrix });
        }
    };
    if params.use_distance() {
        vote(Evaluator::Forward, there);
        vote(Evaluator::Backward, back.transposed());
        vote(
            Evaluator::Centroid,
            evaluators::centroids(a, b, &displacement, reach),
        );
    }
    if params.use_callers() {
        vote(Evaluator::CallersBefore, before);
        vote(Evaluator::CallersAfter, after);
    }
    vote(Evaluator::Duration, evaluators::durations(a, b));
    vote(Evaluator::Density, evaluators::densities(a, b));
    pair.displacement = displacement;
    pair.evidence = weigh(a, b, &pair.votes);
    if params.use_sequences()
        && let (Some(steps_a), Some(steps_b)) = (&a.steps, &b.steps)
    {
        let partner = sure(&pair.evidence);
        let (left, right) = (sets(steps_a), sets(steps_b));
        let counts = evaluators::sequences((&left, a.clusters), (&right, b.clusters), &partner);
        let matrix = agreement(&counts);
        if matrix.values().iter().any(|value| !value.is_nan()) {
            pair.votes.push(Vote {
                evaluator: Evaluator::Sequence,
                matrix,
            });
            pair.evidence = weigh(a, b, &pair.votes);
        }
    }
    Ok(pair)
}

/// Returns the geometric mean of the fraction of the row and the fraction of the column. NaN if
/// neither the row nor the column has a count, 0 if only one of them has.
fn agreement(counts: &Matrix) -> Matrix {
    let (rows, columns) = (counts.shares(), counts.transposed().shares());
    Matrix::from_fn(counts.rows(), counts.columns(), |i, j| {
        match (rows.at(i, j), columns.at(j, i)) {
            (row, column) if row.is_nan() && column.is_nan() => f64::NAN,
            (row, column) if row.is_nan() || column.is_nan() => 0.0,
            (row, column) => (row * column).sqrt(),
        }
    })
}

/// Returns the certain partner of each cluster of the first experiment: two clusters that are each
/// other's best match, with evidence of at least [`SURE`] and no rival above the fraction [`RIVAL`].
fn sure(evidence: &Matrix) -> Vec<Option<usize>> {
    let columns = evidence.transposed();
    let best = |matrix: &Matrix, row: usize| -> Option<usize> {
        let mut values: Vec<(usize, f64)> = matrix
            .row(row)?
            .iter()
            .copied()
            .enumerate()
            .filter(|v| !v.1.is_nan())
            .collect();
        values.sort_unstable_by(|x, y| y.1.total_cmp(&x.1).then(x.0.cmp(&y.0)));
        let (first, most) = *values.first()?;
        let second = values.get(1).map_or(0.0, |value| value.1);
        (most >= SURE && second <= RIVAL * most).then_some(first)
    };
    let partner = |i| best(evidence, i).filter(|&j| best(&columns, j) == Some(i));
    (0..evidence.rows()).map(partner).collect()
}

/// Returns how well callers distinguish clusters, in `0.0..=1.0`, for each row and for each column.
///
/// The value is 1 minus the mean overlap with all but the best partner: 0 if all clusters share one
/// caller, and 1 if there is at most one partner with known callers.
fn informative(callers: &Matrix) -> (Vec<f64>, Vec<f64>) {
    let of = |matrix: &Matrix| -> Vec<f64> {
        let row = |row| {
            let values = matrix
                .row(row)
                .unwrap_or(&[])
                .iter()
                .filter(|value| !value.is_nan());
            let (count, sum, most) = values.fold((0usize, 0.0, 0.0f64), |(n, s, m), v| {
                (n + 1, s + v, m.max(*v))
            });
            if count > 1 {
                1.0 - (sum - most) / (count - 1) as f64
            } else {
                1.0
            }
        };
        (0..matrix.rows()).map(row).collect()
    };
    (of(callers), of(&callers.transposed()))
}

/// Computes the weighted mean of all votes on each pair. Informative callers that contradict a pair
/// reduce the mean: the callers before by up to half, and the callers after by up to half again.
fn weigh(a: &Side, b: &Side, votes: &[Vote]) -> Matrix {
    let ready: Vec<_> = votes
        .iter()
        .filter_map(|vote| {
            let is_callers = matches!(
                vote.evaluator,
                Evaluator::CallersBefore | Evaluator::CallersAfter
            );
            // If experiments have no common caller, the function names of the program changed.
            let none = vote
                .matrix
                .values()
                .iter()
                .all(|value| value.is_nan() || *value == 0.0);
            let scale = match vote.evaluator {
                Evaluator::Sequence => a.global.min(b.global),
                _ => 1.0,
            };
            let informative_cells = is_callers.then(|| informative(&vote.matrix));
            (!(is_callers && none)).then_some((
                vote,
                scale * weight(vote.evaluator),
                informative_cells,
            ))
        })
        .collect();
    Matrix::from_fn(a.clusters, b.clusters, |i, j| {
        if a.sizes[i] == 0 || b.sizes[j] == 0 {
            return f64::NAN;
        }
        let (mut sum, mut weights, mut doubt) = (0.0, 0.0, 1.0);
        for (vote, weight, informative_cells) in &ready {
            let value = vote.matrix.at(i, j);
            if value.is_nan() {
                continue;
            }
            let mut weight = *weight;
            if let Some((rows, columns)) = informative_cells {
                let informs = (rows[i] + columns[j]) / 2.0;
                weight *= informs;
                doubt *= 1.0 - 0.5 * informs * (1.0 - value / CONTRADICTION).max(0.0);
            }
            sum += weight * value;
            weights += weight;
        }
        if weights > 0.0 {
            doubt * sum / weights
        } else {
            0.0
        }
    })
}

/// Computes the evidence that a cluster of one experiment is a part of a cluster of another one.
///
/// The evidence is `near`, the weighted fraction of bursts of the part that are near the whole,
/// times the fraction of the part whose callers occur in the whole. `support`, in `0.0..=1.0`, is
/// the simultaneity of the part with the other part; it raises a low `near`.
pub(crate) fn parthood(
    near: f64,
    (part, part_class): (&Side, usize),
    (whole, whole_class): (&Side, usize),
    use_callers: bool,
    support: f64,
) -> f64 {
    let mut callers = 1.0f64;
    if use_callers {
        for (parts, wholes) in [(&part.before, &whole.before), (&part.after, &whole.after)] {
            let share = contained(&parts[part_class], &wholes[whole_class]);
            callers = callers.min(if share.is_nan() { 1.0 } else { share });
        }
    }
    let near = if near.is_nan() { 0.0 } else { near };
    callers * (near + (1.0 - near) * SUPPORT * support)
}
