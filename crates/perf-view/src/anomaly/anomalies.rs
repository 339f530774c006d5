//! [`Anomalies`]: ranks, functions and recorded calls that pictures and pages of abnormal calls
//! show, collected from a [`Report`].

use super::counts::Counts;
use super::distribution::Distribution;
use crate::{Palette, Result};
use perf_anomaly::calls::Calls;
use perf_anomaly::lost_time::Lasting;
use perf_anomaly::provenance::{Kind, Order, Query, Record};
use perf_anomaly::server::{RankSummary, Ranking, Ranks};
use perf_anomaly::{
    CounterSummary, Detector, LongCall, Loss, Losses, Report, Unjudged, UnjudgedCall,
};
use perf_core::Nanos;

/// Ranks with their steps, functions and recorded calls. This is the input of pictures and pages of
/// anomalies.
///
/// ```
/// use perf_anomaly::provenance::Recorder;
/// use perf_anomaly::{Monitor, Watch};
/// use perf_core::{Job, Nanos};
/// use perf_view::{Page, anomaly::{Anomalies, View}};
/// let recorder = Recorder::default();
/// let mut watch = Watch::new(Monitor::default().record(recorder), 0, 3);
/// let solve = watch.region("solve");
/// for at in 0..1000 {
///     watch.enter(0, solve, Nanos(1_000_000 * at));
///     let slow = if at == 700 { 9 } else { 1 };
///     watch.exit(0, solve, Nanos(1_000_000 * at + slow * (50_000 + at * 37 % 1000)));
/// }
/// let mut report = watch.into_sink().finish()?;
/// let found = Anomalies::of(&mut report)?;
/// assert_eq!(found.records().len(), 2);
/// let section = View::new(&found).section(&Job::default())?;
/// assert!(Page::new("Abnormal").with(section).html(&Job::default())?.contains("solve"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Anomalies {
    /// Statistics of the ranks, sorted by program and rank.
    pub(super) ranks: Vec<RankSummary>,
    /// Time that each of them lost by all causes.
    pub(super) lost: Vec<Nanos>,
    /// Anomalies by step and rank.
    pub(super) counts: Counts,
    /// Functions with anomalies, the function with the most lost time first.
    pub(super) functions: Vec<Function>,
    /// Recorded calls: abnormal calls with the worst first, then normal calls for comparison.
    pub(super) records: Vec<Record>,
    /// Functions with their longest call that was not judged, the longest call first.
    pub(super) unjudged: Vec<(String, UnjudgedCall)>,
    /// Calls without an alarm that are far longer than all earlier ones of their function, the longest first.
    pub(super) long: Vec<(String, LongCall)>,
    /// Counters over all ranks.
    pub(super) counters: Vec<CounterSummary>,
    /// Number of values of counters that are in no statistics.
    pub(super) uncounted: u64,
    /// Number of anomalies without a record.
    pub(super) unrecorded: u64,
    /// Time that slow ranks lost: index of the rank, first and last step, and nanoseconds.
    pub(super) slow: Vec<(usize, u64, u64, i64)>,
    /// Time that new modes lost in calls that are no alarms: index of the rank, first and last step, and
    /// nanoseconds.
    pub(super) modes: Vec<(usize, u64, u64, i64)>,
    /// Time that slow phases lost on all ranks: first and last step, and nanoseconds.
    pub(super) phases: Vec<(u64, u64, i64)>,
    /// `true` if no time was lost, so that pictures show the time of waiting.
    pub(super) waits: bool,
    /// Sentences about lost time: the sum, and then the most important cause first.
    pub(super) causes: Vec<String>,
    /// Sentences about functions that became slower or faster.
    pub(super) changes: Vec<String>,
}

/// A function with anomalies.
#[derive(Clone, Debug)]
pub(super) struct Function {
    /// Name of the function.
    pub(super) name: String,
    /// Program, if there are several.
    pub(super) program: Option<u32>,
    /// Counts of its abnormal calls and the time that they lost.
    pub(super) loss: Loss,
    /// Distribution of the run times of the function; `None` beyond the first [`DISTRIBUTIONS`]
    /// functions, or if the detector has no distribution.
    pub(super) distribution: Option<Distribution>,
}

