//! [`graph`]: builds the [`ActivityGraph`] of a training job from the order, stages and
//! data-parallel ranks of its operations.

use super::{Operation, OperationKind};
use crate::graph::{ActivityGraph, ActivityId, GraphBuilder};
use crate::{Error, Result};
use perf_core::Job;
use std::collections::BTreeMap;

/// Operations of one kind on one rank and stage of one step, by sequence number.
type Sequence = BTreeMap<u32, usize>;

/// Operations of one rank and stage of one step.
#[derive(Debug, Default)]
struct Stage {
    kinds: BTreeMap<OperationKind, Sequence>,
    /// Computations of micro-batches in order of begin.
    computations: Vec<usize>,
}

/// One of the two directions of a pipeline.
#[derive(Clone, Copy)]
struct Direction {
    compute: OperationKind,
    send: OperationKind,
    receive: OperationKind,
    is_forward: bool,
}

const DIRECTIONS: [Direction; 2] = [
    Direction {
        compute: OperationKind::ForwardCompute,
        send: OperationKind::ForwardSend,
        receive: OperationKind::ForwardReceive,
        is_forward: true,
    },
    Direction {
        compute: OperationKind::BackwardCompute,
        send: OperationKind::BackwardSend,
        receive: OperationKind::BackwardReceive,
        is_forward: false,
    },
];

/// Operations after the last computation, in order.
const CLOSING: [OperationKind; 7] = [
    OperationKind::GarbageCollection,
    OperationKind::LayernormGradients,
    OperationKind::EmbeddingGradients,
    OperationKind::SeparateGradients,
    OperationKind::GradientsReduceScatter,
    OperationKind::ClipGradients,
    OperationKind::Optimizer,
];

/// Builder of the graph of a job.
struct Steps<'a> {
    operations: &'a [Operation],
    graph: GraphBuilder,
    stages: BTreeMap<(u64, u32, u32), Stage>,
    last_stage: u32,
    chunks: u32,
    unmatched: usize,
}

/// Returns the graph of a job, and the number of sends, receives and computations without a counterpart.
pub(super) fn graph(operations: &[Operation], job: &Job) -> Result<(ActivityGraph, usize)> {
    let chunks = operations.iter().filter_map(|it| it.chunk).max();
    let mut steps = Steps {
        operations,
        graph: GraphBuilder::default(),
        stages: BTreeMap::new(),
        last_stage: operations
            .iter()
            .map(|it| it.stage)
            .max()
            .unwrap_or_default(),
        chunks: chunks.unwrap_or_default().saturating_add(1),
        unmatched: 0,
    };
    steps.sort(job)?;
    let stages = std::mem::take(&mut steps.stages);
    let mut checks = job.checks();
    for ((step, rank, number), stage) in &stages {
        checks.next(stage.computations.len())?;
        for direction in DIRECTIONS {
            steps.streams(stage, *number, direction)?;
            let next = match direction.is_forward {
                true if *number == steps.last_stage => 0,
                true => number + 1,
                false if *number == 0 => steps.last_stage,
                false => number - 1,
            };
            if let Some(next) = stages.get(&(*step, *rank, next)) {
                steps.pair(stage, next, direction)?;
            }
        }
        steps.stage(stage)?;
    }
    steps.groups(&stages)?;
    let unmatched = steps.unmatched;
    let graph = steps.graph.build(job).map_err(|error| match error {
        Error::Cycle { activity, .. } => fault(operations, activity, "it waits for itself"),
        other => other,
    })?;
    Ok((graph, unmatched))
}

fn fault(operations: &[Operation], operation: usize, problem: &'static str) -> Error {
    let found = operations.get(operation);
    Error::Operation {
        operation,
        name: found.map_or_else(String::new, |it| it.kind.name().to_owned()),
        step: found.map_or(0, |it| it.step),
        problem,
    }
}

/// Operations are numbered like activities; there are no more of them.
fn id(operation: usize) -> ActivityId {
    ActivityId(operation as u32)
}

