//! Output of `detect`: calls that were not judged because of too little data, as text and as tables for JSON: the
//! functions with most of their time, calls far longer than all earlier ones, and the longest call of each function.

use super::{Detected, recurring_alarms};
use crate::failure::Outcome;
use crate::table::{self, counted, grouped, shortened};
use perfkit::anomaly::{LongCall, Report, UnjudgedCall};
use perfkit::core::Table;
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

/// Names the functions with most of the time that was not judged, with the reasons; `None` if it is a small part of all
/// time.
fn unjudged_functions(report: &Report) -> Option<String> {
    let all = report.unjudged.time().0 as f64;
    if all <= MIN_SHARE * report.lost_time().of.0 as f64 {
        return None;
    }
    let mut named = 0.0;
    let times = report.unjudged.times().into_iter().take(FUNCTIONS);
    let times = times.take_while(|one| {
        let is_missing = named < NEARLY_ALL * all;
        named += one.time.0 as f64;
        is_missing
    });
    let times = times.map(|one| {
        let name = shortened(&report.calls.function_name(one.function), NAME);
        format!("{name} {} ({})", one.time, one.reason())
    });
    Some(times.collect::<Vec<_>>().join(", "))
}

impl Detected {
    /// Writes the functions with most of the time that was not judged.
    pub(super) fn not_judged_time(&self, out: &mut dyn Write) -> Outcome {
        match unjudged_functions(&self.report) {
            Some(functions) => Ok(writeln!(out, "  most time not judged: {functions}")?),
            None => Ok(()),
        }
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
            "\nlongest calls that were not judged, one a function: too few calls are known, they do not exclude one so long, or recent ones were as slow"
        )?;
        let table = UnjudgedCall::table(&longest, &self.report.calls);
        let program = self.many.then_some("program");
        let columns = ["function", "rank", "thread", "step", "entry", "run time"];
        let columns = program.into_iter().chain(columns);
        let columns = columns.chain(["calls known", "first call"]);
        let table = table.select(&columns.collect::<Vec<_>>());
        Ok(table::print(out, &table, 48)?)
    }

    /// Returns the longest calls for which there was not enough data.
    pub(super) fn not_judged_table(&self) -> Table {
        UnjudgedCall::table(&self.report.unjudged.longest(CALLS), &self.report.calls)
    }
}
