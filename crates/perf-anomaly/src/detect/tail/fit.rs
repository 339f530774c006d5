//! From a sketch to the run times that are normal: modes, and the tails of each.
//!
//! Modes: calls are sorted, and wherever a gap is too wide for the calls beyond it the sketch is cut.
//! In a tail that falls exponentially in log time with mean excess `b`, the gap below the `s` outermost
//! calls is exponential with mean `b / s`; a gap wider than `12 / s` quartile ranges does not happen by
//! chance (`exp(-12)` and less). Fewer calls than the share of a mode never are one: they are outliers
//! of the nearest.
//!
//! Tails: of the `n` calls of a mode the `k` outermost exceed the next one, `u`, by excesses `x`, which are
//! taken as exponential. The outer half is censored at the `r`-th excess, `r = k - k / 2`, so that outliers
//! count but do not stretch the tail: `b = (x_1 + ... + x_r + (k - r) x_r) / r`. Then `r b` is
//! gamma distributed, and a new call exceeds `u + b y` with probability `(k / n) (1 + y / r)^-r`, with
//! nothing unknown in it. Solved for the wanted probability `p`: `y = r ((k / (n p))^(1 / r) - 1)`.
//!
//! Excesses are logarithms on the slow side and times on the fast side. Every distribution whose hazard
//! rate rises there (normal, lognormal, gamma, Weibull and uniform times on both sides, a Pareto tail as
//! the limit on the slow one) has a lighter tail than the exponential one, so that `p` is an upper
//! bound; for a Pareto tail it is met.

use super::sketch::{Sketch, edge};

/// Narrowest gap between modes, in log time: 16 %.
const NARROWEST: f64 = 0.15;
/// A gap with `s` calls beyond is wider than chance from this many quartile ranges / `s` on.
const GAP: f64 = 12.0;
/// Most modes of a function; of more, those nearest to each other are taken as one.
const MOST_MODES: usize = 8;
/// Calls in a tail: at least this share of its mode's, ...
const SHARE: f64 = 0.01;
/// ... and this many, ...
const FEW: u64 = 40;
/// ... but not more than one in so many of its mode's.
const QUARTER: u64 = 4;

/// What a fit is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    /// Probability that a normal call is beyond one tail of its mode.
    pub(super) probability: f64,
    /// Least calls of a mode.
    pub(super) mode_calls: u64,
    /// Least share of a mode.
    pub(super) mode_share: f64,
}

/// One side of a mode. Values are run times plus the resolution.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Side {
    /// Where the tail begins.
    start: f64,
    /// Mean excess, in log time on the slow side and in time on the fast one.
    scale: f64,
    /// Excesses it was estimated from.
    from: f64,
    /// `-log10` of the share of calls in the tail.
    score: f64,
}

/// A range of run times that is normal, as values of a sketch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mode {
    /// Values up to this one are judged by this mode, higher ones by the next.
    pub(super) until: u64,
    /// Lowest normal value.
    pub(super) low: u64,
    /// Highest normal value.
    pub(super) high: u64,
    /// The median.
    pub(super) center: u64,
    fast: Side,
    slow: Side,
}

impl Mode {
    /// How rare a value is: `-log10` of the probability of a call that far out, by the tails; 0 at
    /// the median and linear up to the tails.
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

impl Side {
    fn beyond(&self, excess: f64) -> f64 {
        self.score
            + self.from * (excess / (self.scale * self.from)).ln_1p() / std::f64::consts::LN_10
    }

    /// How far beyond the start a call is with the wanted probability.
    fn reach(&self, share: f64, probability: f64) -> f64 {
        match share > probability {
            true => self.scale * self.from * ((share / probability).powf(1.0 / self.from) - 1.0),
            false => 0.0,
        }
    }
}

fn middle(bucket: usize) -> f64 {
    (edge(bucket) + edge(bucket + 1)) / 2.0
}

/// Buckets of a mode, with their counts, and how many calls they hold.
#[derive(Clone, Copy, Debug)]
struct Segment<'a> {
    filled: &'a [(usize, u64)],
    calls: u64,
}

impl Segment<'_> {
    fn first(&self) -> usize {
        self.filled.first().map_or(0, |(bucket, _)| *bucket)
    }

    fn end(&self) -> usize {
        self.filled.last().map_or(0, |(bucket, _)| bucket + 1)
    }
}

/// The bucket that a share of `calls` calls in `filled` lies below.
fn quantile(filled: &[(usize, u64)], calls: u64, share: f64) -> usize {
    let before = (share * calls as f64) as u64;
    let mut sum = 0;
    let found = filled.iter().find(|(_, count)| {
        sum += count;
        sum > before
    });
    found.or(filled.last()).map_or(0, |(bucket, _)| *bucket)
}

/// The modes of a sketch in order; none of an empty one.
pub(super) fn fit(sketch: &Sketch, wanted: &Wanted, filled: &mut Vec<(usize, u64)>) -> Vec<Mode> {
    filled.clear();
    filled.extend(sketch.filled());
    let resolution = sketch.resolution().0 as f64;
    let segments = segments(filled, sketch.count(), resolution, wanted);
    let mut modes: Vec<_> = segments
        .iter()
        .map(|segment| mode(segment, resolution, wanted.probability))
        .collect();
    for at in 1..modes.len() {
        let ([.., left], [right, ..]) = modes.split_at_mut(at) else {
            continue;
        };
        // In a gap the nearer mode judges; where two overlap, both find normal what is between.
        let (low, high) = (left.high.min(right.low), left.high.max(right.low));
        left.until = low + (high - low) / 2;
    }
    modes
}

