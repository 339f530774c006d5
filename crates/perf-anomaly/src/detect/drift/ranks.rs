//! [`Ranks`]: logarithms of the run times of a function by rank, and their comparison within ranks, on which
//! the mix of ranks has no influence; [`RankCalls`]: calls of a window with their ranks.

use super::super::tail::{BUCKETS, edge};
use crate::Result;
use crate::format_version::{Reader, Writer};
use perf_core::{Merge, Nanos};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Parts of a unit of a logarithm. Sums of integers are exact in any order; a part is 0.1 % of a run time.
const PARTS: f64 = 1024.0;
/// Number of standard deviations by which a change must be seen within ranks. The rank sum of all calls
/// bounds the false alarms; this bound excludes that a few ranks with earlier calls change by chance.
const BOUND: f64 = 3.0;

/// Logarithms of the run times of all buckets of a [`Sketch`](super::super::Sketch), in parts.
static LOGS: LazyLock<Vec<u64>> = LazyLock::new(|| {
    let middle = |bucket: usize| edge(bucket).midpoint(edge(bucket + 1)).max(1.0);
    let logs = (0..BUCKETS).map(|bucket| (middle(bucket).ln() * PARTS).round() as u64);
    logs.collect()
});

/// Rank and bucket of each call of a window, in any order.
#[derive(Clone, Debug, Default)]
pub(super) struct RankCalls(Vec<(u32, u16)>);

impl RankCalls {
    /// Smallest encoded size in bytes.
    pub(super) const LEAST: usize = 4;

    /// Adds a call.
    #[inline]
    pub(super) fn add(&mut self, rank: u32, bucket: usize) {
        self.0.push((rank, bucket as u16));
    }

    fn sorted(&self) -> Vec<(u32, u16)> {
        let mut calls = self.0.clone();
        calls.sort_unstable();
        calls
    }

    pub(super) fn encode(&self, to: &mut Writer) {
        to.u32(self.0.len() as u32);
        for (rank, bucket) in self.sorted() {
            to.varint(rank.into());
            to.varint(bucket.into());
        }
    }

    pub(super) fn decode(from: &mut Reader<'_>) -> Result<Self> {
        let count = from.count(2, "a number of calls that fits the remaining bytes")?;
        let call = |from: &mut Reader<'_>| {
            let rank = from.varint32("a rank")?;
            match from.varint("a bucket")? {
                bucket if bucket < BUCKETS as u64 => Ok((rank, bucket as u16)),
                _ => Err(from.error(1, "a bucket").into()),
            }
        };
        (0..count)
            .map(|_| call(from))
            .collect::<Result<_>>()
            .map(RankCalls)
    }
}

impl Merge for RankCalls {
    fn merge(&mut self, other: &Self) {
        self.0.extend_from_slice(&other.0);
    }
}

impl PartialEq for RankCalls {
    fn eq(&self, other: &Self) -> bool {
        self.sorted() == other.sorted()
    }
}

/// Logarithms of run times of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Logs {
    /// Number of calls.
    calls: u64,
    /// Sum of the logarithms.
    sum: u64,
    /// Sum of their squares.
    squares: u64,
}

impl Logs {
    /// Returns the mean logarithm, in parts.
    fn mean(&self) -> f64 {
        self.sum as f64 / self.calls as f64
    }

    /// Returns the sum of the squared differences from the mean, in square parts.
    fn spread(&self) -> f64 {
        self.squares as f64 - self.mean() * self.sum as f64
    }
}

impl Merge for Logs {
    fn merge(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.sum = self.sum.saturating_add(other.sum);
        self.squares = self.squares.saturating_add(other.squares);
    }
}

/// Logarithms of the run times of a function by rank.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Ranks(BTreeMap<u32, Logs>);

impl Ranks {
    /// Smallest encoded size in bytes.
    pub(super) const LEAST: usize = 4;

    /// Adds the calls of a window.
    pub(super) fn add(&mut self, calls: &RankCalls) {
        let logs = &*LOGS;
        // A client usually has the calls of one rank, which is found once.
        for run in calls.0.chunk_by(|one, other| one.0 == other.0) {
            let Some((rank, _)) = run.first() else {
                continue;
            };
            let sum = self.0.entry(*rank).or_default();
            for (_, bucket) in run {
                let log = logs.get(usize::from(*bucket)).copied().unwrap_or_default();
                sum.merge(&Logs {
                    calls: 1,
                    sum: log,
                    squares: log * log,
                });
            }
        }
    }

    /// Returns the number of ranks.
    pub(super) fn count(&self) -> u64 {
        self.0.len() as u64
    }

    /// Halves the numbers of calls, and drops ranks with one call.
    pub(super) fn halve(&mut self) {
        self.0.retain(|_, logs| {
            let calls = logs.calls / 2;
            let part =
                |sum: u64| (u128::from(sum) * u128::from(calls) / u128::from(logs.calls)) as u64;
            *logs = Logs {
                calls,
                sum: part(logs.sum),
                squares: part(logs.squares),
            };
            calls > 0
        });
    }

