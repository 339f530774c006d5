//! Slow ranks: comparison with the median rank, and of two to four ranks, or of ranks of which half are slow, with
//! the fast ones.

use super::RANKS;
use super::own_steps::{MovedWork, SlowerThanBefore, longer, relative_to, with_expected};
use super::slow_half::{APART, SLOW_HALF};
use super::slow_phases::{PHASE_SCORE, drift, within};
use super::spells::{Bounds, Entry, NOISE, OfFunction, Spell, deviation, joined, median, spells};
use crate::FunctionId;
use crate::lost_time::slowness::SlowRank;
use perf_core::Nanos;
use std::borrow::Cow;
use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Smallest relative excess of a slow rank.
pub(super) const SLOW_RANK: f64 = 0.03;
/// Smallest distance of a slow rank from its peers, in standard errors.
pub(super) const RANK_SCORE: f64 = 5.0;
/// Numbers of ranks whose median contains a slow one.
pub(super) const FEW: std::ops::RangeInclusive<usize> = 2..=4;
/// Fewest steps of a slow rank.
const STEPS: usize = 3;
/// Smallest relative excess of a slow rank of four, which is compared with the two fastest.
const SLOW_OF_FOUR: f64 = 0.1;
/// Smallest relative excess of a slow rank of two or three, which is compared with the fastest.
const SLOW_OF_THREE: f64 = 0.2;
/// Smallest relative excess of one of two ranks in some steps, and its smallest distance from its other steps.
const SLOWER_THAN_BEFORE: f64 = 0.1;
/// Smallest distance of a slow rank that does not merely have more work from its other steps, in standard errors.
const ALWAYS_SCORE: f64 = 4.0;
/// Standard deviation between ranks in log time that is assumed if one rank is compared with another.
const SPREAD: f64 = 0.02;
/// Number of parts of a spell of one of two ranks that are compared with each other.
const PARTS: usize = 5;
/// Largest number of fast ranks with which the slow half is compared.
pub(super) const REFERENCES: usize = 8;

/// Slow spells of a rank, whose entries are compared with the fastest ranks.
#[derive(Clone, Debug)]
struct SlowOfFew {
    /// Index of the rank.
    rank: usize,
    /// Entries, compared with the fastest ranks.
    entries: Vec<Entry>,
    /// Indices of the fastest ranks.
    references: Vec<usize>,
    /// Slow spells.
    spells: Vec<Spell>,
}

/// Returns the spread of the fast half of an even number of ranks, given by the log times of both halves in ascending
/// order, if the slow half is apart from it. The median is then between the halves, and their distance is taken for a
/// usual spread between ranks.
fn spread_of_fast_half(fast: &[(f64, usize)], slow: &[(f64, usize)]) -> Option<f64> {
    let width = |half: &[(f64, usize)]| Some(half.last()?.0 - half.first()?.0);
    let widest = width(fast)?.max(width(slow)?).max(NOISE);
    let apart = slow.first()?.0 - fast.last()?.0;
    let is_wide = apart >= SLOW_HALF.ln_1p().max(APART * widest);
    (fast.len() == slow.len() && is_wide).then_some(0.5 * widest)
}