/// Maximum number of functions with a distribution. Functions with the most lost time take
/// precedence.
const DISTRIBUTIONS: usize = 200;
/// Maximum number of unjudged calls.
const UNJUDGED: usize = 20;
/// Maximum number of calls that are far longer than all earlier ones.
const LONG_CALLS: usize = 5;

impl Anomalies {
    /// Returns a value without ranks, functions and records.
    pub fn new() -> Self {
        Self::default()
    }

    /// Collects ranks, functions and unjudged calls from a report, and all records of its store.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Anomaly`](crate::Error::Anomaly) if the store cannot be read.
    pub fn of(report: &mut Report) -> Result<Self> {
        let records = match &mut report.store {
            Some((store, _)) => store.query(&Query {
                order: Order::Severity,
                ..Query::default()
            })?,
            None => Vec::new(),
        };
        let found = Self::new()
            .with_ranks(&report.ranks)
            .with_functions(&report.calls, &report.losses, &*report.detector)
            .with_unjudged(&report.calls, &report.unjudged)
            .with_lasting(&report.lasting, &report.calls)
            .with_counters(report.counters())
            .with_records(records);
        Ok(Anomalies {
            uncounted: report.dropped_counter_values(),
            ..found
        })
    }

    /// Sets the ranks and their counts by step.
    pub fn with_ranks(mut self, ranks: &Ranks) -> Self {
        self.ranks = ranks.ranked(Ranking::Total);
        self.ranks.sort_by_key(|rank| (rank.program, rank.rank));
        self.lost = self.ranks.iter().map(|rank| rank.loss.time).collect();
        self.counts = Counts::of(&self.ranks, ranks);
        self.count();
        self
    }

    /// Sets the functions with anomalies. The 200 functions with the most lost time have a
    /// distribution.
    pub fn with_functions(
        mut self,
        calls: &Calls,
        losses: &Losses,
        detector: &dyn Detector,
    ) -> Self {
        let model = detector.snapshot();
        let mut abnormal = losses.worst_functions();
        abnormal.retain(|(_, loss)| loss.anomalies() > 0);
        let functions = abnormal
            .into_iter()
            .enumerate()
            .map(|(at, (id, loss))| Function {
                name: calls.function_name(id),
                program: calls
                    .has_programs()
                    .then(|| calls.function_program(id))
                    .flatten(),
                loss,
                distribution: (at < DISTRIBUTIONS)
                    .then(|| Distribution::of(&model, detector, id))
                    .flatten(),
            });
        self.functions = functions.collect();
        self
    }

    /// Sets the longest unjudged calls, at most 20, and the calls without an alarm that are far longer than all earlier
    /// ones, at most 5.
    pub fn with_unjudged(mut self, calls: &Calls, unjudged: &Unjudged) -> Self {
        let longest = unjudged.longest(UNJUDGED).into_iter();
        let named = longest.map(|call| (calls.function_name(call.function), call));
        self.unjudged = named.collect();
        let long = unjudged.long_calls().into_iter().take(LONG_CALLS);
        let named = long.map(|long| (calls.function_name(long.call.function), long));
        self.long = named.collect();
        self
    }

    /// Sets the counters over all ranks.
    pub fn with_counters(mut self, counters: Vec<CounterSummary>) -> Self {
        self.counters = counters;
        self
    }

