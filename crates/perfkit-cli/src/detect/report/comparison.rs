//! [`Compared`]: comparison of the anomalies of this run with those of another run, as text and
//! JSON.

use super::places::more;
use crate::failure::{Failure, Outcome, input};
use crate::table;
use perfkit::anomaly::provenance::{Comparison, Difference, Side, Store};
use perfkit::core::{Nanos, Table};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Largest number of functions and call paths in JSON.
const MAX_ROWS: usize = 100;

/// Comparison of this run with another one.
#[derive(Debug)]
pub(super) struct Compared {
    /// Store of the other run.
    with: PathBuf,
    /// Result of the comparison.
    found: Comparison,
    /// Number of entries of the other run that could not be read.
    pub(super) unreadable: u64,
}

impl Compared {
    /// Compares the contents of two stores.
    ///
    /// # Errors
    /// Returns [`Failure::Input`] if a store cannot be read, or the other one has no record.
    pub(super) fn new(
        with: &Path,
        other: &mut dyn Store,
        own: &mut dyn Store,
    ) -> Result<Self, Failure> {
        let found = Comparison::of(own, other).map_err(input)?;
        let unreadable = other.unreadable();
        let has_records = found
            .functions
            .iter()
            .any(|one| one.other != Side::default());
        if let (false, Some((_, first))) = (has_records, &unreadable) {
            return Err(Failure::Input(format!(
                "--compare {}: no record that --provenance writes: {first}",
                with.display()
            )));
        }
        Ok(Compared {
            with: with.into(),
            found,
            unreadable: unreadable.map_or(0, |(count, _)| count),
        })
    }

    pub(super) fn text(&self, out: &mut dyn Write, top: usize) -> Outcome {
        writeln!(
            out,
            "\nbeside {}, by difference of time lost in recorded calls",
            self.with.display()
        )?;
        let differs = |one: &&Difference| one.one != one.other;
        let all: Vec<_> = self.found.functions.iter().filter(differs).collect();
        if all.is_empty() {
            return Ok(writeln!(out, "  nothing differs")?);
        }
        let rows = || all.iter().take(top);
        // A difference is positive if the other run lost more time.
        let difference = |one: &&Difference| Nanos(one.more_time_lost().0.saturating_neg());
        let table = Table::new("functions", "Anomalies of each function in two runs.")
            .text("function", rows().map(|one| one.name.as_str()))
            .unsigned("anomalies then", "", rows().map(|one| one.other.anomalies))
            .unsigned("anomalies now", "", rows().map(|one| one.one.anomalies))
            .times("lost then", rows().map(|one| one.other.time_lost))
            .times("lost now", rows().map(|one| one.one.time_lost))
            .times("difference", rows().map(difference));
        let waits = |side: fn(&Difference) -> &Side| rows().map(move |one| side(one).waiting);
        let sides = [waits(|one| &one.other), waits(|one| &one.one)];
        let is_waiting = sides.iter().any(|side| side.clone().any(|time| time.0 > 0));
        let [then, now] = sides;
        let table = if is_waiting {
            table.times("waiting then", then).times("waiting now", now)
        } else {
            table
        };
        table::print(out, &table, 48)?;
        more(out, all.len(), top, "function")
    }

    pub(super) fn json(&self) -> impl Serialize {
        #[derive(Serialize)]
        struct Document {
            with: String,
            by_function: Table,
            by_path: Table,
        }
        let [functions, paths] = self.found.tables();
        Document {
            with: self.with.display().to_string(),
            by_function: functions.head(MAX_ROWS),
            by_path: paths.head(MAX_ROWS),
        }
    }
}
