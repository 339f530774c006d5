//! Ranks that become slow together: [`SlowGroup`] over all functions, and functions that become slow on half of the ranks.

use super::Peers;
use super::own_steps::{SlowerThanBefore, relative_to};
use super::rank_mix::Levels;
use super::slow_phases::within;
use super::slow_ranks::{
    RANK_SCORE, REFERENCES, SLOW_RANK, SlowEntries, compared, noise_between, slow_rank,
};
use super::spells::{Bounds, Entry, NOISE, Spell, joined, median, spell_in, spells};
use crate::FunctionId;
use crate::lost_time::slowness::SlowRank;
use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};
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
/// Fewest ranks of which several become slow together.
const LEAST: usize = 5;
/// Fewest steps in which these are slow, and others.
const STEPS: usize = 3;
/// Largest number of parts of the run between which they are looked for.
const GRID: usize = 16;
/// Smallest part of the ranks that becomes slow, or does not.
const GROUP: f64 = 0.2;
/// Smallest distance between both, relative to that of their means.
const GAP: f64 = 0.3;
/// Smallest distance between their means, in standard deviations of parts of the run beyond that of steps.
const WANDERS: f64 = 5.0;
/// Smallest distance of a rank of a group that becomes slow from the others, in standard errors.
const OF_GROUP: f64 = 3.0;
/// Largest change of the ranks that do not become slow, relative to that of the others.
const MOVED: f64 = 0.25;
/// Largest part of the change of the group, added up over its ranks, that the others make up for: work that moves is
/// conserved.
const CONSERVED: f64 = 0.4;

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

/// Ranks of a program that become slower together, in all functions.
#[derive(Debug)]
pub(super) struct SlowGroup {
    /// Whether each rank is one of them.
    pub(super) is_slow: Vec<bool>,
    /// Standard deviation of the changes of the ranks, without that of the steps.
    pub(super) spread: f64,
    /// Steps in which they are slow, in ascending order, and the others.
    pub(super) slow_steps: Vec<u64>,
    pub(super) others: Vec<u64>,
}

/// Ranks in ascending order of their changes, the first `low` of which change less than the others.
#[derive(Debug)]
struct Split {
    order: Vec<(f64, usize)>,
    low: usize,
    /// Distance between the means of both.
    apart: f64,
    /// Standard deviation of the changes within both.
    within: f64,
}

impl Split {
    /// Splits changes into two groups with the largest squares between them.
    fn of(changes: impl Iterator<Item = f64>) -> Option<Self> {
        let mut order: Vec<(f64, usize)> = changes.zip(0..).collect();
        order.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
        let ranks = order.len();
        let least = (ranks as f64 * GROUP).ceil().max(2.0) as usize;
        let all: f64 = order.iter().map(|one| one.0).sum();
        let mut below = 0.0;
        let splits = order.iter().zip(1..).filter_map(|((change, _), low)| {
            below += change;
            let high = ranks - low;
            let apart = (all - below) / high as f64 - below / low as f64;
            let between = apart * apart * (low * high) as f64;
            (low.min(high) >= least).then_some((between, low, apart))
        });
        let best = splits.max_by(|one, other| one.0.total_cmp(&other.0));
        let (_, low, apart) = best?;
        let sorted: Vec<f64> = order.iter().map(|one| one.0).collect();
        let (few, more) = sorted.split_at(low);
        let within = within(&[few, more]);
        Some(Split {
            order,
            low,
            apart,
            within,
        })
    }

    /// Returns the square that it explains, of changes between `inside` parts of the run and `outside` others.
    fn explained(&self, inside: usize, outside: usize) -> f64 {
        let ranks = self.low * (self.order.len() - self.low);
        self.apart.powi(2) * (ranks * inside * outside) as f64
    }
}

