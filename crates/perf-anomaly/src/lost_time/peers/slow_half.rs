//! [`Halves`]: functions that become slow on half of the ranks, with the fast ranks of each.

use super::Peers;
use super::slow_phases::drift;
use super::slow_ranks::{RANK_SCORE, SLOW_RANK, SlowEntries, slow_rank, uncertain};
use super::spells::{Bounds, Entry, NOISE, Spell, joined, median, spells};
use crate::FunctionId;
use crate::lost_time::step_times::Step;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Smallest relative excess of the slow half.
pub(super) const SLOW_HALF: f64 = 0.05;
/// Smallest distance between the fast and the slow half, relative to the distances within a half.
const APART: f64 = 2.0;
/// Fewest ranks with halves. The median of fewer is compared with the [fastest](super::slow_ranks::FEW).
const RANKS: usize = 8;
/// Fewest calls of a rank that show its speed.
const CALLS: u64 = 8;
/// Fewest blocks that show whether the halves were equal.
const BLOCKS: usize = 8;
/// Part of the blocks in which they must have been so.
const PART: usize = 8;
/// Largest distance of the halves then, relative to the largest one.
const EQUAL: f64 = 0.5;
/// Smallest increase of the distance, in standard errors.
const RISE_SCORE: f64 = 6.0;

/// Returns the spread of the fast half of an even number of ranks, given by the log times of both halves in ascending
/// order, if the slow half is apart from it. The median is then between the halves, and their distance is taken for a
/// usual spread between ranks.
pub(super) fn spread_of_fast_half<T>(fast: &[(f64, T)], slow: &[(f64, T)]) -> Option<f64> {
    let width = |half: &[(f64, T)]| Some(half.last()?.0 - half.first()?.0);
    let widest = width(fast)?.max(width(slow)?).max(NOISE);
    let apart = slow.first()?.0 - fast.last()?.0;
    let is_wide = apart >= SLOW_HALF.ln_1p().max(APART * widest);
    (fast.len() == slow.len() && is_wide).then_some(0.5 * widest)
}

/// Returns `true` if the distance of two halves of the ranks rises from about none, given the distance in log time in
/// some blocks.
///
/// Ranks that differ since the start may have more work, by their place in a grid or by design, and no time is lost.
fn rises(distances: &[f64]) -> bool {
    if distances.len() < BLOCKS {
        return false;
    }
    let size = distances.len().div_ceil(PART);
    let means = distances.windows(size);
    let means: Vec<f64> = means
        .map(|part| part.iter().sum::<f64>() / size as f64)
        .collect();
    let steps: Vec<f64> = distances.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let drift = drift(&steps);
    let noise = uncertain(steps.into_iter().map(|step| step - drift)) / std::f64::consts::SQRT_2;
    let least = SLOW_HALF
        .ln_1p()
        .max(RISE_SCORE * noise / (size as f64).sqrt());
    let mut low = f64::INFINITY;
    means.into_iter().any(|mean| {
        low = low.min(mean);
        low <= EQUAL * mean && mean - low.max(0.0) >= least
    })
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

/// Fast ranks of the functions that become slow on half of the ranks.
///
/// The median of the run times on all ranks is between the halves. If the ranks of one half become slower, it rises with
/// them, and half of their time would be a slow phase of all ranks.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Halves(BTreeMap<FunctionId, Half>);

/// Fast half of the ranks of a function.
#[derive(Clone, Debug, Default, PartialEq)]
struct Half {
    fast: BTreeSet<(u32, u32)>,
    slow: BTreeSet<(u32, u32)>,
    /// Spread of the fast half in log time.
    spread: f64,
}

impl Half {
    /// Returns the distance in log time between the medians of the halves in a block; `None` unless both are called.
    fn distance(&self, function: FunctionId, block: &Step) -> Option<f64> {
        let middle = |ranks: &BTreeSet<(u32, u32)>| {
            let cells = ranks
                .iter()
                .filter_map(|rank| block.get(&(function, *rank)));
            let mut logs: Vec<f64> = cells.map(|cell| cell.mean().max(1.0).ln()).collect();
            (!logs.is_empty()).then(|| median(&mut logs))
        };
        Some(middle(&self.slow)? - middle(&self.fast)?)
    }
}

impl Halves {
    /// Finds the halves in the sums of some blocks.
    pub(super) fn of<'a>(blocks: impl Iterator<Item = &'a Step>) -> Self {
        let blocks: Vec<&Step> = blocks.collect();
        let mut sums: Vec<Sum> = Vec::new();
        blocks.iter().for_each(|block| add(&mut sums, block));
        let halves = sums.chunk_by(|one, other| one.0.0 == other.0.0);
        let halves = halves.filter_map(|own| {
            let (function, (program, _)) = own[0].0;
            let log = |((_, rank), time, calls): &Sum| {
                let is_known = rank.0 == program && *calls >= CALLS;
                is_known.then(|| ((time / *calls as f64).max(1.0).ln(), *rank))
            };
            let order: Option<Vec<(f64, (u32, u32))>> = own.iter().map(log).collect();
            let mut order = order.filter(|order| order.len() >= RANKS)?;
            order.sort_by(|one, other| one.0.total_cmp(&other.0));
            let (fast, slow) = order.split_at(order.len() / 2);
            let spread = spread_of_fast_half(fast, slow)?;
            let ranks = |half: &[(f64, (u32, u32))]| half.iter().map(|one| one.1).collect();
            let half = Half {
                fast: ranks(fast),
                slow: ranks(slow),
                spread,
            };
            let distances = blocks
                .iter()
                .filter_map(|block| half.distance(function, block));
            rises(&distances.collect::<Vec<_>>()).then_some((function, half))
        });
        Halves(halves.collect())
    }

    /// Returns `true` if a function on a rank is compared with others: it is one of the fast ones, or there are no halves.
    pub(super) fn is_typical(&self, function: FunctionId, rank: (u32, u32)) -> bool {
        self.0
            .get(&function)
            .is_none_or(|half| half.fast.contains(&rank))
    }
}

