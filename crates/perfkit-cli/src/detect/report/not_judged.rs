//! Output of `detect`: calls that were not judged because of too little data, as text and as tables for JSON: the
//! functions with most of their time, calls far longer than all earlier ones, and the longest call of each function.

use super::{Detected, recurring_alarms};
use crate::failure::Outcome;
use crate::table::{self, counted, grouped, shortened};
use perfkit::anomaly::{FunctionId, LongCall, Report, UnjudgedCall, UnjudgedReason, UnjudgedTime};
use perfkit::core::{Nanos, Table};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;

/// Largest number of calls in JSON.
const CALLS: usize = 20;
/// Largest number of long calls in text, unless `--top` is less.
const LONG_CALLS: usize = 5;
/// Largest number of functions with the time that was not judged.
const FUNCTIONS: usize = 3;
/// Share of the time of all calls from which on the functions are named of which that time was not judged.
const MIN_SHARE: f64 = 0.01;
/// Share of the time that was not judged after which no further functions are named.
const NEARLY_ALL: f64 = 0.9;
/// Longest name of a function.
const NAME: usize = 48;

/// Calls and run time that were not judged.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct NotJudged {
    /// Number of calls.
    calls: u64,
    /// Sum of their run times, in nanoseconds.
    time_ns: Nanos,
}

impl NotJudged {
    /// Returns the sum of several times.
    fn of<'a>(all: impl IntoIterator<Item = &'a UnjudgedTime>) -> Self {
        let all = all.into_iter();
        all.fold(Self::default(), |sum, one| NotJudged {
            calls: sum.calls.saturating_add(one.calls),
            time_ns: Nanos(sum.time_ns.0.saturating_add(one.time.0)),
        })
    }

    /// Returns the sum of the first calls of functions on a thread.
    pub(super) fn first_calls(report: &Report) -> Self {
        let times = report.unjudged.times();
        let first = times.iter();
        Self::of(first.filter(|one| one.reason == UnjudgedReason::FirstCalls))
    }
}

/// Describes the time of first calls of functions on a thread, and names the functions with most of the other time that was
/// not judged, with the reasons; empty if all this is a small part of all time.
pub(super) fn unjudged_times(report: &Report) -> Vec<String> {
    let all = report.unjudged.time().0 as f64;
    if all <= MIN_SHARE * report.lost_time().of.0 as f64 {
        return Vec::new();
    }
    let name = |function| shortened(&report.calls.function_name(function), NAME);
    let times = report.unjudged.times().into_iter();
    let (first, others): (Vec<_>, Vec<_>) =
        times.partition(|one| one.reason == UnjudgedReason::FirstCalls);
    let mut lines = Vec::new();
    if let Some(most) = first.first() {
        let NotJudged { calls, time_ns } = NotJudged::of(&first);
        let calls = counted(calls as usize, "first call");
        let name = name(most.function);
        let of = match first.len() {
            1 => format!(" of {name} on a thread"),
            _ => format!(" of functions on a thread, most in {name} ({})", most.time),
        };
        lines.push(format!("not judged: {time_ns} in {calls}{of}"));
    }
    let mut functions: BTreeMap<FunctionId, Vec<UnjudgedTime>> = BTreeMap::new();
    for one in others {
        functions.entry(one.function).or_default().push(one);
    }
    let mut functions: Vec<_> = functions.into_iter().collect();
    let time = |own: &[UnjudgedTime]| NotJudged::of(own).time_ns.0;
    let rest = functions.iter().map(|(_, own)| time(own));
    let rest = rest.fold(0, i64::saturating_add) as f64;
    functions.sort_by_key(|(_, own)| std::cmp::Reverse(time(own)));
    let mut named = 0.0;
    let functions = functions
        .into_iter()
        .take(FUNCTIONS)
        .map_while(|(function, own)| {
            let time = Nanos(time(&own));
            let is_missing = named < NEARLY_ALL * rest;
            named += time.0 as f64;
            let reasons: Vec<String> = own.iter().map(UnjudgedTime::reason).collect();
            is_missing.then(|| format!("{} {time} ({})", name(function), reasons.join(", ")))
        });
    let functions: Vec<String> = functions.collect();
    if rest > MIN_SHARE * report.lost_time().of.0 as f64 {
        lines.push(format!(
            "most other time not judged: {}",
            functions.join(", ")
        ));
    }
    lines
}

impl Detected {
    /// Writes the time of first calls, and the functions with most of the other time that was not judged.
    pub(super) fn not_judged_time(&self, out: &mut dyn Write) -> Outcome {
        for line in unjudged_times(&self.report) {
            writeln!(out, "  {line}")?;
        }
        Ok(())
    }

    /// Describes a call that is far longer than all earlier ones.
    fn long_call(&self, long: &LongCall) -> String {
        let call = &long.call;
        let calls = &self.report.calls;
        let waits = if calls.waits(call.function) {
            ", waiting for others"
        } else {
            ""
        };
        let before = counted(long.of as usize, "earlier call");
        let times = match long.longest.0 {
            // A factor to a tick of the clock says nothing.
            0..1000 => format!("of {before} none took more than {}", long.longest),
            longest => {
                let times = grouped((call.runtime.0 / longest).cast_unsigned());
                format!("{times} times the longest of {before}")
            }
        };
        format!(
            "{} on rank {}, thread {}, step {}, from {}: {}{waits}, {times}",
            shortened(&calls.function_name(call.function), NAME),
            self.of_program(call.stream.program, call.stream.rank.to_string()),
            call.stream.thread,
            call.step,
            call.entry,
            call.runtime
        )
    }

    /// Writes the calls without an alarm that are far longer than all earlier ones of their function.
    pub(super) fn long_calls(&self, out: &mut dyn Write) -> Outcome {
        let all = self.report.unjudged.long_calls();
        if all.is_empty() {
            return Ok(());
        }
        let rate = match recurring_alarms::rate(&self.report) {
            Some(rate) => format!(" at {rate} false alarms in a million"),
            None => String::new(),
        };
        writeln!(
            out,
            "\nlong, but not certain{rate}: no earlier call of the function but the first on a thread took a tenth of the time, but they are too few for an alarm"
        )?;
        for (at, long) in all.iter().take(self.shown.top.min(LONG_CALLS)).enumerate() {
            writeln!(out, "  {}. {}", at + 1, self.long_call(long))?;
        }
        Ok(())
    }

    /// Returns the calls without an alarm that are far longer than all earlier ones of their function.
    pub(super) fn long_call_table(&self) -> Table {
        LongCall::table(&self.report.unjudged.long_calls(), &self.report.calls)
    }

    /// Writes a table of the longest calls for which there was not enough data.
    pub(super) fn not_judged(&self, out: &mut dyn Write) -> Outcome {
        let longest = self.report.unjudged.longest(self.shown.top);
        if longest.is_empty() {
            return Ok(());
        }
        writeln!(
            out,
            "\nlongest calls that were not judged, one a function, without first calls on a thread: too few calls are known, they do not exclude one so long, or recent ones were as slow"
        )?;
        let table = UnjudgedCall::table(&longest, &self.report.calls);
        let program = self.many.then_some("program");
        let columns = ["function", "rank", "thread", "step", "entry", "run time"];
        let columns = program.into_iter().chain(columns).chain(["calls known"]);
        let table = table.select(&columns.collect::<Vec<_>>());
        Ok(table::print(out, &table, 48)?)
    }

    /// Returns the longest calls for which there was not enough data.
    pub(super) fn not_judged_table(&self) -> Table {
        UnjudgedCall::table(&self.report.unjudged.longest(CALLS), &self.report.calls)
    }
}
