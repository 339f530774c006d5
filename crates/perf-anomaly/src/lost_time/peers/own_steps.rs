//! [`SlowerThanBefore`]: slow spells of a rank compared with its own other steps. Ranks may have different work, by
//! their place in a grid or by design, so that the others do not show how long one usually takes.

use super::slow_phases::{FAST, FOR_MOST, PHASE_SCORE, within};
use super::slow_ranks::SLOW_RANK;
use super::spells::{Bounds, Entry, NOISE, Spell, deviation, joined, median, spell_in, spells};

/// Fewest steps outside of the slow spells.
const STEPS: usize = 3;
/// Smallest part of the steps that is outside of them, as a divisor.
const LEAST: usize = 8;
/// Smallest relative excess over the other steps.
const SLOWER: f64 = 0.05;
/// Number of parts of the other steps of which the means are compared.
const PARTS: usize = 5;
/// Smallest distance of a spell from the other steps, in standard deviations of these parts.
const WANDERS: f64 = 5.0;
/// Smallest distance of a spell from the other steps, in standard deviations of the changes of ranks that become faster.
const MOVED: f64 = 5.0;
/// Smallest increase from the first to the last of these parts, in standard errors, from which on the first one is usual.
const RISEN: f64 = 2.5;
/// Smallest such increase, relative to the log time of the slow spell.
const SLOW_RISE: f64 = 0.2;
/// Smallest excess of steps that belong to a slow spell because times rise, in standard deviations.
const SLOPE: f64 = 2.0;
/// Smallest log time of a rank that differs from the others in its other steps.
const DIFFERENT: f64 = 0.01;

/// Slow spells of a rank, compared with its own other steps.
#[derive(Clone, Debug)]
pub(super) struct SlowerThanBefore {
    /// Log time of the other steps.
    pub(super) usual: f64,
    /// Standard error of it.
    error: f64,
    /// Log time of the other steps, compared with other ranks.
    peers: f64,
    /// Standard deviation of the parts of the other steps.
    pub(super) wander: f64,
    /// Slow spells, compared with the other steps.
    pub(super) spells: Vec<Spell>,
}

impl SlowerThanBefore {
    /// Finds the spells in the entries of a rank, whose expected times have its usual differences from other ranks in each
    /// function, so that it does not matter which functions a step calls; `None` if there are too few other steps.
    ///
    /// `peers` are its entries without these differences; `noise` is the standard deviation between steps in log time.
    ///
    /// A rank that takes no longer than the others is not slow: work that moves to it was theirs before.
    pub(super) fn of(entries: &[Entry], peers: &[Entry], noise: f64) -> Option<Self> {
        if entries.len() < 2 * STEPS {
            return None;
        }
        let logs: Vec<f64> = entries.iter().map(Entry::log).collect();
        let bounds = Bounds {
            least: SLOW_RANK.ln_1p(),
            score: PHASE_SCORE,
            noise: noise.max(NOISE),
            spread: 0.0,
        };
        let mut sorted = logs.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let low = relative_to(entries, sorted[sorted.len() / FAST]);
        let high = joined(spells(&low, &bounds), &low, &bounds);
        let is_high = |at: &usize| high.iter().any(|one| (one.from..one.until).contains(at));
        let rest = (0..entries.len()).filter(|at| !is_high(at));
        let of_peers = rest.clone().map(|at| peers[at].log());
        let of_peers = median(&mut of_peers.collect::<Vec<_>>());
        let rest: Vec<f64> = rest.map(|at| logs[at]).collect();
        if rest.len() < STEPS.max(entries.len() / LEAST) {
            return None;
        }
        let highest = high.iter().map(|spell| spell.sum.log());
        let highest = highest.fold(0.0, f64::max);
        let parts = means_of_parts(&rest);
        let error = bounds.noise / (rest.len() as f64 / parts.len() as f64).sqrt();
        let is_rising = rises(&parts, error, highest);
        if is_rising && parts.len() == rest.len() {
            return None;
        }
        let usual = match parts.first() {
            Some(first) if is_rising => *first,
            _ => median(&mut rest.clone()),
        };
        let least = if 4 * rest.len() < entries.len() {
            FOR_MOST.ln_1p()
        } else {
            SLOWER.ln_1p()
        };
        let own = relative_to(entries, usual);
        let noise = bounds.noise.max(within(&[&rest]));
        let of_others = Bounds {
            noise,
            spread: noise / (rest.len() as f64).sqrt(),
            ..bounds
        };
        let spells = high.iter().filter_map(|spell| {
            let is_slope = |at: &usize| !is_high(at) && own[*at].log() >= SLOPE * bounds.noise;
            let slope = (0..spell.from).rev().take_while(is_slope);
            let slope = if is_rising { slope.count() } else { 0 };
            let spell = spell_in(&own, spell.from - slope..spell.until, &of_others);
            let of_peers = spell_in(peers, spell.from..spell.until, &of_others);
            let is_slow = of_peers.sum.log() >= SLOW_RANK.ln_1p();
            let is_far = spell.sum.log() >= least && spell.score >= bounds.score;
            (is_slow && is_far).then_some(spell)
        });
        Some(SlowerThanBefore {
            usual,
            error: bounds.noise / (rest.len() as f64).sqrt(),
            peers: of_peers,
            wander: within(&[&parts]),
            spells: spells.collect(),
        })
    }

