//! [`Timelines`]: call path or wait state of each location over time, and sums of its time within
//! intervals; [`TimelineReader`]: makes them from a trace.

use crate::activity::{Activities, work};
use crate::call_path_finder::CallPathFinder;
use crate::search::up_to;
use crate::slots::Slots;
use crate::waits::WaitState;
use crate::{Error, Result};
use perf_core::{
    CallPathId, Close, Job, LocationId, LocationKind, LocationView, RegionId, Ticks, TraceView,
    Unify, Visitor, parallel, replay,
};

/// Time of one location as intervals of one call path each.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    /// Begins of the intervals, ascending; each ends where the next one begins.
    starts: Vec<Ticks>,
    /// Slot of each interval.
    slots: Slots,
    /// Sums of all slots before every block of intervals, one block after the other.
    sums: Vec<u64>,
    /// Intervals of a block.
    block: usize,
}

/// Reader of the timelines of single locations.
///
/// Times are sums by slot: one for each call path, one for time outside of all frames and one for waiting.
#[derive(Debug)]
pub(crate) struct TimelineReader<'a> {
    view: TraceView<'a>,
    activities: &'a Activities,
    /// Representative of each region: regions of one function share it.
    functions: Vec<RegionId>,
}

/// The call path each location with MPI calls is on, exclusive of the frames below it.
#[derive(Debug)]
pub(crate) struct Timelines {
    locations: Vec<Timeline>,
    /// Number of call paths.
    paths: u32,
}

/// Visitor that sums the exclusive time of one location in each call path.
struct PathTimes<'a> {
    activities: &'a Activities,
    functions: &'a [RegionId],
    finder: CallPathFinder,
    stack: Vec<CallPathId>,
    last: Ticks,
    times: Vec<u64>,
}

impl PathTimes<'_> {
    /// Adds the time since the last change to the innermost frame.
    fn change(&mut self, at: Ticks) {
        let path = self.stack.last();
        if let Some(time) = path.and_then(|path| self.times.get_mut(path.index())) {
            *time += at.saturating_since(self.last);
        }
        self.last = at;
    }
}

impl Visitor for PathTimes<'_> {
    fn enter(&mut self, at: Ticks, region: RegionId, _: usize) {
        self.change(at);
        let function = self.functions.get(region.index()).copied();
        let parent = self.stack.last().copied();
        let paths = self.activities.paths();
        let function = function.unwrap_or(region);
        let path = self.finder.find(paths, parent, function);
        // The activities have made all call paths of the view.
        self.stack.push(path.unwrap_or(CallPathId(u32::MAX)));
    }

    fn leave(&mut self, at: Ticks, _: RegionId, _: usize, _: Close) {
        self.change(at);
        self.stack.pop();
    }
}

/// Visitor that collects the intervals of one location.
struct Intervals<'a> {
    activities: &'a Activities,
    functions: &'a [RegionId],
    finder: CallPathFinder,
    outside: u32,
    stack: Vec<u32>,
    timeline: Timeline,
}

/// Passes the frames of a thread, or the work of a stream, to a visitor.
fn visit(
    location: LocationView<'_>,
    activities: &Activities,
    visitor: &mut impl Visitor,
    job: &Job,
) -> Result<()> {
    let system = &activities.definitions().system;
    let kind = system.location(location.id()).map(|it| it.kind);
    if kind != Some(LocationKind::AcceleratorStream) {
        replay(location, visitor, job)?;
        return Ok(());
    }
    for work in work(location, job)? {
        visitor.enter(work.start, work.region, 0);
        visitor.leave(work.end, work.region, 0, Close::Top);
    }
    Ok(())
}

impl Intervals<'_> {
    fn change(&mut self, at: Ticks) {
        let slot = self.stack.last().copied().unwrap_or(self.outside);
        if self.timeline.starts.last() == Some(&at) {
            self.timeline.slots.set_last(slot);
        } else {
            self.timeline.starts.push(at);
            self.timeline.slots.push(slot);
        }
    }
}

