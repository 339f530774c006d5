//! [`Peers`]: compares the run times of functions between ranks and between steps, and finds each slow rank
//! and each slow phase, with the time that they lose.

mod after_peers;
mod blocks;
mod borders;
mod encoding;
mod entries;
mod found;
mod own_steps;
mod rank_mix;
mod slow_half;
mod slow_phases;
mod slow_ranks;
mod spells;

use super::modes::RunCall;
use super::own_speed::{OwnAlarms, Withdrawn};
use super::step_times::{Step, StepTimes, cells};
use crate::{FunctionId, Judgement, Sample};
use blocks::{Block, Blocks, programs_of_two};
use perf_core::{Merge, Nanos};
use rank_mix::{Levels, typical_times};
use spells::{ENTRIES, Series};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Largest number of blocks of steps whose calls may still arrive.
const BLOCKS: usize = 512;
/// Fewest of these blocks into which the steps of a run are grouped to save memory.
const LEAST_BLOCKS: usize = 64;
/// Largest number of sums of single steps: 10 MB.
const SINGLE: usize = 1 << 17;
/// Number of open blocks with which one that is closed is compared if ranks are missing, and of those that show
/// whether half of the ranks become slow.
const COMPARED: usize = 16;
/// Largest number of sums of these blocks: 40 MB.
const SUMS: usize = 1 << 19;
/// Largest number of entries of the closed blocks of all ranks: 40 MB.
const ENTRIES_OF_RANKS: usize = 1 << 19;
/// Fewest entries of the closed blocks of a rank.
const LEAST_ENTRIES: usize = 16;
/// Fewest ranks of which one can be slow, in a program of more than two.
const RANKS: usize = 3;
/// Fewest calls of the worst function on a slow rank of two.
const CALLS_OF_PAIR: u64 = 16;
/// Decomposition of the time of functions by rank and step.
///
/// The mean run time of a function on a rank in a step is compared with its peers: the median of the
/// ranks in the same step, and that median in other steps.
///
/// ```text
/// log(mean of function f on rank r in step s) = typical(f) + step(f, s) + rank(r, s) + rest
/// ```
///
/// * A [slow rank](super::SlowRank) takes longer than the median rank, over all functions, in consecutive
///   steps. Its calls are compared with at least two other ranks, or with the other one of two.
///   More than half of the ranks that call a function must do so in a step. Ranks may have different work, by their
///   place in a grid or by design: from five ranks on, one that becomes slower is compared with its own other steps, as long
///   as calls of all steps may arrive. A
///   rank that is slow in all steps may have more work. A function that becomes slow on half of the ranks is compared with
///   the other half, and its ranks also in this function alone.
/// * A [slow phase](super::SlowPhase) of a function is a range of consecutive steps in which its median
///   over ranks is above that of other steps.
///
/// Abnormal calls, first calls, and calls of MPI are not part of the means. Calls of MPI take longer
/// where a rank waits for a slow one. Abnormal calls that take as long as the other calls of their rank
/// are part of them: one slow rank of many is abnormal in all its calls.
///
/// The median of three or four ranks contains a slow one if two are slow. Then ranks are compared with the
/// two fastest of four, or the fastest of three, and a slow rank of four takes 10 % longer in at least
/// three steps, one of three 20 %. Two ranks are compared with each other: one is slow from 20 % on, which
/// may be more work, or from 10 % on if other steps are faster.
///
/// Without barriers, the peers of a slow rank end before it: its later calls are compared with their last times.
///
/// Calls may arrive in any order, also all calls of a rank after those of the others, and the result does
/// not depend on it. Memory is bounded: of more than 512 steps, neighbours are added up to blocks, and of
/// fewer if there are more than 2<sup>19</sup> sums of a function on a rank in a block. Beyond 4,096 to
/// 8,192 functions of ranks, which fill 64 to 128 blocks, the earliest blocks are closed instead. Calls that
/// arrive [later](Self::late) than that are counted and not compared. Of each rank 512 closed blocks are kept,
/// and fewer beyond 1,024 ranks: neighbours are added up.
///
/// ```
/// use perf_anomaly::lost_time::Peers;
/// use perf_anomaly::{FunctionId, Judgement, Sample};
/// use perf_core::Nanos;
/// let mut peers = Peers::default();
/// for step in 0..2 {
///     for rank in 0..8 {
///         let slow: i64 = if rank == 5 { 13 } else { 10 };
///         let call = |at: i64| Sample {
///             function: FunctionId(0),
///             runtime: Nanos(slow * (100_000 + at * 37 % 1000)),
///             first: false,
///         };
///         let calls: Vec<Sample> = (0..100).map(call).collect();
///         peers.add((0, rank), step, (&calls, &[Judgement::default(); 100]), &[], |_| true);
///     }
///     peers.end_step();
/// }
/// let [slow] = peers.slow_ranks()[..] else { panic!("one slow rank") };
/// assert_eq!((slow.rank, slow.first, slow.lasts), (5, 0, true));
/// assert!((slow.factor - 1.3).abs() < 0.001);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Peers {
    /// Blocks of steps whose calls may still arrive.
    open: StepTimes,
    /// Steps of these blocks, which show where a slow rank or phase begins and ends; `None` if a block is one step,
    /// or there are too many.
    single: Option<StepTimes>,
    /// Block before which all blocks are closed.
    closed: u64,
    /// Times compared with the median rank in closed blocks, by program and rank.
    ranks: BTreeMap<(u32, u32), Arc<Series>>,
    /// Median times in closed blocks, and ranks, by function.
    functions: BTreeMap<FunctionId, Arc<FunctionTimes>>,
    /// Number of ranks of all functions.
    pairs: usize,
    /// Number of calls that arrived after their block was closed.
    late: u64,
    /// Abnormal calls that are part of the means in closed blocks.
    own_alarms: OwnAlarms,
    /// Open blocks that were compared.
    blocks: Blocks,
}

