//! Evidence that clusters of two [`Prepared`] experiments are the same ([`compare`], by votes;
//! [`sure`]: certain partners), or that one is part of another ([`parthood`], [`neighbourhood`]).

use super::evaluators;
use super::matrix::Matrix;
use super::params::TrackChecked;
use super::result::{Evaluator, Pair, Vote};
use super::side::Side;
use crate::cluster::KdTree;
use crate::monotone::monotone;
use crate::tracking::program_position::callers::{contained, overlap};
use crate::{Points, Result};
use perf_core::Job;

/// Overlap below which informative callers contradict that two clusters are the same.
const CONTRADICTION: f64 = 0.1;
/// Overlap of callers above which a cluster has a better partner than one that its callers contradict.
const BETTER: f64 = 0.5;
/// Overlap of callers above which two clusters have the same program position.
const SAME: f64 = 0.9;
/// Power of the proximity of two clusters of which one of two calls differs. Their metrics must agree within
/// about a fifth of the usual distance between clusters.
const CLOSELY: i32 = 6;
/// Factor on the evidence of two clusters whose known calls before and after all differ.
const ELSEWHERE: f64 = 0.3;
/// Factor on the weight of calls whose callers are unknown.
const COARSE: f64 = 0.5;
/// Smallest number of bursts of a whole with a neighbour, relative to those of the part with it, at which the part may
/// be among them.
const NEIGHBOURS: f64 = 0.5;
/// Evidence of an anchor: a pair of clusters that are each other's best match.
const SURE: f64 = 0.6;
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
        Evaluator::CallersAfter | Evaluator::Within | Evaluator::Context => 2.0,
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
    (from_experiment, from): (usize, &Prepared),
    (to_experiment, to): (usize, &Prepared),
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
        from: from_experiment,
        to: to_experiment,
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
        vote(Evaluator::Within, evaluators::callers(&a.within, &b.within));
        vote(Evaluator::Context, evaluators::contexts(a, b));
    }
    vote(Evaluator::Duration, evaluators::durations(a, b));
    vote(Evaluator::Density, evaluators::densities(a, b));
    pair.displacement = displacement;
    pair.evidence = weigh(a, b, &pair.votes);
    if params.use_sequences()
        && let Some(matrix) = in_order(a, b, &pair.evidence, params.birth())
    {
        pair.votes.push(Vote {
            evaluator: Evaluator::Sequence,
            matrix,
        });
        pair.evidence = weigh(a, b, &pair.votes);
    }
    Ok(pair)
}

