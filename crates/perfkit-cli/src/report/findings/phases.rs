//! Findings of the report about clusters of CPU bursts: phases of a trace, and their change through a series.

use super::{Finding, Kind, list, percent, time};
use crate::failure::Failure;
use crate::phases::series::{self, ClusterOptions, Series};
use crate::pictures;
use crate::recording::Recording;
use crate::report::Part;
use crate::report::sources::Source;
use crate::table::{counted, grouped};
use crate::track;
use perfkit::track::ClusterId;
use std::path::Path;

/// Smallest share of the CPU time in clusters at which the phases of a trace are described.
const MIN_CLUSTERED_SHARE: f64 = 0.3;
/// Smallest share of the CPU time of a cluster at which it is described.
const MIN_PHASE_SHARE: f64 = 0.05;
/// Largest number of clusters that are described.
const MAX_PHASES: usize = 4;
/// Smallest share of the CPU time of a tracked region at which its change is a finding.
const MIN_REGION_SHARE: f64 = 0.02;
/// Smallest factor by which a metric must become worse to be a finding.
const MIN_FACTOR: f64 = 1.1;
/// Largest number of bursts that a report clusters. The time of clustering grows faster than their number.
const MAX_BURSTS: u64 = 300_000;
/// Denominator of all shares.
const CPU_TIME: &str = "CPU time of all bursts";

/// Returns the finding about the phases of one trace.
///
/// # Errors
/// Returns [`Failure`] if the trace has no bursts, or they cannot be clustered.
pub(in crate::report) fn single(source: &Source) -> Result<Part, Failure> {
    let mut part = Part::default();
    if let Some(calls) = too_large(&source.opened()) {
        part.skip(
            "phases",
            &format!("{calls}; run {}", source.command(&["cluster"], &[])),
        );
        return Ok(part);
    }
    let series = series::track_opened(&source.opened(), &ClusterOptions::default())?;
    let (Some(experiment), Some(tracked)) = (
        series.experiments.first(),
        series.tracking.experiments.first(),
    ) else {
        part.skip("phases", "the trace has no CPU bursts");
        return Ok(part);
    };
    let Some(balance) = tracked.balance else {
        part.skip("phases", "the trace has no CPU bursts");
        return Ok(part);
    };
    let clustered = balance.share(balance.clustered());
    let mut phases = Vec::new();
    let bursts = experiment.experiment.bursts();
    let labels = experiment.experiment.labels().as_slice();
    for region in &series.tracking.regions {
        let members: Vec<ClusterId> = region.members.iter().flatten().copied().collect();
        let durations = bursts.durations();
        let rows = labels
            .iter()
            .zip(&durations)
            .filter(|(label, _)| members.contains(label));
        let durations: Vec<f64> = rows.map(|(_, duration)| *duration).collect();
        let mean = durations.iter().sum::<f64>() / durations.len().max(1) as f64;
        let share = region.share.first().copied().unwrap_or_default();
        if share >= MIN_PHASE_SHARE {
            phases.push(format!(
                "phase {} with {} ({}, {} in the mean)",
                region.id,
                percent(share),
                counted(durations.len(), "burst"),
                time(mean)
            ));
        }
    }
    if clustered < MIN_CLUSTERED_SHARE || phases.is_empty() {
        part.skip(
            "phases",
            &format!(
                "clusters of bursts hold {} of the CPU time, less than {}; see `perfkit bursts`",
                percent(clustered),
                percent(MIN_CLUSTERED_SHARE)
            ),
        );
        return Ok(part);
    }
    if let [only] = &series.tracking.regions[..] {
        part.pass(format!(
            "CPU bursts are alike: one cluster by {} holds {} of the CPU time of all bursts (cluster {})",
            series.metrics.join(" and "),
            percent(clustered),
            only.id
        ));
        return Ok(part);
    }
    phases.truncate(MAX_PHASES);
    let rest = match percent(1.0 - clustered).as_str() {
        "0 %" => String::new(),
        rest => format!(" {rest} is in no cluster or was filtered."),
    };
    let sentence = format!(
        "CPU bursts form {}, by {}. The largest, as shares of the CPU time of all bursts ({}): {}.{rest}",
        counted(series.tracking.regions.len(), "cluster"),
        series.metrics.join(" and "),
        time(balance.total.time.0 as f64),
        list(&phases),
    );
    let figure = (
        "clustered CPU time",
        balance.clustered().time.0 as f64,
        "ns",
    );
    let finding = Finding::new(
        Kind::Phases,
        &source.name,
        Some(clustered),
        CPU_TIME,
        figure,
        sentence,
    );
    part.findings
        .push(finding.next(source.command(&["cluster"], &["--html", "closer.html"])));
    let heading = format!("{}: phases", source.name);
    part.sections
        .push(track::section(&pictures::series(&series)?, &heading)?);
    Ok(part)
}

