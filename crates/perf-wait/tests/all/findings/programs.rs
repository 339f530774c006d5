//! Findings of generated programs that differ in all but the fault: nested functions, grids of ranks with communicators of
//! rows, operations with a root, waits for several requests, shuffled ranks, and noise of several shapes.

use crate::findings::find;
use crate::synthetic::{self, Rank};
use perf_core::{Collective, CollectiveOp, CommId, Event, Trace, Transfer};
use perf_wait::activity::Activities;
use perf_wait::findings::{Finding, FindingKind};

/// Time of a call of MPI that does not wait.
const CALL: u64 = 300;

/// Fault of a program.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    Nothing,
    /// Some ranks prepare their messages for long.
    LateSenders,
    /// All computation of a rank is slow.
    SlowRank,
    /// All computation of a step is slow on all ranks.
    SlowStep,
    /// One rank computes alone while the others wait for its data.
    Serial,
    /// Messages and collectives take long.
    SlowNetwork,
}

const FAULTS: [Fault; 5] = [
    Fault::LateSenders,
    Fault::SlowRank,
    Fault::SlowStep,
    Fault::Serial,
    Fault::SlowNetwork,
];

/// Operation that ends a step.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Closing {
    Nothing,
    Allreduce,
    Alltoall,
    Barrier,
    /// A reduction to the root and a broadcast from it.
    ReduceBcast,
    /// Reductions within the rows of the grid.
    Rows,
}

/// Messages of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Exchange {
    Nothing,
    /// Non-blocking messages with four neighbours of a periodic grid, completed at once.
    Grid,
    /// `MPI_Sendrecv` along the rows.
    Shift,
    /// Pairs of ranks exchange a message, first the lower one sends.
    Pairs,
}

struct Random(u64);

impl Random {
    /// Uniform number from 0 to 1 (xorshift64*).
    fn unit(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let bits = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d);
        (bits >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[((self.unit() * of.len() as f64) as usize).min(of.len() - 1)]
    }

    /// Number with a standard normal distribution (Box and Muller).
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.unit().max(1e-12).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }
}

/// A program, and the time that each rank has reached.
struct Program {
    random: Random,
    ranks: Vec<Rank>,
    now: Vec<u64>,
    /// Rank at each place of the grid.
    order: Vec<usize>,
    columns: usize,
    transfer: u64,
    noise: f64,
    is_skewed: bool,
}

impl Program {
    fn append(&mut self, rank: usize, end: u64, add: impl FnOnce(Rank, u64) -> Rank) {
        let own = std::mem::take(&mut self.ranks[rank]);
        self.ranks[rank] = add(own, self.now[rank]);
        self.now[rank] = end;
    }

    fn user(&mut self, rank: usize, name: &str, time: f64) {
        let normal = self.random.normal() * self.noise;
        let factor = if self.is_skewed {
            normal.exp()
        } else {
            1.0 + normal
        };
        let end = self.now[rank] + (time * factor.max(0.1)) as u64;
        self.append(rank, end, |own, now| own.user(name, now, end));
    }

    fn enter(&mut self, rank: usize, name: &str) {
        let end = self.now[rank];
        self.append(rank, end, |own, now| own.enter(name, now));
    }

    fn leave(&mut self, rank: usize, name: &str) {
        let end = self.now[rank];
        self.append(rank, end, |own, now| own.leave(name, now));
    }

    fn collective(
        &mut self,
        op: CollectiveOp,
        name: &str,
        comm: u32,
        members: &[usize],
        root: Option<usize>,
    ) {
        let latest = members
            .iter()
            .map(|rank| self.now[*rank])
            .max()
            .unwrap_or_default();
        let of_root = root.map(|root| self.now[members[root]]);
        for (place, rank) in members.iter().enumerate() {
            let own = self.now[*rank];
            let (from_root, to_root) = (op == CollectiveOp::Bcast, op == CollectiveOp::Reduce);
            let is_root = root == Some(place);
            let begin = match of_root {
                Some(of_root) if from_root => own.max(of_root),
                Some(_) if to_root && !is_root => own,
                _ => latest,
            };
            let end = begin + CALL + self.transfer;
            let bytes = u64::from(op != CollectiveOp::Barrier) * 64;
            let of = Collective {
                op,
                comm: CommId(comm),
                root: root.map(|root| root as u32),
                sent: if from_root && !is_root { 0 } else { bytes },
                received: if (from_root && is_root) || (to_root && !is_root) {
                    0
                } else {
                    bytes
                },
                request: None,
            };
            self.append(*rank, end, |own, now| own.operation(name, now, end, of));
        }
    }

