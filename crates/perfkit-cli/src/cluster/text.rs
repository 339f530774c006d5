//! What is said about clusters, as text.

use super::{Found, How};
use crate::failure::Outcome;
use crate::phases::radius;
use crate::phases::skipped;
use crate::phases::time_balance;
use crate::table::{self, counted, grouped, short};
use std::io::Write;

impl Found {
    pub(super) fn text(&self, sweep: bool, out: &mut dyn Write) -> Outcome {
        let clusters = self.clusters();
        let bursts: u64 = clusters.iter().map(|cluster| cluster.0.bursts).sum();
        writeln!(
            out,
            "{}, {}, eps {:.4}, {} points, {}; SPMD score {:.3}",
            counted(bursts as usize, "burst"),
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
                    radius::sweep(choice, out)?;
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
        let rows = self.score.clusters.iter().zip(&clusters).skip(1);
        let noise = self.score.clusters.iter().zip(&clusters).take(1);
        let rows = rows.chain(noise).map(|(score, (size, means))| {
            let mut row = vec![
                score.cluster.to_string(),
                grouped(size.bursts),
                format!("{:.1} %", 100.0 * self.balance.share(*size)),
                format!("{:.3}", score.score),
            ];
            row.extend(means.iter().map(|mean| short(*mean)));
            row
        });
        let means: Vec<String> = self.metrics.iter().map(|name| self.heading(name)).collect();
        let mut head = vec!["cluster", "bursts", "CPU time", "SPMD score"];
        head.extend(means.iter().map(String::as_str));
        table::write(out, &head, &rows.collect::<Vec<_>>())?;
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

    /// The heading of a column with the means of a metric.
    fn heading(&self, metric: &str) -> String {
        let unit = match self.bursts().column(metric) {
            Ok(column) => column.unit.as_str(),
            Err(_) => "ns",
        };
        match unit {
            "" | "#" => format!("mean {metric}"),
            unit => format!("mean {metric} [{unit}]"),
        }
    }

    /// Complete bursts that are no points, by the axis that keeps them from it.
    pub(super) fn no_points(&self) -> Vec<(&str, perfkit::track::Amount)> {
        let amounts = &self.scaled.frames[0].left_out;
        let all = self.metrics.iter().map(String::as_str).zip(amounts);
        let some = all.filter(|(_, amount)| amount.bursts > 0);
        some.map(|(name, amount)| (name, *amount)).collect()
    }
}
