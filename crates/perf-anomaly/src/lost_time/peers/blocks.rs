//! [`Block`]: the ranks of some consecutive steps compared with each other; [`Blocks`]: blocks that were
//! compared and have not changed since.

use super::rank_mix::Levels;
use super::slow_ranks::FEW;
use super::spells::{Entry, OfFunction, median};
use super::{FunctionTimes, RANKS};
use crate::FunctionId;
use crate::lost_time::own_speed::AlarmSum;
use crate::lost_time::step_times::{Cell, Step};
use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

/// Comparison of the ranks in some consecutive steps.
#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    /// Times compared with the median rank, by program and rank, and the expected time with the usual differences of the
    /// rank, in nanoseconds.
    pub(super) ranks: Vec<((u32, u32), Entry, f64)>,
    /// Median times by function, with the number of ranks. Times are per call until they are compared with other steps.
    pub(super) functions: Vec<(FunctionId, Entry, usize)>,
    /// Median times per call of the functions in which ranks are compared.
    pub(super) compared: Vec<(FunctionId, f64)>,
    /// Abnormal calls that are part of the means, by rank and function.
    pub(super) own_alarms: Vec<((u32, u32), FunctionId, AlarmSum)>,
}

impl Block {
    /// Compares the ranks in the steps from `first` to `last`, given their sums, the ranks that call each
    /// function in any step, and the functions that are slow on half of them.
    pub(super) fn new(
        (first, last): (u64, u64),
        cells: &Step,
        functions: &BTreeMap<FunctionId, Arc<FunctionTimes>>,
        levels: &Levels,
    ) -> Self {
        let mut block = Block::default();
        let mut ranks: BTreeMap<(u32, u32), (Entry, f64)> = BTreeMap::new();
        let pairs = LazyCell::new(|| programs_of_two(functions));
        let cells: Vec<_> = cells.iter().collect();
        for own in cells.chunk_by(|one, other| one.0.0 == other.0.0) {
            let Some(((function, (program, _)), _)) = own.first() else {
                continue;
            };
            let alarmed = own.iter().filter(|(_, cell)| cell.alarms > 0);
            block
                .own_alarms
                .extend(alarmed.map(|((_, rank), cell)| (*rank, *function, alarms(cell))));
            let usual = own.iter().filter_map(|((_, rank), cell)| {
                let factor = levels.factor(*function, *rank)?;
                Some(cell.mean() / factor)
            });
            let mut means: Vec<f64> = usual.collect();
            if means.is_empty() {
                means.extend(own.iter().map(|(_, cell)| cell.mean()));
            }
            let typical = median(&mut means).max(1.0);
            // The median of few ranks depends on which they are.
            let of_function = functions.get(function).map_or(0, |times| times.ranks.len());
            if 2 * own.len() <= of_function {
                continue;
            }
            let calls: u64 = own.iter().map(|(_, cell)| cell.calls).sum();
            let entry = Entry {
                first,
                last,
                expected: calls as f64,
                lost: typical * calls as f64,
                variance: own.iter().map(|(_, cell)| cell.variance()).sum(),
                worst: None,
            };
            block.functions.push((*function, entry, own.len()));
            let is_pair = own.len() == 2 && pairs.contains(program);
            if own.len() < RANKS && !is_pair {
                continue;
            }
            // If several of few ranks are slow, the median is slow too.
            let fastest = own.iter().map(|(_, cell)| cell.mean());
            let fastest = fastest.fold(f64::INFINITY, f64::min).max(1.0);
            let typical = if is_pair { fastest } else { typical };
            block.compared.push((*function, typical));
            let reference = if FEW.contains(&own.len()) {
                fastest
            } else {
                typical
            };
            for ((_, rank), cell) in own {
                let expected = typical * cell.calls as f64;
                let lost = cell.time as f64 - expected;
                let (entry, own) = ranks.entry(*rank).or_default();
                *own += expected * levels.factor(*function, *rank).unwrap_or(1.0);
                (entry.first, entry.last) = (first, last);
                entry.expected += expected;
                entry.lost += lost;
                entry.variance += cell.variance();
                entry.add_worst(of_function_on(*function, cell, reference));
            }
        }
        let ranks = ranks.into_iter();
        block.ranks = ranks
            .map(|(rank, (entry, own))| (rank, entry, own))
            .collect();
        block
    }

    /// Returns the times of the functions on a rank, given the sums of the block and the ranks with which it is
    /// compared. Without any, it is compared with the median.
    pub(super) fn of_rank<'a>(
        &'a self,
        cells: &'a Step,
        rank: (u32, u32),
        references: &'a [(u32, u32)],
    ) -> impl Iterator<Item = OfFunction> + 'a {
        let compared = self.compared.iter();
        compared.filter_map(move |(function, typical)| {
            let cell = cells.get(&(*function, rank))?;
            let others = references
                .iter()
                .filter_map(|rank| cells.get(&(*function, *rank)));
            let (sum, count) = others.fold((0.0, 0), |(sum, count), other| {
                (sum + other.mean().max(1.0).ln(), count + 1)
            });
            let reference = match count {
                0 => *typical,
                count => (sum / f64::from(count)).exp(),
            };
            Some(of_function_on(*function, cell, reference))
        })
    }
}

/// Returns the programs of which two ranks have functions that are compared.
pub(super) fn programs_of_two(
    functions: &BTreeMap<FunctionId, Arc<FunctionTimes>>,
) -> BTreeSet<u32> {
    let mut programs: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for times in functions.values() {
        for (program, rank) in times.ranks.iter().take(RANKS) {
            let ranks = programs.entry(*program).or_default();
            if ranks.len() < RANKS {
                ranks.insert(*rank);
            }
        }
    }
    programs.retain(|_, ranks| ranks.len() == 2);
    programs.into_keys().collect()
}

/// Returns the time of a function on a rank, whose calls take the time `reference` on other ranks.
fn of_function_on(function: FunctionId, cell: &Cell, reference: f64) -> OfFunction {
    let expected = reference * cell.calls as f64;
    OfFunction {
        function,
        expected,
        lost: cell.time as f64 - expected,
    }
}

fn alarms(cell: &Cell) -> AlarmSum {
    let lost = i64::try_from(cell.alarmed).unwrap_or(i64::MAX);
    (cell.alarms, lost)
}

/// Block with the sums from which it was computed, and the number of pairs of functions and ranks and the halves then.
type Known = (Arc<Step>, usize, Arc<Levels>, Arc<Block>);

/// Blocks that were compared. They are computed again when their sums change. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Blocks(Arc<Mutex<BTreeMap<u64, Known>>>);

impl Blocks {
    /// Returns a block, which `compare` computes if it is not known for these sums and halves and as many `pairs`
    /// of functions and ranks.
    pub(super) fn get(
        &self,
        number: u64,
        (cells, pairs, levels): (&Arc<Step>, usize, &Arc<Levels>),
        compare: impl FnOnce() -> Block,
    ) -> Arc<Block> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((step, of, then, block)) = known.get(&number)
            && Arc::ptr_eq(step, cells)
            && *of == pairs
            && (Arc::ptr_eq(then, levels) || then == levels)
        {
            return Arc::clone(block);
        }
        let block = Arc::new(compare());
        let of = (
            Arc::clone(cells),
            pairs,
            Arc::clone(levels),
            Arc::clone(&block),
        );
        known.insert(number, of);
        block
    }

    /// Forgets a block whose sums change.
    pub(super) fn forget(&self, number: u64) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.remove(&number);
    }

    /// Forgets all blocks.
    pub(super) fn clear(&self) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }
}
