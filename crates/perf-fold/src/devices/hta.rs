//! [`Hta`]: device utilisation as Holistic Trace Analysis (HTA) defines it, for comparison.

use super::classification::WorkTable;
use super::device_work::{self, Part};
use super::{Piece, WorkRules};
use crate::Result;
use perf_core::{
    Clock, Definitions, Event, Job, LinkKind, RegionId, Ticks, TraceView, fits, parallel,
};
use std::collections::{BTreeMap, BTreeSet};

perf_core::parameters! {
    /// Selects which rules of Holistic Trace Analysis (HTA) are applied.
    ///
    /// The defaults are those of HTA 0.5.
    ///
    /// ```
    /// use perf_core::Job;
    /// use perf_fold::{Hta, HtaParams};
    /// let trace = perf_core::samples::device::trace();
    /// let found = Hta::of(trace.view(), &HtaParams::default(), &Job::default())?;
    /// // It has no profiler steps, and rounding to whole microseconds turns 100 ns into 0.
    /// assert_eq!((found[0].steps, found[0].left_out), (0, 0));
    /// let exact = Hta::of(trace.view(), &HtaParams::default().round_inwards(false), &Job::default())?;
    /// assert_eq!((exact[0].total, exact[0].idle), (100, 30));
    /// # Ok::<(), perf_fold::Error>(())
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct HtaParams {
        /// Sets whether work that was launched in the last profiler step counts. Default: false.
        ///
        /// HTA has an argument of the same name. In both cases work counts only if the host call that
        /// launched it is known. This call must begin no later than the end of the last step (true) or
        /// before its begin (false). **Work without a link therefore never counts.** Recordings with at
        /// most one distinct step name are not filtered.
        include_last_profiler_step: bool = false,
        /// Sets whether times are rounded to whole microseconds, begins up and ends down. Default: true. HTA
        /// does not round if `HTA_DISABLE_NS_ROUNDING` is set.
        ///
        /// With rounding, work shorter than a microsecond may end before it begins and reduce the sums.
        /// HTA behaves the same way.
        round_inwards: bool = true,
    }
}

/// HTA's breakdown of the time of one rank, in nanoseconds.
///
/// All devices of a rank are treated as one, as in HTA. For the utilisation as defined by this
/// crate see [`Devices`](super::Devices).
///
/// ```
/// use perf_core::Job;
/// use perf_fold::{Hta, HtaParams};
/// let trace = perf_core::samples::device::trace();
/// let ranks = Hta::of(trace.view(), &HtaParams::default(), &Job::default())?;
/// let hta = ranks[0];
/// assert_eq!(hta.busy() + hta.idle, hta.total);
/// assert_eq!(hta.busy(), hta.compute + hta.non_compute);
/// # Ok::<(), perf_fold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Hta {
    /// Rank, if the recording contains it.
    pub rank: Option<u64>,
    /// Time from the begin of the first work that counts to the end of the last: `kernel_time` in
    /// HTA.
    pub total: i64,
    /// Time without work.
    pub idle: i64,
    /// Time in which a kernel computes. As in HTA, this is work whose name matches none of
    /// `nccl*Kernel*`, `*Memcpy*`, `Memset*`, `dma*` and `*Sync*`.
    pub compute: i64,
    /// Remaining busy time: copies and communication without concurrent computation. Rounding may
    /// make it negative; HTA fails in this case.
    pub non_compute: i64,
    /// Number of pieces of work that count.
    pub events: u64,
    /// Number of pieces of work that do not count.
    pub left_out: u64,
    /// Number of distinct names of profiler steps in the recording, over all ranks.
    pub steps: usize,
}

impl Hta {
    /// Returns the busy time, which is the total time minus the idle time.
    pub fn busy(&self) -> i64 {
        self.total - self.idle
    }

    /// Returns the fraction of busy time; 0 if the total time is 0.
    pub fn utilisation(&self) -> f64 {
        match self.total {
            0 => 0.0,
            total => self.busy() as f64 / total as f64,
        }
    }