impl SlowGroup {
    /// Finds a fifth to four fifths of the ranks of a program that become slower, given their entries and the change of
    /// the log time of a rank itself in some steps from the others.
    ///
    /// The ranks are split by their changes between some consecutive parts of the run and the others. The spread within both
    /// groups is the error: that of all ranks contains the distance of the groups. Work that moves makes some ranks
    /// faster, and the changes of ranks that wander are no two groups.
    pub(super) fn of(
        ranks: &[&[Entry]],
        change: impl Fn(usize, RangeInclusive<u64>) -> f64,
    ) -> Option<Self> {
        let mut steps: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for entry in ranks.iter().flat_map(|entries| entries.iter()) {
            steps.entry(entry.first).or_default().push(entry.log());
        }
        // Without barriers, some ranks have no last steps.
        steps.retain(|_, logs| logs.len() == ranks.len());
        if ranks.len() < LEAST || steps.len() < 2 * STEPS {
            return None;
        }
        for logs in steps.values_mut() {
            let mean = logs.iter().sum::<f64>() / logs.len() as f64;
            logs.iter_mut().for_each(|log| *log -= mean);
        }
        let numbers: Vec<u64> = steps.keys().copied().collect();
        let logs: Vec<Vec<f64>> = steps.into_values().collect();
        let size = numbers.len().div_ceil(GRID);
        let parts = logs.chunks(size).map(|part| -> Vec<f64> {
            let sum = |rank: usize| part.iter().map(|logs| logs[rank]).sum::<f64>();
            (0..ranks.len())
                .map(|rank| sum(rank) / part.len() as f64)
                .collect()
        });
        let parts: Vec<Vec<f64>> = parts.collect();
        let mut best: Option<(f64, Split, Range<usize>)> = None;
        for from in 0..parts.len() {
            for until in from + 1..=parts.len() {
                let (inside, outside) = (until - from, parts.len() - (until - from));
                if inside.min(outside) * size < STEPS {
                    continue;
                }
                let changes = (0..ranks.len()).map(|rank| {
                    let all: f64 = parts.iter().map(|part| part[rank]).sum();
                    let own: f64 = parts[from..until].iter().map(|part| part[rank]).sum();
                    own / inside as f64 - (all - own) / outside as f64
                });
                if let Some(split) = Split::of(changes) {
                    let explained = split.explained(inside, outside);
                    if best.as_ref().is_none_or(|best| explained > best.0) {
                        best = Some((explained, split, from..until));
                    }
                }
            }
        }
        let (_, split, range) = best?;
        let steps = range.start * size..(range.end * size).min(numbers.len());
        let of_rank = |rank: usize| logs.iter().map(move |logs| logs[rank]);
        let noise =
            (0..ranks.len()).map(|rank| noise_between(&of_rank(rank).collect::<Vec<_>>()).powi(2));
        let noise = noise.sum::<f64>() / ranks.len() as f64;
        let (inside, outside) = (steps.len() as f64, (numbers.len() - steps.len()) as f64);
        let error = noise * (1.0 / inside + 1.0 / outside);
        // Deviation of the parts from their means, beyond that of their steps.
        let residual = (0..ranks.len()).map(|rank| {
            let own: Vec<f64> = parts.iter().map(|part| part[rank]).collect();
            let others = [&own[..range.start], &own[range.end..]].concat();
            within(&[&own[range.clone()], &others]).powi(2)
        });
        let residual = residual.sum::<f64>() / ranks.len() as f64;
        let wander = (residual - noise / size as f64).max(0.0).sqrt();
        let least = (SCORE * split.within.max(error.sqrt()).max(NOISE)).max(WANDERS * wander);
        let gap = split.order[split.low].0 - split.order[split.low - 1].0;
        if split.apart < least.max(SLOW_HALF.ln_1p()) || gap < GAP * split.apart {
            return None;
        }
        let in_range = numbers[steps.start]..=numbers[steps.end - 1];
        let mean = |group: &[(f64, usize)]| {
            let sum: f64 = group
                .iter()
                .map(|(_, rank)| change(*rank, in_range.clone()))
                .sum();
            sum / group.len() as f64
        };
        let (low, high) = split.order.split_at(split.low);
        let (of_low, of_high) = (mean(low), mean(high));
        let is_inside = of_high.abs() >= of_low.abs();
        let sums = [of_low * low.len() as f64, of_high * high.len() as f64];
        let (usual, [of_others, of_group]) = if is_inside {
            (of_low, sums)
        } else {
            (of_high, [sums[1], sums[0]])
        };
        if usual.abs() > MOVED * split.apart || -of_others / of_group > CONSERVED {
            return None;
        }
        let mut is_slow = vec![false; ranks.len()];
        let group = if is_inside { high } else { low };
        group.iter().for_each(|(_, rank)| is_slow[*rank] = true);
        let of = |inside: bool| {
            let all = numbers.iter().enumerate();
            let own = all.filter(|(at, _)| steps.contains(at) == inside);
            own.map(|(_, step)| *step).collect()
        };
        Some(SlowGroup {
            is_slow,
            spread: (split.within.powi(2) - error).max(0.0).sqrt(),
            slow_steps: of(is_inside),
            others: of(!is_inside),
        })
    }
}

/// Slow spells of a rank of a group.
#[derive(Debug)]
struct SlowOfGroup {
    /// Index of the rank.
    rank: usize,
    /// Entries, compared with ranks that are not slow.
    entries: Vec<Entry>,
    /// Indices of these.
    references: Vec<usize>,
    /// Log time in the other steps, if ranks differ in these.
    usual: Option<f64>,
    /// Slow spells.
    spells: Vec<Spell>,
}

