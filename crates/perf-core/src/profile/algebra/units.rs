//! [`in_common_units`]: profiles whose metrics of equal names have one unit of time.

use crate::profile::table::nanos_per;
use crate::profile::{Combine, Profile, ProfileMetric, RowStore, Severities};
use crate::{CallPathId, MetricId, Result, ValueType};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Rows of a profile, of which some are converted to another unit.
#[derive(Debug)]
struct ConvertedRows {
    /// Original profile.
    base: Profile,
    /// Nanoseconds in the original and in the new unit of each metric; `None` for a metric that keeps
    /// its unit.
    units: Vec<Option<(u32, u32)>>,
}

impl RowStore for ConvertedRows {
    fn row(&self, metric: MetricId, path: CallPathId) -> Result<Option<Arc<Severities>>> {
        let row = self.base.row(metric, path)?;
        let (Some(row), Some((from, to))) =
            (&row, self.units.get(metric.index()).copied().flatten())
        else {
            return Ok(row);
        };
        let convert = |value: f64| value * f64::from(from) / f64::from(to);
        let converted = match &**row {
            Severities::Tuples { width, values } => Severities::Tuples {
                width: *width,
                values: values.iter().copied().map(convert).collect(),
            },
            numbers => Severities::F64(numbers.to_f64().into_iter().map(convert).collect()),
        };
        Ok(Some(Arc::new(converted)))
    }

    fn paths(&self, metric: MetricId) -> Vec<CallPathId> {
        self.base.paths(metric)
    }
}

/// Returns the profiles with one unit for all times of a name, that of the first profile with the
/// metric. Traces count nanoseconds, Score-P seconds and TAU microseconds. The operators of this
/// module do this with their operands. Converted values are floating-point numbers; statistics and
/// histograms keep their unit.
///
/// ```
/// use perf_core::{CallPathId, Job, Profile, Value, algebra};
/// let trace = perf_core::samples::cosmo::trace();
/// let (profile, _) = Profile::from_trace(trace.view(), &Job::default())?;
/// let time = profile.metric("time").expect("traces have it");
/// let mut metrics = profile.metrics().to_vec();
/// metrics[time.index()].metric.unit = "sec".into();
/// let (system, regions, calls) = (profile.system(), profile.regions(), profile.calls());
/// let rows = std::sync::Arc::new(perf_core::Rows::default());
/// let seconds = Profile::new(system.clone(), regions.to_vec(), calls.clone(), metrics, rows)?;
/// let common = algebra::in_common_units(&[seconds, profile.clone()])?;
/// let total = |profile: &Profile| profile.total(time, CallPathId(0)).map(Value::as_f64);
/// assert!((total(&common[1])? * 1e9 - total(&profile)?).abs() < 1e-3);
/// # Ok::<(), perf_core::Error>(())
/// ```
///
/// # Errors
/// Returns the errors of [`Profile::new`].
pub fn in_common_units(profiles: &[Profile]) -> Result<Vec<Profile>> {
    let mut units: BTreeMap<&str, &str> = BTreeMap::new();
    for about in profiles.iter().flat_map(Profile::metrics) {
        units
            .entry(&about.metric.name)
            .or_insert(&about.metric.unit);
    }
    profiles
        .iter()
        .map(|base| converted(base, &units))
        .collect()
}

/// Returns the nanoseconds in the unit of a metric and in another unit, if values can be converted.
fn conversion(about: &ProfileMetric, unit: &str) -> Option<(u32, u32)> {
    let is_number = matches!(
        about.combine,
        Combine::Sum | Combine::Minimum | Combine::Maximum | Combine::Elementwise(_)
    );
    let units = (nanos_per(&about.metric.unit)?, nanos_per(unit)?);
    (is_number && units.0 != units.1).then_some(units)
}

/// Returns a profile with the given units of its times.
fn converted(base: &Profile, units: &BTreeMap<&str, &str>) -> Result<Profile> {
    let unit = |about: &ProfileMetric| units.get(about.metric.name.as_str()).copied();
    let mut metrics = base.metrics().to_vec();
    let mut factors = vec![None; metrics.len()];
    for (about, factor) in metrics.iter_mut().zip(&mut factors) {
        // Values of a metric are derived from those of its counterpart in the other scope, which the
        // other profiles may not have.
        let counterpart = about
            .counterpart
            .and_then(|id| base.metrics().get(id.index()));
        let names = [Some(&*about), counterpart].into_iter().flatten();
        let found = names
            .filter_map(unit)
            .find_map(|unit| Some((unit, conversion(about, unit)?)));
        if let Some((unit, of)) = found {
            *factor = Some(of);
            about.metric.unit = unit.into();
            about.metric.value_type = ValueType::F64;
        }
    }
    if factors.iter().all(Option::is_none) {
        return Ok(base.clone());
    }
    let (system, regions) = (base.system().clone(), base.regions().to_vec());
    let rows = Arc::new(ConvertedRows {
        base: base.clone(),
        units: factors,
    });
    let profile = Profile::new(system, regions, base.calls().clone(), metrics, rows)?;
    Ok(profile
        .with_topologies(base.topologies().to_vec())
        .with_properties(base.properties().to_vec()))
}
