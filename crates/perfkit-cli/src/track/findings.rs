//! Output of `track` as text, second part: tracked regions and their trends.

use super::{LEVEL, Report, ids, percent};
use crate::failure::{Outcome, input};
use crate::table::{self, short};
use perfkit::core::{Column, Job, Table};
use perfkit::track::tracking::{Event, Mixture, Object, Occurrence};
use perfkit::track::trend::Flag;
use std::io::Write;

/// Returns a scale as text: `32 tasks`, or `tasks = 32, size = 40` for several parameters.
pub(crate) fn scale_text(parameters: &[String], scale: &[f64]) -> String {
    match (parameters, scale) {
        ([name], [value]) => format!("{value} {name}"),
        _ => {
            let all = parameters.iter().zip(scale);
            let all: Vec<String> = all
                .map(|(name, value)| format!("{name} = {value}"))
                .collect();
            all.join(", ")
        }
    }
}

/// Shortens call sites while they stay different: each keeps the smallest number of innermost callers
/// that distinguishes it from all other call sites.
fn sites(chains: &[String]) -> Vec<String> {
    let head = |chain: &str, depth: usize| -> String {
        let callers: Vec<&str> = chain.split(" < ").take(depth).collect();
        callers.join(" < ")
    };
    let short = |chain: &String| {
        let others: Vec<&String> = chains.iter().filter(|other| *other != chain).collect();
        let is_own = |depth: &usize| {
            let own = head(chain, *depth);
            others.iter().all(|other| head(other, *depth) != own)
        };
        let depth = (1..=chain.split(" < ").count()).find(is_own);
        depth.map_or_else(|| chain.clone(), |depth| head(chain, depth))
    };
    chains.iter().map(short).collect()
}

