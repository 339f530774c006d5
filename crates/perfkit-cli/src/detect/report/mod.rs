//! Report of `detect`: the results of the detection ([`Detected`]), and the modules that print them.

mod comparison;
mod counters;
mod json;
mod lost_time_causes;
mod not_judged;
mod places;
mod records;
mod recurring_alarms;
mod text;

use super::replayed::Replayed;
use super::run_time::RunTime;
use crate::failure::{Failure, Outcome, input};
use comparison::Compared;
pub(crate) use lost_time_causes::Printed;
use perfkit::anomaly::calls::Calls;
use perfkit::anomaly::lost_time::{Cause, SlowRank};
use perfkit::anomaly::provenance::{Kind, Order, Pruned, Query, Record, Reduction, Store};
use perfkit::anomaly::server::{RankSummary, Ranking};
use perfkit::anomaly::{
    Change, Error, FunctionId, Iterations, Loss, Monitor, Report, describe_changes,
};
use perfkit::core::{Diagnostics, Job, Nanos, Weight};
use perfkit::view::anomaly::Anomalies;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Options of the output.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    /// Files of the source.
    pub(crate) files: Vec<PathBuf>,
    /// Name of the detection method.
    pub(crate) method: &'static str,
    /// Order of the ranks.
    pub(crate) ranking: Ranking,
    /// Store of the records, if there is one.
    pub(crate) provenance: Option<PathBuf>,
    /// `true` if records are judged again by the final model.
    pub(crate) prune: bool,
    /// Number of ranks, functions and calls to list.
    pub(crate) top: usize,
    /// `true` if a picture or page is written.
    pub(crate) draws: bool,
    /// Patterns of the functions for which the user set a threshold.
    pub(crate) thresholds: Vec<String>,
    /// Sentences about options without which times would be others.
    pub(crate) notes: Vec<String>,
}

/// Results of a run of the detection.
#[derive(Debug)]
pub(crate) struct Detected {
    /// Options of the output.
    shown: Shown,
    /// Calls, losses and changes of the monitor.
    report: Report,
    /// Summaries of the ranks, in the chosen order.
    ranks: Vec<RankSummary>,
    /// Time lost on these ranks by all causes.
    lost_by_rank: Vec<Nanos>,
    /// Program, name and losses of each function.
    functions: Vec<(u32, String, Loss)>,
    /// Time that calls of these ranks waited for others longer than usual.
    waiting_by_rank: Vec<Nanos>,
    /// Time that calls of these functions waited for others longer than usual.
    waiting_by_function: Vec<Nanos>,
    /// Time that these functions lost in slow calls, new modes and slow phases, and on slow ranks if they lost most there.
    lost_by_function: Vec<Nanos>,
    /// `true` if there are several programs.
    many: bool,
    /// Causes of lost time, the most important first.
    causes: Vec<Cause>,
    /// Worst calls.
    worst: Vec<Record>,
    /// Numbers of recorded and dropped calls, and their sizes.
    reduction: Reduction,
    /// Result of judging the records again; `None` without `prune`.
    pruned: Option<Pruned>,
    /// Store of the records.
    store: Box<dyn Store>,
    /// Comparison with another run, if there is one.
    compared: Option<Compared>,
    /// Repairs and losses of the reader.
    diagnostics: Diagnostics,
    /// First store error, if any.
    failed: Option<Error>,
    /// Comparison of the lost time with a replay, or the reason why there is none; `None` for streams, and if no time
    /// was lost.
    run_time: Option<Result<RunTime, String>>,
    /// Length of a step; `None` for streams and iterations.
    step_length: Option<Nanos>,
    /// Iterations that are steps.
    iterations: Option<Iterations>,
    /// Sentence about the steps of a recording; `None` for streams.
    step_sentence: Option<String>,
    /// Begins of the steps of a recording on its first rank, and the end of the last one.
    begins: Vec<Nanos>,
    /// Number of pipeline stages of a process, if each is a rank.
    stages: Option<u32>,
    /// Anomalies for drawing, if a picture or page is written.
    drawn: Option<Anomalies>,
}

/// Describes a function that became slower or faster.
pub(crate) fn changed(calls: &Calls, change: &Change) -> String {
    change.sentence(&calls.function_name(change.function))
}

/// Describes the functions that became slower or faster, one sentence each: first those that work, then those that wait
/// for others.
fn changes(report: &Report) -> Vec<String> {
    let drift = report.drift.as_ref();
    let changes = drift.map_or(&[][..], |drift| drift.changes());
    let peers = report.lasting.peers();
    let waits = |function| !peers.compares(function);
    let name = |function| report.calls.function_name(function);
    let all = describe_changes(changes, waits, name, Change::sentence);
    all.into_iter().map(|(_, sentence)| sentence).collect()
}

