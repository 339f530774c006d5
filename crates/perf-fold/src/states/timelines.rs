//! [`Timelines`]: the states of each stream over time, stored as columns of transitions;
//! [`Boundary`]: rule for a transition at exactly the sampled time.

use super::timeline_builder;
use crate::states::class::code;
use crate::states::sampling;
use crate::{Classes, Error, Result, State, StateMap, Tally};
use perf_core::{
    Clock, Job, LocationId, LocationKind, Merge, ReplayCounts, SystemTree, Ticks, TimeRange,
    TraceView, parallel,
};
use std::sync::Arc;

/// Size of a transition in bytes.
const CHANGE: usize = size_of::<Ticks>() + size_of::<u32>();

/// State of each stream as a piecewise constant function of time, with 12 bytes for each
/// transition.
///
/// Timelines are built once for a recording and a [`StateMap`], and every fold reads them. A
/// *stream* is a location in the view from which the timelines were built. Streams are numbered
/// from 0 in the order of the view. Clones share the data.
///
/// Regions of a thread nest, and a leave that does not match is repaired as in
/// [`perf_core::replay`]. If regions [overlap](perf_core::LocationView::overlaps), as on an
/// accelerator stream, each leave closes the first open call of its region, as in
/// [`perf_core::intervals()`]. The state is then the state of the open region that was entered
/// last, so a stream is busy while any of its work is open.
///
/// States of length zero are dropped: if several transitions have the same time, the last in file
/// order wins. Transitions between equal states are dropped too. Zero-length work on an accelerator
/// stream is stored with the transitions, in 16 bytes each, see [`instants`](Self::instants). A
/// fold shows it only if [`FoldParams::instants`](crate::FoldParams::instants) is set.
///
/// ```
/// use perf_core::{Job, Ticks};
/// use perf_fold::{Boundary, RegionMap, State, Timelines};
/// let trace = perf_core::samples::cosmo::trace();
/// let map = RegionMap::by_name(trace.definitions())?;
/// let timelines = Timelines::new(trace.view(), &map, &Job::default())?;
/// assert_eq!(timelines.len(), 40);
/// let specs = timelines.classes().id("SPECS").expect("it is entered");
/// assert_eq!(timelines.state(7, Ticks(1_300_000), Boundary::AtOrBefore), State::Class(specs));
/// // After its last event a stream is absent, not idle.
/// assert_eq!(timelines.state(7, Ticks(u64::MAX), Boundary::AtOrBefore), State::Absent);
/// # Ok::<(), perf_fold::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Timelines(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Columns of each stream.
    streams: Vec<Columns>,
    /// Classes of the states.
    classes: Classes,
    /// System tree of the recording.
    system: SystemTree,
    /// Clock of the recording.
    clock: Clock,
    /// Range from the first to the last transition.
    range: TimeRange,
    /// Repairs made during the replay.
    repairs: ReplayCounts,
}

/// Columns of one stream. `codes[i]` is the state after `i` transitions. There is one more code
/// than there are times, and the first code is always absent.
#[derive(Debug, PartialEq)]
pub(crate) struct Columns {
    /// Location of the stream.
    pub(crate) location: LocationId,
    /// Times of the transitions in ascending order.
    pub(crate) times: Vec<Ticks>,
    /// State code before, between and after the transitions.
    pub(crate) codes: Vec<u32>,
    /// Zero-length work in order of time. It adds no time and has no transitions.
    pub(crate) instants: Vec<(Ticks, u32)>,
}

impl Columns {
    /// Creates the columns of a stream that is never recorded.
    pub(crate) fn absent(location: LocationId) -> Self {
        Columns {
            location,
            times: Vec::new(),
            codes: vec![code::ABSENT],
            instants: Vec::new(),
        }
    }

    /// Adds a transition to state `code` at `at`, which is not before the last one. Transitions
    /// without a change are skipped, and the last of a time wins.
    pub(crate) fn push(&mut self, at: Ticks, code: u32) {
        push(&mut self.times, &mut self.codes, at, code);
    }

    /// Returns the code of the zero-length work at a time, or `None` if there is none. If there are
    /// several pieces, the last in file order wins.
    pub(crate) fn instant(&self, at: Ticks) -> Option<u32> {
        let until = self.instants.partition_point(|(time, _)| *time <= at);
        let last = self.instants.get(until.checked_sub(1)?)?;
        (last.0 == at).then_some(last.1)
    }
}

