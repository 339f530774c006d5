//! [`Profile`]: severities `v(metric, call path, location)`.

mod from_trace;

use crate::{
    CallPathId, CallTree, CartTopology, Error, LocationId, Metric, MetricId, Region, Result,
    SystemTree, Value, ValueType,
};
use std::sync::Arc;

/// Whether the severity of a call path holds that of the paths below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Scope {
    /// Its own and that of all call paths below.
    #[default]
    Inclusive,
    /// Its own alone.
    Exclusive,
}

/// A metric of a profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ProfileMetric {
    /// What is counted, in which unit.
    pub metric: Metric,
    /// Whether its rows are inclusive or exclusive.
    pub scope: Scope,
}

/// A severity view of one metric and call path: one value a location, of the metric's type.
#[derive(Clone, Debug, PartialEq)]
pub enum Severities {
    /// Unsigned.
    U64(Vec<u64>),
    /// Signed.
    I64(Vec<i64>),
    /// Floating point.
    F64(Vec<f64>),
}

impl Severities {
    /// Zeros of a type.
    pub fn zeros(kind: ValueType, locations: usize) -> Self {
        match kind {
            ValueType::U64 => Severities::U64(vec![0; locations]),
            ValueType::I64 => Severities::I64(vec![0; locations]),
            ValueType::F64 => Severities::F64(vec![0.0; locations]),
        }
    }

    /// Number of locations.
    pub fn len(&self) -> usize {
        match self {
            Severities::U64(values) => values.len(),
            Severities::I64(values) => values.len(),
            Severities::F64(values) => values.len(),
        }
    }

    /// Whether there are no locations.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The severity at a location.
    pub fn get(&self, location: LocationId) -> Option<Value> {
        let at = location.index();
        match self {
            Severities::U64(values) => values.get(at).copied().map(Value::U64),
            Severities::I64(values) => values.get(at).copied().map(Value::I64),
            Severities::F64(values) => values.get(at).copied().map(Value::F64),
        }
    }

    /// All of them as floats; integers past 2^53 are rounded.
    pub fn to_f64(&self) -> Vec<f64> {
        match self {
            Severities::U64(values) => values.iter().map(|value| *value as f64).collect(),
            Severities::I64(values) => values.iter().map(|value| *value as f64).collect(),
            Severities::F64(values) => values.clone(),
        }
    }

    /// Their sum. Integer sums that do not fit are the largest or smallest value.
    pub fn sum(&self) -> Value {
        match self {
            Severities::U64(values) => Value::U64(
                values
                    .iter()
                    .fold(0, |sum, value| sum.saturating_add(*value)),
            ),
            Severities::I64(values) => Value::I64(
                values
                    .iter()
                    .fold(0, |sum, value| sum.saturating_add(*value)),
            ),
            Severities::F64(values) => Value::F64(values.iter().sum()),
        }
    }
}

/// Where a profile has its rows from: memory, or a file that is read as rows are asked for.
pub trait RowStore: Send + Sync + std::fmt::Debug {
    /// The row of a metric and call path; `None` where the view is zero everywhere.
    ///
    /// # Errors
    /// What the source fails with, as [`Error::Read`].
    fn row(&self, metric: MetricId, path: CallPathId) -> Result<Option<Arc<Severities>>>;

    /// The call paths that have a row for a metric, ascending.
    fn paths(&self, metric: MetricId) -> Vec<CallPathId>;

    /// The sum of a row over all locations, where the store knows it without making the row.
    ///
    /// # Errors
    /// As [`row`](Self::row).
    fn total(&self, _metric: MetricId, _path: CallPathId) -> Result<Option<Value>> {
        Ok(None)
    }
}

/// A call-path profile: severities `v(metric, call path, location)`.
///
/// Rows exist only where a view is not zero, and are read when they are asked for.
/// [`Profile::from_trace`] makes one from a trace and has an example.
#[derive(Clone, Debug)]
pub struct Profile {
    system: Arc<SystemTree>,
    regions: Arc<Vec<Region>>,
    calls: Arc<CallTree>,
    metrics: Arc<Vec<ProfileMetric>>,
    topologies: Arc<Vec<CartTopology>>,
    rows: Arc<dyn RowStore>,
}

impl Profile {
    /// Puts a profile together.
    ///
    /// # Errors
    /// [`Error::Undefined`] for a call path whose region is not there.
    pub fn new(
        system: SystemTree,
        regions: Vec<Region>,
        calls: CallTree,
        metrics: Vec<ProfileMetric>,
        rows: Arc<dyn RowStore>,
    ) -> Result<Self> {
        let count = regions.len();
        let lost = |path: &&crate::CallPath| path.region.index() >= count;
        if let Some(path) = calls.paths().iter().find(lost) {
            let id = u64::from(path.region.0);
            return Err(Error::Undefined {
                what: "region",
                id,
                count,
            });
        }
        Ok(Profile {
            system: Arc::new(system),
            regions: Arc::new(regions),
            calls: Arc::new(calls),
            metrics: Arc::new(metrics),
            topologies: Arc::default(),
            rows,
        })
    }

    /// The same profile with Cartesian grids.
    pub fn with_topologies(mut self, topologies: Vec<CartTopology>) -> Self {
        self.topologies = Arc::new(topologies);
        self
    }

