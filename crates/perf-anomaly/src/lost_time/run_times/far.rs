//! [`Far`]: run times far above the usual ones of a function; [`Wide`]: slow calls of different run times there.

use super::Times;
use crate::lost_time::modes::new_mode::{Event, bin, edge};

/// Number of spreads of the usual run times from which on a run time is far above them, and from which on those below
/// are the tail of the usual ones. The spread is about the distance of an eighth of the calls from the median: for a
/// normal distribution, 4 spreads are 4.6 standard deviations.
const FAR: (f64, f64) = (4.0, 3.0);
/// The same numbers for functions that wait for others. Their spread is the difference between the median and the shorter
/// times of an eighth of the calls: waiting is a difference of run times, and long waiting may be frequent.
const FAR_WAITS: (f64, f64) = (6.0, 3.0);
/// Range of the factor between the median and run times far above it. If usual run times vary more, long ones are usual
/// too.
const FAR_FACTOR: (f64, f64) = (1.5, 4.0);
/// Ratio between the distances of an eighth and of a quarter of the calls from the median of a normal distribution.
const EIGHTH: f64 = 1.7;
/// Fewest calls of a function of which some can be far above the usual ones.
const FAR_CALLS: u64 = 64;
/// Fewest calls of a wide mode. Half of them are sufficient for a mode of similar run times, which is tried before.
const WIDE_CALLS: u64 = 16;
/// Number of bins of similar run times: 54 %.
const NEAR: usize = 10;
/// Number of bins of a wide mode: a factor of 32.
pub(super) const WIDE_BINS: usize = 80;
/// Ratio of the calls of a wide mode to those in the tail of the usual ones. In power laws, it is 0.4.
const WIDE_DEPTH: u64 = 2;
/// Smallest share of calls of a wide mode that are no alarms: alarms alone are single calls.
const UNNOTICED: f64 = 0.1;
/// Largest share of all calls that are in a new wide mode. A function of which more calls take longer varies.
const WIDE_SHARE: f64 = 0.125;
/// Number of ticks of the clock from the usual run time to those far above it.
const TICKS: i64 = 4;
/// Largest tick of a clock in nanoseconds.
const MOST_TICK: i64 = 1_000_000;
/// Ratio of the calls of a mode to the other ones of a wide mode from which on the mode stays apart.
const APART: u64 = 3;

/// Run times far above the usual ones of a function.
#[derive(Clone, Copy, Debug)]
pub(in crate::lost_time) struct Far {
    /// First bin of these run times; `usize::MAX` if there are none.
    pub(in crate::lost_time) from: usize,
    /// First bin of the tail of the usual run times, below which no mode grows; 0 if it is unknown.
    pub(super) tail: usize,
    /// Median run time in nanoseconds, relative to the ranks that do not differ.
    pub(super) usual: i64,
}

impl Far {
    /// Returns `true` if the usual run times are known.
    pub(in crate::lost_time) fn is_known(&self) -> bool {
        self.from != usize::MAX
    }

    /// Returns `true` for a bin above the tail of the usual run times; of functions that wait for others (`waits`), far
    /// above.
    #[inline]
    pub(super) fn is_unusual(&self, bin: usize, waits: bool) -> bool {
        self.is_known() && bin >= if waits { self.from } else { self.tail }
    }
}

impl Default for Far {
    fn default() -> Self {
        Far {
            from: usize::MAX,
            tail: 0,
            usual: 0,
        }
    }
}

/// Wide mode: slow calls of different run times far above the usual ones.
#[derive(Clone, Copy, Debug)]
pub(in crate::lost_time) struct Wide {
    /// Its bins.
    pub(in crate::lost_time) bins: (usize, usize),
    /// First bin with slow calls, and the end of these bins; `None` if most of them have about the same run time.
    pub(in crate::lost_time) seen: Option<(usize, usize)>,
    /// Number of slow calls outside of known modes.
    calls: u64,
}

impl Wide {
    /// Returns bins without a valley to a wide mode as a part of it.
    pub(in crate::lost_time) fn part(bins: (usize, usize)) -> Self {
        Wide {
            bins,
            seen: Some(bins),
            calls: 0,
        }
    }

    /// Returns `true` if a mode of similar run times is a part of the wide mode, and not a mode of its own.
    pub(in crate::lost_time) fn includes(&self, mode: &Event) -> bool {
        let is_inside = self.bins.0 <= mode.bins.1 && mode.bins.0 < self.bins.1;
        is_inside && !mode.is_usual() && mode.mode.calls < APART * self.calls
    }
}

/// Largest power of ten of nanoseconds of which the run times of the first calls and of slow ones are multiples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tick(i64);

impl Default for Tick {
    fn default() -> Self {
        Tick(MOST_TICK)
    }
}

