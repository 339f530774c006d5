//! Output of `correlate` as a Cube profile: correlations as metrics of the profile they come from.
//!
//! A viewer aggregates values over locations, and over the call paths below a collapsed one. The
//! sum of correlations is meaningless. The largest R of a call path is therefore a metric that
//! aggregates by the maximum, and the smallest R one that aggregates by the minimum, each with the
//! same value at all locations. The whole machine has the value of one location, and a collapsed
//! call path has the strongest value below it. The largest R is never below 0 and the smallest
//! never above 0, because the sum of R over all shifts is 0.

use super::list::List;
use crate::failure::{Failure, input};
use crate::scope::scoped_name;
use perfkit::core::{
    CallPathId, Combine, Diagnostics, Job, JoinedRows, Metric, MetricId, Profile, ProfileMetric,
    Result, RowStore, Scope, Severities, ValueType,
};
use perfkit::formats::OpenOptions;
use perfkit::formats::cube::{self, Cube};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// Rows with one value for all locations.
#[derive(Debug)]
struct Results {
    /// Number of locations.
    locations: usize,
    /// Value of each row.
    values: BTreeMap<(MetricId, CallPathId), f64>,
}

impl RowStore for Results {
    fn row(&self, metric: MetricId, path: CallPathId) -> Result<Option<Arc<Severities>>> {
        let value = self.values.get(&(metric, path));
        let row = value.map(|value| Severities::F64(vec![*value; self.locations]));
        Ok(row.map(Arc::new))
    }

    fn paths(&self, metric: MetricId) -> Vec<CallPathId> {
        let rows = self.values.range((metric, CallPathId(0))..);
        let rows = rows.take_while(|((own, _), _)| *own == metric);
        rows.map(|((_, path), _)| *path).collect()
    }
}

/// Returns the profile with two more metrics for each compared metric.
fn with_results(profile: &Profile, list: &List) -> std::result::Result<Profile, Failure> {
    let first = MetricId::from_index(profile.metrics().len());
    let first = first.ok_or_else(|| Failure::Input("too many metrics".into()))?;
    let (base, locations) = (
        Arc::clone(profile.rows()),
        profile.system().locations().len(),
    );
    let stored = profile;
    let (mut profile, mut values) = (profile.clone(), BTreeMap::new());
    let compared: BTreeSet<MetricId> = list.extremes().map(|(metric, ..)| metric).collect();
    let mut added = BTreeMap::new();
    for metric in compared {
        let of = list.profile.metrics().get(metric.index());
        let of = of.map_or_else(String::new, |of| match stored.metric(&of.metric.name) {
            // A metric in its stored scope keeps its name.
            Some(id) if stored.metrics()[id.index()].scope == of.scope => of.metric.name.clone(),
            _ => scoped_name(of),
        });
        let about = list.about();
        let mut ids = [first; 2];
        for (id, (word, which, combine)) in ids.iter_mut().zip([
            ("correlation", "largest", Combine::Maximum),
            ("anticorrelation", "smallest", Combine::Minimum),
        ]) {
            let name = free(&profile, format!("{word} of {of}"));
            let about = ProfileMetric {
                metric: Metric {
                    name,
                    description: format!(
                        "{which} R over all shifts with {about}; of several call paths the {which}"
                    ),
                    unit: "1".into(),
                    value_type: ValueType::F64,
                    ..Default::default()
                },
                scope: Scope::Exclusive,
                combine,
                ..Default::default()
            };
            (profile, *id) = profile.with_metric(about, []).map_err(input)?;
        }
        added.insert(metric, ids);
    }
    for (metric, path, extremes) in list.extremes() {
        if let Some(ids) = added.get(&metric) {
            let rows = ids.iter().zip(extremes);
            values.extend(rows.map(|(id, r)| ((*id, path), r)));
        }
    }
    // `with_metric` has checked that the number of metrics fits.
    let end = profile.metrics().len() as u32;
    let mut rows = JoinedRows::default();
    rows.extend(base, 0..first.0);
    rows.extend(Arc::new(Results { locations, values }), first.0..end);
    Ok(profile.with_rows(Arc::new(rows)))
}

/// Returns the name, with a number appended if the profile already has the results of another run.
fn free(profile: &Profile, name: String) -> String {
    let mut numbered = (2..).map(|number| format!("{name} ({number})"));
    match profile.metric(&name) {
        None => name,
        Some(_) => {
            let is_free = |name: &String| profile.metric(name).is_none();
            numbered.find(is_free).unwrap_or(name)
        }
    }
}

/// Writes the profile with the results. An archive of this format keeps its other content; a note
/// names the content that cannot be kept.
pub(super) fn write(
    profile: &Profile,
    list: &List,
    archive: Option<&Path>,
    to: &mut dyn Write,
) -> std::result::Result<Diagnostics, Failure> {
    write_profile(&with_results(profile, list)?, archive, to)
}

/// Writes a profile. An archive of this format keeps its other content.
pub(super) fn write_profile(
    profile: &Profile,
    archive: Option<&Path>,
    to: &mut dyn Write,
) -> std::result::Result<Diagnostics, Failure> {
    let options = cube::WriteOptions::new();
    let lost = match archive {
        Some(path) => {
            let archive = Cube::open(path, &OpenOptions::new(), &Job::default()).map_err(input)?;
            archive.write(profile, to, &options, &Job::default())
        }
        None => cube::write(profile, to, &options, &Job::default()),
    };
    lost.map_err(input)
}
