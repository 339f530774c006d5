//! Findings of the report about counters of profiles that are distributed unequally over the locations.

use super::Part;
use super::findings::{Finding, Kind, percent};
use super::sources::Source;
use crate::failure::{Failure, input};
use crate::pictures;
use crate::table::short;
use perfkit::core::{Combine, MetricId, Profile};
use perfkit::view::Unit;

/// Smallest ratio of the largest to the mean value over locations that is a finding.
const MIN_MAX_TO_MEAN: f64 = 1.5;
/// Smallest number of locations that are compared.
const MIN_LOCATIONS: usize = 2;
/// Metrics that count calls, which describe the instrumentation instead of the run.
const CALLS: [&str; 3] = ["visits", "calls", "subroutines"];
/// Largest number of counters that are reported.
const MAX_COUNTERS: usize = 3;

/// Returns findings about the counters of a profile that are distributed unequally. Times are compared by
/// [`super::balance`].
///
/// # Errors
/// Returns [`Failure::Input`] if a row cannot be read.
pub(super) fn part(source: &Source, profile: &Profile) -> Result<Part, Failure> {
    let mut part = Part::default();
    let locations = profile.system().locations().len();
    if locations < MIN_LOCATIONS {
        return Ok(part);
    }
    let mut uneven = Vec::new();
    for id in (0..profile.metrics().len()).filter_map(MetricId::from_index) {
        let metric = &profile.metrics()[id.index()];
        let is_time = pictures::unit(&metric.metric.unit).0 == Unit::Nanos;
        // Times, counts of calls, and metrics that are parts of another metric are skipped.
        let counts_calls = CALLS.contains(&metric.metric.name.as_str());
        if is_time
            || counts_calls
            || metric.combine != Combine::Sum
            || metric.metric.parent.is_some()
        {
            continue;
        }
        let values = profile.over_paths(id).map_err(input)?;
        let sum: f64 = values.iter().sum();
        let mean = sum / values.len().max(1) as f64;
        let most = (0..values.len()).max_by(|one, other| values[*one].total_cmp(&values[*other]));
        let Some(most) = most.filter(|_| mean > 0.0 && values.iter().all(|value| *value >= 0.0))
        else {
            continue;
        };
        let ratio = values[most] / mean;
        if ratio >= MIN_MAX_TO_MEAN && ratio.is_finite() {
            uneven.push((ratio, values[most], mean, sum, most, metric));
        }
    }
    uneven.sort_by(|one, other| other.0.total_cmp(&one.0));
    for (ratio, largest, mean, sum, most, metric) in uneven.into_iter().take(MAX_COUNTERS) {
        let name = &metric.metric.name;
        let ids = profile.system().location_ids();
        let place = ids.skip(most).map(|id| profile.system().label(id)).next();
        let sentence = format!(
            "{name} is largest on {}: {} against {} in the mean of {locations} locations, max/mean {ratio:.2}, {} of the sum.",
            place.clone().unwrap_or_default(),
            short(largest),
            short(mean),
            percent(largest / sum)
        );
        let figure = ("max/mean", ratio, "1");
        let finding = Finding::new(Kind::UnevenMetric, &source.name, None, "", figure, sentence);
        let command = source.command(&["inspect"], &["--metric", name]);
        part.findings
            .push(finding.next(command).at(|at| at.location = place));
    }
    Ok(part)
}