/// Adds a transition to columns, see [`Columns::push`].
#[inline]
pub(crate) fn push(times: &mut Vec<Ticks>, codes: &mut Vec<u32>, at: Ticks, code: u32) {
    if times.last() == Some(&at) {
        // The previous state has zero length, so its transition is removed.
        times.pop();
        codes.pop();
    }
    if codes.last() != Some(&code) {
        times.push(at);
        codes.push(code);
    }
}

/// Rule that decides whether a transition at exactly the sampled time counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Boundary {
    /// Transitions at or before the time count, `t_e <= t`. An interval contains its start but not
    /// its end.
    #[default]
    AtOrBefore,
    /// Only earlier transitions count, `t_e < t`, as in the slides of the paper. The two rules
    /// differ only for transitions at exactly the sampled time.
    Strict,
}

impl Timelines {
    /// Builds the timelines of all locations in `view`.
    ///
    /// Progress is reported in events, in the phase `timelines`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::UnknownClass`] if the map returns a class that is not in its table, or
    /// [`Error::Cancelled`] if the job is cancelled.
    pub fn new<M: StateMap + ?Sized>(view: TraceView<'_>, map: &M, job: &Job) -> Result<Self> {
        let locations: Vec<_> = view.locations().collect();
        let total = locations.iter().map(|location| location.len() as u64).sum();
        let definitions = view.definitions();
        let built = parallel::try_map(locations.len(), |at| {
            let location = &locations[at];
            job.check()?;
            let built = timeline_builder::stream(*location, definitions, map, job)?;
            job.advance("timelines", location.len() as u64, total);
            Ok::<_, Error>(built)
        })?;
        let of = (definitions.system.clone(), definitions.clock);
        Ok(Self::assembled(built, map.classes().clone(), of))
    }

    /// Returns timelines of columns that are built, with the repairs of each stream.
    pub(crate) fn assembled(
        built: Vec<(Columns, ReplayCounts)>,
        classes: Classes,
        (system, clock): (SystemTree, Clock),
    ) -> Self {
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
        Timelines(Arc::new(Inner {
            streams,
            classes,
            system,
            clock,
            range,
            repairs,
        }))
    }

    /// Returns the number of streams.
    pub fn len(&self) -> usize {
        self.0.streams.len()
    }

    /// Returns `true` if there are no streams.
    pub fn is_empty(&self) -> bool {
        self.0.streams.is_empty()
    }

    /// Returns `true` if a stream is in any state, idle or a class, at any time of the recording.
    /// Threads that only carry metrics are not, and neither are streams that do not exist.
    ///
    /// ```
    /// use perf_core::Job;
    /// use perf_fold::{RegionMap, Timelines};
    /// let trace = perf_core::samples::cosmo::trace();
    /// let map = RegionMap::by_name(trace.definitions())?;
    /// let timelines = Timelines::new(trace.view(), &map, &Job::default())?;
    /// assert!(timelines.has_states(39));
    /// assert!(!timelines.has_states(40));
    /// # Ok::<(), perf_fold::Error>(())
    /// ```
    pub fn has_states(&self, stream: u32) -> bool {
        let columns = self.stream(stream);
        columns.is_some_and(|it| !it.times.is_empty() || !it.instants.is_empty())
    }

    /// Returns the classes of the states.
    pub fn classes(&self) -> &Classes {
        &self.0.classes
    }

    /// Returns the system tree.
    pub fn system(&self) -> &SystemTree {
        &self.0.system
    }

    /// Returns the clock that converts ticks to nanoseconds.
    pub fn clock(&self) -> Clock {
        self.0.clock
    }

    /// Returns the range from the first to the last transition of all streams. Without transitions
    /// the range is empty and begins at 0.
    pub fn range(&self) -> TimeRange {
        self.0.range
    }

    /// Returns the number of transitions on all streams.
    pub fn transitions(&self) -> usize {
        self.0.streams.iter().map(|stream| stream.times.len()).sum()
    }