/// Returns the slow ranks of a program by their entries; empty unless it has two to four ranks, or one half of the
/// ranks is [apart](spread_of_fast_half) from the other.
///
/// The median of three or four ranks contains a slow one if two are slow, and their distance is taken for
/// a usual spread between ranks. The faster half of the ranks is the reference instead: two of four, one
/// of two or three. Slower ranks must be so consistently, because the fastest of several equal ranks is faster
/// than the others by chance in each step.
fn of_few(ranks: &[&[Entry]], score: f64) -> Vec<SlowOfFew> {
    if ranks.len() < *FEW.start() || ranks.iter().any(|one| one.len() < STEPS) {
        return Vec::new();
    }
    // The mean, because a rank that is slow for a part of the run is no reference.
    let mean = |one: &[Entry]| one.iter().map(Entry::log).sum::<f64>() / one.len() as f64;
    let mut order: Vec<(f64, usize)> = ranks.iter().map(|one| mean(one)).zip(0..).collect();
    order.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (fastest, others) = order.split_at(ranks.len() / 2);
    let (least, spread) = match fastest {
        [_] if ranks.len() == 2 => (SLOWER_THAN_BEFORE, NOISE),
        [_] => (SLOW_OF_THREE, SPREAD),
        [one, other] => (SLOW_OF_FOUR, other.0 - one.0),
        _ => match spread_of_fast_half(fastest, others) {
            Some(spread) => (SLOW_HALF, spread),
            None => return Vec::new(),
        },
    };
    let middle = fastest.len().saturating_sub(REFERENCES) / 2;
    let fastest = &fastest[middle..fastest.len().min(middle + REFERENCES)];
    let fastest: Vec<usize> = fastest.iter().map(|(_, at)| *at).collect();
    let references: Vec<&[Entry]> = fastest.iter().map(|at| ranks[*at]).collect();
    let slow = others.iter().map(|(_, rank)| {
        let entries: Vec<Entry> = ranks[*rank]
            .iter()
            .map(|entry| compared(entry, &references))
            .collect();
        let steps = entries.windows(2).map(|pair| pair[1].log() - pair[0].log());
        let noise = uncertain(steps) / std::f64::consts::SQRT_2;
        let bounds = Bounds {
            least: least.ln_1p(),
            score,
            noise: noise.max(NOISE),
            spread,
        };
        let mut spells = joined(spells(&entries, &bounds), &entries, &bounds);
        spells.retain(|spell| {
            let is_slow = ranks.len() > 2
                || spell.sum.log() >= SLOW_OF_THREE.ln_1p() && !wanders(&entries, spell, &bounds);
            spell.until - spell.from >= STEPS
                && (is_slow || changes(&entries, spell, (STEPS, PHASE_SCORE), &bounds))
        });
        SlowOfFew {
            rank: *rank,
            entries,
            references: fastest.clone(),
            spells,
        }
    });
    slow.filter(|slow| !slow.spells.is_empty()).collect()
}

/// Returns `true` if a rank is slower in a spell than in `least` or more other steps by `score` standard errors, so that it
/// does not merely have more work than the other ranks. Steps that are outside because they are the fastest ones by chance
/// are not so far away.
fn changes(
    entries: &[Entry],
    spell: &Spell,
    (least, score): (usize, f64),
    bounds: &Bounds,
) -> bool {
    let logs = |entries: &[Entry]| entries.iter().map(Entry::log).collect::<Vec<_>>();
    let inside = logs(&entries[spell.from..spell.until]);
    let others = logs(&[&entries[..spell.from], &entries[spell.until..]].concat());
    let noise = bounds.noise.max(within(&[&inside, &others]));
    let mean = others.iter().sum::<f64>() / others.len().max(1) as f64;
    let error = noise * (1.0 / inside.len() as f64 + 1.0 / others.len().max(1) as f64).sqrt();
    let distance = spell.sum.log() - mean;
    others.len() >= least && distance >= bounds.least.max(score * error)
}

/// Returns `true` if the parts of a spell of one of two ranks differ so much, beyond the deviation between steps, that
/// it is as likely as one of them: run times that wander differ for a while.
fn wanders(entries: &[Entry], spell: &Spell, bounds: &Bounds) -> bool {
    let part = &entries[spell.from..spell.until];
    let logs: Vec<f64> = part.iter().map(Entry::log).collect();
    let size = (logs.len() / PARTS).max(1);
    let means = logs.chunks_exact(size);
    let means: Vec<f64> = means
        .map(|part| part.iter().sum::<f64>() / size as f64)
        .collect();
    let between = noise_between(&means);
    let spread = (between.powi(2) - bounds.noise.powi(2) / size as f64).max(0.0);
    let (log, error) = (spell.sum.log(), spell.sum.log() / spell.score);
    log < bounds.score * (spread + error * error).sqrt()
}

/// Returns the standard deviation of consecutive values, which may rise or fall.
pub(super) fn noise_between(values: &[f64]) -> f64 {
    let steps: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let drift = drift(&steps);
    uncertain(steps.into_iter().map(|step| step - drift)) / std::f64::consts::SQRT_2
}

/// Returns the standard deviation of values around 0, and one standard error of it more. Of few values, it is
/// often too small.
pub(super) fn uncertain(values: impl Iterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.collect();
    let count = values.len().max(1) as f64;
    deviation(values.into_iter()) * (1.0 + 1.0 / count.sqrt())
}

/// Returns an entry whose expected time is that of other ranks in the same step.
pub(super) fn compared(entry: &Entry, references: &[&[Entry]]) -> Entry {
    let (mut log, mut variance) = (0.0, 0.0);
    for reference in references {
        let at = reference.partition_point(|one| one.first <= entry.first);
        let Some(one) = reference.get(at.saturating_sub(1)) else {
            continue;
        };
        let time = one.expected + one.lost;
        log += one.log();
        variance += one.variance / (time * time).max(1.0);
    }
    let count = references.len().max(1) as f64;
    let expected = entry.expected * (log / count).exp();
    Entry {
        expected,
        lost: entry.lost + entry.expected - expected,
        variance: entry.variance + expected * expected * variance / (count * count),
        ..*entry
    }
}

