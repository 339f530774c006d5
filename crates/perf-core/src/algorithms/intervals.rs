//! [`intervals()`]: finds the calls of a location whose regions may overlap, as [`Interval`]s;
//! [`OpenIntervals`]: the open calls of such a location, for callers that process one event at a
//! time.

use crate::{
    CancellationChecks, Cancelled, Close, Event, Events, Job, LocationView, RegionId, ReplayCounts,
    Ticks,
};
use std::collections::{HashMap, VecDeque};
use std::ops::Range;

/// Time that a location spent in one call of a region, found by [`intervals()`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Interval {
    /// Region.
    pub region: RegionId,
    /// Time of the enter, or the start of the window.
    pub start: Ticks,
    /// Time of the leave, or the end of the window. Equal to `start` for a zero-length interval.
    pub end: Ticks,
    /// Index of the enter event of the call on the location, as used by
    /// [`Events::attributes`](crate::Events::attributes) and [`EventId`](crate::EventId).
    pub enter: usize,
    /// Reason for the end of the call: [`Close::Top`] if its own leave closed it.
    pub why: Close,
}

/// Finds the calls of one location whose regions may overlap, as on an accelerator stream. Each
/// leave closes **the first entered open call of its region** and no other call.
///
/// Calls are reported as they end, in the order of the leaves. This rule (first in, first out)
/// gives exact lengths if calls of one region overlap. If a reader knows that a call is nested
/// within another call of the same region, it assigns a second region of the same name to the inner
/// call. The busy time, and the sum of the lengths by region, do not depend on the rule.
///
/// A leave of a region that is not open closes the call that was entered last (`renamed`). A leave
/// with no open call is ignored (`orphan`). Calls that are still open end at the last event. If the
/// view has a window, intervals are cut to it. The time is proportional to the number of events up
/// to the end of the window.
///
/// ```
/// use perf_core::{Event, Events, Job, LocationId, LocationView, RegionId, Ticks, intervals};
/// let (first, second) = (RegionId(0), RegionId(1));
/// let mut events = Events::default();
/// events.push(Ticks(0), Event::Enter { region: first })?;
/// events.push(Ticks(5), Event::Enter { region: second })?;
/// events.push(Ticks(9), Event::Leave { region: first })?;
/// events.push(Ticks(15), Event::Leave { region: second })?;
/// let mut found = Vec::new();
/// let location = LocationView::whole(LocationId(0), &events);
/// let job = Job::default();
/// let counts = intervals(location, |call| found.push((call.start, call.end)), &job)?;
/// assert_eq!(found, [(Ticks(0), Ticks(9)), (Ticks(5), Ticks(15))]);
/// assert_eq!((counts.top, counts.repairs()), (2, 0));
/// # Ok::<(), perf_core::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`Cancelled`] if the job is cancelled. `found` has then received some of the calls.
pub fn intervals(
    location: LocationView<'_>,
    mut found: impl FnMut(Interval),
    job: &Job,
) -> Result<ReplayCounts, Cancelled> {
    let visit = |step: Step<'_>| {
        if let Step::End(interval) = step {
            found(interval);
        }
    };
    walk(location, visit, job)
}

/// Step of a walk over a location within its window.
pub(crate) enum Step<'a> {
    /// A call begins, or was open at the start of the window.
    Begin(RegionId),
    /// A call ends.
    End(Interval),
    /// Any other event, with the open region that was entered last.
    Other(Event<'a>, Option<RegionId>),
}

