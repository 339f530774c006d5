//! Rows that a [`Profile`] derives from others: inclusive from exclusive values and the reverse, a
//! metric without its child metrics, and sums over call paths; addition of a metric.

use super::{Combine, JoinedRows, Profile, ProfileMetric, Rows, Scope, Severities};
use crate::{CallPathId, Error, MetricId, Result};
use std::sync::Arc;

impl Profile {
    /// Returns the view of a metric and call path in the given scope; `None` if it is zero
    /// everywhere.
    ///
    /// For an inclusive metric, the exclusive view is the view minus the views one level below.
    /// Differences of unsigned metrics are signed, because counters that are read one after the
    /// other may yield negative differences. For an exclusive metric, the inclusive view is the sum
    /// over the path and all paths below. Minima and maxima cannot be subtracted: the exclusive
    /// view of such a metric is the row itself. Values that cannot be combined ([`Combine::Never`])
    /// are converted only if the source of the rows can re-evaluate them, and are unchanged
    /// otherwise.
    ///
    /// Recorded values take precedence: if the metric has a
    /// [`counterpart`](ProfileMetric::counterpart) in the requested scope, its row is returned.
    ///
    /// ```
    /// use perf_core::*;
    /// use std::sync::Arc;
    /// let system = SystemTree::new(vec![], vec![], vec![Location::default()], &Limits::default())?;
    /// let mut calls = CallTree::default();
    /// let main = calls.child(None, RegionId(0))?;
    /// let solve = calls.child(Some(main), RegionId(1))?;
    /// let cycles = ProfileMetric::default();
    /// let mut rows = Rows::default();
    /// rows.insert(MetricId(0), main, Severities::U64(vec![10]));
    /// rows.insert(MetricId(0), solve, Severities::U64(vec![12]));
    /// let regions = vec![Region::named("main"), Region::named("solve")];
    /// let profile = Profile::new(system, regions, calls, vec![cycles], Arc::new(rows))?;
    /// let own = profile.scoped(MetricId(0), main, Scope::Exclusive)?;
    /// assert_eq!(*own.expect("a row"), Severities::I64(vec![-2]));
    /// # Ok::<(), perf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`row`](Self::row).
    pub fn scoped(
        &self,
        metric: MetricId,
        path: CallPathId,
        scope: Scope,
    ) -> Result<Option<Arc<Severities>>> {
        let row = self.row(metric, path)?;
        let Some(about) = self.metrics.get(metric.index()) else {
            return Ok(row);
        };
        if about.scope == scope {
            return Ok(row);
        }
        if let Some(stated) = self.stated(about, scope) {
            return self.row(stated, path);
        }
        if let Some(row) = self.rows.scoped(metric, path, scope) {
            return Ok(Some(Arc::new(row?)));
        }
        match (scope, about.combine) {
            (_, Combine::Never(_)) => Ok(row),
            (Scope::Exclusive, Combine::Minimum | Combine::Maximum) => Ok(row),
            (Scope::Exclusive, _) => {
                let parts = self.calls.children(Some(path));
                self.difference(about, row, parts.map(|path| (metric, path)))
            }
            (Scope::Inclusive, _) => {
                let mut sum: Option<Severities> = None;
                for path in self.calls.subtree(path) {
                    if let Some(row) = self.row(metric, path)? {
                        match &mut sum {
                            Some(sum) => add(about.combine, sum, &row)?,
                            None => sum = Some((*row).clone()),
                        }
                    }
                }
                Ok(sum.map(Arc::new))
            }
        }
    }

    /// Returns the metric with the recorded values of `about` in `scope`, or `None` if there is
    /// none.
    fn stated(&self, about: &ProfileMetric, scope: Scope) -> Option<MetricId> {
        let id = about.counterpart?;
        let other = self.metrics.get(id.index())?;
        (other.scope == scope).then_some(id)
    }

