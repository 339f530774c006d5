//! Conversion of [`Anomalies`] to JSON, which is the input of the drawing scripts.

use super::anomalies::{Anomalies, Function, RANKINGS, rank_name};
use super::counts::Count;
use super::distribution::Distribution;
use super::label_name;
use crate::{Result, section};
use perf_anomaly::provenance::{CallRecord, Kind, Record};
use perf_core::Nanos;
use serde::Serialize;
use std::collections::HashMap;

impl Anomalies {
    /// Returns all anomalies as one JSON object.
    ///
    /// | field | content |
    /// |---|---|
    /// | `statistics` | names and units of the statistics, in the order of the statistic values of a rank |
    /// | `ranks` | program, rank, name, numbers of calls, of calls too slow, of these beyond experience and of calls too fast, and one value for each statistic |
    /// | `others` | number of ranks that are only in `rest` |
    /// | `steps` | index in `ranks` of each rank that is shown individually, and its steps: step number, anomalies, time lost |
    /// | `slow` | time that slow ranks lost: index in `ranks`, first and last step, time lost |
    /// | `modes` | time that new modes lost in calls that are no alarms: index in `ranks`, first and last step, time lost |
    /// | `phases` | time that slow phases lost on all ranks: first and last step, time lost |
    /// | `rest` | statistics of the other ranks by step: step number, ranks, mean, standard deviation and maximum of anomalies |
    /// | `functions` | name, program if there are several, numbers of calls, of calls too slow, of these beyond experience, of calls too fast and of calls not judged because there were too few, time lost, median, 99th percentile and longest run time, and the distribution of run times |
    /// | `names` | function names, to which calls refer by index |
    /// | `name_colours` | colour of each name |
    /// | `calls` | recorded calls with stack, neighbours, messages and counters |
    /// | `unrecorded` | number of anomalies without a recorded call |
    /// | `waiting` | `true` if no time was lost, so that `steps` and `modes` have the time of calls that wait for others |
    /// | `origin` | origin of the times of calls in nanoseconds, as text |
    ///
    /// Times are in nanoseconds.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`](crate::Error::Io) if a value cannot be represented in JSON.
    pub fn json(&self) -> Result<String> {
        Ok(section::data(&self.data(usize::MAX))?.to_string())
    }

    /// Returns the data of a page with the first `most` recorded calls.
    pub(super) fn data(&self, most: usize) -> Data<'_> {
        let records = &self.records[..most.min(self.records.len())];
        // Times are as recorded unless they are too large for the numbers of a script. In that case
        // they count from the first call.
        let entries = || records.iter().map(|record| record.call.entry.0);
        let origin = if entries().all(|entry| entry.unsigned_abs() < LARGEST) {
            0
        } else {
            entries().min().unwrap_or(0)
        };
        let mut names = Names::default();
        let calls = records
            .iter()
            .map(|one| recorded(one, origin, &mut names))
            .collect();
        let palette = self.palette();
        let colour = |name: &String| palette.of(name).to_string();
        let unit = |name: &str| if name == "time lost" { "ns" } else { "" };
        let steps = self.counts.ranks.iter().map(|(at, steps)| {
            let steps = steps.iter();
            let shown = |one: &Count| if self.waits { one.waiting } else { one.lost };
            let steps = steps.map(|one| (one.step, one.anomalies, shown(one)));
            (*at, steps.collect())
        });
        let rest = self.counts.rest.iter().map(|one| {
            let (mean, deviation) = (rounded(one.mean()), rounded(one.deviation()));
            (one.step, one.ranks, mean, deviation, one.most)
        });
        let ranks = 0..self.ranks.len();
        Data {
            statistics: RANKINGS.map(|(_, name)| (name, unit(name))),
            functions: self.functions.iter().map(FunctionData::of).collect(),
            unrecorded: self.unrecorded,
            ranks: ranks.map(|at| RankData::of(self, at)).collect(),
            others: self.counts.others,
            steps: steps.collect(),
            slow: &self.slow,
            modes: &self.modes,
            phases: &self.phases,
            rest: rest.collect(),
            waiting: self.waits,
            origin: origin.to_string(),
            calls,
            name_colours: names.all.iter().map(colour).collect(),
            names: names.all,
        }
    }
}

/// Step of one rank: step number, anomalies, time lost in nanoseconds.
type Step = (u64, u64, i64);

/// Step of several ranks: step number, ranks, mean, standard deviation and maximum of anomalies.
type Rest = (u64, u64, f64, f64, u64);

/// Data of a page; see [`Anomalies::json`].
#[derive(Debug, Serialize)]
pub(super) struct Data<'a> {
    statistics: [(&'static str, &'static str); RANKINGS.len()],
    functions: Vec<FunctionData<'a>>,
    unrecorded: u64,
    ranks: Vec<RankData>,
    others: usize,
    steps: Vec<(usize, Vec<Step>)>,
    slow: &'a [(usize, u64, u64, i64)],
    modes: &'a [(usize, u64, u64, i64)],
    phases: &'a [(u64, u64, i64)],
    rest: Vec<Rest>,
    waiting: bool,
    origin: String,
    calls: Vec<RecordData<'a>>,
    name_colours: Vec<String>,
    names: Vec<String>,
}

/// Bound on recorded times. Numbers of a script have 53 bits. One of these bits is reserved for the
/// calls before and after a recorded call.
const LARGEST: u64 = 1 << 52;

/// Function names, numbered in order of first use.
#[derive(Debug, Default)]
struct Names {
    all: Vec<String>,
    known: HashMap<String, usize>,
}

