//! The anomalies of this run beside those that another one recorded.

use crate::failure::{Failure, Outcome, input};
use crate::table::{self, grouped, shortened};
use perfkit::anomaly::provenance::{Comparison, Difference, Store};
use perfkit::core::{Nanos, Table};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Functions and call paths in JSON, at most.
const MOST: usize = 100;

/// This run and another one.
#[derive(Debug)]
pub(super) struct Compared {
    with: PathBuf,
    found: Comparison,
    /// Entries of the other run that could not be read.
    pub(super) unreadable: u64,
}

impl Compared {
    /// Compares what the stores have.
    pub(super) fn new(
        with: &Path,
        other: &mut dyn Store,
        own: &mut dyn Store,
    ) -> Result<Self, Failure> {
        let found = Comparison::of(own, other).map_err(input)?;
        Ok(Compared {
            with: with.into(),
            found,
            unreadable: other.unreadable().map_or(0, |(count, _)| count),
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
        let rows = all.iter().take(top).map(|one| {
            // The table has the time that the other run lost more.
            let more = Nanos(one.more_time_lost().0.saturating_neg());
            let sign = if more.0 > 0 { "+" } else { "" };
            vec![
                shortened(&one.name, 48),
                grouped(one.other.anomalies),
                grouped(one.one.anomalies),
                one.other.time_lost.to_string(),
                one.one.time_lost.to_string(),
                format!("{sign}{more}"),
            ]
        });
        let rows: Vec<_> = rows.collect();
        let head = [
            "function",
            "anomalies then",
            "now",
            "lost then",
            "now",
            "difference",
        ];
        table::write(out, &head, &rows)?;
        match all.len().saturating_sub(top) {
            0 => Ok(()),
            more => Ok(writeln!(out, "  and {more} more")?),
        }
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
            by_function: functions.head(MOST),
            by_path: paths.head(MOST),
        }
    }
}