    /// Keeps the spells that are far from the other steps, given how much the other steps of most ranks wander, and the
    /// spread of the changes of other ranks in a spell.
    pub(super) fn retain_far(&mut self, wander: f64, mut spread: impl FnMut(&Spell) -> f64) {
        let least = WANDERS * self.wander.max(wander);
        self.spells.retain(|spell| {
            let log = spell.sum.log();
            log >= least && log >= MOVED * spread(spell)
        });
    }

    /// Returns `true` if the rank takes longer or shorter than the others in its other steps.
    pub(super) fn differs(&self) -> bool {
        self.peers.abs() >= DIFFERENT.max(3.0 * self.error)
    }

    /// Returns the factor by which the rank takes longer than the others in its other steps, if it differs from them.
    pub(super) fn factor(&self) -> Option<f64> {
        self.differs().then(|| self.peers.exp())
    }

    /// Returns entries without the slow spells: these are as long as the other steps. `own` are those in which they were
    /// found.
    pub(super) fn without(&self, entries: &[Entry], own: &[Entry]) -> Vec<Entry> {
        let mut usual = entries.to_vec();
        for at in self.spells.iter().flat_map(|spell| spell.from..spell.until) {
            let entry = &mut usual[at];
            entry.lost = own[at].expected * self.usual.exp() - entry.expected;
        }
        usual
    }
}

/// Sums of log times of ranks, which show whether work moves between them: some become slower and others faster.
pub(super) struct MovedWork {
    /// First steps of the entries of each rank, with the sums of the log times before them.
    ranks: Vec<Vec<(u64, f64)>>,
}

impl MovedWork {
    pub(super) fn of(ranks: &[Vec<Entry>]) -> Self {
        let ranks = ranks.iter().map(|entries| {
            let mut sum = 0.0;
            let sums = entries.iter().map(|entry| {
                let before = sum;
                sum += entry.log();
                (entry.first, before)
            });
            let mut sums: Vec<(u64, f64)> = sums.collect();
            sums.push((u64::MAX, sum));
            sums
        });
        MovedWork {
            ranks: ranks.collect(),
        }
    }

    /// Returns the spread of the differences of ranks between some steps and the others, from those that become faster.
    pub(super) fn spread(&self, (first, last): (u64, u64)) -> f64 {
        let changes = self.ranks.iter().filter_map(|sums| {
            let count = sums.len() - 1;
            let from = sums.partition_point(|one| one.0 < first);
            let until = sums.partition_point(|one| one.0 <= last).min(count);
            let steps = until
                .checked_sub(from)
                .filter(|steps| (1..count).contains(steps))?;
            let inside = sums[until].1 - sums[from].1;
            let others = sums[count].1 - inside;
            Some(inside / steps as f64 - others / (count - steps) as f64)
        });
        deviation(changes.filter(|change| *change < 0.0))
    }
}

/// Returns the means of consecutive parts of values.
fn means_of_parts(values: &[f64]) -> Vec<f64> {
    let parts = values.chunks(values.len().div_ceil(PARTS).max(1));
    let means = parts.map(|part| part.iter().sum::<f64>() / part.len() as f64);
    means.collect()
}

/// Returns `true` if the means of parts rise until the rank is slow, given their standard error and the highest log time of
/// a slow spell.
fn rises(parts: &[f64], error: f64, highest: f64) -> bool {
    let [first, .., last] = parts else {
        return false;
    };
    let is_rising = parts.windows(2).all(|pair| pair[1] >= pair[0] - error);
    is_rising && last - first > (RISEN * error).max(SLOW_RISE * highest)
}

/// Returns entries with other expected times.
pub(super) fn with_expected(entries: &[Entry], expected: &[f64]) -> Vec<Entry> {
    let pairs = entries.iter().zip(expected);
    pairs
        .map(|(entry, expected)| expecting(entry, *expected))
        .collect()
}

/// Returns entries whose expected time is longer by a factor, given as its logarithm.
pub(super) fn relative_to(entries: &[Entry], log: f64) -> Vec<Entry> {
    entries.iter().map(|entry| longer(entry, log)).collect()
}

/// Returns an entry whose expected time is longer by a factor, given as its logarithm.
pub(super) fn longer(entry: &Entry, log: f64) -> Entry {
    expecting(entry, entry.expected * log.exp())
}

/// Returns an entry with another expected time.
fn expecting(entry: &Entry, expected: f64) -> Entry {
    Entry {
        expected,
        lost: entry.lost + entry.expected - expected,
        ..*entry
    }
}
