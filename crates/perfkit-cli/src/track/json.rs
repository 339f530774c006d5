//! Output of `track` as JSON: recordings, experiments with their clusters, and tracked regions.

use super::{LEVEL, Report};
use crate::failure::{Failure, input};
use crate::findings::{self, Found};
use crate::phases::radius::Neighbourhood;
use crate::phases::time_balance::MinDuration;
use crate::progress::Bar;
use perfkit::core::Table;
use perfkit::track::cluster::EpsChoice;
use perfkit::track::tracking::{TrackedExperiment, TrackedRegion};
use perfkit::track::{Amount, ClusterId, Dropped, Mode, TimeBalance};
use serde::Serialize;
use std::collections::BTreeMap;

/// Recording of the series.
#[derive(Serialize)]
struct Recording<'a> {
    /// Name of the recording.
    name: &'a str,
    /// Bursts that filters drop, by reason.
    extraction: &'a Dropped,
    /// Repairs and losses of the reader.
    findings: Vec<Found>,
}

/// Cluster that was split off another cluster.
#[derive(Serialize)]
struct Part {
    /// Number of the cluster.
    id: usize,
    /// Number of the original cluster.
    of: ClusterId,
}

/// Experiment with its clusters.
#[derive(Serialize)]
struct Experiment<'a> {
    /// Clusters with their tracked regions.
    #[serde(flatten)]
    tracked: &'a TrackedExperiment,
    /// Index in `recordings`.
    recording: usize,
    /// Number of bursts that are points.
    bursts: usize,
    /// Radius of a neighbourhood; `None` if the clusters were read from a file.
    eps: Option<f64>,
    /// Choice of the radius; `None` if the radius is an option.
    eps_choice: Option<&'a EpsChoice>,
    /// Neighbourhood with which the noise was clustered again, if it was.
    noise_again: Option<Neighbourhood>,
    /// Complete bursts that are not points, by the axis that excludes them.
    no_points: BTreeMap<&'a str, Amount>,
    /// Clusters that were split off.
    parts: Vec<Part>,
    /// Points that were noise and joined the cluster of their program position.
    rescued: &'a [u32],
}

/// Result of `--json`.
#[derive(Serialize)]
struct Document<'a> {
    /// Mode of the clustering.
    mode: String,
    /// Names of the axes.
    metrics: &'a [String],
    /// Minimum duration of the bursts.
    min_duration: MinDuration,
    /// Recordings in the order of the arguments.
    recordings: Vec<Recording<'a>>,
    /// Experiments in their order.
    experiments: Vec<Experiment<'a>>,
    /// Division of the CPU time of all experiments.
    balance: Option<TimeBalance>,
    /// Tracked share of the CPU time of each experiment.
    coverage: Vec<f64>,
    /// Tracked regions.
    regions: &'a [TrackedRegion],
    /// Metrics of each tracked region by experiment.
    trends: Table,
    /// Scaling models of the trends.
    scaling_models: Table,
    /// Metric that measures the work in `time_changes`, usually instructions.
    work: Option<&'a str>,
    /// Factors by which the time changes between experiments.
    time_changes: Option<Table>,
    /// Flagged changes of tracked regions.
    flags: Table,
    /// Changes between two versions; skipped without the option.
    #[serde(skip_serializing_if = "Option::is_none")]
    versions: Option<Table>,
}

impl Report<'_> {
    pub(super) fn json(&self, mode: Mode) -> Result<impl Serialize, Failure> {
        let series = self.series;
        let (tracking, trends) = (&series.tracking, &series.trends);
        let recordings = series.recordings.iter().map(|of| Recording {
            name: &of.name,
            extraction: &of.dropped,
            findings: findings::found(&of.diagnostics),
        });
        let experiments = series
            .experiments
            .iter()
            .zip(&tracking.experiments)
            .enumerate();
        let experiments = experiments.map(|(at, (clustered, tracked))| {
            let first = tracked.clusters - clustered.parts.len() + 1;
            let parts = (first..).zip(&clustered.parts);
            Experiment {
                tracked,
                recording: clustered.recording,
                bursts: clustered.rows.len(),
                eps: clustered.partition.eps,
                eps_choice: clustered.partition.choice.as_ref(),
                noise_again: Neighbourhood::of_rest(clustered.partition.rest),
                no_points: self.no_points(at).into_iter().collect(),
                parts: parts.map(|(id, of)| Part { id, of: *of }).collect(),
                rescued: &clustered.rescued,
            }
        });
        let coverage = tracking.experiments.iter().map(|experiment| {
            let balance = experiment.balance.as_ref();
            balance.map_or(experiment.coverage, |of| of.share(of.tracked))
        });
        let changes = self.counters.as_ref();
        let changes = changes.map(|(_, counters)| trends.time_changes(counters));
        Ok(Document {
            mode: mode.to_string(),
            metrics: &series.metrics,
            min_duration: MinDuration {
                ns: series.min_duration,
                is_chosen: series.is_chosen,
            },
            recordings: recordings.collect(),
            experiments: experiments.collect(),
            balance: tracking.balance(),
            coverage: coverage.collect(),
            regions: &tracking.regions,
            trends: trends.table(),
            scaling_models: trends.scaling_models(LEVEL, &Bar::job()).map_err(input)?,
            work: self.counters.as_ref().map(|(work, _)| work.as_str()),
            time_changes: changes.transpose().map_err(input)?,
            flags: trends.flag_table(&self.flags),
            versions: self.versions.as_ref().map(|of| of.table()),
        })
    }
}
