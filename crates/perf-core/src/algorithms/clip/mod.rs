//! [`clip()`]: the part of a trace within a window of time, as a trace, with the numbers of calls
//! and communication that its edges cut ([`Clipped`]).

mod requests;
mod state_before;

use super::messages::{Endpoint, Messages, Unmatched, UnmatchedCause, match_messages};
use crate::{
    Event, EventId, Events, Job, Link, LocationView, Paradigm, RegionId, Result, Ticks, TimeRange,
    Trace, parallel,
};
use requests::Requests;
use state_before::{OpenCalls, State};
use std::collections::HashSet;
use std::ops::Range;

/// Result of [`clip()`].
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Clipped {
    /// Part of the trace within the window, with the same definitions.
    pub trace: Trace,
    /// Number of calls that were open at the start or the end of the window, and are shorter now.
    pub calls: u64,
    /// Number of messages with an end outside of the window. It was moved to the edge.
    pub messages: u64,
    /// Number of collective operations with an end outside of the window. It was moved to the edge.
    pub collectives: u64,
    /// Number of remote accesses with an end outside of the window. It was moved to the edge.
    pub accesses: u64,
}

/// Clips a trace to a window of time. The part is a trace that can be analysed
/// and written like any other.
///
/// * Calls that are open at the start of the window begin there, and calls that are open at its end
///   end there, so that the time of each function is its time within the window. A call that ends
///   at the start of the window is left out.
/// * A message, collective operation or remote access takes part if one of its ends lies in the
///   window, or in an MPI call that is open at an edge. Its other ends are moved to the edge, in a
///   call without length where their call lies outside. Waiting times are therefore those within
///   the window: a rank waits for a later barrier until the end of the window.
/// * Values that hold until the next sample ([`MetricMode::Absolute`](crate::MetricMode::Absolute)), and recording that is
///   switched off, are repeated at the start of the window.
/// * Other events and links remain if they lie in the window.
///
/// The window may be larger than the trace. Calls that the recording itself never ends remain open.
///
/// Takes the time of [`match_messages`] and two passes over the events.
///
/// ```
/// use perf_core::{Definitions, Event, Events, Job, Location, RegionId, SystemTree, Ticks, TimeRange, Trace, clip};
/// let mut definitions = Definitions::default();
/// definitions.system = SystemTree::new(vec![], vec![], vec![Location::default()], &Default::default())?;
/// let mut events = Events::default();
/// events.push(Ticks(0), Event::Enter { region: RegionId(0) })?;
/// events.push(Ticks(90), Event::Leave { region: RegionId(0) })?;
/// let trace = Trace::new(definitions, vec![events])?;
/// let window = TimeRange::new(Ticks(20), Ticks(50)).expect("ordered");
/// let part = clip(&trace, window, &Job::default())?;
/// assert_eq!(part.trace.events()[0].times(), [Ticks(20), Ticks(50)]);
/// assert_eq!(part.calls, 1);
/// # Ok::<(), perf_core::Error>(())
/// ```
///
/// # Errors
/// Returns [`Error::Cancelled`](crate::Error::Cancelled) if the job is cancelled.
pub fn clip(trace: &Trace, window: TimeRange, job: &Job) -> Result<Clipped> {
    let locations: Vec<LocationView<'_>> = trace.view().between(window).locations().collect();
    let total = locations.len() as u64;
    let edges = parallel::try_map(locations.len(), |number| {
        Edges::of(locations[number], trace, job)
    })?;
    let found = match_messages(trace.view(), job)?;
    let mut part = Clipped::default();
    let moved = part.crossing(&edges, &found);
    let never_ends = |it: &&Unmatched| it.cause == UnmatchedCause::NoCompletion;
    let unfinished = found.unmatched.iter().filter(never_ends);
    let unfinished: HashSet<_> = unfinished
        .map(|it| (it.end.location, it.end.index))
        .collect();
    let parts = parallel::try_map(locations.len(), |number| {
        let (location, edges) = (locations[number], &edges[number]);
        let is_unfinished = |index| unfinished.contains(&(location.id(), index));
        let requests = Requests::of(location, edges, &moved[number], &is_unfinished, job)?;
        let part = Part::of(location, edges, &requests, trace, job);
        job.advance("clip", 1, total);
        part
    })?;
    part.calls = parts.iter().map(|part| part.calls).sum();
    let place = |id: EventId| {
        let location = id.location.index();
        let number = (id.index as usize).checked_sub(edges[location].inside.start)?;
        let index = (*parts[location].places.get(number)?)?;
        Some(EventId { index, ..id })
    };
    let links = trace.links().iter().filter_map(|link| {
        let (from, to) = (place(link.from)?, place(link.to)?);
        Some(Link { from, to, ..*link })
    });
    let links = links.collect();
    let events = parts.into_iter().map(|part| part.events).collect();
    part.trace = Trace::new(trace.definitions().clone(), events)?.with_links(links)?;
    Ok(part)
}

