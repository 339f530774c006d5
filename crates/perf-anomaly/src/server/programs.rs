//! [`Programs`]: comparison of ranks and steps by [`Peers`] for each program at a server.

use super::message::{ReportedChange, ReportedChanges};
use super::ranking::tree;
use crate::format_version::{Reader, Writer};
use crate::lost_time::{
    FunctionSteps, InShared, ModeStep, ModeTimes, NewMode, OfClient, Peers, RankModes, Slowness,
    StepTimes, Withdrawn, merged, shared,
};
use crate::{Change, FunctionId, Result};
use perf_core::Merge;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Largest number of new modes and their functions, summed over the ranks of all clients.
const MODES: usize = 1 << 17;
/// Client whose modes are those of earlier runs of any client.
const EARLIER_RUNS: u64 = u64::MAX;

/// Snapshot of the run times that a [`Server`](super::Server) compares. It shares their memory until they
/// change, so that it is taken while the server is locked and evaluated afterwards.
#[derive(Clone, Debug)]
pub struct Comparison(pub(super) Programs);

impl Comparison {
    /// Returns the slow ranks and phases with their steps, with the server's function numbers. Their alarms include
    /// those of modes that a rule of a client accepts, which are no single calls either.
    pub fn slowness(&self) -> Slowness {
        let mut all = self.0.slowness();
        let accepted = self.of_clients().filter_map(|one| one.accepted());
        all.alarms.extend(accepted);
        all
    }

    /// Returns the time that new modes lost by rank, function and step, with the server's function
    /// numbers. Each client finds the modes of its own ranks, the server those of calls of several clients.
    pub fn mode_steps(&self) -> Vec<ModeStep> {
        let all = self.0.modes.values().flat_map(|modes| modes.iter());
        let shared = self.0.shared();
        all.chain(shared.iter().flat_map(InShared::steps)).collect()
    }

    /// Returns the new modes of all clients, the one with the most time lost first, with the server's function
    /// numbers. Modes of a function that clients found at overlapping run times are one. A mode that a client
    /// accepts as normal is none.
    pub fn modes(&self) -> Vec<NewMode> {
        let shared = self.0.shared();
        let shared = shared.iter().map(InShared::of_client);
        merged(self.of_clients().chain(shared))
    }

    fn of_clients(&self) -> impl Iterator<Item = OfClient> {
        self.0.modes.iter().flat_map(|(client, modes)| {
            let calls = modes.calls();
            calls.map(|(rank, (function, from), calls)| OfClient {
                client: *client,
                rank,
                function,
                from,
                calls: *calls,
            })
        })
    }

    /// Returns the changes of functions by step, with the server's function numbers, at most the first 1,024. Changes
    /// that several clients reported are one.
    pub fn changes(&self) -> Vec<ReportedChange> {
        self.0.changes.iter().collect()
    }

    /// Returns `true` for a function whose ranks were compared, because it does not wait for others.
    pub fn compares(&self, function: FunctionId) -> bool {
        self.0.programs.values().any(|one| one.compares(function))
    }

    /// Returns the time lost in abnormal calls by function and step, with the server's function numbers.
    pub fn function_steps(&self) -> &FunctionSteps {
        &self.0.losses
    }
}

/// Comparison of the ranks and steps of each program, and the time that new modes lost. The steps of
/// programs are independent.
#[derive(Clone, Debug, Default)]
pub(super) struct Programs {
    /// Programs by number.
    programs: BTreeMap<u32, Peers>,
    /// Time that new modes lost, by client.
    modes: BTreeMap<u64, Arc<ModeTimes>>,
    /// Number of modes and their functions of all ranks in `modes`.
    kept_modes: usize,
    /// Time lost in abnormal calls by function and step.
    losses: FunctionSteps,
    /// Changes of functions.
    changes: ReportedChanges,
}

impl Programs {
    /// Adds run times of steps; `number` returns the numbers of functions at the server.
    pub(super) fn add(
        &mut self,
        times: &StepTimes,
        number: impl Fn(FunctionId) -> Option<FunctionId>,
    ) {
        for (program, times) in times.by_program(number) {
            let peers = self.programs.entry(program).or_default();
            peers.add_times(&times);
            peers.end_step();
        }
    }

    /// Adds the time lost in abnormal calls by function and step.
    pub(super) fn add_losses(
        &mut self,
        losses: &FunctionSteps,
        number: impl Fn(FunctionId) -> Option<FunctionId>,
    ) {
        if !losses.is_empty() {
            self.losses.merge(&losses.renumbered(number));
        }
    }

    /// Adds the time that new modes lost on ranks of a client; `number` returns the numbers of functions
    /// at the server. Returns the number of ranks that were dropped because there are too many.
    pub(super) fn add_modes(
        &mut self,
        client: u64,
        modes: &ModeTimes,
        number: impl Fn(FunctionId) -> Option<FunctionId>,
    ) -> u64 {
        if modes.is_empty() {
            return 0;
        }
        let mut dropped = 0;
        let modes = modes.renumbered(number);
        let known = Arc::make_mut(self.modes.entry(client).or_default());
        for (rank, times) in modes.ranks() {
            if self.kept_modes.saturating_add(times.len()) > MODES {
                dropped += 1;
                continue;
            }
            let before = known.rank(rank).map_or(0, RankModes::len);
            known.add_rank(rank, times);
            let after = known.rank(rank).map_or(0, RankModes::len);
            self.kept_modes = self.kept_modes.saturating_add(after) - before;
        }
        dropped + known.add_slow(&modes)
    }

