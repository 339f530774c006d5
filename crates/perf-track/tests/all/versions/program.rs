//! Synthetic programs of several structures, and the bursts of their runs.

use perf_testdata::clusters::unit;
use perf_testdata::xorshift::Xorshift;
use perf_track::{Burst, Bursts, ChainId, Position, Thread};

/// MPI calls that end a computation.
const CALLS: [&str; 4] = ["MPI_Allreduce", "MPI_Bcast", "MPI_Sendrecv", "MPI_Barrier"];

/// Structure of a program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Structure {
    /// Loops within a loop.
    Nested,
    /// Rank 0 computes other phases than the other ranks.
    MasterWorker,
    /// Some phases take three times as long in each other iteration.
    TwoLengths,
    /// Pairs of functions with equal metrics.
    Twins,
    /// All calls in one wrapper function, and two phases that end with one call site.
    Wrapper,
    /// Parallel functions without communication.
    OpenMp,
    /// Threads with odd numbers begin each iteration in the middle.
    Halves,
    /// All calls in one of two helper functions, which several lines of several functions call.
    Helpers,
    /// A function that calls itself, with the phases at several depths.
    Recursive,
    /// The instructions of all phases increase from the first to the last thread.
    Uneven,
    /// Some phases are executed in every fourth iteration only.
    Rare,
}

/// Threads that execute a phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Threads {
    /// Every thread.
    All,
    /// Thread 0.
    First,
    /// Every thread but thread 0.
    Others,
}

/// Computation and the call that ends it.
#[derive(Clone, Debug)]
pub(super) struct Phase {
    /// Natural logarithm of the instructions of all threads together.
    pub(super) work: f64,
    /// Instructions per cycle.
    pub(super) ipc: f64,
    /// Factors of instructions and IPC on the upper half of the threads.
    pub(super) upper: (f64, f64),
    /// `true` if every other execution has three times the instructions.
    pub(super) is_alternating: bool,
    /// Threads that execute the phase.
    pub(super) threads: Threads,
    /// Index in [`CALLS`].
    pub(super) call: usize,
    /// Number of the function and its source file.
    pub(super) file: usize,
    /// Line of the call or of the parallel function.
    pub(super) line: u32,
}

/// Part of a schedule.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Index of a phase.
    Phase(usize),
    /// Number of iterations and body of a loop.
    Loop(usize, Vec<Step>),
}

/// Version of a program.
#[derive(Clone, Debug)]
pub(super) struct Program {
    /// Structure.
    pub(super) structure: Structure,
    /// Phases; a phase that is in no step is not executed.
    pub(super) phases: Vec<Phase>,
    /// Steps of the run.
    pub(super) steps: Vec<Step>,
}

/// Conditions under which a version is run and recorded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// Number of threads.
    pub(super) threads: u32,
    /// `true` if callers are recorded.
    pub(super) has_callers: bool,
    /// `true` if functions have names.
    pub(super) has_names: bool,
    /// Offset of the numbers of functions without names.
    pub(super) rotate: usize,
    /// Seed of the noise.
    pub(super) seed: u64,
}

/// Bursts of a run with the true phase of each burst, and `true` for the longer ones of an alternating phase.
pub(super) struct Recorded {
    /// Bursts.
    pub(super) bursts: Bursts,
    /// Phase of each burst.
    pub(super) truth: Vec<(usize, bool)>,
}

/// Burst, its metrics, and its true phase.
type Row = (Burst, [f64; 2], (usize, bool));

/// Returns a number that is approximately normal.
fn bell(random: &mut Xorshift) -> f64 {
    (0..6).map(|_| unit(random) - 0.5).sum::<f64>() * 1.4
}

/// Returns steps of consecutive phases.
fn phases(range: std::ops::Range<usize>) -> Vec<Step> {
    range.map(Step::Phase).collect()
}

/// Returns the indices of the phases of steps in the order of the source.
pub(super) fn flat(steps: &[Step]) -> Vec<usize> {
    let of = |step: &Step| match step {
        Step::Phase(index) => vec![*index],
        Step::Loop(_, body) => flat(body),
    };
    steps.iter().flat_map(of).collect()
}

/// Returns the indices of the phases of steps in the order of execution.
fn executed(steps: &[Step], order: &mut Vec<usize>) {
    for step in steps {
        match step {
            Step::Phase(index) => order.push(*index),
            Step::Loop(count, body) => (0..*count).for_each(|_| executed(body, order)),
        }
    }
}

/// Returns the loop bodies of at least three phases, outermost first.
pub(super) fn bodies(steps: &mut [Step]) -> Vec<&mut Vec<Step>> {
    let mut found = Vec::new();
    for step in steps {
        if let Step::Loop(_, body) = step {
            let own = body.iter().filter(|step| matches!(step, Step::Phase(_)));
            if own.count() >= 3 {
                found.push(body);
            } else {
                found.extend(bodies(body));
            }
        }
    }
    found
}

