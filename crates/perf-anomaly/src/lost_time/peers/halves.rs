//! [`Halves`]: functions that are slow on half of the ranks, with the fast ranks of each.

use super::Peers;
use super::slow_phases::drift;
use super::slow_ranks::{RANK_SCORE, SLOW_RANK, SlowEntries, slow_rank, uncertain};
use super::spells::{Bounds, Entry, NOISE, Spell, joined, spells};
use crate::FunctionId;
use crate::lost_time::step_times::Step;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Smallest relative excess of the slow half.
pub(super) const SLOW_HALF: f64 = 0.05;
/// Smallest distance between the fast and the slow half, relative to the distances within the fast one.
const APART: f64 = 3.0;
/// Fewest ranks with halves. The median of fewer is compared with the [fastest](super::slow_ranks::FEW).
const RANKS: usize = 8;
/// Fewest calls of a rank that show its speed.
const CALLS: u64 = 8;

/// Returns the spread of the fast half of an even number of ranks, given by the log times of both halves in ascending
/// order, if the slow half is apart from it. The median is then between the halves, and their distance is taken for a
/// usual spread between ranks. Slow ranks may differ from each other.
pub(super) fn spread_of_fast_half<T>(fast: &[(f64, T)], slow: &[(f64, T)]) -> Option<f64> {
    let (first, last) = (fast.first()?.0, fast.last()?.0);
    let width = (last - first).max(NOISE);
    let is_wide = slow.first()?.0 - last >= SLOW_HALF.ln_1p().max(APART * width);
    (fast.len() == slow.len() && is_wide).then_some(0.5 * width)
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

/// Fast ranks of the functions that are slow on half of the ranks.
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

impl Halves {
    /// Finds the halves in the sums of some blocks.
    pub(super) fn of<'a>(blocks: impl Iterator<Item = &'a Step>) -> Self {
        let mut sums: Vec<Sum> = Vec::new();
        blocks.for_each(|block| add(&mut sums, block));
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
            Some((function, half))
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
