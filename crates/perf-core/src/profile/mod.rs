//! [`Profile`]: call-path profile with severities `v(metric, call path, location)`, whose rows
//! come from a [`RowStore`]; [`ProfileMetric`]: metric of a profile with its [`Scope`], inclusive
//! or exclusive.

pub mod algebra;
mod combine;
mod derived_rows;
mod in_scope;
mod rows;
mod severities;
mod table;

pub use combine::Combine;
pub use rows::{JoinedRows, Rows, SparseRows};
pub use severities::Severities;

use crate::{
    CallPathId, CallPathLabels, CallTree, CartTopology, Error, Metric, MetricId, Region, Result,
    SystemTree, Value,
};
use std::sync::Arc;

/// Relation of the severity of a call path to the severities of the call paths below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Scope {
    /// The severity includes all call paths below.
    #[default]
    Inclusive,
    /// The severity excludes the call paths below.
    Exclusive,
}

/// Metric of a profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ProfileMetric {
    /// Definition of the metric.
    pub metric: Metric,
    /// Scope of the stored rows.
    pub scope: Scope,
    /// Rule that combines the values of the metric over locations and call paths.
    pub combine: Combine,
    /// Metric with the same quantity in the other scope, if the recording has both.
    /// [`Profile::scoped`] takes the values of this metric instead of deriving them along the call
    /// tree. A flat profile has no call tree, and in a profile of limited depth it is incomplete.
    /// Default `None`.
    #[cfg_attr(feature = "serde", serde(default))]
    pub counterpart: Option<MetricId>,
    /// Additional properties, as (name, value).
    pub properties: Vec<(String, String)>,
}

/// Source of the rows of a profile: memory, or a file that is read on demand.
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
/// // A view that is zero everywhere has no row.
/// assert_eq!(Ramp.row(MetricId(0), CallPathId(1))?, None);
/// # Ok::<(), perf_core::Error>(())
/// ```
pub trait RowStore: Send + Sync + std::fmt::Debug {
    /// Returns the row of a metric and call path; `None` if the view is zero everywhere.
    ///
    /// # Errors
    /// Returns errors of the source as [`Error::Read`].
    fn row(&self, metric: MetricId, path: CallPathId) -> Result<Option<Arc<Severities>>>;

    /// Returns the call paths that have a row for a metric, in ascending order.
    fn paths(&self, metric: MetricId) -> Vec<CallPathId>;

    /// Returns a row combined over all locations, if the store knows it without computing the row.
    ///
    /// # Errors
    /// Returns the errors of [`row`](Self::row).
    fn total(&self, _metric: MetricId, _path: CallPathId) -> Result<Option<Value>> {
        Ok(None)
    }

    /// Returns the row in `scope` of a metric that must be re-evaluated in another scope. An
    /// example is a ratio, which is not a sum or difference of rows ([`Combine::Never`]). Returns
    /// `None` for any other metric, which is the default implementation.
    fn scoped(
        &self,
        metric: MetricId,
        path: CallPathId,
        scope: Scope,
    ) -> Option<Result<Severities>> {
        let _ = (metric, path, scope);
        None
    }

    /// Returns the row over `count` parts of the machine of a metric that must be re-evaluated over
    /// several locations, such as a ratio. `parts` holds the number of the part of each location,
    /// as in [`Combine::over_parts`]. Returns `None` for any other metric, which is the default
    /// implementation.
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

/// Call-path profile: severities `v(metric, call path, location)`.
///
/// There are rows only for views that are not zero. Rows are read on demand.
/// [`Profile::from_trace`] computes a profile from a trace and has an example.
#[derive(Clone, Debug)]
pub struct Profile {
    /// System tree.
    system: Arc<SystemTree>,
    /// Regions by id.
    regions: Arc<Vec<Region>>,
    /// Call tree.
    calls: Arc<CallTree>,
    /// Metrics by id.
    metrics: Arc<Vec<ProfileMetric>>,
    /// Cartesian grids.
    topologies: Arc<Vec<CartTopology>>,
    /// Properties of the recording.
    properties: Arc<Vec<(String, String)>>,
    /// Source of the rows.
    rows: Arc<dyn RowStore>,
}

impl Profile {
    /// Creates a profile from its parts.
    ///
    /// # Errors
    /// Returns [`Error::Undefined`] if the region of a call path does not exist.
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

