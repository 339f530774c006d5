//! Builds the columns of states of one location from its events, with the classes of a
//! [`StateMap`].

use super::overlap::Overlaps;
use crate::states::class::code;
use crate::states::timelines::{Columns, push};
use crate::{Error, Result, StateMap};
use perf_core::{
    Close, Definitions, Event, Job, LocationView, RegionId, ReplayCounts, Ticks, TimeRange,
    Visitor, intervals, replay,
};

/// Builds the timeline of one location within the window of its view.
///
/// Regions nest unless the location [overlaps](LocationView::overlaps). Zero-length work is kept
/// for accelerator streams.
pub(crate) fn stream<M: StateMap + ?Sized>(
    location: LocationView<'_>,
    definitions: &Definitions,
    map: &M,
    job: &Job,
) -> Result<(Columns, ReplayCounts)> {
    let Some(lifetime) = lifetime(location) else {
        let columns = Columns::absent(location.id());
        return Ok((columns, ReplayCounts::default()));
    };
    let mut walk = Walk::new(map, location.len());
    walk.recall(location, job)?;
    let counts = if location.overlaps(definitions, job)? {
        overlapping(location, &mut walk, lifetime.start, job)?
    } else {
        walk.set(lifetime.start);
        replay(location, &mut walk, job)?
    };
    // Regions that are still open end here, because the location is absent after its lifetime.
    walk.until(lifetime.end);
    walk.transition(lifetime.end, code::ABSENT);
    walk.times.shrink_to_fit();
    walk.codes.shrink_to_fit();
    let defined = definitions.system.location(location.id());
    let instants = if defined.is_some_and(|it| it.kind.may_overlap()) {
        instants(location, &mut walk, job)?
    } else {
        Vec::new()
    };
    if let Some(class) = walk.unknown {
        let count = map.classes().len();
        return Err(Error::UnknownClass { class, count });
    }
    let columns = Columns {
        location: location.id(),
        times: walk.times,
        codes: walk.codes,
        instants,
    };
    Ok((columns, counts))
}

/// Returns the zero-length work of a location in order of time. The state of each piece is the
/// state of its region alone.
fn instants<M: StateMap + ?Sized>(
    location: LocationView<'_>,
    walk: &mut Walk<'_, M>,
    job: &Job,
) -> Result<Vec<(Ticks, u32)>> {
    let all = location.all();
    let times = &all.times()[location.range()];
    if !times.windows(2).any(|pair| pair[0] == pair[1]) {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    intervals(
        location,
        |call| {
            // A call that the window cuts to length 0 is not zero-length work.
            if call.start == call.end
                && call.why == Close::Top
                && all.time(call.enter) == Some(call.start)
            {
                walk.stack.clear();
                walk.stack.push(call.region);
                let code = walk.code();
                if code != code::IDLE {
                    found.push((call.start, code));
                }
            }
        },
        job,
    )?;
    found.sort_by_key(|(at, _)| *at);
    found.shrink_to_fit();
    Ok(found)
}

/// Returns the range from the first to the last event of the location, cut to the window.
pub(crate) fn lifetime(location: LocationView<'_>) -> Option<TimeRange> {
    let times = location.all().times();
    let all = TimeRange::new(*times.first()?, *times.last()?)?;
    all.intersect(location.window())
}

/// Replays a location with overlapping regions, like [`replay`]: each leave closes one open call of
/// its own region.
///
/// All matching leaves count as `top`, because none of them needs a repair.
fn overlapping<M: StateMap + ?Sized>(
    location: LocationView<'_>,
    walk: &mut Walk<'_, M>,
    start: Ticks,
    job: &Job,
) -> Result<ReplayCounts> {
    let (events, range) = (location.all(), location.range());
    let (mut overlaps, mut checks) = (Overlaps::default(), job.checks());
    for index in 0..range.start {
        checks.next(1)?;
        match events.event(index) {
            Some(Event::Enter { region }) => overlaps.enter(&mut walk.stack, region),
            Some(Event::Leave { region }) => overlaps.leave(&mut walk.stack, region),
            _ => {}
        }
    }
    overlaps.counts = ReplayCounts::default();
    walk.set(start);
    for index in range.clone() {
        checks.next(1)?;
        let (Some(at), Some(event)) = (events.time(index), events.event(index)) else {
            continue;
        };
        match event {
            Event::Enter { region } => {
                walk.until(at);
                overlaps.enter(&mut walk.stack, region);
                walk.set(at);
            }
            Event::Leave { region } => {
                walk.until(at);
                overlaps.leave(&mut walk.stack, region);
                walk.set(at);
            }
            other => walk.event(at, other, index),
        }
    }
    if range.end == events.len() {
        overlaps.counts.open_at_end = overlaps.open(&walk.stack);
    }
    Ok(overlaps.counts)
}

struct Walk<'a, M: ?Sized> {
    /// State map that assigns the classes.
    map: &'a M,
    /// Number of classes of the map.
    classes: usize,
    /// Open regions, outermost first; [`Overlaps`] may hold the outer regions.
    stack: Vec<RegionId>,
    /// Times of the transitions so far.
    times: Vec<Ticks>,
    /// State code before the first and after each transition; one entry more than `times`.
    codes: Vec<u32>,
    /// `true` while recording is switched off.
    off: bool,
    /// End of the current flush of the trace buffer.
    flushed: Option<Ticks>,
    /// First invalid class that the map returned.
    unknown: Option<u32>,
}