impl Visitor for Intervals<'_> {
    fn enter(&mut self, at: Ticks, region: RegionId, _: usize) {
        let parent = self.stack.last().map(|path| CallPathId(*path));
        let function = self
            .functions
            .get(region.index())
            .copied()
            .unwrap_or(region);
        // The activities have made all call paths of the view.
        let paths = self.activities.paths();
        let path = self.finder.find(paths, parent, function);
        self.stack.push(path.map_or(self.outside, |path| path.0));
        self.change(at);
    }

    fn leave(&mut self, at: Ticks, _: RegionId, _: usize, _: Close) {
        self.stack.pop();
        self.change(at);
    }
}

impl<'a> TimelineReader<'a> {
    /// Creates a reader of the frames of a view.
    pub(crate) fn new(view: TraceView<'a>, activities: &'a Activities) -> Self {
        let regions = &activities.definitions().regions;
        TimelineReader {
            view,
            activities,
            functions: Unify::default().representatives(regions),
        }
    }

    /// Returns the number of call paths, whose slots come first.
    pub(crate) fn paths(&self) -> usize {
        self.activities.paths().paths().len()
    }

    /// Returns the number of slots.
    pub(crate) fn width(&self) -> usize {
        self.paths() + 2
    }

    /// Returns the exclusive time of a location in each call path, 0 without calls.
    pub(crate) fn path_times(&self, id: LocationId, job: &Job) -> Result<Vec<u64>> {
        let mut sums = PathTimes {
            activities: self.activities,
            functions: &self.functions,
            finder: CallPathFinder::new(),
            stack: Vec::new(),
            last: Ticks(0),
            times: vec![0; self.paths()],
        };
        let own = self.activities.locations().get(id.index());
        let has_calls = own.is_some_and(|own| !own.calls.is_empty());
        if let Some(location) = self.view.location(id).filter(|_| has_calls) {
            visit(location, self.activities, &mut sums, job)?;
        }
        Ok(sums.times)
    }

    /// Returns the timeline of a location, which is outside of all frames if the location has no calls. Time within the
    /// wait states is waiting.
    ///
    /// `waits` are those of all locations in order of location and time and do not overlap on a location.
    pub(crate) fn read(&self, id: LocationId, waits: &[&WaitState], job: &Job) -> Result<Timeline> {
        let outside = self.paths() as u32;
        let mut timeline = Timeline {
            starts: vec![Ticks(0)],
            slots: Slots::below(self.width()),
            sums: Vec::new(),
            block: (4 * self.width()).max(1024),
        };
        timeline.slots.push(outside);
        let own = self.activities.locations().get(id.index());
        let Some(location) = self
            .view
            .location(id)
            .filter(|_| own.is_some_and(|own| !own.calls.is_empty()))
        else {
            return Ok(timeline);
        };
        let mut intervals = Intervals {
            activities: self.activities,
            functions: &self.functions,
            finder: CallPathFinder::new(),
            outside,
            stack: Vec::new(),
            timeline,
        };
        visit(location, self.activities, &mut intervals, job)?;
        let from = waits.partition_point(|wait| wait.call.location < id);
        let to = waits.partition_point(|wait| wait.call.location <= id);
        let waits = &waits[from..to];
        timeline = intervals.timeline.with_waits(waits, self.width(), job)?;
        timeline.sum(self.width(), job)?;
        Ok(timeline)
    }
}

impl Timelines {
    /// Collects the intervals of all locations with MPI calls; see [`TimelineReader::read`].
    pub(crate) fn of(
        view: TraceView<'_>,
        activities: &Activities,
        waits: &[&WaitState],
        job: &Job,
    ) -> Result<Self> {
        let reader = TimelineReader::new(view, activities);
        let total = activities.locations().len();
        let locations = parallel::try_map(total, |number| {
            job.check()?;
            let id = LocationId::from_index(number);
            let timeline = id.map(|id| reader.read(id, waits, job)).transpose()?;
            let mut timeline = timeline.unwrap_or_default();
            timeline.starts.shrink_to_fit();
            timeline.slots.shrink_to_fit();
            job.advance("timelines", 1, total as u64);
            Ok::<_, Error>(timeline)
        })?;
        Ok(Timelines {
            locations,
            paths: reader.paths() as u32,
        })
    }