/// Describes the size of recordings with too many bursts for a report.
fn too_large(opened: &[(&Path, &Recording)]) -> Option<String> {
    // Each burst lies between two events.
    let mut most = opened
        .iter()
        .map(|(_, recording)| recording.trace.len() as u64 / 2);
    let bursts = most.find(|bursts| *bursts > MAX_BURSTS)?;
    Some(format!(
        "up to {} CPU bursts take long to cluster and are not clustered here",
        grouped(bursts)
    ))
}

/// Returns findings about the changes of the phases through several traces of one program.
///
/// # Errors
/// Returns [`Failure`] if bursts cannot be clustered or tracked.
pub(in crate::report) fn tracked(
    name: &str,
    opened: &[(&Path, &Recording)],
    command: &str,
) -> Result<Part, Failure> {
    let mut part = Part::default();
    if let Some(calls) = too_large(opened) {
        part.skip("phases from run to run", &format!("{calls}; run {command}"));
        return Ok(part);
    }
    let options = ClusterOptions::default();
    let series = series::track_opened(opened, &options)?;
    let mut worse = Vec::new();
    for flag in track::flags(&series, &options)? {
        let Some(region) = series
            .tracking
            .region(flag.region)
            .filter(|region| region.is_reliable)
        else {
            continue;
        };
        let share = region.share[flag.to];
        let factor = flag.factor.max(1.0 / flag.factor.max(f64::MIN_POSITIVE));
        if share < MIN_REGION_SHARE || factor < MIN_FACTOR {
            continue;
        }
        worse.push((share * (1.0 - 1.0 / factor), share, region.confidence, flag));
    }
    worse.sort_by(|one, other| other.0.total_cmp(&one.0));
    for (concerned, share, confidence, flag) in &worse {
        let by_tasks = if flag.by_tasks {
            " times the number of tasks"
        } else {
            ""
        };
        let (from, to) = (experiment(&series, flag.from), experiment(&series, flag.to));
        let sentence = format!(
            "In tracked region {}, mean {}{by_tasks} changes by a factor of {:.2} from {from} to {to}, for the worse. The region takes \
             {} of the CPU time in {to} (confidence {confidence:.2}).",
            flag.region,
            flag.metric,
            flag.factor,
            percent(*share),
        );
        let figure = ("factor", flag.factor, "1");
        let finding = Finding::new(
            Kind::TrackedRegion,
            name,
            Some(*concerned),
            CPU_TIME,
            figure,
            sentence,
        );
        part.findings.push(
            finding
                .next(command.into())
                .at(|place| place.location = Some(format!("region {}", flag.region))),
        );
    }
    if worse.is_empty() {
        let reliable = series
            .tracking
            .regions
            .iter()
            .filter(|region| region.is_reliable && region.experiments() > 1);
        match reliable.count() {
            0 => part.skip(
                "tracked regions",
                "no tracked region is in several recordings with a confidence above the minimum",
            ),
            some => part.pass(format!(
                "none of {} becomes worse by more than {:.0} %",
                counted(some, "tracked region"),
                100.0 * (MIN_FACTOR - 1.0)
            )),
        }
    }
    let heading = format!("{name}: phases across the runs");
    part.sections
        .push(track::section(&track::drawn(&series, &options)?, &heading)?);
    Ok(part)
}

fn experiment(series: &Series, at: usize) -> &str {
    series
        .experiments
        .get(at)
        .map_or("", |experiment| experiment.experiment.name())
}