    /// The machine, processes and locations.
    pub fn system(&self) -> &SystemTree {
        &self.system
    }

    /// Code regions, by [`RegionId`](crate::RegionId).
    pub fn regions(&self) -> &[Region] {
        &self.regions
    }

    /// Call paths.
    pub fn calls(&self) -> &CallTree {
        &self.calls
    }

    /// Metrics, by [`MetricId`].
    pub fn metrics(&self) -> &[ProfileMetric] {
        &self.metrics
    }

    /// Cartesian grids over communicators.
    pub fn topologies(&self) -> &[CartTopology] {
        &self.topologies
    }

    /// The metric of this name.
    pub fn metric(&self, name: &str) -> Option<MetricId> {
        let at = self
            .metrics
            .iter()
            .position(|metric| metric.metric.name == name)?;
        MetricId::from_index(at)
    }

    /// The severity view of a metric and call path; `None` where it is zero everywhere.
    ///
    /// # Errors
    /// [`Error::Undefined`] for an id that is not there, [`Error::Read`] if the source fails.
    pub fn row(&self, metric: MetricId, path: CallPathId) -> Result<Option<Arc<Severities>>> {
        self.check(metric, path)?;
        self.rows.row(metric, path)
    }

    fn check(&self, metric: MetricId, path: CallPathId) -> Result<()> {
        let undefined = |what, id: u32, count| Error::Undefined {
            what,
            id: u64::from(id),
            count,
        };
        if metric.index() >= self.metrics.len() {
            return Err(undefined("metric", metric.0, self.metrics.len()));
        }
        if path.index() >= self.calls.paths().len() {
            return Err(undefined("call path", path.0, self.calls.paths().len()));
        }
        Ok(())
    }

    /// The call paths whose view of a metric is not zero, ascending.
    pub fn paths(&self, metric: MetricId) -> Vec<CallPathId> {
        self.rows.paths(metric)
    }

    /// The sum of a view over all locations; zero where there is no row.
    ///
    /// # Errors
    /// As [`row`](Self::row).
    pub fn total(&self, metric: MetricId, path: CallPathId) -> Result<Value> {
        self.check(metric, path)?;
        if let Some(total) = self.rows.total(metric, path)? {
            return Ok(total);
        }
        let kind = self
            .metrics
            .get(metric.index())
            .map(|metric| metric.metric.value_type);
        Ok(match self.row(metric, path)? {
            Some(row) => row.sum(),
            None => Severities::zeros(kind.unwrap_or_default(), 0).sum(),
        })
    }
}

/// Rows in memory: only locations whose severity is not zero are kept.
#[derive(Debug, Default)]
pub(crate) struct MemoryRows {
    locations: usize,
    metrics: Vec<MetricRows>,
}

/// The rows of one metric: those of call path `p` are the entries from `starts[p]` to `starts[p + 1]`.
#[derive(Debug, Default)]
struct MetricRows {
    starts: Vec<usize>,
    /// (call path, location, value).
    entries: Vec<(CallPathId, LocationId, u64)>,
}

impl MemoryRows {
    pub(crate) fn new(locations: usize, metrics: usize) -> Self {
        MemoryRows {
            locations,
            metrics: (0..metrics).map(|_| MetricRows::default()).collect(),
        }
    }

    /// Adds a value; zeros are not kept.
    pub(crate) fn push(&mut self, metric: MetricId, path: CallPathId, at: LocationId, value: u64) {
        if value != 0
            && let Some(metric) = self.metrics.get_mut(metric.index())
        {
            metric.entries.push((path, at, value));
        }
    }

    /// Puts the values in order. No row can be asked for before.
    pub(crate) fn finish(mut self, paths: usize) -> Self {
        for metric in &mut self.metrics {
            metric.entries.sort_unstable();
            let mut starts = Vec::with_capacity(paths + 1);
            for (at, (path, _, _)) in metric.entries.iter().enumerate() {
                while starts.len() <= path.index() {
                    starts.push(at);
                }
            }
            starts.resize(paths + 1, metric.entries.len());
            metric.starts = starts;
        }
        self
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
}

impl RowStore for MemoryRows {
    fn row(&self, metric: MetricId, path: CallPathId) -> Result<Option<Arc<Severities>>> {
        let entries = self.entries(metric, path);
        if entries.is_empty() {
            return Ok(None);
        }
        let mut row = vec![0; self.locations];
        for (_, location, value) in entries {
            if let Some(slot) = row.get_mut(location.index()) {
                *slot = *value;
            }
        }
        Ok(Some(Arc::new(Severities::U64(row))))
    }

    fn paths(&self, metric: MetricId) -> Vec<CallPathId> {
        let entries = self
            .metrics
            .get(metric.index())
            .map(|rows| rows.entries.as_slice());
        let runs = entries.unwrap_or_default().chunk_by(|a, b| a.0 == b.0);
        runs.filter_map(|run| run.first().map(|entry| entry.0))
            .collect()
    }

    fn total(&self, metric: MetricId, path: CallPathId) -> Result<Option<Value>> {
        let entries = self.entries(metric, path).iter();
        let sum = entries.fold(0, |sum: u64, (_, _, value)| sum.saturating_add(*value));
        Ok(Some(Value::U64(sum)))
    }
}