    /// Computes the breakdown of each rank of a view that has work, in order of ranks.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Cancelled`](crate::Error::Cancelled) if the job is cancelled.
    pub fn of(view: TraceView<'_>, params: &HtaParams, job: &Job) -> Result<Vec<Hta>> {
        let names = steps(view);
        let distinct: BTreeSet<&str> = names.values().copied().collect();
        let ends = last_steps(view, &names, job)?;
        let launches = device_work::launches(view, |kind| kind == LinkKind::Launch, job)?;
        let rules = WorkRules::none();
        let table = WorkTable::new(&rules, view.definitions());
        let computes = computes(view);
        let mut ranks: BTreeMap<Option<u64>, Vec<Part>> = BTreeMap::new();
        for part in device_work::parts(view) {
            ranks.entry(part.rank).or_default().push(part);
        }
        let ranks: Vec<_> = ranks.into_iter().collect();
        let rounder = Rounder::new(view.definitions(), params.round_inwards);
        let found = parallel::try_map(ranks.len(), |at| -> Result<_> {
            let (rank, parts) = &ranks[at];
            let limit = ends.get(rank).filter(|_| distinct.len() > 1);
            let counts = |piece: &Piece| match limit {
                None => true,
                Some((start, end)) => piece.launch.is_some_and(|at| {
                    let at = rounder.begin(at);
                    if params.include_last_profiler_step {
                        at <= rounder.end(start.0, end.0)
                    } else {
                        at < rounder.begin(start.0)
                    }
                }),
            };
            let mut all = Vec::new();
            let mut own = Vec::new();
            let mut left_out = 0;
            for part in parts {
                let known = (&launches, &table);
                device_work::each(view, part, known, job, |piece, region| {
                    if !counts(&piece) {
                        left_out += 1;
                        return;
                    }
                    let range = (
                        rounder.begin(piece.start),
                        rounder.end(piece.start, piece.end),
                    );
                    all.push(range);
                    if computes.get(region.index()).is_none_or(|it| *it) {
                        own.push(range);
                    }
                })?;
            }
            let events = all.len() as u64;
            let (busy, total) = merged(&mut all, job)?;
            let (compute, _) = merged(&mut own, job)?;
            Ok(Hta {
                rank: *rank,
                total: narrow(total),
                idle: narrow(total - busy),
                compute: narrow(compute),
                non_compute: narrow(busy - compute),
                events,
                left_out,
                steps: distinct.len(),
            })
        })?;
        Ok(found
            .into_iter()
            .filter(|it| it.events + it.left_out > 0)
            .collect())
    }
}

fn narrow(time: i128) -> i64 {
    i64::try_from(time).unwrap_or(if time < 0 { i64::MIN } else { i64::MAX })
}

/// Converts times to nanoseconds since 1970, so that whole microseconds are the same as in the
/// file. If the real time is unknown, times count from the origin of the clock.
#[derive(Debug)]
struct Rounder {
    /// Clock of the recording.
    clock: Clock,
    /// `true` if times are rounded.
    rounds: bool,
    /// `true` if the file counts microseconds since 1970. HTA stores these in binary floating
    /// point, which resolves a quarter of a microsecond, before it rounds.
    quarters: bool,
}

impl Rounder {
    fn new(definitions: &Definitions, rounds: bool) -> Self {
        let mut names = definitions.properties.iter().map(|(name, _)| name);
        let has_base = names.any(|name| name.ends_with("baseTimeNanoseconds"));
        Rounder {
            clock: definitions.clock,
            rounds,
            quarters: !has_base && definitions.clock.realtime.is_some(),
        }
    }

    fn nanos(&self, at: u64) -> i128 {
        let nanos = self.clock.nanos(Ticks(at)).unwrap_or_default();
        i128::from(nanos.0) + i128::from(self.clock.realtime.unwrap_or(0))
    }

    /// Converts the begin of an interval.
    fn begin(&self, at: u64) -> i128 {
        let nanos = self.nanos(at);
        match (self.rounds, self.quarters) {
            (false, _) => nanos,
            (true, false) => -((-nanos).div_euclid(1_000)) * 1_000,
            (true, true) => micros(nanos).ceil() as i128 * 1_000,
        }
    }

