//! Typical run times of a function by block, in which the mix of ranks has no influence; [`Levels`]: differences of the usual
//! run times of functions between ranks.
//!
//! If fast ranks end first, the median of the remaining ones rises although none of them becomes slower. A
//! block in which ranks are missing is therefore compared within ranks: each of its ranks with its own
//! usual run time.

use super::slow_half::slow_half;
use super::spells::{deviation, median};
use crate::FunctionId;
use crate::lost_time::step_times::Step;
use std::collections::{BTreeMap, BTreeSet};

/// Fewest blocks with all ranks that show the usual run time of each.
const COMPLETE: usize = 3;
/// Number of rounds in which run times of ranks and of blocks are estimated from each other.
const ROUNDS: usize = 4;
/// Fewest calls of a rank that show its speed.
const CALLS: u64 = 3;
/// Fewest ranks with levels. The median of fewer is compared with the [fastest](super::slow_ranks::FEW).
const RANKS: usize = 5;
/// Smallest difference in log time between ranks, without an eighth of them at each end.
const DIFFERENT: f64 = 0.03;
/// Smallest such difference in standard errors.
const SCORE: f64 = 4.0;

/// Logarithms of the mean run times of a function in a block, with the numbers of the ranks.
type Logs = Vec<(usize, f64)>;

