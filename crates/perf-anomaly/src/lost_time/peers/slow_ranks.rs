//! Slow ranks: comparison with the median rank, and of two to four ranks, or of ranks of which half are slow, with
//! the fast ones.

use super::RANKS;
use super::slow_half::{SLOW_HALF, spread_of_fast_half};
use super::slow_phases::{PHASE_SCORE, drift, within};
use super::spells::{Bounds, Entry, NOISE, OfFunction, Spell, deviation, joined, median, spells};
use crate::FunctionId;
use crate::lost_time::slowness::SlowRank;
use perf_core::Nanos;
use std::collections::BTreeMap;

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
/// Standard deviation between ranks in log time that is assumed if one rank is compared with another.
const SPREAD: f64 = 0.02;
/// Number of parts of a spell of one of two ranks that are compared with each other.
const PARTS: usize = 5;
/// Largest number of fast ranks with which the slow half is compared.
const REFERENCES: usize = 8;

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
            spell.until - spell.from >= STEPS && (is_slow || changes(&entries, spell, &bounds))
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

/// Returns `true` if a rank is slower in a spell than in at least three other steps, so that it does not merely have more
/// work than the other one.
fn changes(entries: &[Entry], spell: &Spell, bounds: &Bounds) -> bool {
    let logs = |entries: &[Entry]| entries.iter().map(Entry::log).collect::<Vec<_>>();
    let inside = logs(&entries[spell.from..spell.until]);
    let others = logs(&[&entries[..spell.from], &entries[spell.until..]].concat());
    let noise = bounds.noise.max(within(&[&inside, &others]));
    let mean = others.iter().sum::<f64>() / others.len().max(1) as f64;
    let error = noise * (1.0 / inside.len() as f64 + 1.0 / others.len().max(1) as f64).sqrt();
    let distance = spell.sum.log() - mean;
    others.len() >= STEPS && distance >= bounds.least.max(PHASE_SCORE * error)
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
    let steps: Vec<f64> = means.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let drift = drift(&steps);
    let between = uncertain(steps.into_iter().map(|step| step - drift)) / std::f64::consts::SQRT_2;
    let spread = (between.powi(2) - bounds.noise.powi(2) / size as f64).max(0.0);
    let (log, error) = (spell.sum.log(), spell.sum.log() / spell.score);
    log < bounds.score * (spread + error * error).sqrt()
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
        first,
        last,
        lasts: spell.lasts,
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
    /// Function in which it is slow, if it is compared in one only.
    pub(super) only: Option<FunctionId>,
    /// Times of its functions after its peers have ended.
    pub(super) after: Vec<OfFunction>,
}

/// Returns the slow ranks with their slow entries, given the entries of each rank.
pub(super) fn with_entries(ranks: &BTreeMap<(u32, u32), Vec<Entry>>) -> Vec<SlowEntries> {
    let mut found = Vec::new();
    let ranks: Vec<(&(u32, u32), &[Entry])> = ranks
        .iter()
        .map(|(rank, entries)| (rank, entries.as_slice()))
        .collect();
    for ranks in ranks.chunk_by(|one, other| one.0.0 == other.0.0) {
        let logs = |entries: &[Entry]| entries.iter().map(Entry::log).collect::<Vec<_>>();
        let typical: Vec<f64> = ranks
            .iter()
            .map(|(_, entries)| median(&mut logs(entries)))
            .collect();
        let rests = ranks.iter().zip(&typical);
        let rests = rests.flat_map(|((_, entries), middle)| {
            logs(entries).into_iter().map(move |log| log - middle)
        });
        // One of few ranks is the median itself, and does not differ from it.
        let independent = 1.0 - 1.5 / ranks.len().max(RANKS) as f64;
        let bounds = Bounds {
            least: SLOW_RANK.ln_1p(),
            score: RANK_SCORE,
            noise: (uncertain(rests) / independent).max(NOISE),
            spread: deviation(typical.iter().copied()),
        };
        let own = ranks.iter().map(|(_, entries)| *entries);
        let few = of_few(&own.collect::<Vec<_>>(), RANK_SCORE);
        let is_masked = few.len() > 1;
        for (at, (key, entries)) in ranks.iter().enumerate() {
            let of_few = few.iter().find(|slow| slow.rank == at);
            // The median of two is between them.
            let mut slow = match ranks.len() {
                2 => Vec::new(),
                _ => joined(spells(entries, &bounds), entries, &bounds),
            };
            let (mut entries, mut references) = (*entries, Vec::new());
            if let Some(few) = of_few.filter(|_| is_masked || slow.is_empty()) {
                slow.clone_from(&few.spells);
                entries = &few.entries;
                references = few.references.iter().map(|at| *ranks[*at].0).collect();
            }
            let peer = references.first().filter(|_| ranks.len() == 2);
            found.extend(slow.iter().map(|spell| SlowEntries {
                slow: SlowRank {
                    peer: peer.map(|(_, rank)| *rank),
                    ..slow_rank(**key, spell)
                },
                entries: entries[spell.from..spell.until].to_vec(),
                references: references.clone(),
                only: None,
                after: Vec::new(),
            }));
        }
    }
    found
}
