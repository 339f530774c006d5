//! Tables of a [`Profile`]: severities by call path and location, and the top call paths.

use super::{Combine, Profile, ProfileMetric, Scope, Severities};
use crate::{
    CallPathId, Column, Error, Job, LocationId, MetricId, Nanos, Result, Table, Value, ValueType,
};
use std::collections::BTreeSet;
use std::sync::Arc;

impl Profile {
    /// Returns severities as a table with a row for each call path and location.
    ///
    /// | column | type | meaning |
    /// |---|---|---|
    /// | `call path` | text | names of the regions from the root, `main > solve` |
    /// | `location` | text | process and thread, see [`SystemTree::label`](crate::SystemTree::label) |
    /// | one for each metric, `exclusive time` | of the metric | severity, see below |
    ///
    /// The name of a column consists of the scope and the [quantity](ProfileMetric::quantity) of
    /// its metric. Metrics in seconds or fractions of a second become columns of times, rounded to
    /// whole nanoseconds. All other metrics keep their unit, except that the units of plain counts
    /// (`#`, `occ`, `none`) become empty and `bytes` becomes `B`.
    ///
    /// A metric of [`Combine::Statistics`] has the columns `samples of X`, `minimum X`, `maximum X`
    /// and `sum of X`. A metric of [`Combine::Histogram`] has the columns `minimum X` and `maximum
    /// X`. Of other tuples the table contains the first number.
    ///
    /// Rows are in the order of call paths, then of locations. A row in which every value is zero,
    /// infinite or NaN is skipped. Infinite and NaN values are missing cells.
    ///
    /// Memory grows with the number of rows in the table, because severities are read one call path
    /// at a time. A scope that is not recorded is derived for each call path, see
    /// [`scoped`](Self::scoped).
    ///
    /// ```
    /// # use perf_core::{Definitions, Event, Events, Location, Region, RegionId, SystemTree, Ticks, Trace};
    /// use perf_core::{Job, Profile, Scope};
    /// # let mut definitions = Definitions::default();
    /// # let location = Location { name: "thread 0".into(), ..Location::default() };
    /// # definitions.system = SystemTree::new(vec![], vec![], vec![location], &Default::default())?;
    /// # definitions.regions = vec![Region::named("main"), Region::named("solve")];
    /// # let mut events = Events::default();
    /// # events.push(Ticks(0), Event::Enter { region: RegionId(0) })?;
    /// # events.push(Ticks(20), Event::Enter { region: RegionId(1) })?;
    /// # events.push(Ticks(90), Event::Leave { region: RegionId(1) })?;
    /// # events.push(Ticks(100), Event::Leave { region: RegionId(0) })?;
    /// # let trace = Trace::new(definitions, vec![events])?;
    /// // main runs from 0 to 100 ns, solve within it from 20 to 90 ns.
    /// let (profile, _) = Profile::from_trace(trace.view(), &Job::default())?;
    /// let metric = |name| profile.metric(name).expect("profiles of traces have it");
    /// let metrics = [
    ///     (metric("time"), Scope::Exclusive),
    ///     (metric("visits"), Scope::Exclusive),
    /// ];
    /// let table = profile.table(&metrics, &Job::default())?;
    /// assert_eq!(table.rows(), 2);
    /// assert_eq!(table.text_of(1, "call path"), "main > solve");
    /// assert_eq!(table.text_of(1, "location"), "thread 0");
    /// assert_eq!(table.text_of(1, "exclusive time"), "70 ns");
    /// assert_eq!(table.text_of(1, "exclusive visits"), "1");
    /// # Ok::<(), perf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`row`](Self::row), or [`Error::Cancelled`](crate::Error::Cancelled) if the job is
    /// cancelled.
    pub fn table(&self, metrics: &[(MetricId, Scope)], job: &Job) -> Result<Table> {
        let chosen = self.chosen(metrics)?;
        let mut cells = cells(&chosen);
        let mut kept: Vec<(CallPathId, LocationId)> = Vec::new();
        let paths = self.paths_of(&chosen);
        let mut checks = job.checks();
        for &path in &paths {
            checks.next(self.system().locations().len())?;
            job.advance("call paths of a table", 1, paths.len() as u64);
            let rows = chosen.iter().map(|it| self.scoped(it.id, path, it.scope));
            let rows: Vec<Option<Arc<Severities>>> = rows.collect::<Result<_>>()?;
            if rows.iter().all(Option::is_none) {
                continue;
            }
            for location in self.system().location_ids() {
                let at = |part: &Part| {
                    let row = rows.get(part.metric).and_then(Option::as_deref);
                    row.and_then(|row| part.of(row, location))
                };
                let values = chosen.iter().flat_map(|it| &it.parts).map(at);
                let values: Vec<Option<Value>> = values.collect();
                if values.iter().flatten().any(|value| is_severity(*value)) {
                    kept.push((path, location));
                    for (cells, value) in cells.iter_mut().zip(values) {
                        cells.push(value);
                    }
                }
            }
        }
        let labels = self.call_path_labels();
        let mut last = None;
        let mut name = String::new();
        let paths = kept.iter().map(|(path, _)| {
            if last != Some(*path) {
                last = Some(*path);
                name = labels.label(*path);
            }
            name.clone()
        });
        let locations = kept.iter().map(|(_, id)| self.system().label(*id));
        let (phase, total) = ("names of a table", 2 * kept.len() as u64);
        let paths = Column::text("call path", job.watch(phase, total, paths));
        let locations = Column::text("location", job.watch(phase, total, locations));
        job.check()?;
        let table = Table::new("severities", "Severities by call path and location.")
            .with(paths)
            .with(locations);
        let parts = chosen.iter().flat_map(Chosen::named_parts).zip(cells);
        Ok(parts.fold(table, |table, ((name, part), cells)| {
            table.with(part.column(name, cells))
        }))
    }

