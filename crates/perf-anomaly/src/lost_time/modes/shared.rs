//! [`SlowCalls`]: slow calls outside of the modes of a client, which it sends to a server; [`shared`]: those of all
//! clients that are a mode together.

use super::calls::{ModeCalls, OfClient};
use super::times::{ModeStep, ModeTimes};
use crate::format_version::{Reader, Writer};
use crate::lost_time::own_speed::Withdrawn;
use crate::lost_time::run_times::{RunTimes, Times};
use crate::lost_time::step_sums::StepSums;
use crate::server::tree;
use crate::{FunctionId, Result};
use perf_core::{Merge, Nanos};
use std::collections::BTreeMap;

/// Largest number of bins of slow calls of a client.
const MOST_SLOW: usize = 1 << 16;
/// Largest number of calls of a bin in a step that are taken from the means of ranks and steps.
const MOST_WITHDRAWN: u64 = 1 << 10;
/// Largest bin: run times of 2^63 ns are below.
const MOST_BINS: usize = 1 << 15;

/// Slow calls of a function on a rank with about the same run time, outside of modes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::lost_time) struct SlowOfBin {
    pub(in crate::lost_time) calls: ModeCalls,
    /// Number of those that are slow to the detector too, and not only far above the usual run times.
    pub(in crate::lost_time) noticed: u64,
    /// Time lost by step, without that of alarms.
    pub(in crate::lost_time) steps: StepSums,
    /// Time by step of the calls that are part of the means of ranks and steps.
    pub(in crate::lost_time) in_means: StepSums,
}

impl SlowOfBin {
    /// Adds other calls.
    pub(in crate::lost_time) fn add(&mut self, other: &SlowOfBin) {
        self.calls.add(&other.calls);
        self.noticed = self.noticed.saturating_add(other.noticed);
        self.steps.merge(&other.steps);
        self.in_means.merge(&other.in_means);
    }
}

/// Slow calls of a function on a rank by bin of their run times.
pub(in crate::lost_time) type Bins = BTreeMap<u32, SlowOfBin>;

/// Slow calls outside of the modes of a client, which are too few for a mode, and the run times of their functions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SlowCalls {
    /// All slow calls so far of the functions that have new ones on a rank, given by program and number.
    ranks: BTreeMap<(u32, u32), BTreeMap<FunctionId, Bins>>,
    /// Run times of all calls so far of these functions.
    functions: BTreeMap<FunctionId, RunTimes>,
}

impl SlowCalls {
    /// Returns `true` if there are neither slow calls nor run times.
    pub(in crate::lost_time) fn is_empty(&self) -> bool {
        self.ranks.is_empty() && self.functions.is_empty()
    }

    /// Sets all slow calls so far of a function on ranks, and the run times of the function.
    pub(in crate::lost_time) fn set(
        &mut self,
        function: FunctionId,
        ranks: BTreeMap<(u32, u32), Bins>,
        times: RunTimes,
    ) {
        for (rank, bins) in ranks {
            self.ranks.entry(rank).or_default().insert(function, bins);
        }
        self.functions.insert(function, times);
    }

    /// Adds changes: those of a function on a rank replace the earlier ones.
    pub(in crate::lost_time) fn update(&mut self, changes: &SlowCalls) {
        for (rank, functions) in &changes.ranks {
            let own = self.ranks.entry(*rank).or_default();
            for (function, bins) in functions {
                own.insert(*function, bins.clone());
            }
        }
        let functions = changes.functions.iter();
        let functions = functions.map(|(function, times)| (*function, times.clone()));
        self.functions.extend(functions);
    }

    /// Removes the slow calls of a rank.
    pub(in crate::lost_time) fn remove(&mut self, rank: (u32, u32)) {
        self.ranks.remove(&rank);
    }

    /// Moves the slow calls of a rank to those of earlier runs, with the run times unless another rank moved them.
    pub(in crate::lost_time) fn move_run(&mut self, rank: (u32, u32), earlier: &mut SlowCalls) {
        for (function, bins) in self.ranks.remove(&rank).unwrap_or_default() {
            let functions = earlier.ranks.entry(rank).or_default();
            let own = functions.entry(function).or_default();
            for (bin, slow) in bins {
                own.entry(bin).or_default().add(&slow);
            }
            if let Some(times) = self.functions.remove(&function) {
                let known = earlier.functions.entry(function).or_default();
                known.merge(&times);
            }
        }
    }

    /// Removes slow calls if there are too many. Returns the number of ranks that were dropped.
    pub(crate) fn limit(&mut self) -> u64 {
        let mut kept = 0;
        let before = self.ranks.len();
        self.ranks.retain(|_, functions| {
            kept += functions.values().map(BTreeMap::len).sum::<usize>();
            kept <= MOST_SLOW
        });
        (before - self.ranks.len()) as u64
    }