/// Largest number of changed functions on a page.
const PAGE_CHANGES: usize = 100;
/// Largest number of causes of lost time on a page.
const PAGE_CAUSES: usize = 100;

impl Detected {
    /// Ends the stream, reads the worst anomalies from the store, and judges them again if `prune`
    /// is set. The lost time of a `replayed` recording is compared with a replay without it.
    ///
    /// # Errors
    /// Returns [`Failure::Input`] if the store cannot be written.
    pub(crate) fn new(
        shown: Shown,
        monitor: Monitor,
        diagnostics: Diagnostics,
        replayed: Option<Replayed<'_>>,
    ) -> Result<Self, Failure> {
        let (mut report, failed) = match monitor.finish() {
            Ok(report) => (report, None),
            Err(unfinished) => match unfinished.report {
                Some(report) => (*report, Some(unfinished.error)),
                None => return Err(input(unfinished.error)),
            },
        };
        let pruned = if shown.prune && failed.is_none() {
            report.prune(&Job::default()).map_err(input)?
        } else {
            None
        };
        let kept = report.store.take();
        let step_length = replayed.as_ref().and_then(Replayed::step_length);
        let iterations = replayed.as_ref().and_then(Replayed::iterations).cloned();
        let steps = replayed.as_ref().and_then(Replayed::sentence);
        let begins = replayed.as_ref().map_or_else(Vec::new, Replayed::begins);
        let stages = replayed.as_ref().and_then(Replayed::stages);
        let Some((mut store, reduction)) = kept else {
            return Err(Failure::Input("nothing was recorded".into()));
        };
        let run_time = replayed.and_then(|it| it.run_time(&report, &mut *store));
        let (causes, failed) = match lost_time_causes::all(&report, &mut *store) {
            Ok(causes) => (causes, failed),
            Err(error) => (report.causes(|_| None), failed.or(Some(error))),
        };
        report.store = Some((store, reduction));
        let drawn = if shown.draws && failed.is_none() {
            let found = Anomalies::of(&mut report).map_err(crate::pictures::failed)?;
            let mut sentences = lost_time_causes::sentences(
                &report,
                (run_time.as_ref(), steps.is_some(), &shown.notes),
                &causes,
                PAGE_CAUSES,
            );
            let recurring = recurring_alarms::sentences(&report, &shown.thresholds, shown.top);
            let recurring = match &recurring[..] {
                [heading, functions @ ..] => Some(format!("{heading}: {}", functions.join("; "))),
                [] => None,
            };
            if let Some(sum) = sentences.first_mut() {
                let not_judged = not_judged::unjudged_times(&report);
                for more in not_judged.iter().chain(&steps).chain(&recurring) {
                    *sum += &format!("\n{more}");
                }
            }
            let changes = changes(&report).into_iter().take(PAGE_CHANGES);
            Some(found.with_causes(sentences).with_changes(changes))
        } else {
            None
        };
        let Some((mut store, reduction)) = report.store.take() else {
            return Err(Failure::Input("nothing was recorded".into()));
        };
        let query = Query {
            kind: Some(Kind::Anomaly),
            order: Order::Severity,
            limit: Some(shown.top),
            ..Query::default()
        };
        let (worst, failed) = match store.query(&query) {
            Ok(worst) => (worst, failed),
            Err(error) => (Vec::new(), failed.or(Some(error))),
        };
        let functions = report.losses.worst_functions();
        let lasting = report.lasting.lost_by_function(&report.calls);
        let lost_by_function = functions.iter().map(|(id, loss)| {
            // Most functions have no modes and phases.
            let lasting = lasting.get(id).copied().unwrap_or_default();
            Nanos(loss.time.0.saturating_add(lasting.0))
        });
        let lost_by_function = lost_by_function.collect();
        let in_modes = report.lasting.waiting_by_function(&report.calls);
        let waiting_by_function = functions.iter().map(|(id, loss)| {
            // Most functions wait in single calls only.
            let in_modes = in_modes.get(id).copied().unwrap_or_default();
            Nanos(loss.waiting.0.saturating_add(in_modes.0).max(0))
        });
        let waiting_by_function = waiting_by_function.collect();
        let row = |(id, loss)| {
            let program = report.calls.function_program(id).unwrap_or_default();
            (program, report.calls.function_name(id), loss)
        };
        let functions: Vec<_> = functions.into_iter().map(row).collect();
        let mut ranks = report.ranks.ranked(shown.ranking);
        let mut lost_by_rank = report.lasting.lost_by_rank(&ranks, &report.calls);
        let mut waiting_by_rank = report.lasting.waiting_by_rank(&ranks, &report.calls);
        if shown.ranking == Ranking::TimeLost {
            let times = lost_by_rank.into_iter().zip(waiting_by_rank);
            let mut all: Vec<_> = ranks.into_iter().zip(times).collect();
            all.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
            (ranks, (lost_by_rank, waiting_by_rank)) = all.into_iter().unzip();
        }
        Ok(Detected {
            ranks,
            lost_by_rank,
            waiting_by_rank,
            waiting_by_function,
            functions,
            lost_by_function,
            many: report.calls.has_programs(),
            causes,
            worst,
            reduction,
            pruned,
            store,
            compared: None,
            diagnostics,
            failed,
            run_time,
            step_length,
            iterations,
            step_sentence: steps,
            begins,
            stages,
            drawn,
            report,
            shown,
        })
    }