impl Program {
    pub(super) fn new(structure: Structure, seed: u64) -> Self {
        let mut random = Xorshift::new(seed * 31 + structure as u64);
        let steps = match structure {
            Structure::Nested => {
                let inner = Step::Loop(15, phases(4..7));
                let other = Step::Loop(3, phases(8..11));
                let mut body = vec![Step::Phase(2), Step::Phase(3), inner, Step::Phase(7), other];
                body.push(Step::Phase(11));
                vec![
                    Step::Phase(0),
                    Step::Phase(1),
                    Step::Loop(8, body),
                    Step::Phase(12),
                ]
            }
            Structure::OpenMp => vec![Step::Phase(0), Step::Loop(14, phases(1..8))],
            Structure::Rare => {
                let mut body = vec![Step::Loop(4, phases(2..8))];
                body.extend(phases(8..11));
                vec![
                    Step::Phase(0),
                    Step::Phase(1),
                    Step::Loop(6, body),
                    Step::Phase(11),
                    Step::Phase(12),
                ]
            }
            _ => vec![
                Step::Phase(0),
                Step::Phase(1),
                Step::Loop(14, phases(2..12)),
                Step::Phase(12),
            ],
        };
        let mut program = Program {
            structure,
            phases: Vec::new(),
            steps,
        };
        let mut lines = [40; 3];
        for index in 0..13 {
            let (work, ipc) = program.place(&mut random);
            let file = index * 3 / 13;
            lines[file] += 4 + random.below(20) as u32;
            let threads = match index {
                2..5 if structure == Structure::MasterWorker => Threads::First,
                5..9 if structure == Structure::MasterWorker => Threads::Others,
                _ => Threads::All,
            };
            program.phases.push(Phase {
                work,
                ipc,
                upper: (1.0, 1.0),
                is_alternating: structure == Structure::TwoLengths && [4, 9].contains(&index),
                threads,
                call: random.below(4) as usize,
                file,
                line: lines[file],
            });
        }
        if structure == Structure::Wrapper {
            // Two phases end with one call of a function that both execute.
            let Phase {
                call, file, line, ..
            } = program.phases[4];
            program.phases[9] = Phase {
                call,
                file,
                line,
                ..program.phases[9].clone()
            };
        }
        if structure == Structure::Twins {
            for (one, other) in [(4, 7), (5, 10)] {
                let Phase { work, ipc, .. } = program.phases[one];
                (program.phases[other].work, program.phases[other].ipc) = (work, ipc);
            }
        }
        program
    }

    /// Returns work and IPC that differ from those of all phases.
    pub(super) fn place(&self, random: &mut Xorshift) -> (f64, f64) {
        loop {
            let place = (19.0 + 2.5 * unit(random), 0.5 + 2.0 * unit(random));
            let mut others = self.phases.iter();
            let is_far = |work: f64, of: &Phase| {
                ((of.work - work) / 2.0).hypot((of.ipc - place.1) / 2.0) > 0.12
            };
            if others.all(|of| is_far(place.0, of) && is_far(place.0 - 3f64.ln(), of)) {
                return place;
            }
        }
    }

    /// Shifts the lines from `line` on in a file.
    pub(super) fn shift(&mut self, file: usize, line: u32, by: i32) {
        let later = self
            .phases
            .iter_mut()
            .filter(|of| of.file == file && of.line >= line);
        later.for_each(|of| of.line = of.line.saturating_add_signed(by));
    }

    /// Returns the chain of the call or parallel function of a phase, innermost first.
    fn chain(&self, index: usize, run: Run) -> Vec<String> {
        let Phase {
            call, file, line, ..
        } = self.phases[index];
        let function = |name: &str, number: usize, file: &str, line: u32| {
            if run.has_names {
                return format!("{name} {file}:{line}");
            }
            // Numbers of lines are numbers of a table, not lines.
            let mut lines: Vec<_> = self.phases.iter().map(|of| (of.file, of.line)).collect();
            lines.sort_unstable();
            let at = lines.iter().position(|of| of.1 == line).unwrap_or(60) + 5 * run.rotate;
            format!(
                "function {} (line number {at})",
                (number + run.rotate) % 5 + 3
            )
        };
        let is_openmp = self.structure == Structure::OpenMp;
        let name = if is_openmp { index } else { file };
        let own = function(
            &format!("solve_{name}"),
            file,
            &format!("file{file}.f90"),
            line,
        );
        let main = function("main", 4, "main.f90", 9 + file as u32);
        if is_openmp {
            return vec![own];
        }
        let inner = match self.structure {
            Structure::Wrapper => vec![function("communicate", 3, "comm.f90", 77)],
            Structure::Helpers => {
                let [name, line] = [
                    ["exchange", "reduce"][index % 2],
                    ["comm.f90", "sums.f90"][index % 2],
                ];
                vec![function(name, 3, line, 77)]
            }
            _ => Vec::new(),
        };
        let depth = if self.structure == Structure::Recursive {
            index % 3
        } else {
            0
        };
        let outer = std::iter::repeat_n(function("descend", 3, "tree.f90", 31), depth);
        let callers = inner
            .into_iter()
            .chain([own])
            .chain(outer)
            .chain([main])
            .filter(|_| run.has_callers);
        std::iter::once(CALLS[call].to_owned())
            .chain(callers)
            .collect()
    }

