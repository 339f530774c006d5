//! [`Anomalies`]: what is shown of abnormal calls, without any drawing.

use super::counts::Counts;
use super::distribution::Distribution;
use crate::{Palette, Result};
use perf_anomaly::calls::Calls;
use perf_anomaly::provenance::{Kind, Order, Query, Record};
use perf_anomaly::server::{RankSummary, Ranking, Ranks};
use perf_anomaly::{Detector, Loss, Losses, Report, Unjudged, UnjudgedCall};

/// Ranks, their steps, functions and recorded calls: what pictures and pages of anomalies are drawn from.
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
    /// By program and rank.
    pub(super) ranks: Vec<RankSummary>,
    pub(super) counts: Counts,
    /// Most time lost first.
    pub(super) functions: Vec<Function>,
    /// The worst first, then normal ones to compare with.
    pub(super) records: Vec<Record>,
    /// Function and longest call that was not judged, the longest first.
    pub(super) unjudged: Vec<(String, UnjudgedCall)>,
    /// How many anomalies there are that have no record here.
    pub(super) unrecorded: u64,
}

/// A function with its model.
#[derive(Clone, Debug)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) loss: Loss,
    pub(super) distribution: Option<Distribution>,
}

/// Functions whose distributions are kept: those that lost most time.
const DISTRIBUTIONS: usize = 200;
/// Calls that were not judged, at most.
const UNJUDGED: usize = 20;

impl Anomalies {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// All that a report has, with the records of its store.
    ///
    /// # Errors
    /// Those of the store.
    pub fn of(report: &mut Report) -> Result<Self> {
        let records = match &mut report.store {
            Some((store, _)) => store.query(&Query {
                order: Order::Severity,
                ..Query::default()
            })?,
            None => Vec::new(),
        };
        Ok(Self::new()
            .with_ranks(&report.ranks)
            .with_functions(&report.calls, &report.losses, &*report.detector)
            .with_unjudged(&report.calls, &report.unjudged)
            .with_records(records))
    }

    /// The same with these ranks and the counts of the steps they keep.
    pub fn with_ranks(mut self, ranks: &Ranks) -> Self {
        self.ranks = ranks.ranked(Ranking::Total);
        self.ranks.sort_by_key(|rank| (rank.program, rank.rank));
        self.counts = Counts::of(&self.ranks, ranks);
        self.count();
        self
    }

    /// The same with the functions that lost something, and the distributions of those that lost most.
    pub fn with_functions(
        mut self,
        calls: &Calls,
        losses: &Losses,
        detector: &dyn Detector,
    ) -> Self {
        let model = detector.snapshot();
        let abnormal = losses.worst_functions().into_iter();
        let abnormal = abnormal.filter(|(_, loss)| loss.anomalies() > 0);
        let functions = abnormal.enumerate().map(|(at, (id, loss))| Function {
            name: calls.function_name(id),
            loss,
            distribution: (at < DISTRIBUTIONS)
                .then(|| Distribution::of(&model, detector, id))
                .flatten(),
        });
        self.functions = functions.collect();
        self
    }

    /// The same with the longest calls that were not judged, at most 20.
    pub fn with_unjudged(mut self, calls: &Calls, unjudged: &Unjudged) -> Self {
        let longest = unjudged.longest(UNJUDGED).into_iter();
        let named = longest.map(|call| (calls.function_name(call.function), call));
        self.unjudged = named.collect();
        self
    }

    /// The same with these records: they are put into order.
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

    /// The recorded calls, the worst first, then normal ones to compare them with.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Colours of functions, the same in all pictures of these anomalies.
    pub(super) fn palette(&self) -> Palette {
        let calls = self.records.iter().flat_map(|record| {
            let around = record.before.iter().chain(&record.after);
            record.stack.iter().chain([&record.call]).chain(around)
        });
        Palette::plan(calls.map(|call| call.function.as_str()))
    }

    /// The ranks, the highest first by a statistic.
    pub(super) fn ranked(&self, by: Ranking) -> Vec<(usize, &RankSummary, f64)> {
        let all = self.ranks.iter().enumerate();
        let mut all: Vec<_> = all
            .map(|(at, rank)| (at, rank, statistic(rank, by)))
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

/// What ranks are ranked by.
pub(super) const RANKINGS: [(Ranking, &str); 6] = [
    (Ranking::Total, "anomalies in all"),
    (Ranking::Mean, "anomalies a step"),
    (Ranking::Deviation, "deviation of anomalies a step"),
    (Ranking::Maximum, "most anomalies in a step"),
    (Ranking::Minimum, "fewest anomalies in a step"),
    (Ranking::TimeLost, "time lost"),
];

pub(super) fn statistic(rank: &RankSummary, by: Ranking) -> f64 {
    match by {
        Ranking::Mean => rank.anomalies.mean(),
        Ranking::Deviation => rank.anomalies.std_dev(),
        Ranking::Minimum => rank.anomalies.min().unwrap_or_default(),
        Ranking::Maximum => rank.anomalies.max().unwrap_or_default(),
        Ranking::TimeLost => rank.loss.time.0 as f64,
        _ => rank.anomalies.sum(),
    }
}

/// What a rank is called.
pub(super) fn rank_name(program: u32, rank: u32) -> String {
    match program {
        0 => format!("rank {rank}"),
        program => format!("rank {rank} of program {program}"),
    }
}