    /// Returns the slow calls as those of another rank in later steps.
    pub(in crate::lost_time) fn moved(&self, rank: (u32, u32), later: u64) -> Self {
        let mut all = SlowCalls {
            functions: self.functions.clone(),
            ..SlowCalls::default()
        };
        let own = all.ranks.entry(rank).or_default();
        for (_, function, bin, slow) in self.iter() {
            let moved = SlowOfBin {
                calls: slow.calls.moved(later),
                noticed: slow.noticed,
                steps: slow.steps.moved(later),
                in_means: slow.in_means.moved(later),
            };
            own.entry(function).or_default().insert(bin, moved);
        }
        all
    }

    /// Returns the slow calls with their rank, function and bin.
    fn iter(&self) -> impl Iterator<Item = ((u32, u32), FunctionId, u32, &SlowOfBin)> {
        self.ranks.iter().flat_map(|(rank, functions)| {
            functions.iter().flat_map(|(function, bins)| {
                let bins = bins.iter();
                bins.map(|(bin, slow)| (*rank, *function, *bin, slow))
            })
        })
    }

    /// Returns the numbers of the functions, each at least once.
    pub(in crate::lost_time) fn functions(&self) -> impl Iterator<Item = FunctionId> {
        let of_ranks = self.ranks.values().flat_map(BTreeMap::keys);
        of_ranks.chain(self.functions.keys()).copied()
    }

    /// Returns the same slow calls with other numbers of functions, without the functions for which `number` returns
    /// `None`.
    pub(in crate::lost_time) fn renumbered(
        &self,
        number: impl Fn(FunctionId) -> Option<FunctionId>,
    ) -> Self {
        let mut all = SlowCalls::default();
        for (rank, functions) in &self.ranks {
            let functions = functions.iter();
            let functions =
                functions.filter_map(|(function, bins)| Some((number(*function)?, bins.clone())));
            all.ranks.insert(*rank, functions.collect());
        }
        let functions = self.functions.iter();
        let functions =
            functions.filter_map(|(function, times)| Some((number(*function)?, times.clone())));
        all.functions = functions.collect();
        all
    }

    /// Returns the memory in bytes.
    pub(in crate::lost_time) fn memory(&self) -> usize {
        let functions = self.ranks.values().flat_map(BTreeMap::values);
        let of_function = |bins: &Bins| {
            let steps = bins
                .values()
                .map(|slow| slow.steps.memory() + slow.in_means.memory());
            tree(bins.len(), size_of::<(u32, SlowOfBin)>())
                + size_of::<(FunctionId, Bins)>()
                + steps.sum::<usize>()
        };
        let times = self.functions.values().map(RunTimes::memory);
        functions.map(of_function).sum::<usize>() + times.sum::<usize>()
    }

    pub(in crate::lost_time) fn write(&self, to: &mut Writer) {
        to.u8(u8::from(!self.is_empty()));
        if self.is_empty() {
            return;
        }
        to.u32(self.ranks.len() as u32);
        for ((program, rank), functions) in &self.ranks {
            to.varint((*program).into());
            to.varint((*rank).into());
            to.u32(functions.len() as u32);
            for (function, bins) in functions {
                to.varint(function.0.into());
                to.u32(bins.len() as u32);
                for (bin, slow) in bins {
                    to.varint((*bin).into());
                    slow.calls.write(to);
                    to.varint(slow.noticed);
                    slow.steps.write(to);
                    slow.in_means.write(to);
                }
            }
        }
        to.u32(self.functions.len() as u32);
        for (function, times) in &self.functions {
            to.varint(function.0.into());
            times.write(to);
        }
    }

    pub(in crate::lost_time) fn read(from: &mut Reader<'_>) -> Result<Self> {
        let mut all = SlowCalls::default();
        if from.u8("the flag for slow calls")? == 0 {
            return Ok(all);
        }
        for _ in 0..from.count(6, "a number of ranks that fits the remaining bytes")? {
            let rank = (from.varint32("a program")?, from.varint32("a rank")?);
            let own = all.ranks.entry(rank).or_default();
            for _ in 0..from.count(5, "a number of functions that fits the remaining bytes")? {
                let function = FunctionId(from.varint32("a function")?);
                let bins = own.entry(function).or_default();
                let least = ModeCalls::LEAST + 4;
                for _ in 0..from.count(least, "a number of bins that fits the remaining bytes")? {
                    let bin = from.varint32("a bin")?;
                    let slow = SlowOfBin {
                        calls: ModeCalls::read(from)?,
                        noticed: from.varint("a number of calls")?,
                        steps: StepSums::read(from)?,
                        in_means: StepSums::read(from)?,
                    };
                    bins.insert(bin, slow);
                }
            }
        }
        for _ in 0..from.count(
            RunTimes::LEAST,
            "a number of functions that fits the remaining bytes",
        )? {
            let function = FunctionId(from.varint32("a function")?);
            all.functions.insert(function, RunTimes::read(from)?);
        }
        Ok(all)
    }
}

