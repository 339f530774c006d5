//! [`Rows`] and [`SparseRows`]: rows of a profile in memory; [`JoinedRows`]: rows of several sources.

use super::{RowStore, Severities};
use crate::{CallPathId, Cancelled, Job, LocationId, MetricId, Result, Value, ValueType};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Dense rows in memory.
#[derive(Clone, Debug, Default)]
pub struct Rows(BTreeMap<(MetricId, CallPathId), Arc<Severities>>);

impl Rows {
    /// Adds a row, or replaces it.
    pub fn insert(&mut self, metric: MetricId, path: CallPathId, row: Severities) {
        self.0.insert((metric, path), Arc::new(row));
    }
}

impl RowStore for Rows {
    fn row(&self, metric: MetricId, path: CallPathId) -> Result<Option<Arc<Severities>>> {
        Ok(self.0.get(&(metric, path)).cloned())
    }

    fn paths(&self, metric: MetricId) -> Vec<CallPathId> {
        let from = (metric, CallPathId(0));
        let to = (metric, CallPathId(u32::MAX));
        let rows = self.0.range(from..=to);
        rows.map(|((_, path), _)| *path).collect()
    }
}

/// Rows in memory that store only non-zero severities, for profiles with many locations that have
/// few non-zero severities each. Values must be additive ([`Combine::Sum`](super::Combine::Sum)).
///
/// ```
/// use perf_core::{CallPathId, Job, LocationId, MetricId, RowStore, Severities, SparseRows, Value, ValueType};
/// let mut rows = SparseRows::new(3, vec![ValueType::F64]);
/// rows.push(MetricId(0), CallPathId(1), LocationId(2), Value::F64(0.5));
/// let rows = rows.finish(2, &Job::default())?;
/// let row = rows.row(MetricId(0), CallPathId(1))?.expect("one value was pushed");
/// assert_eq!(*row, Severities::F64(vec![0.0, 0.0, 0.5]));
/// # Ok::<(), perf_core::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct SparseRows {
    /// Number of locations.
    locations: usize,
    /// Rows of each metric.
    metrics: Vec<MetricRows>,
}

/// Rows of one metric. The row of call path `p` is the range of entries from `starts[p]` to
/// `starts[p + 1]`.
#[derive(Clone, Debug, Default)]
struct MetricRows {
    /// Type of the values.
    value_type: ValueType,
    /// First entry of each call path, followed by the number of entries.
    starts: Vec<usize>,
    /// Non-zero values as (call path, location, bits of the value).
    entries: Vec<(CallPathId, LocationId, u64)>,
}

impl SparseRows {
    /// Creates an empty store for a number of locations and metrics of these types.
    pub fn new(locations: usize, types: Vec<ValueType>) -> Self {
        let metric = |value_type| MetricRows {
            value_type,
            ..MetricRows::default()
        };
        SparseRows {
            locations,
            metrics: types.into_iter().map(metric).collect(),
        }
    }

    /// Sets the value of a location. Call it at most once for each metric, call path and location.
    /// The value must have the type of the metric; zeros are not stored.
    pub fn push(&mut self, metric: MetricId, path: CallPathId, at: LocationId, value: Value) {
        if value.to_bits() != 0
            && let Some(metric) = self.metrics.get_mut(metric.index())
        {
            if metric.entries.len() == metric.entries.capacity() {
                // Grows by an eighth, because doubling could waste as much memory as is in use.
                metric.entries.reserve_exact(metric.entries.len() / 8 + 64);
            }
            metric.entries.push((path, at, value.to_bits()));
        }
    }

    /// Sorts the values for a call tree of `paths` call paths. Rows can be read only after this
    /// call.
    ///
    /// # Errors
    ///
    /// Returns [`Cancelled`] if the job is cancelled.
    pub fn finish(mut self, paths: usize, job: &Job) -> std::result::Result<Self, Cancelled> {
        for metric in &mut self.metrics {
            job.sort_by(&mut metric.entries, Ord::cmp)?;
            let mut starts = Vec::with_capacity(paths + 1);
            let mut checks = job.checks();
            for (at, (path, _, _)) in metric.entries.iter().enumerate() {
                checks.next(1)?;
                while starts.len() <= path.index() {
                    starts.push(at);
                }
            }
            starts.resize(paths + 1, metric.entries.len());
            metric.starts = starts;
        }
        Ok(self)
    }

    fn entries(&self, metric: MetricId, path: CallPathId) -> &[(CallPathId, LocationId, u64)] {
        let range = || {
            let metric = self.metrics.get(metric.index())?;
            let start = *metric.starts.get(path.index())?;
            metric
                .entries
                .get(start..*metric.starts.get(path.index() + 1)?)
        };
        range().unwrap_or_default()
    }

    fn value_type(&self, metric: MetricId) -> ValueType {
        let metric = self.metrics.get(metric.index());
        metric.map_or_else(ValueType::default, |metric| metric.value_type)
    }
}

