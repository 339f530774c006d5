//! [`ModeTimes`]: time that new modes lost by rank, function and step, which clients send to a server;
//! [`ModeStep`]: an entry of it.

use super::calls::ModeCalls;
use super::shared::SlowCalls;
use crate::format_version::{Reader, Writer};
use crate::lost_time::FunctionSteps;
use crate::server::tree;
use crate::{FunctionId, Result};
use perf_core::{Merge, Nanos};
use std::collections::BTreeMap;

/// Time that new modes of a function lost on a rank in a step, or in a group of steps of a long run, in
/// calls that are no alarms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ModeStep {
    /// Program.
    pub program: u32,
    /// Rank in the program.
    pub rank: u32,
    /// Function.
    pub function: FunctionId,
    /// First step.
    pub first: u64,
    /// Last step.
    pub last: u64,
    /// Time lost, minus the time lost by those of the calls that are alarms. It can be below zero if
    /// alarms lost more against the expected run time of their step.
    pub lost: Nanos,
}

/// Time that new modes lost on a rank, by function and step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RankModes {
    /// `true` if these are all times of the rank and replace earlier ones. Otherwise they are added.
    is_complete: bool,
    /// Times by function.
    functions: FunctionSteps,
    /// All calls so far of each mode that has new ones, by function and first bin.
    calls: BTreeMap<(FunctionId, u32), ModeCalls>,
}

impl RankModes {
    /// Adds other times of the same rank, or replaces the times by complete ones. Calls of a mode replace the
    /// earlier ones.
    fn add(&mut self, other: &RankModes) {
        if other.is_complete {
            self.clone_from(other);
            return;
        }
        self.functions.merge(&other.functions);
        self.calls.extend(&other.calls);
    }

    /// Returns the number of functions and modes.
    pub(crate) fn len(&self) -> usize {
        self.functions.len() + self.calls.len()
    }

    /// Returns the memory in bytes.
    pub(crate) fn memory(&self) -> usize {
        let calls = tree(
            self.calls.len(),
            size_of::<((FunctionId, u32), ModeCalls)>(),
        );
        size_of::<((u32, u32), Self)>() + self.functions.memory() + calls
    }
}

/// Time that [new modes](super::NewMode) lost by rank, function and step, in calls that are no alarms:
/// changes since the last message, or all times of a rank after a restart. Values below zero take back the
/// time of a mode that was accepted as normal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModeTimes {
    /// Times by rank.
    ranks: BTreeMap<(u32, u32), RankModes>,
    /// Slow calls that are too few for a mode.
    slow: SlowCalls,
}

impl ModeTimes {
    /// Smallest encoded size of a rank in bytes.
    const LEAST: usize = 7;
    /// Smallest encoded size of a mode in bytes.
    const LEAST_MODE: usize = ModeCalls::LEAST;

    /// Returns `true` if there are no times.
    pub fn is_empty(&self) -> bool {
        self.ranks.is_empty() && self.slow.is_empty()
    }

    /// Returns the time by rank, function and step. Values are changes since the last message unless
    /// all times are known.
    pub fn iter(&self) -> impl Iterator<Item = ModeStep> {
        self.ranks.iter().flat_map(|((program, rank), times)| {
            let steps = times.functions.iter();
            steps.map(|(function, first, last, lost)| ModeStep {
                program: *program,
                rank: *rank,
                function,
                first,
                last,
                lost,
            })
        })
    }

    /// Returns all times as those of one rank, given by program and number, and of later steps. A
    /// simulation of many ranks with the calls of one uses it.
    pub fn moved(&self, rank: (u32, u32), later: u64) -> Self {
        let mut all = ModeTimes::default();
        for one in self.iter() {
            let step = one.first.saturating_add(later);
            all.add(rank, one.function, step, one.lost.0);
        }
        for (_, mode, calls) in self.calls() {
            all.set_calls(rank, mode, calls.moved(later));
        }
        if !self.slow.is_empty() {
            all.slow = self.slow.moved(rank, later);
        }
        all
    }