    /// Returns the `rows` call paths with the largest values of the first metric, combined over
    /// locations.
    ///
    /// | column | type | meaning |
    /// |---|---|---|
    /// | `call path` | text | names of the regions from the root, `main > solve` |
    /// | one for each metric, `exclusive time` | of the metric | value over all locations, see [`Combine`] |
    /// | after it, `share of exclusive time` | float, % | share of the value in the sum over all call paths |
    ///
    /// Values that are not additive, such as minima and ratios, have no share. Inclusive values
    /// contain the values of the call paths below, so their shares can add up to more than 100 %.
    /// Names, units and tuples of metrics are as in [`table`](Self::table). Call paths in which
    /// every value is zero, infinite or NaN are skipped. Equal values are in the order of call
    /// paths.
    ///
    /// Memory grows with the number of call paths: 16 bytes for each, and the rows of the table.
    ///
    /// ```
    /// # use perf_core::{Definitions, Event, Events, Location, Region, RegionId, SystemTree, Ticks, Trace};
    /// use perf_core::{Job, Profile, Scope};
    /// # let mut definitions = Definitions::default();
    /// # definitions.system = SystemTree::new(vec![], vec![], vec![Location::default()], &Default::default())?;
    /// # definitions.regions = vec![Region::named("main"), Region::named("solve")];
    /// # let mut events = Events::default();
    /// # events.push(Ticks(0), Event::Enter { region: RegionId(0) })?;
    /// # events.push(Ticks(20), Event::Enter { region: RegionId(1) })?;
    /// # events.push(Ticks(90), Event::Leave { region: RegionId(1) })?;
    /// # events.push(Ticks(100), Event::Leave { region: RegionId(0) })?;
    /// # let trace = Trace::new(definitions, vec![events])?;
    /// // main runs from 0 to 100 ns, solve within it from 20 to 90 ns.
    /// let (profile, _) = Profile::from_trace(trace.view(), &Job::default())?;
    /// let time = profile.metric("time").expect("profiles of traces have it");
    /// let top = profile.top_call_paths(&[(time, Scope::Exclusive)], 1)?;
    /// assert_eq!((top.rows(), top.text_of(0, "call path")), (1, "main > solve".into()));
    /// assert_eq!(top.text_of(0, "share of exclusive time"), "70 %");
    /// # Ok::<(), perf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`row`](Self::row).
    pub fn top_call_paths(&self, metrics: &[(MetricId, Scope)], rows: usize) -> Result<Table> {
        let chosen = self.chosen(metrics)?;
        // NaN and infinity sort after all numbers.
        let mut order: Vec<(CallPathId, f64)> = Vec::new();
        for path in self.paths_of(&chosen) {
            let values = chosen.iter().map(|it| self.whole(it, path));
            let values: Vec<Vec<Option<Value>>> = values.collect::<Result<_>>()?;
            if values
                .iter()
                .flatten()
                .flatten()
                .any(|value| is_severity(*value))
            {
                let first = values.first().and_then(|values| *values.first()?);
                let key = first.map(Value::as_f64).filter(|key| key.is_finite());
                order.push((path, key.unwrap_or(f64::NEG_INFINITY)));
            }
        }
        order.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        order.truncate(rows);
        let names = order.iter().map(|(path, _)| *path);
        let labels = self.call_path_labels();
        let names = names.map(|path| labels.label(path));
        let mut table =
            Table::new("call paths", "Call paths, summed over locations.").text("call path", names);
        for it in &chosen {
            let mut columns: Vec<Vec<Option<Value>>> = vec![Vec::new(); it.parts.len()];
            for (path, _) in &order {
                for (column, value) in columns.iter_mut().zip(self.whole(it, *path)?) {
                    column.push(value);
                }
            }
            let adds_up = it.about.combine == Combine::Sum;
            let values = columns[0].clone();
            for ((name, part), cells) in it.named_parts().zip(columns) {
                table = table.with(part.column(name, cells));
            }
            if adds_up {
                let all: f64 = self.over_paths(it.id)?.iter().sum();
                // A view that is zero everywhere has no row.
                let share = values
                    .iter()
                    .map(|value| 100.0 * value.map_or(0.0, Value::as_f64) / all);
                let name = format!("share of {}", it.name());
                table = table.floats(name, "%", share);
            }
        }
        Ok(table)
    }