    /// Returns an upper bound on the size in bytes of the timelines of a view, without building
    /// them. The bound is 12 bytes for each event and 16 bytes for each stream. Events that change
    /// no state, such as messages, take no memory. During construction, the columns of one stream
    /// for each thread may exist twice for a short time while they shrink.
    ///
    /// ```
    /// use perf_core::Job;
    /// use perf_fold::{RegionMap, Timelines};
    /// let trace = perf_core::samples::cosmo::trace();
    /// let most = Timelines::estimate(trace.view());
    /// let map = RegionMap::by_name(trace.definitions())?;
    /// assert!(Timelines::new(trace.view(), &map, &Job::default())?.memory() <= most);
    /// # Ok::<(), perf_fold::Error>(())
    /// ```
    pub fn estimate(view: TraceView<'_>) -> usize {
        let lens = view.locations().map(|location| location.len());
        // There are at most one more time and two more codes than events.
        let bytes = |len: usize| len * CHANGE + size_of::<Ticks>() + 2 * size_of::<u32>();
        lens.map(bytes).sum()
    }

    /// Returns the size of the columns in bytes.
    pub fn memory(&self) -> usize {
        let bytes = |stream: &Columns| {
            stream.times.capacity() * size_of::<Ticks>()
                + stream.codes.capacity() * size_of::<u32>()
                + stream.instants.capacity() * size_of::<(Ticks, u32)>()
        };
        self.0.streams.iter().map(bytes).sum()
    }

    /// Returns the repairs made during the replay of enters and leaves.
    ///
    /// Overlapping regions on an accelerator stream need no repair: a leave counts as `top` if its
    /// region is open, and `nearest` and `implicit_closes` do not occur. A profile requires nested
    /// stack frames, so it repairs the same stream and counts more repairs.
    pub fn repairs(&self) -> ReplayCounts {
        self.0.repairs
    }

    /// Returns the location of stream `stream`, or `None` if there is no such stream.
    pub fn location(&self, stream: u32) -> Option<LocationId> {
        self.stream(stream).map(|columns| columns.location)
    }

    /// Returns the kind of a stream; [`LocationKind::Unknown`] if there is no such stream.
    pub fn kind(&self, stream: u32) -> LocationKind {
        let location = self
            .location(stream)
            .and_then(|id| self.system().location(id));
        location.map_or(LocationKind::Unknown, |location| location.kind)
    }

    /// Returns the state of a stream at one time, or absent if there is no such stream. Uses binary
    /// search.
    pub fn state(&self, stream: u32, at: Ticks, boundary: Boundary) -> State {
        let Some(columns) = self.stream(stream) else {
            return State::Absent;
        };
        let passed = match boundary {
            Boundary::AtOrBefore => columns.times.partition_point(|time| *time <= at),
            Boundary::Strict => columns.times.partition_point(|time| *time < at),
        };
        // A stream without transitions is absent.
        code::state(columns.codes.get(passed).copied().unwrap_or(code::ABSENT))
    }

    /// Returns the intervals of constant state of one stream that touch `window`, cut to the window
    /// and in order of time. The time before the first and after the last transition is skipped. No
    /// interval is empty.
    pub fn segments(
        &self,
        stream: u32,
        window: TimeRange,
    ) -> impl Iterator<Item = (TimeRange, State)> + '_ {
        let columns = self.stream(stream);
        let pieces = columns.map(|columns| sampling::pieces(columns, window));
        pieces
            .into_iter()
            .flatten()
            .map(|(range, code)| (range, code::state(code)))
    }

    /// Returns the zero-length work of an accelerator stream in `window`, in order of time, as
    /// times and states.
    ///
    /// Zero-length work takes no time and therefore does not affect shares, [`state`](Self::state)
    /// or [`segments`](Self::segments). A fold can [show it](crate::FoldParams::instants) in cells
    /// of at most one tick, so that it becomes visible by zooming in.
    pub fn instants(
        &self,
        stream: u32,
        window: TimeRange,
    ) -> impl Iterator<Item = (Ticks, State)> + '_ {
        let all = self.stream(stream).map_or(&[][..], |it| &it.instants);
        let from = all.partition_point(|(at, _)| *at < window.start);
        let to = all.partition_point(|(at, _)| *at < window.end);
        // Empty if the window ends before it starts.
        let own = all.get(from..to).unwrap_or_default();
        own.iter().map(|(at, code)| (*at, code::state(*code)))
    }

    /// Counts the states of `streams` at one time. The result can be merged with tallies computed
    /// elsewhere. Streams that do not exist are skipped.
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