impl Tick {
    /// Returns the tick in nanoseconds.
    pub(super) fn time(self) -> i64 {
        self.0
    }

    /// Adds a run time in nanoseconds.
    pub(super) fn add(&mut self, time: i64) {
        while self.0 > 1 && time % self.0 != 0 {
            self.0 /= 10;
        }
    }
}

impl Times {
    /// Determines which run times are far above the usual ones.
    #[cold]
    pub(super) fn update_far(&mut self) {
        self.far_at = (self.calls + self.calls / 8).max(FAR_CALLS);
        self.far = Far::default();
        if self.calls < FAR_CALLS {
            return;
        }
        let [low, usual, high] =
            [0.125, 0.5, 0.75].map(|share| quantile((&self.bins, self.start), self.calls, share));
        let after = |time: f64| bin(time as i64) + 1;
        let visible = usual + (TICKS * self.tick.0) as f64;
        if self.waits {
            let time = |spreads: f64| usual + spreads * (usual - low);
            self.far = Far {
                from: after((FAR_FACTOR.0 * usual).max(time(FAR_WAITS.0)).max(visible)),
                tail: after(time(FAR_WAITS.1)),
                usual: usual as i64,
            };
            return;
        }
        let spread = (usual / low).ln().max(EIGHTH * (high / usual).ln());
        let factor = (FAR.0 * spread).exp();
        if factor <= FAR_FACTOR.1 {
            self.far = Far {
                from: after((usual * factor.max(FAR_FACTOR.0)).max(visible)),
                tail: after(usual * (FAR.1 * spread).exp()),
                usual: usual as i64,
            };
        }
    }

    /// Returns the wide mode that includes a bin: all run times far above the usual ones. There must be more slow calls,
    /// outside of known modes, than the tail of the usual calls explains.
    pub(in crate::lost_time) fn wide(&self, bin: usize) -> Option<Wide> {
        let from = self.far.from;
        if bin < from {
            return None;
        }
        let bins = (from, from.saturating_add(WIDE_BINS));
        let (mut calls, mut alarms) = (0, 0);
        for (_, slow) in self.slow.range(from..bins.1) {
            (calls, alarms) = (calls + slow.calls, alarms + slow.alarms);
        }
        let share = if self.waits { 0.5 } else { WIDE_SHARE };
        let is_noticed = ((calls - alarms) as f64) < UNNOTICED * calls as f64;
        let own = self.between(from, bins.1);
        if calls < WIDE_CALLS || is_noticed || own as f64 > share * self.calls as f64 {
            return None;
        }
        let tail = self.between(self.far.tail, from);
        let first = *self.slow.range(from..bins.1).next()?.0;
        let last = *self.slow.range(from..bins.1).next_back()?.0;
        if own < WIDE_DEPTH * tail {
            return None;
        }
        let seen = (first, last + 1);
        // Most of them may have about the same run time.
        let near = |from: usize| {
            let near = self.slow.range(from..bins.1.min(from + NEAR));
            (near.map(|(_, slow)| slow.calls).sum::<u64>(), from)
        };
        let (most, from) = self
            .slow
            .range(first..=last)
            .map(|one| near(*one.0))
            .max()?;
        let is_near = most >= APART * (calls - most);
        let bins = if is_near {
            self.grown((from, from + NEAR))
        } else {
            bins
        };
        Some(Wide {
            bins,
            seen: (!is_near).then_some(seen),
            calls,
        })
    }

    /// Returns `true` for a bin above the tail of the usual run times; of functions that wait for others, far above.
    #[inline]
    pub(in crate::lost_time) fn is_unusual(&self, bin: usize) -> bool {
        self.far.is_unusual(bin, self.waits)
    }

    /// Returns the usual run time of a slow call in nanoseconds, given that of the mode below it, which may itself be
    /// above the usual run times.
    pub(in crate::lost_time) fn usual_of_far(&self, bin_of_call: usize, usual: i64) -> i64 {
        if self.is_unusual(bin_of_call) && self.is_unusual(bin(self.relative(usual))) {
            (self.far.usual as f64 / self.scale) as i64
        } else {
            usual
        }
    }
}

/// Returns the quantile of the run times of calls in bins from a first one on, in nanoseconds.
pub(super) fn quantile((bins, start): (&[u64], usize), calls: u64, share: f64) -> f64 {
    let mut rest = (share * calls as f64) as u64;
    let bin = bins.iter().zip(start..).find(|(calls, _)| {
        let is_here = rest < **calls;
        rest -= if is_here { 0 } else { **calls };
        is_here
    });
    bin.map_or(0.0, |(calls, bin)| {
        let (from, to) = (edge(bin) as f64, edge(bin + 1) as f64);
        from + (to - from) * (rest as f64 + 0.5) / *calls as f64
    })
}
