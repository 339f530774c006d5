//! [`Timelines`]: what each stream does when, in columns.

use crate::build;
use crate::class::code;
use crate::sample;
use crate::{Classes, Error, Result, State, StateMap, Tally};
use perf_core::{
    Clock, Job, LocationId, LocationKind, Merge, ReplayCounts, SystemTree, Ticks, TimeRange,
    TraceView, parallel,
};
use std::sync::Arc;

/// Bytes of a transition.
const CHANGE: usize = size_of::<Ticks>() + size_of::<u32>();

/// The state of each stream as a function of time: piecewise constant, 12 bytes a transition.
///
/// Made once for a recording and a [`StateMap`]; every fold reads it. A *stream* is a location
/// in the view it was made from, numbered from 0 in the order of the view. Clones share the data.
///
/// Regions of a thread nest, and a leave that does not fit is mended as [`perf_core::replay`] does.
/// Where they [overlap](perf_core::LocationView::overlaps), as work of an accelerator stream may, each leave
/// closes the first open one of its region and no other, as [`perf_core::intervals()`] does. The state is then
/// that of the last one entered that is still open: a stream is busy while any of its work is open.
///
/// States of length zero vanish: of several transitions at one time the last in file order wins.
/// Transitions between equal states are left out. Work of no length on an accelerator stream is kept
/// beside the transitions, in 16 bytes each, and shows where it is [asked for](crate::FoldParams::instants):
/// see [`instants`](Self::instants).
///
/// ```
/// use perf_core::{Job, Ticks};
/// use perf_fold::{Boundary, RegionMap, State, Timelines};
/// let trace = perf_testdata::cosmo::trace();
/// let map = RegionMap::by_name(trace.definitions())?;
/// let timelines = Timelines::new(trace.view(), &map, &Job::default())?;
/// assert_eq!(timelines.len(), 40);
/// let specs = timelines.classes().id("SPECS").expect("it is entered");
/// assert_eq!(timelines.state(7, Ticks(1_300_000), Boundary::AtOrBefore), State::Class(specs));
/// // After its last event a stream is not idle, it is gone.
/// assert_eq!(timelines.state(7, Ticks(u64::MAX), Boundary::AtOrBefore), State::Absent);
/// # Ok::<(), perf_fold::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Timelines(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    streams: Vec<Columns>,
    classes: Classes,
    system: SystemTree,
    clock: Clock,
    range: TimeRange,
    repairs: ReplayCounts,
}

/// One stream: `codes[i]` is its state once `i` transitions have passed, so that there is one
/// more code than times and the first one is always absent.
#[derive(Debug, PartialEq)]
pub(crate) struct Columns {
    pub(crate) location: LocationId,
    pub(crate) times: Vec<Ticks>,
    pub(crate) codes: Vec<u32>,
    /// Work of no length, by time: it adds no time and has no transitions.
    pub(crate) instants: Vec<(Ticks, u32)>,
}

impl Columns {
    /// The code of work of no length at a time; the last in file order.
    pub(crate) fn instant(&self, at: Ticks) -> Option<u32> {
        let until = self.instants.partition_point(|(time, _)| *time <= at);
        let last = self.instants.get(until.checked_sub(1)?)?;
        (last.0 == at).then_some(last.1)
    }
}

/// Which transitions count at a sampled time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Boundary {
    /// The last one at or before it, `t_e <= t`: an interval holds its start, not its end.
    #[default]
    AtOrBefore,
    /// The last one before it, `t_e < t`, as the slides write. Differs on exact ties only.
    Strict,
}

impl Timelines {
    /// The timelines of all locations in `view`.
    ///
    /// Progress is reported in events of the phase `timelines`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::UnknownClass`] if the map gives a class that its table does not have, and
    /// [`Error::Cancelled`] if the job is cancelled.
    pub fn new<M: StateMap + ?Sized>(view: TraceView<'_>, map: &M, job: &Job) -> Result<Self> {
        let locations: Vec<_> = view.locations().collect();
        let total = locations.iter().map(|location| location.len() as u64).sum();
        let definitions = view.definitions();
        let built = parallel::try_map(locations.len(), |at| {
            let location = &locations[at];
            job.check()?;
            let built = build::stream(*location, definitions, map, job)?;
            job.advance("timelines", location.len() as u64, total);
            Ok::<_, Error>(built)
        })?;
        let mut repairs = ReplayCounts::default();
        let mut streams = Vec::with_capacity(built.len());
        for (columns, counts) in built {
            repairs.merge(&counts);
            streams.push(columns);
        }
        let first = streams.iter().filter_map(|stream| stream.times.first());
        let last = streams.iter().filter_map(|stream| stream.times.last());
        let range = TimeRange {
            start: first.min().copied().unwrap_or_default(),
            end: last.max().copied().unwrap_or_default(),
        };
        Ok(Timelines(Arc::new(Inner {
            streams,
            classes: map.classes().clone(),
            system: definitions.system.clone(),
            clock: definitions.clock,
            range,
            repairs,
        })))
    }

    /// Number of streams.
    pub fn len(&self) -> usize {
        self.0.streams.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.streams.is_empty()
    }

    /// The classes of the states.
    pub fn classes(&self) -> &Classes {
        &self.0.classes
    }