/// Slow calls of a client that are in a mode together with those of others.
pub(crate) struct InShared<'a> {
    client: u64,
    rank: (u32, u32),
    function: FunctionId,
    /// First bin of the mode.
    from: u32,
    /// End of its bins.
    until: u32,
    slow: &'a SlowOfBin,
}

impl<'a> InShared<'a> {
    /// Returns the calls as those of a mode of their client.
    pub(crate) fn of_client(&self) -> OfClient {
        OfClient {
            client: self.client,
            rank: self.rank,
            function: self.function,
            from: self.from,
            calls: self.slow.calls.ending(self.until),
        }
    }

    /// Returns the calls that are part of the means of ranks and steps, all of a bin with about the same run time.
    pub(crate) fn in_means(&self) -> Vec<Withdrawn> {
        let calls = &self.slow.calls;
        let mean = (calls.time.0 as f64 / calls.calls.max(1) as f64).max(1.0);
        let mut all = Vec::new();
        for (first, last, time) in self.slow.in_means.iter() {
            let count = (time as f64 / mean).round().min(calls.calls as f64) as u64;
            let count = count.min(MOST_WITHDRAWN);
            // Of steps that share a sum, all have as many.
            let width = (last - first).saturating_add(1);
            all.extend((0..count).map(|at| Withdrawn {
                rank: self.rank,
                step: first.saturating_add(at % width),
                function: self.function,
                time: Nanos(time / count as i64),
            }));
        }
        all
    }

    /// Returns the time lost by step, without that of alarms.
    pub(crate) fn steps(&self) -> impl Iterator<Item = ModeStep> + use<'a> {
        let ((program, rank), function) = (self.rank, self.function);
        let steps = self.slow.steps.iter();
        steps.map(move |(first, last, lost)| ModeStep {
            program,
            rank,
            function,
            first,
            last,
            lost: Nanos(lost),
        })
    }
}

/// Mode of a client.
struct Known {
    client: u64,
    bins: (usize, usize),
    calls: u64,
}

/// Slow calls of a function of all clients.
#[derive(Default)]
struct Pool<'a> {
    /// Client, rank, bin and slow calls.
    slow: Vec<(u64, (u32, u32), u32, &'a SlowOfBin)>,
    /// Modes of the clients.
    known: Vec<Known>,
    /// Run times of all calls.
    times: RunTimes,
}

/// Returns the slow calls outside of the modes of their clients that are in modes of other clients, or that are a mode
/// together by the rules for one detector of all ranks.
pub(crate) fn shared<'a>(clients: impl Iterator<Item = (u64, &'a ModeTimes)>) -> Vec<InShared<'a>> {
    let mut functions: BTreeMap<FunctionId, Pool<'a>> = BTreeMap::new();
    for (client, modes) in clients {
        for (rank, function, bin, slow) in modes.slow().iter() {
            let pool = functions.entry(function).or_default();
            pool.slow.push((client, rank, bin, slow));
        }
        for (_, (function, from), calls) in modes.calls().filter(|one| one.2.calls > 0) {
            let bins = (from as usize, calls.until() as usize);
            // Those of a damaged message may be any.
            if bins.0 < bins.1 && bins.1 <= MOST_BINS {
                functions.entry(function).or_default().known.push(Known {
                    client,
                    bins,
                    calls: calls.calls,
                });
            }
        }
        for (function, times) in &modes.slow().functions {
            functions.entry(*function).or_default().times.merge(times);
        }
    }
    let functions = functions.into_iter();
    let functions = functions.filter(|(_, pool)| !pool.slow.is_empty());
    functions
        .flat_map(|(function, pool)| pool.in_modes(function))
        .collect()
}

impl<'a> Pool<'a> {
    fn in_modes(self, function: FunctionId) -> Vec<InShared<'a>> {
        let mut times = Times::pooled(&self.times);
        for (_, _, bin, slow) in &self.slow {
            times.add_pooled(*bin as usize, slow);
        }
        let known = self.known.iter().map(|mode| (mode.bins, mode.calls));
        let mut all = Vec::new();
        for (from, until) in times.pooled_modes(known) {
            let known = self.known.iter();
            let known = known.filter(|mode| mode.bins.0 < until && from < mode.bins.1);
            let slow = self.slow.iter();
            let slow = slow.filter(|one| (from..until).contains(&(one.2 as usize)));
            // A wide mode has bins without calls.
            let bins = known.clone().map(|mode| mode.bins);
            let bins = bins.chain(slow.clone().map(|one| (one.2 as usize, one.2 as usize + 1)));
            let bins = bins.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)));
            let (from, until) = bins.unwrap_or((from, until));
            all.extend(slow.map(|(client, rank, _, slow)| {
                let own = known.clone().find(|mode| mode.client == *client);
                InShared {
                    client: *client,
                    rank: *rank,
                    function,
                    from: own.map_or(from, |own| own.bins.0) as u32,
                    until: until as u32,
                    slow,
                }
            }));
        }
        all
    }
}
