//! [`Series`]: values by step in bounded memory, and the [`Spell`]s in which they are too high.

use crate::FunctionId;
use std::ops::Range;

/// Largest number of entries of a series.
pub(super) const ENTRIES: usize = 512;
/// Standard deviation between steps in log time that is always assumed.
pub(super) const NOISE: f64 = 0.005;
/// Largest number of spells of a series.
const SPELLS: usize = 8;

/// Sums over one or several consecutive steps.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Entry {
    /// First step.
    pub(super) first: u64,
    /// Last step.
    pub(super) last: u64,
    /// Expected time in nanoseconds.
    pub(super) expected: f64,
    /// Time minus the expected time, in nanoseconds; negative if it was shorter.
    pub(super) lost: f64,
    /// Variance of the time.
    pub(super) variance: f64,
    /// Function that lost the most time; only of ranks.
    pub(super) worst: Option<OfFunction>,
}

/// Time of a function on a rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct OfFunction {
    /// Function.
    pub(super) function: FunctionId,
    /// Expected time in nanoseconds.
    pub(super) expected: f64,
    /// Time minus the expected time, in nanoseconds; negative if it was shorter.
    pub(super) lost: f64,
}

impl Entry {
    /// Returns the logarithm of the factor by which the time is longer than expected.
    pub(super) fn log(&self) -> f64 {
        (self.lost / self.expected).max(-0.999_999).ln_1p()
    }

    /// Returns the squared standard error of [`log`](Self::log), in proportion to that of the time lost. A
    /// single long call has a standard error as large as the time that it loses, and is no evidence
    /// however large the factor is.
    fn error(&self) -> f64 {
        let relative = self.log() / self.lost.abs().max(1.0);
        self.variance * relative * relative
    }

    fn add(&mut self, other: &Entry) {
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
        self.expected += other.expected;
        self.lost += other.lost;
        self.variance += other.variance;
        if let Some(worst) = other.worst {
            self.add_worst(worst);
        }
    }

    /// Adds the time of a function. Of different functions the one that lost the most time is kept.
    pub(super) fn add_worst(&mut self, other: OfFunction) {
        match &mut self.worst {
            Some(known) if known.function == other.function => {
                known.expected += other.expected;
                known.lost += other.lost;
            }
            Some(known) if known.lost >= other.lost => {}
            worst => *worst = Some(other),
        }
    }
}

/// Entries in ascending order of step. When there are too many, neighbours are added up, so that memory does
/// not grow with the number of steps and the sums over all steps are kept.
#[derive(Clone, Debug, Default)]
pub(super) struct Series {
    /// Entries.
    pub(super) entries: Vec<Entry>,
    /// Binary logarithm of the number of steps of an entry.
    pub(super) level: u32,
}

impl Series {
    /// Adds an entry, and adds up neighbours while there are more than `most`.
    pub(super) fn push(&mut self, entry: Entry, most: usize) {
        match self.entries.last_mut() {
            Some(last) if last.first >> self.level == entry.first >> self.level => last.add(&entry),
            _ => self.entries.push(entry),
        }
        while self.entries.len() > most && self.level < 63 {
            self.level += 1;
            let level = self.level;
            self.entries.dedup_by(|right, left| {
                let is_same = left.first >> level == right.first >> level;
                if is_same {
                    left.add(right);
                }
                is_same
            });
            self.entries.shrink_to(most);
        }
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }
}

/// Consecutive entries of a series that are higher than the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spell {
    /// Sums over the entries.
    pub(super) sum: Entry,
    /// Index of the first entry.
    pub(super) from: usize,
    /// Index after the last entry.
    pub(super) until: usize,
    /// `true` if the spell includes the last entry.
    pub(super) lasts: bool,
    /// Log time of the sum divided by its standard error.
    pub(super) score: f64,
}

/// Bounds for [`spells`], in log time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Smallest log time of a spell.
    pub(super) least: f64,
    /// Smallest score of a spell.
    pub(super) score: f64,
    /// Standard deviation between steps.
    pub(super) noise: f64,
    /// Standard deviation that does not become smaller with more steps.
    pub(super) spread: f64,
}

/// Returns up to [`SPELLS`] ranges of consecutive entries with a high and significant mean log time.
///
/// Each entry adds its log time minus the larger of half of `bounds.least` and 1.5 times `bounds.noise`; the ranges
/// have the largest sums.
pub(super) fn spells(entries: &[Entry], bounds: &Bounds) -> Vec<Spell> {
    let mut found = Vec::new();
    let usual = usual(entries);
    let mut parts = vec![(0, entries.len())];
    while let Some((start, end)) = parts.pop() {
        if found.len() == SPELLS {
            break;
        }
        let part = &entries[start..end];
        let offset = (0.5 * bounds.least).max(1.5 * bounds.noise);
        let Some((from, until)) = highest(part.iter().map(|one| one.log() - offset)) else {
            continue;
        };
        let (from, until) = trimmed(entries, (start + from, start + until));
        let spell = spell(entries, from..until, usual, bounds);
        if spell.sum.log() < bounds.least || spell.score < bounds.score {
            continue;
        }
        found.push(spell);
        parts.push((start, from));
        parts.push((until, end));
    }
    found.sort_by_key(|spell| spell.from);
    found
}

