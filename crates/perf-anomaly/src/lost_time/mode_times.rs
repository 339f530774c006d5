//! [`ModeTimes`]: time that new modes lost by rank, function and step, which clients send to a server;
//! [`ModeStep`]: an entry of it.

use super::FunctionSteps;
use super::mode_calls::ModeCalls;
use crate::format_version::{Reader, Writer};
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
pub struct ModeTimes(BTreeMap<(u32, u32), RankModes>);

impl ModeTimes {
    /// Smallest encoded size of a rank in bytes.
    const LEAST: usize = 7;
    /// Smallest encoded size of a mode in bytes.
    const LEAST_MODE: usize = ModeCalls::LEAST;

    /// Returns `true` if there are no times.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the time by rank, function and step. Values are changes since the last message unless
    /// all times are known.
    pub fn iter(&self) -> impl Iterator<Item = ModeStep> {
        self.0.iter().flat_map(|((program, rank), times)| {
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
        all
    }

    /// Returns the calls of each mode on each rank, with its function and first bin.
    pub(crate) fn calls(
        &self,
    ) -> impl Iterator<Item = ((u32, u32), (FunctionId, u32), &ModeCalls)> {
        self.0.iter().flat_map(|(rank, times)| {
            let calls = times.calls.iter();
            calls.map(|(mode, calls)| (*rank, *mode, calls))
        })
    }

    /// Sets all calls so far of a mode on a rank.
    pub(super) fn set_calls(
        &mut self,
        rank: (u32, u32),
        mode: (FunctionId, u32),
        calls: ModeCalls,
    ) {
        self.0.entry(rank).or_default().calls.insert(mode, calls);
    }

    /// Adds time that a rank lost in a step.
    pub(super) fn add(&mut self, rank: (u32, u32), function: FunctionId, step: u64, lost: i64) {
        if lost != 0 {
            let times = self.0.entry(rank).or_default();
            times.functions.add(function, step, lost);
        }
    }

    /// Replaces the changes of a rank by all its times; `None` removes them.
    pub(crate) fn replace(&mut self, rank: (u32, u32), all: Option<ModeTimes>) {
        self.0.remove(&rank);
        if let Some(mut all) = all {
            let mut times = all.0.remove(&rank).unwrap_or_default();
            times.is_complete = true;
            self.0.insert(rank, times);
        }
    }

    /// Returns the times of each rank.
    pub(crate) fn ranks(&self) -> impl Iterator<Item = ((u32, u32), &RankModes)> {
        self.0.iter().map(|(rank, times)| (*rank, times))
    }

    /// Returns the times of a rank.
    pub(crate) fn rank(&self, rank: (u32, u32)) -> Option<&RankModes> {
        self.0.get(&rank)
    }

    /// Removes the times of a rank, which later times do not replace.
    pub(crate) fn take_rank(&mut self, rank: (u32, u32)) -> Option<RankModes> {
        let mut times = self.0.remove(&rank)?;
        times.is_complete = false;
        Some(times)
    }

    /// Adds times of a rank, or replaces earlier ones if they are complete.
    pub(crate) fn add_rank(&mut self, rank: (u32, u32), times: &RankModes) {
        self.0.entry(rank).or_default().add(times);
    }

    /// Adds times of a rank in another run.
    pub(crate) fn add_run(&mut self, rank: (u32, u32), times: &RankModes) {
        let own = self.0.entry(rank).or_default();
        own.functions.merge(&times.functions);
        for (mode, calls) in &times.calls {
            own.calls.entry(*mode).or_default().add(calls);
        }
    }

    /// Returns the numbers of the functions, each at least once.
    pub(crate) fn functions(&self) -> impl Iterator<Item = FunctionId> {
        let all = self.0.values();
        all.flat_map(|times| {
            let modes = times.calls.keys().map(|(function, _)| *function);
            times.functions.functions().chain(modes)
        })
    }

    /// Returns `true` if the numbers of all functions are below `end`.
    pub(crate) fn is_below(&self, end: u64) -> bool {
        self.functions().all(|one| u64::from(one.0) < end)
    }

    /// Returns the same times with other numbers of functions, without the functions for which `number`
    /// returns `None`.
    pub(crate) fn renumbered(&self, number: impl Fn(FunctionId) -> Option<FunctionId>) -> Self {
        let mut all = ModeTimes::default();
        for (rank, times) in &self.0 {
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
            all.0.insert(*rank, own);
        }
        all
    }

    pub(crate) fn write(&self, to: &mut Writer) {
        to.u32(self.0.len() as u32);
        for ((program, rank), times) in &self.0 {
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
        for (rank, times) in &other.0 {
            self.add_rank(*rank, times);
        }
    }
}
