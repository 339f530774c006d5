//! Algebra of profiles: difference, mean, merge and extremes of several profiles as a [`Combined`]
//! profile; changes of the call tree and the locations of one are in submodules.
//!
//! The operators of several profiles first unite their definitions. Two metrics are the same if
//! their names are equal. Two locations are the same if the names of their processes and their own
//! names are equal; machine nodes do not matter, because a job scheduler chooses them. Two call
//! paths are the same if the regions from the root have equal names. If several elements of one
//! profile have the same name, the first one matches the first one of the other profile, the second
//! one the second one, and so on. Definitions of the first profile keep their ids, and elements that
//! only later profiles have follow. Times are converted to the unit of the first profile that has the
//! metric. Grids and properties are those of the first profile.
//!
//! An additive value that a profile does not have counts as 0. A profile that does not have the metric
//! takes no part in means and extremes, because it did not measure it: repeated runs may have
//! different hardware counters. For the same reason a difference drops the metrics that one of the
//! profiles does not have. The result has the scope in which the first profile stores the
//! metric. Rows are computed on demand.
//!
//! | operator | additive numbers and tuples | minimum and maximum metrics | statistics, histograms | values that cannot be combined |
//! |---|---|---|---|---|
//! | [`difference`] | first minus second, with sign | dropped | dropped | dropped |
//! | [`mean`] | sum over the profiles that have the metric, divided by their number | extreme of these profiles | dropped | dropped |
//! | [`minimum`], [`maximum`] | smallest or largest value of the profiles that have the metric | same | dropped | dropped |
//! | [`merge`] | of the first profile with the metric | same | same | same |
//!
//! ```
//! use perf_core::{CallPathId, Job, Profile, Value, algebra};
//! let trace = perf_core::samples::cosmo::trace();
//! let (profile, _) = Profile::from_trace(trace.view(), &Job::default())?;
//! let change = algebra::difference(&profile, &profile, &Job::default())?;
//! assert_eq!(change.locations.common, change.locations.all);
//! let time = change.profile.metric("time").expect("both profiles have it");
//! assert_eq!(change.profile.total(time, CallPathId(0))?, Value::I64(0));
//! assert!(algebra::is_difference(&change.profile) && !algebra::is_difference(&profile));
//! # Ok::<(), perf_core::Error>(())
//! ```

mod call_paths;
mod locations;
mod matched_definitions;
mod row_sums;
mod units;

pub use call_paths::{cut, rename};
pub use locations::collapse;
pub use units::in_common_units;

use super::{Combine, Profile, ProfileMetric, RowStore, Severities};
use crate::{CallPathId, Error, Job, LocationId, MetricId, Result, ValueType};
use matched_definitions::MatchedDefinitions;
use row_sums::Sum;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Operator that combines several profiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Operator {
    /// First profile minus second profile.
    Difference,
    /// Mean of all profiles.
    Mean,
    /// Metrics of all profiles.
    Merge,
    /// Smallest value of all profiles.
    Minimum,
    /// Largest value of all profiles.
    Maximum,
}

/// Number of united elements of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Overlap {
    /// Number of elements that any profile has.
    pub all: usize,
    /// Number of elements that all profiles have.
    pub common: usize,
}

/// Profile that was computed from several profiles.
#[derive(Clone, Debug)]
pub struct Combined {
    /// The result. Its rows are computed on demand from the rows of the operands.
    pub profile: Profile,
    /// Metrics by name.
    pub metrics: Overlap,
    /// Call paths by the names of their regions.
    pub call_paths: Overlap,
    /// Locations by the names of their processes and their own names.
    pub locations: Overlap,
    /// Names of the metrics that the operator is not defined for, and of those that a difference drops
    /// because one of the profiles does not have them.
    pub dropped: Vec<String>,
    /// Call path in the result of each call path of each operand, by operand.
    pub moved: Vec<Vec<CallPathId>>,
}

/// Subtracts the second profile from the first one. Metrics that one of them does not have are
/// [dropped](Combined::dropped). Differences of unsigned metrics are signed; they
/// saturate at the limits of 64 bits, which wrapped hardware counters exceed.
///
/// # Errors
/// Returns [`Error::TooMany`] if the united trees exceed the range of ids, and
/// [`Error::Cancelled`] if the job is cancelled.
pub fn difference(minuend: &Profile, subtrahend: &Profile, job: &Job) -> Result<Combined> {
    let profiles = [minuend.clone(), subtrahend.clone()];
    let mut found = combined(&profiles, Operator::Difference, job)?;
    let mut properties = found.profile.properties().to_vec();
    let (name, value) = DIFFERENCE;
    properties.retain(|(own, _)| own != name);
    properties.push((name.into(), value.into()));
    found.profile = found.profile.with_properties(properties);
    Ok(found)
}

/// Property of a profile that is a difference.
const DIFFERENCE: (&str, &str) = ("perfkit operation", "difference");