/// Times of a function.
#[derive(Clone, Debug, Default)]
struct FunctionTimes {
    /// Times of closed blocks.
    series: Series,
    /// Ranks that called it, by program and number.
    ranks: BTreeSet<(u32, u32)>,
}

impl Peers {
    /// Sets the number of steps that are compared as one, default 1. Use it if most functions have less
    /// than a few calls on a rank in a step.
    pub fn grouped(mut self, steps: u64) -> Self {
        self.open.set_group(steps);
        self.single = (self.group() > 1).then(StepTimes::default);
        self
    }

    /// Adds calls of a rank, given by program and number, in a step. Normal calls of the functions for
    /// which `takes_part` returns `true` are compared, without those at the indices `skipped`, which
    /// are in ascending order.
    pub fn add(
        &mut self,
        rank: (u32, u32),
        step: u64,
        judged: (&[Sample], &[Judgement]),
        skipped: &[usize],
        takes_part: impl Fn(FunctionId) -> bool,
    ) {
        let block = step / self.group();
        let cells = cells(judged, skipped);
        let cells = || {
            let all = cells.unordered();
            all.filter(|(function, _)| takes_part(*function))
        };
        if block < self.closed {
            self.late += cells().map(|(_, cell)| cell.calls).sum::<u64>();
            return;
        }
        if let Some(single) = &mut self.single {
            let single = single.step(step);
            for (function, cell) in cells() {
                single.entry((function, rank)).or_default().merge(cell);
            }
        }
        self.blocks.forget(block);
        let open = self.open.step(block);
        for (function, cell) in cells() {
            open.entry((function, rank)).or_default().merge(cell);
            add_rank((&mut self.functions, &mut self.pairs), function, rank);
        }
    }

    /// Returns the number of steps that are compared as one.
    pub(crate) fn group(&self) -> u64 {
        self.open.group()
    }

    /// Takes calls back that are part of new modes, if their steps are open.
    pub(crate) fn withdraw(&mut self, calls: &[Withdrawn]) {
        for call in calls {
            let step = call.step / self.group();
            let key = (call.function, call.rank);
            let Some(open) = self.open.steps.get_mut(&step) else {
                continue;
            };
            self.blocks.forget(step);
            withdraw(Arc::make_mut(open), key, call.time);
            let single = self.single.as_mut();
            let single = single.and_then(|all| all.steps.get_mut(&call.step));
            if let Some(single) = single {
                withdraw(Arc::make_mut(single), key, call.time);
            }
        }
    }