/// Returns a slow rank without its function and its alarms.
pub(super) fn slow_rank((program, rank): (u32, u32), spell: &Spell) -> SlowRank {
    let (first, last) = (spell.sum.first, spell.sum.last);
    SlowRank {
        program,
        rank,
        peer: None,
        usual: None,
        first,
        last,
        lasts: spell.lasts,
        always: false,
        factor: spell.sum.log().exp(),
        lost: Nanos(spell.sum.lost as i64),
        alarms: 0,
        alarmed: Nanos(0),
        score: spell.score,
        function: FunctionId(0),
        function_factor: 1.0,
        function_lost: Nanos(0),
    }
}

/// Slow rank with its slow entries.
#[derive(Clone, Debug)]
pub(super) struct SlowEntries {
    /// Rank, without its function and its alarms.
    pub(super) slow: SlowRank,
    /// Slow entries.
    pub(super) entries: Vec<Entry>,
    /// Ranks with which it is compared, by program and number; empty for the median.
    pub(super) references: Vec<(u32, u32)>,
    /// `true` if it is compared with its own other steps.
    pub(super) with_own: bool,
    /// Function in which it is slow, if it is compared in one only.
    pub(super) only: Option<FunctionId>,
    /// Times of its functions after its peers have ended.
    pub(super) after: Vec<OfFunction>,
    /// Functions that lost time on it.
    pub(super) functions: Vec<OfFunction>,
}

/// Returns the bounds of the slow spells of ranks, given their entries.
fn bounds_of(ranks: &[Cow<[Entry]>]) -> Bounds {
    let logs = |entries: &[Entry]| entries.iter().map(Entry::log).collect::<Vec<_>>();
    let typical = ranks.iter().map(|entries| median(&mut logs(entries)));
    let typical: Vec<f64> = typical.collect();
    let rests = ranks.iter().zip(&typical);
    let rests =
        rests.flat_map(|(entries, middle)| logs(entries).into_iter().map(move |log| log - middle));
    // One of few ranks is the median itself, and does not differ from it.
    let independent = 1.0 - 1.5 / ranks.len().max(RANKS) as f64;
    Bounds {
        least: SLOW_RANK.ln_1p(),
        score: RANK_SCORE,
        noise: (uncertain(rests) / independent).max(NOISE),
        spread: deviation(typical.into_iter()),
    }
}

/// Returns how the ranks of a program are slower than in their own other steps.
fn than_before(ranks: &[&[Entry]], own: &[Vec<Entry>]) -> Vec<Option<SlowerThanBefore>> {
    let noise = own.iter().map(|entries| {
        let logs: Vec<f64> = entries.iter().map(Entry::log).collect();
        noise_between(&logs)
    });
    let noise: Vec<f64> = noise.collect();
    let of_most = median(&mut noise.clone());
    let before = ranks.iter().zip(own).zip(noise);
    let before = before
        .map(|((entries, own), noise)| SlowerThanBefore::of(own, entries, noise.max(of_most)));
    let before: Vec<_> = before.collect();
    let wander = before.iter().flatten().map(|one| one.wander);
    let wander = median(&mut wander.collect::<Vec<_>>());
    // Most programs have no slow rank.
    let moved = LazyCell::new(|| MovedWork::of(own));
    let mut known = BTreeMap::new();
    let far = before.into_iter().map(|one| {
        let mut one = one?;
        one.retain_far(wander, |spell| {
            let steps = (spell.sum.first, spell.sum.last);
            *known.entry(steps).or_insert_with(|| moved.spread(steps))
        });
        (!one.spells.is_empty()).then_some(one)
    });
    far.collect()
}

