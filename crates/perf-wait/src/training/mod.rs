//! [`TrainingJob`]: operations of a pipeline- and data-parallel training job with their ideal
//! durations, and its replay with other durations (what-if).
//!
//! The operations of a step depend on each other as follows. All rules hold for one step.
//!
//! | operation | begins |
//! |---|---|
//! | computation | after the computation before it on its stage |
//! | `forward-send` i | after `forward-compute` i; the next computation does not wait for it |
//! | `forward-recv` i of stage p | together with `forward-send` i of stage p - 1; `forward-compute` i waits for it |
//! | backward sends and receives | likewise with stage p + 1 |
//! | each kind of send and receive | after the one before it on its stage |
//! | `forward-recv` i, `backward-recv` i | after the computation i - 1 of the same direction |
//! | first `backward-send` and `backward-recv` | after the second-last forward computation before the first backward one |
//! | `gc`, `layernorm-grads-all-reduce`, `embedding-grads-all-reduce`, `separate-grads-all-reduce`, `grads-reduce-scatter`, `optimizer-clip-main-grad`, `optimizer` | in this order after the last computation |
//! | `params-all-gather` | at 0; the first forward computation of its model chunk waits for it |
//!
//! These begin together: a send with its receive, `params-all-gather` and `grads-reduce-scatter` of a stage over all
//! data-parallel ranks, `embedding-grads-all-reduce` of a data-parallel rank, `optimizer-clip-main-grad` of all.
//! The step time is the latest end of an `optimizer`.
//!
//! The ideal duration of an operation is the mean of all operations of its kind for computation, and the median for
//! communication. The slowdown `S` is the sum of the replayed step times over that of the ideal ones, and that of a
//! group the same with the durations of the group as recorded and the others ideal.
//!
//! [`TrainingJob::of_trace`] finds the operations in a trace.
//!
//! With several model chunks a stage, activations pass from the last stage to the first one between two chunks. Sends
//! and receives are then matched by their order. This has not been compared with published results.

mod dependencies;
mod operation;
mod recording;
mod slowdown;
mod without;

pub use operation::{Operation, OperationKind};
pub use slowdown::{Culprit, Group, Slowdowns, StepTimes};

use crate::graph::{ActivityGraph, Schedule};
use crate::{Error, Result};
use perf_core::{Job, LocationId, Nanos};
use std::collections::{BTreeMap, BTreeSet};

/// A training job with steps that can be replayed.
///
/// ```
/// use perf_core::{Job, Nanos};
/// use perf_wait::training::{Operation, OperationKind, TrainingJob};
/// // Two data-parallel ranks, of which one computes for 30 ns and the other for 10, and synchronise.
/// let operation = |kind, data_rank, start, duration| Operation {
///     kind,
///     step: 0,
///     data_rank,
///     stage: 0,
///     sequence: 0,
///     chunk: None,
///     start: Nanos(start),
///     duration: Nanos(duration),
/// };
/// let mut operations = Vec::new();
/// for (rank, time) in [(0, 30), (1, 10)] {
///     operations.push(operation(OperationKind::ForwardCompute, rank, 0, time));
///     operations.push(operation(OperationKind::ClipGradients, rank, 30, 5));
///     operations.push(operation(OperationKind::Optimizer, rank, 35, 5));
/// }
/// let training = TrainingJob::of(operations, &Job::default())?;
/// let slowdowns = training.slowdowns(&Job::default())?;
/// // 40 ns instead of the 30 that balanced computation would take.
/// assert_eq!(slowdowns.total, 40.0 / 30.0);
/// assert_eq!(slowdowns.data_ranks[0], (0, 40.0 / 30.0));
/// # Ok::<(), perf_wait::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct TrainingJob {
    operations: Vec<Operation>,
    /// Operations of each location by their begin; none if they do not come from a trace.
    locations: BTreeMap<LocationId, Vec<usize>>,
    /// Longest duration of an operation.
    longest: Nanos,
    graph: ActivityGraph,
    ideal: Vec<Nanos>,
    unmatched: usize,
}

