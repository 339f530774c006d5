//! [`Mode`]: range of normal run times around a peak, with bounds and scores from exponential tails
//! of its outermost calls ([`Outer`]); [`Segment`]: its buckets.
//!
//! The tails that decide about calls are [extrapolations](super::extrapolation), computed for the
//! first call that needs them. The estimates here are cheap. They bound fast calls, separate
//! neighbouring modes, and give the scores of normal calls.
//!
//! Of the `n` calls of a mode, the `k` outermost calls exceed the next call `u` by the excesses
//! `x`, which are assumed to be exponentially distributed. The outer half of the excesses is
//! censored at the `r`-th excess, `r = k - k / 2`, so that outliers count but do not widen the
//! tail. The mean excess is estimated as `b = (x_1 + ... + x_r + (k - r) x_r) / r`. Then `r b` is
//! gamma distributed, and a new call exceeds `u + b y` with probability `(k / n) (1 + y / r)^-r`,
//! which has no unknown parameters. For the required probability `p` this gives `y = r ((k / (n
//! p))^(1 / r) - 1)`.
//!
//! Excesses are logarithms of ratios on the slow side and differences of times on the fast side.
//! Every distribution whose hazard rate increases on that scale has a lighter tail than the
//! exponential distribution, so that `p` is an upper bound.
//!
//! Calls that last a few clock ticks have equal run times because of the clock's resolution. Such
//! ties are excluded from a tail of longer calls, however few the longer calls are.

use super::extrapolation::Extrapolation;
use super::sketch::{Sketch, edge};
use std::sync::OnceLock;

/// Number of calls in a tail: the larger of this fraction of its mode, ...
const SHARE: f64 = 0.01;
/// ... and this number, ...
const FEW: u64 = 40;
/// ... but at most one in this many calls of its mode.
const QUARTER: u64 = 4;
/// Part of the probability of false alarms for slow calls; fast calls have the rest.
const SLOW_PART: f64 = 0.65;
/// Number of calls that are extrapolated for each expected false alarm.
const EXTRAPOLATED: f64 = 8.0;
/// Ratio of the probability of a call by an earlier tail to that of an alarm above which the call is
/// taken for normal without a further fit.
const COMMON: f64 = 30.0;
/// Largest number of resolutions between the shortest and the longest call of a mode of constant time. If
/// this included wider modes, normal times of 100 ms, 0.05 to 0.2 %, would have twice the stated rate of false alarms.
const CONSTANT: f64 = 8.0;
/// Number of clock ticks below which values may be equal because of the resolution.
const COARSE: f64 = 4.0;

/// One side of a mode. Values are run times plus the resolution.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Side {
    /// Start of the tail.
    start: f64,
    /// Mean excess, in log time on the slow side and in time on the fast one.
    scale: f64,
    /// Number of uncensored excesses, `r` above.
    from: f64,
    /// `-log10` of the fraction of calls in the tail.
    score: f64,
}

/// Range of normal run times, as values of a sketch.
#[derive(Clone, Debug)]
pub(super) struct Mode {
    /// Highest value that this mode judges; higher values are judged by the next mode.
    pub(super) until: u64,
    /// Lowest value that is normal without an extrapolation.
    pub(super) low: u64,
    /// Highest value that may be normal, if the tail is exponential in log time.
    pub(super) high: u64,
    /// Highest value that is normal without an extrapolation.
    pub(super) seen: u64,
    /// Value of the longest call, and two ticks.
    pub(super) longest: u64,
    /// Probability of a slow call below which it is abnormal.
    pub(super) probability: f64,
    /// Probability of a fast call below which it is abnormal.
    pub(super) fast_probability: f64,
    /// Tail of fast calls, computed for the first call below `low`.
    pub(super) fast_tail: OnceLock<Box<Extrapolation>>,
    /// Tail of slow calls, computed for the first call above `seen`.
    pub(super) tail: OnceLock<Box<Extrapolation>>,
    /// Tail of an earlier fit, and its number of calls.
    pub(super) earlier: Option<(Box<Extrapolation>, u64)>,
    /// Median.
    pub(super) center: u64,
    /// Number of calls, without outliers.
    pub(super) calls: u64,
    /// Tail of fast calls.
    fast: Side,
    /// Tail of slow calls.
    slow: Side,
}

impl Mode {
    /// Returns the score of a value: `-log10` of the probability of a call so far out in a tail.
    /// Between the median, where it is 0, and the start of a tail it is linear.
    #[inline]
    pub(super) fn score(&self, value: u64) -> f64 {
        let value = value as f64;
        let center = self.center as f64;
        if value > self.slow.start {
            self.slow.beyond((value / self.slow.start).ln())
        } else if value < self.fast.start {
            self.fast.beyond(self.fast.start - value)
        } else if value >= center {
            (value - center) / (self.slow.start - center).max(1.0) * self.slow.score
        } else {
            (center - value) / (center - self.fast.start).max(1.0) * self.fast.score
        }
    }
}

