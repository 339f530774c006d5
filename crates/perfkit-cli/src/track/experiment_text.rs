//! Output of `track` as text, first part: experiments with their CPU time, the radii of their
//! clustering, and the bursts that filters and axes drop.

use super::Report;
use crate::failure::Outcome;
use crate::phases::dropped_bursts;
use crate::phases::radius;
use crate::phases::time_balance;
use crate::table;
use perfkit::core::Table;
use perfkit::track::Amount;
use std::io::Write;

impl Report<'_> {
    pub(super) fn text(&self, top: usize, out: &mut dyn Write) -> Outcome {
        if self.versions.is_some() {
            self.version_changes(out)?;
        } else {
            let limits = self.limits()?;
            for sentence in &limits {
                writeln!(out, "{sentence}")?;
            }
            if !limits.is_empty() {
                writeln!(out)?;
            }
            self.words(top, out)?;
            self.times(top, out)?;
        }
        self.experiments(out)?;
        self.balance(out)?;
        self.radii(out)?;
        self.left_out(out)?;
        self.regions(top, out)?;
        if self.series.experiments.len() < 2 {
            writeln!(
                out,
                "\none experiment: there is nothing to track it to; give more recordings, or --windows N"
            )?;
            return Ok(());
        }
        self.why(top, out)?;
        if self.versions.is_some() {
            return Ok(());
        }
        self.changes(top, out)?;
        self.models(top, out)?;
        self.worse(top, out)?;
        self.unstated(top, out)
    }

    fn experiments(&self, out: &mut dyn Write) -> Outcome {
        writeln!(
            out,
            "experiments, in the space of {}",
            self.series.metrics.join(" and ")
        )?;
        let clustered = || self.series.experiments.iter();
        let found = || self.series.tracking.experiments.iter();
        let split_off = || clustered().map(|of| of.parts.len());
        let clusters = found()
            .zip(split_off())
            .map(|(found, parts)| found.clusters - parts);
        let table = Table::new("experiments", "Clusters of each experiment.")
            .text("experiment", found().map(|of| of.name.as_str()))
            .unsigned(self.scale().to_owned(), "", found().map(|of| of.tasks))
            .unsigned("clustered bursts", "", clustered().map(|of| of.rows.len()))
            .floats("eps", "", clustered().map(|of| of.partition.eps))
            .unsigned("clusters", "", clusters)
            .unsigned("split off", "", split_off())
            .unsigned("rescued", "", found().map(|of| of.rescued))
            .floats("SPMD score", "", found().map(|of| of.score));
        Ok(table::print(out, &table, 60)?)
    }

    /// Writes the division of the CPU time of each experiment, and of all experiments together.
    fn balance(&self, out: &mut dyn Write) -> Outcome {
        let tracking = &self.series.tracking;
        let experiments = tracking.experiments.iter();
        let mut all: Vec<_> = experiments
            .clone()
            .filter_map(|experiment| Some((experiment.name.clone(), experiment.balance?)))
            .collect();
        if let Some(sum) = tracking.balance().filter(|_| all.len() > 1) {
            all.push(("all".to_owned(), sum));
        }
        writeln!(out, "\n{}", time_balance::TOTAL)?;
        time_balance::write(&all, tracking.experiments.len() > 1, out)?;
        let series = self.series;
        let windows = experiments.filter_map(|experiment| {
            let balance = experiment.balance?;
            Some((experiment.name.as_str(), balance.share(balance.duration)))
        });
        let window = windows
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .filter(|_| series.experiments.len() > series.recordings.len());
        time_balance::write_min(series.min_duration, series.is_chosen, window, out)?;
        Ok(())
    }

    /// Writes the choice of the radius of each experiment.
    fn radii(&self, out: &mut dyn Write) -> Outcome {
        let found = self.series.experiments.iter();
        let found: Vec<_> = found
            .filter_map(|of| Some((of.experiment.name(), of.partition.choice.as_ref()?)))
            .collect();
        if found.is_empty() {
            return Ok(());
        }
        let one = match self
            .series
            .experiments
            .first()
            .and_then(|of| of.partition.eps)
        {
            Some(eps)
                if self
                    .series
                    .experiments
                    .iter()
                    .all(|of| of.partition.eps == Some(eps)) =>
            {
                format!(", and one for all: {eps:.4}")
            }
            _ => String::new(),
        };
        writeln!(
            out,
            "\nradius of a neighbourhood, as found for each experiment{one}"
        )?;
        for (name, choice) in found {
            writeln!(out, "  {name}: {}", radius::sentence(choice))?;
        }
        for of in &self.series.experiments {
            if let Some((eps, min_points)) = of.partition.rest {
                writeln!(
                    out,
                    "  {}: what this leaves in noise: eps {eps:.4}, {min_points} points",
                    of.experiment.name()
                )?;
            }
        }
        Ok(())
    }

    /// Returns the complete bursts of an experiment that are not points, by the axis that excludes them.
    pub(super) fn no_points(&self, experiment: usize) -> Vec<(&str, Amount)> {
        let scaled = self.series.scaled.experiments.get(experiment);
        let amounts = scaled.map_or(&[][..], |scaled| &scaled.left_out);
        let all = self.series.metrics.iter().map(String::as_str).zip(amounts);
        let some = all.filter(|(_, amount)| amount.bursts > 0);
        some.map(|(name, amount)| (name, *amount)).collect()
    }

    /// Writes the bursts of each recording that filters and axes drop.
    fn left_out(&self, out: &mut dyn Write) -> Outcome {
        let mut rows = Vec::new();
        for of in &self.series.recordings {
            for (why, amount) in dropped_bursts::reasons(&of.dropped) {
                let share = dropped_bursts::share(amount.time, of.dropped.found.time);
                rows.push((of.name.as_str(), why, amount, Some(100.0 * share)));
            }
        }
        for experiment in 0..self.series.experiments.len() {
            for (metric, amount) in self.no_points(experiment) {
                let why = format!("no finite value or logarithm of {metric}");
                rows.push((self.name(experiment), why, amount, None));
            }
        }
        if rows.is_empty() {
            return Ok(());
        }
        writeln!(out)?;
        let table = Table::new("dropped", "Bursts that filters and axes dropped.")
            .text("dropped from", rows.iter().map(|row| row.0))
            .text("by", rows.iter().map(|row| row.1.as_str()))
            .unsigned("bursts", "", rows.iter().map(|row| row.2.bursts))
            .times("time", rows.iter().map(|row| row.2.time))
            .floats("share of CPU time", "%", rows.iter().map(|row| row.3));
        Ok(table::print(out, &table, 60)?)
    }
}
