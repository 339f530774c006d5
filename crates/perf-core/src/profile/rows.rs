//! [`SparseRows`] and [`Rows`]: storage for the rows of a profile in memory.

use super::{RowStore, Severities};
use crate::{CallPathId, Cancelled, Job, LocationId, MetricId, Result, Value, ValueType};
use std::collections::BTreeMap;
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

/// Rows of a profile, and rows of metrics that were added to it.
#[derive(Debug)]
pub(super) struct Overlay {
    /// Rows of the original metrics.
    pub(super) base: Arc<dyn RowStore>,
    /// First metric that was added.
    pub(super) first: MetricId,
    /// Rows of the added metrics.
    pub(super) added: Rows,
}

impl RowStore for Overlay {
    fn row(&self, metric: MetricId, path: CallPathId) -> Result<Option<Arc<Severities>>> {
        if metric < self.first {
            self.base.row(metric, path)
        } else {
            self.added.row(metric, path)
        }
    }

    fn paths(&self, metric: MetricId) -> Vec<CallPathId> {
        if metric < self.first {
            self.base.paths(metric)
        } else {
            self.added.paths(metric)
        }
    }

    fn total(&self, metric: MetricId, path: CallPathId) -> Result<Option<Value>> {
        if metric < self.first {
            self.base.total(metric, path)
        } else {
            self.added.total(metric, path)
        }
    }

    fn scoped(
        &self,
        metric: MetricId,
        path: CallPathId,
        scope: super::Scope,
    ) -> Option<Result<Severities>> {
        if metric < self.first {
            self.base.scoped(metric, path, scope)
        } else {
            None
        }
    }

    fn over_parts(
        &self,
        metric: MetricId,
        path: CallPathId,
        parts: &[u32],
        count: usize,
    ) -> Option<Result<Vec<f64>>> {
        if metric < self.first {
            self.base.over_parts(metric, path, parts, count)
        } else {
            None
        }
    }
}
