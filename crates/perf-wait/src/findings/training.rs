//! Findings of training jobs: stages, ranks and operations whose ideal durations would shorten a step.

use super::{Finding, FindingKind, Findings, FindingsParams};
use crate::Result;
use crate::graph::Schedule;
use crate::training::{Group, Operation, OperationKind, TrainingJob};
use perf_core::{Definitions, Job, Nanos, TimeRange};
use std::collections::{BTreeMap, BTreeSet};

/// A part that accounts for at least this share of the loss of a larger part around it replaces the larger part.
const SAME_LOSS: f64 = 0.9;

/// Returns the parts of a job that slow it down, the culprit first.
pub(super) fn findings(
    training: &TrainingJob,
    definitions: &Definitions,
    params: &FindingsParams,
    job: &Job,
) -> Result<Findings> {
    let recorded: Vec<Nanos> = training.operations().iter().map(|it| it.duration).collect();
    let mut times = Schedule::default();
    let replayed = training.step_times(&recorded, &mut times, job)?;
    let total: i64 = replayed.iter().map(|it| it.1.0).sum();
    let mut findings: Vec<Finding> = Vec::new();
    let mut groups: Vec<(Group, i64)> = Vec::new();
    for culprit in training.culprits(job)? {
        if findings.len() >= params.max_findings {
            break;
        }
        let (group, lost) = (culprit.group, culprit.lost.0);
        let repeats = |(smaller, own): &(Group, i64)| {
            contains(training, group, *smaller) && lost as f64 * SAME_LOSS <= *own as f64
        };
        if groups.iter().any(repeats) {
            continue;
        }
        let durations = training.operations().iter().zip(training.ideal());
        let durations: Vec<Nanos> = durations
            .map(|(it, ideal)| {
                if group.contains(it) {
                    *ideal
                } else {
                    it.duration
                }
            })
            .collect();
        let fixed = training.step_times(&durations, &mut times, job)?;
        let gains = || {
            replayed
                .iter()
                .zip(&fixed)
                .map(|(a, b)| (a.0, a.1.0 - b.1.0))
        };
        let saved: i64 = gains().map(|it| it.1).sum();
        let share = saved as f64 / total.max(1) as f64;
        if share < params.min_share {
            continue;
        }
        let slowest = slowest_kind(training, group);
        groups.push((group, lost));
        findings.push(Finding {
            kind: FindingKind::Training {
                part: group,
                operation: slowest.map(|it| it.0),
            },
            locations: Vec::new(),
            saved: Nanos(saved),
            share,
            cost: culprit.lost,
            held_up: held_up(training, group),
            factor: slowest.map(|it| it.1),
            own: None,
            peers: None,
            longest: None,
            caller: None,
            window: gains()
                .max_by_key(|it| it.1)
                .and_then(|(step, _)| window(training, step, definitions)),
        });
    }
    Ok(Findings {
        runtime: Nanos(total),
        findings,
    })
}

/// Returns `true` if one of the two parts contains all operations of the other.
fn contains(training: &TrainingJob, larger: Group, smaller: Group) -> bool {
    let within = |inner: Group, outer: Group| {
        let mut own = training.operations().iter().filter(|it| inner.contains(it));
        own.all(|it| outer.contains(it))
    };
    within(smaller, larger) || within(larger, smaller)
}

/// Returns the kind of operation that loses most time in a part, and the ratio of its mean duration in the part to its
/// mean duration in the other parts.
fn slowest_kind(training: &TrainingJob, group: Group) -> Option<(OperationKind, f64)> {
    if matches!(group, Group::Operation(_)) {
        return None;
    }
    // Count and sum of durations within and outside of the part.
    let mut sums: BTreeMap<OperationKind, [(f64, f64); 2]> = BTreeMap::new();
    for it in training.operations() {
        let sums = sums.entry(it.kind).or_default();
        let own = &mut sums[usize::from(!group.contains(it))];
        *own = (own.0 + 1.0, own.1 + it.duration.0 as f64);
    }
    let excess = |kind: OperationKind, [own, others]: [(f64, f64); 2]| {
        let (mean, peers) = (own.1 / own.0, others.1 / others.0);
        (own.0 > 0.0 && others.0 > 0.0 && peers > 0.0 && mean > peers)
            .then(|| (kind, mean / peers, (mean - peers) * own.0))
    };
    let all = sums
        .into_iter()
        .filter_map(|(kind, sums)| excess(kind, sums));
    let most = all.max_by(|a, b| a.2.total_cmp(&b.2))?;
    Some((most.0, most.1))
}

/// Returns the number of workers outside of a part.
fn held_up(training: &TrainingJob, group: Group) -> usize {
    let worker = |it: &Operation| (it.data_rank, it.stage);
    let all: BTreeSet<_> = training.operations().iter().map(worker).collect();
    let own = training.operations().iter().filter(|it| group.contains(it));
    all.len() - own.map(worker).collect::<BTreeSet<_>>().len()
}

/// Returns the window of a step.
fn window(training: &TrainingJob, step: u64, definitions: &Definitions) -> Option<TimeRange> {
    let own = || training.operations().iter().filter(|it| it.step == step);
    let start = own().map(|it| it.start).min()?;
    let end = own().map(|it| it.start.saturating_add(it.duration)).max()?;
    let end = end.saturating_add(Nanos(1));
    TimeRange::new(
        definitions.clock.ticks(start)?,
        definitions.clock.ticks(end)?,
    )
}