/// Returns the typical run time of a function in each block, in nanoseconds, given the sums of the blocks. If it is slow on
/// half of the ranks, that of the others.
pub(super) fn typical_times<'a>(
    function: FunctionId,
    blocks: impl IntoIterator<Item = &'a Step>,
    levels: &Levels,
) -> Vec<f64> {
    let mut numbers: BTreeMap<(u32, u32), usize> = BTreeMap::new();
    let all = (function, (0, 0))..=(function, (u32::MAX, u32::MAX));
    let blocks = blocks.into_iter().map(|cells| {
        let own = cells.range(all.clone());
        let log = own.filter_map(|((_, rank), cell)| {
            let factor = levels.factor(function, *rank)?;
            let next = numbers.len();
            let number = *numbers.entry(*rank).or_insert(next);
            Some((number, (cell.mean() / factor).max(1.0).ln()))
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

/// Time and number of the calls of a function on a rank.
type Sum = ((FunctionId, (u32, u32)), f64, u64);

/// Adds the cells of a block to sums in ascending order of function and rank. Most blocks have the same ones:
/// 16 blocks of 20 functions on 2,560 ranks take 15 ms, and 100 ms if all cells are sorted.
fn add(sums: &mut Vec<Sum>, block: &Step) {
    let (mut at, mut new) = (0, Vec::new());
    for (key, cell) in block {
        while sums.get(at).is_some_and(|sum| sum.0 < *key) {
            at += 1;
        }
        match sums.get_mut(at).filter(|sum| sum.0 == *key) {
            Some((_, time, calls)) => {
                *time += cell.time as f64;
                *calls = calls.saturating_add(cell.calls);
            }
            None => new.push((*key, cell.time as f64, cell.calls)),
        }
    }
    if !new.is_empty() {
        sums.append(&mut new);
        sums.sort_unstable_by_key(|sum| sum.0);
    }
}

/// Differences of the usual run times of functions between ranks.
///
/// Ranks may have other work, by their place in a grid or by design. If two kinds of ranks differ, and some ranks of
/// one kind become slower, the median of the ranks moves from the one kind to the other one. The median without the
/// differences stays.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Levels(BTreeMap<FunctionId, Differences>);

/// Differences of the usual run times of a function between ranks.
#[derive(Clone, Debug, Default, PartialEq)]
struct Differences {
    /// Ranks of the half that becomes slow; often none.
    slow: BTreeSet<(u32, u32)>,
    /// Spread of the other half in log time; 0 without halves.
    spread: f64,
    /// Factors by which calls on the others take longer than on the median one; empty if they hardly differ.
    factors: BTreeMap<(u32, u32), f64>,
}

impl Levels {
    /// Finds the differences in the sums of some blocks.
    pub(super) fn of<'a>(blocks: impl Iterator<Item = &'a Step>) -> Self {
        let blocks: Vec<&Step> = blocks.collect();
        let mut sums: Vec<Sum> = Vec::new();
        blocks.iter().for_each(|block| add(&mut sums, block));
        let functions = sums.chunk_by(|one, other| one.0.0 == other.0.0);
        let functions = functions.filter_map(|own| {
            let (function, (program, _)) = own[0].0;
            let log = |((_, rank), time, calls): &Sum| {
                let is_known = rank.0 == program && *calls >= CALLS;
                is_known.then(|| (time / *calls as f64).max(1.0).ln())
            };
            let logs: Option<Vec<f64>> = own.iter().map(log).collect();
            let logs = logs.filter(|logs| logs.len() >= RANKS && width(logs) >= DIFFERENT)?;
            let ranks: Vec<(u32, u32)> = own.iter().map(|sum| sum.0.1).collect();
            let all = own[0].0..=own[own.len() - 1].0;
            let complete = blocks.iter().filter_map(|block| {
                let cells = block.range(all.clone());
                let logs = cells.map(|(_, cell)| cell.mean().max(1.0).ln());
                Some(logs.collect::<Vec<_>>()).filter(|logs| logs.len() == ranks.len())
            });
            let complete: Vec<Vec<f64>> = complete.collect();
            let half = slow_half(&complete).unwrap_or_else(|| (vec![false; logs.len()], 0.0));
            let differences = Differences::of(&ranks, &half, &complete);
            differences.map(|differences| (function, differences))
        });
        Levels(functions.collect())
    }

    /// Returns the factor by which calls of a function usually take longer on a rank than on the median one; `None` if it is
    /// one of the half that becomes slow.
    pub(super) fn factor(&self, function: FunctionId, rank: (u32, u32)) -> Option<f64> {
        let Some(differences) = self.0.get(&function) else {
            return Some(1.0);
        };
        let factor = differences.factors.get(&rank).copied();
        (!differences.slow.contains(&rank)).then(|| factor.unwrap_or(1.0))
    }

    /// Returns the functions that become slow on half of the ranks, with these and the spread of the others in log time.
    pub(super) fn halves(&self) -> impl Iterator<Item = (FunctionId, &BTreeSet<(u32, u32)>, f64)> {
        let all = self.0.iter();
        all.map(|(function, of)| (*function, &of.slow, of.spread))
    }
}

impl Differences {
    /// Returns the differences between ranks that are not in the slow half, given the log times of all in some blocks; `None`
    /// if they hardly differ, and there is no slow half.
    fn of(
        ranks: &[(u32, u32)],
        (slow, spread): &(Vec<bool>, f64),
        blocks: &[Vec<f64>],
    ) -> Option<Self> {
        let usual: Vec<usize> = (0..ranks.len()).filter(|at| !slow[*at]).collect();
        let mut excess: Vec<Vec<f64>> = vec![Vec::new(); usual.len()];
        for logs in blocks {
            let own = usual.iter().map(|at| logs[*at]);
            let typical = median(&mut own.clone().collect::<Vec<_>>());
            excess
                .iter_mut()
                .zip(own)
                .for_each(|(all, log)| all.push(log - typical));
        }
        let levels: Vec<f64> = excess.iter().map(|all| median(&mut all.clone())).collect();
        let rests = excess.iter().zip(&levels);
        let rests = rests.flat_map(|(all, level)| all.iter().map(move |log| log - level));
        let error = deviation(rests) / (blocks.len().max(1) as f64).sqrt();
        let slow = ranks.iter().zip(slow).filter(|(_, is_slow)| **is_slow);
        let mut differences = Differences {
            slow: slow.map(|(rank, _)| *rank).collect(),
            spread: *spread,
            factors: BTreeMap::new(),
        };
        if width(&levels) >= DIFFERENT.max(SCORE * error) {
            let common = median(&mut levels.clone());
            let own = usual.iter().zip(&levels);
            let own = own.map(|(at, level)| (ranks[*at], (level - common).exp()));
            differences.factors = own.collect();
        }
        (differences != Differences::default()).then_some(differences)
    }
}

/// Returns the range of values without an eighth of them at each end.
fn width(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let high = (sorted.len() - 1) * 7 / 8;
    sorted[high] - sorted[sorted.len() - 1 - high]
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