impl TrainingJob {
    /// Finds the dependencies of the operations of a job.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Nothing`] without operations, [`Error::Operation`] for an operation that occurs twice or
    /// lies on a cycle of dependencies, and [`Error::Cancelled`] if the job is cancelled.
    pub fn of(operations: Vec<Operation>, job: &Job) -> Result<Self> {
        if operations.is_empty() {
            return Err(Error::Nothing { what: "operations" });
        }
        let (graph, unmatched) = dependencies::graph(&operations, job)?;
        Ok(TrainingJob {
            ideal: ideal_durations(&operations),
            longest: operations
                .iter()
                .map(|it| it.duration)
                .max()
                .unwrap_or_default(),
            operations,
            locations: BTreeMap::new(),
            graph,
            unmatched,
        })
    }

    /// Operations, in the order that was given.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// Dependencies: activity `i` is operation `i`.
    pub fn graph(&self) -> &ActivityGraph {
        &self.graph
    }

    /// Ideal duration of each operation.
    pub fn ideal(&self) -> &[Nanos] {
        &self.ideal
    }

    /// Number of sends, receives and computations without a counterpart.
    pub fn unmatched(&self) -> usize {
        self.unmatched
    }

    /// Steps in ascending order.
    pub fn steps(&self) -> Vec<u64> {
        let steps: BTreeSet<u64> = self.operations.iter().map(|it| it.step).collect();
        steps.into_iter().collect()
    }

    /// Returns the first begin and the last end of the operations of each step.
    fn recorded_steps(&self) -> BTreeMap<u64, (Nanos, Nanos)> {
        let mut ranges: BTreeMap<u64, (Nanos, Nanos)> = BTreeMap::new();
        for it in &self.operations {
            let end = it.start.saturating_add(it.duration);
            let range = ranges.entry(it.step).or_insert((it.start, end));
            *range = (range.0.min(it.start), range.1.max(end));
        }
        ranges
    }

    /// Returns the time of each step with these durations, one for each operation.
    ///
    /// A step without an `optimizer` ends with its last operation.
    ///
    /// # Errors
    ///
    /// As [`ActivityGraph::replay`].
    pub fn step_times(
        &self,
        durations: &[Nanos],
        times: &mut Schedule,
        job: &Job,
    ) -> Result<Vec<(u64, Nanos)>> {
        self.graph.replay(durations, times, job)?;
        let mut ends: BTreeMap<u64, (Option<Nanos>, Nanos)> = BTreeMap::new();
        for (operation, end) in self.operations.iter().zip(&times.end) {
            let (optimizer, last) = ends.entry(operation.step).or_default();
            *last = (*last).max(*end);
            if operation.kind == OperationKind::Optimizer {
                *optimizer = (*optimizer).max(Some(*end));
            }
        }
        let end = |(step, (optimizer, last)): (u64, (Option<Nanos>, Nanos))| {
            (step, optimizer.unwrap_or(last))
        };
        Ok(ends.into_iter().map(end).collect())
    }
}

/// Returns the ideal duration of each operation.
fn ideal_durations(operations: &[Operation]) -> Vec<Nanos> {
    let mut pools: BTreeMap<OperationKind, Vec<i64>> = BTreeMap::new();
    for operation in operations {
        pools
            .entry(operation.kind)
            .or_default()
            .push(operation.duration.0);
    }
    let ideal = |kind: OperationKind, pool: &mut Vec<i64>| {
        if kind.is_computation() {
            mean(pool)
        } else {
            median(pool)
        }
    };
    let ideal: BTreeMap<OperationKind, i64> = pools
        .iter_mut()
        .map(|(kind, pool)| (*kind, ideal(*kind, pool)))
        .collect();
    let durations = operations.iter().map(|it| ideal.get(&it.kind).copied());
    durations.map(|it| Nanos(it.unwrap_or_default())).collect()
}

fn mean(pool: &[i64]) -> i64 {
    let sum: i128 = pool.iter().map(|it| i128::from(*it)).sum();
    let mean = sum.div_euclid(pool.len().max(1) as i128);
    i64::try_from(mean).unwrap_or_default()
}

fn median(pool: &mut [i64]) -> i64 {
    pool.sort_unstable();
    let half = pool.len() / 2;
    match pool.len() % 2 {
        1 => pool[half],
        // An empty pool has no middle.
        _ => mean(pool.get(half.saturating_sub(1)..=half).unwrap_or_default()),
    }
}