    /// Returns the sum of a metric over all call paths as one number for each location. Each
    /// exclusive value counts once. For minima and maxima, returns the extreme instead of the sum.
    ///
    /// Recorded exclusive values are added if there are any. Otherwise the inclusive values of the
    /// roots are added, because they contain all exclusive values below.
    ///
    /// ```
    /// use perf_core::*;
    /// use std::sync::Arc;
    /// let system = SystemTree::new(vec![], vec![], vec![Location::default()], &Limits::default())?;
    /// let mut calls = CallTree::default();
    /// // A flat profile: `main` calls `solve`, but both are roots.
    /// let main = calls.child(None, RegionId(0))?;
    /// let solve = calls.child(None, RegionId(1))?;
    /// let both = [(Scope::Inclusive, 1), (Scope::Exclusive, 0)].map(|(scope, other)| ProfileMetric {
    ///     scope,
    ///     counterpart: Some(MetricId(other)),
    ///     ..ProfileMetric::default()
    /// });
    /// let mut rows = Rows::default();
    /// for (metric, path, value) in [(0, main, 10), (0, solve, 7), (1, main, 3), (1, solve, 7)] {
    ///     rows.insert(MetricId(metric), path, Severities::U64(vec![value]));
    /// }
    /// let regions = vec![Region::named("main"), Region::named("solve")];
    /// let profile = Profile::new(system, regions, calls, both.into(), Arc::new(rows))?;
    /// let own = profile.scoped(MetricId(0), main, Scope::Exclusive)?;
    /// assert_eq!(*own.expect("a row"), Severities::U64(vec![3]));
    /// assert_eq!(profile.over_paths(MetricId(0))?, [10.0]);
    /// # Ok::<(), perf_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`row`](Self::row).
    pub fn over_paths(&self, metric: MetricId) -> Result<Vec<f64>> {
        let mut values: Option<Vec<f64>> = None;
        let Some(about) = self.metrics.get(metric.index()) else {
            return Err(Error::Undefined {
                what: "metric",
                id: u64::from(metric.0),
                count: self.metrics.len(),
            });
        };
        let stated = match about.scope {
            Scope::Exclusive => Some(metric),
            Scope::Inclusive => self.stated(about, Scope::Exclusive),
        };
        let paths = match stated {
            Some(stated) => self.paths(stated),
            None => self.calls.children(None).collect(),
        };
        for path in paths {
            let row = match stated {
                Some(stated) => self.row(stated, path)?,
                None => self.scoped(metric, path, Scope::Inclusive)?,
            };
            let Some(row) = row else { continue };
            let row = row.to_f64();
            match &mut values {
                Some(values) => {
                    for (sum, value) in values.iter_mut().zip(row) {
                        about.combine.add(std::slice::from_mut(sum), &[value]);
                    }
                }
                None => values = Some(row),
            }
        }
        Ok(values.unwrap_or_else(|| vec![0.0; self.system.locations().len()]))
    }

    /// Returns the view of a metric minus its child metrics
    /// ([`Metric::parent`](crate::Metric::parent)), in the stored scope of the metric. Child
    /// metrics of another scope or type are converted.
    ///
    /// # Errors
    /// Returns the errors of [`row`](Self::row).
    pub fn without_parts(
        &self,
        metric: MetricId,
        path: CallPathId,
    ) -> Result<Option<Arc<Severities>>> {
        let row = self.row(metric, path)?;
        let Some(about) = self.metrics.get(metric.index()) else {
            return Ok(row);
        };
        let is_part = |part: &ProfileMetric| {
            let has_parent = part.metric.parent == Some(metric);
            has_parent && part.combine.width() == about.combine.width()
        };
        let parts = self.metrics.iter().enumerate();
        let parts: Vec<_> = parts
            .filter(|(_, part)| is_part(part))
            .filter_map(|(at, _)| MetricId::from_index(at))
            .collect();
        if matches!(
            about.combine,
            Combine::Minimum | Combine::Maximum | Combine::Never(_)
        ) || parts.is_empty()
        {
            return Ok(row);
        }
        self.difference(about, row, parts.into_iter().map(|part| (part, path)))
    }

