//! Output of `cluster` as text: clusters, the chosen radius, dropped bursts, and the place of each
//! cluster in the program.

use super::{Found, How};
use crate::failure::Outcome;
use crate::phases::radius;
use crate::phases::skipped;
use crate::phases::time_balance;
use crate::table::{self, counted, grouped};
use perfkit::track::tracking::CodePosition;
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
        skipped::write(&self.from.dropped, out)?;
        for (metric, amount) in self.no_points() {
            let bursts = grouped(amount.bursts);
            writeln!(
                out,
                "  {bursts} bursts without a finite value or logarithm of {metric}"
            )?;
        }
        Ok(())
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