impl RowStore for SparseRows {
    fn row(&self, metric: MetricId, path: CallPathId) -> Result<Option<Arc<Severities>>> {
        let entries = self.entries(metric, path);
        if entries.is_empty() {
            return Ok(None);
        }
        let mut bits = vec![0; self.locations];
        for (_, location, value) in entries {
            if let Some(slot) = bits.get_mut(location.index()) {
                *slot = *value;
            }
        }
        Ok(Some(Arc::new(match self.value_type(metric) {
            ValueType::U64 => Severities::U64(bits),
            ValueType::I64 => Severities::I64(bits.into_iter().map(u64::cast_signed).collect()),
            ValueType::F64 => Severities::F64(bits.into_iter().map(f64::from_bits).collect()),
        })))
    }

    fn paths(&self, metric: MetricId) -> Vec<CallPathId> {
        let metric = self.metrics.get(metric.index());
        let entries = metric.map(|rows| rows.entries.as_slice());
        let runs = entries.unwrap_or_default().chunk_by(|a, b| a.0 == b.0);
        runs.filter_map(|run| run.first().map(|entry| entry.0))
            .collect()
    }

    fn total(&self, metric: MetricId, path: CallPathId) -> Result<Option<Value>> {
        let bits = self.entries(metric, path).iter().map(|entry| entry.2);
        Ok(Some(match self.value_type(metric) {
            ValueType::U64 => Value::U64(bits.fold(0, u64::saturating_add)),
            ValueType::I64 => Value::I64(
                bits.map(u64::cast_signed)
                    .fold(0, |sum, value| sum.saturating_add(value)),
            ),
            ValueType::F64 => Value::F64(bits.map(f64::from_bits).sum()),
        }))
    }
}

/// Rows of several sources: each metric has the rows of a metric of one of them.
///
/// ```
/// use perf_core::{CallPathId, JoinedRows, MetricId, RowStore, Rows, Severities};
/// use std::sync::Arc;
/// let (metric, path) = (MetricId(0), CallPathId(0));
/// let [mut times, mut visits] = [Rows::default(), Rows::default()];
/// times.insert(metric, path, Severities::F64(vec![0.5, 1.5]));
/// visits.insert(metric, path, Severities::U64(vec![3, 3]));
/// let mut rows = JoinedRows::default();
/// rows.extend(Arc::new(times), 0..1);
/// rows.extend(Arc::new(visits), 0..1);
/// assert_eq!(rows.row(MetricId(1), path)?.as_deref(), Some(&Severities::U64(vec![3, 3])));
/// assert_eq!(rows.row(MetricId(2), path)?, None);
/// # Ok::<(), perf_core::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct JoinedRows(Vec<Source>);

/// Consecutive metrics with rows of one source.
#[derive(Clone, Debug)]
struct Source {
    /// Number of the first metric.
    first: u32,
    /// Rows.
    rows: Arc<dyn RowStore>,
    /// Metrics of the source.
    metrics: Range<u32>,
}

impl JoinedRows {
    /// Adds metrics behind the present ones, with the rows that `rows` has for `metrics`. An empty or reversed range
    /// adds none.
    pub fn extend(&mut self, rows: Arc<dyn RowStore>, metrics: Range<u32>) {
        let last = self.0.last();
        let first = last.map_or(0, |last| last.first + last.metrics.len() as u32);
        if !metrics.is_empty() {
            self.0.push(Source {
                first,
                rows,
                metrics,
            });
        }
    }

    /// Returns the source of a metric, and the metric in it. A metric without a source has no rows.
    fn source(&self, metric: MetricId) -> Option<(&dyn RowStore, MetricId)> {
        let after = self.0.partition_point(|source| source.first <= metric.0);
        let source = &self.0[after.checked_sub(1)?];
        let index = (metric.0 - source.first) as usize;
        let own = source.metrics.clone().nth(index)?;
        Some((source.rows.as_ref(), MetricId(own)))
    }
}

impl RowStore for JoinedRows {
    fn row(&self, metric: MetricId, path: CallPathId) -> Result<Option<Arc<Severities>>> {
        match self.source(metric) {
            Some((rows, metric)) => rows.row(metric, path),
            None => Ok(None),
        }
    }

    fn paths(&self, metric: MetricId) -> Vec<CallPathId> {
        self.source(metric)
            .map_or_else(Vec::new, |(rows, metric)| rows.paths(metric))
    }

    fn total(&self, metric: MetricId, path: CallPathId) -> Result<Option<Value>> {
        match self.source(metric) {
            Some((rows, metric)) => rows.total(metric, path),
            None => Ok(None),
        }
    }

    fn scoped(
        &self,
        metric: MetricId,
        path: CallPathId,
        scope: super::Scope,
    ) -> Option<Result<Severities>> {
        let (rows, metric) = self.source(metric)?;
        rows.scoped(metric, path, scope)
    }

    fn over_parts(
        &self,
        metric: MetricId,
        path: CallPathId,
        parts: &[u32],
        count: usize,
    ) -> Option<Result<Vec<f64>>> {
        let (rows, metric) = self.source(metric)?;
        rows.over_parts(metric, path, parts, count)
    }
}
