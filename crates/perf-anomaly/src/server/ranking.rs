//! [`Ranks`]: statistics of ranks and their last steps, returned as a [`RankSummary`] of each rank
//! in the order of a [`Ranking`], such as the number of anomalies.

use super::StepStats;
use crate::Moments;
use crate::detect::{Loss, Relabelled};
use crate::format_version::{Reader, Writer};
use crate::{Error, Result};
use perf_core::Merge;
use std::collections::{BTreeMap, VecDeque};

/// Criterion for ranking ranks, in descending order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub enum Ranking {
    /// Total number of anomalies.
    #[default]
    Total,
    /// Mean number of anomalies per step.
    Mean,
    /// Standard deviation of the number of anomalies per step, which is high for a rank that is
    /// abnormal from time to time.
    Deviation,
    /// Smallest number of anomalies in a step.
    Minimum,
    /// Largest number of anomalies in a step.
    Maximum,
    /// Time lost.
    TimeLost,
}

impl std::str::FromStr for Ranking {
    type Err = Error;

    /// Parses `total`, `mean`, `deviation`, `minimum`, `maximum` or `time`.
    fn from_str(text: &str) -> Result<Self> {
        Ok(match text {
            "total" => Ranking::Total,
            "mean" => Ranking::Mean,
            "deviation" => Ranking::Deviation,
            "minimum" => Ranking::Minimum,
            "maximum" => Ranking::Maximum,
            "time" => Ranking::TimeLost,
            other => {
                return Err(Error::Parameter {
                    name: "ranking",
                    value: other.into(),
                    range: "total, mean, deviation, minimum, maximum or time",
                });
            }
        })
    }
}

/// Summary of the steps of a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct RankSummary {
    /// Program.
    pub program: u32,
    /// Rank in the program.
    pub rank: u32,
    /// Anomalies per step: number of steps, mean, deviation, minimum, maximum and total
    /// ([`Moments::sum`]).
    pub anomalies: Moments,
    /// Calls, anomalies and time lost.
    pub loss: Loss,
}

impl RankSummary {
    /// Returns the value of a criterion: a number of anomalies, or nanoseconds for
    /// [`Ranking::TimeLost`].
    ///
    /// ```
    /// use perf_anomaly::server::{RankSummary, Ranking};
    /// let mut rank = RankSummary::default();
    /// rank.anomalies.extend([1.0, 0.0, 5.0]);
    /// assert_eq!((rank.statistic(Ranking::Total), rank.statistic(Ranking::Mean)), (6.0, 2.0));
    /// ```
    pub fn statistic(&self, by: Ranking) -> f64 {
        match by {
            Ranking::Total => self.anomalies.sum(),
            Ranking::Mean => self.anomalies.mean(),
            Ranking::Deviation => self.anomalies.std_dev(),
            Ranking::Minimum => self.anomalies.min().unwrap_or_default(),
            Ranking::Maximum => self.anomalies.max().unwrap_or_default(),
            Ranking::TimeLost => self.loss.time.0 as f64,
        }
    }
}

/// Statistics of ranks and their last steps. A [`Server`](super::Server) has the ranks of all
/// clients, a [`Monitor`](crate::Monitor) only those that it monitors.
///
/// ```
/// use perf_anomaly::Loss;
/// use perf_anomaly::server::{Ranking, Ranks, StepStats};
/// let mut ranks = Ranks::default();
/// for (rank, too_slow) in [(0, 1), (1, 7), (2, 0)] {
///     let mut step = StepStats::default();
///     (step.rank, step.loss) = (rank, Loss { calls: 100, too_slow, ..Loss::default() });
///     ranks.add(&step, 64, 1024);
/// }
/// let worst = ranks.ranked(Ranking::Total);
/// assert_eq!((ranks.count(), worst[0].rank, worst[0].loss.too_slow), (3, 1, 7));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ranks(BTreeMap<(u32, u32), Rank>);

#[derive(Clone, Debug, Default, PartialEq)]
struct Rank {
    /// Calls, anomalies and time lost.
    loss: Loss,
    /// Anomalies per step, over the steps that are no longer kept.
    older: Moments,
    /// First and last step.
    range: (u64, u64),
    /// Steps that are kept, in order.
    steps: VecDeque<StepStats>,
}

