//! [`Anomalies`] as JSON: what scripts draw from, whoever gives it to them.

use super::distribution::Distribution;
use super::label_name;
use super::model::{Anomalies, Function, RANKINGS, rank_name, statistic};
use perf_anomaly::provenance::{CallRecord, Kind, LeftOut, Record};
use perf_anomaly::server::RankSummary;
use serde_json::{Value, json};
use std::collections::HashMap;

impl Anomalies {
    /// All of it as one JSON object:
    ///
    /// | field | what |
    /// |---|---|
    /// | `statistics` | names of what ranks are ranked by, in the order of the values of a rank |
    /// | `ranks` | program, rank, name, calls, too slow, of these beyond experience, too fast, and a value a statistic |
    /// | `steps` | of each rank that is shown by itself its place in `ranks` and its steps: step, anomalies, time lost |
    /// | `rest` | the other ranks together: step, ranks, mean, standard deviation, largest |
    /// | `functions` | name, calls, too slow, of these beyond experience, too fast, too few calls, time lost, and the distribution |
    /// | `names` | functions, as calls refer to them |
    /// | `name_colours` | the colour of each |
    /// | `calls` | recorded calls with stack, neighbours, messages and counters |
    /// | `origin` | nanoseconds, as text, that times of calls count from |
    ///
    /// Times are nanoseconds.
    pub fn json(&self) -> String {
        self.value(usize::MAX).to_string()
    }

    /// Ranks, steps and the rest alone: what changes with every step of a program that runs.
    pub fn ranks_json(&self) -> String {
        let mut value = json!({"statistics": statistics()});
        self.rank_values(&mut value);
        value.to_string()
    }

    /// The recorded calls alone, with the names they refer to.
    pub fn calls_json(&self) -> String {
        let mut value = json!({});
        self.call_values(usize::MAX, &mut value);
        value.to_string()
    }

    pub(super) fn value(&self, most: usize) -> Value {
        let mut value = json!({
            "statistics": statistics(),
            "functions": self.functions.iter().map(function_value).collect::<Vec<_>>(),
            "unrecorded": self.unrecorded,
        });
        self.rank_values(&mut value);
        self.call_values(most, &mut value);
        value
    }

    fn rank_values(&self, value: &mut Value) {
        value["ranks"] = self.ranks.iter().map(rank_value).collect();
        value["others"] = json!(self.counts.others);
        value["steps"] = self
            .counts
            .ranks
            .iter()
            .map(|(at, steps)| {
                let steps = steps
                    .iter()
                    .map(|one| json!([one.step, one.anomalies, one.lost]));
                json!([at, steps.collect::<Vec<_>>()])
            })
            .collect();
        value["rest"] = self
            .counts
            .rest
            .iter()
            .map(|one| {
                json!([
                    one.step,
                    one.ranks,
                    rounded(one.mean()),
                    rounded(one.deviation()),
                    one.most
                ])
            })
            .collect();
    }

    fn call_values(&self, most: usize, value: &mut Value) {
        let records = self
            .records
            .get(..most.min(self.records.len()))
            .unwrap_or_default();
        // Times as they are in the recording, unless they are too large for the numbers of a page.
        let entries = || records.iter().map(|record| record.call.entry.0);
        let origin = match entries().all(|entry| entry.unsigned_abs() < LARGEST) {
            true => 0,
            false => entries().min().unwrap_or(0),
        };
        let mut names = Names::default();
        let calls: Vec<Value> = records
            .iter()
            .map(|one| record_value(one, origin, &mut names))
            .collect();
        value["origin"] = json!(origin.to_string());
        value["calls"] = calls.into();
        let palette = self.palette();
        value["name_colours"] = names
            .all
            .iter()
            .map(|name| palette.of(name).to_string())
            .collect();
        value["names"] = json!(names.all);
    }
}

/// The script has 53 bits for a number; calls around a recorded one are a little earlier and later.
const LARGEST: u64 = 1 << 52;

/// Names by number, each once.
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

fn statistics() -> Vec<Value> {
    let unit = |name: &str| if name == "time lost" { "ns" } else { "" };
    RANKINGS
        .iter()
        .map(|(_, name)| json!([name, unit(name)]))
        .collect()
}

fn rank_value(rank: &RankSummary) -> Value {
    json!({
        "program": rank.program,
        "rank": rank.rank,
        "name": rank_name(rank.program, rank.rank),
        "calls": rank.loss.calls,
        "slow": rank.loss.too_slow,
        "beyond": rank.loss.beyond_experience,
        "fast": rank.loss.too_fast,
        "values": RANKINGS.map(|(by, _)| rounded(statistic(rank, by))),
    })
}

fn function_value(function: &Function) -> Value {
    let Function {
        name,
        loss,
        distribution,
    } = function;
    json!({
        "name": name,
        "calls": loss.calls,
        "slow": loss.too_slow,
        "beyond": loss.beyond_experience,
        "fast": loss.too_fast,
        "unknown": loss.not_enough_data,
        "lost": loss.time.0,
        "distribution": distribution.as_ref().map(distribution_value),
    })
}

fn distribution_value(of: &Distribution) -> Value {
    let bins = of
        .bins
        .iter()
        .map(|([from, to], count)| json!([from, to, count]));
    json!({
        "bins": bins.collect::<Vec<_>>(),
        "normal": of.normal,
        "seen": of.seen,
        "facts": of.facts,
        "text": perf_anomaly::facts_text(&of.facts).join("; "),
    })
}

fn record_value(record: &Record, origin: i64, names: &mut Names) -> Value {
    let mut short = |call: &CallRecord| {
        json!([
            names.of(&call.function),
            call.entry.0.saturating_sub(origin),
            call.exit.map(|exit| exit.0.saturating_sub(origin)),
            call.is_anomaly,
            call.number,
            call.caller,
        ])
    };
    let own = short(&record.call);
    let stack: Vec<Value> = record.stack.iter().map(&mut short).collect();
    let before: Vec<Value> = record.before.iter().map(&mut short).collect();
    let after: Vec<Value> = record.after.iter().map(&mut short).collect();
    let messages = record.messages.iter().map(|one| {
        json!([
            one.at.0.saturating_sub(origin),
            one.is_sent,
            one.rank,
            one.tag,
            one.bytes
        ])
    });
    let counters = record.counters.iter().chain(&record.node);
    let counters =
        counters.map(|one| json!([one.name, crate::number::short(one.value.as_f64(), "")]));
    let launch = record.launch.as_ref().map(|one| one.path.join(" > "));
    let LeftOut {
        frames,
        messages: more,
        ..
    } = record.left_out;
    json!({
        "id": record.call.id,
        "is": if record.kind == Kind::Normal { "normal" } else { label_name(record.label) },
        "program": record.program,
        "rank": record.rank,
        "thread": record.thread,
        "host": record.host,
        "model": names.of(&record.function),
        "step": record.step,
        "call": own,
        "stack": stack,
        "before": before,
        "after": after,
        "time": record.runtime.0,
        "exclusive": record.exclusive.0,
        "expected": record.expected.map(|one| one.0),
        "lost": record.severity.0,
        "score": rounded(record.score),
        "messages": messages.collect::<Vec<_>>(),
        "counters": counters.collect::<Vec<_>>(),
        "launch": launch,
        "repair": record.repair,
        "cut": [frames, more],
    })
}

fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}
