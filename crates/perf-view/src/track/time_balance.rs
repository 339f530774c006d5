//! [`Clusters::balance`]: known division of the CPU time of experiments into classes, formatted as
//! table rows ([`Line`]) and as sentences for pictures and pages.

use super::model::Clusters;
use crate::number;
use perf_core::Merge;
use perf_track::{Amount, TimeBalance};

/// Maximum number of experiments that have a line below a picture. If there are more experiments,
/// only their sum has a line.
const MOST_LINES: usize = 8;

/// Row of the table, which contains the classes of the CPU time of an experiment or of the sum of
/// all.
pub(super) struct Line {
    /// Name of the experiment, or `all`.
    pub(super) name: String,
    /// CPU time and number of all bursts.
    pub(super) total: Amount,
    /// Name, amount and share of the CPU time, in `0.0..=1.0`.
    pub(super) parts: Vec<(&'static str, Amount, f64)>,
}

/// Formats a fraction as a percentage with one decimal place, so that the classes of a row add up
/// to about 100 %.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

impl Clusters {
    /// Returns the division of the CPU time of each experiment, followed by their sum. Classes of bursts that no
    /// experiment has are skipped, except the first. Returns an empty list if the division of an experiment is not
    /// known.
    pub(super) fn balance(&self) -> Vec<Line> {
        let known: Option<Vec<TimeBalance>> =
            self.experiments.iter().map(|of| of.balance).collect();
        let Some(known) = known else {
            return Vec::new();
        };
        let names = self
            .experiments
            .iter()
            .map(|experiment| experiment.name.clone());
        let mut all: Vec<_> = names.zip(known).collect();
        if all.len() > 1 {
            let mut sum = TimeBalance::default();
            all.iter().for_each(|(_, of)| sum.merge(of));
            all.push(("all".into(), sum));
        }
        let is_tracked = self.experiments.len() > 1;
        let line = |(name, balance): (String, TimeBalance)| {
            let mut parts = balance.parts().to_vec();
            if !is_tracked {
                parts.splice(..2, [("in clusters", balance.clustered())]);
            }
            let parts = parts.into_iter();
            Line {
                name,
                total: balance.total,
                parts: parts
                    .map(|(name, of)| (name, of, balance.share(of)))
                    .collect(),
            }
        };
        let mut lines: Vec<Line> = all.into_iter().map(line).collect();
        let classes = 0..lines.first().map_or(0, |line| line.parts.len());
        let is_kept =
            |class: usize| class == 0 || lines.iter().any(|of| of.parts[class].1.bursts > 0);
        let kept: Vec<bool> = classes.map(is_kept).collect();
        for line in &mut lines {
            let mut kept = kept.iter();
            line.parts.retain(|_| kept.next() == Some(&true));
        }
        lines
    }

    /// Returns the division of the CPU time as sentences.
    pub(super) fn balance_words(&self) -> Vec<String> {
        let lines = self.balance();
        let skipped = if lines.len() > MOST_LINES + 1 {
            lines.len() - 1
        } else {
            0
        };
        let words = |line: &Line| {
            let parts = line.parts.iter().filter(|(_, of, _)| of.bursts > 0);
            let parts = parts.map(|(name, _, share)| format!("{name} {}", percent(*share)));
            format!(
                "{}: CPU time {}, of it {}.",
                line.name,
                number::time(line.total.time.0 as f64),
                parts.collect::<Vec<_>>().join(", ")
            )
        };
        lines.iter().skip(skipped).map(words).collect()
    }
}