/// Returns the slow ranks with their slow entries, given the entries of each rank, and their expected times with the usual
/// differences of the rank, if known.
pub(super) fn with_entries(
    ranks: &BTreeMap<(u32, u32), Vec<Entry>>,
    expected: &BTreeMap<(u32, u32), Vec<f64>>,
) -> Vec<SlowEntries> {
    let mut found = Vec::new();
    let ranks: Vec<(&(u32, u32), &[Entry])> = ranks
        .iter()
        .map(|(rank, entries)| (rank, entries.as_slice()))
        .collect();
    for ranks in ranks.chunk_by(|one, other| one.0.0 == other.0.0) {
        let known = found.len();
        let entries: Vec<&[Entry]> = ranks.iter().map(|one| one.1).collect();
        let few = of_few(&entries, RANK_SCORE);
        let is_masked = few.len() > 1;
        // The steps of few ranks, or of halves, are compared with the fast ranks only.
        let mut own = Vec::new();
        let mut before = vec![None; ranks.len()];
        if !is_masked && !FEW.contains(&ranks.len()) && !expected.is_empty() {
            let of = ranks
                .iter()
                .map(|(rank, entries)| with_expected(entries, &expected[*rank]));
            own.extend(of);
            before = than_before(&entries, &own);
        }
        let usual = entries.iter().zip(&before).enumerate();
        let usual = usual.map(|(at, (entries, before))| match before {
            Some(before) => Cow::Owned(before.without(entries, &own[at])),
            None => Cow::Borrowed(*entries),
        });
        let usual: Vec<Cow<[Entry]>> = usual.collect();
        let bounds = bounds_of(&usual);
        for (at, (rank, _)) in ranks.iter().enumerate() {
            let mut add =
                |spell: &Spell, entries: &[Entry], slow: SlowRank, references, with_own| {
                    found.push(SlowEntries {
                        slow,
                        entries: entries[spell.from..spell.until].to_vec(),
                        references,
                        with_own,
                        only: None,
                        after: Vec::new(),
                        functions: Vec::new(),
                    });
                };
            if let Some(before) = &before[at] {
                let compared = relative_to(&own[at], before.usual);
                for spell in &before.spells {
                    let usual = before.factor();
                    let slow = SlowRank {
                        usual,
                        ..slow_rank(**rank, spell)
                    };
                    add(spell, &compared, slow, Vec::new(), true);
                }
            }
            let mut entries = usual[at].clone();
            // The median of two is between them.
            let mut slow = match ranks.len() {
                2 => Vec::new(),
                _ => joined(spells(&entries, &bounds), &entries, &bounds),
            };
            let mut references = Vec::new();
            let of_few = few.iter().find(|slow| slow.rank == at);
            if let Some(few) = of_few.filter(|_| is_masked || slow.is_empty()) {
                slow.clone_from(&few.spells);
                entries = Cow::Borrowed(&few.entries);
                references = few.references.iter().map(|at| *ranks[*at].0).collect();
            }
            let peer = references.first().filter(|_| ranks.len() == 2);
            let peer = peer.map(|rank| rank.1);
            for spell in &slow {
                let slow = SlowRank {
                    peer,
                    always: !changes(&entries, spell, (1, ALWAYS_SCORE), &bounds),
                    ..slow_rank(**rank, spell)
                };
                add(spell, &entries, slow, references.clone(), false);
            }
        }
        if ranks.len() > *FEW.end() {
            compare_with_others(&mut found[known..], ranks);
        }
    }
    found
}

/// Compares slow ranks with the median of the ranks of a program that are not slow in the same steps. That of all ranks
/// is above it: of 8 ranks of which 3 are 30 % slower, by a tenth of that.
fn compare_with_others(found: &mut [SlowEntries], ranks: &[(&(u32, u32), &[Entry])]) {
    let mut slow: BTreeMap<(u32, u32), Vec<RangeInclusive<u64>>> = BTreeMap::new();
    for SlowEntries { slow: one, .. } in found.iter() {
        let steps = slow.entry((one.program, one.rank)).or_default();
        steps.push(one.first..=one.last);
    }
    let mut logs: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for (rank, entries) in ranks.iter().filter(|_| !found.is_empty()) {
        let slow = slow.get(rank).map_or(&[][..], Vec::as_slice);
        let others = entries
            .iter()
            .filter(|one| !slow.iter().any(|steps| steps.contains(&one.first)));
        let others: Vec<(u64, f64)> = others.map(|one| (one.first, one.log())).collect();
        let usual = median(&mut others.iter().map(|one| one.1).collect::<Vec<_>>());
        for (step, log) in others {
            logs.entry(step).or_default().push(log - usual);
        }
    }
    let middle = logs.into_iter().filter(|(_, logs)| logs.len() >= RANKS);
    let middle: BTreeMap<u64, f64> = middle
        .map(|(step, mut logs)| (step, median(&mut logs)))
        .collect();
    for one in found.iter_mut().filter(|one| one.references.is_empty()) {
        for entry in &mut one.entries {
            *entry = longer(entry, middle.get(&entry.first).copied().unwrap_or_default());
        }
        let (expected, lost) = one
            .entries
            .iter()
            .fold((0.0, 0.0), |(expected, lost), one| {
                (expected + one.expected, lost + one.lost)
            });
        one.slow.factor = 1.0 + lost / f64::max(expected, 1.0);
        one.slow.lost = Nanos(lost as i64);
    }
}