    fn chosen(&self, metrics: &[(MetricId, Scope)]) -> Result<Vec<Chosen<'_>>> {
        let one = |(at, (id, scope)): (usize, &(MetricId, Scope))| {
            let about = self.metrics().get(id.index()).ok_or(Error::Undefined {
                what: "metric",
                id: u64::from(id.0),
                count: self.metrics().len(),
            })?;
            Ok(Chosen {
                id: *id,
                scope: *scope,
                about,
                parts: Part::of_metric(at, about),
            })
        };
        metrics.iter().enumerate().map(one).collect()
    }

    /// Returns the call paths that may have a value of one of the metrics, in ascending order.
    fn paths_of(&self, chosen: &[Chosen<'_>]) -> Vec<CallPathId> {
        let mut paths = BTreeSet::new();
        for it in chosen {
            let stored = [Some(it.id), it.about.counterpart];
            let is_stored = |id: &MetricId| {
                let about = self.metrics().get(id.index());
                about.is_some_and(|about| about.scope == it.scope)
            };
            match stored.into_iter().flatten().find(is_stored) {
                Some(id) => paths.extend(self.paths(id)),
                None => {
                    let all = 0..self.calls().paths().len();
                    paths.extend(all.filter_map(CallPathId::from_index));
                }
            }
        }
        paths.into_iter().collect()
    }

    /// Returns the columns of a metric, combined over all locations.
    fn whole(&self, it: &Chosen<'_>, path: CallPathId) -> Result<Vec<Option<Value>>> {
        let combine = it.about.combine;
        if it.about.scope == it.scope {
            match combine {
                Combine::Sum => return Ok(vec![Some(self.total(it.id, path)?)]),
                Combine::Never(_) => {
                    let (parts, mut value) = (vec![0; self.system().locations().len()], [0.0]);
                    let has_row = self.over_parts(it.id, path, &parts, &mut value)?;
                    return Ok(vec![has_row.then_some(Value::F64(value[0]))]);
                }
                _ => {}
            }
        }
        let Some(row) = self.scoped(it.id, path, it.scope)? else {
            return Ok(vec![None; it.parts.len()]);
        };
        let Severities::Tuples { width, values } = &*row else {
            return Ok(vec![Some(combine.total(&row))]);
        };
        let mut tuples = values.chunks_exact((*width).max(1));
        let mut sum = tuples.next().map_or_else(Vec::new, <[f64]>::to_vec);
        tuples.for_each(|tuple| combine.add(&mut sum, tuple));
        let is_combined = !matches!(combine, Combine::Never(_)) || row.len() == 1;
        let value = |part: &Part| sum.get(part.at).filter(|_| is_combined).copied();
        let values = it.parts.iter().map(|part| value(part).map(Value::F64));
        Ok(values.collect())
    }
}

