//! [`Utilisation`] and [`Usage`]: busy time, overlap and the share of each state, for rows and for intervals.

use crate::states::class::code;
use crate::states::sampling;
use crate::{Classes, Folder, Result, State, Timelines};
use perf_core::{Cancelled, Job, LocationKind, TimeRange, parallel};

/// Utilisation of streams over a window. A fold by `max` does not show it if many streams are
/// active for short times.
///
/// A stream is busy while it is in a class. All times are in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Utilisation {
    /// Length of the window, in ticks.
    pub span: u64,
    /// Time in which at least one stream is busy, that is, the length of the union of the busy
    /// intervals.
    pub busy: u64,
    /// Time in which more than one stream is busy.
    pub overlap: u64,
    /// Sum of the busy times of the streams.
    pub stream_time: u64,
    /// Number of intervals in the union.
    pub intervals: u64,
}

impl Utilisation {
    /// Computes the utilisation from intervals that may overlap, such as those of device streams.
    /// Intervals are cut to the window.
    ///
    /// ```
    /// use perf_core::{Ticks, TimeRange};
    /// use perf_fold::Utilisation;
    /// let range = |start, end| TimeRange { start: Ticks(start), end: Ticks(end) };
    /// let found = Utilisation::of([range(0, 4), range(2, 6), range(8, 9)], range(0, 10));
    /// assert_eq!((found.busy, found.overlap, found.intervals), (7, 2, 2));
    /// assert_eq!(found.utilisation(), 0.7);
    /// ```
    pub fn of(intervals: impl IntoIterator<Item = TimeRange>, window: TimeRange) -> Self {
        let mut changes = Vec::new();
        for interval in intervals {
            let (start, end) = (
                interval.start.max(window.start),
                interval.end.min(window.end),
            );
            if start < end {
                changes.push((start.0, 1i64));
                changes.push((end.0, -1));
            }
        }
        // The default job is never cancelled.
        Self::swept(changes, window, &Job::default()).unwrap_or_default()
    }

    /// Computes the utilisation from begins (1) and ends (-1), all within the window.
    fn swept(
        mut changes: Vec<(u64, i64)>,
        window: TimeRange,
        job: &Job,
    ) -> std::result::Result<Self, Cancelled> {
        let mut found = Utilisation {
            span: window.len(),
            ..Utilisation::default()
        };
        // If one interval ends as another begins, the union continues, so begins come before ends.
        let key = |(at, change): &(u64, i64)| (*at, -change);
        job.sort_by(&mut changes, |a, b| key(a).cmp(&key(b)))?;
        let (mut active, mut last) = (0i64, 0);
        let mut checks = job.checks();
        for (at, change) in changes {
            checks.next(1)?;
            let length = at - last;
            if active > 0 {
                found.busy += length;
            }
            if active > 1 {
                found.overlap += length;
            }
            let streams = u64::try_from(active).unwrap_or(0);
            let time = length.saturating_mul(streams);
            found.stream_time = found.stream_time.saturating_add(time);
            found.intervals += u64::from(active == 0);
            active += change;
            last = at;
        }
        Ok(found)
    }

    /// Returns the fraction of the window in which at least one stream is busy; 0 for an empty
    /// window.
    pub fn utilisation(&self) -> f64 {
        self.share(self.busy)
    }

    /// Returns the fraction of the window in which more than one stream is busy; 0 for an empty
    /// window.
    pub fn overlap_share(&self) -> f64 {
        self.share(self.overlap)
    }

    /// Returns the mean number of busy streams over the window; 0 for an empty window.
    pub fn mean_concurrency(&self) -> f64 {
        self.share(self.stream_time)
    }

    /// Returns the largest difference between [`utilisation`](Self::utilisation) and its sampled
    /// estimate, the fraction of `columns` pixels that an `idle` row paints. The difference is the
    /// number of intervals divided by `columns`, because the number of painted pixels of an
    /// interval is wrong by at most one.
    pub fn sampled_error(&self, columns: usize) -> f64 {
        self.intervals as f64 / columns.max(1) as f64
    }

