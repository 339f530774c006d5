//! [`Counts`]: number of anomalies by step and rank, with statistics by step over the ranks beyond
//! a limit.

use super::anomalies::RANKINGS;
use perf_anomaly::server::{RankSummary, Ranks};
use std::collections::BTreeMap;

/// Anomalies of one rank in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Count {
    /// Step number.
    pub(super) step: u64,
    /// Number of abnormal calls.
    pub(super) anomalies: u64,
    /// Time lost in nanoseconds.
    pub(super) lost: i64,
    /// Time of abnormal calls that wait for others, in nanoseconds.
    pub(super) waiting: i64,
}

/// Statistics of one step over the ranks that are not shown individually.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Rest {
    /// Step number.
    pub(super) step: u64,
    /// Number of ranks with data of this step.
    pub(super) ranks: u64,
    /// Sum of the anomalies of these ranks.
    pub(super) sum: u64,
    /// Sum of the squared anomalies of these ranks.
    pub(super) squares: f64,
    /// Largest number of anomalies of one rank.
    pub(super) most: u64,
}

/// Anomalies by step and rank.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Counts {
    /// Ranks that are shown individually, as index into the list of ranks and steps in order.
    pub(super) ranks: Vec<(usize, Vec<Count>)>,
    /// Statistics over all other ranks, by step.
    pub(super) rest: Vec<Rest>,
    /// Number of the other ranks.
    pub(super) others: usize,
}

/// Upper bound on the sum of the numbers of steps over all ranks that are shown individually.
const MAX_STEPS: usize = 200_000;

impl Counts {
    pub(super) fn of(summaries: &[RankSummary], ranks: &Ranks) -> Self {
        Self::up_to(MAX_STEPS, summaries, ranks)
    }

    fn up_to(most: usize, summaries: &[RankSummary], ranks: &Ranks) -> Self {
        let steps = |rank: &RankSummary| ranks.steps(rank.program, rank.rank);
        let all: usize = summaries.iter().map(|rank| steps(rank).count()).sum();
        let mut shown = vec![all <= most; summaries.len()];
        if all > most {
            let mut room = most;
            for at in important(summaries) {
                let Some(rank) = summaries.get(at) else {
                    continue;
                };
                let needed = steps(rank).count();
                if needed > room {
                    break;
                }
                room -= needed;
                if let Some(slot) = shown.get_mut(at) {
                    *slot = true;
                }
            }
        }
        let mut counts = Counts::default();
        let mut rest: BTreeMap<u64, Rest> = BTreeMap::new();
        for (at, (rank, shown)) in summaries.iter().zip(shown).enumerate() {
            if shown {
                let steps = steps(rank).map(|one| Count {
                    step: one.step,
                    anomalies: one.loss.anomalies(),
                    lost: one.loss.time.0,
                    waiting: one.loss.waiting.0,
                });
                counts.ranks.push((at, steps.collect()));
                continue;
            }
            counts.others += 1;
            for one in steps(rank) {
                let found = one.loss.anomalies();
                let sums = rest.entry(one.step).or_default();
                sums.step = one.step;
                sums.ranks += 1;
                sums.sum += found;
                sums.squares += (found * found) as f64;
                sums.most = sums.most.max(found);
            }
        }
        counts.rest = rest.into_values().collect();
        counts
    }
}

impl Rest {
    pub(super) fn mean(&self) -> f64 {
        self.sum as f64 / self.ranks.max(1) as f64
    }

    /// Returns the standard deviation over the ranks.
    pub(super) fn deviation(&self) -> f64 {
        let mean = self.mean();
        (self.squares / self.ranks.max(1) as f64 - mean * mean)
            .max(0.0)
            .sqrt()
    }
}

/// Returns the ranks in order of importance. First come the ranks with the highest and the lowest
/// value of each statistic, then those with the second highest and second lowest values, and so on.
fn important(summaries: &[RankSummary]) -> Vec<usize> {
    let mut lists: Vec<Vec<usize>> = Vec::new();
    for (by, _) in RANKINGS {
        let mut order: Vec<usize> = (0..summaries.len()).collect();
        let value = |at: &usize| summaries[*at].statistic(by);
        order.sort_by(|one, other| value(other).total_cmp(&value(one)));
        lists.push(order.clone());
        order.reverse();
        lists.push(order);
    }
    let mut seen = vec![false; summaries.len()];
    let mut found = Vec::with_capacity(summaries.len());
    for place in 0..summaries.len() {
        for at in lists.iter().filter_map(|list| list.get(place)) {
            if let Some(seen) = seen.get_mut(*at)
                && !std::mem::replace(seen, true)
            {
                found.push(*at);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf_anomaly::Loss;
    use perf_anomaly::server::{Ranking, StepStats};

    #[test]
    fn the_worst_ranks_are_seen_one_by_one_and_no_anomaly_is_lost() {
        let mut ranks = Ranks::default();
        for rank in 0..100 {
            for step in 0..10 {
                let too_slow = if rank == 77 { 50 } else { u64::from(rank % 3) };
                let mut stats = StepStats::default();
                (stats.rank, stats.step) = (rank, step);
                stats.loss = Loss {
                    calls: 100,
                    too_slow,
                    ..Loss::default()
                };
                assert!(ranks.add(&stats, 128, 1000));
            }
        }
        let mut summaries = ranks.ranked(Ranking::Total);
        summaries.sort_by_key(|rank| rank.rank);
        let counts = Counts::up_to(200, &summaries, &ranks);
        assert_eq!(
            (counts.ranks.len(), counts.others, counts.rest.len()),
            (20, 80, 10)
        );
        assert!(counts.ranks.iter().any(|(at, _)| *at == 77));
        let own = counts
            .ranks
            .iter()
            .flat_map(|(_, steps)| steps)
            .map(|one| one.anomalies);
        let all = own.sum::<u64>() + counts.rest.iter().map(|rest| rest.sum).sum::<u64>();
        let summed: f64 = summaries.iter().map(|rank| rank.anomalies.sum()).sum();
        assert_eq!(all as f64, summed);
        assert!(
            counts
                .rest
                .iter()
                .all(|rest| rest.most <= 2 && rest.mean() < 2.0 && rest.deviation() > 0.0)
        );
        let whole = Counts::of(&summaries, &ranks);
        assert_eq!((whole.ranks.len(), whole.others), (100, 0));
    }
}
