//! [`DeferredEvent`]: events, such as ends of messages and collectives, that are inserted into a
//! location after all records were read, with roots and damaged times corrected before.

use crate::Result;
use crate::paraver::names;
use perf_core::{CommId, Event, Events, Job, Ticks};
use std::collections::HashMap;
use std::mem::discriminant;

/// Event of a location that is inserted after all other events of the location are known.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeferredEvent {
    /// Time of the event.
    pub(super) time: u64,
    /// `true` if the event ends an operation. It is then ordered before events that begin an operation at the same
    /// time.
    pub(super) is_end: bool,
    /// Event to insert.
    pub(super) event: Event<'static>,
}

/// A rooted collective that ends outside the window or on an unselected thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnselectedCollective {
    /// Time of the collective.
    pub(super) time: u64,
    /// Communicator of the collective.
    pub(super) comm: CommId,
    /// Root, if it is known.
    pub(super) root: Option<u32>,
}

/// Rooted collective: communicator, process, time, location, index among the kept or unkept collectives of the
/// location, and `true` if it is kept.
type Rooted = (CommId, u32, u64, usize, usize, bool);

/// Moves events beyond the latest plausible time to the time of the preceding event of the same kind in the file, or to
/// time 0 if there is none. Returns the number of moved events.
///
/// Message lines are ordered by their sends. The messages of a channel therefore keep their order and their partners.
pub(super) fn take_back(late: &mut [DeferredEvent], latest: Option<u64>) -> u64 {
    let is_beyond = |late: &DeferredEvent| latest.is_some_and(|latest| late.time > latest);
    if !late.iter().any(is_beyond) {
        return 0;
    }
    let mut before = HashMap::new();
    let mut count = 0;
    for late in late {
        let before = before.entry(discriminant(&late.event)).or_insert(0);
        if is_beyond(late) {
            late.time = *before;
            count += 1;
        }
        *before = late.time;
    }
    count
}

/// Sets the root of each collective on all processes, because only the root records that it is the root. The n-th
/// collective of a communicator on one process corresponds to the n-th collective on every other process.
///
/// `late` contains the deferred events of all locations, `unkept` their collectives that are not kept, and `process`
/// the process of each location. Collectives that are not kept are counted like the others, so that a part of a trace
/// gets the same roots as the whole trace.
pub(super) fn share_roots(
    late: &mut [Vec<DeferredEvent>],
    unkept: &[Vec<UnselectedCollective>],
    process: &[u32],
    job: &Job,
) -> Result<()> {
    let mut all: Vec<Rooted> = Vec::new();
    let process_of = |location: usize| process[location];
    let mut checks = job.checks();
    for (location, events) in late.iter().enumerate() {
        for (index, late) in events.iter().enumerate() {
            checks.next(1)?;
            if let Event::CollectiveEnd(end) = late.event
                && names::is_rooted(end.op)
            {
                let process = process_of(location);
                all.push((end.comm, process, late.time, location, index, true));
            }
        }
    }
    if all.is_empty() {
        return Ok(());
    }
    for (location, unkept) in unkept.iter().enumerate() {
        job.check()?;
        let process = process_of(location);
        let rooted = unkept.iter().enumerate();
        all.extend(rooted.map(|(index, of)| (of.comm, process, of.time, location, index, false)));
    }
    job.sort_by(&mut all, Ord::cmp)?;
    let root_of = |(.., location, index, is_kept): &Rooted| {
        if !*is_kept {
            return unkept.get(*location)?.get(*index)?.root;
        }
        match late.get(*location)?.get(*index)?.event {
            Event::CollectiveEnd(end) => end.root,
            _ => None,
        }
    };
    let mut roots: HashMap<(CommId, usize), u32> = HashMap::new();
    let same = |a: &Rooted, b: &Rooted| (a.0, a.1) == (b.0, b.1);
    for of_process in all.chunk_by(same) {
        for (number, one) in of_process.iter().enumerate() {
            checks.next(1)?;
            if let Some(root) = root_of(one) {
                roots.insert((one.0, number), root);
            }
        }
    }
    for of_process in all.chunk_by(same) {
        for (number, (comm, .., location, index, is_kept)) in of_process.iter().enumerate() {
            checks.next(1)?;
            let events = late.get_mut(*location).filter(|_| *is_kept);
            let event = events.and_then(|events| events.get_mut(*index));
            if let Some(Event::CollectiveEnd(end)) = event.map(|late| &mut late.event) {
                end.root = end.root.or(roots.get(&(*comm, number)).copied());
            }
        }
    }
    Ok(())
}

/// Inserts deferred events. At the same time, events that end an operation come after metrics and before all other
/// events, and events that begin an operation come last.
pub(super) fn merge(events: Events, late: Vec<DeferredEvent>, job: &Job) -> Result<Events> {
    if late.is_empty() {
        return Ok(events);
    }
    // Events at the same time keep the order of the trace.
    let key = |late: &DeferredEvent, index: usize| (late.time, !late.is_end, index);
    let keys = late.iter().enumerate();
    let mut order: Vec<_> = keys.map(|(index, late)| key(late, index)).collect();
    job.sort_by(&mut order, Ord::cmp)?;
    let in_order = order.iter();
    let mut late = in_order
        .filter_map(|(.., index)| late.get(*index).copied())
        .peekable();
    let mut merged = Events::default();
    merged.reserve(events.len() + order.len());
    let mut checks = job.checks();
    for (index, at) in events.times().iter().enumerate() {
        checks.next(1)?;
        let Some(event) = events.event(index) else {
            continue;
        };
        // Metrics are read before the operation ends.
        let is_before = matches!(event, Event::Metric { .. });
        while let Some(next) = late
            .next_if(|late| late.time < at.0 || (late.time == at.0 && late.is_end && !is_before))
        {
            merged.push(Ticks(next.time), next.event)?;
        }
        merged.push(*at, event)?;
    }
    for next in late {
        checks.next(1)?;
        merged.push(Ticks(next.time), next.event)?;
    }
    merged.shrink_to_fit();
    Ok(merged)
}