/// Cuts at the gaps between modes.
fn segments<'a>(
    filled: &'a [(usize, u64)],
    calls: u64,
    resolution: f64,
    wanted: &Wanted,
) -> Vec<Segment<'a>> {
    let least = wanted
        .mode_calls
        .max((wanted.mode_share * calls as f64).ceil() as u64);
    let quartile = |share| middle(quantile(filled, calls, share));
    let spread = (quartile(0.75) / quartile(0.25)).ln().max(1.0 / 64.0);
    let mut segments = Vec::new();
    let (mut start, mut before, mut sum) = (0, 0, 0);
    for (at, pair) in filled.windows(2).enumerate() {
        let [(left, count), (right, _)] = pair else {
            continue;
        };
        sum += count;
        let beyond = sum.min(calls - sum);
        if *right <= left + 1 || beyond < least {
            continue;
        }
        let (lower, upper) = (edge(left + 1), edge(*right));
        let gap = (upper / lower).ln();
        if gap >= NARROWEST
            && gap * beyond as f64 >= GAP * spread
            && upper - lower >= 4.0 * resolution
        {
            segments.push(Segment {
                filled: &filled[start..=at],
                calls: sum - before,
            });
            (start, before) = (at + 1, sum);
        }
    }
    if start < filled.len() {
        segments.push(Segment {
            filled: &filled[start..],
            calls: calls - before,
        });
    }
    join(&mut segments, filled, least);
    segments
}

/// Joins segments that are too small to be modes, and those too many, with their nearest neighbour.
fn join<'a>(segments: &mut Vec<Segment<'a>>, filled: &'a [(usize, u64)], least: u64) {
    while segments.len() > 1 {
        let gap = |at: usize| edge(segments[at + 1].first()) / edge(segments[at].end());
        let gaps = 0..segments.len() - 1;
        let small = segments.iter().position(|segment| segment.calls < least);
        let nearest = |gaps: std::ops::Range<usize>| {
            gaps.min_by(|one, other| gap(*one).total_cmp(&gap(*other)))
        };
        let Some(at) = (match small {
            Some(at) => nearest(at.saturating_sub(1)..(at + 1).min(gaps.end)),
            None if segments.len() > MOST_MODES => nearest(gaps),
            None => None,
        }) else {
            return;
        };
        let right = segments.remove(at + 1);
        let left = &mut segments[at];
        let start = filled.partition_point(|(bucket, _)| *bucket < left.first());
        left.filled = &filled[start..start + left.filled.len() + right.filled.len()];
        left.calls += right.calls;
    }
}

fn mode(segment: &Segment<'_>, resolution: f64, probability: f64) -> Mode {
    let center = middle(quantile(segment.filled, segment.calls, 0.5));

    let outer = segment.filled.iter().rev();
    let tail = Tail::new(outer.clone(), segment.calls);
    let start = tail
        .next
        .map_or(edge(tail.innermost), |bucket| edge(bucket + 1))
        .max(1.0);
    let half = 0.5 * (edge(tail.innermost + 1) / edge(tail.innermost).max(1.0)).ln();
    let excess = |bucket| (middle(bucket) / start).ln();
    let slow = tail.side(start, tail.mean(outer, excess).max(half));
    let high = start * slow.reach(tail.share, probability).exp();
    let high = high.max(edge(tail.innermost + 1) + 2.0 * resolution);

    let outer = segment.filled.iter();
    let tail = Tail::new(outer.clone(), segment.calls);
    let start = tail.next.map_or(edge(tail.innermost + 1), edge);
    let half = 0.5 * (edge(tail.innermost + 1) - edge(tail.innermost));
    let fast = tail.side(
        start,
        tail.mean(outer, |bucket| start - middle(bucket)).max(half),
    );
    let low = start - fast.reach(tail.share, probability);
    let low = low.min(edge(tail.innermost) - 2.0 * resolution);

    // Conversions saturate: what is below 0 is 0, what is above all times is the longest.
    Mode {
        until: u64::MAX,
        low: low as u64,
        high: high as u64,
        center: center as u64,
        fast,
        slow,
    }
}

/// The outermost calls of a mode.
#[derive(Clone, Copy, Debug)]
struct Tail {
    calls: u64,
    /// Their share of the mode.
    share: f64,
    /// Their innermost bucket.
    innermost: usize,
    /// The bucket of the next call, if the tail is not the whole mode.
    next: Option<usize>,
}

impl Tail {
    /// `outer` gives buckets from the outermost inwards.
    fn new<'a>(outer: impl Iterator<Item = &'a (usize, u64)>, calls: u64) -> Self {
        let quarter = (calls / QUARTER).max(1);
        let most = quarter.min(FEW).max((SHARE * calls as f64) as u64);
        let least = quarter.min(8);
        let (mut kept, mut innermost, mut next) = (0, 0, None);
        for (bucket, count) in outer {
            if kept >= least && kept + count > most {
                next = Some(*bucket);
                break;
            }
            kept += count;
            innermost = *bucket;
        }
        Tail {
            calls: kept,
            share: kept as f64 / calls as f64,
            innermost,
            next,
        }
    }

    fn censored(&self) -> u64 {
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

    /// The mean excess, the outer half censored.
    fn mean<'a>(
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