    /// Subtracts the rows of `parts` from a row. Missing rows are zero.
    fn difference(
        &self,
        about: &ProfileMetric,
        row: Option<Arc<Severities>>,
        parts: impl Iterator<Item = (MetricId, CallPathId)>,
    ) -> Result<Option<Arc<Severities>>> {
        let mut rest: Option<Severities> = row.as_deref().map(signed);
        for (metric, path) in parts {
            if let Some(part) = self.scoped(metric, path, about.scope)? {
                let zeros = || signed(&about.zeros(part.len()));
                subtract(about.combine, rest.get_or_insert_with(zeros), &part)?;
            }
        }
        Ok(rest.map(Arc::new))
    }

    /// Adds a metric, such as the result of an analysis, and returns the profile and the id of the
    /// metric.
    ///
    /// # Errors
    /// Returns [`Error::Length`] for a row without one value for each location, or
    /// [`Error::Undefined`] for a call path that does not exist.
    pub fn with_metric(
        mut self,
        metric: ProfileMetric,
        rows: impl IntoIterator<Item = (CallPathId, Severities)>,
    ) -> Result<(Profile, MetricId)> {
        let id = MetricId::from_index(self.metrics.len()).ok_or(Error::TooMany {
            what: "metrics",
            limit: u64::from(u32::MAX),
        })?;
        let locations = self.system.locations().len();
        let mut added = Rows::default();
        for (path, row) in rows {
            if path.index() >= self.calls.paths().len() {
                return Err(Error::Undefined {
                    what: "call path",
                    id: u64::from(path.0),
                    count: self.calls.paths().len(),
                });
            }
            if row.len() != locations {
                return Err(Error::Length {
                    what: "values of a row",
                    expected: locations,
                    got: row.len(),
                });
            }
            added.insert(id, path, row);
        }
        Arc::make_mut(&mut self.metrics).push(metric);
        let mut rows = JoinedRows::default();
        rows.extend(self.rows, 0..id.0);
        rows.extend(Arc::new(added), id.0..id.0 + 1);
        self.rows = Arc::new(rows);
        Ok((self, id))
    }
}

/// Converts a row to the type of its differences.
fn signed(row: &Severities) -> Severities {
    match row {
        // The conversion is modulo 2^64. It is correct for every difference that fits, even of
        // values above 2^63.
        Severities::U64(values) => {
            Severities::I64(values.iter().copied().map(u64::cast_signed).collect())
        }
        other => other.clone(),
    }
}

fn length(to: &Severities, from: &Severities) -> Error {
    Error::Length {
        what: "values of a row",
        expected: to.len(),
        got: from.len(),
    }
}

/// Adds a row to another by the rule of their metric.
pub(super) fn add(combine: Combine, to: &mut Severities, from: &Severities) -> Result<()> {
    if to.len() != from.len() {
        return Err(length(to, from));
    }
    let extreme = matches!(combine, Combine::Minimum | Combine::Maximum);
    match (&mut *to, from) {
        (Severities::U64(to), Severities::U64(from)) if !extreme => {
            let pairs = to.iter_mut().zip(from);
            pairs.for_each(|(to, from)| *to = to.saturating_add(*from));
        }
        (Severities::I64(to), Severities::I64(from)) if !extreme => {
            let pairs = to.iter_mut().zip(from);
            pairs.for_each(|(to, from)| *to = to.saturating_add(*from));
        }
        _ => floats(to, from, |to, from| combine.add(to, from))?,
    }
    Ok(())
}

fn subtract(combine: Combine, to: &mut Severities, from: &Severities) -> Result<()> {
    if to.len() != from.len() {
        return Err(length(to, from));
    }
    match (&mut *to, from) {
        (Severities::I64(to), Severities::U64(from)) => {
            let pairs = to.iter_mut().zip(from);
            pairs.for_each(|(to, from)| *to = to.wrapping_sub_unsigned(*from));
        }
        (Severities::I64(to), Severities::I64(from)) => {
            let pairs = to.iter_mut().zip(from);
            pairs.for_each(|(to, from)| *to = to.wrapping_sub(*from));
        }
        _ => floats(to, from, |to, from| combine.subtract(to, from))?,
    }
    Ok(())
}

