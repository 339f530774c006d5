//! [`cut()`]: the part of a trace within a window of time, as a trace.

use super::messages::{Endpoint, Messages, match_messages};
use crate::{
    Event, EventId, Events, FrameStack, Job, Link, LocationView, MetricMode, MetricSetId,
    OpenIntervals, RegionId, Result, Ticks, TimeRange, Trace, TraceView, parallel,
};
use std::collections::{BTreeMap, HashMap};

/// Result of [`cut()`].
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Cut {
    /// Part of the trace within the window, with the same definitions.
    pub trace: Trace,
    /// Number of calls that were open at the start or the end of the window, and are shorter now.
    pub calls: u64,
    /// Number of messages that cross an edge of the window. They are left out.
    pub messages: u64,
    /// Number of collective operations that cross an edge of the window. They are left out.
    pub collectives: u64,
    /// Number of remote accesses that cross an edge of the window. They are left out.
    pub accesses: u64,
}

/// Cuts the part within a window of time out of a trace. The part is a trace that can be analysed
/// and written like any other.
///
/// * Calls that are open at the start of the window begin there, and calls that are open at its end
///   end there, so that the time of each function is its time within the window. A call that ends
///   at the start of the window is left out.
/// * Messages, collective operations and remote accesses remain if they lie in the window with all
///   their ends. The others are left out at all locations and counted, because half of them would
///   look like a defect of the recording.
/// * Values that hold until the next sample ([`MetricMode::Absolute`]), and recording that is
///   switched off, are repeated at the start of the window.
/// * Other events and links remain if they lie in the window.
///
/// The window may be larger than the trace. Calls that the recording itself never ends remain open.
///
/// Takes the time of [`match_messages`] and a pass over the events up to the end of the window.
///
/// ```
/// use perf_core::{Definitions, Event, Events, Job, Location, RegionId, SystemTree, Ticks, TimeRange, Trace, cut};
/// let mut definitions = Definitions::default();
/// definitions.system = SystemTree::new(vec![], vec![], vec![Location::default()], &Default::default())?;
/// let mut events = Events::default();
/// events.push(Ticks(0), Event::Enter { region: RegionId(0) })?;
/// events.push(Ticks(90), Event::Leave { region: RegionId(0) })?;
/// let trace = Trace::new(definitions, vec![events])?;
/// let window = TimeRange::new(Ticks(20), Ticks(50)).expect("ordered");
/// let part = cut(&trace, window, &Job::default())?;
/// assert_eq!(part.trace.events()[0].times(), [Ticks(20), Ticks(50)]);
/// assert_eq!(part.calls, 1);
/// # Ok::<(), perf_core::Error>(())
/// ```
///
/// # Errors
/// Returns [`Error::Cancelled`](crate::Error::Cancelled) if the job is cancelled.
pub fn cut(trace: &Trace, window: TimeRange, job: &Job) -> Result<Cut> {
    let view = trace.view().between(window);
    let mut cut = Cut::default();
    let dropped = cut.crossing(view, &match_messages(view, job)?);
    let locations: Vec<LocationView<'_>> = view.locations().collect();
    let total = locations.len() as u64;
    let parts = parallel::try_map(locations.len(), |number| {
        let part = Part::of(locations[number], trace, &dropped[number], job);
        job.advance("cut", 1, total);
        part
    })?;
    cut.calls = parts.iter().map(|part| part.calls).sum();
    let place = |id: EventId| {
        let location = id.location.index();
        let index = (id.index as usize).checked_sub(locations[location].range().start)?;
        let index = (*parts[location].places.get(index)?)?;
        Some(EventId { index, ..id })
    };
    let links = trace.links().iter().filter_map(|link| {
        let (from, to) = (place(link.from)?, place(link.to)?);
        Some(Link { from, to, ..*link })
    });
    let links = links.collect();
    let events = parts.into_iter().map(|part| part.events).collect();
    cut.trace = Trace::new(trace.definitions().clone(), events)?.with_links(links)?;
    Ok(cut)
}