    /// The machine, processes and locations.
    pub fn system(&self) -> &SystemTree {
        &self.0.system
    }

    /// How ticks relate to nanoseconds.
    pub fn clock(&self) -> Clock {
        self.0.clock
    }

    /// From the first transition of any stream to the last: the time in which something is known.
    /// Empty, at 0, without transitions.
    pub fn range(&self) -> TimeRange {
        self.0.range
    }

    /// Number of transitions on all streams.
    pub fn transitions(&self) -> usize {
        self.0.streams.iter().map(|stream| stream.times.len()).sum()
    }

    /// Bytes that the timelines of a view take at most, told before they are made: 12 for each event. Fewer
    /// where events change no state, such as messages. While they are made, the columns of one stream a thread
    /// may be there twice for a moment, as they shrink.
    ///
    /// ```
    /// use perf_core::Job;
    /// use perf_fold::{RegionMap, Timelines};
    /// let trace = perf_testdata::cosmo::trace();
    /// let most = Timelines::estimate(trace.view());
    /// let map = RegionMap::by_name(trace.definitions())?;
    /// assert!(Timelines::new(trace.view(), &map, &Job::default())?.memory() <= most);
    /// # Ok::<(), perf_fold::Error>(())
    /// ```
    pub fn estimate(view: TraceView<'_>) -> usize {
        let lens = view.locations().map(|location| location.len());
        // One more time, and two more codes, than events.
        let bytes = |len: usize| len * CHANGE + size_of::<Ticks>() + 2 * size_of::<u32>();
        lens.map(bytes).sum()
    }

    /// Bytes of memory the columns take.
    pub fn memory(&self) -> usize {
        let bytes = |stream: &Columns| {
            stream.times.capacity() * size_of::<Ticks>()
                + stream.codes.capacity() * size_of::<u32>()
                + stream.instants.capacity() * size_of::<(Ticks, u32)>()
        };
        self.0.streams.iter().map(bytes).sum()
    }

    /// What the replay of enters and leaves had to mend.
    ///
    /// On an accelerator stream regions that overlap need no mending: a leave counts as `top` if
    /// its region is open at all, `nearest` and `implicit_closes` do not occur. A profile, which
    /// needs frames that nest, mends the same stream and counts more.
    pub fn repairs(&self) -> ReplayCounts {
        self.0.repairs
    }

    /// The location that is stream `stream`.
    pub fn location(&self, stream: u32) -> Option<LocationId> {
        self.stream(stream).map(|columns| columns.location)
    }

    /// The kind of a stream; [`LocationKind::Unknown`] for one that is not there.
    pub fn kind(&self, stream: u32) -> LocationKind {
        let location = self
            .location(stream)
            .and_then(|id| self.system().location(id));
        location.map_or(LocationKind::Unknown, |location| location.kind)
    }

    /// The state of a stream at one time, by binary search; absent for a stream that is not there.
    pub fn state(&self, stream: u32, at: Ticks, boundary: Boundary) -> State {
        let Some(columns) = self.stream(stream) else {
            return State::Absent;
        };
        let passed = match boundary {
            Boundary::AtOrBefore => columns.times.partition_point(|time| *time <= at),
            Boundary::Strict => columns.times.partition_point(|time| *time < at),
        };
        code::state(columns.codes.get(passed).copied().unwrap_or(code::ABSENT))
    }

    /// The intervals of constant state of one stream that touch `window`, cut to it, in order and
    /// without the time before the first and after the last transition. No interval is empty.
    pub fn segments(
        &self,
        stream: u32,
        window: TimeRange,
    ) -> impl Iterator<Item = (TimeRange, State)> + '_ {
        let columns = self.stream(stream);
        let pieces = columns.map(|columns| sample::pieces(columns, window));
        pieces
            .into_iter()
            .flatten()
            .map(|(range, code)| (range, code::state(code)))
    }

    /// The work of no length of an accelerator stream that begins in `window`, in order, with its state.
    ///
    /// It takes no time: shares, [`state`](Self::state) and [`segments`](Self::segments) know nothing
    /// of it. A fold shows it where [asked to](crate::FoldParams::instants), in cells of one tick at most,
    /// so that one can zoom until it is seen.
    pub fn instants(
        &self,
        stream: u32,
        window: TimeRange,
    ) -> impl Iterator<Item = (Ticks, State)> + '_ {
        let all = self.stream(stream).map_or(&[][..], |it| &it.instants);
        let from = all.partition_point(|(at, _)| *at < window.start);
        let to = all.partition_point(|(at, _)| *at < window.end);
        let own = all.get(from..to).unwrap_or_default();
        own.iter().map(|(at, code)| (*at, code::state(*code)))
    }

    /// What `streams` do at one time, counted: the part of a fold that can be merged with parts
    /// made elsewhere. Streams that are not there are left out.
    pub fn tally(&self, streams: &[u32], at: Ticks, boundary: Boundary) -> Tally {
        let mut tally = Tally::default();
        for stream in streams {
            if (*stream as usize) < self.len() {
                tally.add(self.state(*stream, at, boundary), 1, *stream);
            }
        }
        tally
    }

    pub(crate) fn stream(&self, stream: u32) -> Option<&Columns> {
        self.0.streams.get(stream as usize)
    }
}