impl<'a, M: StateMap + ?Sized> Walk<'a, M> {
    fn new(map: &'a M, events: usize) -> Self {
        let mut codes = Vec::with_capacity(events + 2);
        codes.push(code::ABSENT);
        Walk {
            map,
            classes: map.classes().len(),
            stack: Vec::new(),
            times: Vec::with_capacity(events + 1),
            codes,
            off: false,
            flushed: None,
            unknown: None,
        }
    }

    /// Reads the events before the window to determine whether recording is off or a flush is in
    /// progress at its start.
    fn recall(&mut self, location: LocationView<'_>, job: &Job) -> Result<()> {
        let mut checks = job.checks();
        for index in 0..location.range().start {
            checks.next(1)?;
            match location.all().event(index) {
                Some(Event::Measuring { on }) => self.off = !on,
                Some(Event::Flush { until }) => self.flushed = self.flushed.max(Some(until)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Adds a transition to state `code` at `at`.
    #[inline]
    fn transition(&mut self, at: Ticks, code: u32) {
        push(&mut self.times, &mut self.codes, at, code);
    }

    /// Adds a transition to the state that follows from the stack, the recording switch and the
    /// current flush.
    #[inline]
    fn set(&mut self, at: Ticks) {
        let lost = self.off || self.flushed.is_some_and(|until| at < until);
        let code = if lost { code::ABSENT } else { self.code() };
        self.transition(at, code);
    }

    #[inline]
    fn code(&mut self) -> u32 {
        if self.stack.is_empty() {
            return code::IDLE;
        }
        match self.map.class(&self.stack) {
            None => code::IDLE,
            Some(class) if class.index() < self.classes => class.0 + code::FIRST,
            Some(class) => {
                self.unknown.get_or_insert(class.0);
                code::IDLE
            }
        }
    }

    /// Ends a flush that is over at `at`. From the end of the flush, the state follows from the
    /// open regions again.
    #[inline]
    fn until(&mut self, at: Ticks) {
        if let Some(until) = self.flushed
            && until <= at
        {
            self.flushed = None;
            let begun = self.times.last().copied().unwrap_or_default();
            self.set(until.max(begun));
        }
    }
}

impl<M: StateMap + ?Sized> Visitor for Walk<'_, M> {
    #[inline]
    fn enter(&mut self, at: Ticks, region: RegionId, _depth: usize) {
        self.until(at);
        self.stack.push(region);
        self.set(at);
    }

    #[inline]
    fn leave(&mut self, at: Ticks, _region: RegionId, _depth: usize, _why: Close) {
        self.until(at);
        self.stack.pop();
        self.set(at);
    }

    fn event(&mut self, at: Ticks, event: Event<'_>, _index: usize) {
        match event {
            Event::Measuring { on } => {
                self.until(at);
                self.off = !on;
                self.set(at);
            }
            Event::Flush { until } => {
                self.until(at);
                self.flushed = self.flushed.max(Some(until));
                self.set(at);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RegionMap;
    use perf_core::{Events, Location, LocationId, Region, SystemTree, Trace};

    const A: RegionId = RegionId(0);
    const B: RegionId = RegionId(1);

    fn trace(events: &[(u64, Event<'_>)]) -> Trace {
        let mut definitions = Definitions::default();
        definitions.regions = vec![Region::named("a"), Region::named("b")];
        let locations = vec![Location::default()];
        definitions.system =
            SystemTree::new(vec![], vec![], locations, &Default::default()).unwrap();
        let mut column = Events::default();
        for (at, event) in events {
            column.push(Ticks(*at), *event).unwrap();
        }
        Trace::new(definitions, vec![column]).unwrap()
    }

    fn columns(trace: &Trace, window: TimeRange) -> (Vec<u64>, Vec<u32>) {
        let map = RegionMap::by_name(trace.definitions()).unwrap();
        let view = trace.view().between(window);
        let location = view.location(LocationId(0)).unwrap();
        let job = Job::default();
        let (columns, _) = stream(location, trace.definitions(), &map, &job).unwrap();
        (columns.times.iter().map(|at| at.0).collect(), columns.codes)
    }

    fn window(start: u64, end: u64) -> TimeRange {
        TimeRange::new(Ticks(start), Ticks(end)).unwrap()
    }

    #[test]
    fn states_of_no_length_vanish() {
        let trace = trace(&[
            (10, Event::Enter { region: A }),
            (20, Event::Enter { region: B }),
            (20, Event::Leave { region: B }),
            (30, Event::Leave { region: A }),
            (30, Event::Enter { region: B }),
            (40, Event::Leave { region: B }),
        ]);
        let expected = (vec![10, 30, 40], vec![0, 2, 3, 0]);
        assert_eq!(columns(&trace, TimeRange::ALL), expected);
        assert_eq!(
            columns(&trace, window(15, 35)),
            (vec![15, 30, 35], vec![0, 2, 3, 0])
        );
        assert_eq!(columns(&trace, window(50, 60)), (vec![], vec![0]));
    }

    #[test]
    fn what_was_not_recorded_is_absent() {
        let trace = trace(&[
            (10, Event::Enter { region: A }),
            (20, Event::Flush { until: Ticks(25) }),
            (30, Event::Measuring { on: false }),
            (32, Event::Enter { region: B }),
            (40, Event::Measuring { on: true }),
            (50, Event::Leave { region: B }),
            (60, Event::Leave { region: A }),
            (70, Event::CollectiveBegin),
        ]);
        let times = vec![10, 20, 25, 30, 40, 50, 60, 70];
        let expected = (times, vec![0, 2, 0, 2, 0, 3, 2, 1, 0]);
        assert_eq!(columns(&trace, TimeRange::ALL), expected);
        assert_eq!(
            columns(&trace, window(22, 26)),
            (vec![25, 26], vec![0, 2, 0])
        );
        assert_eq!(
            columns(&trace, window(35, 45)),
            (vec![40, 45], vec![0, 3, 0])
        );
    }

    #[test]
    fn a_location_without_events_is_absent() {
        assert_eq!(columns(&trace(&[]), TimeRange::ALL), (vec![], vec![0]));
    }
}