impl Cut {
    /// Counts the communication that crosses an edge of the window, and returns the indices of its events in the
    /// window, in order, for each location.
    fn crossing(&mut self, view: TraceView<'_>, found: &Messages) -> Vec<Vec<usize>> {
        let mut dropped = vec![Vec::new(); view.trace().events().len()];
        let ranges: Vec<_> = view.locations().map(|location| location.range()).collect();
        let is_inside = |end: &Endpoint| ranges[end.location.index()].contains(&end.index);
        let mut crosses = |ends: &mut dyn Iterator<Item = Endpoint>| {
            let (inside, outside): (Vec<_>, Vec<_>) = ends.partition(is_inside);
            if outside.is_empty() {
                return 0;
            }
            for end in inside {
                dropped[end.location.index()].push(end.index);
            }
            1
        };
        for it in &found.messages {
            self.messages += crosses(&mut [it.sender, it.receiver].into_iter());
        }
        for it in &found.collectives {
            let mut ends = it.members.iter().flat_map(|it| [it.begin, it.end]);
            self.collectives += crosses(&mut ends);
        }
        for it in &found.accesses {
            self.accesses += crosses(&mut [it.start, it.end].into_iter());
        }
        for indices in &mut dropped {
            indices.sort_unstable();
        }
        dropped
    }
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
        trace: &Trace,
        crossing: &[usize],
        job: &Job,
    ) -> Result<Self> {
        let (all, range, window) = (location.all(), location.range(), location.window());
        let mut part = Part::default();
        if all.is_absent() {
            part.events = Events::absent();
            return Ok(part);
        }
        let mut checks = job.checks();
        let mut state = State::new(location.overlaps(trace.definitions(), job)?);
        for piece in checks.pieces(0..range.start) {
            for index in piece? {
                state.event(all, index, trace);
            }
        }
        if range.start == all.len() {
            return Ok(part);
        }
        let mut dropped = incomplete_requests(location, crossing);
        dropped.extend_from_slice(crossing);
        dropped.sort_unstable();
        let mut dropped = dropped.into_iter().peekable();
        let has_links = !trace.links().is_empty();
        let mut has_begun = false;
        for index in range.clone() {
            checks.next(1)?;
            let (Some(at), Some(event)) = (all.time(index), all.event(index)) else {
                continue;
            };
            // A call that ends at the start of the window takes no time in it.
            let ends_at_start = !has_begun
                && at == window.start
                && matches!(event, Event::Leave { .. })
                && state.open.iter().next().is_some();
            let is_kept = dropped.next_if_eq(&index).is_none() && !ends_at_start;
            if is_kept {
                if !has_begun {
                    part.begin(&state, all, window.start)?;
                    has_begun = true;
                }
                part.copy(all, index, at, event)?;
            }
            state.open.event(index, event);
            if has_links {
                let last = part.events.len().wrapping_sub(1) as u32;
                part.places.push(is_kept.then_some(last));
            }
        }
        if !has_begun {
            part.begin(&state, all, window.start)?;
        }
        // Without an event after the window, the recording never ends the open calls.
        if range.end < all.len() {
            for (region, enter) in state.open.iter().rev() {
                part.events.push(window.end, Event::Leave { region })?;
                // Calls that were open at the start are already counted.
                part.calls += u64::from(enter >= range.start);
            }
        }
        Ok(part)
    }

    /// Adds the state before the window as events at its start.
    fn begin(&mut self, state: &State, all: &Events, start: Ticks) -> Result<()> {
        for (region, enter) in state.open.iter() {
            self.copy(all, enter, start, Event::Enter { region })?;
            self.calls += 1;
        }
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

    /// Adds an event with the attributes of event `index` of the location.
    fn copy(&mut self, all: &Events, index: usize, at: Ticks, event: Event<'_>) -> Result<()> {
        self.events.push(at, event)?;
        for value in all.attributes(index) {
            self.events.push_attribute(value);
        }
        Ok(())
    }
}

/// State of a location at a point in time.
struct State {
    /// Open calls.
    open: OpenCalls,
    /// `true` if recording is switched off.
    is_off: bool,
    /// End of the last flush of a buffer.
    flush: Option<Ticks>,
    /// Index of the last sample of each set whose values hold until the next sample.
    samples: BTreeMap<MetricSetId, usize>,
}