pub(crate) fn walk<'a>(
    location: LocationView<'a>,
    mut visit: impl FnMut(Step<'a>),
    job: &Job,
) -> Result<ReplayCounts, Cancelled> {
    let (events, range, window) = (location.all(), location.range(), location.window());
    let (mut open, mut checks) = (OpenIntervals::default(), job.checks());
    each_event(
        events,
        0..range.start,
        &mut checks,
        |index, at, event| match event {
            Event::Enter { region } => open.enter(region, Entered { index, at }),
            Event::Leave { region } => drop(open.leave(region)),
            _ => {}
        },
    )?;
    open.counts = ReplayCounts::default();
    // A location without events has no frames, so its last time does not matter.
    let last = events.times().last().copied().unwrap_or_default();
    if last < window.start {
        return Ok(open.counts);
    }
    let end_of = |region, entered: Entered, end: Ticks, why| Interval {
        region,
        start: entered.at.max(window.start),
        end,
        enter: entered.index,
        why,
    };
    for (region, _) in open.iter() {
        checks.next(1)?;
        visit(Step::Begin(region));
    }
    each_event(
        events,
        range.clone(),
        &mut checks,
        |index, at, event| match event {
            Event::Enter { region } => {
                open.enter(region, Entered { index, at });
                visit(Step::Begin(region));
            }
            Event::Leave { region } => {
                if let Some((region, entered, why)) = open.leave(region) {
                    visit(Step::End(end_of(region, entered, at, why)));
                }
            }
            other => visit(Step::Other(other, open.newest())),
        },
    )?;
    // Calls that an event after the window may close do not count as open at the end of the
    // recording.
    let is_end = range.end == events.len();
    let end = last.min(window.end);
    let mut counts = open.counts;
    for (region, entered) in open.iter() {
        checks.next(1)?;
        counts.open_at_end += u64::from(is_end);
        visit(Step::End(end_of(region, *entered, end, Close::End)));
    }
    Ok(counts)
}

/// Calls `with` for each event of a range, with its index and time, and makes cancellation checks.
fn each_event<'a>(
    events: &'a Events,
    range: Range<usize>,
    checks: &mut CancellationChecks<'_>,
    mut with: impl FnMut(usize, Ticks, Event<'a>),
) -> Result<(), Cancelled> {
    for piece in checks.pieces(range) {
        for index in piece? {
            if let (Some(at), Some(event)) = (events.time(index), events.event(index)) {
                with(index, at, event);
            }
        }
    }
    Ok(())
}

/// Enter event of a call.
#[derive(Clone, Copy, Debug)]
struct Entered {
    /// Index of the event.
    index: usize,
    /// Time of the event.
    at: Ticks,
}

/// Open calls of a location whose regions may overlap, with the rules for leaves. It processes one
/// event at a time, for callers that do not have all events of a location at once. Callers that do
/// have them use [`intervals()`]. [`FrameStack`](crate::FrameStack) is the counterpart for nested
/// regions.
///
/// A value may be stored with each open call. Each step takes amortised constant time, and memory
/// is proportional to the number of open calls.
///
/// ```
/// use perf_core::{Close, OpenIntervals, RegionId};
/// let (first, second) = (RegionId(0), RegionId(1));
/// let mut open = OpenIntervals::default();
/// open.enter(first, "a");
/// open.enter(second, "b");
/// open.enter(first, "c");
/// // The first entered call of the region, or else the last entered call of all.
/// assert_eq!(open.leave(first), Some((first, "a", Close::Top)));
/// assert!(open.iter().eq([(second, &"b"), (first, &"c")]));
/// assert_eq!(open.leave(RegionId(9)), Some((first, "c", Close::Renamed)));
/// assert_eq!(open.counts().renamed, 1);
/// ```
#[derive(Clone, Debug)]
pub struct OpenIntervals<T = ()> {
    /// Calls in the order in which they were entered; `None` for a call that was left. The first
    /// and the last entry are always open calls.
    calls: VecDeque<Option<(RegionId, T)>>,
    /// Number of `None` entries in `calls`.
    left: usize,
    /// Number of entries removed from the front of `calls`.
    gone: usize,
    /// Positions of the open calls of each region, in the order in which they were entered.
    places: HashMap<RegionId, VecDeque<usize>>,
    /// Counts of repairs.
    counts: ReplayCounts,
}

impl<T> Default for OpenIntervals<T> {
    fn default() -> Self {
        OpenIntervals {
            calls: VecDeque::new(),
            left: 0,
            gone: 0,
            places: HashMap::new(),
            counts: ReplayCounts::default(),
        }
    }
}

impl<T> OpenIntervals<T> {
    /// Number of `None` entries up to which `calls` is never compacted. With more, it is compacted
    /// if they outnumber the open calls.
    const ROOM: usize = 1 << 10;

    /// Opens a call of a region and stores `kept` with it.
    pub fn enter(&mut self, region: RegionId, kept: T) {
        let place = self.gone + self.calls.len();
        self.places.entry(region).or_default().push_back(place);
        self.calls.push_back(Some((region, kept)));
    }