impl Rank {
    /// Adds a step, or a further part of a step that is kept.
    fn add(&mut self, step: &StepStats, history: usize) {
        let (first, last) = self.range;
        self.range = if self.is_empty() {
            (step.step, step.step)
        } else {
            (first.min(step.step), last.max(step.step))
        };
        self.loss.merge(&step.loss);
        let at = self.place(step.step);
        match self.steps.get_mut(at) {
            Some(known) if known.step == step.step => known.add(step),
            _ => self.steps.insert(at, *step),
        }
        self.keep(history);
    }

    fn is_empty(&self) -> bool {
        self.older.count() == 0 && self.steps.is_empty()
    }

    fn place(&self, step: u64) -> usize {
        match self.steps.back() {
            Some(last) if last.step < step => self.steps.len(),
            _ => self.steps.partition_point(|one| one.step < step),
        }
    }

    fn keep(&mut self, history: usize) {
        while self.steps.len() > history {
            if let Some(old) = self.steps.pop_front() {
                self.older.push(old.loss.anomalies() as f64);
            }
        }
    }

    /// Returns the moments of the number of anomalies per step. Steps without a completed call
    /// between the first and the last step count as 0.
    fn anomalies(&self) -> Moments {
        let mut all = self.older;
        for step in &self.steps {
            all.push(step.loss.anomalies() as f64);
        }
        let (first, last) = self.range;
        let steps = (last - first).saturating_add(1);
        if !self.is_empty() {
            all.merge(&Moments::repeated(0.0, steps.saturating_sub(all.count())));
        }
        all
    }

    fn relabel(&mut self, step: u64, change: &Relabelled) {
        change.apply(&mut self.loss);
        let at = self.place(step);
        match self.steps.get_mut(at) {
            Some(known) if known.step == step => change.apply(&mut known.loss),
            _ => self.older = self.older.shifted(change.more_anomalies()),
        }
    }
}

/// Returns the size in bytes of a tree with the given number and size of entries: its nodes have 11
/// places, of which 6 to 11 are used.
pub(crate) fn tree(count: usize, size: usize) -> usize {
    count * (size + 2) * 3 / 2
}

impl Ranks {
    /// Adds a step of a rank, and keeps the last `history` steps of the rank. Returns `false`,
    /// without adding the step, if the rank is new and there are already `limit` ranks.
    ///
    /// A step may be added in parts, which count as one step as long as the step is kept.
    pub fn add(&mut self, step: &StepStats, history: usize, limit: usize) -> bool {
        let key = (step.program, step.rank);
        if self.0.len() >= limit && !self.0.contains_key(&key) {
            return false;
        }
        self.0.entry(key).or_default().add(step, history);
        true
    }

    /// Returns the memory in bytes.
    pub(super) fn memory(&self) -> usize {
        let steps = self.0.values().map(|rank| rank.steps.capacity());
        tree(self.0.len(), size_of::<((u32, u32), Rank)>())
            + steps.sum::<usize>() * size_of::<StepStats>()
    }

    /// Returns the number of ranks with steps.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns all ranks in descending order of a criterion.
    pub fn ranked(&self, by: Ranking) -> Vec<RankSummary> {
        let summary = |(&(program, rank), of): (&(u32, u32), &Rank)| RankSummary {
            program,
            rank,
            anomalies: of.anomalies(),
            loss: of.loss,
        };
        let mut all: Vec<_> = self.0.iter().map(summary).collect();
        // The sort is stable, so ties stay in order of program and rank.
        all.sort_by(|one, other| other.statistic(by).total_cmp(&one.statistic(by)));
        all
    }

    /// Changes the label of a call in a step of a rank. If the step is no longer kept, sums and
    /// means are updated, but not the deviation, minimum and maximum.
    pub(crate) fn relabel(&mut self, (program, rank, step): (u32, u32, u64), change: &Relabelled) {
        if let Some(rank) = self.0.get_mut(&(program, rank)) {
            rank.relabel(step, change);
        }
    }

    /// Returns the kept steps of a rank, oldest first.
    pub fn steps(&self, program: u32, rank: u32) -> impl Iterator<Item = &StepStats> {
        let rank = self.0.get(&(program, rank));
        rank.into_iter().flat_map(|rank| &rank.steps)
    }

