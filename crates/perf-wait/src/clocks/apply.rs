//! Rewriting of a trace with corrected times: those of a [`ClockEstimate`], or given times of all
//! events.

use super::ClockEstimate;
use crate::Result;
use perf_core::{Clock, Event, Events, Job, LocationId, Ticks, Trace};

/// Returns a trace with corrected times. If a time would be negative, all times and the origin move by a constant.
pub(super) fn shifted(trace: &Trace, estimate: &ClockEstimate, job: &Job) -> Result<Trace> {
    let time = |location: usize, at: Ticks| {
        let correction = estimate.locations.get(location);
        let ticks = correction.map_or(0.0, |it| it.at(at, estimate.origin));
        // A sum of integers keeps the precision of times that floats do not have.
        i128::from(at.0) + ticks.round() as i128
    };
    let firsts = trace.events().iter().enumerate();
    let firsts = firsts.filter_map(|(location, events)| {
        events.times().first().map(|first| time(location, *first))
    });
    let shift = -firsts.min().unwrap_or_default().min(0);
    let moved = |location: usize, at: Ticks| {
        Ticks(u64::try_from(time(location, at) + shift).unwrap_or(u64::MAX))
    };
    let mut all = Vec::with_capacity(trace.events().len());
    for (location, events) in trace.events().iter().enumerate() {
        all.push(rewritten(events, |_, at| moved(location, at), job)?);
    }
    let mut definitions = trace.definitions().clone();
    let clock = definitions.clock;
    let origin = i128::from(clock.origin().0) + shift;
    let moved = u64::try_from(origin).ok();
    let moved = moved.and_then(|origin| Clock::new(clock.ticks_per_second(), Ticks(origin)));
    if let Some(mut moved) = moved {
        moved.realtime = clock.realtime;
        definitions.clock = moved;
    }
    Ok(Trace::new(definitions, all)?.with_links(trace.links().to_vec())?)
}

/// Returns a trace with these times, one for each event of each location.
pub(super) fn with_times(trace: &Trace, times: &[Vec<Ticks>], job: &Job) -> Result<Trace> {
    let mut all = Vec::with_capacity(trace.events().len());
    for (events, times) in trace.events().iter().zip(times) {
        all.push(rewritten(events, |index, _| times[index], job)?);
    }
    let trace_of = Trace::new(trace.definitions().clone(), all)?;
    Ok(trace_of.with_links(trace.links().to_vec())?)
}

/// Returns events at other times. The end of a flush moves by as much as its begin.
fn rewritten(events: &Events, time: impl Fn(usize, Ticks) -> Ticks, job: &Job) -> Result<Events> {
    if events.is_absent() {
        return Ok(Events::absent());
    }
    let mut moved = Events::default();
    moved.reserve(events.len());
    let mut checks = job.checks();
    let attributed = events.with_attributes() > 0;
    for index in 0..events.len() {
        checks.next(1)?;
        let (Some(at), Some(event)) = (events.time(index), events.event(index)) else {
            continue;
        };
        let to = time(index, at);
        let event = match event {
            Event::Flush { until } => Event::Flush {
                until: Ticks(to.0.saturating_add(until.saturating_since(at))),
            },
            other => other,
        };
        moved.push(to, event)?;
        if attributed {
            for value in events.attributes(index) {
                moved.push_attribute(value);
            }
        }
    }
    Ok(moved)
}

/// Returns the times of all events by location.
pub(super) fn times(trace: &Trace) -> Vec<Vec<Ticks>> {
    let all = (0..trace.events().len()).filter_map(LocationId::from_index);
    all.map(|id| trace.events()[id.index()].times().to_vec())
        .collect()
}
