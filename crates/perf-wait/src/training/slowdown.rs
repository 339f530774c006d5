//! [`Slowdowns`] of a training job by each [`Group`] (stage, data-parallel rank, kind of operation,
//! worker) and step ([`StepTimes`]), from replays; [`Culprit`]: a group with its slowdown.

use super::{Operation, OperationKind, TrainingJob};
use crate::Result;
use crate::graph::Schedule;
use perf_core::{Job, Nanos, Table};
use std::collections::{BTreeMap, BTreeSet};

/// Time of one step.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StepTimes {
    /// The step.
    pub step: u64,
    /// Recorded time, from the first begin of an operation to the last end.
    pub recorded: Nanos,
    /// Time of the replay with the recorded durations.
    pub replayed: Nanos,
    /// Time of the replay with the ideal durations.
    pub ideal: Nanos,
}

impl StepTimes {
    /// Returns the replayed time over the ideal time.
    pub fn slowdown(&self) -> f64 {
        self.replayed.0 as f64 / self.ideal.0 as f64
    }
}

/// A part of a training job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Group {
    /// A pipeline stage.
    Stage(u32),
    /// A data-parallel rank.
    DataRank(u32),
    /// A pipeline stage of a data-parallel rank.
    Worker {
        /// Data-parallel rank.
        data_rank: u32,
        /// Pipeline stage.
        stage: u32,
    },
    /// A kind of operation, with those of the same [`OperationKind::group`].
    Operation(OperationKind),
}

impl Group {
    /// Returns `true` if an operation belongs to the group.
    pub fn contains(&self, operation: &Operation) -> bool {
        match self {
            Group::Stage(stage) => operation.stage == *stage,
            Group::DataRank(rank) => operation.data_rank == *rank,
            Group::Worker { data_rank, stage } => {
                (operation.data_rank, operation.stage) == (*data_rank, *stage)
            }
            Group::Operation(name) => operation.kind.group() == name.group(),
        }
    }
}

impl std::fmt::Display for Group {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Group::Stage(stage) => write!(out, "stage {stage}"),
            Group::DataRank(rank) => write!(out, "data-parallel rank {rank}"),
            Group::Worker { data_rank, stage } => {
                write!(out, "data-parallel rank {data_rank}, stage {stage}")
            }
            Group::Operation(kind) => out.write_str(kind.group()),
        }
    }
}

/// Slowdown of a part of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Culprit {
    /// The part.
    pub group: Group,
    /// Slowdown with the durations of the part as recorded and the others ideal.
    pub slowdown: f64,
    /// Time that the part adds to all steps together.
    pub lost: Nanos,
}

/// The slowdown of a training job, and of each part of it.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Slowdowns {
    /// Times of the steps.
    pub steps: Vec<StepTimes>,
    /// Slowdown `S` of the job.
    pub total: f64,
    /// Slowdown of each pipeline stage.
    pub stages: Vec<(u32, f64)>,
    /// Slowdown of each data-parallel rank.
    pub data_ranks: Vec<(u32, f64)>,
    /// Slowdown of each kind of operation.
    pub operations: Vec<(String, f64)>,
    /// The slowest 3 % of the workers, as data-parallel rank and stage.
    pub slow_workers: Vec<(u32, u32)>,
    /// Share `Mw` of the slowdown that the slowest 3 % of the workers explain; `None` without a slowdown.
    pub worker_share: Option<f64>,
    /// Share `Ms` of the slowdown that the last stage explains; `None` without a slowdown.
    pub last_stage_share: Option<f64>,
}

/// Share of the workers that count as slow, in per cent.
const SLOW_WORKERS: usize = 3;

/// Sum of the ideal step times, and scratch of the replays.
struct Replays<'a> {
    training: &'a TrainingJob,
    recorded: Vec<Nanos>,
    times: Schedule,
    durations: Vec<Nanos>,
}

impl Replays<'_> {
    /// Returns the sum of the step times with recorded durations where `is_recorded`, and ideal ones elsewhere.
    fn sum(&mut self, is_recorded: impl Fn(&Operation) -> bool, job: &Job) -> Result<f64> {
        self.durations.clear();
        let ideal = self.training.ideal().iter();
        let both = ideal.zip(&self.recorded).zip(self.training.operations());
        self.durations.extend(
            both.map(|((ideal, recorded), it)| if is_recorded(it) { *recorded } else { *ideal }),
        );
        let steps = self
            .training
            .step_times(&self.durations, &mut self.times, job)?;
        Ok(steps.iter().map(|(_, time)| time.0 as f64).sum())
    }
}