/// Returns `true` if a profile is the [`difference`] of two, or was computed from such profiles. Its values
/// are changes, positive or negative, and no times or counts. Files keep the property that says so.
pub fn is_difference(profile: &Profile) -> bool {
    let mut properties = profile.properties().iter();
    properties.any(|(name, value)| (name.as_str(), value.as_str()) == DIFFERENCE)
}

/// Returns the mean of all profiles that have the metric, such as repeated runs. Means are
/// floating-point numbers.
///
/// # Errors
/// Returns [`Error::Length`] if there is no profile, and the errors of [`difference`].
pub fn mean(profiles: &[Profile], job: &Job) -> Result<Combined> {
    combined(profiles, Operator::Mean, job)
}

/// Returns a profile with the metrics of all profiles. The values of a metric that several profiles
/// have are those of the first one.
///
/// # Errors
/// Returns the errors of [`mean`].
pub fn merge(profiles: &[Profile], job: &Job) -> Result<Combined> {
    combined(profiles, Operator::Merge, job)
}

/// Returns the smallest value of all profiles that have the metric, for each metric, call path and location.
///
/// # Errors
/// Returns the errors of [`mean`].
pub fn minimum(profiles: &[Profile], job: &Job) -> Result<Combined> {
    combined(profiles, Operator::Minimum, job)
}

/// Returns the largest value of all profiles that have the metric, for each metric, call path and location.
///
/// # Errors
/// Returns the errors of [`mean`].
pub fn maximum(profiles: &[Profile], job: &Job) -> Result<Combined> {
    combined(profiles, Operator::Maximum, job)
}

/// Metric of a result and the metrics that it is computed from.
#[derive(Debug)]
struct Planned {
    /// Definition in the result.
    about: ProfileMetric,
    /// Operand, its profile in the scope of the result, and the id of the metric in that profile.
    sources: Vec<(usize, Profile, MetricId)>,
}

/// Rows of a result, computed on demand.
#[derive(Debug)]
struct CombinedRows {
    /// Operator.
    operator: Operator,
    /// Metrics of the result.
    metrics: Vec<Planned>,
    /// Own call path of each call path of the result, by operand.
    own_paths: Vec<Vec<Option<CallPathId>>>,
    /// Call path of the result of each own call path, by operand.
    moved: Vec<Vec<CallPathId>>,
    /// Location of the result of each own location, by operand.
    places: Vec<Vec<LocationId>>,
    /// Number of locations of the result.
    locations: usize,
}

impl CombinedRows {
    /// Returns the row of one operand over the locations of the result.
    fn operand(
        &self,
        planned: &Planned,
        source: &(usize, Profile, MetricId),
        path: CallPathId,
    ) -> Result<Option<Severities>> {
        let (operand, profile, metric) = source;
        let own = self.own_paths.get(*operand);
        let Some(own) = own.and_then(|paths| *paths.get(path.index())?) else {
            return Ok(None);
        };
        let row = profile.row(*metric, own)?;
        let (Some(row), Some(places)) = (row, self.places.get(*operand)) else {
            return Ok(None);
        };
        row_sums::scattered(planned.about.combine, &row, places, self.locations).map(Some)
    }
}

impl RowStore for CombinedRows {
    fn row(&self, metric: MetricId, path: CallPathId) -> Result<Option<Arc<Severities>>> {
        let Some(planned) = self.metrics.get(metric.index()) else {
            return Ok(None);
        };
        let about = &planned.about;
        if self.operator == Operator::Merge {
            let source = planned.sources.first();
            let row = source.map(|source| self.operand(planned, source, path));
            return Ok(row.transpose()?.flatten().map(Arc::new));
        }
        let mut sum = Sum::new(self.operator, about.combine, planned.sources.len());
        for source in &planned.sources {
            if let Some(row) = self.operand(planned, source, path)? {
                sum.add(source.0, &row)?;
            }
        }
        Ok(sum.finish(about.metric.value_type).map(Arc::new))
    }

    fn paths(&self, metric: MetricId) -> Vec<CallPathId> {
        let Some(planned) = self.metrics.get(metric.index()) else {
            return Vec::new();
        };
        let mut paths = BTreeSet::new();
        let used = match self.operator {
            Operator::Merge => 1,
            _ => planned.sources.len(),
        };
        for (operand, profile, id) in planned.sources.iter().take(used) {
            let moved = self.moved.get(*operand).map_or(&[][..], Vec::as_slice);
            let own = profile.paths(*id).into_iter();
            paths.extend(own.filter_map(|path| moved.get(path.index()).copied()));
        }
        paths.into_iter().collect()
    }
}