/// Returns `true` for finite numbers other than zero.
fn is_severity(value: Value) -> bool {
    let value = value.as_f64();
    value != 0.0 && value.is_finite()
}

/// Returns empty columns, one for each part of the metrics.
fn cells(chosen: &[Chosen<'_>]) -> Vec<Vec<Option<Value>>> {
    chosen
        .iter()
        .flat_map(|it| &it.parts)
        .map(|_| Vec::new())
        .collect()
}

/// Metric in one scope.
struct Chosen<'a> {
    /// Id of the metric.
    id: MetricId,
    /// Requested scope.
    scope: Scope,
    /// Definition of the metric.
    about: &'a ProfileMetric,
    /// Columns of the metric.
    parts: Vec<Part>,
}

impl Chosen<'_> {
    fn name(&self) -> String {
        let scope = match self.scope {
            Scope::Inclusive => "inclusive",
            Scope::Exclusive => "exclusive",
        };
        format!("{scope} {}", self.about.quantity())
    }

    fn named_parts(&self) -> impl Iterator<Item = (String, &Part)> {
        let name = |part: &Part| format!("{}{}", part.prefix, self.name());
        self.parts.iter().map(move |part| (name(part), part))
    }
}

/// Column of a metric, which contains its numbers or one number of each tuple.
struct Part {
    /// Index of the metric among the chosen metrics.
    metric: usize,
    /// Prefix of the metric name.
    prefix: &'static str,
    /// Index in the tuple.
    at: usize,
    /// Unit of the column.
    unit: String,
    /// Type of the values.
    value_type: ValueType,
}

impl Part {
    fn of_metric(metric: usize, about: &ProfileMetric) -> Vec<Part> {
        let parts: &[(&str, usize)] = match about.combine {
            Combine::Statistics => &[
                ("samples of ", 0),
                ("minimum ", 1),
                ("maximum ", 2),
                ("sum of ", 3),
            ],
            Combine::Histogram(_) => &[("minimum ", 0), ("maximum ", 1)],
            _ => &[("", 0)],
        };
        let is_count = |at| about.combine == Combine::Statistics && at == 0;
        let part = |(prefix, at): &(&'static str, usize)| Part {
            metric,
            prefix,
            at: *at,
            unit: if is_count(*at) {
                String::new()
            } else {
                about.metric.unit.clone()
            },
            value_type: about.metric.value_type,
        };
        parts.iter().map(part).collect()
    }

    fn of(&self, row: &Severities, location: LocationId) -> Option<Value> {
        match row {
            Severities::Tuples { .. } => {
                let number = row.tuple(location)?.get(self.at)?;
                Some(Value::F64(*number))
            }
            _ => row.get(location),
        }
    }

    /// Builds the column of these values. `None` stands for a view that is zero everywhere.
    fn column(&self, name: String, cells: Vec<Option<Value>>) -> Column {
        let zero = Value::from_bits(self.value_type, 0);
        let cells = cells.into_iter().map(|cell| cell.unwrap_or(zero));
        let unit = match self.unit.as_str() {
            "#" | "occ" | "none" => String::new(),
            "bytes" => "B".into(),
            unit => match nanos_per(unit) {
                Some(factor) => return Column::times(name, cells.map(|cell| nanos(cell, factor))),
                None => unit.into(),
            },
        };
        let cells: Vec<Value> = cells.collect();
        // Differences of unsigned values are signed, and sums over call paths may be floats.
        let any = |of: fn(&Value) -> bool| cells.iter().any(of);
        if any(|cell| matches!(cell, Value::F64(_))) || self.value_type == ValueType::F64 {
            return Column::floats(name, unit, cells.into_iter().map(Value::as_f64));
        }
        if any(|cell| matches!(cell, Value::I64(_))) || self.value_type == ValueType::I64 {
            return Column::signed(name, unit, cells.into_iter().map(signed));
        }
        Column::unsigned(name, unit, cells.into_iter().map(Value::to_bits))
    }
}

/// Returns the number of nanoseconds in a unit of time, or `None` for other units.
pub(super) fn nanos_per(unit: &str) -> Option<u32> {
    Some(match unit {
        "ns" | "nsec" => 1,
        "us" | "usec" => 1_000,
        "ms" | "msec" => 1_000_000,
        "s" | "sec" => 1_000_000_000,
        _ => return None,
    })
}