/// Joins spells of which one follows the other: if times rise or fall, the first or last steps are less than half as
/// slow as the others.
pub(super) fn joined(mut spells: Vec<Spell>, entries: &[Entry], bounds: &Bounds) -> Vec<Spell> {
    let usual = usual(entries);
    spells.dedup_by(|right, left| {
        let follows = right.from == left.until;
        if follows {
            *left = spell(entries, left.from..right.until, usual, bounds);
        }
        follows
    });
    spells
}

/// Returns a range of entries as a spell.
pub(super) fn spell_in(entries: &[Entry], range: Range<usize>, bounds: &Bounds) -> Spell {
    spell(entries, range, usual(entries), bounds)
}

/// Returns the expected time of most steps.
fn usual(entries: &[Entry]) -> f64 {
    median(&mut entries.iter().map(|one| one.expected).collect::<Vec<_>>())
}

/// Returns a range of entries as a spell, given the expected time of most steps.
fn spell(entries: &[Entry], range: Range<usize>, usual: f64, bounds: &Bounds) -> Spell {
    let sum = sum(&entries[range.clone()]);
    // A step with less work varies more.
    let steps = (range.len() as f64).min(sum.expected / usual.max(1.0));
    let noise = bounds.noise.powi(2) / steps.max(1e-9);
    let error = (bounds.spread.powi(2) + noise + sum.error()).sqrt();
    Spell {
        sum,
        from: range.start,
        until: range.end,
        lasts: range.end == entries.len(),
        score: sum.log() / error.max(1e-9),
    }
}

fn sum(entries: &[Entry]) -> Entry {
    let mut all = entries.iter().copied();
    let first = all.next().unwrap_or_default();
    all.fold(first, |mut sum, one| {
        sum.add(&one);
        sum
    })
}

/// Removes entries from both ends that are below half of the mean.
fn trimmed(entries: &[Entry], (mut from, mut until): (usize, usize)) -> (usize, usize) {
    let half = 0.5 * sum(&entries[from..until]).log();
    while from + 1 < until && entries[from].log() < half {
        from += 1;
    }
    while from + 1 < until && entries[until - 1].log() < half {
        until -= 1;
    }
    (from, until)
}

/// Returns the range of consecutive values with the largest sum; `None` without a value above 0.
fn highest(values: impl Iterator<Item = f64>) -> Option<(usize, usize)> {
    let (mut best, mut most) = (None, 0.0);
    let (mut start, mut sum) = (0, 0.0);
    for (at, value) in values.enumerate() {
        sum += value;
        if sum <= 0.0 {
            (start, sum) = (at + 1, 0.0);
        } else if sum > most {
            (best, most) = (Some((start, at + 1)), sum);
        }
    }
    best
}

/// Returns the median, or 0 without values.
pub(super) fn median(values: &mut [f64]) -> f64 {
    let half = values.len() / 2;
    if values.is_empty() {
        return 0.0;
    }
    let is_odd = values.len() % 2 == 1;
    let (low, middle, _) = values.select_nth_unstable_by(half, f64::total_cmp);
    if is_odd {
        *middle
    } else {
        low.iter()
            .copied()
            .fold(f64::NEG_INFINITY, f64::max)
            .midpoint(*middle)
    }
}

/// Returns the standard deviation of normally distributed values around 0, from the median of their
/// absolute values.
pub(super) fn deviation(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.map(f64::abs).collect();
    1.4826 * median(&mut values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(step: u64, log: f64) -> Entry {
        Entry {
            first: step,
            last: step,
            expected: 1e9,
            lost: 1e9 * (f64::exp(log) - 1.0),
            variance: 0.0,
            worst: None,
        }
    }

    #[test]
    fn a_long_series_keeps_all_time_in_bounded_memory() {
        let mut series = Series::default();
        for step in 0..100_000 {
            let log = if step >= 40_000 { 0.2 } else { 0.0 };
            series.push(entry(step, log), ENTRIES);
        }
        assert!(series.entries().len() <= ENTRIES);
        let expected: f64 = series.entries().iter().map(|one| one.expected).sum();
        assert!((expected / 1e14 - 1.0).abs() < 1e-9);
        let bounds = Bounds {
            least: 0.05,
            score: 6.0,
            noise: 0.01,
            spread: 0.0,
        };
        let [spell] = spells(series.entries(), &bounds)[..] else {
            panic!("one spell")
        };
        assert!(spell.lasts && spell.sum.first.abs_diff(40_000) <= 256);
        let lost = 6e13 * (f64::exp(0.2) - 1.0);
        assert!((spell.sum.lost / lost - 1.0).abs() < 0.01);
    }

    #[test]
    fn spells_are_found_one_by_one() {
        let bounds = Bounds {
            least: 0.05,
            score: 6.0,
            noise: 0.01,
            spread: 0.0,
        };
        let is_slow = |step: u64| (20..30).contains(&step) || step == 60;
        let entries: Vec<_> = (0..100)
            .map(|step| entry(step, if is_slow(step) { 0.3 } else { 0.01 }))
            .collect();
        let found = spells(&entries, &bounds);
        let ranges: Vec<_> = found.iter().map(|one| (one.from, one.until)).collect();
        assert_eq!(ranges, [(20, 30), (60, 61)]);
        assert!(spells(&entries[..20], &bounds).is_empty());
    }
}