    /// Returns the phases of a thread in the order of execution.
    fn order(&self, thread: u32) -> Vec<usize> {
        let mut order = Vec::new();
        executed(&self.steps, &mut order);
        let body = self.steps.iter().find_map(|step| match step {
            Step::Loop(_, body) => Some(body.len()),
            Step::Phase(_) => None,
        });
        if self.structure == Structure::Halves && thread % 2 == 1 {
            let last = order.len() - 1;
            for iteration in order[2..last].chunks_mut(body.unwrap_or(1)) {
                iteration.rotate_left(iteration.len() / 2);
            }
        }
        order
    }

    /// Runs the program.
    pub(super) fn run(&self, run: Run) -> Recorded {
        let mut random = Xorshift::new(run.seed);
        let orders: Vec<_> = (0..run.threads).map(|of| self.order(of)).collect();
        let step = |at: usize| orders.iter().map(|order| order[at]).collect();
        let steps: Vec<Vec<usize>> = (0..orders[0].len()).map(step).collect();
        let is_openmp = self.structure == Structure::OpenMp;
        let mut clock = 1_000;
        let mut rows: Vec<Vec<Row>> = vec![Vec::new(); run.threads as usize];
        let mut bursts = Bursts::new(["instructions", "IPC"]);
        let mut count = vec![0; self.phases.len()];
        let mut last: Vec<[Option<ChainId>; 2]> = vec![[None; 2]; run.threads as usize];
        for step in steps {
            let mut end_of_all = clock;
            for thread in 0..run.threads {
                let index = step[thread as usize];
                let phase = &self.phases[index];
                let mut add = |chain: &[String]| {
                    (!chain.is_empty()).then(|| bursts.add_chain(chain).expect("a chain"))
                };
                let chain = self.chain(index, run);
                let (call, callers) = (add(&chain), add(&chain[1..]));
                let is_long = phase.is_alternating && count[index] % 2 == 1;
                if thread + 1 == run.threads {
                    count[index] += 1;
                }
                if phase.threads == Threads::First && thread > 0
                    || phase.threads == Threads::Others && thread == 0
                {
                    continue;
                }
                let upper = if 2 * thread >= run.threads {
                    phase.upper
                } else {
                    (1.0, 1.0)
                };
                let long = if is_long { 3.0 } else { 1.0 };
                let share = f64::from(thread) / f64::from(run.threads - 1) - 0.5;
                let uneven = if self.structure == Structure::Uneven {
                    1.0 + 0.1 * share
                } else {
                    1.0
                };
                let noise = 1.0 + 0.01 * bell(&mut random);
                let instructions =
                    phase.work.exp() / f64::from(run.threads) * upper.0 * long * uneven * noise;
                let ipc = phase.ipc * upper.1 * (1.0 + 0.008 * bell(&mut random));
                let end = clock + (instructions / ipc / 2.5).max(2.0) as i64;
                let position = if is_openmp {
                    Position {
                        within: call.filter(|_| run.has_callers),
                        ..Position::default()
                    }
                } else {
                    Position {
                        call_before: last[thread as usize][0],
                        call_after: call,
                        within: None,
                    }
                };
                let burst = Burst {
                    thread,
                    begin: perf_core::Nanos(clock),
                    end: perf_core::Nanos(end),
                    before: last[thread as usize][1],
                    after: callers.filter(|_| !is_openmp),
                    position,
                };
                if !is_openmp {
                    last[thread as usize] = [call, callers];
                }
                rows[thread as usize].push((burst, [instructions, ipc], (index, is_long)));
                end_of_all = end_of_all.max(end);
            }
            clock = end_of_all + 4_000 + random.below(500) as i64;
        }
        let mut truth = Vec::new();
        for thread in rows {
            bursts.add_thread(Thread::default()).expect("a thread");
            for (burst, values, of) in thread {
                bursts.push(burst, &values).expect("in order");
                truth.push(of);
            }
        }
        Recorded { bursts, truth }
    }
}
