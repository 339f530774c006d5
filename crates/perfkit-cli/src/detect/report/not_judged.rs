//! The longest calls that were not judged, as text and as JSON.

use super::Detected;
use crate::failure::Outcome;
use crate::table::{self, grouped, shortened};
use serde_json::{Value, json};
use std::io::Write;

/// Calls in JSON, at most.
const CALLS: usize = 20;

impl Detected {
    /// Writes a table of the longest calls for which there was not enough data.
    pub(super) fn not_judged(&self, out: &mut dyn Write) -> Outcome {
        let longest = self.report.unjudged.longest(self.shown.top);
        if longest.is_empty() {
            return Ok(());
        }
        writeln!(
            out,
            "\nlongest calls that were not judged, one a function: not enough data to tell normal from abnormal"
        )?;
        let rows = longest.iter().map(|call| {
            let name = self.report.calls.function_name(call.function);
            let known = match call.is_first {
                true => format!("{} (first on its thread)", grouped(call.known)),
                false => grouped(call.known),
            };
            vec![
                shortened(&name, 48),
                self.of_program(call.stream.program, call.stream.rank.to_string()),
                call.stream.thread.to_string(),
                call.step.to_string(),
                call.entry.to_string(),
                call.runtime.to_string(),
                known,
            ]
        });
        let head = [
            "function",
            "rank",
            "thread",
            "step",
            "from",
            "took",
            "calls known",
        ];
        Ok(table::write(out, &head, &rows.collect::<Vec<_>>())?)
    }

    /// Returns the longest calls for which there was not enough data.
    pub(super) fn not_judged_json(&self) -> Vec<Value> {
        let longest = self.report.unjudged.longest(CALLS).into_iter();
        let call = longest.map(|call| {
            json!({
                "program": call.stream.program, "rank": call.stream.rank, "thread": call.stream.thread,
                "step": call.step, "function": self.report.calls.function_name(call.function),
                "entry_ns": call.entry.0, "runtime_ns": call.runtime.0,
                "calls_known": call.known, "is_first_on_thread": call.is_first,
            })
        });
        call.collect()
    }
}
