//! Output of `detect` as text: tables of the call paths and of the steps that lost time in abnormal
//! calls.

use super::Detected;
use crate::failure::Outcome;
use crate::table::{self, counted, grouped};
use perfkit::anomaly::Loss;
use perfkit::core::{CallPathId, Column, Nanos, Table};
use std::io::Write;

/// Adds a column with the time of calls that wait for others, if there are any.
pub(super) fn with_waiting(
    table: Table,
    name: &'static str,
    waiting: impl Iterator<Item = Nanos> + Clone,
) -> Table {
    if waiting.clone().any(|time| time.0 > 0) {
        table.times(name, waiting)
    } else {
        table
    }
}

/// Writes how many of `all` rows follow the first `top`, if there are more.
pub(super) fn more(out: &mut dyn Write, all: usize, top: usize, what: &str) -> Outcome {
    match all.saturating_sub(top) {
        0 => Ok(()),
        rest => Ok(writeln!(
            out,
            "  and {}",
            counted(rest, &format!("more {what}"))
        )?),
    }
}

impl Detected {
    /// Returns the call paths with anomalies, by falling time lost.
    fn paths(&self) -> impl Iterator<Item = (String, Loss)> {
        let all = self.report.losses.worst_paths().into_iter();
        let abnormal = all.filter(|(_, loss)| loss.anomalies() > 0);
        abnormal.map(|(path, loss)| (self.path_name(path), loss))
    }

    fn path_name(&self, path: CallPathId) -> String {
        let calls = &self.report.calls;
        let regions = calls.path(path).into_iter();
        let names =
            regions.map(|region| calls.region_name(region).map_or("(unknown)", |one| one.1));
        let name = names.collect::<Vec<_>>().join(" / ");
        if name.is_empty() {
            "(other paths)".into()
        } else {
            name
        }
    }

    /// Returns the steps with anomalies, by falling time lost.
    fn steps(&self) -> Vec<(u64, Loss)> {
        let all = self.report.losses.steps();
        let mut abnormal: Vec<_> = all.filter(|(_, loss)| loss.anomalies() > 0).collect();
        abnormal.sort_by_key(|(step, loss)| {
            (
                std::cmp::Reverse((loss.time, loss.waiting, loss.anomalies())),
                *step,
            )
        });
        abnormal
    }

    /// Writes the tables of call paths and steps.
    pub(super) fn places(&self, out: &mut dyn Write) -> Outcome {
        self.table(out, "path", self.paths().collect())?;
        let steps = self.steps().into_iter();
        self.table(
            out,
            "step",
            steps.map(|(step, loss)| (grouped(step), loss)).collect(),
        )
    }

    fn table(&self, out: &mut dyn Write, what: &'static str, all: Vec<(String, Loss)>) -> Outcome {
        if all.is_empty() {
            return Ok(());
        }
        writeln!(out, "\n{what}s, by time lost in slow calls")?;
        let top = || all.iter().take(self.shown.top);
        let count = |name, of: fn(&Loss) -> u64| {
            Column::unsigned(name, "", top().map(|(_, loss)| of(loss)))
        };
        let table = Table::new("places", "Anomalies of each call path or step.")
            .text(what, top().map(|(name, _)| name.as_str()))
            .with(count("calls", |loss| loss.calls))
            .with(count("too slow", |loss| loss.too_slow))
            .with(count("too fast", |loss| loss.too_fast))
            .times("in slow calls", top().map(|(_, loss)| loss.in_slow_calls()));
        let table = with_waiting(
            table,
            "waiting in slow calls",
            top().map(|(_, loss)| loss.waiting),
        );
        table::print(out, &table, 60)?;
        more(out, all.len(), self.shown.top, what)
    }
}
