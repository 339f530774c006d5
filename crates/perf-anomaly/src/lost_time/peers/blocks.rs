//! [`Block`]: the ranks of some consecutive steps compared with each other; [`Blocks`]: blocks that were
//! compared and have not changed since.

use super::slow_ranks::FEW;
use super::spells::{Entry, median};
use super::{FunctionTimes, RANKS};
use crate::FunctionId;
use crate::lost_time::own_speed::AlarmSum;
use crate::lost_time::step_times::{Cell, Step};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Comparison of the ranks in some consecutive steps.
#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    /// Times compared with the median rank, by program and rank.
    pub(super) ranks: Vec<((u32, u32), Entry)>,
    /// Median times by function. Times are per call until they are compared with other steps.
    pub(super) functions: Vec<(FunctionId, Entry)>,
    /// Abnormal calls that are part of the means, by rank and function.
    pub(super) own_alarms: Vec<((u32, u32), FunctionId, AlarmSum)>,
}

impl Block {
    /// Compares the ranks in the steps from `first` to `last`, given their sums and the ranks that call each
    /// function in any step.
    pub(super) fn new(
        (first, last): (u64, u64),
        cells: &Step,
        functions: &BTreeMap<FunctionId, Arc<FunctionTimes>>,
    ) -> Self {
        let mut block = Block::default();
        let mut ranks: BTreeMap<(u32, u32), Entry> = BTreeMap::new();
        let cells: Vec<_> = cells.iter().collect();
        for own in cells.chunk_by(|one, other| one.0.0 == other.0.0) {
            let Some(((function, _), _)) = own.first() else {
                continue;
            };
            let alarmed = own.iter().filter(|(_, cell)| cell.alarms > 0);
            block
                .own_alarms
                .extend(alarmed.map(|((_, rank), cell)| (*rank, *function, alarms(cell))));
            let mut means: Vec<f64> = own.iter().map(|(_, cell)| cell.mean()).collect();
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
            block.functions.push((*function, entry));
            if own.len() < RANKS {
                continue;
            }
            // If several of few ranks are slow, the median is slow too.
            let fastest = own.iter().map(|(_, cell)| cell.mean());
            let fastest = fastest.fold(f64::INFINITY, f64::min);
            let compared = if FEW.contains(&own.len()) {
                fastest
            } else {
                typical
            };
            for ((_, rank), cell) in own {
                let expected = typical * cell.calls as f64;
                let lost = cell.time as f64 - expected;
                let entry = ranks.entry(*rank).or_default();
                (entry.first, entry.last) = (first, last);
                entry.expected += expected;
                entry.lost += lost;
                entry.variance += cell.variance();
                let excess = cell.time as f64 - compared * cell.calls as f64;
                entry.add_worst(*function, excess);
            }
        }
        block.ranks = ranks.into_iter().collect();
        block
    }
}

fn alarms(cell: &Cell) -> AlarmSum {
    let lost = i64::try_from(cell.alarmed).unwrap_or(i64::MAX);
    (cell.alarms, lost)
}

/// Block with the sums from which it was computed, and the number of pairs of functions and ranks then.
type Known = (Arc<Step>, usize, Arc<Block>);

/// Blocks that were compared. They are computed again when their sums change. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Blocks(Arc<Mutex<BTreeMap<u64, Known>>>);

impl Blocks {
    /// Returns a block, which `compare` computes if it is not known for these sums and as many `pairs` of
    /// functions and ranks.
    pub(super) fn get(
        &self,
        number: u64,
        (cells, pairs): (&Arc<Step>, usize),
        compare: impl FnOnce() -> Block,
    ) -> Arc<Block> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((step, of, block)) = known.get(&number)
            && Arc::ptr_eq(step, cells)
            && *of == pairs
        {
            return Arc::clone(block);
        }
        let block = Arc::new(compare());
        known.insert(number, (Arc::clone(cells), pairs, Arc::clone(&block)));
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