    /// Number of slots.
    pub(crate) fn width(&self) -> usize {
        self.paths as usize + 2
    }

    /// Number of call paths, whose slots come first.
    pub(crate) fn paths(&self) -> usize {
        self.paths as usize
    }

    /// Call path of a slot.
    pub(crate) fn path(&self, slot: usize) -> Option<CallPathId> {
        CallPathId::from_index(slot).filter(|path| path.0 < self.paths)
    }

    /// Adds the time of a location between two times to the slots of `sums`.
    pub(crate) fn add(&self, location: LocationId, from: Ticks, to: Ticks, sums: &mut [u64]) {
        if let Some(timeline) = self.locations.get(location.index()) {
            timeline.add(from, to, sums);
        }
    }
}

impl Timeline {
    /// Returns the intervals with those of waiting laid over them.
    ///
    /// The last one of `width` slots is that of waiting.
    fn with_waits(self, waits: &[&WaitState], width: usize, job: &Job) -> Result<Self> {
        if waits.is_empty() {
            return Ok(self);
        }
        let mut laid = Timeline {
            block: self.block,
            slots: Slots::below(width),
            ..Timeline::default()
        };
        let waiting = width as u32 - 1;
        let mut push = |at: Ticks, slot: u32| {
            laid.starts.push(at);
            laid.slots.push(slot);
        };
        let mut waits = waits
            .iter()
            .map(|wait| (wait.start, Ticks(wait.start.0.saturating_add(wait.ticks))));
        let mut next = waits.next();
        let mut checks = job.checks();
        let ends = self.starts.iter().skip(1).copied().chain([Ticks(u64::MAX)]);
        let starts = self.starts.iter().copied().zip(ends);
        for (place, (start, end)) in starts.enumerate() {
            checks.next(1)?;
            let slot = self.slots.get(place).unwrap_or_default() as u32;
            let mut at = start;
            while let Some((from, to)) = next.filter(|(from, _)| *from < end) {
                if from > at {
                    push(at, slot);
                }
                push(from.max(at), waiting);
                at = to.min(end).max(at);
                if to > end {
                    break;
                }
                next = waits.next();
            }
            if at < end {
                push(at, slot);
            }
        }
        Ok(laid)
    }

    /// Sums the slots before each block.
    fn sum(&mut self, width: usize, job: &Job) -> Result<()> {
        let mut checks = job.checks();
        let mut sums = vec![0_u64; width];
        for place in 0..self.slots.len() {
            checks.next(1)?;
            if place % self.block == 0 {
                self.sums.extend_from_slice(&sums);
            }
            let start = self.starts[place];
            // The last interval is open.
            let end = self.starts.get(place + 1).copied().unwrap_or(start);
            let slot = self.slots.get(place).and_then(|slot| sums.get_mut(slot));
            if let Some(sum) = slot {
                *sum += end.saturating_since(start);
            }
        }
        Ok(())
    }

    /// Adds the time between two times to the slots of `sums`.
    pub(crate) fn add(&self, from: Ticks, to: Ticks, sums: &mut [u64]) {
        let (width, block) = (sums.len(), self.block.max(1));
        let first = self.after(from).saturating_sub(1);
        let end = self.first_at(first, to);
        // Whole blocks inside of the interval, by their sums. The last interval may end after `to`.
        let blocks = first.div_ceil(block) + 1..end.saturating_sub(1) / block;
        if blocks.end > blocks.start {
            let before = |block: usize| self.sums.get(block * width..(block + 1) * width);
            if let (Some(before), Some(after)) = (before(blocks.start), before(blocks.end)) {
                for ((sum, before), after) in sums.iter_mut().zip(before).zip(after) {
                    *sum += after - before;
                }
                self.add_each(first..blocks.start * block, from, to, sums);
                self.add_each(blocks.end * block..end, from, to, sums);
                return;
            }
        }
        self.add_each(first..end, from, to, sums);
    }

