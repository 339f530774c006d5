//! [`Tracking::of`]: tracks clusters through experiments: compares pairs of experiments, links
//! clusters in the chosen mode, and numbers the regions.

use super::evaluators;
use super::evidence::{Prepared, compare};
use super::matrix::Matrix;
use super::observation::Observation;
use super::optimal;
use super::optimal::Draft;
use super::params::{TrackChecked, TrackParams};
use super::published::{self, Group, Into, Set, Together};
use super::result::{
    Evaluator, Pair, TrackedExperiment, TrackedRegion, TrackedRegionId, Tracking, Vote,
};
use super::side::Side;
use crate::tracking::composition::mixture::mixtures;
use crate::tracking::composition::shared_clusters;
use crate::tracking::composition::unclustered;
use crate::tracking::program_position::aligned::sets;
use crate::tracking::program_position::call_sites;
use crate::tracking::program_position::callers::Names;
use crate::tracking::program_position::code_position;
use crate::tracking::program_position::occurrence::{Occurrence, occurrences};
use crate::tracking::published::regions::grouped;
use crate::{ClusterId, Error, Mode, Result};
use perf_core::Job;

impl Tracking {
    /// Returns the default parameters of tracking.
    pub fn params() -> TrackParams {
        TrackParams::default()
    }