    /// Returns the calls of each mode on each rank, with its function and first bin.
    pub(crate) fn calls(
        &self,
    ) -> impl Iterator<Item = ((u32, u32), (FunctionId, u32), &ModeCalls)> {
        self.ranks.iter().flat_map(|(rank, times)| {
            let calls = times.calls.iter();
            calls.map(|(mode, calls)| (*rank, *mode, calls))
        })
    }

    /// Sets all calls so far of a mode on a rank.
    pub(in crate::lost_time) fn set_calls(
        &mut self,
        rank: (u32, u32),
        mode: (FunctionId, u32),
        calls: ModeCalls,
    ) {
        self.ranks
            .entry(rank)
            .or_default()
            .calls
            .insert(mode, calls);
    }

    /// Adds time that a rank lost in a step.
    pub(in crate::lost_time) fn add(
        &mut self,
        rank: (u32, u32),
        function: FunctionId,
        step: u64,
        lost: i64,
    ) {
        if lost != 0 {
            let times = self.ranks.entry(rank).or_default();
            times.functions.add(function, step, lost);
        }
    }

    /// Replaces the changes of a rank by all its times; `None` removes them.
    pub(crate) fn replace(&mut self, rank: (u32, u32), all: Option<ModeTimes>) {
        self.ranks.remove(&rank);
        self.slow.remove(rank);
        if let Some(mut all) = all {
            let mut times = all.ranks.remove(&rank).unwrap_or_default();
            times.is_complete = true;
            self.ranks.insert(rank, times);
            self.slow.update(&all.slow);
        }
    }

    /// Returns the slow calls that are too few for a mode.
    pub(crate) fn slow(&self) -> &SlowCalls {
        &self.slow
    }

    /// Returns these slow calls for modification.
    pub(in crate::lost_time) fn slow_mut(&mut self) -> &mut SlowCalls {
        &mut self.slow
    }

    /// Adds the slow calls of changes. Those of complete ranks replace all earlier ones. Returns the number of ranks that
    /// were dropped because there are too many.
    pub(crate) fn add_slow(&mut self, changes: &ModeTimes) -> u64 {
        for (rank, _) in changes.ranks.iter().filter(|one| one.1.is_complete) {
            self.slow.remove(*rank);
        }
        self.slow.update(&changes.slow);
        self.slow.limit()
    }

    /// Moves the slow calls of a rank to those of earlier runs.
    pub(crate) fn move_slow(&mut self, rank: (u32, u32), earlier: &mut ModeTimes) {
        self.slow.move_run(rank, &mut earlier.slow);
    }

    /// Returns the times of each rank.
    pub(crate) fn ranks(&self) -> impl Iterator<Item = ((u32, u32), &RankModes)> {
        self.ranks.iter().map(|(rank, times)| (*rank, times))
    }

    /// Returns the times of a rank.
    pub(crate) fn rank(&self, rank: (u32, u32)) -> Option<&RankModes> {
        self.ranks.get(&rank)
    }

    /// Removes the times of a rank, which later times do not replace.
    pub(crate) fn take_rank(&mut self, rank: (u32, u32)) -> Option<RankModes> {
        let mut times = self.ranks.remove(&rank)?;
        times.is_complete = false;
        Some(times)
    }

    /// Adds times of a rank, or replaces earlier ones if they are complete.
    pub(crate) fn add_rank(&mut self, rank: (u32, u32), times: &RankModes) {
        self.ranks.entry(rank).or_default().add(times);
    }

    /// Adds times of a rank in another run.
    pub(crate) fn add_run(&mut self, rank: (u32, u32), times: &RankModes) {
        let own = self.ranks.entry(rank).or_default();
        own.functions.merge(&times.functions);
        for (mode, calls) in &times.calls {
            own.calls.entry(*mode).or_default().add(calls);
        }
    }