    /// Sets the time that slow ranks, new modes and slow phases lost by step; `calls` are those of the same monitor.
    /// Ranks must have been set. If no time was lost, the time of modes is that of calls that wait for others.
    pub fn with_lasting(mut self, lasting: &Lasting, calls: &Calls) -> Self {
        let at = |rank: (u32, u32)| {
            let key = |one: &RankSummary| (one.program, one.rank);
            self.ranks.binary_search_by_key(&rank, key).ok()
        };
        self.lost = lasting.lost_by_rank(&self.ranks, calls);
        self.waits = self.lost.iter().all(|lost| lost.0 == 0);
        let slowness = lasting.peers().slowness();
        let found = slowness.rank_steps.iter();
        let found = found.filter_map(|step| {
            let at = at((step.program, step.rank))?;
            Some((at, step.first, step.last, step.lost.0))
        });
        let slow = found.collect();
        // Alarms have a place of their own among the abnormal calls.
        let modes = lasting.modes().steps();
        let modes = modes.filter(|step| calls.waits(step.function) == self.waits);
        let modes = modes.filter_map(|step| {
            let at = at((step.program, step.rank))?;
            Some((at, step.first, step.last, step.lost.0))
        });
        let modes = modes.collect();
        (self.slow, self.modes) = (slow, modes);
        let phases = slowness.phase_steps.iter();
        self.phases = phases
            .map(|one| (one.first, one.last, one.lost.0))
            .collect();
        self.waits &= self.phases.is_empty();
        self
    }

    /// Sets sentences about lost time, which a page shows first: one about the sum, and then one for
    /// each cause, which the page numbers. The first one may have several lines, which are paragraphs of the page.
    pub fn with_causes(mut self, causes: impl IntoIterator<Item = String>) -> Self {
        self.causes = causes.into_iter().collect();
        self
    }

    /// Sets sentences about functions that became slower or faster, which a page lists.
    pub fn with_changes(mut self, changes: impl IntoIterator<Item = String>) -> Self {
        self.changes = changes.into_iter().collect();
        self
    }

    /// Sets the recorded calls and sorts them: abnormal calls before normal calls, then by
    /// severity.
    pub fn with_records(mut self, records: impl IntoIterator<Item = Record>) -> Self {
        self.records = records.into_iter().collect();
        self.records.sort_by(|one, other| {
            let kind = one.kind.cmp(&other.kind);
            let worst = other.severity.cmp(&one.severity);
            kind.then(worst).then(other.score.total_cmp(&one.score))
        });
        self.count();
        self
    }

    /// Returns the recorded calls: abnormal calls with the worst first, then normal calls for
    /// comparison.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Returns the colours of functions, which are the same in all pictures of these anomalies.
    pub(super) fn palette(&self) -> Palette {
        let calls = self.records.iter().flat_map(|record| {
            let around = record.before.iter().chain(&record.after);
            record.stack.iter().chain([&record.call]).chain(around)
        });
        Palette::plan(calls.map(|call| call.function.as_str()))
    }

    /// Returns a statistic of the rank with an index. The time lost is that of all causes.
    pub(super) fn statistic(&self, at: usize, by: Ranking) -> f64 {
        match by {
            Ranking::TimeLost => self.lost[at].0 as f64,
            by => self.ranks[at].statistic(by),
        }
    }

    /// Returns the ranks with their index and statistic, the highest statistic first.
    pub(super) fn ranked(&self, by: Ranking) -> Vec<(usize, &RankSummary, f64)> {
        let all = self.ranks.iter().enumerate();
        let mut all: Vec<_> = all
            .map(|(at, rank)| (at, rank, self.statistic(at, by)))
            .collect();
        all.sort_by(|one, other| other.2.total_cmp(&one.2));
        all
    }

    fn count(&mut self) {
        let anomalies = self
            .ranks
            .iter()
            .map(|rank| rank.loss.anomalies())
            .sum::<u64>();
        let recorded = self.records.iter().filter(|one| one.kind == Kind::Anomaly);
        self.unrecorded = anomalies.saturating_sub(recorded.count() as u64);
    }
}

/// Statistics by which ranks can be ranked, with their names.
pub(super) const RANKINGS: [(Ranking, &str); 6] = [
    (Ranking::Total, "anomalies in total"),
    (Ranking::Mean, "mean anomalies per step"),
    (
        Ranking::Deviation,
        "standard deviation of anomalies per step",
    ),
    (Ranking::Maximum, "maximum anomalies per step"),
    (Ranking::Minimum, "minimum anomalies per step"),
    (Ranking::TimeLost, "time lost"),
];

/// Returns the display name of a rank. It contains the program unless the program is 0.
pub(super) fn rank_name(program: u32, rank: u32) -> String {
    match program {
        0 => format!("rank {rank}"),
        program => format!("rank {rank} of program {program}"),
    }
}
