//! Output of `detect`: the longest calls that were not judged because of too little data, as text
//! and as a table for JSON.

use super::Detected;
use crate::failure::Outcome;
use crate::table;
use perfkit::anomaly::UnjudgedCall;
use perfkit::core::Table;
use std::io::Write;

/// Largest number of calls in JSON.
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