/// Returns `true` unless the group is a worker of a stage or rank with others that are at least half as slow, so that
/// the stage or rank is to blame.
fn is_apart(group: &Group, excess: f64, all: &[(Group, f64)]) -> bool {
    let Group::Worker { data_rank, stage } = group else {
        return true;
    };
    let mut others = all.iter().filter(|(other, _)| {
        let Group::Worker {
            data_rank: other_rank,
            stage: other_stage,
        } = other
        else {
            return false;
        };
        other != group && (other_rank == data_rank || other_stage == stage)
    });
    others.all(|(_, other)| *other < excess / 2.0)
}

impl TrainingJob {
    fn replays(&self) -> Replays<'_> {
        Replays {
            training: self,
            recorded: self.operations().iter().map(|it| it.duration).collect(),
            times: Schedule::default(),
            durations: Vec::new(),
        }
    }

    /// Returns the slowdown of any part of the job: its durations as recorded, all others ideal.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Cancelled`](crate::Error::Cancelled) if the job is cancelled.
    pub fn slowdown_of(&self, part: impl Fn(&Operation) -> bool, job: &Job) -> Result<f64> {
        let mut replays = self.replays();
        Ok(replays.sum(part, job)? / replays.sum(|_| false, job)?)
    }

    /// Returns the parts of the job by falling slowdown: each stage, data-parallel rank and kind of operation, and
    /// workers that are slow alone.
    ///
    /// Takes one replay for each stage, rank, worker and kind. Among parts of equal slowdown the smallest comes
    /// first, so that a single slow worker precedes its rank and its stage. A worker is skipped if another one of its
    /// rank or stage is at least half as slow.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Cancelled`](crate::Error::Cancelled) if the job is cancelled.
    pub fn culprits(&self, job: &Job) -> Result<Vec<Culprit>> {
        let mut groups: BTreeMap<Group, usize> = BTreeMap::new();
        for it in self.operations() {
            let (data_rank, stage) = (it.data_rank, it.stage);
            let own = [
                Group::Stage(stage),
                Group::DataRank(data_rank),
                Group::Worker { data_rank, stage },
                Group::Operation(it.kind.group_kind()),
            ];
            for group in own {
                *groups.entry(group).or_default() += 1;
            }
        }
        let mut replays = self.replays();
        let ideal = replays.sum(|_| false, job)?;
        let mut found = Vec::with_capacity(groups.len());
        for (group, size) in groups {
            let time = replays.sum(|it| group.contains(it), job)?;
            let culprit = Culprit {
                group,
                slowdown: time / ideal,
                lost: Nanos((time - ideal) as i64),
            };
            found.push((culprit, size));
        }
        let excess = |found: &Culprit| found.slowdown - 1.0;
        let all: Vec<(Group, f64)> = found.iter().map(|it| (it.0.group, excess(&it.0))).collect();
        found.retain(|(it, _)| is_apart(&it.group, excess(it), &all));
        // Slowdowns within a hundredth of the largest excess are equal.
        let most = found.iter().map(|it| excess(&it.0)).fold(0.0, f64::max);
        let level = |it: &Culprit| (excess(it) / most.max(1e-9) * 100.0).round() as i64;
        found.sort_by_key(|(it, size)| (-level(it), *size));
        Ok(found.into_iter().map(|it| it.0).collect())
    }

    /// Returns the slowdown of the job, and of its stages, ranks, operations and steps.
    ///
    /// Takes one replay for each stage, data-parallel rank and kind of operation, and four more.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Cancelled`](crate::Error::Cancelled) if the job is cancelled.
    pub fn slowdowns(&self, job: &Job) -> Result<Slowdowns> {
        let mut replays = self.replays();
        let (recorded, mut times) = (replays.recorded.clone(), Schedule::default());
        let replayed = self.step_times(&recorded, &mut times, job)?;
        let ideal = self.step_times(self.ideal(), &mut times, job)?;
        let ranges = self.recorded_steps();
        let steps = replayed.iter().zip(&ideal).zip(ranges.values());
        let steps = steps.map(|(((step, replayed), (_, ideal)), range)| StepTimes {
            step: *step,
            recorded: range.1.saturating_sub(range.0),
            replayed: *replayed,
            ideal: *ideal,
        });
        let mut found = Slowdowns {
            steps: steps.collect(),
            ..Slowdowns::default()
        };
        let sum = |times: &[(u64, Nanos)]| times.iter().map(|it| it.1.0 as f64).sum::<f64>();
        let (all, base) = (sum(&replayed), sum(&ideal));
        found.total = all / base;
        let stages: BTreeSet<u32> = self.operations().iter().map(|it| it.stage).collect();
        for stage in &stages {
            let time = replays.sum(|it| it.stage == *stage, job)?;
            found.stages.push((*stage, time / base));
        }
        let ranks: BTreeSet<u32> = self.operations().iter().map(|it| it.data_rank).collect();
        for rank in ranks {
            let time = replays.sum(|it| it.data_rank == rank, job)?;
            found.data_ranks.push((rank, time / base));
        }
        let kinds: BTreeSet<&str> = self.operations().iter().map(|it| it.kind.group()).collect();
        for kind in kinds {
            let time = replays.sum(|it| it.kind.group() == kind, job)?;
            found.operations.push((kind.to_owned(), time / base));
        }
        let share = |fixed: f64| (all > base).then(|| (all - fixed) / (all - base));
        if let Some(last) = stages.last() {
            found.last_stage_share = share(replays.sum(|it| it.stage != *last, job)?);
        }
        found.slow_workers = self.slow_workers(&found);
        let slow: BTreeSet<(u32, u32)> = found.slow_workers.iter().copied().collect();
        let is_other = |it: &Operation| !slow.contains(&(it.data_rank, it.stage));
        found.worker_share = share(replays.sum(is_other, job)?);
        Ok(found)
    }

    /// Returns the slowest workers: the score of one is the lesser of the slowdowns of its rank and its stage.
    fn slow_workers(&self, found: &Slowdowns) -> Vec<(u32, u32)> {
        let workers = self.operations().iter().map(|it| (it.data_rank, it.stage));
        let workers: BTreeSet<(u32, u32)> = workers.collect();
        let of = |list: &[(u32, f64)], key: u32| {
            let found = list.iter().find(|it| it.0 == key);
            found.map_or(0.0, |it| it.1)
        };
        let score =
            |worker: &(u32, u32)| of(&found.data_ranks, worker.0).min(of(&found.stages, worker.1));
        let count = (workers.len() * SLOW_WORKERS).div_ceil(100);
        let mut workers: Vec<(u32, u32)> = workers.into_iter().collect();
        workers.sort_by(|a, b| score(b).total_cmp(&score(a)));
        workers.truncate(count);
        workers
    }
}

