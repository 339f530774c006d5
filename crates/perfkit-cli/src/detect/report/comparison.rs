//! The anomalies of this run beside those that another one recorded.

use crate::failure::{Failure, Outcome, input};
use crate::table::{self, grouped, shortened};
use perfkit::anomaly::provenance::{Comparison, Difference, Side, Store};
use serde_json::{Value, json};
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
        let found = Comparison::of(other, own).map_err(input)?;
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
            let more = one.more_time_lost();
            let sign = if more.0 > 0 { "+" } else { "" };
            vec![
                shortened(&one.name, 48),
                grouped(one.one.anomalies),
                grouped(one.other.anomalies),
                one.one.time_lost.to_string(),
                one.other.time_lost.to_string(),
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

    pub(super) fn json(&self) -> Value {
        let all = |differences: &[Difference]| -> Vec<Value> {
            let most = differences.iter().take(MOST);
            most.map(difference).collect()
        };
        json!({
            "with": self.with.display().to_string(),
            "by_function": all(&self.found.functions),
            "by_path": all(&self.found.paths),
        })
    }
}

fn difference(one: &Difference) -> Value {
    let side = |side: &Side| {
        json!({
            "anomalies": side.anomalies, "too_fast": side.too_fast,
            "time_lost_ns": side.time_lost.0, "score": side.score,
        })
    };
    json!({
        "program": one.program, "name": one.name, "then": side(&one.one), "now": side(&one.other),
        "more_time_lost_ns": one.more_time_lost().0,
    })
}
