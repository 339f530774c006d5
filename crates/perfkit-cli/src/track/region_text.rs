//! Output of `track` as text, second part: tracked regions with their links, places in the program,
//! changes and trends.

use super::{LEVEL, Report, ids, percent};
use crate::failure::{Outcome, input};
use crate::table;
use perfkit::core::{Column, Job, Table};
use perfkit::track::tracking::{Mixture, Occurrence, TrackedRegion};
use std::collections::BTreeSet;
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
    pub(super) fn regions(&self, top: usize, out: &mut dyn Write) -> Outcome {
        let regions = &self.series.tracking.regions;
        writeln!(
            out,
            "\nregions by CPU time: their clusters in each experiment, and the share of its CPU time"
        )?;
        let listed = || regions.iter().take(top);
        let table = Table::new("regions", "Tracked regions.").unsigned(
            "region",
            "",
            listed().map(|region| region.id.0),
        );
        let experiments = self.series.tracking.experiments.iter().enumerate();
        let table = experiments.fold(table, |table, (at, experiment)| {
            let members =
                |region: &TrackedRegion| region.members.get(at).map(|members| ids(members));
            let share = |region: &TrackedRegion| {
                let is_there = region
                    .members
                    .get(at)
                    .is_some_and(|members| !members.is_empty());
                region
                    .share
                    .get(at)
                    .filter(|_| is_there)
                    .map(|share| 100.0 * share)
            };
            table
                .text(experiment.name.clone(), listed().map(members))
                .floats("CPU time", "%", listed().map(share))
        });
        let confidences = listed().map(|region| region.confidence);
        let table = table.floats("confidence", "", confidences);
        table::print(out, &table, 60)?;
        if regions.len() > top {
            writeln!(out, "  and {} more", regions.len() - top)?;
        }
        self.positions(top, out)?;
        for region in regions.iter().take(top) {
            for event in &region.events {
                let sentence = self.series.tracking.sentence(region, event);
                let parts = self.parts(region, event);
                let parts = parts.map_or_else(String::new, |parts| format!(", {parts}"));
                writeln!(out, "  region {} {sentence}{parts}", region.id)?;
            }
            if let Some(mixture) = &region.mixture {
                writeln!(out, "  region {} {}", region.id, self.mixture(mixture))?;
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
        let linked = self.series.tracking.regions.iter().take(top);
        if linked.clone().all(|region| region.links.is_empty()) {
            return Ok(());
        }
        writeln!(out, "\nwhy: the weakest link that each region needs")?;
        for region in self.series.tracking.regions.iter().take(top) {
            // Links below the confidence of the region are redundant, because stronger links connect its
            // clusters.
            let needed = region.links.iter();
            let weakest = needed
                .filter(|link| link.confidence >= region.confidence)
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
                region.id,
                link.from.1,
                link.to.1,
                link.confidence,
                votes.collect::<Vec<_>>().join(", ")
            )?;
        }
        Ok(())
    }

    /// Describes the call sites that a tracked region mixes by the innermost callers that
    /// distinguish them.
    fn mixture(&self, mixture: &Mixture) -> String {
        const MAX_SITES: usize = 4;
        let names = sites(&mixture.sites);
        let more = match names.len().saturating_sub(MAX_SITES) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let [experiment, other] = mixture.experiments.map(|experiment| self.name(experiment));
        format!(
            "mixes computation after {}{more} (seen in {experiment} and {other})",
            names[..names.len().min(MAX_SITES)].join(", after ")
        )
    }

    /// Writes the place of each region in the program.
    fn positions(&self, top: usize, out: &mut dyn Write) -> Outcome {
        let listed = self.series.tracking.regions.iter().take(top);
        let placed: Vec<_> = listed.filter_map(|of| Some((of, of.position()?))).collect();
        if placed.is_empty() {
            return Ok(());
        }
        writeln!(
            out,
            "\nregions in the program: function, and the calls before and after"
        )?;
        for (region, position) in placed {
            writeln!(out, "  region {}: {position}", region.id)?;
        }
        writeln!(out)?;
        Ok(())
    }

    /// Returns the name of the scale: `tasks`, or `threads` if a process has several.
    pub(super) fn scale(&self) -> &str {
        let names = self.series.trends.parameters();
        names.first().map_or("tasks", String::as_str)
    }

    /// Returns the number of threads with bursts of a region in an experiment, and of all threads.
    pub(super) fn threads(&self, region: &TrackedRegion, experiment: usize) -> (usize, usize) {
        let (Some(of), Some(members)) = (
            self.series.experiments.get(experiment),
            region.members.get(experiment),
        ) else {
            return (0, 0);
        };
        let bursts = of.experiment.bursts();
        let own = of.rows.iter().zip(&of.labels);
        let own = own.filter(|(_, id)| members.contains(id));
        let threads: BTreeSet<u32> = own
            .filter_map(|(&row, _)| Some(bursts.rows().get(row as usize)?.thread))
            .collect();
        (threads.len(), bursts.threads().len())
    }

    pub(super) fn changes(&self, top: usize, out: &mut dyn Write) -> Outcome {
        let Some((work, _)) = &self.counters else {
            return Ok(());
        };
        let by_ipc = work == "instructions";
        let mut rows = Vec::new();
        let listed = self.series.tracking.regions.iter().take(top);
        for region in listed.filter(|region| region.is_reliable) {
            for (from, to) in Self::steps(region) {
                let Some(change) = self.change(region, from, to) else {
                    continue;
                };
                rows.push((
                    region.id,
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

    /// Writes a sentence about each reliable tracked region that is in all experiments.
    pub(super) fn words(&self, top: usize, out: &mut dyn Write) -> Outcome {
        /// Error of a model above which its power is not stated.
        const MAX_ERROR: f64 = 0.5;
        let (report, series) = (self, self.series);
        let mut is_first = true;
        let scale = self.scale();
        let last = series.experiments.len().saturating_sub(1);
        let first = report.name(0);
        let whole = series
            .tracking
            .regions
            .iter()
            .take(top)
            .filter(|o| o.experiments() == series.experiments.len() && o.is_reliable);
        for region in whole {
            let Some(change) = report.change(region, 0, last) else {
                continue;
            };
            let Some((work, _)) = &report.counters else {
                continue;
            };
            let model = series
                .trends
                .fit_of_threads(region.id, work, LEVEL, &Job::default());
            let Some(model) = model.map_err(input)? else {
                continue;
            };
            let exponent = model.exponent(0);
            let work = match work {
                plural if plural.ends_with('s') => format!("the number of {plural}"),
                single => single.to_string(),
            };
            let law = format!("{work} goes as {scale} to the power of {exponent:.2}");
            let [(few, before), (own, all)] = [0, last].map(|at| report.threads(region, at));
            let stays = own * before * 2 <= few * all;
            let [_, slower, clock] = change.factors();
            let rate = slower * clock;
            if std::mem::take(&mut is_first) {
                writeln!(out, "in words")?;
            }
            writeln!(
                out,
                "  region {} ({} of the CPU time in {}): {}; {}.",
                region.id,
                percent(region.share.last().copied().unwrap_or_default()),
                report.name(last),
                match (model.error, exponent) {
                    _ if stays =>
                        format!("{work} stays on {own} of {all} threads, so it is not divided"),
                    (Some(error), _) if error > MAX_ERROR => format!(
                        "{work} follows no model of the {scale}, with errors of {:.0} %",
                        100.0 * error
                    ),
                    (_, ..-0.9) => format!("{law}, so it is divided"),
                    (_, -0.9..-0.1) => format!("{law}, so a part of it is replicated"),
                    _ => format!("{law}, so it is not divided"),
                },
                match rate {
                    2.0.. => format!("a unit of it takes {rate:.1} times as long as in {first}"),
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

    /// Describes a region that occurs on a small share of the threads of an experiment.
    fn few_threads(&self, region: &TrackedRegion) -> String {
        let experiments = 0..self.series.experiments.len();
        let seen = experiments.map(|experiment| (experiment, self.threads(region, experiment)));
        let seen = seen.filter(|(_, (own, _))| *own > 0);
        let share = |of: &(usize, (usize, usize))| of.1.0 as f64 / of.1.1.max(1) as f64;
        let least = seen.min_by(|a, b| share(a).total_cmp(&share(b)));
        let Some((experiment, (own, all))) = least else {
            return String::new();
        };
        format!(
            "has long bursts on only {own} of {all} threads of {}, but on a larger share of more threads, so that the \
             experiments are not comparable",
            self.name(experiment)
        )
    }

    /// Writes the tracked regions of several experiments for which no trend is reported, and the
    /// reasons.
    pub(super) fn unstated(&self, top: usize, out: &mut dyn Write) -> Outcome {
        let regions = self.series.tracking.regions.iter().take(top);
        let unstated = regions.filter(|region| region.experiments() > 1 && !region.is_reliable);
        let mut is_first = true;
        for region in unstated {
            if std::mem::take(&mut is_first) {
                writeln!(out, "\nno trend is stated")?;
            }
            let why = match (&region.mixture, region.occurrence) {
                (Some(mixture), _) => self.mixture(mixture),
                (None, Occurrence::StartUp) => {
                    "occurs only at start-up, before the main loop".to_owned()
                }
                (None, Occurrence::Once) => "occurs only once on most of its threads".to_owned(),
                (None, Occurrence::FewThreads) => self.few_threads(region),
                _ => format!(
                    "has a confidence of {:.2}, below {:.2} (--min-confidence)",
                    region.confidence, self.min_confidence
                ),
            };
            writeln!(out, "  region {} {why}", region.id)?;
        }
        Ok(())
    }
}