impl Mode {
    /// Keeps the tail of the same mode in an earlier fit, unless the mode has twice as many calls.
    pub(super) fn keep(&mut self, earlier: Mode) {
        let calls = earlier.calls;
        let tail = earlier.tail.into_inner().map(|tail| (tail, calls));
        self.earlier = tail
            .or(earlier.earlier)
            .filter(|(_, calls)| self.calls / 2 <= *calls && calls / 2 <= self.calls);
    }

    /// Returns `true` if an earlier tail shows that a slow call is far from abnormal.
    pub(super) fn is_common(&self, value: u64) -> bool {
        let earlier = self.earlier.as_ref();
        earlier.is_some_and(|(tail, _)| tail.probability(value as f64) > COMMON * self.probability)
    }
}

impl Side {
    fn beyond(&self, excess: f64) -> f64 {
        self.score
            + self.from * (excess / (self.scale * self.from)).ln_1p() / std::f64::consts::LN_10
    }

    /// Returns the distance beyond the start of the tail at which a call has the required
    /// probability.
    fn reach(&self, share: f64, probability: f64) -> f64 {
        if share > probability {
            self.scale * self.from * ((share / probability).powf(1.0 / self.from) - 1.0)
        } else {
            0.0
        }
    }
}

pub(super) fn middle(bucket: usize) -> f64 {
    (edge(bucket) + edge(bucket + 1)) / 2.0
}

/// Buckets of a mode with their counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment<'a> {
    /// Occupied buckets.
    pub(super) filled: &'a [(usize, u64)],
    /// Number of calls.
    pub(super) calls: u64,
}

impl Segment<'_> {
    pub(super) fn first(&self) -> usize {
        self.filled.first().map_or(0, |(bucket, _)| *bucket)
    }

    pub(super) fn end(&self) -> usize {
        self.filled.last().map_or(0, |(bucket, _)| bucket + 1)
    }

    /// Returns bounds of the values of a bucket: the shortest and the longest one in a segment of
    /// constant time, where the width of a bucket would hide how near its values are.
    pub(super) fn bounds(&self, sketch: &Sketch, bucket: usize) -> (f64, f64) {
        if self.is_constant(sketch) {
            sketch.bounds(bucket)
        } else {
            (edge(bucket), edge(bucket + 1))
        }
    }

    /// Returns `true` if all values are within [`CONSTANT`] resolutions.
    pub(super) fn is_constant(&self, sketch: &Sketch) -> bool {
        let last = self.end().saturating_sub(1);
        let width = || sketch.bounds(last).1 - sketch.bounds(self.first()).0;
        self.filled.len() <= 2 && width() <= CONSTANT * sketch.resolution().0 as f64
    }

    /// Returns the distance of the quartiles in log time.
    pub(super) fn spread(&self) -> f64 {
        let quartile = |share| middle(quantile(self.filled, self.calls, share));
        (quartile(0.75) / quartile(0.25)).ln()
    }
}

/// Returns the bucket of the quantile `share` of the `calls` calls in `filled`; 0 if `filled` is
/// empty.
pub(super) fn quantile(filled: &[(usize, u64)], calls: u64, share: f64) -> usize {
    let before = (share * calls as f64) as u64;
    let mut sum = 0;
    let found = filled.iter().find(|(_, count)| {
        sum += count;
        sum > before
    });
    found.or(filled.last()).map_or(0, |(bucket, _)| *bucket)
}