    /// Returns the moments of the number of anomalies in one step, over all ranks for which the
    /// step is kept.
    pub fn across(&self, step: u64) -> Moments {
        let all = self.0.values().filter_map(|rank| {
            let at = rank.place(step);
            rank.steps.get(at).filter(|one| one.step == step)
        });
        all.map(|one| one.loss.anomalies() as f64).collect()
    }

    pub(super) fn write(&self, to: &mut Writer) {
        to.u32(self.0.len() as u32);
        for ((program, number), rank) in &self.0 {
            to.u32(*program);
            to.u32(*number);
            rank.loss.encode(to);
            rank.older.encode(to);
            to.varint(rank.range.0);
            to.varint(rank.range.1);
            let steps: Vec<_> = rank.steps.iter().copied().collect();
            StepStats::write(&steps, to);
        }
    }

    pub(super) fn read(from: &mut Reader<'_>, history: usize) -> Result<Self> {
        let count = from.count(
            Self::LEAST,
            "a number of ranks that fits the remaining bytes",
        )?;
        let mut ranks = Ranks::default();
        for _ in 0..count {
            let key = (from.u32("a program")?, from.u32("a rank")?);
            let loss = Loss::decode(from)?;
            let older = Moments::decode(from)?;
            let range = (from.varint("a step")?, from.varint("a step")?);
            if range.0 > range.1 {
                return Err(from
                    .error(1, "a last step that is not before the first")
                    .into());
            }
            let mut rank = Rank {
                loss,
                older,
                range,
                steps: VecDeque::new(),
            };
            for step in StepStats::read(from)? {
                if rank.steps.back().is_some_and(|last| last.step >= step.step) {
                    return Err(from.error(1, "steps in order").into());
                }
                rank.steps.push_back(step);
            }
            rank.keep(history);
            ranks.0.insert(key, rank);
        }
        Ok(ranks)
    }

    /// Smallest encoded size of a rank in bytes.
    const LEAST: usize = 8 + 5 + 1 + 2 + 1;
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf_core::Nanos;

    fn part(step: u64, too_slow: u64) -> StepStats {
        StepStats {
            step,
            start: Nanos(10),
            end: Nanos(20),
            loss: Loss {
                calls: 10,
                too_slow,
                ..Loss::default()
            },
            ..StepStats::default()
        }
    }

    #[test]
    fn parts_of_a_step_are_one_step_and_empty_steps_count() {
        let mut ranks = Ranks::default();
        for (step, anomalies) in [(3, 1), (3, 2), (4, 0), (7, 5), (4, 1), (9, 0)] {
            assert!(ranks.add(&part(step, anomalies), 4, 1));
        }
        let [rank] = ranks.ranked(Ranking::Total)[..] else {
            panic!("one rank")
        };
        // Steps 3 to 9: 3, 1, 0, 0, 5, 0, 0.
        let of = rank.anomalies;
        assert_eq!((of.count(), of.sum(), of.max()), (7, 9.0, Some(5.0)));
        assert_eq!(of.min(), Some(0.0));
        assert_eq!((rank.loss.calls, rank.loss.anomalies()), (60, 9));
        let kept: Vec<u64> = ranks.steps(0, 0).map(|one| one.step).collect();
        assert_eq!(kept, [3, 4, 7, 9]);
        assert_eq!(ranks.across(3).sum(), 3.0);
        let mut to = Writer::default();
        ranks.write(&mut to);
        let read = Ranks::read(&mut Reader::new(&to.0), 4).expect("it was just written");
        assert_eq!(read, ranks);
        // Steps that are no longer kept stay in the sums.
        let fewer = Ranks::read(&mut Reader::new(&to.0), 2).expect("it was just written");
        assert_eq!(fewer.steps(0, 0).count(), 2);
        assert_eq!(fewer.ranked(Ranking::Total)[0].anomalies.sum(), 9.0);
    }

    #[test]
    fn a_step_past_all_others_costs_no_memory() {
        let mut ranks = Ranks::default();
        ranks.add(&part(0, 1), 4, 1);
        ranks.add(&part(u64::MAX, 1), 4, 1);
        let all = ranks.ranked(Ranking::Mean);
        assert_eq!(
            (all[0].anomalies.count(), all[0].anomalies.sum()),
            ((1 << 53) - 1, 2.0)
        );
    }
}
