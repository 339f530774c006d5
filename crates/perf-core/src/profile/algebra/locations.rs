//! [`collapse`]: combines the locations of a profile into one, to compare runs of different sizes.

use crate::profile::{Combine, Profile, RowStore, Scope, Severities};
use crate::{
    CallPathId, Limits, Location, LocationGroup, LocationGroupId, LocationId, MetricId, Result,
    SystemTree, Value,
};
use std::sync::Arc;

/// Rows over all locations of a profile.
#[derive(Debug)]
struct Totals(Profile);

impl Totals {
    fn total(&self, metric: MetricId, path: CallPathId) -> Result<Option<Severities>> {
        let profile = &self.0;
        let Some(about) = profile.metrics().get(metric.index()) else {
            return Ok(None);
        };
        let Some(row) = profile.row(metric, path)? else {
            return Ok(None);
        };
        if let Severities::Tuples { width, .. } = &*row {
            let ids = (0..row.len()).filter_map(LocationId::from_index);
            let mut tuples = ids.filter_map(|id| row.tuple(id));
            let mut sum = tuples.next().map_or_else(Vec::new, <[f64]>::to_vec);
            for tuple in tuples {
                match about.combine {
                    Combine::Never(_) => sum.fill(f64::NAN),
                    combine => combine.add(&mut sum, tuple),
                }
            }
            let (width, values) = (*width, sum);
            return Ok(Some(Severities::Tuples { width, values }));
        }
        if let Combine::Never(_) = about.combine {
            let mut total = [0.0];
            profile.over_parts(metric, path, &vec![0; row.len()], &mut total)?;
            return Ok(Some(Severities::F64(total.to_vec())));
        }
        Ok(Some(match profile.total(metric, path)? {
            Value::U64(total) => Severities::U64(vec![total]),
            Value::I64(total) => Severities::I64(vec![total]),
            Value::F64(total) => Severities::F64(vec![total]),
        }))
    }
}

impl RowStore for Totals {
    fn row(&self, metric: MetricId, path: CallPathId) -> Result<Option<Arc<Severities>>> {
        Ok(self.total(metric, path)?.map(Arc::new))
    }

    fn paths(&self, metric: MetricId) -> Vec<CallPathId> {
        self.0.paths(metric)
    }

    fn scoped(
        &self,
        metric: MetricId,
        path: CallPathId,
        scope: Scope,
    ) -> Option<Result<Severities>> {
        let about = self.0.metrics().get(metric.index())?;
        if !matches!(about.combine, Combine::Never(_)) {
            return None;
        }
        let (scoped, ids) = self.0.in_scope(scope);
        let id = *ids.get(metric.index())?;
        Totals(scoped).total(id, path).transpose()
    }
}

/// Returns the profile with one location, which has the values of all locations combined by the
/// rule of each metric. Profiles of different numbers of processes can then be compared.
///
/// ```
/// use perf_core::{CallPathId, Job, Profile, algebra};
/// let trace = perf_core::samples::cosmo::trace();
/// let (profile, _) = Profile::from_trace(trace.view(), &Job::default())?;
/// let whole = algebra::collapse(&profile)?;
/// let time = profile.metric("time").expect("profiles of traces have it");
/// let path = CallPathId(0);
/// assert_eq!(whole.system().locations().len(), 1);
/// assert_eq!(whole.total(time, path)?, profile.total(time, path)?);
/// # Ok::<(), perf_core::Error>(())
/// ```
///
/// # Errors
/// Returns no error for a valid profile.
pub fn collapse(profile: &Profile) -> Result<Profile> {
    let group = LocationGroup {
        name: "all processes".into(),
        ..LocationGroup::default()
    };
    let location = Location {
        name: "all locations".into(),
        group: Some(LocationGroupId(0)),
        ..Location::default()
    };
    let system = SystemTree::new(vec![], vec![group], vec![location], &Limits::default())?;
    Ok(profile
        .clone()
        .with_system(system)
        .with_topologies(Vec::new())
        .with_rows(Arc::new(Totals(profile.clone()))))
}