    /// Returns the numbers of the functions, each at least once.
    pub(crate) fn functions(&self) -> impl Iterator<Item = FunctionId> {
        let all = self.ranks.values();
        let of_ranks = all.flat_map(|times| {
            let modes = times.calls.keys().map(|(function, _)| *function);
            times.functions.functions().chain(modes)
        });
        of_ranks.chain(self.slow.functions())
    }

    /// Returns `true` if the numbers of all functions are below `end`.
    pub(crate) fn is_below(&self, end: u64) -> bool {
        self.functions().all(|one| u64::from(one.0) < end)
    }

    /// Returns the same times with other numbers of functions, without the functions for which `number`
    /// returns `None`.
    pub(crate) fn renumbered(&self, number: impl Fn(FunctionId) -> Option<FunctionId>) -> Self {
        let mut all = ModeTimes::default();
        for (rank, times) in &self.ranks {
            let calls = times.calls.iter();
            let own = RankModes {
                is_complete: times.is_complete,
                functions: times.functions.renumbered(&number),
                calls: calls
                    .filter_map(|((function, bin), calls)| {
                        Some(((number(*function)?, *bin), *calls))
                    })
                    .collect(),
            };
            all.ranks.insert(*rank, own);
        }
        all.slow = self.slow.renumbered(number);
        all
    }

    pub(crate) fn write(&self, to: &mut Writer) {
        to.u32(self.ranks.len() as u32);
        for ((program, rank), times) in &self.ranks {
            to.varint((*program).into());
            to.varint((*rank).into());
            to.u8(times.is_complete.into());
            times.functions.write(to);
            to.u32(times.calls.len() as u32);
            for ((function, bin), calls) in &times.calls {
                to.varint(function.0.into());
                to.varint((*bin).into());
                calls.write(to);
            }
        }
    }

    /// Writes the slow calls, which are at the end of a message.
    pub(crate) fn write_slow(&self, to: &mut Writer) {
        self.slow.write(to);
    }

    /// Reads the slow calls at the end of a message, which has none in earlier versions.
    pub(crate) fn read_slow_if_present(&mut self, from: &mut Reader<'_>) -> Result<()> {
        if from.context.has_slow_calls {
            self.slow = SlowCalls::read(from)?;
        }
        Ok(())
    }

    /// Returns the memory of the slow calls in bytes.
    pub(crate) fn memory_of_slow(&self) -> usize {
        self.slow.memory()
    }

    /// Reads times from a message, which is empty in versions without them.
    pub(crate) fn read_if_present(from: &mut Reader<'_>) -> Result<Self> {
        let mut all = ModeTimes::default();
        if !from.context.has_modes {
            return Ok(all);
        }
        for _ in 0..from.count(
            Self::LEAST,
            "a number of ranks that fits the remaining bytes",
        )? {
            let rank = (from.varint32("a program")?, from.varint32("a rank")?);
            let is_complete = from.u8("a flag")? != 0;
            let mut times = RankModes {
                is_complete,
                functions: FunctionSteps::read_if_present(from)?,
                calls: BTreeMap::new(),
            };
            if from.context.has_mode_calls {
                let fits = "a number of modes that fits the remaining bytes";
                for _ in 0..from.count(Self::LEAST_MODE, fits)? {
                    let function = FunctionId(from.varint32("a function")?);
                    let mode = (function, from.varint32("a bin")?);
                    times.calls.insert(mode, ModeCalls::read(from)?);
                }
            }
            all.add_rank(rank, &times);
        }
        Ok(all)
    }
}

/// Adds changes. Complete times of a rank replace earlier changes.
impl Merge for ModeTimes {
    fn merge(&mut self, other: &Self) {
        for (rank, times) in &other.ranks {
            self.add_rank(*rank, times);
        }
        self.add_slow(other);
    }
}