    fn transfer(peer: usize, tag: usize, request: Option<u64>) -> Transfer {
        Transfer {
            peer: peer as u32,
            comm: CommId(0),
            tag: tag as u32,
            bytes: 512,
            request,
        }
    }

    /// Neighbours of a place of the grid.
    fn neighbours(&self, place: usize) -> [usize; 4] {
        let (rows, columns) = (self.order.len() / self.columns, self.columns);
        let (row, column) = (place / columns, place % columns);
        let at = |row: usize, column: usize| self.order[row * columns + column];
        [
            at((row + rows - 1) % rows, column),
            at((row + 1) % rows, column),
            at(row, (column + columns - 1) % columns),
            at(row, (column + 1) % columns),
        ]
    }

    fn grid(&mut self) {
        let count = self.order.len();
        let mut sent = vec![0; count];
        for place in 0..count {
            let rank = self.order[place];
            sent[rank] = self.now[rank];
            for (side, to) in self.neighbours(place).into_iter().enumerate() {
                let end = self.now[rank] + CALL / 4;
                self.append(rank, end, |own, now| own.irecv(now, end, side as u64));
                let end = self.now[rank] + CALL / 4;
                let message = Self::transfer(to, side, Some(4 + side as u64));
                self.append(rank, end, |own, now| {
                    let own = own.enter("MPI_Isend", now);
                    own.event(now, Event::Send(message)).leave("MPI_Isend", end)
                });
            }
        }
        for place in 0..count {
            let rank = self.order[place];
            let from = self.neighbours(place);
            let arrival = from
                .iter()
                .map(|from| sent[*from] + 8 * CALL + self.transfer)
                .max();
            let end = (self.now[rank] + CALL).max(arrival.unwrap_or_default());
            self.append(rank, end, |mut own, now| {
                own = own.enter("MPI_Waitall", now);
                for (side, from) in from.into_iter().enumerate() {
                    // A message to the upper neighbour comes from the lower one.
                    let message = Self::transfer(from, side ^ 1, Some(side as u64));
                    own = own.event(end, Event::Recv(message));
                }
                for side in 4..8 {
                    own = own.event(end, Event::SendComplete { request: side });
                }
                own.leave("MPI_Waitall", end)
            });
        }
    }

    fn shift(&mut self) {
        let entered = self.now.clone();
        for place in 0..self.order.len() {
            let rank = self.order[place];
            let [_, _, from, to] = self.neighbours(place);
            let end = (entered[rank] + CALL).max(entered[from] + CALL + self.transfer);
            self.append(rank, end, |own, now| {
                let (send, receive) = (Self::transfer(to, 9, None), Self::transfer(from, 9, None));
                let own = own.enter("MPI_Sendrecv", now).event(now, Event::Send(send));
                own.event(end, Event::Recv(receive))
                    .leave("MPI_Sendrecv", end)
            });
        }
    }

    fn pairs(&mut self) {
        for pair in 0..self.order.len() / 2 {
            let (a, b) = (self.order[2 * pair], self.order[2 * pair + 1]);
            for (from, to) in [(a, b), (b, a)] {
                let arrival = self.now[from] + self.transfer;
                let end = self.now[from] + CALL;
                self.append(from, end, |own, now| own.send(now, end, to as u32, 512));
                let end = (self.now[to] + CALL).max(arrival);
                self.append(to, end, |own, now| own.recv(now, end, from as u32, 512));
            }
        }
    }
}

/// A program with one fault.
struct Planted {
    trace: Trace,
    fault: Fault,
    /// Ranks with the fault, where it is one of ranks.
    slow: Vec<usize>,
    /// Step with the fault.
    step: usize,
    /// Calls of each function in a step.
    kernels: usize,
    text: String,
}