impl Names {
    fn of(&mut self, name: &str) -> usize {
        if let Some(at) = self.known.get(name) {
            return *at;
        }
        self.known.insert(name.to_string(), self.all.len());
        self.all.push(name.to_string());
        self.all.len() - 1
    }
}

#[derive(Debug, Serialize)]
struct RankData {
    program: u32,
    rank: u32,
    name: String,
    calls: u64,
    slow: u64,
    beyond: u64,
    fast: u64,
    values: [f64; RANKINGS.len()],
}

impl RankData {
    /// Returns the data of the rank with an index.
    fn of(found: &Anomalies, at: usize) -> Self {
        let rank = &found.ranks[at];
        let value = |by| rounded(found.statistic(at, by));
        RankData {
            program: rank.program,
            rank: rank.rank,
            name: rank_name(rank.program, rank.rank),
            calls: rank.loss.calls,
            slow: rank.loss.too_slow,
            beyond: rank.loss.beyond_experience,
            fast: rank.loss.too_fast,
            values: RANKINGS.map(|(by, _)| value(by)),
        }
    }
}

#[derive(Debug, Serialize)]
struct FunctionData<'a> {
    name: &'a str,
    /// Missing if there is one program.
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<u32>,
    calls: u64,
    slow: u64,
    beyond: u64,
    fast: u64,
    unknown: u64,
    lost: Nanos,
    quantiles: Option<[f64; 3]>,
    distribution: Option<DistributionData<'a>>,
}

impl<'a> FunctionData<'a> {
    fn of(function: &'a Function) -> Self {
        let loss = &function.loss;
        FunctionData {
            name: &function.name,
            program: function.program,
            calls: loss.calls,
            slow: loss.too_slow,
            beyond: loss.beyond_experience,
            fast: loss.too_fast,
            unknown: loss.not_enough_data,
            lost: loss.in_slow_calls(),
            quantiles: function.distribution.as_ref().and_then(|of| of.quantiles),
            distribution: function.distribution.as_ref().map(DistributionData::of),
        }
    }
}

#[derive(Debug, Serialize)]
pub(super) struct DistributionData<'a> {
    /// Lower bound, upper bound and number of calls of each bin.
    bins: Vec<(f64, f64, u64)>,
    normal: &'a [[f64; 2]],
    seen: &'a [[f64; 2]],
    facts: &'a [(String, f64)],
    text: String,
}

impl<'a> DistributionData<'a> {
    pub(super) fn of(of: &'a Distribution) -> Self {
        let bins = of.bins.iter();
        DistributionData {
            bins: bins
                .map(|([from, to], count)| (*from, *to, *count))
                .collect(),
            normal: &of.normal,
            seen: &of.seen,
            facts: &of.facts,
            text: perf_anomaly::facts_text(&of.facts).join("; "),
        }
    }
}

/// Call: index of its name, entry and exit time, anomaly flag, its number and the number of its
/// caller.
type CallData = (usize, i64, Option<i64>, bool, u64, Option<u64>);

#[derive(Debug, Serialize)]
struct RecordData<'a> {
    id: &'a str,
    is: &'static str,
    program: u32,
    rank: u32,
    thread: u32,
    host: Option<&'a str>,
    model: usize,
    step: u64,
    call: CallData,
    stack: Vec<CallData>,
    before: Vec<CallData>,
    after: Vec<CallData>,
    time: Nanos,
    exclusive: Nanos,
    expected: Option<Nanos>,
    lost: Nanos,
    /// `true` if the function waits for others.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    waits: bool,
    score: f64,
    /// Messages: time, `true` if sent, other rank, tag and bytes.
    messages: Vec<(i64, bool, u32, u32, u64)>,
    counters: Vec<(&'a str, String)>,
    launch: Option<String>,
    repair: Option<&'a str>,
    /// Number of stack frames and number of messages that the record does not contain because it
    /// was shortened.
    cut: [u64; 2],
}

fn recorded<'a>(record: &'a Record, origin: i64, names: &mut Names) -> RecordData<'a> {
    let since = |time: Nanos| time.0.saturating_sub(origin);
    let mut short = |call: &CallRecord| {
        let exit = call.exit.map(since);
        let name = names.of(&call.function);
        (
            name,
            since(call.entry),
            exit,
            call.is_anomaly,
            call.number,
            call.caller,
        )
    };
    let call = short(&record.call);
    let mut all = |calls: &[CallRecord]| calls.iter().map(&mut short).collect();
    let (stack, before, after) = (all(&record.stack), all(&record.before), all(&record.after));
    let messages = record.messages.iter();
    let messages = messages.map(|one| (since(one.at), one.is_sent, one.rank, one.tag, one.bytes));
    let counters = record.counters.iter().chain(&record.node).map(|one| {
        let value = crate::number::short(one.value.as_f64(), "");
        (one.name.as_str(), value)
    });
    RecordData {
        id: &record.call.id,
        is: match record.kind {
            Kind::Normal => "normal",
            _ => label_name(record.label),
        },
        program: record.program,
        rank: record.rank,
        thread: record.thread,
        host: record.host.as_deref(),
        model: names.of(&record.function),
        step: record.step,
        call,
        stack,
        before,
        after,
        time: record.runtime,
        exclusive: record.exclusive,
        expected: record.expected,
        lost: record.severity,
        waits: record.waits,
        score: rounded(record.score),
        messages: messages.collect(),
        counters: counters.collect(),
        launch: record.launch.as_ref().map(|one| one.path.join(" > ")),
        repair: record.repair.as_deref(),
        cut: [record.left_out.frames, record.left_out.messages],
    }
}

fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}
