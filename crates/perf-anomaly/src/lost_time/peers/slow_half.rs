//! Functions that become slow on half of the ranks.

use super::Peers;
use super::own_steps::{SlowerThanBefore, relative_to};
use super::rank_mix::Levels;
use super::slow_ranks::{RANK_SCORE, SLOW_RANK, SlowEntries, noise_between, slow_rank};
use super::spells::{Bounds, Entry, NOISE, Spell, joined, median, spells};
use crate::FunctionId;
use crate::lost_time::slowness::SlowRank;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Smallest relative change of the slow half.
pub(super) const SLOW_HALF: f64 = 0.05;
/// Smallest distance between the changes of the halves, relative to the distances within a half.
pub(super) const APART: f64 = 2.0;
/// Fewest ranks with halves. The median of fewer is compared with the [fastest](super::slow_ranks::FEW).
const RANKS: usize = 8;
/// Number of parts of the blocks between which a change is looked for.
const PARTS: usize = 8;
/// Smallest time lost in the function for which a rank is compared with the fast half there instead of with its own other
/// steps in all functions, relative to the time lost in these.
const NEARLY_ALL: f64 = 0.9;
/// Smallest distance between the changes, in standard errors.
const SCORE: f64 = 6.0;

/// Returns which ranks are in the slow half of a function that becomes slower on half of them, and the spread of the fast
/// half, given the log times of all ranks in some blocks.
///
/// The median of the run times on all ranks is between the halves. If the ranks of one half become slower, it rises with
/// them, and half of their time would be a slow phase of all ranks. The halves are those of the largest change of one of them
/// between two parts of the run. Ranks that differ since the start may have more work, by their place in a grid or by
/// design, and no time is lost.
pub(super) fn slow_half(blocks: &[Vec<f64>]) -> Option<(Vec<bool>, f64)> {
    let ranks = blocks.first()?.len();
    if ranks < RANKS || ranks % 2 == 1 || blocks.len() < PARTS {
        return None;
    }
    let size = blocks.len().div_ceil(PARTS);
    let parts = blocks.chunks(size).map(|part| -> Vec<f64> {
        let mean =
            |rank: usize| part.iter().map(|logs| logs[rank]).sum::<f64>() / part.len() as f64;
        (0..ranks).map(mean).collect()
    });
    let parts: Vec<Vec<f64>> = parts.collect();
    let mut best = (0.0, Vec::new());
    for (at, later) in parts.iter().enumerate() {
        for before in &parts[..at] {
            let changes: Vec<f64> = later
                .iter()
                .zip(before)
                .map(|(one, other)| one - other)
                .collect();
            let mut order = changes.clone();
            order.sort_unstable_by(f64::total_cmp);
            let apart = order[ranks / 2] - order[ranks / 2 - 1];
            if apart > best.0 {
                best = (apart, changes);
            }
        }
    }
    let (apart, changes) = best;
    if apart < SLOW_HALF.ln_1p() {
        return None;
    }
    let mut order = changes.clone();
    order.sort_unstable_by(f64::total_cmp);
    let (low, high) = order.split_at(ranks / 2);
    let width = |half: &[f64]| half[half.len() - 1] - half[0];
    let widest = width(low).max(width(high)).max(NOISE);
    let noise = (0..ranks)
        .map(|rank| noise_between(&blocks.iter().map(|logs| logs[rank]).collect::<Vec<_>>()));
    let error = median(&mut noise.collect::<Vec<_>>()) * (2.0 / size as f64).sqrt();
    if apart < (APART * widest).max(SCORE * error) {
        return None;
    }
    // The half that changes was or is slow.
    let is_later = median(&mut high.to_vec()).abs() >= median(&mut low.to_vec()).abs();
    let least = high[0];
    let is_slow = changes
        .into_iter()
        .map(|change| (change >= least) == is_later);
    Some((is_slow.collect(), 0.5 * widest))
}

impl Peers {
    /// Adds the ranks of the slow halves that are not `found`: other functions may differ more between ranks. `overall`
    /// has the entries of the ranks over all functions.
    pub(super) fn add_slow_half(
        &self,
        found: &mut Vec<SlowEntries>,
        overall: &BTreeMap<(u32, u32), Vec<Entry>>,
        levels: &Arc<Levels>,
    ) {
        for (function, slow, spread) in levels.halves() {
            for rank in slow {
                let all = overall.get(rank).map(Vec::as_slice);
                let entries = self.entries_in(function, *rank, levels);
                let (usual, slow) = slow_spells(&entries, spread);
                let own = relative_to(&entries, usual.unwrap_or_default());
                for spell in &slow {
                    let own = &own[spell.from..spell.until];
                    let is_known = |one: &SlowEntries| {
                        let slow = &one.slow;
                        let overlaps = slow.first <= spell.sum.last && spell.sum.first <= slow.last;
                        (slow.program, slow.rank) == *rank && overlaps && one.only.is_none()
                    };
                    let is_less = |one: &SlowEntries| {
                        one.with_own && spell.sum.lost >= NEARLY_ALL * one.slow.lost.0 as f64
                    };
                    if found.iter().any(|one| is_known(one) && !is_less(one)) {
                        continue;
                    }
                    let entries = in_all_functions(own, all.unwrap_or_default());
                    let expected: f64 = entries.iter().map(|one| one.expected).sum();
                    let factor = 1.0 + spell.sum.lost / expected.max(1.0);
                    if factor >= 1.0 + SLOW_RANK {
                        found.retain(|one| !is_known(one));
                        found.push(SlowEntries {
                            slow: SlowRank {
                                factor,
                                usual: usual.map(f64::exp),
                                ..slow_rank(*rank, spell)
                            },
                            entries,
                            references: Vec::new(),
                            with_own: usual.is_some(),
                            only: Some(function),
                            after: Vec::new(),
                            functions: Vec::new(),
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
        levels: &Arc<Levels>,
    ) -> Vec<Entry> {
        let open = self.open.steps.iter();
        let entries = open.filter_map(|(number, cells)| {
            let cell = cells.get(&(function, rank))?;
            let block = self.block(*number, cells, levels);
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

/// Returns the slow spells of a rank of the slow half of a function, given the spread of the fast half, and the usual log time
/// of the rank if it is compared with its own other steps.
fn slow_spells(entries: &[Entry], spread: f64) -> (Option<f64>, Vec<Spell>) {
    let logs: Vec<f64> = entries.iter().map(Entry::log).collect();
    let noise = noise_between(&logs);
    let bounds = Bounds {
        least: SLOW_HALF.ln_1p(),
        score: RANK_SCORE,
        noise: noise.max(NOISE),
        spread,
    };
    let slow = joined(spells(entries, &bounds), entries, &bounds);
    if !slow.is_empty() {
        return (None, slow);
    }
    if let Some(mut before) = SlowerThanBefore::of(entries, entries, noise) {
        before.retain_far(0.0, |_| 0.0);
        if !before.spells.is_empty() {
            return (before.differs().then_some(before.usual), before.spells);
        }
    }
    (None, Vec::new())
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