    /// Returns the slow calls that are in modes of several clients. One client alone finds its modes itself.
    fn shared(&self) -> Vec<InShared<'_>> {
        let clients = self.modes.keys();
        if clients.filter(|client| **client != EARLIER_RUNS).count() < 2 {
            return Vec::new();
        }
        let clients = self.modes.iter();
        shared(clients.map(|(client, modes)| (*client, &**modes)))
    }

    /// Adds a change of a function that a client reported. Returns `false` if a change was dropped because there are
    /// too many.
    pub(super) fn add_change(&mut self, client: u64, change: &Change) -> bool {
        self.changes.add(client, change)
    }

    /// Keeps the modes of a rank of a client, which begins another run, apart from later ones.
    pub(super) fn end_run(&mut self, client: u64, rank: (u32, u32)) {
        let Some(mut own) = self.modes.remove(&client) else {
            return;
        };
        let known = Arc::make_mut(&mut own);
        let earlier = Arc::make_mut(self.modes.entry(EARLIER_RUNS).or_default());
        if let Some(times) = known.take_rank(rank) {
            earlier.add_run(rank, &times);
        }
        known.move_slow(rank, earlier);
        self.modes.insert(client, own);
    }

    fn slowness(&self) -> Slowness {
        let mut all = Slowness::default();
        let shared = self.shared();
        let of_shared = shared.iter().flat_map(InShared::in_means);
        let mut in_means: BTreeMap<u32, Vec<Withdrawn>> = BTreeMap::new();
        of_shared.for_each(|one| in_means.entry(one.rank.0).or_default().push(one));
        let programs = self.programs.iter().map(|(program, peers)| {
            let Some(calls) = in_means.get(program) else {
                return peers.slowness();
            };
            let mut peers = peers.clone();
            peers.withdraw(calls);
            peers.slowness()
        });
        for one in programs {
            all.ranks.extend(one.ranks);
            all.rank_steps.extend(one.rank_steps);
            all.phases.extend(one.phases);
            all.phase_steps.extend(one.phase_steps);
            all.alarms.extend(one.alarms);
            all.late = all.late.saturating_add(one.late);
        }
        all.ranks.sort_by_key(|slow| std::cmp::Reverse(slow.lost));
        all.phases.sort_by_key(|slow| std::cmp::Reverse(slow.lost));
        all
    }

    pub(super) fn memory(&self) -> usize {
        let modes = self.modes.values().flat_map(|modes| modes.ranks());
        let modes = modes.map(|(_, times)| times.memory());
        let slow = self.modes.values().map(|modes| modes.memory_of_slow());
        tree(self.programs.len(), size_of::<(u32, Peers)>())
            + self.programs.values().map(Peers::memory).sum::<usize>()
            + tree(self.modes.len(), size_of::<(u64, Arc<ModeTimes>)>())
            + modes.sum::<usize>()
            + slow.sum::<usize>()
            + self.losses.memory()
            + self.changes.memory()
    }

    pub(super) fn write(&self, to: &mut Writer) {
        to.u32(self.programs.len() as u32);
        for (number, peers) in &self.programs {
            to.varint((*number).into());
            peers.write(to);
        }
        to.u32(self.modes.len() as u32);
        for (client, modes) in &self.modes {
            to.varint(*client);
            modes.write(to);
        }
        self.losses.write(to);
        self.changes.write(to);
    }

    /// Writes the slow calls outside of modes, which are at the end of a server.
    pub(super) fn write_slow(&self, to: &mut Writer) {
        self.modes.values().for_each(|modes| modes.write_slow(to));
    }

    /// Reads the slow calls at the end of a server, which has none in earlier versions.
    pub(super) fn read_slow_if_present(&mut self, from: &mut Reader<'_>) -> Result<()> {
        let mut modes = self.modes.values_mut();
        modes.try_for_each(|modes| Arc::make_mut(modes).read_slow_if_present(from))
    }

    pub(super) fn read(from: &mut Reader<'_>) -> Result<Self> {
        let mut all = Programs::default();
        for _ in 0..from.count(18, "a number of programs that fits the remaining bytes")? {
            let number = from.varint32("a program")?;
            let peers = Peers::read(from)?;
            if from.context.has_reports {
                for _ in 0..from.count(1, "a number of ranks that fits the remaining bytes")? {
                    from.varint32("a rank")?;
                }
                for _ in 0..from.count(2, "a number of steps that fits the remaining bytes")? {
                    from.varint("a step")?;
                    from.varint32("a number of ranks")?;
                }
            }
            all.programs.insert(number, peers);
        }
        if from.context.has_modes {
            for _ in 0..from.count(5, "a number of clients that fits the remaining bytes")? {
                let client = from.varint("a client")?;
                let modes = ModeTimes::read_if_present(from)?;
                all.kept_modes += modes.ranks().map(|(_, times)| times.len()).sum::<usize>();
                all.modes.insert(client, Arc::new(modes));
            }
        }
        all.losses = FunctionSteps::read_if_present(from)?;
        all.changes = ReportedChanges::read_if_present(from)?;
        Ok(all)
    }
}