fn combined(profiles: &[Profile], operator: Operator, job: &Job) -> Result<Combined> {
    job.check()?;
    let Some(first) = profiles.first() else {
        return Err(Error::Length {
            what: "profiles to combine",
            expected: 1,
            got: 0,
        });
    };
    let profiles = &in_common_units(profiles)?;
    let union = MatchedDefinitions::of(profiles, job)?;
    let (metrics, all, dropped) = planned(profiles, operator)?;
    let is_common = |planned: &&Planned| planned.sources.len() == profiles.len();
    let common = metrics.iter().filter(is_common).count();
    let definitions = metrics
        .iter()
        .map(|planned| planned.about.clone())
        .collect();
    let rows = CombinedRows {
        operator,
        metrics,
        own_paths: union.own_paths(),
        moved: union.moved.clone(),
        places: union.places,
        locations: union.system.locations().len(),
    };
    let counts = |all: usize, parts: &[Vec<usize>]| Overlap {
        all,
        common: matched_definitions::common(all, parts),
    };
    let indices = |moved: &[CallPathId]| moved.iter().map(|id| id.index()).collect();
    let paths: Vec<Vec<usize>> = union.moved.iter().map(|moved| indices(moved)).collect();
    let places = rows.places.iter();
    let places: Vec<Vec<usize>> = places
        .map(|places| places.iter().map(|id| id.index()).collect())
        .collect();
    let call_paths = counts(union.calls.paths().len(), &paths);
    let locations = counts(rows.locations, &places);
    let rows = Arc::new(rows);
    let profile = Profile::new(union.system, union.regions, union.calls, definitions, rows)?
        .with_topologies(first.topologies().to_vec())
        .with_properties(first.properties().to_vec());
    Ok(Combined {
        profile,
        metrics: Overlap { all, common },
        call_paths,
        locations,
        dropped,
        moved: union.moved,
    })
}

/// Returns the metrics of the result, the number of different names, and the names of the dropped
/// metrics.
fn planned(profiles: &[Profile], operator: Operator) -> Result<(Vec<Planned>, usize, Vec<String>)> {
    let mut metrics: Vec<Planned> = Vec::new();
    let (mut dropped, mut seen) = (Vec::new(), BTreeSet::new());
    // Name of the parent and of the counterpart of each metric.
    let mut related = Vec::new();
    for (operand, profile) in profiles.iter().enumerate() {
        for about in profile.metrics() {
            let name = about.metric.name.as_str();
            if !seen.insert(name) {
                continue;
            }
            let sources: Vec<(usize, &Profile, &ProfileMetric, MetricId)> = profiles
                .iter()
                .enumerate()
                .skip(operand)
                .filter_map(|(at, profile)| {
                    let id = profile.metric(name)?;
                    Some((at, profile, profile.metrics().get(id.index())?, id))
                })
                .collect();
            let is_alike = sources
                .iter()
                .all(|source| source.2.combine == about.combine);
            let is_everywhere = sources.len() == profiles.len();
            let is_possible = match operator {
                Operator::Merge => true,
                Operator::Difference => is_alike && is_everywhere,
                _ => is_alike,
            };
            let types = sources.iter().map(|source| source.2.metric.value_type);
            let kept = result_type(operator, about.combine, types);
            let (Some(value_type), true) = (kept, is_possible) else {
                dropped.push(name.to_owned());
                continue;
            };
            let mut result = about.clone();
            result.metric.value_type = value_type;
            let of = |id: Option<MetricId>| {
                let about = profile.metrics().get(id?.index());
                about.map(|about| about.metric.name.clone())
            };
            related.push((of(about.metric.parent), of(about.counterpart)));
            let sources = sources.into_iter().map(|(at, profile, own, id)| {
                if own.scope == about.scope {
                    return (at, profile.clone(), id);
                }
                let (scoped, ids) = profile.in_scope(about.scope);
                let id = ids[id.index()];
                (at, scoped, id)
            });
            metrics.push(Planned {
                about: result,
                sources: sources.collect(),
            });
        }
    }
    let names: Vec<String> = metrics
        .iter()
        .map(|planned| planned.about.metric.name.clone())
        .collect();
    let id = |name: Option<String>| {
        let name = name?;
        MetricId::from_index(names.iter().position(|own| *own == name)?)
    };
    for (planned, (parent, counterpart)) in metrics.iter_mut().zip(related) {
        planned.about.metric.parent = id(parent);
        planned.about.counterpart = id(counterpart);
    }
    let all = seen.len();
    Ok((metrics, all, dropped))
}

/// Returns the type of the values of a result, or `None` if the operator is not defined for the
/// metric.
fn result_type(
    operator: Operator,
    combine: Combine,
    mut types: impl Iterator<Item = ValueType>,
) -> Option<ValueType> {
    let first = types.next()?;
    let is_integer = |value_type: ValueType| value_type != ValueType::F64;
    let is_same = |value_type: ValueType| value_type == first;
    let is_defined = match (operator, combine) {
        (Operator::Merge, _) | (_, Combine::Sum | Combine::Elementwise(_)) => true,
        (Operator::Difference, _) => false,
        (_, Combine::Minimum | Combine::Maximum) => true,
        _ => false,
    };
    let value_type = match operator {
        Operator::Merge => first,
        Operator::Mean if combine == Combine::Sum => ValueType::F64,
        Operator::Difference if is_integer(first) && types.all(is_integer) => ValueType::I64,
        Operator::Difference => ValueType::F64,
        _ if types.all(is_same) => first,
        _ => ValueType::F64,
    };
    is_defined.then_some(value_type)
}