impl Mode {
    /// Computes the mode of a segment of a sketch. A normal call is beyond its tails with the given probability;
    /// the fraction `outliers` of the calls may be anomalies.
    pub(super) fn new(
        segment: &Segment<'_>,
        sketch: &Sketch,
        resolution: f64,
        probability: f64,
        outliers: f64,
    ) -> Self {
        let bounds = |bucket| segment.bounds(sketch, bucket);
        let (low, high) = bounds(quantile(segment.filled, segment.calls, 0.5));
        let center = f64::midpoint(low, high);

        let outer = segment.filled.iter().rev();
        let coarse = COARSE * resolution;
        let tail = Outer::slow(outer.clone(), segment.calls, coarse);
        let start = tail
            .next
            .map_or(edge(tail.innermost), |bucket| edge(bucket + 1))
            .max(1.0);
        let half = 0.5 * (edge(tail.innermost + 1) / edge(tail.innermost).max(1.0)).ln();
        let excess = |bucket| (middle(bucket) / start).ln();
        let slow = tail.side(start, tail.mean(outer, excess).max(half));
        let high = start * slow.reach(tail.share, SLOW_PART * probability).exp();
        let high = match tail.next {
            None if edge(tail.innermost) < coarse => {
                start / ((segment.calls + 1) as f64 * SLOW_PART * probability)
            }
            _ => high,
        };
        let high = high.max(edge(tail.innermost + 1) + 2.0 * resolution);
        let last = segment.end().saturating_sub(1);
        let longest = bounds(last).1 + 2.0 * resolution;
        // Anomalies are longer, and several times as many calls as alarms are expected.
        let longer = outliers + EXTRAPOLATED * probability + 1.0 / segment.calls as f64;
        let screen = quantile(segment.filled, segment.calls, 1.0 - longer);
        let seen = bounds(screen).1 + 2.0 * resolution;

        let outer = segment.filled.iter();
        let tail = Outer::new(outer.clone(), segment.calls);
        let start = tail.next.map_or(edge(tail.innermost + 1), edge);
        let half = 0.5 * (edge(tail.innermost + 1) - edge(tail.innermost));
        let fast = tail.side(
            start,
            tail.mean(outer, |bucket| start - middle(bucket)).max(half),
        );
        let low = start - fast.reach(tail.share, (1.0 - SLOW_PART) * probability);
        let low = low.min(edge(tail.innermost) - 2.0 * resolution);

        // Conversions saturate: negative values become 0, too large ones `u64::MAX`.
        Mode {
            until: u64::MAX,
            low: low as u64,
            high: high as u64,
            seen: seen as u64,
            longest: longest as u64,
            probability: SLOW_PART * probability,
            fast_probability: (1.0 - SLOW_PART) * probability,
            fast_tail: OnceLock::new(),
            tail: OnceLock::new(),
            earlier: None,
            center: center as u64,
            calls: segment.calls,
            fast,
            slow,
        }
    }
}

/// Outermost calls of a mode.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outer {
    /// Number of calls.
    pub(super) calls: u64,
    /// Fraction of the calls of the mode.
    share: f64,
    /// Innermost of their buckets.
    pub(super) innermost: usize,
    /// Bucket of the next call, unless the tail is the whole mode.
    pub(super) next: Option<usize>,
}

impl Outer {
    /// Selects the outermost calls; `outer` yields buckets from the outermost inwards.
    pub(super) fn new<'a>(outer: impl Iterator<Item = &'a (usize, u64)>, calls: u64) -> Self {
        Self::slow(outer, calls, 0.0)
    }

    /// Selects like [`new`](Self::new), but excludes ties of values below `coarse` from a tail of
    /// longer calls.
    pub(super) fn slow<'a>(
        outer: impl Iterator<Item = &'a (usize, u64)>,
        calls: u64,
        coarse: f64,
    ) -> Self {
        let quarter = (calls / QUARTER).max(1);
        let most = quarter.min(FEW).max((SHARE * calls as f64) as u64);
        let least = quarter.min(8);
        let (mut kept, mut innermost, mut next) = (0, 0, None);
        for (bucket, count) in outer {
            let is_tie = kept > 0 && edge(*bucket) < coarse;
            if (kept >= least || is_tie) && kept + count > most {
                next = Some(*bucket);
                break;
            }
            kept += count;
            innermost = *bucket;
        }
        Outer {
            calls: kept,
            share: kept as f64 / calls as f64,
            innermost,
            next,
        }
    }

    pub(super) fn censored(&self) -> u64 {
        self.calls / 2
    }

    fn side(&self, start: f64, scale: f64) -> Side {
        Side {
            start,
            scale,
            from: (self.calls - self.censored()) as f64,
            score: -self.share.log10(),
        }
    }

    /// Returns the mean excess, with the outer half censored.
    pub(super) fn mean<'a>(
        &self,
        outer: impl Iterator<Item = &'a (usize, u64)>,
        excess: impl Fn(usize) -> f64,
    ) -> f64 {
        let censored = self.censored();
        let (mut skip, mut left, mut sum) = (censored, self.calls, 0.0);
        for (bucket, count) in outer {
            let skipped = skip.min(*count);
            skip -= skipped;
            left -= left.min(*count);
            let counted = count - skipped;
            if counted > 0 {
                let excess = excess(*bucket);
                if sum == 0.0 {
                    sum = censored as f64 * excess;
                }
                sum += counted as f64 * excess;
            }
            if left == 0 {
                break;
            }
        }
        sum / (self.calls - censored).max(1) as f64
    }
}