impl Steps<'_> {
    /// Adds an activity for each operation, and sorts them by step, rank and stage.
    fn sort(&mut self, job: &Job) -> Result<()> {
        let mut checks = job.checks();
        for (index, operation) in self.operations.iter().enumerate() {
            checks.next(1)?;
            self.graph.add(operation.duration)?;
            let key = (operation.step, operation.data_rank, operation.stage);
            let stage = self.stages.entry(key).or_default();
            let kind = stage.kinds.entry(operation.kind).or_default();
            let is_micro_batch = DIRECTIONS
                .iter()
                .any(|it| [it.compute, it.send, it.receive].contains(&operation.kind));
            let mut sequence = operation.sequence;
            // Other operations need no number to find their counterparts: each model chunk may begin at 0.
            if !is_micro_batch && kind.contains_key(&sequence) {
                let last = kind.last_key_value().map_or(sequence, |it| *it.0);
                sequence = last.checked_add(1).unwrap_or(sequence);
            }
            if kind.insert(sequence, index).is_some() {
                return Err(fault(self.operations, index, "it occurs twice"));
            }
            if DIRECTIONS.iter().any(|it| it.compute == operation.kind) {
                stage.computations.push(index);
            }
        }
        for stage in self.stages.values_mut() {
            stage
                .computations
                .sort_by_key(|index| (self.operations[*index].start, *index));
        }
        Ok(())
    }

    fn depend(&mut self, operation: usize, before: usize) -> Result<()> {
        self.graph.depend(id(operation), id(before))
    }

    /// Returns the computations that need a receive (`is_send` false) or are followed by a send.
    fn connected(&self, stage: &Stage, number: u32, of: Direction, is_send: bool) -> Sequence {
        let is_outer = if of.is_forward == is_send {
            number == self.last_stage
        } else {
            number == 0
        };
        // Between the chunks of a model, the outer stages are neighbours.
        let end = if of.is_forward == is_send {
            self.chunks - 1
        } else {
            0
        };
        let chunk = |index: &usize| self.operations[*index].chunk.unwrap_or_default();
        let all = stage.kinds.get(&of.compute).into_iter().flatten();
        let connected = all.filter(|(_, index)| !is_outer || chunk(index) != end);
        connected
            .map(|(sequence, index)| (*sequence, *index))
            .collect()
    }

    /// Returns the computation of each operation of a stream: of the same number, or with several chunks the one
    /// at the same place.
    fn computations(&mut self, stream: &Sequence, connected: &Sequence) -> Vec<(usize, usize)> {
        let pairs: Vec<(usize, usize)> = match self.chunks {
            1 => {
                let same =
                    |(sequence, index): (&u32, &usize)| Some((*index, *connected.get(sequence)?));
                stream.iter().filter_map(same).collect()
            }
            _ => stream
                .values()
                .copied()
                .zip(connected.values().copied())
                .collect(),
        };
        self.unmatched += stream.len().max(connected.len()) - pairs.len();
        pairs
    }

    /// Connects the sends and receives of a stage with its computations.
    fn streams(&mut self, stage: &Stage, number: u32, of: Direction) -> Result<()> {
        // A stage may lack a kind of operation, such as the sends of the last stage.
        let empty = Sequence::new();
        let order: Vec<usize> = stage
            .kinds
            .get(&of.compute)
            .unwrap_or(&empty)
            .values()
            .copied()
            .collect();
        for kind in [of.send, of.receive] {
            let is_send = kind == of.send;
            let stream = stage.kinds.get(&kind).unwrap_or(&empty);
            for (before, after) in stream.values().zip(stream.values().skip(1)) {
                self.depend(*after, *before)?;
            }
            let connected = self.connected(stage, number, of, is_send);
            for (transfer, compute) in self.computations(stream, &connected) {
                if is_send {
                    self.depend(transfer, compute)?;
                    continue;
                }
                self.depend(compute, transfer)?;
                let place = order.iter().position(|it| *it == compute);
                if let Some(previous) = place.and_then(|at| order.get(at.checked_sub(1)?)) {
                    self.depend(transfer, *previous)?;
                }
            }
            if !of.is_forward
                && let Some(first) = stream.values().next()
                && let Some(forward) = self.second_last_forward(stage)
            {
                self.depend(*first, forward)?;
            }
        }
        Ok(())
    }

    /// Returns the second-last forward computation before the first backward one.
    fn second_last_forward(&self, stage: &Stage) -> Option<usize> {
        let kind = |index: &usize| self.operations[*index].kind;
        let is_forward = |index: &usize| kind(index) == OperationKind::ForwardCompute;
        let first = stage
            .computations
            .iter()
            .take_while(|it| is_forward(it))
            .count();
        stage.computations.get(first.checked_sub(2)?).copied()
    }

    /// Lets the sends of a stage begin together with the receives of the next one.
    fn pair(&mut self, stage: &Stage, next: &Stage, of: Direction) -> Result<()> {
        let (Some(sends), Some(receives)) =
            (stage.kinds.get(&of.send), next.kinds.get(&of.receive))
        else {
            return Ok(());
        };
        for (sequence, send) in sends {
            match receives.get(sequence) {
                Some(receive) => self.graph.group(&[id(*send), id(*receive)])?,
                None => self.unmatched += 1,
            }
        }
        Ok(())
    }

    /// Connects the computations of a stage, and the operations before and after them.
    fn stage(&mut self, stage: &Stage) -> Result<()> {
        for pair in stage.computations.windows(2) {
            self.depend(pair[1], pair[0])?;
        }
        let mut last = stage.computations.last().copied();
        for closing in CLOSING.iter().filter_map(|kind| stage.kinds.get(kind)) {
            for operation in closing.values() {
                if let Some(last) = last.replace(*operation) {
                    self.depend(*operation, last)?;
                }
            }
        }
        let gathers = stage.kinds.get(&OperationKind::ParametersAllGather);
        for (place, gather) in (0..).zip(gathers.into_iter().flat_map(BTreeMap::values)) {
            let chunk = self.operations[*gather].chunk.unwrap_or(place);
            let is_first = |index: &&usize| {
                let it = self.operations[**index];
                it.kind == OperationKind::ForwardCompute
                    && (self.chunks == 1 || it.chunk.unwrap_or_default() == chunk)
            };
            if let Some(first) = stage.computations.iter().find(is_first).copied() {
                self.depend(first, *gather)?;
            }
        }
        Ok(())
    }

    /// Lets collective operations begin together.
    fn groups(&mut self, stages: &BTreeMap<(u64, u32, u32), Stage>) -> Result<()> {
        let mut groups: BTreeMap<(OperationKind, u64, u32, u32), Vec<ActivityId>> = BTreeMap::new();
        for ((step, rank, number), stage) in stages {
            for (kind, sequence) in &stage.kinds {
                let part = match kind {
                    OperationKind::ParametersAllGather
                    | OperationKind::GradientsReduceScatter
                    | OperationKind::SeparateGradients => *number,
                    OperationKind::EmbeddingGradients => *rank,
                    OperationKind::ClipGradients => 0,
                    _ => continue,
                };
                for (place, operation) in sequence {
                    let group = groups.entry((*kind, *step, part, *place)).or_default();
                    group.push(id(*operation));
                }
            }
        }
        for group in groups.values() {
            self.graph.group(group)?;
        }
        Ok(())
    }
}