impl Peers {
    /// Adds the ranks of the slow halves that are not `found`: other functions may differ more between ranks. `overall`
    /// has the entries of the ranks over all functions.
    pub(super) fn add_slow_half(
        &self,
        found: &mut Vec<SlowEntries>,
        overall: &BTreeMap<(u32, u32), Vec<Entry>>,
        halves: &Arc<Halves>,
    ) {
        let known = found.len();
        for (function, half) in &halves.0 {
            for rank in &half.slow {
                let all = overall.get(rank).map(Vec::as_slice);
                let entries = self.entries_in(*function, *rank, halves);
                for spell in slow_spells(&entries, half.spread) {
                    let own = &entries[spell.from..spell.until];
                    let is_known = |one: &SlowEntries| {
                        let slow = &one.slow;
                        let overlaps = slow.first <= spell.sum.last && spell.sum.first <= slow.last;
                        (slow.program, slow.rank) == *rank && overlaps
                    };
                    if found[..known].iter().any(is_known) {
                        continue;
                    }
                    let entries = in_all_functions(own, all.unwrap_or_default());
                    let expected: f64 = entries.iter().map(|one| one.expected).sum();
                    let factor = 1.0 + spell.sum.lost / expected.max(1.0);
                    if factor >= 1.0 + SLOW_RANK {
                        let mut slow = slow_rank(*rank, &spell);
                        slow.factor = factor;
                        found.push(SlowEntries {
                            slow,
                            entries,
                            references: Vec::new(),
                            only: Some(*function),
                            after: Vec::new(),
                        });
                    }
                }
            }
        }
    }

    /// Returns the times of a function on a rank in the open blocks, compared with its peers.
    fn entries_in(
        &self,
        function: FunctionId,
        rank: (u32, u32),
        halves: &Arc<Halves>,
    ) -> Vec<Entry> {
        let open = self.open.steps.iter();
        let entries = open.filter_map(|(number, cells)| {
            let cell = cells.get(&(function, rank))?;
            let block = self.block(*number, cells, halves);
            let at = block.compared.binary_search_by_key(&function, |one| one.0);
            let expected = block.compared[at.ok()?].1 * cell.calls as f64;
            let (first, last) = self.steps_of(*number);
            Some(Entry {
                first,
                last,
                expected,
                lost: cell.time as f64 - expected,
                variance: cell.variance(),
                worst: None,
            })
        });
        entries.collect()
    }
}

/// Returns the slow spells of a rank of the slow half of a function, given the spread of the fast one.
fn slow_spells(entries: &[Entry], spread: f64) -> Vec<Spell> {
    let steps = entries.windows(2).map(|pair| pair[1].log() - pair[0].log());
    let steps: Vec<f64> = steps.collect();
    let drift = drift(&steps);
    let noise = uncertain(steps.into_iter().map(|step| step - drift)) / std::f64::consts::SQRT_2;
    let bounds = Bounds {
        least: SLOW_HALF.ln_1p(),
        score: RANK_SCORE,
        noise: noise.max(NOISE),
        spread,
    };
    joined(spells(entries, &bounds), entries, &bounds)
}

/// Returns entries with the expected time of all functions of a rank.
fn in_all_functions(entries: &[Entry], all: &[Entry]) -> Vec<Entry> {
    let of = |entry: &Entry| {
        let at = all.binary_search_by_key(&entry.first, |one| one.first).ok();
        let expected = at.map_or(entry.expected, |at| all[at].expected);
        Entry { expected, ..*entry }
    };
    entries.iter().map(of).collect()
}
