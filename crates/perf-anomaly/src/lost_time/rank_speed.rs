//! [`Speeds`]: usual run times of a function on the ranks that are slower or faster than the others.

use super::own_speed::SAME_MODE;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Largest number of recent calls that show the speed of a rank.
const RECENT: usize = 32;
/// Largest number of ranks of a function whose calls are kept.
const RANKS: usize = 1 << 12;
/// Largest number of different usual run times that are kept.
const LEVELS: usize = 16;
/// Shares of calls of the times that are compared.
pub(super) const QUANTILES: [f64; 3] = [0.125, 0.5, 0.875];
/// Number of times that a usual run time is confirmed before calls of other ranks are compared with it.
const CONFIRMED: u32 = 3;
/// Width of the confidence interval of a median, in standard deviations.
const SURE: f64 = 3.5;

/// Run times of recent calls of a function on a rank, of which the upper 16 bits are kept as 32-bit floating-point
/// numbers: within 0.8 %, and in the same order.
#[derive(Clone, Debug, Default)]
pub(super) struct Recent {
    times: Vec<u16>,
    /// Number of calls so far.
    count: usize,
}

impl Recent {
    /// Adds a call with its run time in nanoseconds.
    fn push(&mut self, time: u16) {
        match self.times.get_mut(self.count % RECENT) {
            Some(oldest) => *oldest = time,
            None => self.times.push(time),
        }
        self.count = self.count.wrapping_add(1);
    }

    /// Returns the confidence interval of the median, and the [quantiles](QUANTILES), in nanoseconds; `None` if there
    /// are too few calls.
    ///
    /// The interval is that of the ranks of sorted times. It holds for any distribution.
    fn quantiles(&self) -> Option<(RangeInclusive<f64>, [f64; 3])> {
        let count = self.times.len() as f64;
        let below = (count - SURE * count.sqrt()) / 2.0;
        let low = (below >= 0.0).then_some(below as usize)?;
        let mut sorted = [0; RECENT];
        let times = sorted.get_mut(..self.times.len())?;
        times.copy_from_slice(&self.times);
        times.sort_unstable();
        let time = |at: usize| {
            let bits = times.get(at).map_or(0, |bits| u32::from(*bits) << 16);
            f64::from(f32::from_bits(bits))
        };
        let high = times.len() - 1 - low;
        let quantiles = QUANTILES.map(|share| time((share * count) as usize));
        Some((time(low)..=time(high), quantiles))
    }
}

/// First calls of a function in a batch.
#[derive(Clone, Debug, Default)]
pub(super) struct FirstCalls(Vec<u16>);

impl FirstCalls {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds a call with its run time in nanoseconds.
    #[inline]
    pub(super) fn push(&mut self, time: i64) {
        if self.0.len() < RECENT {
            self.0.push(((time.max(1) as f32).to_bits() >> 16) as u16);
        }
    }
}

/// Usual run times of a function on the ranks of which it differs from that of the others.
///
/// The median of the recent calls of a rank is compared with that of all calls. A rank differs if it does so by
/// 5 % and beyond chance, whatever the distribution of its run times, and if most of its calls do: a rank of which
/// more calls are in the longer one of two modes is no slow rank.
#[derive(Clone, Debug, Default)]
pub(super) struct Speeds {
    /// Quantiles of all calls before the first rank differed, in nanoseconds.
    common: [f64; 3],
    /// Recent calls of each rank.
    recent: BTreeMap<(u32, u32), Recent>,
    /// Usual run times of ranks that differ, in nanoseconds, and how often they were confirmed.
    other: BTreeMap<(u32, u32), (f64, u32)>,
    /// Those of `other` that were confirmed and are more than 5 % apart.
    levels: Vec<f64>,
}