    /// Adds slow calls that are the speed of their rank, and were not part of the means.
    pub(super) fn add_run(&mut self, calls: &[RunCall]) {
        for one in calls.iter().filter(|one| !one.in_means) {
            let step = one.call.step / self.group();
            if step < self.closed {
                self.late += 1;
                continue;
            }
            self.blocks.forget(step);
            let (function, rank) = (one.call.function, one.call.rank);
            let single = self.single.as_mut().map(|all| all.step(one.call.step));
            for cells in [Some(self.open.step(step)), single].into_iter().flatten() {
                let cell = cells.entry((function, rank)).or_default();
                cell.add_call(one.call.time, one.alarmed);
            }
            add_rank((&mut self.functions, &mut self.pairs), function, rank);
        }
    }

    /// Returns the number of ranks that call a function.
    pub(super) fn ranks_of(&self, function: FunctionId) -> usize {
        let times = self.functions.get(&function);
        times.map_or(0, |times| times.ranks.len())
    }

    /// Ends a step. If there are too many blocks, they are grouped, or the earliest ones are closed.
    pub fn end_step(&mut self) {
        self.single.take_if(|all| all.len() > SINGLE);
        loop {
            let blocks = self.open.steps.len();
            if blocks <= BLOCKS && self.open.len() <= SUMS {
                return;
            }
            if self.closed == 0 && blocks >= 2 * LEAST_BLOCKS {
                self.open.coarsen();
                self.blocks.clear();
            } else {
                self.close_first();
            }
        }
    }

    /// Closes the first open block.
    fn close_first(&mut self) {
        let Some((number, cells)) = self.open.steps.pop_first() else {
            return;
        };
        self.blocks.forget(number);
        let steps = self.steps_of(number);
        // Whether a function becomes slow on half of the ranks shows in many blocks only.
        let levels = Levels::default();
        let block = Block::new(steps, &cells, &self.functions, &levels);
        let ranks = self.ranks.len().max(block.ranks.len()).max(1);
        let most = (ENTRIES_OF_RANKS / ranks).clamp(LEAST_ENTRIES, ENTRIES);
        for (rank, entry, _) in block.ranks {
            Arc::make_mut(self.ranks.entry(rank).or_default()).push(entry, most);
        }
        for (function, mut entry, ranks) in block.functions {
            if self.lacks_ranks(function, ranks) {
                let open = self.open.steps.values().take(COMPARED);
                let steps = std::iter::once(&cells).chain(open);
                let typical = typical_times(function, steps.map(|step| &**step), &levels);
                entry.lost = typical
                    .first()
                    .map_or(entry.lost, |time| time * entry.expected);
            }
            let times = self.functions.entry(function).or_default();
            Arc::make_mut(times).series.push(entry, ENTRIES);
        }
        let (first, _) = self.steps_of(number);
        for (rank, function, alarms) in block.own_alarms {
            self.own_alarms.add(rank, first, function, alarms);
        }
        self.closed = number.saturating_add(1);
    }

    /// Returns the first and the last step of a block.
    fn steps_of(&self, number: u64) -> (u64, u64) {
        let first = number.saturating_mul(self.group());
        (first, first.saturating_add(self.group() - 1))
    }

    /// Adds sums of steps from other ranks. The first ones decide how many steps are compared as one.
    pub(crate) fn add_times(&mut self, times: &StepTimes) {
        if self.closed == 0 {
            let group = self.group();
            self.open.regroup(times);
            if self.group() != group {
                self.blocks.clear();
            }
        }
        // The first step that is open, in the groups of the other ranks.
        let first = self.closed.saturating_mul(self.group());
        let first = first.div_ceil(times.group());
        let late = times
            .steps
            .range(..first)
            .flat_map(|(_, cells)| cells.values());
        self.late = late.fold(self.late, |sum, cell| sum.saturating_add(cell.calls));
        for (step, cells) in times.steps.range(first..) {
            let number = step.saturating_mul(times.group()) / self.group();
            self.blocks.forget(number);
            for (function, rank) in cells.keys() {
                add_rank((&mut self.functions, &mut self.pairs), *function, *rank);
            }
        }
        self.open.add_from(times, first);
    }

    /// Returns the comparison of the ranks in an open block.
    fn block(&self, number: u64, cells: &Arc<Step>, levels: &Arc<Levels>) -> Arc<Block> {
        let compare = || Block::new(self.steps_of(number), cells, &self.functions, levels);
        let of = (cells, self.pairs, levels);
        self.blocks.get(number, of, compare)
    }