    /// Returns the usual run times before and in a window, as the geometric means of the ranks that have
    /// calls in both; `None` unless they differ significantly. A rank has the weight of `n m / (n + m)` for its
    /// `n` calls in the window and `m` earlier calls, so that its share in both means is equal.
    pub(super) fn compare(&self, calls: &RankCalls, resolution: Nanos) -> Option<(Nanos, Nanos)> {
        let mut window = Ranks::default();
        window.add(calls);
        let (mut weights, mut before, mut after) = (0.0, 0.0, 0.0);
        let (mut spread, mut freedom) = (0.0, 0.0);
        for (rank, new) in &window.0 {
            let Some(old) = self.0.get(rank) else {
                continue;
            };
            let (m, n) = (old.calls as f64, new.calls as f64);
            let weight = m * n / (m + n);
            weights += weight;
            before += weight * old.mean();
            after += weight * new.mean();
            spread += old.spread() + new.spread();
            freedom += m + n - 2.0;
        }
        if weights == 0.0 {
            return None;
        }
        // Rounding of a logarithm to parts limits how equal run times can be.
        let variance = (spread / f64::max(freedom, 1.0)).max(1.0);
        let difference = (after - before).abs() / weights;
        let is_significant = difference * difference * weights >= BOUND * BOUND * variance;
        let usual = |sum: f64| {
            let log = sum / weights / PARTS;
            Nanos((log.exp() as i64).saturating_sub(resolution.0).max(0))
        };
        is_significant.then(|| (usual(before), usual(after)))
    }

    pub(super) fn encode(&self, to: &mut Writer) {
        to.u32(self.0.len() as u32);
        for (rank, logs) in &self.0 {
            to.varint((*rank).into());
            to.varint(logs.calls);
            to.varint(logs.sum);
            to.varint(logs.squares);
        }
    }

    pub(super) fn decode(from: &mut Reader<'_>) -> Result<Self> {
        let mut ranks = Ranks::default();
        for _ in 0..from.count(4, "a number of ranks that fits the remaining bytes")? {
            let rank = from.varint32("a rank")?;
            let logs = Logs {
                calls: from.varint("a number of calls")?,
                sum: from.varint("a sum of logarithms")?,
                squares: from.varint("a sum of squared logarithms")?,
            };
            let is_last = ranks
                .0
                .last_key_value()
                .is_none_or(|(last, _)| *last < rank);
            if logs.calls == 0 || !is_last {
                return Err(from.error(1, "ranks with calls, in order").into());
            }
            ranks.0.insert(rank, logs);
        }
        Ok(ranks)
    }
}

impl Merge for Ranks {
    fn merge(&mut self, other: &Self) {
        for (rank, logs) in &other.0 {
            self.0.entry(*rank).or_default().merge(logs);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::tail::bucket;
    use super::*;

    /// Returns calls of ranks, given by rank, number of calls and run time.
    fn calls(all: &[(u32, u64, i64)]) -> RankCalls {
        let mut ranks = RankCalls::default();
        for (rank, calls, runtime) in all {
            for call in 0..*calls as i64 {
                // Run times within 10 %.
                let runtime = runtime + runtime * (call % 11 - 5) / 50;
                ranks.add(*rank, bucket(runtime as u64 + 1000));
            }
        }
        ranks
    }

    fn ranks(all: &[(u32, u64, i64)]) -> Ranks {
        let mut ranks = Ranks::default();
        ranks.add(&calls(all));
        ranks
    }

    #[test]
    fn a_mix_of_ranks_is_no_change() {
        let before = ranks(&[(0, 500, 100_000), (1, 500, 200_000)]);
        let compare = |window: &[(u32, u64, i64)]| before.compare(&calls(window), Nanos(1000));
        assert_eq!(compare(&[(1, 128, 200_000)]), None);
        assert_eq!(compare(&[(2, 128, 900_000)]), None);
        // One call of a known rank is no evidence.
        assert_eq!(compare(&[(0, 1, 120_000), (2, 127, 900_000)]), None);
        let (from, to) = compare(&[(1, 128, 300_000)]).expect("rank 1 slowed");
        assert!(
            (from.0 - 200_000).abs() < 2_000 && (to.0 - 300_000).abs() < 3_000,
            "{from} {to}"
        );
    }

    #[test]
    fn halves_keep_means() {
        let mut half = ranks(&[(0, 500, 100_000), (1, 1, 200_000)]);
        half.halve();
        assert_eq!(half.count(), 1);
        let window = calls(&[(0, 100, 300_000)]);
        let (from, _) = half.compare(&window, Nanos(1000)).expect("it slowed");
        assert!((from.0 - 100_000).abs() < 500, "{from}");
    }
}
