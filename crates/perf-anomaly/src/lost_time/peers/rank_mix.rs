//! Typical run times of a function by block, in which the mix of ranks has no influence.
//!
//! If fast ranks end first, the median of the remaining ones rises although none of them becomes slower. A
//! block in which ranks are missing is therefore compared within ranks: each of its ranks with its own
//! usual run time.

use super::slow_half::Halves;
use super::spells::median;
use crate::FunctionId;
use crate::lost_time::step_times::Step;
use std::collections::BTreeMap;

/// Fewest blocks with all ranks that show the usual run time of each.
const COMPLETE: usize = 3;
/// Number of rounds in which run times of ranks and of blocks are estimated from each other.
const ROUNDS: usize = 4;

/// Logarithms of the mean run times of a function in a block, with the numbers of the ranks.
type Logs = Vec<(usize, f64)>;

/// Returns the typical run time of a function in each block, in nanoseconds, given the sums of the blocks. If it is slow on
/// half of the ranks, that of the others.
pub(super) fn typical_times<'a>(
    function: FunctionId,
    blocks: impl IntoIterator<Item = &'a Step>,
    halves: &Halves,
) -> Vec<f64> {
    let mut numbers: BTreeMap<(u32, u32), usize> = BTreeMap::new();
    let all = (function, (0, 0))..=(function, (u32::MAX, u32::MAX));
    let blocks = blocks.into_iter().map(|cells| {
        let own = cells.range(all.clone());
        let own = own.filter(|((_, rank), _)| halves.is_typical(function, *rank));
        let log = own.map(|((_, rank), cell)| {
            let next = numbers.len();
            let number = *numbers.entry(*rank).or_insert(next);
            (number, cell.mean().max(1.0).ln())
        });
        log.collect()
    });
    let blocks: Vec<Logs> = blocks.collect();
    let logs = within_ranks(&blocks, numbers.len());
    logs.into_iter().map(f64::exp).collect()
}

/// Returns the typical log time of each block, given those of its ranks.
///
/// The log time of a rank in a block is the sum of a value of the block and one of the rank. If several blocks have all
/// ranks, their values are medians. The values of ranks are the medians of their differences from these,
/// those of other blocks the medians of their ranks without the values of these. Without complete blocks,
/// both are estimated in rounds, which begin with the differences of neighbouring blocks.
fn within_ranks(blocks: &[Logs], ranks: usize) -> Vec<f64> {
    let middle = |block: &Logs| median(&mut block.iter().map(|one| one.1).collect::<Vec<_>>());
    let is_complete = |block: &&Logs| block.len() == ranks;
    let has_complete = blocks.iter().filter(is_complete).count() >= COMPLETE;
    let mut typical = if has_complete {
        blocks.iter().map(middle).collect()
    } else {
        chained(blocks, ranks)
    };
    for _ in 0..if has_complete { 1 } else { ROUNDS } {
        let mut differences: Vec<Vec<f64>> = vec![Vec::new(); ranks];
        for (block, typical) in blocks.iter().zip(&typical) {
            if !has_complete || is_complete(&block) {
                for (rank, log) in block {
                    differences[*rank].push(log - typical);
                }
            }
        }
        let own: Vec<f64> = differences.iter_mut().map(|all| median(all)).collect();
        let common = median(&mut own.clone());
        for (block, typical) in blocks.iter().zip(&mut typical) {
            if !(block.is_empty() || has_complete && is_complete(&block)) {
                let logs = block.iter().map(|(rank, log)| log - (own[*rank] - common));
                *typical = median(&mut logs.collect::<Vec<_>>());
            }
        }
    }
    typical
}

/// Returns the sums of the median differences of the ranks from their last block.
fn chained(blocks: &[Logs], ranks: usize) -> Vec<f64> {
    // Typical log time of the last block of each rank, and its own.
    let mut last: Vec<Option<(f64, f64)>> = vec![None; ranks];
    let mut sum = 0.0;
    let sums = blocks.iter().map(|block| {
        let known = block.iter();
        let known = known.filter_map(|(rank, log)| last[*rank].map(|(of, own)| of + log - own));
        let mut known: Vec<f64> = known.collect();
        if !known.is_empty() {
            sum = median(&mut known);
        }
        for (rank, log) in block {
            last[*rank] = Some((sum, *log));
        }
        sum
    });
    sums.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns blocks of ranks with different run times, of which `is_there` returns `true`.
    fn blocks(is_there: impl Fn(usize, usize) -> bool, slow: std::ops::Range<usize>) -> Vec<Logs> {
        let log = |block: usize, rank: usize| {
            let noise = 0.001 * ((7 * block + 3 * rank) % 5) as f64;
            let phase = if slow.contains(&block) { 0.3 } else { 0.0 };
            0.1 * rank as f64 + noise + phase
        };
        let ranks = |block| (0..8).filter(|rank| is_there(block, *rank)).collect();
        let blocks = (0..24).map(|block| {
            let ranks: Vec<usize> = ranks(block);
            ranks
                .iter()
                .map(|rank| (*rank, log(block, *rank)))
                .collect()
        });
        blocks.collect()
    }

    #[test]
    fn the_mix_of_ranks_has_no_influence() {
        let until = |block: usize, rank: usize| block < 12 + 2 * rank;
        let window = |block: usize, rank: usize| (2 * rank..2 * rank + 10).contains(&block);
        for is_there in [&until as &dyn Fn(usize, usize) -> bool, &window] {
            for slow in [0..0, 14..17] {
                let blocks = blocks(is_there, slow.clone());
                let logs = within_ranks(&blocks, 8);
                for (at, log) in logs.iter().enumerate().take(20).skip(4) {
                    let planted = if slow.contains(&at) { 0.3 } else { 0.0 };
                    let excess = log - logs[8] - planted;
                    assert!(excess.abs() < 0.01, "{at}: {excess} {logs:?}");
                }
            }
        }
    }
}