    fn share(&self, time: u64) -> f64 {
        if self.span == 0 {
            return 0.0;
        }
        time as f64 / self.span as f64
    }
}

/// Exact usage of a row over a window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Usage {
    /// Utilisation over the window.
    pub utilisation: Utilisation,
    /// Utilisation over the span of the row's work in the window, from the first begin of work to
    /// the last end.
    ///
    /// For the streams of a device over the whole recording this value equals
    /// [`Device::utilisation`](crate::Device::utilisation) over [`Span::Own`](crate::Span::Own).
    pub own: Utilisation,
    /// Stream-ticks in each state that occurs, in descending order and then by state. Streams
    /// without states are not in it.
    pub times: Vec<(State, u64)>,
    /// Number of streams without states in the whole recording, such as threads that only carry
    /// metrics; see [`Timelines::has_states`]. They are in no share.
    pub without_states: usize,
}

impl Usage {
    /// Computes the usage of some streams. Streams that do not exist have no states.
    ///
    /// # Errors
    ///
    /// Returns [`Cancelled`] if the job is cancelled.
    pub fn of(
        timelines: &Timelines,
        streams: &[u32],
        window: TimeRange,
        job: &Job,
    ) -> std::result::Result<Self, Cancelled> {
        Self::computed(timelines, streams, (window, true), job)
    }

    /// Computes the usage, and the union of the busy intervals if `has_union`.
    fn computed(
        timelines: &Timelines,
        streams: &[u32],
        (window, has_union): (TimeRange, bool),
        job: &Job,
    ) -> std::result::Result<Self, Cancelled> {
        let mut times = Times::new(timelines.classes().len());
        let mut changes: Vec<(u64, i64)> = Vec::new();
        let mut own = None;
        let mut add = |busy: TimeRange| {
            join(&mut own, busy);
            if has_union && busy.start < busy.end {
                changes.extend([(busy.start.0, 1), (busy.end.0, -1)]);
            }
        };
        let mut without_states = 0;
        for stream in streams {
            if timelines.has_states(*stream) {
                walk((timelines, *stream), window, &mut times, &mut add, job)?;
            } else {
                without_states += 1;
            }
        }
        let utilisation = Utilisation::swept(changes, window, job)?;
        Ok(Usage::from_times(times, (own, utilisation), without_states))
    }

    /// Creates the usage of a row from its times in each state, the span of its work, and the number
    /// of its streams without states.
    fn from_times(
        times: Times,
        (own, utilisation): (Option<TimeRange>, Utilisation),
        without_states: usize,
    ) -> Self {
        let time = |(code, time)| (code::state(code), time);
        let mut times: Vec<(State, u64)> = times.entries().map(time).collect();
        times.sort_by_key(|(state, time)| (std::cmp::Reverse(*time), *state));
        let span = own.map_or(0, |own| own.len());
        Usage {
            utilisation,
            own: Utilisation {
                span,
                ..utilisation
            },
            times,
            without_states,
        }
    }