    /// Converts the end of an interval.
    fn end(&self, start: u64, end: u64) -> i128 {
        let (start, end) = (self.nanos(start), self.nanos(end));
        match (self.rounds, self.quarters) {
            (false, _) => end,
            (true, false) => end.div_euclid(1_000) * 1_000,
            (true, true) => (micros(start) + micros(end - start)).floor() as i128 * 1_000,
        }
    }
}

/// Returns the floating-point number nearest to a decimal fraction of three digits, as JSON parsers
/// read it.
fn micros(nanos: i128) -> f64 {
    let (whole, rest) = (nanos.div_euclid(1_000), nanos.rem_euclid(1_000));
    let text = format!("{whole}.{rest:03}");
    text.parse().unwrap_or(0.0)
}

/// Returns the total length of the merged intervals, and the time from the first begin to the last
/// end. Intervals that end before they begin are not corrected; such an interval has negative
/// length.
fn merged(all: &mut Vec<(i128, i128)>, job: &Job) -> Result<(i128, i128)> {
    job.sort_by(all, Ord::cmp)?;
    let mut busy = 0;
    let mut open: Option<(i128, i128)> = None;
    let mut highest = i128::MIN;
    let mut checks = job.checks();
    for (start, end) in all.iter().copied() {
        checks.next(1)?;
        open = match open {
            Some((first, last)) if start <= highest => Some((first, last.max(end))),
            other => {
                busy += other.map_or(0, |(first, last)| last - first);
                Some((start, end))
            }
        };
        highest = highest.max(end);
    }
    let begin = all.first().map_or(0, |first| first.0);
    let last = open.map_or(begin, |(_, last)| last);
    busy += open.map_or(0, |(first, last)| last - first);
    Ok((busy, last - begin))
}

/// Returns the regions that are profiler steps, with their names.
fn steps<'a>(view: TraceView<'a>) -> BTreeMap<RegionId, &'a str> {
    let regions = (0..).map(RegionId).zip(&view.definitions().regions);
    let named = regions.map(|(id, region)| (id, region.name.as_str()));
    named
        .filter(|(_, name)| name.contains("ProfilerStep"))
        .collect()
}

/// Returns the last begin and the last end of a step on the host, for each rank.
fn last_steps(
    view: TraceView<'_>,
    steps: &BTreeMap<RegionId, &str>,
    job: &Job,
) -> Result<BTreeMap<Option<u64>, (Ticks, Ticks)>> {
    let system = &view.definitions().system;
    let mut ends: BTreeMap<Option<u64>, (Ticks, Ticks)> = BTreeMap::new();
    if steps.is_empty() {
        return Ok(ends);
    }
    for location in view.locations() {
        let kind = system.location(location.id()).map(|it| it.kind);
        if kind.is_some_and(perf_core::LocationKind::may_overlap) {
            continue;
        }
        let events = location.all();
        let mut checks = job.checks();
        for index in 0..events.len() {
            checks.next(1)?;
            let (region, is_end) = match events.event(index) {
                Some(Event::Enter { region }) => (region, false),
                Some(Event::Leave { region }) => (region, true),
                _ => continue,
            };
            if !steps.contains_key(&region) {
                continue;
            }
            let at = events.time(index).unwrap_or_default();
            let rank = device_work::rank(system, location.id());
            let last = ends.entry(rank).or_default();
            let last = if is_end { &mut last.1 } else { &mut last.0 };
            *last = at.max(*last);
        }
    }
    Ok(ends)
}

/// Returns for each region `true` if HTA classifies it as computation.
fn computes(view: TraceView<'_>) -> Vec<bool> {
    let others = ["nccl*Kernel*", "*Memcpy*", "Memset*", "dma*", "*Sync*"];
    let computes = |name: &str| !others.iter().any(|pattern| fits(pattern, name));
    let regions = view.definitions().regions.iter();
    regions.map(|region| computes(&region.name)).collect()
}
