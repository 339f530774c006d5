//! [`Profile`]: severities `v(metric, call path, location)`.

mod combine;
mod estimate;
mod from_trace;
mod rows;
mod scope;
mod severities;
mod table;

pub use combine::Combine;
pub use rows::{Rows, SparseRows};
pub use severities::Severities;

use crate::{
    CallPathId, CallTree, CartTopology, Error, Metric, MetricId, Region, Result, SystemTree, Value,
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
    /// How its values become one, over locations and call paths.
    pub combine: Combine,
    /// Metric that states the same quantity in the other scope, where the recording has both.
    /// [`Profile::scoped`] takes its values instead of deriving them along the call tree, which a flat
    /// profile does not have and a profile of limited depth has in part. Default `None`.
    #[cfg_attr(feature = "serde", serde(default))]
    pub counterpart: Option<MetricId>,
    /// Further facts about it, as (name, value).
    pub properties: Vec<(String, String)>,
}

/// Where a profile has its rows from: memory, or a file that is read as rows are asked for.
///
/// ```
/// use perf_core::{CallPathId, MetricId, Result, RowStore, Severities, Value};
/// use std::sync::Arc;
/// /// A call path in which each of four locations spends as many seconds as its number says.
/// #[derive(Debug)]
/// struct Ramp;
/// impl RowStore for Ramp {
///     fn row(&self, _metric: MetricId, path: CallPathId) -> Result<Option<Arc<Severities>>> {
///         let row = || Arc::new(Severities::F64(vec![0.0, 1.0, 2.0, 3.0]));
///         Ok((path == CallPathId(0)).then(row))
///     }
///     fn paths(&self, _metric: MetricId) -> Vec<CallPathId> {
///         vec![CallPathId(0)]
///     }
/// }
/// let row = Ramp.row(MetricId(0), CallPathId(0))?;
/// assert_eq!(row.map(|row| row.sum()), Some(Value::F64(6.0)));
/// // What is zero everywhere has no row.
/// assert_eq!(Ramp.row(MetricId(0), CallPathId(1))?, None);
/// # Ok::<(), perf_core::Error>(())
/// ```
pub trait RowStore: Send + Sync + std::fmt::Debug {
    /// The row of a metric and call path; `None` where the view is zero everywhere.
    ///
    /// # Errors
    /// What the source fails with, as [`Error::Read`].
    fn row(&self, metric: MetricId, path: CallPathId) -> Result<Option<Arc<Severities>>>;

    /// The call paths that have a row for a metric, ascending.
    fn paths(&self, metric: MetricId) -> Vec<CallPathId>;

    /// A row as one value over all locations, where the store knows it without making the row.
    ///
    /// # Errors
    /// As [`row`](Self::row).
    fn total(&self, _metric: MetricId, _path: CallPathId) -> Result<Option<Value>> {
        Ok(None)
    }

    /// For a metric that has to be evaluated anew in another scope, such as a ratio, since no sum
    /// or difference of rows yields it ([`Combine::Never`]): its row in `scope`. `None`, the
    /// default, for any other metric.
    fn scoped(
        &self,
        metric: MetricId,
        path: CallPathId,
        scope: Scope,
    ) -> Option<Result<Severities>> {
        let _ = (metric, path, scope);
        None
    }

