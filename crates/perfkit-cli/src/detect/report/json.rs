//! Output of `detect` as JSON: counts, ranks, functions, changes, causes of lost time, call paths
//! and worst calls in one document.

use super::Detected;
use super::comparison::Compared;
use super::lost_time_causes::StatedCause;
use super::not_judged::NotJudged;
use crate::detect::run_time::RunTime;
use crate::findings::{self, Found};
use perfkit::anomaly::lost_time::{LostTime, NewMode, SlowPhase, SlowRank};
use perfkit::anomaly::provenance::Record;
use perfkit::anomaly::server::RankSummary;
use perfkit::anomaly::{Change, Iterations};
use perfkit::core::{Nanos, Table};
use serde::Serialize;
use std::collections::BTreeMap;

/// Largest number of call paths in JSON.
const MAX_PATHS: usize = 100;

/// Result of `--json`.
#[derive(Serialize)]
struct Document<'a, C> {
    /// Name of the detection method.
    method: &'static str,
    /// Number of events.
    events: u64,
    /// Number of calls.
    calls: u64,
    /// Number of steps.
    steps: u64,
    /// Length of a step of a recording; `None` for streams and iterations.
    step_length_ns: Option<Nanos>,
    /// Function at whose calls the steps of a recording begin, if steps are iterations.
    #[serde(skip_serializing_if = "Option::is_none")]
    steps_at: Option<String>,
    /// Number of its calls in a step.
    #[serde(skip_serializing_if = "Option::is_none")]
    steps_every: Option<usize>,
    /// Number of pipeline stages of a process, if rank `r` is stage `r % stages` of process `r / stages`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pipeline_stages: Option<u32>,
    /// Number of anomalies.
    anomalies: u64,
    /// Number of calls that are too slow.
    too_slow: u64,
    /// Number of anomalies beyond all calls that the model has seen.
    beyond_experience: u64,
    /// Number of anomalies that were found at the end of the run, by calls after them.
    found_at_end: u64,
    /// Number of calls that are too fast.
    too_fast: u64,
    /// Number of calls that were not judged because the model had not enough data.
    not_enough_data: u64,
    /// Time lost by all causes, without waiting for others, which `lost_time` has.
    time_lost_ns: Nanos,
    /// Time above the expected one of all slow calls, of which some wait, and some belong to modes, slow ranks and slow
    /// phases.
    in_slow_calls_ns: Nanos,
    /// Time lost by cause.
    lost_time: LostTime,
    /// Causes of lost time, in the order of the text.
    causes: Vec<StatedCause<'a>>,
    /// Run times of replays with and without the lost time; `None` for streams, without lost time, and if the recording
    /// cannot be replayed.
    replay: Option<RunTime>,
    /// Ranks that are slower than their peers.
    slow_ranks: Table,
    /// Functions that are slower in some steps.
    slow_phases: Table,
    /// Slow run times that repeat.
    new_modes: Table,
    /// Losses by function.
    by_function: Table,
    /// Anomalies by rank.
    by_rank: Table,
    /// Losses by call path.
    by_path: Table,
    /// Losses by step.
    by_step: Table,
    /// Values of counters.
    counters: Table,
    /// Worst calls.
    worst: &'a [Record],
    /// Calls without an alarm that are far longer than all earlier ones of their function.
    long_calls: Table,
    /// First calls of functions on a thread that were not judged.
    first_calls: NotJudged,
    /// Longest other calls that were not judged.
    not_judged: Table,
    /// Functions that became slower or faster.
    changes: Table,
    /// Comparison with another run, if there is one.
    compared: Option<C>,
    /// Numbers of dropped events and records, by reason.
    left_out: BTreeMap<&'static str, u64>,
    /// Numbers of repaired and ignored events, by kind.
    health: BTreeMap<&'static str, u64>,
    /// Repairs and losses of the reader.
    findings: Vec<Found>,
    /// Size of all events in bytes.
    raw_bytes: u64,
    /// Size of the kept text in bytes.
    kept_bytes: u64,
    /// Number of kept anomalies.
    recorded: u64,
    /// Number of records removed by the final model; `None` without `prune`.
    pruned: Option<u64>,
    /// First store error, if any.
    error: Option<String>,
}

impl Detected {
    /// Returns all results for `--json`.
    pub(crate) fn json(&self) -> impl Serialize {
        let calls = &self.report.calls;
        let total = self.report.losses.total();
        let abnormal = |table: Table| {
            let is_abnormal = |row: &usize| {
                let anomalies = table.cell(*row, "anomalies");
                anomalies.and_then(|cell| cell.number()) > Some(0.0)
            };
            table.pick(&(0..table.rows()).filter(is_abnormal).collect::<Vec<_>>())
        };
        let [by_function, paths, _, steps] = self.report.losses.tables(calls);
        let drift = self.report.drift.as_ref();
        let lasting = &self.report.lasting;
        Document {
            method: self.shown.method,
            events: calls.health().events(),
            calls: total.calls,
            steps: self.report.steps,
            step_length_ns: self.step_length,
            steps_every: self.iterations.as_ref().map(Iterations::every),
            steps_at: self.iterations.as_ref().map(|it| it.name().to_string()),
            pipeline_stages: self.stages,
            anomalies: total.anomalies(),
            too_slow: total.too_slow,
            beyond_experience: total.beyond_experience,
            found_at_end: self.report.found_at_end() as u64,
            too_fast: total.too_fast,
            not_enough_data: total.not_enough_data,
            time_lost_ns: self.report.lost_time().total(),
            in_slow_calls_ns: total.in_slow_calls(),
            lost_time: self.report.lost_time(),
            causes: self.stated_causes(),
            replay: self.run_time.clone().and_then(Result::ok),
            slow_ranks: SlowRank::table(&lasting.peers().slow_ranks(), calls),
            slow_phases: SlowPhase::table(&lasting.peers().slow_phases(), calls),
            new_modes: NewMode::table(&lasting.modes().all().collect::<Vec<_>>(), calls),
            by_function: by_function
                .times("time lost", self.lost_by_function.iter().copied())
                .times("waiting", self.waiting_by_function.iter().copied()),
            by_rank: RankSummary::table(&self.ranks)
                .times("time lost", self.lost_by_rank.iter().copied())
                .times("waiting", self.waiting_by_rank.iter().copied()),
            by_path: abnormal(paths).head(MAX_PATHS),
            by_step: abnormal(steps),
            counters: self.counter_table(),
            worst: &self.worst,
            long_calls: self.long_call_table(),
            first_calls: NotJudged::first_calls(&self.report),
            not_judged: self.not_judged_table(),
            changes: Change::table(drift.map_or(&[], |drift| drift.changes()), calls),
            compared: self.compared.as_ref().map(Compared::json),
            left_out: self.left_out().into_iter().collect(),
            health: calls.health().counts().collect(),
            findings: findings::found(&self.diagnostics),
            raw_bytes: self.reduction.raw_bytes,
            kept_bytes: self.reduction.kept_bytes,
            recorded: self.reduction.recorded,
            pruned: self.pruned.map(|pruned| pruned.normal_after_all),
            error: self.failed.as_ref().map(ToString::to_string),
        }
    }
}
