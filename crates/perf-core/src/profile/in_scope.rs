//! [`Profile::in_scope`]: the profile with the values of all metrics in one scope, inclusive or
//! exclusive, derived on demand.

use super::{Combine, Profile, ProfileMetric, RowStore, Scope, Severities};
use crate::{CallPathId, MetricId, Result, Value};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Rows of a profile in one scope, derived on demand.
#[derive(Debug)]
struct RowsInScope {
    /// Original profile.
    base: Profile,
    /// Metric of the original profile behind each metric.
    sources: Vec<MetricId>,
    /// Scope of all rows.
    scope: Scope,
}

impl RowsInScope {
    /// Returns the metric of the original profile, and `true` if its rows are stored in the scope.
    fn source(&self, metric: MetricId) -> Option<(MetricId, &ProfileMetric, bool)> {
        let id = *self.sources.get(metric.index())?;
        let about = self.base.metrics.get(id.index())?;
        Some((id, about, about.scope == self.scope))
    }
}

impl RowStore for RowsInScope {
    fn row(&self, metric: MetricId, path: CallPathId) -> Result<Option<Arc<Severities>>> {
        match self.source(metric) {
            Some((id, ..)) => self.base.scoped(id, path, self.scope),
            None => Ok(None),
        }
    }

    fn paths(&self, metric: MetricId) -> Vec<CallPathId> {
        let Some((id, about, is_stored)) = self.source(metric) else {
            return Vec::new();
        };
        let stored = self.base.paths(id);
        let is_unchanged = match self.scope {
            Scope::Exclusive => matches!(
                about.combine,
                Combine::Minimum | Combine::Maximum | Combine::Never(_)
            ),
            Scope::Inclusive => matches!(about.combine, Combine::Never(_)),
        };
        if is_stored || is_unchanged {
            return stored;
        }
        let parent = |id: CallPathId| self.base.calls.get(id).and_then(|path| path.parent);
        let mut paths = BTreeSet::new();
        for path in stored {
            let mut above = parent(path);
            paths.insert(path);
            match self.scope {
                // A call path without a row has an exclusive value if a callee has a row.
                Scope::Exclusive => paths.extend(above),
                Scope::Inclusive => {
                    while let Some(path) = above
                        && paths.insert(path)
                    {
                        above = parent(path);
                    }
                }
            }
        }
        paths.into_iter().collect()
    }

    fn total(&self, metric: MetricId, path: CallPathId) -> Result<Option<Value>> {
        match self.source(metric) {
            Some((id, _, true)) => self.base.rows.total(id, path),
            _ => Ok(None),
        }
    }

    fn scoped(
        &self,
        metric: MetricId,
        path: CallPathId,
        scope: Scope,
    ) -> Option<Result<Severities>> {
        // Derived from the original rows, because recorded values of both scopes are there.
        let (id, about, _) = self.source(metric)?;
        let row = self.base.scoped(id, path, scope);
        let zeros = || about.zeros(self.base.system.locations().len());
        Some(row.map(|row| row.map_or_else(zeros, |row| (*row).clone())))
    }

    fn over_parts(
        &self,
        metric: MetricId,
        path: CallPathId,
        parts: &[u32],
        count: usize,
    ) -> Option<Result<Vec<f64>>> {
        let (id, _, is_stored) = self.source(metric)?;
        let rows = is_stored.then_some(&self.base.rows)?;
        rows.over_parts(id, path, parts, count)
    }
}