fn run(seed: u64, fault: Fault) -> Planted {
    let mut random = Random((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let columns = random.pick(&[2, 3, 4, 6]);
    let rows = random.pick(&[2, 4, 5, 8, 12]);
    let (count, steps) = (rows * columns, random.pick(&[8, 15, 40]));
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_cached_key(|_| (random.unit() * 1e9) as u64);
    let exchange = random.pick(&[
        Exchange::Nothing,
        Exchange::Grid,
        Exchange::Shift,
        Exchange::Pairs,
    ]);
    let closing = match (
        exchange,
        random.pick(&[
            Closing::Nothing,
            Closing::Allreduce,
            Closing::Alltoall,
            Closing::Barrier,
            Closing::ReduceBcast,
            Closing::Rows,
        ]),
    ) {
        (Exchange::Nothing | Exchange::Pairs, Closing::Nothing | Closing::Rows) => Closing::Barrier,
        (_, closing) => closing,
    };
    let strength = 0.15 + 0.35 * random.unit();
    let kernels = random.pick(&[1, 2, 5]);
    let solve = 10_f64.powf(6.0 + 2.0 * random.unit());
    let added = strength * solve;
    let first = random.pick(&order);
    let mut slow = vec![first];
    if fault == Fault::LateSenders {
        let more = random.pick(&[0, 1, count / 4]);
        slow.extend(order.iter().copied().filter(|it| *it != first).take(more));
        slow.sort_unstable();
    }
    let step_slow = (random.unit() * steps as f64) as usize % steps;
    let root = random.pick(&[0, count - 1, count / 2]);
    let noise = 0.005 + 0.045 * random.unit();
    let is_skewed = random.unit() < 0.5;
    let mut program = Program {
        random,
        ranks: (0..count).map(|_| Rank::default()).collect(),
        now: vec![0; count],
        order,
        columns,
        transfer: (solve * 0.001) as u64
            + if fault == Fault::SlowNetwork {
                added as u64
            } else {
                0
            },
        noise,
        is_skewed,
    };
    let world: Vec<usize> = (0..count).collect();
    let comms: Vec<Vec<u32>> = program
        .order
        .chunks(columns)
        .map(|row| row.iter().map(|it| *it as u32).collect())
        .collect();
    for rank in 0..count {
        program.enter(rank, "main");
        program.user(rank, "read_input", solve * 0.2);
    }
    program.collective(CollectiveOp::Bcast, "MPI_Bcast", 0, &world, Some(root));
    for step in 0..steps {
        if fault == Fault::Serial {
            program.user(root, "assemble", added);
            program.collective(CollectiveOp::Bcast, "MPI_Bcast", 0, &world, Some(root));
        }
        for rank in 0..count {
            let is_slow = slow.contains(&rank);
            let factor = match fault {
                Fault::SlowRank if is_slow => 1.0 + strength,
                Fault::SlowStep if step == step_slow => 1.0 + strength * steps as f64,
                _ => 1.0,
            };
            program.enter(rank, "advance");
            for _ in 0..kernels {
                program.user(rank, "kernel", factor * solve * 0.7 / kernels as f64);
            }
            program.user(rank, "update", factor * solve * 0.25);
            program.leave(rank, "advance");
            let late = if fault == Fault::LateSenders && is_slow {
                added
            } else {
                0.0
            };
            program.user(rank, "pack", factor * solve * 0.05 + late);
        }
        match exchange {
            Exchange::Nothing => {}
            Exchange::Grid => program.grid(),
            Exchange::Shift => program.shift(),
            Exchange::Pairs => program.pairs(),
        }
        match closing {
            Closing::Nothing => {}
            Closing::Allreduce => {
                program.collective(CollectiveOp::Allreduce, "MPI_Allreduce", 0, &world, None);
            }
            Closing::Alltoall => {
                program.collective(CollectiveOp::Alltoall, "MPI_Alltoall", 0, &world, None);
            }
            Closing::Barrier => {
                program.collective(CollectiveOp::Barrier, "MPI_Barrier", 0, &world, None);
            }
            Closing::ReduceBcast => {
                program.collective(CollectiveOp::Reduce, "MPI_Reduce", 0, &world, Some(root));
                program.collective(CollectiveOp::Bcast, "MPI_Bcast", 0, &world, Some(root));
            }
            Closing::Rows => {
                for (comm, row) in (1..).zip(&comms) {
                    let row: Vec<usize> = row.iter().map(|it| *it as usize).collect();
                    program.collective(CollectiveOp::Allreduce, "MPI_Allreduce", comm, &row, None);
                }
            }
        }
    }
    program.collective(CollectiveOp::Barrier, "MPI_Barrier", 0, &world, None);
    for rank in 0..count {
        program.leave(rank, "main");
    }
    Planted {
        trace: synthetic::trace_with(&program.ranks, &comms),
        fault,
        text: format!(
            "seed {seed}: {fault:?} {strength:.2} on {slow:?}, step {step_slow}, root {root}; {rows} x {columns} ranks, {steps} steps of \
             {solve:.0} ns with {kernels} kernels, {exchange:?}, {closing:?}, noise {noise:.3}{}",
            if is_skewed { " skewed" } else { "" }
        ),
        slow,
        step: step_slow,
        kernels,
    }
}

/// Returns `true` if a finding is about the planted fault.
fn is_right(planted: &Planted, activities: &Activities, found: &Finding) -> bool {
    let definitions = planted.trace.definitions();
    let ends_in = |path: Option<perf_core::CallPathId>, names: &[&str]| {
        let name = path.map(|path| activities.paths().name(path, &definitions.regions));
        name.is_some_and(|name| names.iter().any(|it| name.ends_with(it)))
    };
    let ranks: Vec<usize> = found.locations.iter().map(|it| it.index()).collect();
    match (planted.fault, found.kind) {
        (Fault::SlowRank, FindingKind::Delay { path, .. }) => {
            ranks == planted.slow && ends_in(path, &["kernel", "update", "pack"])
        }
        (Fault::LateSenders, FindingKind::Delay { path, .. }) => {
            planted.slow.len() == 1 && ranks == planted.slow && ends_in(path, &["pack"])
        }
        (Fault::LateSenders, FindingKind::Imbalance { path }) => {
            ranks == planted.slow && ends_in(Some(path), &["pack"])
        }
        (Fault::SlowStep, FindingKind::SlowStep { step, function }) => {
            let name = definitions.region_name(function);
            let calls = if name == "kernel" { planted.kernels } else { 1 };
            step as usize / calls == planted.step
        }
        (Fault::Serial, FindingKind::Serial { path, .. }) => ends_in(path, &["assemble"]),
        (Fault::SlowNetwork, FindingKind::Transfers) => true,
        _ => false,
    }
}

#[test]
fn faults_of_other_programs_come_first() {
    let runs = perf_testdata::repeats(100, 20);
    let mut bad = 0;
    for fault in FAULTS {
        let wrong = (0..runs).filter(|seed| {
            let planted = run(*seed, fault);
            let (activities, found) = find(&planted.trace);
            let first = found.findings.first();
            let is_right = first.is_some_and(|it| is_right(&planted, &activities, it));
            if !is_right {
                let text = first.map(|it| it.text(planted.trace.definitions(), &activities));
                println!("{}: {text:?}", planted.text);
            }
            !is_right
        });
        let wrong = wrong.count();
        println!("{fault:?}: {wrong} of {runs} are wrong");
        bad += usize::from(wrong as u64 * 20 > runs);
    }
    assert_eq!(bad, 0, "faults with less than 95 % of the runs");
}

#[test]
fn healthy_programs_have_no_findings_above_two_per_cent() {
    let mut bad = Vec::new();
    for seed in 0..100 {
        let planted = run(seed, Fault::Nothing);
        let (activities, found) = find(&planted.trace);
        for it in found.findings.iter().filter(|it| it.share > 0.02) {
            let text = it.text(planted.trace.definitions(), &activities);
            bad.push(format!("{}: {text}", planted.text));
        }
    }
    assert!(bad.is_empty(), "{}\n{}", bad.len(), bad.join("\n"));
}