    /// Computes the usage of several rows. The flag of a row selects the union of its busy intervals;
    /// without it the row is the sum of its streams. Groups have the streams of their members, so the
    /// times of a stream are computed once for all rows that are such sums.
    ///
    /// `done` is called after each row.
    pub(crate) fn of_rows(
        timelines: &Timelines,
        rows: &[(&[u32], bool)],
        window: TimeRange,
        done: impl Fn() + Sync,
        job: &Job,
    ) -> std::result::Result<Vec<Self>, Cancelled> {
        let sums = rows.iter().filter(|(_, has_union)| !has_union);
        let needed = sums.flat_map(|(streams, _)| *streams).copied();
        let mut needed: Vec<u32> = needed.filter(|it| timelines.has_states(*it)).collect();
        needed.sort_unstable();
        needed.dedup();
        let of_streams = parallel::try_map(needed.len(), |at| {
            StreamTimes::of((timelines, needed[at]), window, job)
        })?;
        let classes = timelines.classes().len();
        parallel::try_map(rows.len(), |at| {
            job.check()?;
            let (streams, has_union) = rows[at];
            let usage = if has_union {
                Usage::computed(timelines, streams, (window, true), job)?
            } else {
                let (mut times, mut own) = (Times::new(classes), None);
                let found = |stream| of_streams.get(needed.binary_search(stream).ok()?);
                let mut without_states = streams.len();
                for stream in streams.iter().filter_map(found) {
                    without_states -= 1;
                    for (code, length) in &stream.times {
                        times.add(*code, *length);
                    }
                    stream.own.into_iter().for_each(|busy| join(&mut own, busy));
                }
                let utilisation = Utilisation {
                    span: window.len(),
                    ..Utilisation::default()
                };
                Usage::from_times(times, (own, utilisation), without_states)
            };
            done();
            Ok(usage)
        })
    }

    /// Returns the busy share of a row of this kind over the window, as pictures, pages and tables
    /// show it.
    ///
    /// A device is busy while any of its streams is, so for accelerator streams this is
    /// [`Utilisation::utilisation`]. For threads it is the mean over the threads with states: of 64
    /// threads, one of which works, 1.6 % are busy.
    ///
    /// ```
    /// use perf_core::{Job, LocationKind};
    /// use perf_fold::{RegionMap, Timelines, Usage};
    /// let trace = perf_core::samples::cosmo::trace();
    /// let job = Job::default();
    /// let timelines = Timelines::new(trace.view(), &RegionMap::by_name(trace.definitions())?, &job)?;
    /// let usage = Usage::of(&timelines, &[0, 1], timelines.range(), &job)?;
    /// let classes = usage.times.iter().filter(|(state, _)| state.class().is_some());
    /// let time: u64 = classes.map(|(_, time)| time).sum();
    /// let mean = time as f64 / (2 * usage.utilisation.span) as f64;
    /// assert_eq!(usage.busy_share(LocationKind::CpuThread), mean);
    /// assert_eq!(usage.busy_share(LocationKind::AcceleratorStream), usage.utilisation.utilisation());
    /// # Ok::<(), perf_fold::Error>(())
    /// ```
    pub fn busy_share(&self, kind: LocationKind) -> f64 {
        match kind {
            LocationKind::AcceleratorStream => self.utilisation.utilisation(),
            _ => self.mean_share(self.utilisation.span),
        }
    }

    /// Returns the busy share like [`busy_share`](Self::busy_share), relative to the span of the work
    /// of the row instead of the window; see [`own`](Self::own).
    pub fn own_busy_share(&self, kind: LocationKind) -> f64 {
        match kind {
            LocationKind::AcceleratorStream => self.own.utilisation(),
            _ => self.mean_share(self.own.span),
        }
    }

    /// Returns the mean over the streams of their busy time as a fraction of `span`.
    fn mean_share(&self, span: u64) -> f64 {
        let (mut all, mut busy) = (0u128, 0u128);
        for (state, time) in &self.times {
            all += u128::from(*time);
            if state.class().is_some() {
                busy += u128::from(*time);
            }
        }
        // All states of a stream together last as long as the window.
        let streams = all as f64 / self.utilisation.span.max(1) as f64;
        match span {
            0 => 0.0,
            span if busy > 0 => busy as f64 / (streams * span as f64),
            _ => 0.0,
        }
    }