impl State {
    fn new(overlaps: bool) -> Self {
        State {
            open: match overlaps {
                true => OpenCalls::Overlapping(OpenIntervals::default()),
                false => OpenCalls::Nested(FrameStack::default(), Vec::new()),
            },
            is_off: false,
            flush: None,
            samples: BTreeMap::new(),
        }
    }

    /// Processes event `index` of the location.
    fn event(&mut self, all: &Events, index: usize, trace: &Trace) {
        let Some(event) = all.event(index) else {
            return;
        };
        match event {
            Event::Measuring { on } => self.is_off = !on,
            Event::Flush { until } => self.flush = Some(until),
            Event::Metric { set, .. } if holds_its_values(trace, set) => {
                self.samples.insert(set, index);
            }
            other => self.open.event(index, other),
        }
    }
}

/// Returns `true` if all values of a set of metrics hold until the next sample.
fn holds_its_values(trace: &Trace, set: MetricSetId) -> bool {
    let definitions = trace.definitions();
    let members = definitions.metric_sets.get(set.index());
    let mut members = members.iter().flat_map(|set| &set.members);
    members.all(|id| {
        let metric = definitions.metrics.get(id.index());
        metric.is_some_and(|metric| metric.mode == MetricMode::Absolute)
    })
}

/// Open calls of a location, with the index of the enter event of each.
enum OpenCalls {
    /// Calls that nest.
    Nested(FrameStack, Vec<usize>),
    /// Calls that overlap.
    Overlapping(OpenIntervals<usize>),
}

impl OpenCalls {
    /// Processes event `index` of the location.
    fn event(&mut self, index: usize, event: Event<'_>) {
        match (self, event) {
            (OpenCalls::Nested(stack, enters), Event::Enter { region }) => {
                stack.enter(region);
                enters.push(index);
            }
            (OpenCalls::Nested(stack, enters), Event::Leave { region }) => {
                stack.leave(region, |_, depth, _| enters.truncate(depth));
            }
            (OpenCalls::Overlapping(open), Event::Enter { region }) => open.enter(region, index),
            (OpenCalls::Overlapping(open), Event::Leave { region }) => drop(open.leave(region)),
            _ => {}
        }
    }

    /// Returns the region and the index of the enter event of each call, in the order in which they were entered.
    fn iter(&self) -> Box<dyn DoubleEndedIterator<Item = (RegionId, usize)> + '_> {
        match self {
            OpenCalls::Nested(stack, enters) => {
                let frames = stack.frames().iter().copied();
                Box::new(frames.zip(enters.iter().copied()))
            }
            OpenCalls::Overlapping(open) => {
                Box::new(open.iter().map(|(region, index)| (region, *index)))
            }
        }
    }
}

/// Returns the indices of the events of requests that the window does not contain from start to end: posts of receives
/// without their receive, and completions and tests without their start. `crossing` contains the sends and receives
/// that are left out.
fn incomplete_requests(location: LocationView<'_>, crossing: &[usize]) -> Vec<usize> {
    let all = location.all();
    let mut dropped = Vec::new();
    let mut sends: HashMap<u64, usize> = HashMap::new();
    let mut posts: HashMap<u64, usize> = HashMap::new();
    for index in location.range() {
        let is_crossing = || crossing.binary_search(&index).is_ok();
        match all.event(index) {
            Some(Event::Send(transfer)) => {
                if let Some(request) = transfer.request.filter(|_| !is_crossing()) {
                    sends.insert(request, index);
                }
            }
            Some(Event::RecvPost { request }) => {
                dropped.extend(posts.insert(request, index));
            }
            Some(Event::Recv(transfer)) => {
                let post = transfer.request.and_then(|request| posts.remove(&request));
                dropped.extend(post.filter(|_| is_crossing()));
            }
            Some(Event::SendComplete { request }) => {
                if sends.remove(&request).is_none() {
                    dropped.push(index);
                }
            }
            Some(Event::RequestCancelled { request }) => {
                if sends.remove(&request).or(posts.remove(&request)).is_none() {
                    dropped.push(index);
                }
            }
            Some(Event::RequestTest { request }) => {
                if !sends.contains_key(&request) && !posts.contains_key(&request) {
                    dropped.push(index);
                }
            }
            _ => {}
        }
    }
    dropped.extend(posts.into_values());
    dropped
}