impl Slowdowns {
    /// Returns the steps as a table.
    pub fn steps_table(&self) -> Table {
        let rows = || self.steps.iter();
        Table::new("steps", "Recorded, replayed and ideal time of each step.")
            .unsigned("step", "", rows().map(|it| it.step))
            .times("recorded", rows().map(|it| it.recorded))
            .times("replayed", rows().map(|it| it.replayed))
            .times("ideal", rows().map(|it| it.ideal))
            .floats("slowdown", "", rows().map(StepTimes::slowdown))
    }

    /// Returns the slowdown of each stage, data-parallel rank and kind of operation as a table.
    pub fn groups_table(&self) -> Table {
        let stages = self
            .stages
            .iter()
            .map(|it| (Group::Stage(it.0).to_string(), it.1));
        let ranks = self
            .data_ranks
            .iter()
            .map(|it| (Group::DataRank(it.0).to_string(), it.1));
        let rows: Vec<(String, f64)> = stages
            .chain(ranks)
            .chain(self.operations.iter().cloned())
            .collect();
        Table::new(
            "slowdowns",
            "Slowdown with the durations of one part as recorded.",
        )
        .text("part", rows.iter().map(|it| it.0.clone()))
        .floats("slowdown", "", rows.iter().map(|it| it.1))
    }
}
