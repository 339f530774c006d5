//! Events that are known before or after the sweep over records reaches their time.

use super::names;
use crate::Result;
use perf_core::{CommId, Event, Events, Ticks};
use std::collections::HashMap;

/// An event of a location that is put in its place once all others are there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Late {
    pub(super) time: u64,
    /// Whether it belongs to what ends at its time rather than to what begins there.
    pub(super) is_end: bool,
    pub(super) event: Event<'static>,
}

/// Gives the collectives of each process their roots: the one rank that is the root says so, and
/// the n-th of a communicator on one process is the n-th on each other.
///
/// `late` are the late events of all locations, `process` the process of each.
pub(super) fn share_roots(late: &mut [Vec<Late>], process: &[u32]) {
    let mut all: Vec<(CommId, u32, u64, usize, usize)> = Vec::new();
    for (location, events) in late.iter().enumerate() {
        for (index, late) in events.iter().enumerate() {
            if let Event::CollectiveEnd(end) = late.event
                && names::is_rooted(end.op)
            {
                let process = process.get(location).copied().unwrap_or(u32::MAX);
                all.push((end.comm, process, late.time, location, index));
            }
        }
    }
    all.sort_unstable();
    let mut roots: HashMap<(CommId, usize), u32> = HashMap::new();
    let mut numbered = Vec::with_capacity(all.len());
    for same in all.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        for (number, (comm, .., location, index)) in same.iter().enumerate() {
            let event = late.get(*location).and_then(|late| late.get(*index));
            if let Some(Event::CollectiveEnd(end)) = event.map(|late| late.event)
                && let Some(root) = end.root
            {
                roots.insert((*comm, number), root);
            }
            numbered.push((*comm, number, *location, *index));
        }
    }
    for (comm, number, location, index) in numbered {
        let event = late.get_mut(location).and_then(|late| late.get_mut(index));
        if let Some(Event::CollectiveEnd(end)) = event.map(|late| &mut late.event) {
            end.root = end.root.or(roots.get(&(comm, number)).copied());
        }
    }
}

/// Puts late events between the others: what ends at a time comes before the first enter, leave or
/// sample there, what begins there after the last.
pub(super) fn merge(events: Events, mut late: Vec<Late>) -> Result<Events> {
    if late.is_empty() {
        return Ok(events);
    }
    // Stable: those of one time stay in the order in which the trace has them.
    late.sort_by_key(|late| (late.time, !late.is_end));
    let mut late = late.into_iter().peekable();
    let mut merged = Events::default();
    merged.reserve(events.len() + late.len());
    for (index, at) in events.times().iter().enumerate() {
        let Some(event) = events.event(index) else {
            continue;
        };
        // Metrics were read before what ends.
        let is_before = matches!(event, Event::Metric { .. });
        while let Some(next) = late
            .next_if(|late| late.time < at.0 || (late.time == at.0 && late.is_end && !is_before))
        {
            merged.push(Ticks(next.time), next.event)?;
        }
        merged.push(*at, event)?;
    }
    for next in late {
        merged.push(Ticks(next.time), next.event)?;
    }
    merged.shrink_to_fit();
    Ok(merged)
}
