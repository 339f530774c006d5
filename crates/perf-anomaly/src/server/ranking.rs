//! [`Ranking`]: which ranks have the most anomalies, and when.

use super::StepStats;
use crate::Moments;
use crate::detect::Loss;
use crate::encode::{Reader, Writer};
use crate::{Error, Result};
use perf_core::Merge;
use std::collections::{BTreeMap, VecDeque};

/// By what ranks are ranked, the highest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Ranking {
    /// Anomalies in all.
    #[default]
    Total,
    /// Anomalies a step on average.
    Mean,
    /// Standard deviation of the anomalies a step: a rank that is abnormal now and then.
    Deviation,
    /// Fewest anomalies in a step.
    Minimum,
    /// Most anomalies in a step.
    Maximum,
    /// Time lost.
    TimeLost,
}

impl std::str::FromStr for Ranking {
    type Err = Error;

    /// From `total`, `mean`, `deviation`, `minimum`, `maximum` or `time`.
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

/// What the steps of a rank were.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct RankSummary {
    /// The program.
    pub program: u32,
    /// The rank in the program.
    pub rank: u32,
    /// Anomalies a step: how many steps, mean, deviation, minimum, maximum and total
    /// ([`Moments::sum`]).
    pub anomalies: Moments,
    /// Calls, anomalies and time lost.
    pub loss: Loss,
}

impl RankSummary {
    fn key(&self, by: Ranking) -> f64 {
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

/// All ranks, and their last steps: what a [`Server`](super::Server) knows of all clients, and a
/// [`Monitor`](crate::Monitor) of its own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ranks(BTreeMap<(u32, u32), Rank>);

#[derive(Clone, Debug, Default, PartialEq)]
struct Rank {
    summary: RankSummary,
    steps: VecDeque<StepStats>,
}

impl Ranks {
    /// Adds a step of a rank, of which the last `history` are kept; `false` if there are more than
    /// `limit` ranks.
    pub fn add(&mut self, step: &StepStats, history: usize, limit: usize) -> bool {
        let key = (step.program, step.rank);
        if self.0.len() >= limit && !self.0.contains_key(&key) {
            return false;
        }
        let rank = self.0.entry(key).or_default();
        let summary = &mut rank.summary;
        (summary.program, summary.rank) = key;
        summary.anomalies.push(step.loss.anomalies() as f64);
        summary.loss.merge(&step.loss);
        if rank.steps.len() >= history {
            rank.steps.pop_front();
        }
        rank.steps.push_back(*step);
        true
    }

    /// All ranks by their anomalies a step, the highest first.
    pub fn ranked(&self, by: Ranking) -> Vec<RankSummary> {
        let mut all: Vec<_> = self.0.values().map(|rank| rank.summary).collect();
        // Stable: equal ones stay in order of program and rank.
        all.sort_by(|one, other| other.key(by).total_cmp(&one.key(by)));
        all
    }

    /// The last steps of a rank, the oldest first.
    pub fn steps(&self, program: u32, rank: u32) -> impl Iterator<Item = &StepStats> {
        let rank = self.0.get(&(program, rank));
        rank.into_iter().flat_map(|rank| &rank.steps)
    }

    /// Anomalies a rank in one step, over all ranks that have told of it and still keep it.
    pub fn across(&self, step: u64) -> Moments {
        let all = self.0.values().filter_map(|rank| {
            let mut steps = rank.steps.iter();
            steps.find(|one| one.step == step)
        });
        all.map(|one| one.loss.anomalies() as f64).collect()
    }

    pub(super) fn write(&self, to: &mut Writer) {
        to.u32(self.0.len() as u32);
        for rank in self.0.values() {
            to.u32(rank.summary.program);
            to.u32(rank.summary.rank);
            rank.summary.anomalies.encode(to);
            rank.summary.loss.encode(to);
            let steps: Vec<_> = rank.steps.iter().copied().collect();
            StepStats::write(&steps, to);
        }
    }

    pub(super) fn read(from: &mut Reader<'_>) -> Result<Self> {
        let count = from.count(Moments::BYTES + 24, "as many ranks as there are")?;
        let mut ranks = Ranks::default();
        for _ in 0..count {
            let summary = RankSummary {
                program: from.u32("a program")?,
                rank: from.u32("a rank")?,
                anomalies: Moments::decode(from)?,
                loss: Loss::decode(from)?,
            };
            let steps = StepStats::read(from)?.into();
            let key = (summary.program, summary.rank);
            ranks.0.insert(key, Rank { summary, steps });
        }
        Ok(ranks)
    }
}