    /// Returns the anomalies for drawing; `None` if no picture is written or the store failed.
    pub(crate) fn drawn(&self) -> Option<&Anomalies> {
        self.drawn.as_ref()
    }

    /// Returns the begin of a step of a recording, and the share of the run before it, on the first rank.
    pub(crate) fn step_begin(&self, step: u64) -> Option<(Nanos, f64)> {
        let (first, last) = (self.begins.first()?, self.begins.last()?);
        let begin = *self.begins.get(usize::try_from(step).ok()?)?;
        let before = begin.0.saturating_sub(first.0) as f64;
        Some((begin, before / last.0.saturating_sub(first.0).max(1) as f64))
    }

    /// Returns the worst calls, the worst first.
    pub(crate) fn worst(&self) -> &[Record] {
        &self.worst
    }

    /// Returns the number of slow calls of functions that wait for others.
    pub(crate) fn slow_waits(&self) -> u64 {
        let waits = self.functions.iter().map(|(.., loss)| loss);
        let waits = waits.filter(|loss| loss.waiting > loss.time);
        waits.map(|loss| loss.too_slow).sum()
    }

    /// Returns the functions with their losses, by falling time lost, without those whose slow calls wait for others.
    pub(crate) fn functions_lost(&self) -> Vec<(&str, &Loss)> {
        let functions = self.functions.iter();
        functions
            .filter(|(.., loss)| loss.waiting <= loss.time)
            .map(|(_, name, loss)| (name.as_str(), loss))
            .collect()
    }

    /// Returns the slow ranks with the function in which each lost most, by falling time lost.
    pub(crate) fn slow_ranks(&self) -> Vec<(SlowRank, String)> {
        let slow = self.report.lasting.peers().slow_ranks().into_iter();
        slow.map(|one| (one, self.report.calls.function_name(one.function)))
            .collect()
    }

    /// Returns each function that became slower or faster, with its changes in order of time and its number of
    /// calls.
    pub(crate) fn changed_functions(&self) -> Vec<(String, Vec<Change>, u64)> {
        let drift = self.report.drift.as_ref();
        let mut of: BTreeMap<FunctionId, Vec<Change>> = BTreeMap::new();
        for change in drift.map_or(&[][..], |drift| drift.changes()) {
            of.entry(change.function).or_default().push(*change);
        }
        of.into_iter()
            .map(|(id, mut changes)| {
                changes.sort_by_key(|change| change.step);
                let calls = self.report.losses.function(id).calls;
                (self.report.calls.function_name(id), changes, calls)
            })
            .collect()
    }

    /// Compares the records with those of another run.
    ///
    /// # Errors
    /// Returns [`Failure::Input`] if a store cannot be read.
    pub(crate) fn compare(&mut self, with: &Path, other: &mut dyn Store) -> Outcome {
        self.compared = Some(Compared::new(with, other, &mut *self.store)?);
        Ok(())
    }

    /// Returns the first store error, if any.
    ///
    /// # Errors
    /// Returns [`Failure::Input`] with the first store error.
    pub(crate) fn outcome(self) -> Outcome {
        self.failed.map_or(Ok(()), |error| Err(input(error)))
    }

    /// Returns the numbers of dropped events and records, by name: events that were lost before
    /// they became calls, counter values in no statistics, and anomalies and changes without a record.
    fn left_out(&self) -> [(&'static str, u64); 9] {
        let health = self.report.calls.health();
        let lost = self.diagnostics.iter();
        let lost = lost.filter(|(rule, _)| rule.weight == Weight::Loss);
        let drift = self.report.drift.as_ref();
        let reduction = &self.reduction;
        [
            ("reader", lost.map(|(_, found)| found.count).sum()),
            ("events", self.report.left_out + health.ignored()),
            ("counter_values", self.report.dropped_counter_values()),
            ("filtered", reduction.filtered),
            ("not_among_worst", reduction.not_among_worst),
            ("over_budget", reduction.over_budget),
            ("records_lost", reduction.lost),
            ("changes", drift.map_or(0, |drift| drift.left_out())),
            (
                "compared",
                self.compared.as_ref().map_or(0, |one| one.unreadable),
            ),
        ]
    }
}
