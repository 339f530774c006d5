//! Output of `cluster` as text: clusters, the chosen radius, dropped bursts, and the place of each
//! cluster in the program.

use super::{Found, How};
use crate::failure::Outcome;
use crate::phases::dropped_bursts;
use crate::phases::radius;
use crate::phases::time_balance;
use crate::table::{self, counted, grouped};
use perfkit::track::ClusterId;
use perfkit::track::tracking::CodePosition;
use perfkit::view::number;
use std::collections::BTreeMap;
use std::io::Write;

/// Describes the main position of a cluster, with its share if the cluster has others.
fn position_text((position, share): &(CodePosition, f64)) -> String {
    /// Share of the time from which on a position is that of the cluster.
    const WHOLE: f64 = 0.99;
    if *share < WHOLE {
        format!(
            "{position} ({:.0} % of its time, the rest elsewhere)",
            100.0 * share
        )
    } else {
        position.to_string()
    }
}

impl Found {
    pub(super) fn text(&self, sweep: bool, out: &mut dyn Write) -> Outcome {
        writeln!(out, "{}", self.lead())?;
        let bursts = self.bursts().complete().len();
        writeln!(
            out,
            "{}, {}, eps {:.4}, {} points, {}; SPMD score {:.3}",
            counted(bursts, "burst"),
            counted(self.labels.clusters(), "cluster"),
            self.eps,
            self.min_points,
            self.mode,
            self.score.global,
        )?;
        match &self.how {
            How::Given => {}
            How::Chosen(choice) => {
                writeln!(out, "{}", radius::sentence(choice))?;
                if sweep {
                    writeln!(out)?;
                    table::print(out, &choice.sweep_table(), 60)?;
                }
            }
            How::Refined(eps, tree) => {
                let first = eps.first().copied().unwrap_or_default();
                let settled = tree.iter().filter(|node| node.score >= 1.0).count();
                writeln!(
                    out,
                    "refined in {} steps from eps {first:.4} on; {settled} clusters were perfect on \
                     the way",
                    eps.len()
                )?;
            }
        }
        if let Some((eps, min_points)) = self.rest {
            writeln!(
                out,
                "what this leaves in noise: eps {eps:.4}, {min_points} points"
            )?;
        }
        writeln!(out)?;
        table::print(out, &self.clusters_table(), 60)?;
        self.write_positions(out)?;
        writeln!(out, "\n{}", time_balance::TOTAL)?;
        let balance = [(self.from.name.clone(), self.balance)];
        time_balance::write(&balance, false, out)?;
        time_balance::write_min(self.min_duration, self.is_chosen, None, out)?;
        dropped_bursts::write(&self.from.dropped, out)?;
        for (metric, amount) in self.no_points() {
            let bursts = grouped(amount.bursts);
            writeln!(
                out,
                "  {bursts} bursts without a finite value or logarithm of {metric}"
            )?;
        }
        Ok(())
    }

    /// Describes the cluster with the most time: its place, its share of the CPU time, and its threads. Describes
    /// the noise if that has more.
    pub(super) fn lead(&self) -> String {
        /// Ratio of the time of the busiest thread to the mean above which the threads are not balanced.
        const UNEQUAL: f64 = 1.2;
        let clusters = self.clusters();
        let share = |amount| format!("{:.1} %", 100.0 * self.balance.share(amount));
        let noise = clusters[0].0;
        let Some((amount, _)) = clusters.get(1).filter(|of| of.0.time >= noise.time) else {
            return format!(
                "{} of the CPU time is in no cluster: {} that resemble too few others",
                share(noise),
                counted(noise.bursts as usize, "burst")
            );
        };
        let place = self.positions.first().and_then(Option::as_ref);
        let place = place.map_or_else(String::new, |place| format!(", {},", position_text(place)));
        let all = self.bursts().threads().len();
        let mut times = vec![0.0; all];
        for (burst, id) in self.bursts().rows().iter().zip(self.labels.as_slice()) {
            if *id == ClusterId(1) {
                times[burst.thread as usize] += burst.end.0.saturating_sub(burst.begin.0) as f64;
            }
        }
        times.retain(|time| *time > 0.0);
        let mean = amount.time.0 as f64 / times.len().max(1) as f64;
        let most = times.iter().copied().fold(0.0, f64::max);
        let unequal = if most > UNEQUAL * mean {
            format!(
                "; the busiest of them has {:.1} times their mean",
                most / mean
            )
        } else {
            String::new()
        };
        format!(
            "cluster 1{place} takes {} of the CPU time: {} of {} on average, on {} of {}{unequal}",
            share(*amount),
            counted(amount.bursts as usize, "burst"),
            number::time(amount.time.0 as f64 / amount.bursts.max(1) as f64),
            times.len(),
            counted(all, "thread"),
        )
    }

    /// Returns the place of each cluster in the program, by cluster.
    pub(super) fn positions(&self) -> BTreeMap<u32, String> {
        let numbered = (1..).zip(&self.positions);
        let known = numbered.filter_map(|(number, at)| Some((number, position_text(at.as_ref()?))));
        known.collect()
    }

    /// Writes the place of each cluster in the program.
    fn write_positions(&self, out: &mut dyn Write) -> Outcome {
        let positions = self.positions();
        if positions.is_empty() {
            return Ok(());
        }
        writeln!(
            out,
            "\nclusters in the program: function, and the calls before and after"
        )?;
        for (number, position) in positions {
            writeln!(out, "  cluster {number}: {position}")?;
        }
        Ok(())
    }

    /// Returns the complete bursts that are not points, by the axis that excludes them.
    pub(super) fn no_points(&self) -> Vec<(&str, perfkit::track::Amount)> {
        let amounts = &self.scaled.experiments[0].left_out;
        let all = self.metrics.iter().map(String::as_str).zip(amounts);
        let some = all.filter(|(_, amount)| amount.bursts > 0);
        some.map(|(name, amount)| (name, *amount)).collect()
    }
}
