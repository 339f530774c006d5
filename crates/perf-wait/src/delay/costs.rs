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
#[derive(Clone, Copy, Debug)]
struct Cause {
    location: LocationId,
    /// Call path of the call that was waited for.
    path: Option<CallPathId>,
    since: Ticks,
    until: Ticks,
}

/// Rates of cost over ranges of wait states, by kind: added to ranges, read at places.
struct Rates {
    /// Binary indexed trees of differences, one for each kind.
    trees: Vec<Vec<f64>>,
}

impl Rates {
    fn new(count: usize) -> Self {
        Rates {
            trees: vec![vec![0.0; count + 2]; Pattern::ALL.len()],
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

    let (mut rates, mut sums) = (Rates::new(waits.len()), Sums::new());
    // Cost that each wait state has passed on, by kind.
    let mut passed = vec![[0.0; Pattern::ALL.len()]; waits.len()];
    let (mut own, mut other) = (vec![0; timelines.width()], vec![0; timelines.width()]);
    for place in order {
        job.check()?;
        let (wait, Some(cause)) = (waits[place], causes[place]) else {
            continue;
        };
        for (kind, passed) in passed[place].iter_mut().enumerate() {
            *passed = rates.at(kind, place) * wait.ticks as f64;
        }
        own.fill(0);
        other.fill(0);
        timelines.add(cause.location, cause.since, cause.until, &mut own);
        timelines.add(wait.call.location, cause.since, wait.start, &mut other);
        let earlier = places(waits, cause);
        let waiting = (before[earlier.end] - before[earlier.start]) as f64;
        let excess = |slot: usize| own[slot].saturating_sub(other[slot]) as f64;
        let slots = || 0..timelines.paths();
        let all = slots().map(excess).sum::<f64>() + waiting;
        let fallback = cause.path.map_or(timelines.paths(), |path| path.index());
        if all <= 0.0 {
            let sum = sums
                .entry((wait.pattern, cause.location, fallback))
                .or_default();
            sum.0 += wait.ticks as f64;
        }
        for slot in slots().filter(|slot| all > 0.0 && excess(*slot) > 0.0) {
            let sum = sums
                .entry((wait.pattern, cause.location, slot))
                .or_default();
            sum.0 += wait.ticks as f64 * excess(slot) / all;
        }
        for (kind, pattern) in Pattern::ALL.into_iter().enumerate() {
            let cost = passed[place][kind];
            if all <= 0.0 && cost > 0.0 {
                sums.entry((pattern, cause.location, fallback))
                    .or_default()
                    .1 += cost;
            }
            for slot in slots().filter(|slot| all > 0.0 && cost > 0.0 && excess(*slot) > 0.0) {
                let sum = sums.entry((pattern, cause.location, slot)).or_default();
                sum.1 += cost * excess(slot) / all;
            }
            let is_own = pattern == wait.pattern;
            let whole = cost + if is_own { wait.ticks as f64 } else { 0.0 };
            if all > 0.0 && waiting > 0.0 && whole > 0.0 {
                rates.add(kind, earlier.clone(), whole / all);
            }
        }
    }
    // Where clocks disagree, a wait state may get costs after it has passed them on.
    for (place, wait) in waits.iter().enumerate() {
        let Some(cause) = causes[place] else { continue };
        for (kind, pattern) in Pattern::ALL.into_iter().enumerate() {
            let rest = rates.at(kind, place) * wait.ticks as f64 - passed[place][kind];
            if rest.abs() > wait.ticks as f64 * 1e-9 {
                let slot = cause.path.map_or(timelines.paths(), |path| path.index());
                sums.entry((pattern, cause.location, slot)).or_default().1 += rest;
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
    for wait in waits {
        job.check()?;
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