    /// Returns the place of the first interval that begins after a time.
    fn after(&self, time: Ticks) -> usize {
        // The first interval is the time before the first event.
        match self.starts.split_first() {
            Some((first, rest)) if *first <= time => 1 + up_to(rest, |start| start.0, time.0),
            _ => 0,
        }
    }

    /// Returns the place of the first interval that does not begin before a time. The interval at `from` begins earlier,
    /// and the search takes logarithmic time in the distance from it.
    fn first_at(&self, from: usize, time: Ticks) -> usize {
        let rest = &self.starts[from.min(self.starts.len())..];
        let mut most = 16;
        while rest.get(most).is_some_and(|start| *start < time) {
            most *= 4;
        }
        // The rest may be shorter.
        let near = rest.get(..most).unwrap_or(rest);
        from + near.partition_point(|start| *start < time)
    }

    /// Returns the time within each of these intervals that is in slots for which `inside` is `true`. Intervals in order
    /// of time take time in proportion to the timeline.
    pub(crate) fn times_in(
        &self,
        inside: &[bool],
        intervals: impl Iterator<Item = (Ticks, Ticks)>,
    ) -> impl Iterator<Item = u64> {
        // Place of the last interval that begins at or before the current one.
        let mut first = 0;
        intervals.map(move |(from, to)| {
            if self.starts.get(first).is_some_and(|start| *start > from) {
                first = self.starts.partition_point(|start| *start <= from);
                first = first.saturating_sub(1);
            }
            while self
                .starts
                .get(first + 1)
                .is_some_and(|start| *start <= from)
            {
                first += 1;
            }
            let mut sum = 0;
            let begin = self.starts.first().copied().unwrap_or_default();
            let (mut place, mut start) = (first, from.max(begin));
            while start < to {
                // The last interval is open.
                let next = self.starts.get(place + 1).copied().unwrap_or(to).min(to);
                let slot = self.slots.get(place);
                if slot.and_then(|slot| inside.get(slot)) == Some(&true) {
                    sum += next.saturating_since(start);
                }
                (place, start) = (place + 1, next);
            }
            sum
        })
    }

    fn add_each(&self, places: std::ops::Range<usize>, from: Ticks, to: Ticks, sums: &mut [u64]) {
        for place in places {
            let (Some(start), Some(slot)) = (self.starts.get(place), self.slots.get(place)) else {
                continue;
            };
            // The last interval is open.
            let end = self.starts.get(place + 1).copied().unwrap_or(to);
            if let Some(sum) = sums.get_mut(slot) {
                *sum += end.min(to).saturating_since((*start).max(from));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sums_by_blocks_are_those_of_the_intervals(
            lengths in prop::collection::vec((0u64..9, 0u32..4), 1..200),
            from in 0u64..900,
            length in 0u64..900,
            block in 1usize..20,
        ) {
            let mut timeline = Timeline::default();
            let mut at = 5;
            for (length, slot) in lengths {
                timeline.starts.push(Ticks(at));
                timeline.slots.push(slot);
                at += length;
            }
            timeline.block = block;
            timeline.sum(4, &Job::default()).unwrap();
            let (from, to) = (Ticks(from), Ticks(from + length));
            for time in [Ticks(0), from, to, Ticks(4), Ticks(5), Ticks(u64::MAX)] {
                let naive = timeline.starts.partition_point(|start| *start <= time);
                prop_assert_eq!(timeline.after(time), naive);
            }
            let (mut fast, mut naive) = ([0; 4], [0; 4]);
            timeline.add(from, to, &mut fast);
            timeline.add_each(0..timeline.starts.len(), from, to, &mut naive);
            prop_assert_eq!(fast, naive);
            let inside = [true, false, true];
            let halves = [(from, to), (Ticks(0), from), (Ticks(0), Ticks(2_000))];
            let found: Vec<u64> = timeline.times_in(&inside, halves.into_iter()).collect();
            for ((from, to), found) in halves.into_iter().zip(found) {
                let mut naive = [0; 4];
                timeline.add_each(0..timeline.starts.len(), from, to, &mut naive);
                prop_assert_eq!(found, naive[0] + naive[2]);
            }
        }
    }
}