    /// For a metric that has to be evaluated anew over several locations, such as a ratio: its row
    /// over `count` parts of the machine, where `parts` says which part each location is in, as in
    /// [`Combine::over_parts`]. `None`, the default, for any other metric.
    fn over_parts(
        &self,
        metric: MetricId,
        path: CallPathId,
        parts: &[u32],
        count: usize,
    ) -> Option<Result<Vec<f64>>> {
        let _ = (metric, path, parts, count);
        None
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
    properties: Arc<Vec<(String, String)>>,
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
            properties: Arc::default(),
            rows,
        })
    }

    /// The same profile with Cartesian grids.
    pub fn with_topologies(mut self, topologies: Vec<CartTopology>) -> Self {
        self.topologies = Arc::new(topologies);
        self
    }

    /// The same profile with further facts about the recording, as (name, value).
    pub fn with_properties(mut self, properties: Vec<(String, String)>) -> Self {
        self.properties = Arc::new(properties);
        self
    }

    /// The same profile with its rows from elsewhere.
    pub fn with_rows(mut self, rows: Arc<dyn RowStore>) -> Self {
        self.rows = rows;
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

    /// Further facts about the recording, as (name, value).
    pub fn properties(&self) -> &[(String, String)] {
        &self.properties
    }

    /// Where the rows come from.
    pub fn rows(&self) -> &Arc<dyn RowStore> {
        &self.rows
    }

    /// Cartesian grids over communicators and parts of the machine.
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

    /// A view over parts of the machine, as stored along the call tree: one number a part, and
    /// whether there is a row; without one all are 0. `parts` says of each location which part it
    /// is in; a number past the parts is none.
    ///
    /// Several locations of a part become one number as [`ProfileMetric::combine`] says: mostly
    /// their sum, for smallest and largest values the extreme. Derived metrics are evaluated anew from
    /// what their inputs are over the part, so that a ratio is one of sums. What nothing combines is
    /// NaN where a part has several locations, and a part without one is 0.
    ///
    /// # Errors
    /// As [`row`](Self::row), and [`Error::Length`] if `parts` has not one number a location.
    pub fn over_parts(
        &self,
        metric: MetricId,
        path: CallPathId,
        parts: &[u32],
        values: &mut [f64],
    ) -> Result<bool> {
        self.check(metric, path)?;
        let length = |expected, got| Error::Length {
            what: "locations of a view",
            expected,
            got,
        };
        let locations = self.system.locations().len();
        if parts.len() != locations {
            return Err(length(locations, parts.len()));
        }
        if let Some(row) = self.rows.over_parts(metric, path, parts, values.len()) {
            // The expression has a value for parts without locations as well.
            values.fill(0.0);
            let row = row?;
            for part in parts.iter().map(|part| *part as usize) {
                if let (Some(slot), Some(value)) = (values.get_mut(part), row.get(part)) {
                    *slot = *value;
                }
            }
            return Ok(true);
        }
        let row = self.rows.row(metric, path)?;
        let (Some(row), Some(about)) = (row, self.metrics.get(metric.index())) else {
            values.fill(0.0);
            return Ok(false);
        };
        if row.len() != locations {
            return Err(length(locations, row.len()));
        }
        about.combine.over_parts(&row, parts, values);
        Ok(true)
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

    /// A view as one value over all locations, as [`ProfileMetric::combine`] says: mostly the sum.
    /// Where there is no row it is that of an empty row, such as zero.
    ///
    /// # Errors
    /// As [`row`](Self::row).
    pub fn total(&self, metric: MetricId, path: CallPathId) -> Result<Value> {
        self.check(metric, path)?;
        if let Some(total) = self.rows.total(metric, path)? {
            return Ok(total);
        }
        let row = self.row(metric, path)?;
        let Some(metric) = self.metrics.get(metric.index()) else {
            return Ok(Value::U64(0));
        };
        Ok(match row {
            Some(row) => metric.combine.total(&row),
            None => metric.combine.total(&metric.zeros(0)),
        })
    }
}

/// The same definitions and rows. All rows are read for it; one that cannot be read is equal to none.
impl PartialEq for Profile {
    fn eq(&self, other: &Self) -> bool {
        let is_same = self.metrics == other.metrics
            && self.regions == other.regions
            && self.calls == other.calls
            && self.system == other.system
            && self.topologies == other.topologies
            && self.properties == other.properties;
        let mut metrics = (0..self.metrics.len()).filter_map(MetricId::from_index);
        is_same
            && metrics.all(|metric| {
                let paths = self.paths(metric);
                paths == other.paths(metric)
                    && paths.into_iter().all(|path| {
                        let rows = (self.row(metric, path), other.row(metric, path));
                        matches!(rows, (Ok(own), Ok(theirs)) if own == theirs)
                    })
            })
    }
}

impl ProfileMetric {
    /// Returns the name without the word for its scope, such as `TIME` for `exclusive TIME`.
    ///
    /// ```
    /// use perf_core::{Metric, ProfileMetric};
    /// let metric = Metric { name: "exclusive TIME".into(), ..Metric::default() };
    /// let about = ProfileMetric { metric, ..ProfileMetric::default() };
    /// assert_eq!(about.quantity(), "TIME");
    /// ```
    pub fn quantity(&self) -> &str {
        let name = self.metric.name.as_str();
        let words = ["exclusive ", "inclusive "];
        let rest = words.iter().find_map(|word| name.strip_prefix(word));
        rest.unwrap_or(name)
    }

    /// A row of zeros.
    pub fn zeros(&self, locations: usize) -> Severities {
        match self.combine.width() {
            1 => Severities::zeros(self.metric.value_type, locations),
            width => Severities::Tuples {
                width,
                values: vec![0.0; locations.saturating_mul(width)],
            },
        }
    }
}
