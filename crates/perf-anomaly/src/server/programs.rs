//! [`Programs`]: comparison of ranks and steps by [`Peers`] for each program at a server, which
//! closes a step when all ranks have reported it.

use super::StepStats;
use super::ranking::tree;
use crate::format_version::{Reader, Writer};
use crate::lost_time::{Peers, Slowness, StepTimes};
use crate::{FunctionId, Result};
use std::collections::{BTreeMap, BTreeSet};

/// Largest number of sums of run times of steps that some ranks of a program have not reported.
const OPEN_SUMS: usize = 1 << 20;

/// Snapshot of the run times that a [`Server`](super::Server) compares. It shares their memory until they
/// change, so that it is taken while the server is locked and evaluated afterwards.
#[derive(Clone, Debug)]
pub struct Comparison(pub(super) Programs);

impl Comparison {
    /// Returns the slow ranks and phases with their steps, with the server's function numbers.
    pub fn slowness(&self) -> Slowness {
        self.0.slowness()
    }
}

/// Comparison of the ranks and steps of each program. The steps of programs are independent.
#[derive(Clone, Debug, Default)]
pub(super) struct Programs(BTreeMap<u32, Program>);

#[derive(Clone, Debug, Default)]
struct Program {
    /// Comparison.
    peers: Peers,
    /// Ranks that have reported a step.
    ranks: BTreeSet<u32>,
    /// Number of ranks that reported each open step, and the last step.
    reported: BTreeMap<u64, usize>,
}

impl Program {
    /// Closes the steps that all ranks have reported, that are too old, or that take too much memory.
    fn close_steps(&mut self) {
        let Some(newest) = self.reported.keys().next_back().copied() else {
            return;
        };
        self.peers.end_step(newest);
        while let Some(first) = self.peers.first_open() {
            // A step without reports is not complete.
            let ranks = self.reported.get(&first).copied().unwrap_or_default();
            // Ranks that have not reported anything yet may be one step late.
            let is_complete = first.saturating_add(2) <= newest && ranks >= self.ranks.len();
            if !is_complete && self.peers.open_sums() <= OPEN_SUMS {
                break;
            }
            self.peers.close_first();
        }
        let first = self.peers.first_open().unwrap_or(newest).min(newest);
        self.reported = self.reported.split_off(&first);
    }
}

impl Programs {
    /// Adds steps of ranks; `number` returns the numbers of functions at the server.
    pub(super) fn add(
        &mut self,
        steps: &[StepStats],
        times: &StepTimes,
        number: impl Fn(FunctionId) -> Option<FunctionId>,
    ) {
        for (program, times) in times.by_program(number) {
            self.0.entry(program).or_default().peers.add_times(&times);
        }
        let mut changed = BTreeSet::new();
        for step in steps {
            let program = self.0.entry(step.program).or_default();
            program.ranks.insert(step.rank);
            *program.reported.entry(step.step).or_default() += 1;
            changed.insert(step.program);
        }
        for program in changed {
            self.0.entry(program).or_default().close_steps();
        }
    }

    fn slowness(&self) -> Slowness {
        let mut all = Slowness::default();
        for one in self.0.values().map(|one| one.peers.slowness()) {
            all.ranks.extend(one.ranks);
            all.rank_steps.extend(one.rank_steps);
            all.phases.extend(one.phases);
            all.phase_steps.extend(one.phase_steps);
        }
        all.ranks.sort_by_key(|slow| std::cmp::Reverse(slow.lost));
        all.phases.sort_by_key(|slow| std::cmp::Reverse(slow.lost));
        all
    }

    pub(super) fn memory(&self) -> usize {
        let own = |one: &Program| {
            one.peers.memory()
                + tree(one.ranks.len(), size_of::<u32>())
                + tree(one.reported.len(), size_of::<(u64, usize)>())
        };
        tree(self.0.len(), size_of::<(u32, Program)>()) + self.0.values().map(own).sum::<usize>()
    }

    pub(super) fn write(&self, to: &mut Writer) {
        to.u32(self.0.len() as u32);
        for (number, program) in &self.0 {
            to.varint((*number).into());
            program.peers.write(to);
            to.u32(program.ranks.len() as u32);
            for rank in &program.ranks {
                to.varint((*rank).into());
            }
            to.u32(program.reported.len() as u32);
            for (step, ranks) in &program.reported {
                to.varint(*step);
                to.varint(*ranks as u64);
            }
        }
    }

    pub(super) fn read(from: &mut Reader<'_>) -> Result<Self> {
        let mut all = Programs::default();
        for _ in 0..from.count(20, "a number of programs that fits the remaining bytes")? {
            let number = from.varint32("a program")?;
            let mut program = Program {
                peers: Peers::read(from)?,
                ..Program::default()
            };
            for _ in 0..from.count(1, "a number of ranks that fits the remaining bytes")? {
                program.ranks.insert(from.varint32("a rank")?);
            }
            for _ in 0..from.count(2, "a number of steps that fits the remaining bytes")? {
                let step = from.varint("a step")?;
                let ranks = from.varint32("a number of ranks")?;
                program.reported.insert(step, ranks as usize);
            }
            all.0.insert(number, program);
        }
        Ok(all)
    }
}