impl Clipped {
    /// Counts the communication that takes part and has ends outside of the window, and returns the indices of these
    /// ends for each location, in order.
    fn crossing(&mut self, edges: &[Edges], found: &Messages) -> Vec<Vec<usize>> {
        let mut moved = vec![Vec::new(); edges.len()];
        let takes_part = |end: &Endpoint| {
            let edges = &edges[end.location.index()];
            edges.reach.contains(&end.index) || edges.inside.contains(&end.index)
        };
        let mut count = |ends: &[Endpoint]| {
            let is_outside =
                |end: &&Endpoint| !edges[end.location.index()].inside.contains(&end.index);
            let mut outside = ends.iter().filter(is_outside).peekable();
            if outside.peek().is_none() || !ends.iter().any(takes_part) {
                return 0;
            }
            for end in outside {
                moved[end.location.index()].push(end.index);
            }
            1
        };
        for it in &found.messages {
            self.messages += count(&[it.sender, it.receiver]);
        }
        for it in &found.collectives {
            let ends = it.members.iter().flat_map(|it| [it.begin, it.end]);
            self.collectives += count(&ends.collect::<Vec<_>>());
        }
        for it in &found.accesses {
            self.accesses += count(&[it.start, it.end]);
        }
        for indices in &mut moved {
            indices.sort_unstable();
        }
        moved
    }
}

/// Edges of the window on a location.
struct Edges {
    /// Indices of the events in the window, without those at its start that belong to calls which end there.
    inside: Range<usize>,
    /// Indices of the events in the window and in the MPI calls that are open at its edges.
    reach: Range<usize>,
    /// State before the window.
    before: State,
    /// `true` if regions overlap instead of nesting.
    overlaps: bool,
}

impl Edges {
    fn of(location: LocationView<'_>, trace: &Trace, job: &Job) -> Result<Self> {
        let (all, range) = (location.all(), location.range());
        let overlaps = location.overlaps(trace.definitions(), job)?;
        let mut checks = job.checks();
        let mut state = State::new(overlaps);
        let first = after_ends(location);
        for piece in checks.pieces(0..first) {
            for index in piece? {
                state.event(all, index, trace);
            }
        }
        let is_mpi = |(region, _): &(RegionId, usize)| {
            let region = trace.definitions().regions.get(region.index());
            region.is_some_and(|region| region.paradigm == Paradigm::Mpi)
        };
        let open = state.open.innermost().filter(is_mpi);
        let from = open.map_or(first, |(_, enter)| enter);
        let mut last = state.open.clone();
        for piece in checks.pieces(first..range.end) {
            for index in piece? {
                last.event(index, all, |_, _| ());
            }
        }
        let mut to = range.end;
        if let Some((_, call)) = last.innermost().filter(is_mpi) {
            let mut is_open = true;
            while is_open && to < all.len() {
                checks.next(1)?;
                last.event(to, all, |_, enter| is_open &= enter != call);
                to += 1;
            }
        }
        Ok(Edges {
            inside: first..range.end,
            reach: from..to,
            before: state,
            overlaps,
        })
    }
}

/// Returns the index of the first event in the window of a location after the ends of calls that take no time in it,
/// because they end at its start.
fn after_ends(location: LocationView<'_>) -> usize {
    let (all, range) = (location.all(), location.range());
    let (mut first, mut begun) = (range.start, 0_usize);
    for index in range {
        if all.time(index) != Some(location.window().start) {
            break;
        }
        match all.event(index) {
            Some(Event::Enter { .. }) => begun += 1,
            Some(Event::Leave { .. }) if begun > 0 => begun -= 1,
            Some(Event::Leave { .. }) => first = index + 1,
            _ => {}
        }
    }
    first
}

/// Part of a location within the window.
#[derive(Default)]
struct Part {
    /// Events.
    events: Events,
    /// Number of calls that were open at an edge of the window.
    calls: u64,
    /// Position of each event of the window in `events`, `None` if it is left out. Empty if the trace has no links.
    places: Vec<Option<u32>>,
}

impl Part {
    fn of(
        location: LocationView<'_>,
        edges: &Edges,
        requests: &Requests,
        trace: &Trace,
        job: &Job,
    ) -> Result<Self> {
        let (all, window) = (location.all(), location.window());
        let mut part = Part::default();
        if all.is_absent() {
            part.events = Events::absent();
            return Ok(part);
        }
        if edges.inside.start == all.len() && requests.early.is_empty() {
            return Ok(part);
        }
        let mut checks = job.checks();
        part.begin(edges, requests, all, window.start)?;
        let mut open = edges.before.open.clone();
        for index in edges.inside.clone() {
            checks.next(1)?;
            let (Some(at), Some(event)) = (all.time(index), all.event(index)) else {
                continue;
            };
            let is_kept = !requests.dropped.contains(&index);
            if is_kept {
                part.copy(all, index, at, event)?;
            }
            open.event(index, all, |_, _| ());
            if !trace.links().is_empty() {
                let last = part.events.len().wrapping_sub(1) as u32;
                part.places.push(is_kept.then_some(last));
            }
        }
        part.end(edges, requests, all, (window.end, open))?;
        Ok(part)
    }