    /// Returns the differences of functions between ranks in some of the open blocks.
    fn levels(&self) -> Arc<Levels> {
        let open = &self.open.steps;
        let blocks = open.values().step_by(open.len().div_ceil(COMPARED).max(1));
        Arc::new(Levels::of(blocks.map(|cells| &**cells)))
    }

    /// Excludes a function from the slow phases because it does different work in other steps.
    pub(crate) fn ignore_phases(&mut self, function: FunctionId) {
        self.open.without_phases.insert(function);
    }

    /// Returns `true` for a function that was compared, which does not wait for others.
    pub fn compares(&self, function: FunctionId) -> bool {
        self.functions.contains_key(&function)
    }

    /// Returns `true` if two ranks of a program are compared with each other: both call a function, and no other rank of
    /// the program has functions that are compared.
    ///
    /// ```
    /// use perf_anomaly::lost_time::Peers;
    /// use perf_anomaly::{Judgement, Sample};
    /// let mut peers = Peers::default();
    /// for rank in 0..2 {
    ///     assert!(!peers.has_two_ranks());
    ///     peers.add((0, rank), 0, (&[Sample::default()], &[Judgement::default()]), &[], |_| true);
    /// }
    /// assert!(peers.has_two_ranks());
    /// ```
    pub fn has_two_ranks(&self) -> bool {
        let pairs = programs_of_two(&self.functions);
        let mut functions = self.functions.values().filter(|one| one.ranks.len() == 2);
        functions.any(|one| one.ranks.iter().all(|rank| pairs.contains(&rank.0)))
    }

    /// Returns the number of calls that arrived after their block was closed, and were not compared.
    pub fn late(&self) -> u64 {
        self.late
    }
}

/// Takes a call back.
fn withdraw(cells: &mut Step, key: (FunctionId, (u32, u32)), time: Nanos) {
    if let Some(cell) = cells.get_mut(&key) {
        cell.remove(u64::try_from(time.0).unwrap_or_default());
        if cell.calls == 0 {
            cells.remove(&key);
        }
    }
}

/// Adds a rank to those of a function.
fn add_rank(
    (functions, pairs): (&mut BTreeMap<FunctionId, Arc<FunctionTimes>>, &mut usize),
    function: FunctionId,
    rank: (u32, u32),
) {
    let times = functions.entry(function).or_default();
    if !times.ranks.contains(&rank) {
        Arc::make_mut(times).ranks.insert(rank);
        *pairs += 1;
    }
}

/// Adds the calls of open steps. Steps that are closed in one of the two cannot be compared with the
/// ranks of the other.
impl Merge for Peers {
    fn merge(&mut self, other: &Self) {
        self.late = self.late.saturating_add(other.late);
        self.add_times(&other.open);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format_version::Writer;

    /// Of 10,000 ranks, 52 open blocks and 52 entries of closed ones are kept.
    #[test]
    fn memory_is_bounded_with_many_ranks() {
        let mut peers = Peers::default();
        for step in 0..300 {
            for rank in 0..10_000 {
                let usual = 1_000_000 + i64::from(rank * 31 % 1000) + 7 * step as i64 % 1000;
                let is_slow = rank == 5 || rank == 7 && step >= 150;
                let call = Sample {
                    function: FunctionId(0),
                    runtime: Nanos(if is_slow { usual * 13 / 10 } else { usual }),
                    first: false,
                };
                peers.add(
                    (0, rank),
                    step,
                    (&[call], &[Judgement::default()]),
                    &[],
                    |_| true,
                );
            }
            peers.end_step();
        }
        let most = peers.ranks.values().map(|series| series.entries().len());
        assert!(most.max().unwrap_or_default() <= ENTRIES_OF_RANKS / 10_000);
        assert!(peers.memory() < 150_000_000, "{}", peers.memory());
        let mut to = Writer::default();
        peers.write(&mut to);
        assert!(to.0.len() < 60_000_000, "{}", to.0.len());
        let [slow, later] = peers.slow_ranks()[..] else {
            panic!("two slow ranks")
        };
        assert_eq!((slow.rank, slow.first, slow.last), (5, 0, 299));
        // Closed blocks are added up.
        assert!(later.first.abs_diff(150) < 8, "{later:?}");
        assert_eq!((later.rank, later.last), (7, 299));
        let lost = slow.lost.0 as f64 / (300.0 * 0.3 * 1_000_500.0);
        assert!((lost - 1.0).abs() < 0.01, "{lost}");
    }
}
