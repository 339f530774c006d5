//! [`Comparison`]: each [`Difference`] between the anomalies of two runs, by function and call
//! path.

use super::record::{Entry, Kind};
use super::store::Store;
use crate::{Label, Result};
use perf_core::Nanos;
use std::collections::BTreeMap;

/// Anomalies of one function or call path in one run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Side {
    /// Number of recorded anomalies.
    pub anomalies: u64,
    /// Number of recorded anomalies that were too fast.
    pub too_fast: u64,
    /// Time lost by the recorded anomalies.
    pub time_lost: Nanos,
    /// Time above the expected one of those that wait for others.
    pub waiting: Nanos,
    /// Highest score of an anomaly.
    pub score: f64,
}

/// One function or call path in both runs.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Difference {
    /// The program.
    pub program: u32,
    /// Name of the function, or names of all functions on the path.
    pub name: String,
    /// Anomalies in the first run.
    pub one: Side,
    /// Anomalies in the second run.
    pub other: Side,
}

impl Difference {
    /// Returns the time lost in the second run minus that in the first run.
    pub fn more_time_lost(&self) -> Nanos {
        Nanos(self.other.time_lost.0.saturating_sub(self.one.time_lost.0))
    }
}

/// Anomalies of two runs by function and by call path, in descending order of the absolute
/// difference of time lost, and then of waiting.
///
/// Functions and paths are matched by program and name, so that runs with different builds, ranks
/// and orders of events can be compared.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Comparison {
    /// Differences by function.
    pub functions: Vec<Difference>,
    /// Differences by call path.
    pub paths: Vec<Difference>,
}

type Sides = BTreeMap<(u32, String), (Side, Side)>;

impl Comparison {
    /// Compares the contents of two stores.
    ///
    /// # Errors
    /// Returns the errors of the stores.
    pub fn of(one: &mut dyn Store, other: &mut dyn Store) -> Result<Self> {
        let (mut functions, mut paths) = (Sides::new(), Sides::new());
        let mut count = |store: &mut dyn Store, is_other: bool| {
            store.each(&mut |entry| {
                let Entry::Call(record) = entry else {
                    return Ok(());
                };
                if record.kind != Kind::Anomaly {
                    return Ok(());
                }
                let (path, lost, waiting) = (record.path(), record.time_lost(), record.waiting());
                for (all, name) in [(&mut functions, record.function), (&mut paths, path)] {
                    let sides = all.entry((record.program, name)).or_default();
                    let side = if is_other { &mut sides.1 } else { &mut sides.0 };
                    side.anomalies += 1;
                    side.too_fast += u64::from(record.label == Label::TooFast);
                    side.time_lost.0 = side.time_lost.0.saturating_add(lost.0);
                    side.waiting.0 = side.waiting.0.saturating_add(waiting.0);
                    side.score = side.score.max(record.score);
                }
                Ok(())
            })
        };
        count(one, false)?;
        count(other, true)?;
        Ok(Comparison {
            functions: sorted(functions),
            paths: sorted(paths),
        })
    }
}

fn sorted(sides: Sides) -> Vec<Difference> {
    let difference = |((program, name), (one, other))| Difference {
        program,
        name,
        one,
        other,
    };
    let mut all: Vec<_> = sides.into_iter().map(difference).collect();
    // The sort is stable, so ties stay in order of program and name.
    all.sort_by_key(|one| {
        let anomalies = one.one.anomalies.abs_diff(one.other.anomalies);
        let waiting = one.one.waiting.0.abs_diff(one.other.waiting.0);
        std::cmp::Reverse((one.more_time_lost().0.unsigned_abs(), waiting, anomalies))
    });
    all
}