/// Aligns the program orders of two experiments, in which the gain of two clusters is their evidence above
/// `least`. Returns 1 for aligned clusters, 0 for clusters that are aligned to others, and NaN for
/// clusters without a partner. Insertions and deletions thus shift nothing. `None` if an order is
/// unknown.
fn in_order(a: &Side, b: &Side, evidence: &Matrix, least: f64) -> Option<Matrix> {
    if a.order.is_empty() || b.order.is_empty() {
        return None;
    }
    let gain = |i: usize, j: usize| {
        let value = evidence.at(a.order[i], b.order[j]) - least;
        if value.is_nan() { 0.0 } else { value }
    };
    let aligned = monotone(a.order.len(), b.order.len(), gain);
    let (mut left, mut right) = (vec![None; a.clusters], vec![None; b.clusters]);
    for (i, j) in aligned {
        let (i, j) = (a.order[i], b.order[j]);
        (left[i], right[j]) = (Some(j), Some(i));
    }
    Some(Matrix::from_fn(a.clusters, b.clusters, |i, j| {
        match (left[i], right[j]) {
            (Some(to), _) if to == j => 1.0,
            (Some(_), Some(_)) => 0.0,
            _ => f64::NAN,
        }
    }))
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

/// Returns the largest value of each row; 0 for a row without a value.
fn best(matrix: &Matrix) -> Vec<f64> {
    let largest = |row| {
        let values = matrix.row(row).unwrap_or(&[]).iter();
        values.fold(0.0, |most: f64, value| most.max(*value))
    };
    (0..matrix.rows()).map(largest).collect()
}

/// Computes the weighted mean of all votes on each pair. Informative callers that contradict a pair
/// reduce the mean: the callers before by up to half, and the callers after by up to half again. They
/// contradict a pair only if both clusters have a partner with these callers, and one of them a better
/// partner by the mean of all votes, because a call that appears, vanishes or changes its place
/// changes the calls around its neighbours.
fn weigh(a: &Side, b: &Side, votes: &[Vote]) -> Matrix {
    let ready: Vec<_> = votes
        .iter()
        .filter_map(|vote| {
            let is_callers = matches!(
                vote.evaluator,
                Evaluator::CallersBefore | Evaluator::CallersAfter | Evaluator::Within
            );
            // If experiments have no common caller, the function names of the program changed.
            let none = vote
                .matrix
                .values()
                .iter()
                .all(|value| value.is_nan() || *value == 0.0);
            let informative_cells = is_callers.then(|| {
                let (rows, columns) = informative(&vote.matrix);
                (
                    rows,
                    columns,
                    best(&vote.matrix),
                    best(&vote.matrix.transposed()),
                )
            });
            (!(is_callers && none)).then_some((vote, weight(vote.evaluator), informative_cells))
        })
        .collect();
    let is_coarse = a.is_coarse || b.is_coarse;
    let value = |evaluator, i, j| {
        let vote = votes.iter().find(|vote| vote.evaluator == evaluator);
        vote.map_or(f64::NAN, |vote| vote.matrix.at(i, j))
    };
    let is_present = |i: usize, j: usize| a.sizes[i] > 0 && b.sizes[j] > 0;
    // Many calls have the same name, so the name alone contradicts nothing.
    let is_coarse_call = |vote: &Vote| is_coarse && vote.evaluator != Evaluator::Within;
    let plain = Matrix::from_fn(a.clusters, b.clusters, |i, j| {
        if !is_present(i, j) {
            return f64::NAN;
        }
        let (mut sum, mut weights) = (0.0, 0.0);
        for (vote, weight, informative_cells) in &ready {
            let value = vote.matrix.at(i, j);
            if value.is_nan() {
                continue;
            }
            let weight = match informative_cells {
                Some(_) if is_coarse_call(vote) => weight * COARSE,
                Some((rows, columns, ..)) => weight * (rows[i] + columns[j]) / 2.0,
                None => *weight,
            };
            sum += weight * value;
            weights += weight;
        }
        if weights > 0.0 { sum / weights } else { 0.0 }
    });
    let (best_there, best_back) = (best(&plain), best(&plain.transposed()));
    Matrix::from_fn(a.clusters, b.clusters, |i, j| {
        if !is_present(i, j) {
            return f64::NAN;
        }
        let here = plain.at(i, j);
        let is_best = here >= best_there[i] && here >= best_back[j];
        let mut doubt = 1.0;
        for (vote, _, informative_cells) in &ready {
            let value = vote.matrix.at(i, j);
            if let Some((rows, columns, best_of_row, best_of_column)) = informative_cells
                && !(value.is_nan() || is_best || is_coarse_call(vote))
                && best_of_row[i] > BETTER
                && best_of_column[j] > BETTER
            {
                let informs = (rows[i] + columns[j]) / 2.0;
                doubt *= 1.0 - 0.5 * informs * (1.0 - value / CONTRADICTION).max(0.0);
            }
        }
        let calls = [Evaluator::CallersBefore, Evaluator::CallersAfter].map(|of| value(of, i, j));
        let is_changed = calls.iter().any(|value| *value < CONTRADICTION)
            && calls.iter().any(|value| *value > BETTER);
        if is_changed && !is_coarse {
            // A call appeared or vanished next to the phase, so that only its metrics identify it.
            // Bursts of another program position at the same place take over nearest neighbours, but
            // move no centroid.
            let nears = [Evaluator::Forward, Evaluator::Backward].map(|of| value(of, i, j));
            let near = nears.iter().filter(|near| !near.is_nan()).product::<f64>();
            doubt *= near.max(value(Evaluator::Centroid, i, j)).powi(CLOSELY);
        }
        if a.is_exact && b.is_exact && calls.iter().all(|value| *value < CONTRADICTION) {
            doubt *= ELSEWHERE;
        }
        doubt * here
    })
}

/// Returns the partner of each cluster of the first experiment: two clusters that are each other's best
/// match, with evidence of at least [`SURE`].
pub(crate) fn sure(evidence: &Matrix) -> Vec<Option<usize>> {
    let columns = evidence.transposed();
    let best = |matrix: &Matrix, row: usize| -> Option<usize> {
        let values = matrix.row(row)?.iter().enumerate();
        let known = values.filter(|value| *value.1 >= SURE);
        let most = known.max_by(|x, y| x.1.total_cmp(y.1).then(y.0.cmp(&x.0)));
        most.map(|value| value.0)
    };
    let partner = |i| best(evidence, i).filter(|&j| best(&columns, j) == Some(i));
    (0..evidence.rows()).map(partner).collect()
}

/// Returns the share of the neighbours of a cluster that are neighbours of a cluster of the other
/// experiment too: the smaller of the shares of previous and of next bursts. `partner` holds
/// the [certain](sure) partner of each cluster of the experiment of `part`. A high value means that the
/// cluster runs at a program position at which the other one runs too.
pub(crate) fn neighbourhood(
    (part, part_class): (&Side, usize),
    (whole, whole_class): (&Side, usize),
    partner: &[Option<usize>],
) -> f64 {
    let sides = [(&part.previous, &whole.previous), (&part.next, &whole.next)];
    let per_task =
        |side: &Side, class: usize| side.sizes[class] as f64 / f64::from(side.tasks.max(1));
    let sizes = [per_task(part, part_class), per_task(whole, whole_class)];
    let shares = sides.map(|(parts, wholes)| {
        let (own, other) = (&parts[part_class], &wholes[whole_class]);
        let is_shared = |(class, part_share): &(&u32, &f64)| {
            let to = partner.get(**class as usize).copied().flatten();
            let share = to.and_then(|to| other.get(&(to as u32)));
            // The whole has a burst there for at least every other burst of the part.
            share.is_some_and(|share| share * sizes[1] >= NEIGHBOURS * *part_share * sizes[0])
        };
        own.iter()
            .filter(is_shared)
            .map(|(_, share)| share)
            .sum::<f64>()
    });
    shares[0].min(shares[1])
}

/// Returns `true` if two clusters have the same known program position: callers of the calls before and
/// containing functions, as far as they are known.
fn is_same_position((a, a_class): (&Side, usize), (b, b_class): (&Side, usize)) -> bool {
    let calls = overlap(&a.before[a_class], &b.before[b_class]);
    let within = overlap(&a.within[a_class], &b.within[b_class]);
    if !(a.is_exact && b.is_exact) {
        return false;
    }
    let is_coarse = a.is_coarse || b.is_coarse || calls.is_nan();
    let (calls, within) = (
        calls >= SAME || is_coarse,
        within >= SAME || within.is_nan() && !is_coarse,
    );
    calls && within
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
        for (parts, wholes) in [
            (&part.before, &whole.before),
            (&part.after, &whole.after),
            (&part.within, &whole.within),
        ] {
            let share = contained(&parts[part_class], &wholes[whole_class]);
            callers = callers.min(if share.is_nan() { 1.0 } else { share });
        }
    }
    // The whole has a context for each of its parts.
    let own = part.contexts.get(part_class).and_then(|all| all.first());
    if let (Some(own), Some(others)) = (own, whole.contexts.get(whole_class)) {
        let all = others.iter().map(|other| own.similarity(other));
        callers = callers.min(all.fold(f64::NAN, f64::max));
    }
    let near = if near.is_nan() { 0.0 } else { near };
    let support = if use_callers && is_same_position((part, part_class), (whole, whole_class)) {
        1.0
    } else {
        support
    };
    callers * (near + (1.0 - near) * SUPPORT * support)
}