    /// Tracks the clusters of any number of experiments in their order. The points of all
    /// experiments must be in the same space.
    ///
    /// Progress is reported in pairs of experiments, in the phase `track`. Takes O(n log n) time
    /// for the n points of each pair of experiments. The assignment takes at most O(k^3) time for k
    /// clusters in all experiments together, usually far less.
    ///
    /// # Errors
    /// Returns an error if the points have different dimensions, or if the job is cancelled.
    pub fn of(experiments: &[Observation<'_>], params: &TrackChecked, job: &Job) -> Result<Self> {
        let dimensions = experiments
            .first()
            .map(|experiment| experiment.points.dimensions());
        for experiment in experiments {
            if Some(experiment.points.dimensions()) != dimensions {
                return Err(Error::Length {
                    what: "dimensions of the points of an experiment",
                    expected: dimensions.unwrap_or(0),
                    got: experiment.points.dimensions(),
                });
            }
        }
        let originals = experiments;
        let calls: Vec<Observation<'_>>;
        let published = params.mode() == Mode::Published;
        let experiments = if published {
            experiments
        } else {
            let by_calls: Vec<_> = experiments.iter().map(Observation::by_calls).collect();
            calls = call_sites::align(&by_calls);
            &calls
        };
        let callers = experiments.iter().flat_map(|experiment| {
            [
                &experiment.before,
                &experiment.after,
                &experiment.position[2],
            ]
        });
        let names = Names::of(callers.flatten());
        let mut ready = Vec::with_capacity(experiments.len());
        for experiment in experiments {
            job.check()?;
            let unresolved = params.mode() == Mode::Optimal;
            let side = Side::new(experiment, &names, params.caller_weight(), unresolved, job)?;
            ready.push(Prepared::new(side, job)?);
        }
        let simultaneity: Vec<Matrix> = ready
            .iter()
            .map(|experiment| simultaneity(&experiment.side))
            .collect();
        let neighbours = (1..ready.len()).map(|to| (to - 1, to));
        let mut wanted: Vec<(usize, usize)> = neighbours.collect();
        if params.mode() == Mode::Optimal && params.bridge() {
            wanted.extend((2..ready.len()).map(|to| (to - 2, to)));
        }
        let (mut pairs, mut groups) = (Vec::new(), Vec::new());
        for &(from, to) in &wanted {
            job.check()?;
            let (a, b) = ((from, &ready[from]), (to, &ready[to]));
            match params.mode() {
                Mode::Optimal => pairs.push(compare(a, b, params, job)?),
                Mode::Published => {
                    let (pair, found) = published_pair(a, b, &simultaneity, params, job)?;
                    pairs.push(pair);
                    groups.push(found);
                }
            }
            job.advance("track", 1, wanted.len() as u64);
        }
        let drafts = match params.mode() {
            Mode::Optimal => optimal::regions(&ready, &pairs, &simultaneity, params),
            // A single experiment has no links: each cluster is a tracked region.
            Mode::Published if ready.len() == 1 => {
                let all = ready[0].side.present();
                all.map(|class| grouped(&[Set::from([class])], &[]))
                    .collect()
            }
            Mode::Published => {
                let chains = published::chain(&groups).into_iter();
                chains.map(|chain| grouped(&chain, &pairs)).collect()
            }
        };
        let mut regions = number(drafts, &ready, (experiments, params));
        if published {
            let by_calls: Vec<_> = experiments.iter().map(Observation::by_calls).collect();
            unclustered::explain(&by_calls, &mut regions);
        } else {
            unclustered::explain(experiments, &mut regions);
        }
        shared_clusters::name(experiments, &mut regions);
        code_position::locate(originals, &mut regions);
        let mixed = mixtures(experiments, &regions);
        let occurrences = occurrences(experiments, &regions);
        for ((region, mixture), occurrence) in regions.iter_mut().zip(mixed).zip(occurrences) {
            region.is_reliable = mixture.is_none()
                && occurrence == Occurrence::Repeated
                && region.confidence >= params.min_confidence();
            (region.mixture, region.occurrence) = (mixture, occurrence);
        }
        Ok(Tracking {
            experiments: summarise(experiments, &ready, simultaneity, &regions),
            pairs,
            regions,
        })
    }
}

/// Returns the simultaneity of an experiment's clusters as fractions; an empty matrix if there is no
/// alignment.
fn simultaneity(side: &Side) -> Matrix {
    let Some(steps) = &side.steps else {
        return Matrix::default();
    };
    let percent = steps.simultaneity(side.clusters);
    let value = |i: usize, k: usize| percent.get(i + 1).and_then(|row| row.get(k + 1)).copied();
    Matrix::from_fn(side.clusters, side.clusters, |i, k| {
        value(i, k).unwrap_or(f64::NAN) / 100.0
    })
}

fn published_pair(
    (from_experiment, from): (usize, &Prepared),
    (to_experiment, to): (usize, &Prepared),
    simultaneity: &[Matrix],
    params: &TrackChecked,
    job: &Job,
) -> Result<(Pair, Vec<Group>)> {
    let (a, b) = (&from.side, &to.side);
    let still = vec![0.0; a.dimensions];
    let (there, _) = evaluators::cross(a, b, &to.tree, &still, f64::INFINITY, job)?;
    let (back, _) = evaluators::cross(b, a, &from.tree, &still, f64::INFINITY, job)?;
    let callers = evaluators::callers(&a.before, &b.before);
    let callers_back = callers.transposed();
    // A missing vote counts as no overlap.
    let known = |matrix: &Matrix| matrix.map(|value| if value.is_nan() { 0.0 } else { value });
    let (callers_there, callers_back) = (known(&callers), known(&callers_back));
    let (dense, dense_back) = (evaluators::knapsack(a, b), evaluators::knapsack(b, a));
    let steps = |side: &Side| side.steps.as_ref().map_or_else(Vec::new, sets);
    let (steps_a, steps_b) = (steps(a), steps(b));
    let together = |experiment: usize, side: &'_ Side| {
        (params.use_sequences() && side.steps.is_some()).then_some((experiment, side.global))
    };
    let (seen_a, seen_b) = (together(from_experiment, a), together(to_experiment, b));
    let into_b = Into {
        distance: params.use_distance().then_some(&there),
        density: params.use_density().then_some(&dense),
        callers: params.use_callers().then_some(&callers_there),
        together: seen_b.map(|(experiment, global)| Together {
            matrix: &simultaneity[experiment],
            scores: &b.scores,
            global,
            steps: &steps_b,
        }),
    };
    let into_a = Into {
        distance: params.use_distance().then_some(&back),
        density: params.use_density().then_some(&dense_back),
        callers: params.use_callers().then_some(&callers_back),
        together: seen_a.map(|(experiment, global)| Together {
            matrix: &simultaneity[experiment],
            scores: &a.scores,
            global,
            steps: &steps_a,
        }),
    };
    let clusters = (a.clusters, b.clusters);
    let (threshold, score) = (params.threshold(), params.min_score());
    let (found, sequence) = published::groups(&into_b, &into_a, clusters, threshold, score);
    let beside_b = published::simultaneous(&into_b, clusters, threshold, score);
    let swapped = (clusters.1, clusters.0);
    let beside_a = published::simultaneous(&into_a, swapped, threshold, score);
    let beside = match (beside_b, beside_a.map(|of| of.transposed())) {
        (Some(b), Some(a)) => Some(Matrix::from_fn(clusters.0, clusters.1, |i, j| {
            a.at(i, j).max(b.at(i, j))
        })),
        (one, other) => one.or(other),
    };
    let mut votes = Vec::new();
    let mut vote = |evaluator, matrix: Option<Matrix>| {
        let says = |matrix: &Matrix| matrix.values().iter().any(|value| !value.is_nan());
        votes.extend(matrix.filter(says).map(|matrix| Vote { evaluator, matrix }));
    };
    let near = params.use_distance();
    vote(Evaluator::Forward, near.then(|| there.clone()));
    vote(Evaluator::Backward, near.then(|| back.transposed()));
    vote(
        Evaluator::CallersBefore,
        params.use_callers().then_some(callers),
    );
    vote(Evaluator::Density, params.use_density().then_some(dense));
    vote(Evaluator::Simultaneity, beside);
    vote(Evaluator::Sequence, sequence.map(|counts| counts.shares()));
    let pair = Pair {
        from: from_experiment,
        to: to_experiment,
        displacement: still,
        reach: f64::INFINITY,
        cross: [there, back],
        votes,
        evidence: Matrix::default(),
    };
    Ok((pair, found))
}

