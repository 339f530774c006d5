//! A series of experiments as JSON.

use super::Report;
use crate::failure::{Failure, input};
use crate::findings::{self, Found};
use crate::phases::radius::Neighbourhood;
use crate::phases::time_balance::MinDuration;
use perfkit::core::Table;
use perfkit::track::cluster::EpsChoice;
use perfkit::track::tracking::{Object, TrackedFrame};
use perfkit::track::{Amount, ClusterId, Dropped, Mode, TimeBalance};
use serde::Serialize;
use std::collections::BTreeMap;

/// Confidence level of the intervals of power laws.
const LEVEL: f64 = 0.95;

#[derive(Serialize)]
struct Recording<'a> {
    name: &'a str,
    extraction: &'a Dropped,
    findings: Vec<Found>,
}

/// A cluster that was split off another one.
#[derive(Serialize)]
struct Part {
    id: usize,
    of: ClusterId,
}

#[derive(Serialize)]
struct Frame<'a> {
    #[serde(flatten)]
    tracked: &'a TrackedFrame,
    /// Position in `recordings`.
    recording: usize,
    bursts: usize,
    eps: Option<f64>,
    eps_choice: Option<&'a EpsChoice>,
    noise_again: Option<Neighbourhood>,
    no_points: BTreeMap<&'a str, Amount>,
    parts: Vec<Part>,
}

#[derive(Serialize)]
struct Document<'a> {
    mode: String,
    metrics: &'a [String],
    min_duration: MinDuration,
    recordings: Vec<Recording<'a>>,
    frames: Vec<Frame<'a>>,
    balance: Option<TimeBalance>,
    /// Tracked share of the CPU time of each frame.
    coverage: Vec<f64>,
    objects: &'a [Object],
    trends: Table,
    power_laws: Table,
    /// Metric in place of the instructions in `time_changes`.
    work: Option<&'a str>,
    time_changes: Option<Table>,
    flags: Table,
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
        let frames = series.frames.iter().zip(&tracking.frames).enumerate();
        let frames = frames.map(|(at, (clustered, tracked))| {
            let first = tracked.clusters - clustered.parts.len() + 1;
            let parts = (first..).zip(&clustered.parts);
            Frame {
                tracked,
                recording: clustered.recording,
                bursts: clustered.rows.len(),
                eps: clustered.partition.eps,
                eps_choice: clustered.partition.choice.as_ref(),
                noise_again: Neighbourhood::of_rest(clustered.partition.rest),
                no_points: self.no_points(at).into_iter().collect(),
                parts: parts.map(|(id, of)| Part { id, of: *of }).collect(),
            }
        });
        let coverage = tracking.frames.iter().map(|frame| {
            let balance = frame.balance.as_ref();
            balance.map_or(frame.coverage, |of| of.share(of.tracked))
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
            frames: frames.collect(),
            balance: tracking.balance(),
            coverage: coverage.collect(),
            objects: &tracking.objects,
            trends: trends.table(),
            power_laws: trends.power_laws(LEVEL).map_err(input)?,
            work: self.counters.as_ref().map(|(work, _)| work.as_str()),
            time_changes: changes.transpose().map_err(input)?,
            flags: trends.flag_table(&self.flags),
        })
    }
}
