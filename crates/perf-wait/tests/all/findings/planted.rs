//! Generated runs with one planted fault.

use crate::synthetic::{self, Rank};
use perf_core::{CollectiveOp, Trace};

/// Computation of a step in nanoseconds, before noise.
const SOLVE: f64 = 1_000_000.0;
/// Preparation of messages in a step, before noise.
const PACK: f64 = 50_000.0;
/// Time of a call of MPI that does not wait.
const CALL: u64 = 200;
/// Transfer time of a message or collective on a fast network.
const TRANSFER: u64 = 2_000;

/// Fault of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fault {
    /// No fault.
    Nothing,
    /// One rank prepares its messages for long, and so sends them late.
    LateSender,
    /// One rank computes longer in all steps.
    SlowRank,
    /// All ranks compute longer in one step.
    SlowStep,
    /// Rank 0 computes alone, every few steps.
    Serial,
    /// Messages and collectives take long.
    SlowNetwork,
    /// One rank computes longer in one step.
    LongCall,
}

/// All faults.
pub(crate) const FAULTS: [Fault; 6] = [
    Fault::LateSender,
    Fault::SlowRank,
    Fault::SlowStep,
    Fault::Serial,
    Fault::SlowNetwork,
    Fault::LongCall,
];

/// Communication of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Pattern {
    /// Non-blocking messages with both neighbours, and an allreduce every fifth step.
    Halo,
    /// A blocking message to the next rank, and one from the rank before.
    Ring,
    /// Rank 0 sends tasks, and receives the results.
    MasterWorker,
    /// An allreduce.
    Collectives,
}

/// A run with its parameters.
pub(crate) struct Planted {
    pub(crate) trace: Trace,
    pub(crate) fault: Fault,
    pub(crate) pattern: Pattern,
    /// Rank with the fault, where it is one of a rank.
    pub(crate) rank: usize,
    /// Step with the fault, where it is one of a step.
    pub(crate) step: usize,
    /// Parameters as text.
    pub(crate) text: String,
}

struct Random(u64);

impl Random {
    /// Uniform number from 0 to 1 (SplitMix64).
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Number in a range with both ends.
    fn range(&mut self, from: usize, to: usize) -> usize {
        (from + (self.unit() * (to - from + 1) as f64) as usize).min(to)
    }

    /// Factor around 1 with this standard deviation, close to a normal distribution.
    fn noise(&mut self, deviation: f64) -> f64 {
        let sum: f64 = (0..4).map(|_| self.unit() - 0.5).sum();
        1.0 + sum * 3.0_f64.sqrt() * deviation
    }
}

/// Ranks of a run, and the time that each has reached.
struct Machine {
    ranks: Vec<Rank>,
    now: Vec<u64>,
    transfer: u64,
}

impl Machine {
    fn user(&mut self, rank: usize, name: &str, time: f64) {
        let end = self.now[rank] + time as u64;
        self.append(rank, end, |own, now| own.user(name, now, end));
    }

    fn append(&mut self, rank: usize, end: u64, add: impl FnOnce(Rank, u64) -> Rank) {
        let own = std::mem::take(&mut self.ranks[rank]);
        self.ranks[rank] = add(own, self.now[rank]);
        self.now[rank] = end;
    }

    /// Sends a message, and returns its arrival.
    fn send(&mut self, from: usize, to: usize) -> u64 {
        let end = self.now[from] + CALL;
        let arrival = self.now[from] + self.transfer;
        self.append(from, end, |own, now| own.send(now, end, to as u32, 64));
        arrival
    }

    /// Receives a message that was sent at a time.
    fn receive(&mut self, to: usize, from: usize, arrival: u64) {
        let end = (self.now[to] + CALL).max(arrival);
        self.append(to, end, |own, now| own.recv(now, end, from as u32, 64));
    }

