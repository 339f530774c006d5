//! Costs of delays, and their propagation through wait states.

use super::DelayCost;
use super::synchronisation::{Synchronisations, cause_time};
use crate::Result;
use crate::activity::Activities;
use crate::timeline::Timelines;
use crate::waits::{Pattern, WaitState};
use perf_core::{CallPathId, Job, LocationId, Ticks};
use std::collections::BTreeMap;

/// Cause of a wait state: a location, between two times.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cause {
    location: LocationId,
    /// Call path of the call that was waited for.
    path: Option<CallPathId>,
    since: Ticks,
    until: Ticks,
}

impl Cause {
    /// Slot of the call that was waited for.
    fn slot(&self, timelines: &Timelines) -> usize {
        self.path.map_or(timelines.paths(), |path| path.index())
    }
}

/// Rates of cost over ranges of wait states, by kind: added to ranges, read at places.
struct Rates {
    /// Binary indexed trees of differences, one for each kind.
    trees: Vec<Vec<f64>>,
}

impl Rates {
    fn new(count: usize, kinds: usize) -> Self {
        Rates {
            trees: vec![vec![0.0; count + 2]; kinds],
        }
    }

    fn add(&mut self, kind: usize, places: std::ops::Range<usize>, rate: f64) {
        for (from, rate) in [(places.start, rate), (places.end, -rate)] {
            let tree = &mut self.trees[kind];
            let mut at = from + 1;
            while let Some(slot) = tree.get_mut(at) {
                *slot += rate;
                at += at & at.wrapping_neg();
            }
        }
    }

    /// Adds a rate of each kind to a range, and sets them to 0.
    fn add_all(&mut self, rates: &mut [f64], places: &std::ops::Range<usize>) {
        for (kind, rate) in rates.iter_mut().enumerate() {
            let rate = std::mem::take(rate);
            if rate != 0.0 && !places.is_empty() {
                self.add(kind, places.clone(), rate);
            }
        }
    }

    fn at(&self, kind: usize, place: usize) -> f64 {
        let (tree, mut at, mut sum) = (&self.trees[kind], place + 1, 0.0);
        while at > 0 {
            sum += tree[at];
            at &= at - 1;
        }
        sum
    }
}

/// Costs by kind, location and slot of the timelines.
type Sums = BTreeMap<(Pattern, LocationId, usize), (f64, f64)>;

/// Returns the costs of all delays. `waits` are in order of location and time.
pub(super) fn costs(
    activities: &Activities,
    waits: &[WaitState],
    timelines: &Timelines,
    job: &Job,
) -> Result<Vec<DelayCost>> {
    let causes = causes(activities, waits, job)?;
    let mut before = Vec::with_capacity(waits.len() + 1);
    before.push(0_u64);
    for wait in waits {
        before.push(
            before
                .last()
                .copied()
                .unwrap_or_default()
                .saturating_add(wait.ticks),
        );
    }
    let end = |place: usize| waits[place].start.0.saturating_add(waits[place].ticks);
    let mut order: Vec<usize> = (0..waits.len()).collect();
    job.sort_by(&mut order, |a, b| (end(*b), a).cmp(&(end(*a), b)))?;

    let kinds = Pattern::ALL.into_iter();
    let kinds: Vec<Pattern> = kinds
        .filter(|kind| waits.iter().any(|wait| wait.pattern == *kind))
        .collect();
    let (mut rates, mut sums) = (Rates::new(waits.len(), kinds.len()), Sums::new());
    // Cost that each wait state has passed on, by kind.
    let mut passed = vec![0.0; waits.len() * kinds.len()];
    let (mut own, mut other) = (vec![0; timelines.width()], vec![0; timelines.width()]);
    // The members of a collective have one cause, and follow each other.
    let mut known: Option<Cause> = None;
    let (mut earlier, mut waiting) = (0..0, 0.0);
    // Rates of the wait states of this cause, which apply to those that end earlier.
    let mut pending = vec![0.0; kinds.len()];
    let mut checks = job.checks();
    for place in order {
        checks.next(64)?;
        let (wait, Some(cause)) = (waits[place], causes[place]) else {
            continue;
        };
        if known.replace(cause) != Some(cause) {
            rates.add_all(&mut pending, &earlier);
            earlier = places(waits, cause);
            waiting = (before[earlier.end] - before[earlier.start]) as f64;
            own.fill(0);
            timelines.add(cause.location, cause.since, cause.until, &mut own);
        }
        other.fill(0);
        timelines.add(wait.call.location, cause.since, wait.start, &mut other);
        let excess = |slot: usize| own[slot].saturating_sub(other[slot]) as f64;
        let all = (0..timelines.paths()).map(excess).sum::<f64>() + waiting;
        for (kind, pattern) in kinds.iter().enumerate() {
            let cost = rates.at(kind, place) * wait.ticks as f64;
            passed[place * kinds.len() + kind] = cost;
            let short = if *pattern == wait.pattern {
                wait.ticks as f64
            } else {
                0.0
            };
            if short + cost <= 0.0 {
                continue;
            }
            let mut add = |slot: usize, share: f64| {
                let sum = sums.entry((*pattern, cause.location, slot)).or_default();
                *sum = (sum.0 + short * share, sum.1 + cost * share);
            };
            if all <= 0.0 {
                add(cause.slot(timelines), 1.0);
                continue;
            }
            for slot in (0..timelines.paths()).filter(|slot| excess(*slot) > 0.0) {
                add(slot, excess(slot) / all);
            }
            pending[kind] += (short + cost) / all;
        }
    }
    rates.add_all(&mut pending, &earlier);
    // Where clocks disagree, a wait state may get costs after it has passed them on.
    for (place, wait) in waits.iter().enumerate() {
        checks.next(64)?;
        let Some(cause) = causes[place] else { continue };
        for (kind, pattern) in kinds.iter().enumerate() {
            let rest =
                rates.at(kind, place) * wait.ticks as f64 - passed[place * kinds.len() + kind];
            if rest.abs() > wait.ticks as f64 * 1e-9 {
                let key = (*pattern, cause.location, cause.slot(timelines));
                sums.entry(key).or_default().1 += rest;
            }
        }
    }
    let cost = |((pattern, location, slot), (short, long))| DelayCost {
        pattern,
        location,
        path: timelines.path(slot),
        short,
        long,
    };
    Ok(sums.into_iter().map(cost).collect())
}

/// Returns the cause of each wait state.
fn causes(activities: &Activities, waits: &[WaitState], job: &Job) -> Result<Vec<Option<Cause>>> {
    let mut synchronisations = Synchronisations::of(activities, waits);
    let mut causes = Vec::with_capacity(waits.len());
    let mut checks = job.checks();
    for wait in waits {
        checks.next(8)?;
        let cause = wait.cause.map(|call| {
            let until = cause_time(activities, wait);
            Cause {
                location: call.location,
                path: activities.call(call).and_then(|call| call.path),
                since: synchronisations.before(wait, call.location, until),
                until,
            }
        });
        causes.push(cause);
    }
    Ok(causes)
}

/// Returns the places of the wait states of a cause.
fn places(waits: &[WaitState], cause: Cause) -> std::ops::Range<usize> {
    let key = |wait: &WaitState| (wait.call.location, wait.start);
    let from = waits.partition_point(|wait| key(wait) < (cause.location, cause.since));
    let to = waits.partition_point(|wait| key(wait) < (cause.location, cause.until));
    from..to.max(from)
}
