//! Output of `track`: a sentence with threads and times of the clusters into which a region splits,
//! or that merge into it.

use super::Report;
use crate::table::counted;
use perfkit::track::ClusterId;
use perfkit::track::tracking::{Event, TrackedRegion};
use perfkit::view::number;
use std::collections::BTreeSet;

/// Share of threads that may have bursts of several parts although the parts run on different threads.
const MAX_SHARED: f64 = 0.1;

/// Bursts of one part.
#[derive(Default)]
struct Part {
    /// Threads.
    threads: BTreeSet<u32>,
    /// Begin of the first and of the last burst, in nanoseconds.
    begins: Option<(i64, i64)>,
    /// Sum of the durations in nanoseconds, and number of bursts.
    time: (f64, usize),
}

impl Report<'_> {
    /// Returns where the parts of a split or merged cluster run and how long their bursts take. `None` for other events,
    /// and for clusters shared with other regions.
    pub(super) fn parts(&self, region: &TrackedRegion, event: &Event) -> Option<String> {
        let (experiment, ids) = match event {
            Event::Split {
                experiment, into, ..
            } => (*experiment, into),
            Event::Merge {
                experiment, from, ..
            } => (experiment.checked_sub(1)?, from),
            _ => return None,
        };
        let own = region.members.get(experiment)?;
        if ids.len() < 2 || !ids.iter().all(|id| own.contains(id)) {
            return None;
        }
        let parts: Vec<Part> = ids.iter().map(|id| self.part(experiment, *id)).collect();
        let mut all = BTreeSet::new();
        let mut repeated = BTreeSet::new();
        for thread in parts.iter().flat_map(|part| &part.threads) {
            if !all.insert(*thread) {
                repeated.insert(*thread);
            }
        }
        let mut spans: Vec<_> = parts.iter().filter_map(|part| part.begins).collect();
        spans.sort_unstable();
        let place = if repeated.len() as f64 <= MAX_SHARED * all.len() as f64 {
            let counts = parts.iter().map(|part| part.threads.len().to_string());
            format!(
                "on different threads, {} of them: compare their work",
                counts.collect::<Vec<_>>().join(" + ")
            )
        } else if spans.windows(2).all(|pair| pair[0].1 < pair[1].0) {
            "one after the other, so that it changes during the run".to_owned()
        } else {
            format!(
                "in turn on {}, so that calls of it differ",
                counted(all.len(), "thread")
            )
        };
        let means = parts.iter().map(|part| {
            let (sum, count) = part.time;
            number::time(sum / count.max(1) as f64)
        });
        Some(format!(
            "{place}; mean durations {}",
            means.collect::<Vec<_>>().join(", ")
        ))
    }

    fn part(&self, experiment: usize, id: ClusterId) -> Part {
        let mut part = Part::default();
        let Some(of) = self.series.experiments.get(experiment) else {
            return part;
        };
        let rows = of.experiment.bursts().rows();
        let own = of.rows.iter().zip(&of.labels);
        let own = own.filter(|(_, label)| **label == id);
        for burst in own.filter_map(|(&row, _)| rows.get(row as usize)) {
            let begin = burst.begin.0;
            part.threads.insert(burst.thread);
            part.begins = Some(match part.begins {
                Some((first, last)) => (first.min(begin), last.max(begin)),
                None => (begin, begin),
            });
            part.time.0 += burst.end.0.saturating_sub(begin) as f64;
            part.time.1 += 1;
        }
        part
    }
}