    /// Returns the share of each state in the stream-time of the row, in descending order.
    pub fn shares(&self) -> impl Iterator<Item = (State, f64)> + '_ {
        let total: u128 = self.times.iter().map(|(_, time)| u128::from(*time)).sum();
        let share = move |time: u64| time as f64 / total as f64;
        self.times
            .iter()
            .map(move |(state, time)| (*state, share(*time)))
    }

    /// Returns the share of one state in the stream-time of the row, or 0 if the state does not
    /// occur.
    pub fn share_of(&self, state: State) -> f64 {
        let mut shares = self.shares();
        let found = shares.find(|(other, _)| *other == state);
        found.map_or(0.0, |(_, share)| share)
    }

    /// Returns [`shares`](Self::shares) of the classes with their names, which are unique. For idle
    /// and absent streams use [`share_of`](Self::share_of).
    ///
    /// ```
    /// use perf_core::Job;
    /// use perf_fold::{RegionMap, State, Timelines, Usage};
    /// let trace = perf_core::samples::cosmo::trace();
    /// let map = RegionMap::by_name(trace.definitions())?;
    /// let timelines = Timelines::new(trace.view(), &map, &Job::default())?;
    /// let usage = Usage::of(&timelines, &[0, 1, 2], timelines.range(), &Job::default())?;
    /// let classes: f64 = usage.named_classes(timelines.classes()).map(|(_, share)| share).sum();
    /// let others = usage.share_of(State::Idle) + usage.share_of(State::Absent);
    /// assert!((classes + others - 1.0).abs() < 1e-9);
    /// # Ok::<(), perf_fold::Error>(())
    /// ```
    pub fn named_classes<'a>(
        &'a self,
        classes: &'a Classes,
    ) -> impl Iterator<Item = (&'a str, f64)> + 'a {
        let name = |(state, share): (State, f64)| state.class().map(|id| (classes.name(id), share));
        self.shares().filter_map(name)
    }

    /// Returns [`shares`](Self::shares) with the names of the states, for display. A class may be
    /// called `idle` or `absent` too; use [`named_classes`](Self::named_classes) for lookups by
    /// name.
    pub fn named<'a>(&'a self, classes: &'a Classes) -> impl Iterator<Item = (&'a str, f64)> + 'a {
        self.shares()
            .map(|(state, share)| (classes.state_name(state), share))
    }
}

/// Time by state code. The codes that occur are listed, so that a row with few of many classes
/// takes little time.
struct Times {
    /// Stream-ticks of each code.
    by_code: Vec<u64>,
    /// Codes that occur.
    occur: Vec<u32>,
}

impl Times {
    fn new(classes: usize) -> Self {
        Times {
            by_code: vec![0; classes + code::FIRST as usize],
            occur: Vec::new(),
        }
    }

    #[inline]
    fn add(&mut self, code: u32, length: u64) {
        let Some(time) = self.by_code.get_mut(code as usize) else {
            return;
        };
        if *time == 0 && length > 0 {
            self.occur.push(code);
        }
        *time = time.saturating_add(length);
    }

    /// Returns the codes that occur with their times.
    fn entries(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        let codes = self.occur.iter();
        codes.map(|code| (*code, self.by_code[*code as usize]))
    }
}

/// Times of one stream in each state, and the span of its work.
struct StreamTimes {
    /// Ticks in each code that occurs.
    times: Vec<(u32, u64)>,
    /// From the first begin of work to the last end; `None` without work.
    own: Option<TimeRange>,
}

impl StreamTimes {
    fn of(
        stream: (&Timelines, u32),
        window: TimeRange,
        job: &Job,
    ) -> std::result::Result<Self, Cancelled> {
        let mut times = Times::new(stream.0.classes().len());
        let mut own = None;
        walk(stream, window, &mut times, |busy| join(&mut own, busy), job)?;
        let times = times.entries().collect();
        Ok(StreamTimes { times, own })
    }
}

/// Extends a span by a busy interval.
fn join(span: &mut Option<TimeRange>, busy: TimeRange) {
    *span = Some(span.map_or(busy, |span| TimeRange {
        start: span.start.min(busy.start),
        end: span.end.max(busy.end),
    }));
}

