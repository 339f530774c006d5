//! Output of `track` as text and on pages: scaling models, their predictions, and metrics that became worse.

use super::region_text::scale_text;
use super::{LEVEL, Report};
use crate::failure::{Failure, Outcome, input};
use crate::table::{self, short};
use perfkit::core::{Job, Table};
use perfkit::track::scaling::{Prediction, ScalingModel};
use perfkit::track::tracking::TrackedRegion;
use perfkit::track::trend::Flag;
use perfkit::view::number;
use perfkit::view::track::Clusters;
use std::io::Write;

/// Factor from the predicted value to the limits of its interval above which the interval is not stated: 10 times
/// from the lower to the upper limit.
pub(super) const WIDEST: f64 = 3.163;

/// Explanation of an interval that is not stated.
pub(crate) const TOO_WIDE: &str = "too wide: the limits of the interval differ by more than a factor of 10, so that it says little; further \
     scales narrow it, unless the model does not describe the metric";

/// Returns the interval of a prediction as text, with `unit` for its limits: the limits, or the number of further
/// scales that are needed for an interval of use.
pub(crate) fn range(
    model: &ScalingModel,
    (scale, prediction): (&[f64], Prediction),
    unit: impl Fn(f64) -> String,
) -> Result<String, Failure> {
    let needed = model.scales_needed(scale, WIDEST).map_err(input)?;
    Ok(match (prediction.interval, needed) {
        (Some((low, high)), Some(0)) => format!("{} to {}", unit(low), unit(high)),
        (Some(_), Some(needed)) => {
            format!("too wide: {} needed", table::counted(needed, "more scale"))
        }
        (Some(_), None) => "too wide: noise, or no such model".to_owned(),
        (None, _) => "none: 1 more scale needed".to_owned(),
    })
}

/// Returns the function that formats the values of a metric, whose name ends with its unit.
fn unit(name: &str) -> fn(f64) -> String {
    if name.ends_with("[ns]") {
        number::time
    } else {
        short
    }
}