impl Profile {
    /// Returns the profile with the values of all metrics in one scope, derived on demand by
    /// [`scoped`](Self::scoped), and the id in it of each metric of this profile. Analyses of rows,
    /// such as correlations, then take views of that scope.
    ///
    /// A metric with a recorded [`counterpart`](ProfileMetric::counterpart) in the scope is
    /// dropped, because the counterpart has its values; the new id is that of the counterpart. A
    /// metric without one keeps its name, except that a leading word for its scope is replaced.
    ///
    /// ```
    /// use perf_core::{CallPathId, Job, Profile, Scope};
    /// let trace = perf_core::samples::cosmo::trace();
    /// let (profile, _) = Profile::from_trace(trace.view(), &Job::default())?;
    /// let (exclusive, ids) = profile.in_scope(Scope::Exclusive);
    /// assert!(exclusive.metrics().iter().all(|metric| metric.scope == Scope::Exclusive));
    /// // `time` is inclusive, and its counterpart `exclusive time` remains.
    /// assert_eq!(exclusive.metric("time"), None);
    /// let time = profile.metric("time").expect("profiles of traces have it");
    /// assert_eq!(exclusive.metric("exclusive time"), Some(ids[time.index()]));
    /// // In the other scope a visit of a callee counts as one of the caller.
    /// let (inclusive, _) = profile.in_scope(Scope::Inclusive);
    /// let visits = inclusive.metric("visits").expect("profiles of traces have it");
    /// assert_eq!(inclusive.total(visits, CallPathId(0))?.as_f64(), 9_640.0);
    /// # Ok::<(), perf_core::Error>(())
    /// ```
    pub fn in_scope(&self, scope: Scope) -> (Profile, Vec<MetricId>) {
        let is_stored = |about: &ProfileMetric| about.scope == scope;
        let stated = |about: &ProfileMetric| {
            let id = about.counterpart?;
            let other = self.metrics.get(id.index())?;
            (!is_stored(about) && is_stored(other)).then_some(id)
        };
        let all = || {
            let metrics = self.metrics.iter().enumerate();
            metrics.filter_map(|(at, about)| Some((MetricId::from_index(at)?, about)))
        };
        let sources: Vec<MetricId> = all()
            .filter(|(_, about)| stated(about).is_none())
            .map(|(id, _)| id)
            .collect();
        // The sources are in ascending order, and a metric or its counterpart is one of them.
        let moved = |id: MetricId| {
            let about = self.metrics.get(id.index())?;
            let source = stated(about).unwrap_or(id);
            MetricId::from_index(sources.binary_search(&source).ok()?)
        };
        let ids: Vec<MetricId> = all().filter_map(|(id, _)| moved(id)).collect();
        let (word, other) = match scope {
            Scope::Exclusive => ("exclusive", "inclusive "),
            Scope::Inclusive => ("inclusive", "exclusive "),
        };
        let kept = all().filter(|(_, about)| stated(about).is_none());
        let metrics = kept.map(|(_, about)| {
            let mut about = about.clone();
            about.metric.parent = about.metric.parent.and_then(moved);
            if let Some(quantity) = about.metric.name.strip_prefix(other)
                && !is_stored(&about)
            {
                about.metric.name = format!("{word} {quantity}");
            }
            about.scope = scope;
            about.counterpart = None;
            about
        });
        let metrics = Arc::new(metrics.collect());
        let rows = Arc::new(RowsInScope {
            base: self.clone(),
            sources,
            scope,
        });
        let scoped = Profile {
            metrics,
            rows,
            ..self.clone()
        };
        (scoped, ids)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CallPath, CallTree, Limits, Location, Metric, Region, RegionId, Rows, SystemTree};

    /// Returns a profile with call paths 0 > 1 > 2, 0 > 3 and 4, and an inclusive and an exclusive
    /// metric that have rows for some of them.
    fn profile() -> Profile {
        let locations = vec![Location::default()];
        let system = SystemTree::new(vec![], vec![], locations, &Limits::default()).unwrap();
        let mut calls = CallTree::default();
        for parent in [None, Some(0), Some(1), Some(0), None] {
            let parent = parent.map(CallPathId);
            let region = RegionId(0);
            calls.push(CallPath { region, parent }).unwrap();
        }
        let metric = |name: &str, scope| ProfileMetric {
            metric: Metric {
                name: name.into(),
                ..Metric::default()
            },
            scope,
            ..ProfileMetric::default()
        };
        let metrics = vec![
            metric("inclusive time", Scope::Inclusive),
            metric("visits", Scope::Exclusive),
        ];
        let mut rows = Rows::default();
        for (metric, path, value) in [(0, 0, 10), (0, 2, 4), (1, 2, 3), (1, 3, 5)] {
            let row = Severities::U64(vec![value]);
            rows.insert(MetricId(metric), CallPathId(path), row);
        }
        let regions = vec![Region::named("r")];
        Profile::new(system, regions, calls, metrics, Arc::new(rows)).unwrap()
    }

    #[test]
    fn rows_and_call_paths_are_those_of_the_scope() {
        let profile = profile();
        let zero = |row: &Severities| row.to_f64().iter().all(|value| *value == 0.0);
        for (scope, names) in [
            (Scope::Exclusive, ["exclusive time", "visits"]),
            (Scope::Inclusive, ["inclusive time", "visits"]),
        ] {
            let (scoped, _) = profile.in_scope(scope);
            let found: Vec<_> = scoped.metrics().iter().map(|it| &it.metric.name).collect();
            assert_eq!(found, names);
            for metric in [MetricId(0), MetricId(1)] {
                let paths = scoped.paths(metric);
                for path in (0..5).map(CallPathId) {
                    let row = scoped.row(metric, path).unwrap();
                    assert_eq!(row, profile.scoped(metric, path, scope).unwrap());
                    let has_value = row.is_some_and(|row| !zero(&row));
                    assert!(paths.contains(&path) || !has_value, "{metric:?} {path:?}");
                    // Back in the original scope.
                    let own = profile.metrics()[metric.index()].scope;
                    let back = scoped.in_scope(own).0.row(metric, path).unwrap();
                    let stored = profile.row(metric, path).unwrap();
                    let of =
                        |row: Option<Arc<Severities>>| row.map_or(vec![0.0], |row| row.to_f64());
                    assert_eq!(of(back), of(stored));
                }
            }
        }
        let (exclusive, ids) = profile.in_scope(Scope::Exclusive);
        assert_eq!(ids, [0, 1].map(MetricId));
        // Call path 1 has no row, but its callee has one.
        assert_eq!(exclusive.paths(MetricId(0)), [0, 1, 2].map(CallPathId));
        let (inclusive, _) = profile.in_scope(Scope::Inclusive);
        assert_eq!(inclusive.paths(MetricId(1)), [0, 1, 2, 3].map(CallPathId));
    }
}