fn signed(value: Value) -> Option<i64> {
    match value {
        Value::U64(value) => i64::try_from(value).ok(),
        Value::I64(value) => Some(value),
        Value::F64(_) => None,
    }
}

/// Converts a value to nanoseconds. Returns `None` beyond 292 years and for NaN.
fn nanos(value: Value, factor: u32) -> Option<Nanos> {
    let nanos = match value {
        Value::F64(value) => {
            let nanos = (value * f64::from(factor)).round();
            // 2^63 itself does not fit.
            let fits = nanos.abs() < 9_223_372_036_854_775_808.0;
            fits.then_some(nanos as i64)
        }
        value => signed(value)?.checked_mul(i64::from(factor)),
    };
    nanos.map(Nanos)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CallTree, Cell, Limits, Location, Metric, Region, RegionId, Rows, SystemTree};

    fn metric(name: &str, unit: &str, value_type: ValueType, combine: Combine) -> ProfileMetric {
        ProfileMetric {
            metric: Metric {
                name: name.into(),
                unit: unit.into(),
                value_type,
                ..Default::default()
            },
            combine,
            ..Default::default()
        }
    }

    /// Returns a profile in which `main` calls `solve`, on two threads.
    fn profile(metrics: Vec<ProfileMetric>, rows: &[(u32, u32, Severities)]) -> Profile {
        let location = |key: u64| Location {
            name: format!("thread {key}"),
            key,
            ..Default::default()
        };
        let locations = vec![location(0), location(1)];
        let system = SystemTree::new(vec![], vec![], locations, &Limits::default()).unwrap();
        let mut calls = CallTree::default();
        let main = calls.child(None, RegionId(0)).unwrap();
        calls.child(Some(main), RegionId(1)).unwrap();
        let mut store = Rows::default();
        for (metric, path, row) in rows {
            store.insert(MetricId(*metric), CallPathId(*path), row.clone());
        }
        let regions = vec![Region::named("main"), Region::named("solve")];
        Profile::new(system, regions, calls, metrics, Arc::new(store)).unwrap()
    }

    fn f64s(values: &[f64]) -> Severities {
        Severities::F64(values.to_vec())
    }

    const INCLUSIVE: Scope = Scope::Inclusive;
    const EXCLUSIVE: Scope = Scope::Exclusive;

    #[test]
    fn rows_of_zeros_are_skipped() {
        let time = metric("time", "sec", ValueType::F64, Combine::Sum);
        let visits = metric("visits", "occ", ValueType::U64, Combine::Sum);
        let rows = [
            (0, 0, f64s(&[1.5, 2.0])),
            (0, 1, f64s(&[f64::NAN, 0.5])),
            (1, 0, Severities::U64(vec![0, 0])),
        ];
        let profile = profile(vec![time, visits], &rows);
        let chosen = [(MetricId(0), INCLUSIVE), (MetricId(1), INCLUSIVE)];
        let table = profile.table(&chosen, &Job::default()).unwrap();
        let text = |row| table.text_of(row, "call path") + ", " + &table.text_of(row, "location");
        let rows: Vec<String> = (0..table.rows()).map(text).collect();
        let expected = ["main, thread 0", "main, thread 1", "main > solve, thread 1"];
        assert_eq!(rows, expected);
        let time = |row| table.cell(row, "inclusive time").unwrap();
        assert_eq!(time(0), Cell::Time(Nanos(1_500_000_000)));
        assert_eq!(time(2), Cell::Time(Nanos(500_000_000)));
        let visits = table.column("inclusive visits").unwrap();
        assert_eq!((visits.unit(), visits.cell(2)), ("", Cell::Unsigned(0)));
        let job = Job::default();
        assert_eq!(profile.table(&[], &job).unwrap().rows(), 0);
        let table = profile.table(&chosen, &Job::stopping_after(0));
        assert!(matches!(table, Err(Error::Cancelled(_))));
        assert!(profile.table(&[(MetricId(2), INCLUSIVE)], &job).is_err());
    }

    #[test]
    fn derived_scopes_and_shares() {
        let cycles = metric("cycles", "", ValueType::U64, Combine::Sum);
        let rows = [
            (0, 0, Severities::U64(vec![30, 50])),
            (0, 1, Severities::U64(vec![40, 20])),
        ];
        let profile = profile(vec![cycles], &rows);
        let own = profile.table(&[(MetricId(0), EXCLUSIVE)], &Job::default());
        let own = own.unwrap();
        let cells = (0..own.rows()).map(|row| own.cell(row, "exclusive cycles").unwrap());
        let expected = [-10, 30, 40, 20].map(Cell::Signed);
        assert_eq!(cells.collect::<Vec<_>>(), expected);
        let chosen = [(MetricId(0), EXCLUSIVE), (MetricId(0), INCLUSIVE)];
        let top = profile.top_call_paths(&chosen, 9).unwrap();
        assert_eq!(top.text_of(0, "call path"), "main > solve");
        let share = |row, scope: &str| top.cell(row, &format!("share of {scope} cycles"));
        assert_eq!(share(0, "exclusive"), Some(Cell::Float(75.0)));
        assert_eq!(share(1, "exclusive"), Some(Cell::Float(25.0)));
        assert_eq!(share(1, "inclusive"), Some(Cell::Float(100.0)));
        // A call path without a row has the value and share 0; a metric without any value has no
        // share.
        let visits = |name| metric(name, "#", ValueType::U64, Combine::Sum);
        let rows = [
            (0, 0, Severities::U64(vec![1, 3])),
            (0, 1, Severities::U64(vec![2, 2])),
            (1, 0, Severities::U64(vec![2, 0])),
        ];
        let metrics = vec![visits("a"), visits("b"), visits("c")];
        let profile = self::profile(metrics, &rows);
        let chosen = [0, 1, 2].map(|id| (MetricId(id), EXCLUSIVE));
        let top = profile.top_call_paths(&chosen, 9).unwrap();
        let share = |row, of: &str| top.cell(row, &format!("share of exclusive {of}"));
        assert_eq!(top.text_of(0, "call path"), "main > solve");
        assert_eq!(top.cell(0, "exclusive b"), Some(Cell::Signed(0)));
        assert_eq!(share(0, "b"), Some(Cell::Float(0.0)));
        assert_eq!(share(1, "b"), Some(Cell::Float(100.0)));
        assert_eq!(share(1, "c"), Some(Cell::Missing));
    }

    #[test]
    fn tuples_and_extremes() {
        let sizes = metric("sizes", "bytes", ValueType::F64, Combine::Statistics);
        let least = metric("least", "W", ValueType::F64, Combine::Minimum);
        let values = vec![2.0, 1.0, 7.0, 8.0, 50.0, 1.0, 9.0, 9.0, 9.0, 81.0];
        let rows = [
            (0, 0, Severities::Tuples { width: 5, values }),
            (1, 0, f64s(&[3.0, f64::INFINITY])),
        ];
        let profile = profile(vec![sizes, least], &rows);
        let chosen = [(MetricId(0), INCLUSIVE), (MetricId(1), INCLUSIVE)];
        let table = profile.table(&chosen, &Job::default()).unwrap();
        assert_eq!(table.text_of(1, "samples of inclusive sizes"), "1");
        assert_eq!(table.text_of(0, "maximum inclusive sizes"), "7 B");
        assert_eq!(table.cell(1, "inclusive least"), Some(Cell::Missing));
        let top = profile.top_call_paths(&chosen, 9).unwrap();
        assert_eq!(top.text_of(0, "samples of inclusive sizes"), "3");
        assert_eq!(top.text_of(0, "minimum inclusive sizes"), "1 B");
        assert_eq!(top.text_of(0, "sum of inclusive sizes"), "17 B");
        assert_eq!(top.cell(0, "inclusive least"), Some(Cell::Float(3.0)));
        assert_eq!(top.columns().len(), 1 + 4 + 1);
    }

    #[test]
    fn times_that_do_not_fit_are_missing() {
        assert_eq!(nanos(Value::U64(u64::MAX), 1), None);
        assert_eq!(nanos(Value::F64(1e300), 1), None);
        assert_eq!(nanos(Value::F64(f64::NAN), 1), None);
        assert_eq!(nanos(Value::I64(i64::MAX), 1_000), None);
        assert_eq!(nanos(Value::F64(-1.5), 1_000), Some(Nanos(-1_500)));
    }
}
