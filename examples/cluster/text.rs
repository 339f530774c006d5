//! What is said about clusters, as text.

use super::{Found, How};
use perfkit_examples::cli::Outcome;
use perfkit_examples::table::{self, counted, grouped, short};
use perfkit_examples::{left_out, radius};
use std::io::Write;

impl Found {
    pub(super) fn text(&self, sweep: bool, out: &mut dyn Write) -> Outcome {
        let clusters = self.clusters();
        let bursts: usize = clusters.iter().map(|cluster| cluster.0).sum();
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
        writeln!(out)?;
        let rows = self.score.clusters.iter().zip(&clusters).skip(1);
        let noise = self.score.clusters.iter().zip(&clusters).take(1);
        let rows = rows.chain(noise).map(|(score, (size, means))| {
            let mut row = vec![
                score.cluster.to_string(),
                grouped(*size as u64),
                format!("{:.1} %", 100.0 * score.share),
                format!("{:.3}", score.score),
            ];
            row.extend(means.iter().map(|mean| short(*mean)));
            row
        });
        let mut head = vec!["cluster", "bursts", "time", "SPMD"];
        head.extend(self.metrics.iter().map(String::as_str));
        table::write(out, &head, &rows.collect::<Vec<_>>())?;
        left_out::write(&self.from.dropped, out)?;
        for (metric, amount) in self.no_points() {
            let bursts = grouped(amount.bursts);
            writeln!(
                out,
                "  {bursts} bursts without a finite value or logarithm of {metric}"
            )?;
        }
        Ok(())
    }

    /// Complete bursts that are no points, by the axis that keeps them from it.
    pub(super) fn no_points(&self) -> Vec<(&str, perfkit::track::Amount)> {
        let amounts = &self.scaled.frames[0].left_out;
        let all = self.metrics.iter().map(String::as_str).zip(amounts);
        let some = all.filter(|(_, amount)| amount.bursts > 0);
        some.map(|(name, amount)| (name, *amount)).collect()
    }
}
