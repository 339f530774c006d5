//! [`walk`]: finds the segments of the critical path, from the end of a run back to its begin,
//! along the wait states.

use super::{Extent, Segment, wait_end};
use crate::activity::{Activities, CallId, CallKind};
use crate::waits::WaitState;
use crate::{Error, Result};
use perf_core::{Job, LocationId, Ticks};
use std::collections::HashSet;

/// Returns the segments of the critical path in order of time.
pub(super) fn walk(
    activities: &Activities,
    states: &[WaitState],
    extent: Extent,
    job: &Job,
) -> Result<Vec<Segment>> {
    let (begin, last) = activities
        .range()
        .ok_or(Error::Nothing { what: "events" })?;
    let (mut at, mut before) = match extent {
        Extent::Run => end_of_run(activities, last),
        Extent::Program => last_finalize(activities),
    }
    .ok_or(Error::Nothing { what: "MPI calls" })?;
    let mut segments = Vec::new();
    let mut seen = HashSet::new();
    let mut checks = job.checks();
    // Each turn goes on to an earlier wait state, the one that ends last before `at` on the location of `before`.
    while let Some((place, state)) = wait_before(states, before, at) {
        checks.next(1)?;
        let Some(cause) = state.cause else {
            before = state.call;
            continue;
        };
        if !seen.insert(place) {
            // Clocks that disagree may let two locations wait for each other.
            break;
        }
        let end = wait_end(state);
        segments.push(Segment {
            location: before.location,
            start: end,
            end: at,
            wait: u32::try_from(place).ok(),
        });
        (at, before) = (end, cause);
    }
    let start = match extent {
        Extent::Run => begin,
        Extent::Program => init_enter(activities, before.location).unwrap_or(begin),
    };
    segments.push(Segment {
        location: before.location,
        start: start.min(at),
        end: at,
        wait: None,
    });
    segments.retain(|it| it.end > it.start || it.wait.is_none());
    segments.reverse();
    Ok(segments)
}

/// Returns the end of the run, and the place after the last call of the location that ends last.
fn end_of_run(activities: &Activities, last: Ticks) -> Option<(Ticks, CallId)> {
    let all = (0..).map(LocationId).zip(activities.locations());
    let with_calls = all.filter(|(_, own)| !own.calls.is_empty());
    let end = |own: &crate::activity::LocationCalls| own.range.map(|range| range.1);
    let (location, own) = with_calls.max_by_key(|(id, own)| (end(own), std::cmp::Reverse(*id)))?;
    let index = u32::try_from(own.calls.len()).ok()?;
    Some((last, CallId { location, index }))
}

/// Returns the latest enter of `MPI_Finalize`; without one, the latest end of a location.
fn last_finalize(activities: &Activities) -> Option<(Ticks, CallId)> {
    let calls = activities
        .calls()
        .filter(|(_, call)| call.kind == CallKind::Finalize);
    let last = calls.max_by_key(|(id, call)| (call.enter, std::cmp::Reverse(*id)));
    let last = last.map(|(id, call)| (call.enter, id));
    last.or_else(|| end_of_run(activities, activities.range()?.1))
}

/// Returns the enter of `MPI_Init` on a location.
fn init_enter(activities: &Activities, location: LocationId) -> Option<Ticks> {
    let own = activities.locations().get(location.index())?;
    let mut calls = own.calls.iter();
    calls
        .find(|call| call.kind == CallKind::Init)
        .map(|call| call.enter)
}

/// Returns the last wait state of a call before `before` on its location that ends at `at` or earlier.
fn wait_before(states: &[WaitState], before: CallId, at: Ticks) -> Option<(usize, &WaitState)> {
    let after = states.partition_point(|state| state.call < before);
    let earlier = states.get(..after)?.iter().enumerate().rev();
    let own = earlier.take_while(|(_, state)| state.call.location == before.location);
    own.into_iter()
        .find(|(_, state)| state.pattern.is_waiting() && wait_end(state) <= at)
}