/// Numbers the tracked regions, computes their shares of the time and marks filtered regions.
fn number(
    mut drafts: Vec<Draft>,
    experiments: &[Prepared],
    (seen, params): (&[Observation<'_>], &TrackChecked),
) -> Vec<TrackedRegion> {
    // Factors that convert shares of the time in clusters to shares of the CPU time.
    let scales: Vec<f64> = experiments
        .iter()
        .zip(seen)
        .map(|(experiment, seen)| {
            let clustered: f64 = experiment.side.time.iter().sum();
            let known = seen.balance(|_| false);
            let all = known.map_or(clustered + experiment.side.noise_time, |of| {
                of.total.time.0 as f64
            });
            clustered / all.max(f64::MIN_POSITIVE)
        })
        .collect();
    let shares: Vec<Vec<f64>> = experiments
        .iter()
        .map(|experiment| experiment.side.shares())
        .collect();
    let share = |draft: &Draft| -> Vec<f64> {
        let experiments = draft.members.iter().zip(&shares);
        experiments
            .map(|(members, shares)| members.iter().fold(0.0, |sum, &m| sum + shares[m]))
            .collect()
    };
    if params.mode() == Mode::Optimal {
        // In descending order of time. Drafts are in order of their first cluster, and a stable sort
        // keeps this order in a tie.
        drafts.sort_by(|a, b| {
            let sum = |draft| share(draft).iter().sum::<f64>();
            sum(b).total_cmp(&sum(a))
        });
    }
    let id = |&class: &usize| ClusterId(class as u32 + 1);
    let regions = drafts.into_iter().enumerate().map(|(at, draft)| {
        let share = share(&draft);
        let small = share
            .iter()
            .filter(|&&share| share < params.min_share())
            .count();
        TrackedRegion {
            id: TrackedRegionId(at as u32 + 1),
            members: draft
                .members
                .iter()
                .map(|m| m.iter().map(id).collect())
                .collect(),
            confidence: draft.confidence,
            share: share
                .iter()
                .zip(&scales)
                .map(|(of, scale)| of * scale)
                .collect(),
            links: draft.links,
            events: draft.events,
            is_filtered: small > 1,
            mixture: None,
            occurrence: Occurrence::default(),
            positions: Vec::new(),
            is_reliable: false,
        }
    });
    regions.collect()
}

fn summarise(
    seen: &[Observation<'_>],
    experiments: &[Prepared],
    simultaneity: Vec<Matrix>,
    regions: &[TrackedRegion],
) -> Vec<TrackedExperiment> {
    let all = seen.iter().zip(experiments).zip(simultaneity).enumerate();
    type Experiment<'f, 'p> = ((&'f Observation<'p>, &'f Prepared), Matrix);
    let summary = |(experiment, ((seen, ready), simultaneity)): (usize, Experiment<'_, '_>)| {
        let side = &ready.side;
        let mut is_known = vec![false; side.clusters];
        for id in regions
            .iter()
            .flat_map(|region| region.members[experiment].iter())
        {
            if let Some(known) = id.index().and_then(|index| is_known.get_mut(index)) {
                *known = true;
            }
        }
        let untracked = side.present().filter(|&class| !is_known[class]);
        let tracked = regions
            .iter()
            .filter(|region| region.experiments() > 1 && !region.is_filtered);
        let mut is_tracked = vec![false; side.clusters];
        for id in tracked.flat_map(|region| region.members[experiment].iter()) {
            if let Some(known) = id.index().and_then(|index| is_tracked.get_mut(index)) {
                *known = true;
            }
        }
        let tracked = |id: ClusterId| id.index().is_some_and(|index| is_tracked[index]);
        let tracked_time = side.time.iter().zip(&is_tracked);
        // The empty sum is 0, not -0.
        let tracked_time = tracked_time.filter(|(_, is_tracked)| **is_tracked);
        let tracked_time = tracked_time.fold(0.0, |sum: f64, (time, _)| sum + time);
        let clustered_time: f64 = side.time.iter().sum();
        let all = (clustered_time + side.noise_time).max(f64::MIN_POSITIVE);
        TrackedExperiment {
            name: seen.name.clone(),
            tasks: seen.tasks,
            rescued: seen.rescued,
            clusters: side.clusters,
            clustered_time,
            noise_time: side.noise_time,
            coverage: (tracked_time / all).min(1.0),
            balance: seen.balance(tracked),
            untracked: untracked.map(|class| ClusterId(class as u32 + 1)).collect(),
            simultaneity,
            scores: side.scores.clone(),
            score: side.steps.as_ref().map(|_| side.global),
        }
    };
    all.map(summary).collect()
}
