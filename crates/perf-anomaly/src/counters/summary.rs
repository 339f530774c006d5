//! [`CounterSummary`]: a counter over all ranks, and its conversion to tables.

use super::CounterStats;
use crate::Moments;
use crate::server::FunctionName;
use perf_core::{Column, Merge, Table};
use std::cmp::Ordering;

/// Values of a counter over all ranks of a program.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct CounterSummary {
    /// Program and name, with the unit if it is known.
    pub name: FunctionName,
    /// Number of ranks with statistics of their own.
    pub ranks: usize,
    /// `true` if the values of some ranks are known over all ranks only, because there are too many ranks.
    pub has_more_ranks: bool,
    /// Values of all ranks.
    pub stats: CounterStats,
    /// Rank with the largest mean, or with the largest increase of a counter that
    /// [accumulates](CounterStats::accumulates), and its values; `None` if ranks do not differ
    /// by more than 1 %.
    pub highest: Option<(u32, CounterStats)>,
    /// Difference of the means or increases of the highest and the lowest rank as a share of the larger magnitude, in
    /// `0.0..=2.0`; 0 if ranks do not differ by more than 1 %.
    pub difference: f64,
}

impl CounterSummary {
    /// Returns the value by which ranks are compared: the mean, or the increase of a counter that accumulates.
    pub fn compared(&self, stats: &CounterStats) -> f64 {
        if self.stats.accumulates() {
            stats.growth
        } else {
            stats.values.mean()
        }
    }

    /// Orders counters for a reader who looks for ranks or calls that are unlike others: by falling difference of ranks,
    /// then by falling deviation of values relative to their mean, and by program and name. Counters with a single value
    /// are last.
    pub(super) fn by_interest(&self, other: &Self) -> Ordering {
        let differences = other.difference.total_cmp(&self.difference);
        let constant = |one: &Self| one.stats.values.min() == one.stats.values.max();
        let variation = |one: &Self| {
            let (values, is_level) = (&one.stats.values, !one.stats.accumulates());
            let relative = values.std_dev() / values.mean().abs().max(f64::MIN_POSITIVE);
            if is_level { relative } else { 0.0 }
        };
        differences
            .then_with(|| constant(self).cmp(&constant(other)))
            .then_with(|| variation(other).total_cmp(&variation(self)))
            .then_with(|| self.name.cmp(&other.name))
    }

    pub(super) fn add(&mut self, rank: u32, stats: &CounterStats) {
        self.ranks += 1;
        self.stats.merge(stats);
        self.highest.get_or_insert((rank, *stats));
    }

    /// Returns counters as a table, one row each, in the given order.
    ///
    /// | column | type | meaning |
    /// |---|---|---|
    /// | `program` | unsigned | program |
    /// | `counter` | text | name, with the unit if it is known |
    /// | `ranks` | unsigned | number of ranks with values |
    /// | `values` | unsigned | number of values |
    /// | `mean`, `deviation`, `smallest`, `largest` | float | values; no mean and deviation of a counter that [accumulates](CounterStats::accumulates) |
    /// | `sum`, `skewness`, `kurtosis` | float | values, missing in the same way |
    /// | `increase` | float | increase on all ranks of a counter that accumulates, otherwise missing |
    /// | `highest rank` | unsigned | rank with the largest mean or increase, missing if ranks do not differ |
    /// | `on it` | float | mean or increase on this rank |
    ///
    /// ```
    /// use perf_anomaly::{CounterSummary, Monitor, Watch};
    /// use perf_core::{Cell, Nanos, Value};
    /// let mut watch = Watch::new(Monitor::default(), 0, 0);
    /// let load = watch.counter("load");
    /// for value in [1.0, 3.0] {
    ///     watch.count(0, load, Value::F64(value), Nanos(1));
    /// }
    /// watch.end_step();
    /// let table = CounterSummary::table(&watch.into_sink().finish()?.counters());
    /// assert_eq!(table.cell(0, "mean"), Some(Cell::Float(2.0)));
    /// assert_eq!(table.cell(0, "increase"), Some(Cell::Missing));
    /// # Ok::<(), perf_anomaly::Error>(())
    /// ```
    pub fn table(all: &[CounterSummary]) -> Table {
        let floats = |name: &'static str, of: fn(&CounterSummary) -> Option<f64>| {
            Column::floats(name, "", all.iter().map(of))
        };
        let of_values = |name, of: fn(&Moments) -> f64| {
            let values = all.iter().map(|one| {
                let is_level = !one.stats.accumulates();
                is_level.then(|| of(&one.stats.values))
            });
            Column::floats(name, "", values)
        };
        let highest = |one: &CounterSummary| one.highest.map(|(rank, _)| rank);
        Table::new("counters", "Values of each counter on all ranks.")
            .unsigned("program", "", all.iter().map(|one| one.name.program))
            .text("counter", all.iter().map(|one| &*one.name.name))
            .unsigned("ranks", "", all.iter().map(|one| one.ranks as u64))
            .unsigned("values", "", all.iter().map(|one| one.stats.values.count()))
            .with(of_values("mean", Moments::mean))
            .with(of_values("deviation", Moments::std_dev))
            .with(floats("smallest", |one| one.stats.values.min()))
            .with(floats("largest", |one| one.stats.values.max()))
            .with(of_values("sum", Moments::sum))
            .with(of_values("skewness", Moments::skewness))
            .with(of_values("kurtosis", Moments::kurtosis))
            .with(floats("increase", |one| {
                one.stats.accumulates().then_some(one.stats.growth)
            }))
            .unsigned("highest rank", "", all.iter().map(highest))
            .with(floats("on it", |one| {
                let (_, stats) = one.highest.as_ref()?;
                Some(one.compared(stats))
            }))
    }
}
