//! Output of `track`: the CPU time of each tracked region in each experiment, and its prediction for the next
//! scale.

use super::predictions::{WIDEST, range};
use super::region_text::scale_text;
use super::{LEVEL, Report};
use crate::failure::{Failure, Outcome, input};
use crate::table;
use perfkit::core::{Job, Nanos, Table};
use perfkit::track::scaling::{Measurements, ScalingModel};
use perfkit::track::tracking::{Occurrence, TrackedRegion};
use perfkit::view::number;
use std::io::Write;

/// Predicted CPU time of a tracked region.
pub(super) struct PredictedTime {
    /// CPU time in nanoseconds as a function of the scale.
    pub model: ScalingModel,
    /// Predicted CPU time in nanoseconds.
    pub value: f64,
    /// Prediction interval as text, or the reason why it is not stated.
    pub interval: String,
    /// `false` if the measured times differ so much from the model that further scales would not narrow the
    /// interval.
    pub is_described: bool,
}

impl Report<'_> {
    /// Returns the CPU time of a tracked region in an experiment in nanoseconds. `None` if the experiment does not
    /// contain the region.
    pub(super) fn time(&self, region: &TrackedRegion, experiment: usize) -> Option<f64> {
        let is_there = !region.members.get(experiment)?.is_empty();
        let share = region.share.get(experiment).filter(|_| is_there)?;
        Some(share * self.total(experiment)).filter(|time| *time > 0.0)
    }

    /// Predicts the CPU time of a tracked region for the next scale. Returns `None` if an experiment does not contain
    /// the region, if its times are not comparable, and for experiments of one scale.
    ///
    /// Unlike the mean of a metric, the sum over all threads is also predicted for regions that each thread executes
    /// once, such as the initialisation of MPI.
    pub(super) fn predicted_time(
        &self,
        region: &TrackedRegion,
    ) -> Result<Option<PredictedTime>, Failure> {
        let trends = &self.series.trends;
        let is_comparable = region.mixture.is_none()
            && region.occurrence != Occurrence::FewThreads
            && region.confidence >= self.min_confidence;
        let times = (0..trends.experiments()).map(|experiment| self.time(region, experiment));
        let times: Option<Vec<f64>> = times.collect();
        let (Some(next), Some(times), true) = (trends.next_scale(), times, is_comparable) else {
            return Ok(None);
        };
        let mut data = Measurements::new(trends.parameters().iter().cloned());
        for (scale, time) in trends.scales().iter().zip(times) {
            data.push(scale, time).map_err(input)?;
        }
        let model = ScalingModel::fit(&data, LEVEL, &Job::default()).map_err(input)?;
        let Some(model) = model else {
            return Ok(None);
        };
        let prediction = model.predict(&next).map_err(input)?;
        let needed = model.scales_needed(&next, WIDEST).map_err(input)?;
        Ok(Some(PredictedTime {
            is_described: prediction.interval.is_none() || needed.is_some(),
            interval: range(&model, (&next, prediction), number::time)?,
            value: prediction.value,
            model,
        }))
    }

    /// Returns the scale of predictions as text; empty for experiments of one scale.
    pub(super) fn next_place(&self) -> String {
        let trends = &self.series.trends;
        let next = trends.next_scale();
        next.map_or_else(String::new, |next| scale_text(trends.parameters(), &next))
    }

    /// Writes the CPU time of each listed region in each experiment, and its prediction. Writes nothing for experiments
    /// of one scale.
    pub(super) fn times(&self, top: usize, out: &mut dyn Write) -> Outcome {
        let place = self.next_place();
        if place.is_empty() {
            return Ok(());
        }
        let regions: Vec<_> = self.series.tracking.regions.iter().take(top).collect();
        let predicted = regions.iter().map(|region| self.predicted_time(region));
        let predicted = predicted.collect::<Result<Vec<_>, _>>()?;
        if predicted.iter().all(Option::is_none) {
            return Ok(());
        }
        writeln!(
            out,
            "CPU time of regions, summed over all threads, and its prediction for {place}"
        )?;
        let table = Table::new("region times", "CPU time of the tracked regions.").unsigned(
            "region",
            "",
            regions.iter().map(|region| region.id.0),
        );
        let table = (0..self.series.experiments.len()).fold(table, |table, experiment| {
            let times = regions.iter().map(|region| self.time(region, experiment));
            let times = times.map(|time| time.map(|time| Nanos(time.round() as i64)));
            table.times(self.name(experiment).to_owned(), times)
        });
        let predicted = || predicted.iter().map(Option::as_ref);
        let values = predicted().map(|of| Some(number::time(of?.value)));
        let intervals = predicted().map(|of| Some(of?.interval.as_str()));
        let table = table
            .text(format!("at {place}"), values)
            .text("95 % interval", intervals);
        table::print(out, &table, 60)?;
        writeln!(out)?;
        Ok(())
    }
}