/// Applies `f` to each pair of values. A row of integers is converted to floats.
fn floats(to: &mut Severities, from: &Severities, f: impl Fn(&mut [f64], &[f64])) -> Result<()> {
    if let (
        Severities::Tuples { width, values },
        Severities::Tuples {
            width: other,
            values: from,
        },
    ) = (&mut *to, from)
    {
        if width != other {
            return Err(Error::Length {
                what: "floats of a value",
                expected: *width,
                got: *other,
            });
        }
        let width = (*width).max(1);
        let pairs = values.chunks_mut(width).zip(from.chunks(width));
        pairs.for_each(|(to, from)| f(to, from));
        return Ok(());
    }
    let mut values = to.to_f64();
    for (to, from) in values.iter_mut().zip(from.to_f64()) {
        f(std::slice::from_mut(to), &[from]);
    }
    *to = Severities::F64(values);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CallTree, Limits, Location, Metric, Region, RegionId, SystemTree, ValueType};

    /// Returns a profile with call paths 0 > 1 > 2 and 0 > 3, one location, and one metric with
    /// these rows.
    fn profile(about: ProfileMetric, rows: [Severities; 4]) -> Profile {
        let locations = vec![Location::default()];
        let system = SystemTree::new(vec![], vec![], locations, &Limits::default()).unwrap();
        let mut calls = CallTree::default();
        for parent in [None, Some(0), Some(1), Some(0)] {
            let region = RegionId(0);
            let parent = parent.map(CallPathId);
            calls.push(crate::CallPath { region, parent }).unwrap();
        }
        let mut store = Rows::default();
        for (path, row) in rows.into_iter().enumerate() {
            store.insert(MetricId(0), CallPathId(path as u32), row);
        }
        let regions = vec![Region::named("r")];
        Profile::new(system, regions, calls, vec![about], Arc::new(store)).unwrap()
    }

    fn all(profile: &Profile, scope: Scope) -> Vec<Severities> {
        let row = |path| profile.scoped(MetricId(0), CallPathId(path), scope);
        (0..4)
            .map(|at| (*row(at).unwrap().unwrap()).clone())
            .collect()
    }

    #[test]
    fn there_and_back() {
        let inclusive = [10, 6, 7, 3].map(|value| Severities::U64(vec![value]));
        let about = ProfileMetric::default();
        let own = all(&profile(about.clone(), inclusive.clone()), Scope::Exclusive);
        let expected = [1, -1, 7, 3].map(|value| Severities::I64(vec![value]));
        assert_eq!(own, expected);
        let about = ProfileMetric {
            scope: Scope::Exclusive,
            ..about
        };
        let back = all(&profile(about, expected), Scope::Inclusive);
        let expected = [10, 6, 7, 3].map(|value| Severities::I64(vec![value]));
        assert_eq!(back, expected);
    }

    #[test]
    fn the_smallest_below_is_a_minimum() {
        let about = ProfileMetric {
            metric: Metric {
                value_type: ValueType::F64,
                ..Default::default()
            },
            scope: Scope::Exclusive,
            combine: Combine::Minimum,
            ..Default::default()
        };
        let rows = [4.0, 6.0, 2.0, 3.0].map(|value| Severities::F64(vec![value]));
        let below = all(&profile(about, rows), Scope::Inclusive);
        let expected = [2.0, 2.0, 2.0, 3.0].map(|value| Severities::F64(vec![value]));
        assert_eq!(below, expected);
    }

    #[test]
    fn a_metric_can_be_added() {
        let rows = [1, 1, 1, 1].map(|value| Severities::U64(vec![value]));
        let base = profile(ProfileMetric::default(), rows);
        let part = ProfileMetric {
            metric: Metric {
                parent: Some(MetricId(0)),
                ..Default::default()
            },
            ..Default::default()
        };
        let row = (CallPathId(1), Severities::U64(vec![9]));
        let (more, id) = base.clone().with_metric(part.clone(), [row]).unwrap();
        assert_eq!(more.paths(id), [CallPathId(1)]);
        assert_eq!(more.paths(MetricId(0)).len(), 4);
        let rest = more.without_parts(MetricId(0), CallPathId(1)).unwrap();
        assert_eq!(*rest.unwrap(), Severities::I64(vec![-8]));
        let row = (CallPathId(1), Severities::U64(vec![]));
        assert!(base.with_metric(part, [row]).is_err());
    }
}
