//! [`bounds()`]: derives bounds of clock differences that hold with some slack ([`LikelyBound`]) from receives
//! that wait and from N-to-N operations, whose members end together.
//!
//! A rank that is always the last one to send or to enter a collective bounds the other clocks closely from one side
//! and loosely from the other: its partners always wait, and their waiting time cannot be distinguished from an offset.
//! The centre of these bounds treats half of the waiting time as an offset and thereby hides half of a constant load
//! imbalance.
//!
//! The durations of calls do not depend on offsets and show which rank waits. A receive that waits ends shortly after
//! its send begins, and members of an N-to-N operation end together, within about the time that the last member needs.
//! These conditions are not certain: if they contradict the other bounds, they get more slack. They choose a place
//! between the other bounds and do not reduce the uncertainty.

use super::bounds::{Bound, Bounds};
use crate::Result;
use perf_core::{CollectiveOp, Endpoint, Event, Job, Messages, Ticks, TraceView};
use std::collections::BTreeMap;

/// Number of parts of the run. Each part has its own likely bounds, so that clocks may drift.
const WINDOWS: u64 = 8;

/// Factor relative to the shortest receive above which a receive waits.
const WAITING: u64 = 4;

/// Largest difference between the ends of an N-to-N operation, relative to the duration of the shortest member.
const SKEW: u64 = 2;

/// Largest number of events between the enter of a call and the record of its message.
const MAX_RECORDS: usize = 8;

/// Factors of the slack of likely bounds, which are tried in turn.
pub(super) const SLACKS: [f64; 5] = [1.0, 4.0, 16.0, 64.0, 256.0];

/// A bound that holds with some slack.
#[derive(Clone, Copy, Debug)]
pub(super) struct LikelyBound {
    /// The bound without slack.
    pub(super) bound: Bound,
    /// Slack in ticks.
    pub(super) slack: f64,
}

impl LikelyBound {
    /// Returns the upper bound of the correction of the earlier process minus that of the later one.
    pub(super) fn difference(self, factor: f64) -> f64 {
        self.bound.difference() + self.slack * factor
    }
}

/// Bound of a pair of processes in a window with the smallest value of a measure.
type Best = BTreeMap<(usize, usize, u64), (u64, LikelyBound)>;

/// Returns the likely bounds by (early process, late process).
pub(super) fn bounds(
    bounds: &Bounds,
    view: TraceView<'_>,
    matched: &Messages,
    job: &Job,
) -> Result<BTreeMap<(usize, usize), Vec<LikelyBound>>> {
    let mut found: BTreeMap<(usize, usize), Vec<LikelyBound>> = BTreeMap::new();
    let of_messages = messages(bounds, view, matched, job)?;
    for best in [of_messages, collectives(bounds, matched, job)?] {
        for ((early, late, _), (_, bound)) in best {
            found.entry((early, late)).or_default().push(bound);
        }
    }
    Ok(found)
}

/// Returns the part of the run that a time is in.
fn window(bounds: &Bounds, time: Ticks) -> u64 {
    let length = bounds.end.saturating_since(bounds.origin) / WINDOWS + 1;
    time.saturating_since(bounds.origin) / length
}

/// Keeps a bound if its measure is the smallest so far.
fn keep(best: &mut Best, key: (usize, usize, u64), measure: u64, bound: LikelyBound) {
    let known = best.entry(key).or_insert((measure, bound));
    if measure < known.0 {
        *known = (measure, bound);
    }
}

/// Returns the time from the enter of the call that contains the record of a receive to the record.
fn waited(view: TraceView<'_>, receive: Endpoint) -> Option<u64> {
    let events = view.trace().events().get(receive.location.index())?;
    let before = (0..receive.index).rev().take(MAX_RECORDS);
    for index in before {
        match events.event(index)? {
            Event::Enter { .. } => {
                return Some(receive.time.saturating_since(events.time(index)?));
            }
            Event::Leave { .. } => return None,
            _ => {}
        }
    }
    None
}

/// Returns the bounds of receives that wait, for pairs of processes with such receives in only one direction.
fn messages(bounds: &Bounds, view: TraceView<'_>, matched: &Messages, job: &Job) -> Result<Best> {
    let mut calls = Vec::with_capacity(matched.messages.len());
    let mut checks = job.checks();
    for message in &matched.messages {
        checks.next(1)?;
        let (sender, receiver) = (message.sender, message.receiver);
        let pair = bounds
            .process(sender.location)
            .zip(bounds.process(receiver.location));
        let pair = pair.filter(|(from, to)| from != to);
        if let (Some((from, to)), Some(waited)) = (pair, waited(view, receiver)) {
            calls.push((from, to, waited, sender.time, receiver.time));
        }
    }
    let shortest = calls.iter().map(|it| it.2).min().unwrap_or_default();
    let limit = shortest.saturating_mul(WAITING);
    let mut best = Best::new();
    for (from, to, _, sent, received) in calls.iter().filter(|it| it.2 > limit) {
        checks.next(1)?;
        // The fastest message of a window is the one with the largest difference in this direction.
        let (early, late) = (*received, *sent);
        let bound = LikelyBound {
            bound: Bound { early, late },
            slack: limit as f64,
        };
        let measure = (i128::from(received.0) - i128::from(sent.0))
            .clamp(i128::from(i64::MIN), i128::from(i64::MAX));
        let measure = (measure - i128::from(i64::MIN)) as u64;
        keep(
            &mut best,
            (*to, *from, window(bounds, *sent)),
            measure,
            bound,
        );
    }
    let pairs: std::collections::BTreeSet<_> = best.keys().map(|it| (it.0, it.1)).collect();
    best.retain(|(early, late, _), _| !pairs.contains(&(*late, *early)));
    Ok(best)
}

/// Returns the bounds of N-to-N operations: all members end at about the time of the member with the shortest call.
fn collectives(bounds: &Bounds, matched: &Messages, job: &Job) -> Result<Best> {
    let mut best = Best::new();
    let mut checks = job.checks();
    for collective in &matched.collectives {
        if !collective.op.is_all_to_all() {
            continue;
        }
        checks.next(collective.members.len())?;
        let is_barrier = collective.op == CollectiveOp::Barrier;
        let members = collective
            .members
            .iter()
            .filter(|it| is_barrier || it.received > 0);
        let ends = members.filter_map(|it| {
            let duration = it.end.time.saturating_since(it.begin.time);
            Some((duration, bounds.process(it.end.location)?, it.end.time))
        });
        let ends: Vec<_> = ends.collect();
        let Some((duration, last, end)) = ends.iter().min().copied() else {
            continue;
        };
        let skew = duration.saturating_mul(SKEW);
        let likely = |early, late| LikelyBound {
            bound: Bound { early, late },
            slack: skew as f64,
        };
        for (_, process, time) in ends.iter().filter(|it| it.1 != last) {
            let window = window(bounds, end);
            keep(
                &mut best,
                (*process, last, window),
                skew,
                likely(*time, end),
            );
            keep(
                &mut best,
                (last, *process, window),
                skew,
                likely(end, *time),
            );
        }
    }
    Ok(best)
}