/// Returns the slow ranks of a group that becomes slow. Their first and last steps are common, which their sum shows.
fn of_group(ranks: &[&[Entry]], group: &SlowGroup) -> Vec<SlowOfGroup> {
    let mut fast: Vec<usize> = (0..ranks.len()).filter(|at| !group.is_slow[*at]).collect();
    fast.truncate(REFERENCES);
    let references: Vec<&[Entry]> = fast.iter().map(|at| ranks[*at]).collect();
    let mut squares = 0.0;
    let slow = (0..ranks.len()).filter(|at| group.is_slow[*at]);
    let slow = slow.map(|rank| {
        let entries = ranks[rank].iter();
        let entries: Vec<Entry> = entries.map(|one| compared(one, &references)).collect();
        let logs: Vec<f64> = entries.iter().map(Entry::log).collect();
        let is_other = |one: &&Entry| group.others.binary_search(&one.first).is_ok();
        let others: Vec<f64> = entries.iter().filter(is_other).map(Entry::log).collect();
        let usual = others.iter().sum::<f64>() / others.len().max(1) as f64;
        let noise = noise_between(&logs).max(NOISE);
        let error = noise / (others.len() as f64).sqrt();
        squares += (usual / error).powi(2);
        let of = |entries, usual| SlowOfGroup {
            rank,
            entries,
            references: fast.clone(),
            usual,
            spells: Vec::new(),
        };
        (
            of(relative_to(&entries, usual), Some(usual)),
            of(entries, None),
        )
    });
    let (different, equal): (Vec<SlowOfGroup>, Vec<SlowOfGroup>) = slow.unzip();
    // The differences of equal ranks are those of their noise.
    let count = equal.len() as f64;
    let mut slow = if squares > count + 3.0 * (2.0 * count).sqrt() {
        different
    } else {
        equal
    };
    let mut steps: BTreeMap<u64, Entry> = BTreeMap::new();
    for one in slow.iter().flat_map(|one| &one.entries) {
        let sum = steps.entry(one.first).or_insert(Entry {
            expected: 0.0,
            lost: 0.0,
            variance: 0.0,
            worst: None,
            ..*one
        });
        sum.expected += one.expected;
        sum.lost += one.lost;
        sum.variance += one.variance;
    }
    let steps: Vec<Entry> = steps.into_values().collect();
    let bounds = |entries: &[Entry]| {
        let logs: Vec<f64> = entries.iter().map(Entry::log).collect();
        Bounds {
            least: SLOW_HALF.ln_1p(),
            score: RANK_SCORE,
            noise: noise_between(&logs).max(NOISE),
            spread: group.spread,
        }
    };
    let common = bounds(&steps);
    let mut common = joined(spells(&steps, &common), &steps, &common);
    let is_of_group = |spell: &Spell| {
        let inside = spell.sum.first..=spell.sum.last;
        group.slow_steps.iter().any(|step| inside.contains(step))
    };
    common.retain(is_of_group);
    for one in &mut slow {
        let bounds = bounds(&one.entries);
        let own = common.iter().filter_map(|spell| {
            let at = |step: u64| one.entries.partition_point(|entry| entry.first < step);
            let (from, until) = (at(spell.sum.first), at(spell.sum.last + 1));
            let spell = (from < until).then(|| spell_in(&one.entries, from..until, &bounds))?;
            (spell.sum.log() >= bounds.least && spell.score >= OF_GROUP).then_some(spell)
        });
        one.spells = own.collect();
    }
    slow.retain(|one| !one.spells.is_empty());
    slow
}

impl Peers {
    /// Adds the ranks of slow groups of which not all are `found` by their peers or their own other steps.
    pub(super) fn add_slow_groups(
        &self,
        found: &mut Vec<SlowEntries>,
        overall: &BTreeMap<(u32, u32), Vec<Entry>>,
    ) {
        let ranks: Vec<(&(u32, u32), &[Entry])> = overall
            .iter()
            .map(|(rank, entries)| (rank, entries.as_slice()))
            .collect();
        for ranks in ranks.chunk_by(|one, other| one.0.0 == other.0.0) {
            let entries: Vec<&[Entry]> = ranks.iter().map(|one| one.1).collect();
            let change = |at: usize, steps| self.change(*ranks[at].0, steps);
            let Some(group) = SlowGroup::of(&entries, change) else {
                continue;
            };
            let slow = of_group(&entries, &group);
            let is_of = |one: &SlowEntries, of: &SlowOfGroup| {
                let is_rank = (one.slow.program, one.slow.rank) == *ranks[of.rank].0;
                let mut spells = of.spells.iter();
                is_rank
                    && spells.any(|spell| {
                        one.slow.first <= spell.sum.last && spell.sum.first <= one.slow.last
                    })
            };
            if slow.iter().all(|of| found.iter().any(|one| is_of(one, of))) {
                continue;
            }
            found.retain(|one| !slow.iter().any(|of| is_of(one, of)));
            for of in &slow {
                let references = of.references.iter().map(|at| *ranks[*at].0);
                let references: Vec<(u32, u32)> = references.collect();
                found.extend(of.spells.iter().map(|spell| SlowEntries {
                    slow: SlowRank {
                        usual: of.usual.map(f64::exp),
                        ..slow_rank(*ranks[of.rank].0, spell)
                    },
                    entries: of.entries[spell.from..spell.until].to_vec(),
                    references: references.clone(),
                    with_own: of.usual.is_some(),
                    only: None,
                    after: Vec::new(),
                    functions: Vec::new(),
                }));
            }
        }
    }

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