    fn halo(&mut self, step: usize) {
        let count = self.ranks.len();
        let neighbours = |rank: usize| {
            let before = rank.checked_sub(1);
            let after = Some(rank + 1).filter(|it| *it < count);
            [before, after].into_iter().flatten()
        };
        let mut sent = vec![0; count];
        for (rank, sent) in sent.iter_mut().enumerate() {
            for (number, _) in neighbours(rank).enumerate() {
                let end = self.now[rank] + CALL / 4;
                let request = (step * 4 + number) as u64;
                self.append(rank, end, |own, now| own.irecv(now, end, request));
            }
            *sent = self.now[rank];
            for (number, to) in neighbours(rank).enumerate() {
                let end = self.now[rank] + CALL / 4;
                let request = (step * 4 + 2 + number) as u64;
                self.append(rank, end, |own, now| {
                    own.isend(now, end, to as u32, 0, 64, request)
                });
            }
        }
        for rank in 0..count {
            for (number, from) in neighbours(rank).enumerate() {
                let end = (self.now[rank] + CALL / 4).max(sent[from] + self.transfer);
                let request = (step * 4 + number) as u64;
                self.append(rank, end, |own, now| {
                    own.wait_receive("MPI_Wait", now, end, from as u32, 64, request)
                });
            }
            for (number, _) in neighbours(rank).enumerate() {
                let end = self.now[rank] + CALL / 4;
                let request = (step * 4 + 2 + number) as u64;
                self.append(rank, end, |own, now| {
                    own.wait_send("MPI_Wait", now, end, request)
                });
            }
        }
        if step % 5 == 4 {
            self.allreduce();
        }
    }

    fn ring(&mut self) {
        let count = self.ranks.len();
        let arrivals: Vec<u64> = (0..count)
            .map(|rank| self.send(rank, (rank + 1) % count))
            .collect();
        for rank in 0..count {
            let from = (rank + count - 1) % count;
            self.receive(rank, from, arrivals[from]);
        }
    }

    fn allreduce(&mut self) {
        let end = self.now.iter().copied().max().unwrap_or_default() + CALL + self.transfer;
        for rank in 0..self.ranks.len() {
            self.append(rank, end, |own, now| {
                own.collective("MPI_Allreduce", now, end, CollectiveOp::Allreduce, None, 8)
            });
        }
    }
}

/// Generates a run in which a fault adds time of this share of a run without it.
pub(crate) fn run(seed: u64, fault: Fault, strength: f64) -> Planted {
    let mut random = Random(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
    let (count, steps) = (random.range(4, 32), random.range(10, 60));
    let pattern = match random.range(0, 3) {
        0 => Pattern::Halo,
        1 => Pattern::Ring,
        2 => Pattern::MasterWorker,
        _ => Pattern::Collectives,
    };
    let deviation = 0.01 + 0.04 * random.unit();
    let is_master = |rank: usize| pattern == Pattern::MasterWorker && rank == 0;
    let slow = random.range(usize::from(pattern == Pattern::MasterWorker), count - 1);
    let (slow_step, period) = (random.range(0, steps - 1), random.range(1, 4));
    let added = strength * (SOLVE + PACK);
    let network = match (fault, pattern) {
        (Fault::SlowNetwork, Pattern::MasterWorker) => added / 2.0,
        (Fault::SlowNetwork, _) => added,
        _ => 0.0,
    };
    let mut machine = Machine {
        ranks: (0..count).map(|_| Rank::default()).collect(),
        now: vec![0; count],
        transfer: TRANSFER + network as u64,
    };
    for step in 0..steps {
        if pattern == Pattern::MasterWorker {
            machine.user(0, "assign", PACK / 10.0 * random.noise(deviation));
            for worker in 1..count {
                let arrival = machine.send(0, worker);
                machine.receive(worker, 0, arrival);
            }
        }
        for rank in (0..count).filter(|rank| !is_master(*rank)) {
            let mut solve = SOLVE * random.noise(deviation);
            let mut pack = PACK * random.noise(deviation);
            match fault {
                Fault::SlowRank if slow == rank => solve += added,
                Fault::LateSender if slow == rank => pack += added,
                Fault::LongCall if slow == rank && slow_step == step => {
                    solve += added * steps as f64;
                }
                Fault::SlowStep if slow_step == step => solve += added * steps as f64,
                _ => {}
            }
            machine.user(rank, "solve", solve);
            machine.user(rank, "pack", pack);
        }
        match pattern {
            Pattern::Halo => machine.halo(step),
            Pattern::Ring => machine.ring(),
            Pattern::MasterWorker => {
                for worker in 1..count {
                    let arrival = machine.send(worker, 0);
                    machine.receive(0, worker, arrival);
                }
            }
            Pattern::Collectives => machine.allreduce(),
        }
        if fault == Fault::Serial && step % period == period - 1 {
            machine.user(0, "write", added * period as f64);
        }
    }
    // All leave together, as with `MPI_Finalize`.
    machine.allreduce();
    Planted {
        trace: synthetic::trace(&machine.ranks),
        fault,
        pattern,
        rank: slow,
        step: slow_step,
        text: format!(
            "seed {seed}: {fault:?} {strength:.3} on rank {slow}, step {slow_step}, period {period}; {count} ranks, \
             {steps} steps, {pattern:?}, noise {deviation:.3}"
        ),
    }
}