    /// Adds the state before the window, and communication that is moved to its start, in the order of the recording.
    fn begin(
        &mut self,
        edges: &Edges,
        requests: &Requests,
        all: &Events,
        start: Ticks,
    ) -> Result<()> {
        let mut enters: HashSet<usize> = HashSet::new();
        let mut items: Vec<(usize, Option<(RegionId, usize)>)> = Vec::new();
        for (region, enter) in edges.before.open.iter() {
            enters.insert(enter);
            items.push((enter, Some((region, enter))));
            self.calls += 1;
        }
        // A second replay finds the calls of the events that are moved.
        if let Some(last) = requests.early.last() {
            let mut early = requests.early.iter().copied().peekable();
            let mut open = OpenCalls::new(edges.overlaps);
            for index in 0..=*last {
                if early.next_if_eq(&index).is_some() {
                    items.push((index, open.innermost()));
                }
                open.event(index, all, |_, _| ());
            }
        }
        items.sort_by_key(|(index, _)| *index);
        let mut around = None;
        for (index, call) in items {
            let own = call.filter(|(_, enter)| !enters.contains(enter));
            self.change_call(&mut around, own, start)?;
            match (call, all.event(index)) {
                (Some((region, enter)), _) if enter == index => {
                    self.copy(all, index, start, Event::Enter { region })?;
                }
                (_, Some(event)) => self.copy(all, index, start, event)?,
                (_, None) => {}
            }
        }
        self.change_call(&mut around, None, start)?;
        let state = &edges.before;
        if state.is_off {
            self.events.push(start, Event::Measuring { on: false })?;
        }
        if let Some(until) = state.flush.filter(|until| *until > start) {
            self.events.push(start, Event::Flush { until })?;
        }
        for index in state.samples.values() {
            if let Some(event) = all.event(*index) {
                self.copy(all, *index, start, event)?;
            }
        }
        Ok(())
    }

    /// Adds communication that is moved to the end of the window, and ends the open calls.
    fn end(
        &mut self,
        edges: &Edges,
        requests: &Requests,
        all: &Events,
        (at, mut open): (Ticks, OpenCalls),
    ) -> Result<()> {
        let end = edges.inside.end;
        let mut around = None;
        let mut late = requests.late.iter().copied().peekable();
        let mut index = end;
        while let Some(next) = late.peek() {
            if index == *next {
                late.next();
                let own = open.innermost().filter(|(_, enter)| *enter >= end);
                self.change_call(&mut around, own, at)?;
                if let Some(event) = all.event(index) {
                    self.copy(all, index, at, event)?;
                }
            }
            let mut closed = Vec::new();
            open.event(index, all, |region, enter| {
                if enter < end {
                    closed.push((region, enter));
                }
            });
            if !closed.is_empty() {
                self.change_call(&mut around, None, at)?;
            }
            for call in closed {
                self.leave(call, edges, at)?;
            }
            index += 1;
        }
        self.change_call(&mut around, None, at)?;
        // Without an event after the window, the recording never ends the open calls.
        if end < all.len() {
            let rest: Vec<_> = open.iter().filter(|(_, enter)| *enter < end).collect();
            for call in rest.into_iter().rev() {
                self.leave(call, edges, at)?;
            }
        }
        Ok(())
    }

    /// Ends a call at the end of the window.
    fn leave(
        &mut self,
        (region, enter): (RegionId, usize),
        edges: &Edges,
        at: Ticks,
    ) -> Result<()> {
        self.events.push(at, Event::Leave { region })?;
        // Calls that were open at the start are already counted.
        self.calls += u64::from(enter >= edges.inside.start);
        Ok(())
    }

    /// Leaves the call without length around moved events, and enters the next one.
    fn change_call(
        &mut self,
        around: &mut Option<(RegionId, usize)>,
        next: Option<(RegionId, usize)>,
        at: Ticks,
    ) -> Result<()> {
        if *around == next {
            return Ok(());
        }
        if let Some((region, _)) = around.take() {
            self.events.push(at, Event::Leave { region })?;
        }
        if let Some((region, _)) = next {
            self.events.push(at, Event::Enter { region })?;
        }
        *around = next;
        Ok(())
    }

    /// Adds an event with the attributes of event `index` of the location.
    fn copy(&mut self, all: &Events, index: usize, at: Ticks, event: Event<'_>) -> Result<()> {
        self.events.push(at, event)?;
        for value in all.attributes(index) {
            self.events.push_attribute(value);
        }
        Ok(())
    }
}