    /// Replaces the call tree with its regions and rows.
    fn with_calls(
        self,
        calls: CallTree,
        regions: Vec<Region>,
        rows: Arc<dyn RowStore>,
    ) -> Result<Self> {
        let checked = Profile::new(SystemTree::default(), regions, calls, Vec::new(), rows)?;
        let Profile {
            calls,
            regions,
            rows,
            ..
        } = checked;
        Ok(Profile {
            calls,
            regions,
            rows,
            ..self
        })
    }

    /// Replaces the machine. Rows and grids of another number of locations must be replaced as well.
    fn with_system(mut self, system: SystemTree) -> Self {
        self.system = Arc::new(system);
        self
    }

    /// Replaces the Cartesian grids.
    pub fn with_topologies(mut self, topologies: Vec<CartTopology>) -> Self {
        self.topologies = Arc::new(topologies);
        self
    }

    /// Replaces the properties of the recording, as (name, value).
    pub fn with_properties(mut self, properties: Vec<(String, String)>) -> Self {
        self.properties = Arc::new(properties);
        self
    }

    /// Replaces the source of the rows.
    pub fn with_rows(mut self, rows: Arc<dyn RowStore>) -> Self {
        self.rows = rows;
        self
    }

    /// Returns the system tree.
    pub fn system(&self) -> &SystemTree {
        &self.system
    }

    /// Returns the regions by [`RegionId`](crate::RegionId).
    pub fn regions(&self) -> &[Region] {
        &self.regions
    }

    /// Returns the call tree.
    pub fn calls(&self) -> &CallTree {
        &self.calls
    }

    /// Returns the metrics by [`MetricId`].
    pub fn metrics(&self) -> &[ProfileMetric] {
        &self.metrics
    }

    /// Returns the properties of the recording, as (name, value).
    pub fn properties(&self) -> &[(String, String)] {
        &self.properties
    }

    /// Returns the source of the rows.
    pub fn rows(&self) -> &Arc<dyn RowStore> {
        &self.rows
    }

    /// Returns labels of the call paths that tell call sites of equal names apart.
    pub fn call_path_labels(&self) -> CallPathLabels<'_> {
        CallPathLabels::of(&self.calls, &self.regions)
    }

    /// Returns the Cartesian grids over communicators and parts of the machine.
    pub fn topologies(&self) -> &[CartTopology] {
        &self.topologies
    }

    /// Returns the first metric of this name, or `None` if there is no such metric.
    pub fn metric(&self, name: &str) -> Option<MetricId> {
        let at = self
            .metrics
            .iter()
            .position(|metric| metric.metric.name == name)?;
        MetricId::from_index(at)
    }

    /// Returns the severity view of a metric and call path; `None` if it is zero everywhere.
    ///
    /// # Errors
    /// Returns [`Error::Undefined`] for an id that does not exist, or [`Error::Read`] if the source
    /// fails.
    pub fn row(&self, metric: MetricId, path: CallPathId) -> Result<Option<Arc<Severities>>> {
        self.check(metric, path)?;
        self.rows.row(metric, path)
    }

    /// Combines a view over parts of the machine into one number for each part, in the stored scope
    /// of the metric. Returns `true` if there is a row; without a row all values are 0. `parts`
    /// holds the number of the part of each location; a number past the end of `values` means that
    /// the location is in no part.
    ///
    /// Several locations of a part are combined by [`ProfileMetric::combine`]: additive metrics are
    /// summed, minimum and maximum metrics take the extreme. Derived metrics are re-evaluated from
    /// their inputs over the part, so that a ratio is the ratio of the sums. Values that cannot be
    /// combined become NaN for a part with several locations. A part without a location is 0.
    ///
    /// # Errors
    /// Returns the errors of [`row`](Self::row), and [`Error::Length`] if `parts` does not have one
    /// entry for each location.
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
            // The expression also has a value for parts without locations.
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

    /// Returns the call paths whose view of a metric is not zero, in ascending order.
    pub fn paths(&self, metric: MetricId) -> Vec<CallPathId> {
        self.rows.paths(metric)
    }

    /// Combines a view over all locations into one value, by [`ProfileMetric::combine`]; for most
    /// metrics this is the sum. Without a row, returns the value of an empty row, such as zero.
    ///
    /// # Errors
    /// Returns the errors of [`row`](Self::row).
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

/// Profiles are equal if their definitions and rows are equal. All rows are read. Profiles with a
/// row that cannot be read are not equal.
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

    /// Returns a row of zeros for `locations` locations.
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