impl Report<'_> {
    /// Writes the scaling models of the reliable regions with their predictions.
    pub(super) fn models(&self, top: usize, out: &mut dyn Write) -> Outcome {
        let trends = &self.series.trends;
        let Some(next) = trends.next_scale() else {
            return Ok(());
        };
        let mut rows = Vec::new();
        let listed = self.series.tracking.regions.iter().take(top);
        for region in listed.filter(|region| region.is_reliable) {
            for (name, model, prediction) in self.predictions(region, &next)? {
                let unit = unit(&name);
                let interval = range(&model, (&next, prediction), unit)?;
                rows.push((region.id, name, model, unit(prediction.value), interval));
            }
        }
        if rows.is_empty() {
            return Ok(());
        }
        let place = scale_text(trends.parameters(), &next);
        writeln!(out, "\nscaling models, and their values at {place}")?;
        let values = rows.iter().map(|row| row.3.as_str());
        let intervals = || rows.iter().map(|row| row.4.as_str());
        let errors = rows.iter().map(|row| Some(100.0 * row.2.error?));
        let table = Table::new("models", "Scaling models.")
            .unsigned("region", "", rows.iter().map(|row| row.0.0))
            .text("metric", rows.iter().map(|row| row.1.as_str()))
            .text("model", rows.iter().map(|row| row.2.to_string()))
            .floats("error", "%", errors)
            .text(format!("at {place}"), values)
            .text("95 % interval", intervals());
        table::print(out, &table, 60)?;
        if rows.iter().any(|row| row.2.error.is_some()) {
            writeln!(
                out,
                "  error: of predictions for each scale from the others alone"
            )?;
        }
        if intervals().any(|text| text.starts_with("too wide")) {
            writeln!(out, "  {TOO_WIDE}")?;
        }
        Ok(())
    }

    /// Returns the scaling model of each metric of a region with its name and its prediction for a scale.
    fn predictions(
        &self,
        region: &TrackedRegion,
        next: &[f64],
    ) -> Result<Vec<(String, ScalingModel, Prediction)>, Failure> {
        let trends = &self.series.trends;
        let mut all = Vec::new();
        for metric in self.metrics() {
            let model = trends.fit(region.id, metric, LEVEL, &Job::default());
            let Some(model) = model.map_err(input)? else {
                continue;
            };
            let prediction = model.predict(next).map_err(input)?;
            let unit = trends.metrics().iter().find(|of| of.name == metric);
            let name = match unit.map_or("", |of| of.unit.as_str()) {
                "" | "#" => format!("mean {metric}"),
                unit => format!("mean {metric} [{unit}]"),
            };
            all.push((name, model, prediction));
        }
        Ok(all)
    }

    /// Adds the first sentences, the threads of split and merged clusters of each region, and the scaling models, predictions and
    /// flagged changes of each reliable region, for pages.
    pub(super) fn facts(&self, mut clusters: Clusters) -> Result<Clusters, Failure> {
        /// Number of regions with models: those with the most time.
        const MAX_MODELLED: usize = 40;
        let trends = &self.series.trends;
        clusters = clusters.lead(self.limits()?);
        for region in self.series.tracking.regions.iter().take(MAX_MODELLED) {
            let parts = region.events.iter();
            let parts = parts.filter_map(|event| self.parts(region, event));
            let parts: Vec<String> = parts
                .map(|parts| format!("its clusters run {parts}"))
                .collect();
            clusters = clusters.facts(region.id.0, parts);
            if let Some(of) = self.predicted_time(region)? {
                let fact = format!(
                    "CPU time [ns] of all threads = {}; at {}: {} (95 % interval: {})",
                    of.model,
                    self.next_place(),
                    number::time(of.value),
                    of.interval
                );
                clusters = clusters.facts(region.id.0, [fact]);
            }
        }
        let regions = self.series.tracking.regions.iter().take(MAX_MODELLED);
        for region in regions.filter(|region| region.is_reliable) {
            let mut facts = Vec::new();
            if let Some(next) = trends.next_scale() {
                let place = scale_text(trends.parameters(), &next);
                for (name, model, prediction) in self.predictions(region, &next)? {
                    let unit = unit(&name);
                    let value = unit(prediction.value);
                    let interval = range(&model, (&next, prediction), unit)?;
                    facts.push(format!(
                        "{name} = {model}; at {place}: {value} (95 % interval: {interval})"
                    ));
                }
            }
            let flags = self.flags.iter().filter(|flag| flag.region == region.id);
            facts.extend(flags.map(|flag| format!("worse: {}", self.flag(flag))));
            clusters = clusters.facts(region.id.0, facts);
        }
        Ok(clusters)
    }

    pub(super) fn worse(&self, top: usize, out: &mut dyn Write) -> Outcome {
        let flags: Vec<&Flag> = self
            .flags
            .iter()
            .filter(|flag| flag.region.0 as usize <= top && self.is_reliable(flag.region))
            .collect();
        if flags.is_empty() {
            return Ok(());
        }
        writeln!(out, "\nworse by more than 5 %")?;
        for flag in flags {
            writeln!(out, "  region {}: {}", flag.region, self.flag(flag))?;
        }
        Ok(())
    }

    /// Describes a change of a metric by which a region becomes worse.
    fn flag(&self, flag: &Flag) -> String {
        let by_tasks = if flag.by_tasks {
            format!(" times {}", self.scale())
        } else {
            String::new()
        };
        format!(
            "{}{by_tasks} x {:.2} from {} to {}",
            flag.metric,
            flag.factor,
            self.name(flag.from),
            self.name(flag.to),
        )
    }

    /// Returns the names of the metrics: duration and the axes of the space.
    pub(super) fn metrics(&self) -> Vec<&str> {
        let axes = self.series.metrics.iter().map(String::as_str);
        let mut metrics = vec!["duration"];
        metrics.extend(axes.filter(|name| *name != "duration"));
        metrics
    }
}
