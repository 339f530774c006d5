//! [`LoadImbalance`] of a profile: for each call path, the largest value over the mean, and the
//! excess over the mean, over its locations ([`Imbalance`]).
//!
//! With the values `v_p` of a call path on the locations `p`, load imbalance is the factor
//!
//! ```text
//! factor = max(v) / mean(v)          excess = max(v) - mean(v)
//! ```
//!
//! The load balance of the POP methodology is the inverse of the factor ([`efficiency`](crate::efficiency)). If all
//! locations wait for the slowest one after a call path, the excess of its exclusive time is the elapsed time that
//! balanced work saves, and `n excess` the CPU time on n locations. Less is saved if other work hides the wait, and if
//! another call path is slow where this one is fast. The exclusive time of a call that waits or communicates has an
//! excess too, but saves nothing: it is the consequence of imbalance elsewhere.
//!
//! ```
//! use perf_core::*;
//! use perf_wait::imbalance::LoadImbalance;
//! use std::sync::Arc;
//! let rank = |key| Location { key, ..Location::default() };
//! let system = SystemTree::new(vec![], vec![], (0..4).map(rank).collect(), &Limits::default())?;
//! let mut calls = CallTree::default();
//! let solve = calls.child(None, RegionId(0))?;
//! let mut rows = Rows::default();
//! rows.insert(MetricId(0), solve, Severities::F64(vec![1.0, 2.0, 4.0, 1.0]));
//! let time = ProfileMetric { scope: Scope::Exclusive, ..ProfileMetric::default() };
//! let profile = Profile::new(system, vec![Region::named("solve")], calls, vec![time], Arc::new(rows))?;
//!
//! let found = LoadImbalance::of(&profile, MetricId(0), Scope::Exclusive, &Job::default())?;
//! let solve = &found.paths[0];
//! assert_eq!((solve.values.at, solve.values.max), (LocationId(2), 4.0));
//! assert_eq!((solve.values.factor(), solve.values.excess()), (Some(2.0), 2.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::{Error, Result};
use perf_core::{
    CallPathId, Column, Combine, Job, LocationId, LocationKind, MetricId, Profile, Scope, Table,
};

/// Distribution of a value over locations.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Imbalance {
    /// Sum over the locations.
    pub total: f64,
    /// Mean over the locations, including those without a value.
    pub mean: f64,
    /// Largest value.
    pub max: f64,
    /// First location with the largest value.
    pub at: LocationId,
    /// Number of locations with a value other than 0.
    pub active: usize,
}

impl Imbalance {
    /// Measures the values of some locations. `values` has one entry for each location of the profile; an absent one is
    /// 0. Returns `None` without locations, or if a value is NaN.
    pub fn of(values: &[f64], locations: &[LocationId]) -> Option<Self> {
        let value = |id: &LocationId| values.get(id.index()).copied().unwrap_or_default();
        let first = locations.first()?;
        let mut found = Imbalance {
            total: 0.0,
            mean: 0.0,
            max: value(first),
            at: *first,
            active: 0,
        };
        for id in locations {
            let value = value(id);
            found.total += value;
            found.active += usize::from(value != 0.0);
            if value > found.max {
                (found.max, found.at) = (value, *id);
            }
        }
        found.mean = found.total / locations.len() as f64;
        (!found.total.is_nan()).then_some(found)
    }

    /// Returns `max / mean`, at least 1; `None` if the mean is not positive.
    pub fn factor(&self) -> Option<f64> {
        (self.mean > 0.0).then(|| self.max / self.mean)
    }

    /// Returns `max - mean`.
    pub fn excess(&self) -> f64 {
        self.max - self.mean
    }
}

/// Load imbalance of a call path.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct PathImbalance {
    /// Call path.
    pub path: CallPathId,
    /// Distribution of its values.
    pub values: Imbalance,
}

/// Load imbalance of all call paths of a profile.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct LoadImbalance {
    /// Metric of the values.
    pub metric: MetricId,
    /// Scope of the values.
    pub scope: Scope,
    /// Compared locations.
    pub locations: Vec<LocationId>,
    /// Call paths with values, largest excess first.
    pub paths: Vec<PathImbalance>,
}

impl LoadImbalance {
    /// Measures the load imbalance of each call path. Compares the threads of processes. Streams of accelerators and
    /// sources of metrics are compared only if the profile has no threads. Call paths without values are skipped.
    ///
    /// Progress is reported in call paths, in the phase `load imbalance`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Nothing`] if the metric does not exist or is not additive, [`Error::Core`] if a row cannot be
    /// read, and [`Error::Cancelled`] if the job is cancelled.
    pub fn of(profile: &Profile, metric: MetricId, scope: Scope, job: &Job) -> Result<Self> {
        let about = profile.metrics().get(metric.index());
        if about.is_none_or(|about| about.combine != Combine::Sum) {
            return Err(Error::Nothing {
                what: "values of this metric that add up",
            });
        }
        let locations = locations(profile);
        let count = profile.calls().paths().len();
        let mut paths = Vec::new();
        for path in (0..count).filter_map(CallPathId::from_index) {
            job.check()?;
            if let Some(row) = profile.scoped(metric, path, scope)? {
                let found = Imbalance::of(&row.to_f64(), &locations);
                let found = found.filter(|found| found.active > 0);
                paths.extend(found.map(|values| PathImbalance { path, values }));
            }
            job.advance("load imbalance", 1, count as u64);
        }
        // The sort is stable: of equal ones, the first call path comes first.
        paths.sort_by(|a, b| b.values.excess().total_cmp(&a.values.excess()));
        Ok(LoadImbalance {
            metric,
            scope,
            locations,
            paths,
        })
    }

    /// Returns a row for each call path, with the columns `call path`, `total`, `mean`, `max`, `max/mean`, `excess`,
    /// `at` and `active`. Values are in the unit of the metric.
    pub fn table(&self, profile: &Profile) -> Table {
        let about = profile.metrics().get(self.metric.index());
        let unit = about.map_or("", |about| about.metric.unit.as_str());
        let labels = profile.call_path_labels();
        let all = || self.paths.iter();
        let floats = |name: &'static str, of: fn(&Imbalance) -> f64| {
            Column::floats(name, unit.to_owned(), all().map(|it| of(&it.values)))
        };
        let system = profile.system();
        let at = all().map(|it| system.label(it.values.at));
        let active = all().map(|it| it.values.active as u64);
        let factor = all().map(|it| it.values.factor());
        Table::new("load imbalance", "Load imbalance of the call paths.")
            .text("call path", all().map(|it| labels.label(it.path)))
            .with(floats("total", |it| it.total))
            .with(floats("mean", |it| it.mean))
            .with(floats("max", |it| it.max))
            .floats("max/mean", "", factor)
            .with(floats("excess", Imbalance::excess))
            .text("at", at)
            .unsigned("active", "", active)
    }
}

/// Returns the threads of the processes; without threads, all locations.
fn locations(profile: &Profile) -> Vec<LocationId> {
    let system = profile.system();
    let is_thread = |id: &LocationId| {
        let kind = system.location(*id).map(|location| location.kind);
        matches!(kind, Some(LocationKind::CpuThread | LocationKind::Unknown))
    };
    let threads: Vec<_> = system.location_ids().filter(is_thread).collect();
    if threads.is_empty() {
        system.location_ids().collect()
    } else {
        threads
    }
}
