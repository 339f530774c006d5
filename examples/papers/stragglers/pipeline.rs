//! Generated training jobs: pipelines of equal stages without communication time, in which one part
//! is slow. All micro-batches go forward, then all backward, so that the time of a step is known.

use super::comparison::Compared;
use perfkit::core::{Job, Nanos};
use perfkit::wait::Result;
use perfkit::wait::training::{Operation, OperationKind, TrainingJob};

const STAGES: u32 = 4;
const RANKS: u32 = 2;
const STEPS: u64 = 5;
const BATCHES: u32 = 8;
/// Duration of a forward pass, of a backward pass, and of each operation after them, in ns.
const FORWARD: i64 = 10_000_000;
const BACKWARD: i64 = 20_000_000;
const END: i64 = 1_000_000;
/// Duration of a slow computation relative to others.
const FACTOR: i64 = 2;

/// Slow part of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Slow {
    /// No part.
    Nothing,
    /// Stage 2 on all data-parallel ranks.
    Stage,
    /// All stages of data-parallel rank 1.
    DataRank,
    /// Stage 2 of data-parallel rank 1.
    Worker,
}

impl Slow {
    pub(super) const ALL: [Slow; 4] = [Slow::Nothing, Slow::Stage, Slow::DataRank, Slow::Worker];

    fn contains(self, rank: u32, stage: u32) -> bool {
        match self {
            Slow::Nothing => false,
            Slow::Stage => stage == 2,
            Slow::DataRank => rank == 1,
            Slow::Worker => (rank, stage) == (1, 2),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Slow::Nothing => "none",
            Slow::Stage => "stage 2",
            Slow::DataRank => "data-parallel rank 1",
            Slow::Worker => "data-parallel rank 1, stage 2",
        }
    }

    /// Returns the time of a step as a multiple of a forward and a backward pass: each micro-batch
    /// passes the slowest stage, and one of them passes all others before or after it.
    fn passes(self) -> i64 {
        let (batches, stages) = (i64::from(BATCHES), i64::from(STAGES));
        match self {
            Slow::Nothing => batches + stages - 1,
            Slow::DataRank => FACTOR * (batches + stages - 1),
            Slow::Stage | Slow::Worker => FACTOR * batches + stages - 1,
        }
    }

    /// Returns the mean duration of all computations relative to one that is not slow.
    fn mean(self) -> f64 {
        let all = (0..RANKS).flat_map(|rank| (0..STAGES).map(move |stage| (rank, stage)));
        let slow = all
            .filter(|(rank, stage)| self.contains(*rank, *stage))
            .count();
        1.0 + (FACTOR - 1) as f64 * slow as f64 / f64::from(RANKS * STAGES)
    }
}

/// Returns the operations of a job.
pub(super) fn operations(slow: Slow) -> Vec<Operation> {
    use OperationKind::*;
    let mut all = Vec::new();
    for step in 0..STEPS {
        for (data_rank, stage) in (0..RANKS).flat_map(|rank| (0..STAGES).map(move |it| (rank, it)))
        {
            let mut start = step as i64 * 1_000_000_000;
            let mut push = |kind: OperationKind, sequence, duration| {
                all.push(Operation {
                    kind,
                    step,
                    data_rank,
                    stage,
                    sequence,
                    chunk: None,
                    start: Nanos(start),
                    duration: Nanos(duration),
                });
                // The order of the begins is what counts: the replay finds the times.
                start += duration + 1;
            };
            let factor = if slow.contains(data_rank, stage) {
                FACTOR
            } else {
                1
            };
            for batch in 0..BATCHES {
                let messages = [
                    (stage > 0, ForwardReceive),
                    (stage + 1 < STAGES, ForwardSend),
                ];
                for (there, kind) in messages {
                    if there {
                        push(kind, batch, 0);
                    }
                }
                push(ForwardCompute, batch, FORWARD * factor);
            }
            for batch in 0..BATCHES {
                let messages = [
                    (stage + 1 < STAGES, BackwardReceive),
                    (stage > 0, BackwardSend),
                ];
                for (there, kind) in messages {
                    if there {
                        push(kind, batch, 0);
                    }
                }
                push(BackwardCompute, batch, BACKWARD * factor);
            }
            push(ClipGradients, 0, END);
            push(Optimizer, 0, END);
        }
    }
    all
}

/// Compares the slowdown of a job and its culprit with the planted ones.
pub(super) fn compared(slow: Slow) -> Result<Compared> {
    let training = TrainingJob::of(operations(slow), &Job::default())?;
    let found = training.slowdowns(&Job::default())?;
    let culprits = training.culprits(&Job::default())?;
    let title = format!(
        "A pipeline of {STAGES} stages on {RANKS} data-parallel ranks; slow: {}",
        slow.name()
    );
    let mut table = Compared::new(title, "planted");
    let pass = (FORWARD + BACKWARD) as f64;
    let end = (2 * END) as f64;
    let replayed = slow.passes() as f64 * pass + end;
    let ideal = Slow::Nothing.passes() as f64 * pass * slow.mean() + end;
    let millis = |time: Nanos| time.0 as f64 / 1e6;
    let of_steps = |time: fn(&perfkit::wait::training::StepTimes) -> Nanos| {
        found.steps.iter().map(|it| millis(time(it))).sum::<f64>() / found.steps.len() as f64
    };
    for (what, planted, ours) in [
        (
            "step as replayed, ms",
            replayed / 1e6,
            of_steps(|it| it.replayed),
        ),
        (
            "step with equal durations, ms",
            ideal / 1e6,
            of_steps(|it| it.ideal),
        ),
        ("slowdown", replayed / ideal, found.total),
    ] {
        table.row(what, format!("{planted:.4}"), (ours, 4), "");
    }
    let first = culprits.first().filter(|it| it.lost > Nanos(0));
    let first = first.map_or_else(|| "none".into(), |it| it.group.to_string());
    table.row("culprit", slow.name(), first, "");
    Ok(table)
}
