//! Output of `track`, first sentences: the regions that limit scaling most (growing CPU time, or
//! serial), and experiments of which little is tracked.

use super::{Report, percent};
use crate::failure::Failure;
use crate::table::counted;
use perfkit::track::TimeBalance;
use perfkit::track::tracking::TrackedRegion;
use perfkit::view::number;

/// Number of sentences.
const MAX_SENTENCES: usize = 3;
/// Smallest growth that is stated, as a share of the CPU time of the last experiment.
const MIN_GROWTH: f64 = 0.01;
/// Smallest factor by which the CPU time of a region grows that is stated.
const MIN_GROWTH_FACTOR: f64 = 1.05;
/// Smallest ratio of the shares of threads in two experiments at which their times are compared.
const MIN_THREAD_RATIO: f64 = 0.5;
/// Smallest share of the last run that a region on one thread takes to be stated.
const MIN_SERIAL_SHARE: f64 = 0.1;
/// Share of the CPU time in tracked regions below which little of an experiment is tracked.
const MIN_TRACKED: f64 = 0.5;

impl Report<'_> {
    /// Returns sentences about the regions that limit scaling most, in descending order of the time that they cost
    /// the last run: those whose CPU time grows from the first to the last experiment, and those that one of
    /// several threads executes.
    pub(super) fn limits(&self) -> Result<Vec<String>, Failure> {
        let last = self.series.tracking.experiments.len().saturating_sub(1);
        if last == 0 {
            return Ok(Vec::new());
        }
        let regions = self.series.tracking.regions.iter();
        let mut found: Vec<_> = regions
            .flat_map(|region| [self.growth(region, last), self.serial(region, last)])
            .flatten()
            .collect();
        found.sort_by(|a, b| b.0.total_cmp(&a.0));
        let found = found.into_iter().take(MAX_SENTENCES);
        let found = found.map(|(_, sentence, growing)| {
            let outlook = growing.map(|region| self.outlook(region)).transpose()?;
            Ok(sentence + &outlook.unwrap_or_default())
        });
        found.chain(self.little_tracked().map(Ok)).collect()
    }

    /// Returns a sentence about the experiment with the smallest share of its CPU time in tracked regions, if this
    /// share is small: the class of bursts that has most of the time, and the number of its clusters.
    fn little_tracked(&self) -> Option<String> {
        let experiments = self.series.tracking.experiments.iter().enumerate();
        let known = experiments.filter_map(|(at, of)| Some((at, of.balance?)));
        let tracked = |balance: &TimeBalance| balance.share(balance.tracked);
        let (at, balance) = known.min_by(|a, b| tracked(&a.1).total_cmp(&tracked(&b.1)))?;
        if tracked(&balance) >= MIN_TRACKED {
            return None;
        }
        let name = self.name(at);
        let mut others = balance.parts()[1..].to_vec();
        others.sort_by_key(|(_, amount)| std::cmp::Reverse(amount.time));
        let (class, most) = others[0];
        let class = match class {
            "untracked" => "in clusters that no other experiment has",
            "noise" => "in bursts that resemble too few others for a cluster",
            "without counters" => "in bursts without a value of the metrics",
            _ => "in bursts that filters drop",
        };
        let bursts = format!(
            "{} of its CPU time is {class} ({})",
            percent(balance.share(most)),
            counted(most.bursts as usize, "burst")
        );
        Some(match self.series.tracking.experiments[at].clusters {
            0 => format!(
                "{name} has no cluster, so that no region can be followed into it: {bursts}"
            ),
            _ => format!(
                "regions that are followed cover {} of the CPU time of {name}: {bursts}",
                percent(tracked(&balance)),
            ),
        })
    }

    /// Returns the end of the sentence about a growing region: its predicted CPU time, or the reason for which its
    /// growth is uncertain. Empty without either.
    fn outlook(&self, region: &TrackedRegion) -> Result<String, Failure> {
        if region.mixture.is_some() {
            return Ok("; uncertain, because the region mixes code of several places".to_owned());
        }
        if region.confidence < self.min_confidence {
            return Ok(format!(
                "; uncertain, because the confidence of the region is {:.2}",
                region.confidence
            ));
        }
        let predicted = self.predicted_time(region)?;
        Ok(predicted.map_or_else(String::new, |of| {
            // A prediction below the last time does not follow the growth.
            let last = self.series.experiments.len().saturating_sub(1);
            let is_growing = self.time(region, last).is_some_and(|time| of.value >= time);
            if !of.is_described || !is_growing {
                return format!("; no model of the {} describes its growth", self.scale());
            }
            format!(
                "; at {} about {} are predicted (95 % interval: {})",
                self.next_place(),
                number::time(of.value),
                of.interval
            )
        }))
    }

    /// Returns the CPU time of an experiment in nanoseconds.
    pub(super) fn total(&self, experiment: usize) -> f64 {
        let known = self.series.tracking.experiments.get(experiment);
        let balance = known.and_then(|of| of.balance);
        balance.map_or(f64::NAN, |of| of.total.time.0 as f64)
    }

    /// Returns the time of an experiment from the begin of its first burst to the end of the last one, in
    /// nanoseconds.
    fn span(&self, experiment: usize) -> f64 {
        let known = self.series.experiments.get(experiment);
        let rows = known.map_or(&[][..], |of| of.experiment.bursts().rows());
        let begin = rows.iter().map(|burst| burst.begin.0).min();
        let end = rows.iter().map(|burst| burst.end.0).max();
        let span = begin.zip(end).map(|(begin, end)| end.saturating_sub(begin));
        span.map_or(f64::NAN, |span| span as f64)
    }

    /// Returns the sentence about a region that is in all experiments and whose CPU time grows, with the growth for
    /// each thread, and the region if its times are comparable.
    fn growth<'r>(
        &self,
        region: &'r TrackedRegion,
        last: usize,
    ) -> Option<(f64, String, Option<&'r TrackedRegion>)> {
        if region.experiments() <= last {
            return None;
        }
        let (before, after) = (self.time(region, 0)?, self.time(region, last)?);
        let [(own, all), (own_last, all_last)] =
            [0, last].map(|experiment| self.threads(region, experiment));
        let is_small =
            after - before <= MIN_GROWTH * self.total(last) || after < MIN_GROWTH_FACTOR * before;
        if is_small || all_last == 0 {
            return None;
        }
        let cost = (after - before) / all_last as f64;
        let share = |experiment: usize| {
            let share = region.share.get(experiment);
            percent(share.copied().unwrap_or_default())
        };
        let (place, first_name, last_name) = (place(region), self.name(0), self.name(last));
        let [few, many] =
            [(own, all), (own_last, all_last)].map(|(own, all)| own as f64 / all.max(1) as f64);
        if few < MIN_THREAD_RATIO * many {
            return Some((
                cost,
                format!(
                    "region {}{place} takes {} of the CPU time in {last_name}, on {own_last} of {all_last} threads; in \
                     {first_name} it has bursts that are long enough on only {own} of {all} threads, so that no growth \
                     is stated",
                    region.id,
                    share(last),
                ),
                None,
            ));
        }
        Some((
            cost,
            format!(
                "region {}{place} takes {:.1} times the CPU time of {first_name} in {last_name}: {}, {} of all, in place \
                 of {}, {}",
                region.id,
                after / before,
                number::time(after),
                share(last),
                number::time(before),
                share(0),
            ),
            Some(region),
        ))
    }

    /// Returns the sentence about a region on one of several threads that takes a large share of the last run, with
    /// its time.
    fn serial<'r>(
        &self,
        region: &'r TrackedRegion,
        last: usize,
    ) -> Option<(f64, String, Option<&'r TrackedRegion>)> {
        let (own, all) = self.threads(region, last);
        let time = self.time(region, last)?;
        let span = self.span(last);
        let is_serial = own == 1 && all > 1 && time > MIN_SERIAL_SHARE * span;
        is_serial.then(|| {
            (
                time,
                format!(
                    "region {}{} runs on one of {all} threads for {} of the {} of {}: more threads do not shorten it",
                    region.id,
                    place(region),
                    number::time(time),
                    number::time(span),
                    self.name(last),
                ),
                None,
            )
        })
    }
}

/// Returns the place of a region in the program between commas; empty if it is unknown.
fn place(region: &TrackedRegion) -> String {
    let position = region.position();
    position.map_or_else(String::new, |at| format!(", {at},"))
}