impl Report<'_> {
    pub(super) fn objects(&self, top: usize, out: &mut dyn Write) -> Outcome {
        let objects = &self.series.tracking.objects;
        writeln!(
            out,
            "\nregions by CPU time: their clusters in each experiment, and the share of its CPU time"
        )?;
        let listed = || objects.iter().take(top);
        let table = Table::new("regions", "Tracked regions.").unsigned(
            "region",
            "",
            listed().map(|object| object.id.0),
        );
        let experiments = self.series.tracking.experiments.iter().enumerate();
        let table = experiments.fold(table, |table, (at, experiment)| {
            let members = |object: &Object| object.members.get(at).map(|members| ids(members));
            let share = |object: &Object| {
                let is_there = object
                    .members
                    .get(at)
                    .is_some_and(|members| !members.is_empty());
                object
                    .share
                    .get(at)
                    .filter(|_| is_there)
                    .map(|share| 100.0 * share)
            };
            table
                .text(experiment.name.clone(), listed().map(members))
                .floats("CPU time", "%", listed().map(share))
        });
        let confidences = listed().map(|object| object.confidence);
        let table = table.floats("confidence", "", confidences);
        table::print(out, &table, 60)?;
        if objects.len() > top {
            writeln!(out, "  and {} more", objects.len() - top)?;
        }
        self.positions(top, out)?;
        for object in objects.iter().take(top) {
            for event in &object.events {
                writeln!(out, "  region {} {}", object.id, self.event(event))?;
            }
            if let Some(mixture) = &object.mixture {
                writeln!(out, "  region {} {}", object.id, self.mixture(mixture))?;
            }
        }
        for (experiment, clustered) in self.series.experiments.iter().enumerate() {
            let name = self.name(experiment);
            let mut parts: Vec<_> = clustered.parts.iter().filter(|of| !of.is_noise()).collect();
            let all = parts.len();
            parts.sort_unstable();
            parts.dedup();
            if all > 0 {
                writeln!(
                    out,
                    "  {name}: {} split off {} by their program positions",
                    table::counted(all, "cluster"),
                    table::counted(parts.len(), "cluster"),
                )?;
            }
            if !clustered.rescued.is_empty() {
                writeln!(
                    out,
                    "  {name}: {} of noise joined the regions of their program positions",
                    table::counted(clustered.rescued.len(), "burst"),
                )?;
            }
        }
        Ok(())
    }

    /// Writes the weakest required link of each tracked region with the votes of all evaluators.
    pub(super) fn why(&self, top: usize, out: &mut dyn Write) -> Outcome {
        let linked = self.series.tracking.objects.iter().take(top);
        if linked.clone().all(|object| object.links.is_empty()) {
            return Ok(());
        }
        writeln!(out, "\nwhy: the weakest link that each region needs")?;
        for object in self.series.tracking.objects.iter().take(top) {
            // Links below the confidence of the region are redundant, because stronger links connect its
            // clusters.
            let needed = object.links.iter();
            let weakest = needed
                .filter(|link| link.confidence >= object.confidence)
                .min_by(|a, b| a.confidence.total_cmp(&b.confidence));
            let Some(link) = weakest else { continue };
            let votes = link
                .votes
                .iter()
                .map(|(who, value)| format!("{who} {value:.2}"));
            let (from, to) = (self.name(link.from.0), self.name(link.to.0));
            writeln!(
                out,
                "  region {}: {} of {from} to {} of {to}, {:.2}: {}",
                object.id,
                link.from.1,
                link.to.1,
                link.confidence,
                votes.collect::<Vec<_>>().join(", ")
            )?;
        }
        Ok(())
    }

    pub(super) fn event(&self, event: &Event) -> String {
        match event {
            Event::Birth { experiment } => format!("begins in {}", self.name(*experiment)),
            Event::Death { experiment } => format!("ends after {}", self.name(*experiment)),
            Event::Split {
                experiment,
                from,
                into,
            } => {
                format!(
                    "splits in {}: {from} into {}",
                    self.name(*experiment),
                    ids(into)
                )
            }
            Event::Merge {
                experiment,
                from,
                into,
            } => {
                format!(
                    "merges in {}: {} into {into}",
                    self.name(*experiment),
                    ids(from)
                )
            }
            Event::Gap {
                experiment,
                hidden_in,
            } => {
                let name = self.name(*experiment);
                match hidden_in {
                    Some(host) => format!("is hidden in {name}: within cluster {host}"),
                    None => format!("is missing from {name}"),
                }
            }
            Event::Unclustered {
                experiment,
                noise,
                dropped,
            } => format!(
                "is in no cluster of {}: of the bursts of its call sites {} in noise and {} dropped",
                self.name(*experiment),
                table::grouped(*noise as u64),
                table::grouped(*dropped as u64),
            ),
            _ => String::new(),
        }
    }

    /// Describes the call sites that a tracked region mixes by the innermost callers that
    /// distinguish them.
    fn mixture(&self, mixture: &Mixture) -> String {
        const MOST: usize = 4;
        let names = sites(&mixture.sites);
        let more = match names.len().saturating_sub(MOST) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let [experiment, other] = mixture.experiments.map(|experiment| self.name(experiment));
        format!(
            "mixes computation after {}{more} (seen in {experiment} and {other})",
            names[..names.len().min(MOST)].join(", after ")
        )
    }

    /// Writes the place of each region in the program.
    fn positions(&self, top: usize, out: &mut dyn Write) -> Outcome {
        let listed = self.series.tracking.objects.iter().take(top);
        let placed: Vec<_> = listed.filter_map(|of| Some((of, of.position()?))).collect();
        if placed.is_empty() {
            return Ok(());
        }
        writeln!(
            out,
            "\nregions in the program: function, and the calls before and after"
        )?;
        for (object, position) in placed {
            writeln!(out, "  region {}: {position}", object.id)?;
        }
        writeln!(out)?;
        Ok(())
    }

    /// Returns the meaning of the number of tasks: `tasks`, or `tasks x threads` if a process has several
    /// threads.
    pub(super) fn scale(&self) -> &'static str {
        let mut experiments = self.series.experiments.iter();
        if experiments.all(|of| of.experiment.threads() == of.experiment.tasks()) {
            "tasks"
        } else {
            "tasks x threads"
        }
    }

    /// Writes the regions whose CPU time grows most from the first to the last experiment.
    pub(super) fn growth(&self, out: &mut dyn Write) -> Outcome {
        const MOST: usize = 3;
        const LEAST: f64 = 0.01;
        let experiments = &self.series.tracking.experiments;
        let last = experiments.len().saturating_sub(1);
        let total = |experiment: usize| {
            let balance = experiments.get(experiment).and_then(|of| of.balance);
            balance.map_or(f64::NAN, |of| of.total.time.0 as f64)
        };
        let mut grown: Vec<_> = self
            .series
            .tracking
            .objects
            .iter()
            .filter(|object| object.experiments() == experiments.len() && last > 0)
            .filter_map(|object| {
                let time =
                    |experiment: usize| Some(object.share.get(experiment)? * total(experiment));
                let (before, after) = (time(0)?, time(last)?);
                (after - before > LEAST * total(last)).then_some((object, before, after))
            })
            .collect();
        grown.sort_by(|a, b| {
            (b.2 - b.1)
                .total_cmp(&(a.2 - a.1))
                .then(a.0.id.0.cmp(&b.0.id.0))
        });
        for (object, before, after) in grown.iter().take(MOST) {
            let place = object
                .position()
                .map_or_else(String::new, |at| format!(", {at},"));
            writeln!(
                out,
                "region {}{place} grows from {} of the CPU time in {} to {} in {}: {:.1} times the CPU time",
                object.id,
                percent(object.share.first().copied().unwrap_or_default()),
                self.name(0),
                percent(object.share.last().copied().unwrap_or_default()),
                self.name(last),
                after / before,
            )?;
        }
        if !grown.is_empty() {
            writeln!(out)?;
        }
        Ok(())
    }

    pub(super) fn changes(&self, top: usize, out: &mut dyn Write) -> Outcome {
        let Some((work, _)) = &self.counters else {
            return Ok(());
        };
        let by_ipc = work == "instructions";
        let mut rows = Vec::new();
        let listed = self.series.tracking.objects.iter().take(top);
        for object in listed.filter(|object| object.is_reliable) {
            for (from, to) in Self::steps(object) {
                let Some(change) = self.change(object, from, to) else {
                    continue;
                };
                rows.push((
                    object.id,
                    [from, to].map(|experiment| self.name(experiment)),
                    change,
                ));
            }
        }
        if rows.is_empty() {
            return Ok(());
        }
        writeln!(
            out,
            "\nmean time of a burst: its factor, and the factors due to each cause, whose product it is"
        )?;
        let all = || rows.iter().map(|(.., change)| change);
        let factor =
            |name: String, at: usize| Column::floats(name, "", all().map(|it| it.factors()[at]));
        let rate = if by_ipc { "IPC" } else { "rate" };
        let table = Table::new("changes", "Factors of the mean time of a burst.")
            .unsigned("region", "", rows.iter().map(|row| row.0.0))
            .text("from", rows.iter().map(|row| row.1[0]))
            .text("to", rows.iter().map(|row| row.1[1]))
            .floats("time", "", all().map(|change| change.time.exp()))
            .with(factor(format!("due to {work}"), 0))
            .with(factor(format!("due to {rate}"), 1));
        let table = if by_ipc {
            table.with(factor("due to frequency".into(), 2))
        } else {
            table
        };
        let changes = all().map(|change| 100.0 * (change.ipc.exp() - 1.0));
        let table = table.floats(format!("change in {rate}"), "%", changes);
        Ok(table::print(out, &table, 60)?)
    }

    /// Writes the scaling models of the reliable regions with their predictions.
    pub(super) fn models(&self, top: usize, out: &mut dyn Write) -> Outcome {
        let trends = &self.series.trends;
        let Some(next) = trends.next_scale() else {
            return Ok(());
        };
        let mut rows = Vec::new();
        let listed = self.series.tracking.objects.iter().take(top);
        for object in listed.filter(|object| object.is_reliable) {
            for metric in self.metrics() {
                let model = trends.fit(object.id, metric, LEVEL, &Job::default());
                let Some(model) = model.map_err(input)? else {
                    continue;
                };
                let prediction = model.predict(&next).map_err(input)?;
                let unit = trends.metrics().iter().find(|of| of.name == metric);
                let name = match unit.map_or("", |of| of.unit.as_str()) {
                    "" | "#" => format!("mean {metric}"),
                    unit => format!("mean {metric} [{unit}]"),
                };
                rows.push((object.id, name, model, prediction));
            }
        }
        if rows.is_empty() {
            return Ok(());
        }
        let place = scale_text(trends.parameters(), &next);
        writeln!(out, "\nscaling models, and their values at {place}")?;
        let range = |interval: Option<(f64, f64)>| match interval {
            Some((low, high)) => format!("{} to {}", short(low), short(high)),
            None => "no degree of freedom".to_owned(),
        };
        let values = rows.iter().map(|row| Some(short(row.3.value)));
        let intervals = rows.iter().map(|row| range(row.3.interval));
        let errors = rows.iter().map(|row| Some(100.0 * row.2.error?));
        let table = Table::new("models", "Scaling models.")
            .unsigned("region", "", rows.iter().map(|row| row.0.0))
            .text("metric", rows.iter().map(|row| row.1.as_str()))
            .text("model", rows.iter().map(|row| row.2.to_string()))
            .floats("error", "%", errors)
            .text(format!("at {place}"), values)
            .text("95 % interval", intervals);
        table::print(out, &table, 60)?;
        if rows.iter().any(|row| row.2.error.is_some()) {
            writeln!(
                out,
                "  error: of predictions for each scale from the others alone"
            )?;
        }
        Ok(())
    }

    /// Returns the names of the metrics: duration and the axes of the space.
    pub(super) fn metrics(&self) -> Vec<&str> {
        let axes = self.series.metrics.iter().map(String::as_str);
        let mut metrics = vec!["duration"];
        metrics.extend(axes.filter(|name| *name != "duration"));
        metrics
    }

    /// Writes a sentence about each reliable tracked region that is in all experiments.
    pub(super) fn words(&self, top: usize, out: &mut dyn Write) -> Outcome {
        let (report, series) = (self, self.series);
        let mut is_first = true;
        let scale = self.scale();
        let last = series.experiments.len().saturating_sub(1);
        let first = report.name(0);
        let whole = series
            .tracking
            .objects
            .iter()
            .take(top)
            .filter(|o| o.experiments() == series.experiments.len() && o.is_reliable);
        for object in whole {
            let Some(change) = report.change(object, 0, last) else {
                continue;
            };
            let Some((work, _)) = &report.counters else {
                continue;
            };
            let model = series
                .trends
                .fit_of_threads(object.id, work, LEVEL, &Job::default());
            let Some(model) = model.map_err(input)? else {
                continue;
            };
            let exponent = model.exponent(0);
            let [_, slower, clock] = change.factors();
            let rate = slower * clock;
            if std::mem::take(&mut is_first) {
                writeln!(out, "in words")?;
            }
            writeln!(
                out,
                "  region {} ({} of the CPU time in {}): {work} goes as {scale} to the power of {:.2}, {}; \
             {}.",
                object.id,
                percent(object.share.last().copied().unwrap_or_default()),
                report.name(last),
                exponent,
                match exponent {
                    ..-0.9 => "so it is divided",
                    -0.9..-0.1 => "so a part of it is replicated",
                    _ => "so it is not divided",
                },
                match rate {
                    1.05.. => format!(
                        "a unit of it takes {:.0} % longer than in {first}",
                        100.0 * rate - 100.0
                    ),
                    ..0.95 => format!(
                        "a unit of it takes {:.0} % less than in {first}",
                        100.0 - 100.0 * rate
                    ),
                    _ => format!("a unit of it takes as long as in {first}, within 5 %"),
                }
            )?;
        }
        if !is_first {
            writeln!(out)?;
        }
        Ok(())
    }

    /// Writes the tracked regions of several experiments for which no trend is reported, and the
    /// reasons.
    pub(super) fn unstated(&self, top: usize, out: &mut dyn Write) -> Outcome {
        let objects = self.series.tracking.objects.iter().take(top);
        let unstated = objects.filter(|object| object.experiments() > 1 && !object.is_reliable);
        let mut is_first = true;
        for object in unstated {
            if std::mem::take(&mut is_first) {
                writeln!(out, "\nno trend is stated")?;
            }
            let why = match (&object.mixture, object.occurrence) {
                (Some(mixture), _) => self.mixture(mixture),
                (None, Occurrence::StartUp) => {
                    "occurs only at start-up, before the main loop".to_owned()
                }
                (None, Occurrence::Once) => "occurs only once on each thread".to_owned(),
                _ => format!(
                    "has a confidence of {:.2}, below {:.2} (--min-confidence)",
                    object.confidence, self.min_confidence
                ),
            };
            writeln!(out, "  region {} {why}", object.id)?;
        }
        Ok(())
    }

    pub(super) fn worse(&self, top: usize, out: &mut dyn Write) -> Outcome {
        let flags: Vec<&Flag> = self
            .flags
            .iter()
            .filter(|flag| flag.object.0 as usize <= top && self.is_reliable(flag.object))
            .collect();
        if flags.is_empty() {
            return Ok(());
        }
        writeln!(out, "\nworse by more than 5 %")?;
        for flag in flags {
            let by_tasks = if flag.by_tasks { " times tasks" } else { "" };
            writeln!(
                out,
                "  region {}: {}{by_tasks} x {:.2} from {} to {}",
                flag.object,
                flag.metric,
                flag.factor,
                self.name(flag.from),
                self.name(flag.to),
            )?;
        }
        Ok(())
    }
}
