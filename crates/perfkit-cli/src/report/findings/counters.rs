//! Findings of the report about counters of profiles that are distributed unequally over the locations.

use super::{Finding, Kind, list, percent};
use crate::failure::{Failure, input};
use crate::pictures;
use crate::report::Part;
use crate::report::sources::Source;
use crate::table::short;
use perfkit::core::{Combine, MetricId, Profile};
use perfkit::view::Unit;
use std::collections::BTreeMap;

/// Smallest ratio of the largest to the mean value over locations that is a finding.
const MIN_MAX_TO_MEAN: f64 = 1.5;
/// Smallest number of rows that are compared.
const MIN_LOCATIONS: usize = 2;
/// Metrics that count calls, which describe the instrumentation instead of the run.
const CALLS: [&str; 3] = ["visits", "calls", "subroutines"];
/// Relative distance of max/mean below which counters have the same distribution.
const SAME: f64 = 1e-6;
/// Largest number of counters that are reported.
const MAX_COUNTERS: usize = 3;

/// Rows over which counters are compared: processes, or the locations of the only process.
struct Rows {
    /// Name of each row.
    names: Vec<String>,
    /// Row of each location.
    of: Vec<usize>,
    /// Noun for the rows.
    noun: &'static str,
}

impl Rows {
    /// Sums the values of locations by row.
    fn sums(&self, values: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; self.names.len()];
        for (row, value) in self.of.iter().zip(values) {
            sums[*row] += value;
        }
        sums
    }
}

/// Returns a row for each process, because often one thread of a process communicates for all. A profile of one
/// process has a row for each location.
fn rows(profile: &Profile) -> Rows {
    let system = profile.system();
    let ids: Vec<_> = system.location_ids().collect();
    let mut processes: BTreeMap<u32, usize> = BTreeMap::new();
    let mut names = Vec::new();
    let mut of = Vec::new();
    for id in &ids {
        let process = system.process(*id).map_or(u32::MAX, |process| process.0);
        let row = *processes.entry(process).or_insert_with(|| {
            let group = system.groups().get(process as usize);
            names.push(group.map_or_else(|| system.label(*id), |group| group.name.clone()));
            names.len() - 1
        });
        of.push(row);
    }
    if names.len() > 1 {
        let noun = "processes";
        return Rows { names, of, noun };
    }
    Rows {
        names: ids.iter().map(|id| system.label(*id)).collect(),
        of: (0..ids.len()).collect(),
        noun: "locations",
    }
}

/// Returns findings about the counters of a profile that are distributed unequally. Times are compared by
/// [`super::balance`].
///
/// # Errors
/// Returns [`Failure::Input`] if a row cannot be read.
pub(in crate::report) fn part(source: &Source, profile: &Profile) -> Result<Part, Failure> {
    let mut part = Part::default();
    let rows = rows(profile);
    if rows.names.len() < MIN_LOCATIONS {
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
        let values = rows.sums(&profile.over_paths(id).map_err(input)?);
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
    // Counters with the same distribution, such as bytes sent and received, are one finding.
    let alike = uneven.chunk_by(|one, other| one.4 == other.4 && one.0 - other.0 <= SAME * one.0);
    for group in alike.take(MAX_COUNTERS) {
        let names: Vec<&str> = group.iter().map(|one| one.5.metric.name.as_str()).collect();
        let Some(&(ratio, largest, mean, sum, most, metric)) = group.first() else {
            continue;
        };
        let name = &metric.metric.name;
        let unit = match metric.metric.unit.as_str() {
            "" | "#" | "occ" | "1" => String::new(),
            unit => format!(" {unit}"),
        };
        let place = rows.names.get(most).cloned();
        let all: Vec<String> = names.iter().map(|name| (*name).into()).collect();
        let sentence = format!(
            "{} {} largest on {}: {}{unit} against {}{unit} in the mean of {} {}, max/mean {ratio:.2}, {} of the sum.",
            list(&all),
            if names.len() == 1 { "is" } else { "are each" },
            place.clone().unwrap_or_default(),
            short(largest),
            short(mean),
            rows.names.len(),
            rows.noun,
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