impl Speeds {
    /// Adds calls of a rank. `quantiles` returns those of all calls in nanoseconds, relative to the common speed.
    pub(super) fn add(
        &mut self,
        rank: (u32, u32),
        calls: &FirstCalls,
        quantiles: impl FnOnce() -> [f64; 3],
    ) {
        if self.recent.len() >= RANKS && !self.recent.contains_key(&rank) {
            return;
        }
        let recent = self.recent.entry(rank).or_default();
        for time in &calls.0 {
            recent.push(*time);
        }
        let Some((range, [low, own, high])) = recent.quantiles() else {
            return;
        };
        if self.other.is_empty() {
            self.common = quantiles();
        }
        let [common_low, common, common_high] = self.common;
        let factor = own / common;
        // If fewer of its calls are in the shorter one of two modes, the shortest ones are no slower.
        let least = if factor > 1.0 {
            (low / common_low).max(1.0)
        } else {
            (high / common_high).min(1.0)
        };
        let is_whole = least.ln().abs() > factor.ln().abs() / 2.0;
        let speed = if is_whole { own } else { common * least };
        if range.contains(&common) || is_alike(speed, common) {
            if self.other.remove(&rank).is_none() {
                return;
            }
        } else {
            let (known, confirmed) = self.other.entry(rank).or_insert((speed, 0));
            if is_whole && range.contains(known) || is_alike(speed, *known) {
                *confirmed = confirmed.saturating_add(1);
            } else {
                (*known, *confirmed) = (speed, 0);
            }
        }
        self.levels.clear();
        for (time, confirmed) in self.other.values() {
            let is_known = || self.levels.iter().any(|one| is_alike(*one, *time));
            if *confirmed > CONFIRMED && self.levels.len() < LEVELS && !is_known() {
                self.levels.push(*time);
            }
        }
    }

    /// Returns the usual run time of a rank that differs, in nanoseconds; `None` for the others.
    #[inline]
    pub(super) fn other(&self, rank: (u32, u32)) -> Option<f64> {
        self.other.get(&rank).map(|one| one.0)
    }

    /// Returns the usual run time of the ranks that do not differ, in nanoseconds; `None` while none differs.
    #[inline]
    pub(super) fn common(&self) -> Option<f64> {
        (!self.other.is_empty()).then_some(self.common[1])
    }

    /// Returns the factor beyond which few calls of a rank are longer than its usual one: by three times the
    /// logarithmic distance of an eighth of the calls.
    pub(super) fn rare(&self) -> f64 {
        (self.common[2] / self.common[1]).powi(3)
    }

    /// Returns the usual run time of most ranks relative to the common one, which is that of the first ranks.
    pub(super) fn most(&self) -> f64 {
        let Some(common) = self.common() else {
            return 1.0;
        };
        let mut all: Vec<f64> = self
            .recent
            .keys()
            .filter_map(|rank| self.other(*rank))
            .collect();
        all.resize(self.recent.len().max(1), common);
        all.sort_unstable_by(f64::total_cmp);
        all[all.len() / 2] / common
    }

    /// Returns `true` if ranks differ in several batches.
    pub(super) fn is_confirmed(&self) -> bool {
        !self.levels.is_empty()
    }

    /// Returns `true` for a time that is usual on some ranks.
    pub(super) fn is_usual(&self, time: f64) -> bool {
        let mut usual = self.levels.iter().chain(self.common.get(1));
        usual.any(|one| is_alike(*one, time))
    }
}

/// Returns `true` for times that differ by less than 5 %.
fn is_alike(one: f64, other: f64) -> bool {
    one.max(other) <= SAME_MODE * one.min(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the usual run time of a rank with some calls if it differs from a common one, in microseconds.
    fn speeds(common: [f64; 3], times: impl Iterator<Item = i64>) -> Option<f64> {
        let mut calls = FirstCalls::default();
        for time in times {
            calls.push(1000 * time);
        }
        let mut speeds = Speeds::default();
        speeds.add((0, 1), &calls, || common.map(|time| 1000.0 * time));
        speeds.other((0, 1)).map(|time| time / 1000.0)
    }

    #[test]
    fn a_rank_differs_if_all_of_its_calls_do() {
        let common = [95.0, 100.0, 105.0];
        let slow = speeds(common, (0..32).map(|at| 125 + at % 10));
        assert!(
            slow.is_some_and(|time| (time - 130.0).abs() < 2.0),
            "{slow:?}"
        );
        assert_eq!(speeds(common, (0..32).map(|at| 95 + at % 10)), None);
        // Most of its calls are in a second mode, and the others take as long as usual.
        let longer = |at| if at % 5 == 0 { 100 } else { 200 };
        assert_eq!(speeds(common, (0..32).map(longer)), None);
        // Too few calls.
        assert_eq!(speeds(common, (0..8).map(|_| 130)), None);
    }
}