/// Adds the times of a stream in each state, and calls `add` with its busy intervals.
fn walk(
    (timelines, stream): (&Timelines, u32),
    window: TimeRange,
    times: &mut Times,
    mut add: impl FnMut(TimeRange),
    job: &Job,
) -> std::result::Result<(), Cancelled> {
    job.check()?;
    let mut checks = job.checks();
    let mut known = 0u64;
    let mut open: Option<TimeRange> = None;
    let columns = timelines.stream(stream);
    let pieces = columns.into_iter();
    for (piece, code) in pieces.flat_map(|columns| sampling::pieces(columns, window)) {
        checks.next(1)?;
        times.add(code, piece.len());
        known = known.saturating_add(piece.len());
        if code < code::FIRST {
            continue;
        }
        // Consecutive classes form one busy interval.
        match &mut open {
            Some(open) if open.end == piece.start => open.end = piece.end,
            _ => open.replace(piece).into_iter().for_each(&mut add),
        }
    }
    open.into_iter().for_each(&mut add);
    // Zero-length work adds no time but may begin or end the span.
    let instants = columns.map_or(&[][..], |columns| &columns.instants);
    let from = instants.partition_point(|(at, _)| *at < window.start);
    let until = instants.partition_point(|(at, _)| *at <= window.end);
    // Empty if the window ends before it starts.
    let inside = instants.get(from..until).unwrap_or_default();
    for (at, _) in [inside.first(), inside.last()].into_iter().flatten() {
        add(TimeRange {
            start: *at,
            end: *at,
        });
    }
    times.add(code::ABSENT, window.len().saturating_sub(known));
    Ok(())
}

impl Folder {
    /// Computes the exact usage of each row over a window. The result does not depend on the
    /// operation. Takes time proportional to the number of transitions in the window.
    ///
    /// Progress is reported in rows, in the phase `usage`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Cancelled`](crate::Error::Cancelled) if the job is cancelled.
    pub fn usage(&self, window: TimeRange, job: &Job) -> Result<Vec<Usage>> {
        self.usage_with(window, |_| true, job)
    }

    /// Computes the usage of each row like [`usage`](Self::usage), but the union of busy intervals for
    /// rows of accelerator streams only. It takes most of the time, and the busy share of threads is
    /// without it: `busy`, `overlap`, `stream_time` and `intervals` of the other rows are 0, and all
    /// else is equal.
    ///
    /// ```
    /// use perf_core::{Job, LocationKind};
    /// use perf_fold::{Folder, RegionMap, Timelines};
    /// let trace = perf_core::samples::cosmo::trace();
    /// let job = Job::default();
    /// let timelines = Timelines::new(trace.view(), &RegionMap::by_name(trace.definitions())?, &job)?;
    /// let folder = Folder::default_for(&timelines)?;
    /// let window = timelines.range();
    /// let (all, shares) = (folder.usage(window, &job)?, folder.busy_shares(window, &job)?);
    /// let kind = LocationKind::CpuThread;
    /// assert_eq!(all[0].busy_share(kind), shares[0].busy_share(kind));
    /// assert_eq!(all[0].times, shares[0].times);
    /// assert_eq!(shares[0].utilisation.busy, 0);
    /// # Ok::<(), perf_fold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::Cancelled`](crate::Error::Cancelled) if the job is cancelled.
    pub fn busy_shares(&self, window: TimeRange, job: &Job) -> Result<Vec<Usage>> {
        let has_union = |kind| kind == LocationKind::AcceleratorStream;
        self.usage_with(window, has_union, job)
    }

    fn usage_with(
        &self,
        window: TimeRange,
        has_union: impl Fn(LocationKind) -> bool,
        job: &Job,
    ) -> Result<Vec<Usage>> {
        let plan = self.plan();
        let rows = plan.groups.rows().iter().map(|id| {
            let group = plan.groups.get(*id);
            let streams = group.map_or(&[][..], |group| &group.streams);
            (streams, group.is_some_and(|group| has_union(group.kind)))
        });
        let rows: Vec<(&[u32], bool)> = rows.collect();
        let done = || job.advance("usage", 1, rows.len() as u64);
        Ok(Usage::of_rows(&plan.timelines, &rows, window, done, job)?)
    }
}
