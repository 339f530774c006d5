//! Output of `detect`: the values of counters, as text and as a table for JSON.

use super::Detected;
use crate::failure::Outcome;
use crate::table::{self, counted};
use perfkit::anomaly::CounterSummary;
use perfkit::core::Table;
use std::io::Write;

impl Detected {
    /// Writes a table of the counters if there are any, those of which ranks differ most first.
    pub(super) fn counters(&self, out: &mut dyn Write) -> Outcome {
        let mut all = self.report.counters();
        let dropped = self.report.dropped_counter_values();
        if all.is_empty() && dropped == 0 {
            return Ok(());
        }
        let more = all.len().saturating_sub(self.shown.top);
        all.truncate(self.shown.top);
        writeln!(out, "\ncounters")?;
        let program = self.many.then_some("program");
        let columns = ["counter", "ranks", "values", "mean", "deviation"];
        let columns = program.into_iter().chain(columns);
        let mut columns: Vec<_> = columns.chain(["smallest", "largest"]).collect();
        if all.iter().any(|one| one.stats.accumulates()) {
            columns.push("increase");
        }
        if all.iter().any(|one| one.highest.is_some()) {
            columns.extend(["highest rank", "on it"]);
        }
        if !all.is_empty() {
            table::print(out, &CounterSummary::table(&all).select(&columns), 48)?;
        }
        if more > 0 {
            writeln!(out, "  and {}: --top", counted(more, "further counter"))?;
        }
        if dropped > 0 {
            writeln!(
                out,
                "  not counted: {}, which are invalid (no numbers, negative numbers of events, or all bits), or of too many counters",
                counted(dropped as usize, "value")
            )?;
        }
        Ok(())
    }

    /// Returns the counters.
    pub(super) fn counter_table(&self) -> Table {
        CounterSummary::table(&self.report.counters())
    }
}