    /// Closes the call that was entered last if its region is `region`, and otherwise acts like
    /// [`leave`](Self::leave). This suits locations that may or may not
    /// [overlap](LocationView::overlaps).
    ///
    /// ```
    /// use perf_core::{Close, OpenIntervals, RegionId};
    /// let (outer, inner) = (RegionId(0), RegionId(1));
    /// let mut open = OpenIntervals::default();
    /// for (region, kept) in [(outer, "a"), (inner, "b"), (outer, "c")] {
    ///     open.enter(region, kept);
    /// }
    /// // A recursive call returns to its caller.
    /// assert_eq!(open.leave_innermost(outer), Some((outer, "c", Close::Top)));
    /// assert_eq!(open.leave_innermost(outer), Some((outer, "a", Close::Top)));
    /// ```
    pub fn leave_innermost(&mut self, region: RegionId) -> Option<(RegionId, T, Close)> {
        if self.newest() != Some(region) {
            return self.leave(region);
        }
        // No later call of the region is open, so the last position of the region belongs to this
        // call.
        if let Some(places) = self.places.get_mut(&region) {
            places.pop_back();
        }
        let (region, kept) = self.calls.pop_back().flatten()?;
        self.counts.top += 1;
        self.tidy();
        Some((region, kept, Close::Top))
    }

    /// Closes a call by the rules of [`intervals()`] and returns its region, its stored value and
    /// the reason for its end, or `None` if no call is open.
    pub fn leave(&mut self, region: RegionId) -> Option<(RegionId, T, Close)> {
        let first = self.places.get_mut(&region).and_then(VecDeque::pop_front);
        let closed = match first {
            Some(place) => {
                self.counts.top += 1;
                self.left += 1;
                let call = self.calls.get_mut(place.wrapping_sub(self.gone));
                let call = call.and_then(Option::take);
                call.map(|(region, kept)| (region, kept, Close::Top))
            }
            // The last entry of `calls` is an open call, or `calls` is empty.
            None => match self.calls.pop_back().flatten() {
                Some((region, kept)) => {
                    self.counts.renamed += 1;
                    if let Some(places) = self.places.get_mut(&region) {
                        places.pop_back();
                    }
                    Some((region, kept, Close::Renamed))
                }
                None => {
                    self.counts.orphan += 1;
                    None
                }
            },
        };
        self.tidy();
        closed
    }

    /// Removes `None` entries at both ends, and everywhere once there are many.
    fn tidy(&mut self) {
        while self.calls.back().is_some_and(Option::is_none) {
            self.calls.pop_back();
            self.left -= 1;
        }
        while self.calls.front().is_some_and(Option::is_none) {
            self.calls.pop_front();
            self.gone += 1;
            self.left -= 1;
        }
        if self.left > Self::ROOM && self.left > self.calls.len() / 2 {
            self.compact();
        }
    }

    /// Removes all `None` entries.
    #[cold]
    fn compact(&mut self) {
        self.calls.retain(Option::is_some);
        (self.left, self.gone) = (0, 0);
        self.places = HashMap::new();
        for (place, (region, _)) in self.calls.iter().flatten().enumerate() {
            self.places.entry(*region).or_default().push_back(place);
        }
    }

    /// Returns the open calls with their stored values, in the order in which they were entered.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (RegionId, &T)> {
        let open = self.calls.iter().flatten();
        open.map(|(region, kept)| (*region, kept))
    }

    /// Returns the repairs so far.
    pub fn counts(&self) -> ReplayCounts {
        self.counts
    }

    fn newest(&self) -> Option<RegionId> {
        Some(self.calls.back()?.as_ref()?.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn left_calls_behind_an_open_one_take_no_memory() {
        let mut open = OpenIntervals::default();
        open.enter(RegionId(0), 0);
        // One of two calls is open at any time.
        for at in 1..100_000_u32 {
            open.enter(RegionId(at), at);
            if at > 1 {
                let before = RegionId(at - 1);
                assert_eq!(open.leave(before), Some((before, at - 1, Close::Top)));
            }
            assert!(open.calls.len() <= 2 * OpenIntervals::<u32>::ROOM);
            assert!(open.places.len() <= 4 * OpenIntervals::<u32>::ROOM);
        }
        let rest: Vec<_> = open.iter().map(|(_, kept)| *kept).collect();
        assert_eq!(rest, [0, 99_999]);
        assert_eq!(open.leave(RegionId(7)).map(|it| it.1), Some(99_999));
        assert_eq!(open.leave(RegionId(0)), Some((RegionId(0), 0, Close::Top)));
        assert_eq!(open.leave(RegionId(0)), None);
    }
}
