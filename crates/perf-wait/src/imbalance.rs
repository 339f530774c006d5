//! [`LoadImbalance`] of a profile: for each call path, the largest value over the mean, and the
//! excess over the mean, over its locations ([`Imbalance`]).
//!
//! With the values `v_p` of a call path on the ranks or threads `p`, load imbalance is the factor
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
//! The value of a rank is the sum over its threads, which work at the same time. The elapsed time of a call path on a rank
//! is therefore that of its slowest thread ([`PathImbalance::slowest`]).
//!
//! ```
//! use perf_core::*;
//! use perf_wait::imbalance::{Compared, LoadImbalance};
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
//! let of = (MetricId(0), Scope::Exclusive);
//! let found = LoadImbalance::of(&profile, of, Compared::Ranks, &Job::default())?;
//! let solve = &found.paths[0];
//! assert_eq!((solve.values.at, solve.values.max), (LocationId(2), 4.0));
//! assert_eq!((solve.values.factor(), solve.values.excess()), (Some(2.0), 2.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::{Error, Result};
use perf_core::{
    CallPathId, Column, Combine, Job, LocationId, LocationKind, MetricId, Profile, Scope, Table,
};
use std::collections::HashMap;

/// Parts of the machine whose values are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub enum Compared {
    /// Processes, each with the sum over its threads. A location without a process stands for itself.
    #[default]
    Ranks,
    /// Threads.
    Threads,
}

/// Distribution of a value over locations.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Imbalance {
    /// Sum over the locations.
    pub total: f64,
    /// Mean over the locations with a finite value, including those with 0.
    pub mean: f64,
    /// Largest value.
    pub max: f64,
    /// First location with the largest value.
    pub at: LocationId,
    /// Number of locations with a finite value other than 0.
    pub active: usize,
    /// Number of locations whose value is NaN or infinite. They are not compared.
    pub undefined: usize,
}

impl Imbalance {
    /// Measures values, one for each of these locations. Returns `None` without finite values.
    pub fn of(values: &[f64], locations: &[LocationId]) -> Option<Self> {
        let all = values.iter().copied().zip(locations.iter().copied());
        let mut finite = all.clone().filter(|(value, _)| value.is_finite());
        let (max, at) = finite.next()?;
        let mut found = Imbalance {
            total: max,
            mean: 0.0,
            max,
            at,
            active: usize::from(max != 0.0),
            undefined: 0,
        };
        let mut count = 1;
        for (value, id) in finite {
            found.total += value;
            found.active += usize::from(value != 0.0);
            count += 1;
            if value > found.max {
                (found.max, found.at) = (value, id);
            }
        }
        found.mean = found.total / f64::from(count);
        found.undefined = all.len() - count as usize;
        Some(found)
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
    /// Distribution of the values of the slowest thread of each rank; the same as `values` if threads are compared.
    pub slowest: Imbalance,
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
    /// Compared locations in the order of their [ranks](perf_core::SystemTree::ranks): threads, or the first thread of
    /// each rank.
    pub locations: Vec<LocationId>,
    /// Threads, each with the place of its compared location.
    pub threads: Vec<(LocationId, usize)>,
    /// Call paths with values, largest excess first.
    pub paths: Vec<PathImbalance>,
}

impl LoadImbalance {
    /// Measures the load imbalance of each call path. Compares the processes of threads, or the threads themselves.
    /// Streams of accelerators and sources of metrics count only if the profile has no threads. Call paths without values
    /// are skipped.
    ///
    /// Progress is reported in call paths, in the phase `load imbalance`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Nothing`] if the metric does not exist or is not additive, [`Error::Core`] if a row cannot be
    /// read, and [`Error::Cancelled`] if the job is cancelled.
    pub fn of(
        profile: &Profile,
        (metric, scope): (MetricId, Scope),
        compared: Compared,
        job: &Job,
    ) -> Result<Self> {
        let about = profile.metrics().get(metric.index());
        if about.is_none_or(|about| about.combine != Combine::Sum) {
            return Err(Error::Nothing {
                what: "values of this metric that add up",
            });
        }
        let (locations, threads) = members(profile, compared);
        let mut found = LoadImbalance {
            metric,
            scope,
            locations,
            threads,
            paths: Vec::new(),
        };
        let count = profile.calls().paths().len();
        let mut paths = Vec::new();
        for path in (0..count).filter_map(CallPathId::from_index) {
            job.check()?;
            paths.extend(found.path(profile, path)?);
            job.advance("load imbalance", 1, count as u64);
        }
        // The sort is stable: of equal ones, the first call path comes first.
        paths.sort_by(|a, b| b.values.excess().total_cmp(&a.values.excess()));
        found.paths = paths;
        Ok(found)
    }

    /// Measures a call path; `None` without values.
    fn path(&self, profile: &Profile, path: CallPathId) -> Result<Option<PathImbalance>> {
        let [sums, slowest] = self.values(profile, path)?;
        let measured = |values: &[f64]| Imbalance::of(values, &self.locations);
        let values = measured(&sums).zip(measured(&slowest));
        let found = values.map(|(values, slowest)| PathImbalance {
            path,
            values,
            slowest,
        });
        Ok(found.filter(|it| it.values.active + it.values.undefined > 0))
    }

    /// Returns two values of a call path for each of the compared [`locations`](Self::locations): the sum over its
    /// threads, and the value of the slowest one. Both are not finite if a value of a thread is not.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Core`] if a row cannot be read.
    pub fn values(&self, profile: &Profile, path: CallPathId) -> Result<[Vec<f64>; 2]> {
        let row = profile.scoped(self.metric, path, self.scope)?;
        let row = row.map_or_else(Vec::new, |row| row.to_f64());
        let mut sums = vec![0.0; self.locations.len()];
        let mut slowest = vec![f64::NEG_INFINITY; self.locations.len()];
        for (thread, at) in &self.threads {
            let value = row.get(thread.index()).copied().unwrap_or_default();
            if let (Some(sum), Some(most)) = (sums.get_mut(*at), slowest.get_mut(*at)) {
                *sum += value;
                *most = most.max(value);
            }
        }
        for (most, sum) in slowest.iter_mut().zip(&sums) {
            if !sum.is_finite() {
                *most = f64::NAN;
            }
        }
        Ok([sums, slowest])
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

/// Returns the compared locations, and the threads, each with the place of its compared location. Without threads, all
/// locations count.
fn members(profile: &Profile, compared: Compared) -> (Vec<LocationId>, Vec<(LocationId, usize)>) {
    let system = profile.system();
    let is_thread = |id: &LocationId| {
        let kind = system.location(*id).map(|location| location.kind);
        matches!(kind, Some(LocationKind::CpuThread | LocationKind::Unknown))
    };
    let mut used = system.locations_by_rank();
    if used.iter().any(is_thread) {
        used.retain(is_thread);
    }
    let (mut locations, mut of_process) = (Vec::new(), HashMap::new());
    let threads = used.into_iter().map(|id| {
        let process = system.process(id).filter(|_| compared == Compared::Ranks);
        let known = process
            .and_then(|process| of_process.get(&process))
            .copied();
        let at = known.unwrap_or_else(|| {
            locations.push(id);
            locations.len() - 1
        });
        of_process.extend(process.map(|process| (process, at)));
        (id, at)
    });
    let threads = threads.collect();
    (locations, threads)
}
