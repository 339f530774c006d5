//! Computation of the modes of a function's run times from its sketch, and of the normal range of each mode.
//!
//! Modes: the sketch is first split at gaps, which are empty ranges of run times that chance does
//! not explain. If a tail decreases exponentially in log time with mean excess `b`, the gap below
//! its `s` outermost calls is exponentially distributed with mean `b / s`. A gap of at least `12 /
//! s` quartile ranges has a probability of at most `exp(-12)` by chance. Between gaps the sketch is
//! split at the valleys of a [mixture](super::mixture).
//!
//! A segment is a mode if it holds at least the share of calls that a mode requires. A segment that
//! holds fewer calls, but at least the share of a rare mode, is a mode if it lies between gaps and
//! is narrow. A segment is narrow if its quartiles are at most 5 % apart, or at most 1.5 times as
//! far apart as those of the widest mode. Regular repetitions take about the same time, faults do
//! not. A segment with still fewer calls is joined with the nearest mode; its calls may be outliers
//! of that mode.
//!
//! Alarms are distributed evenly over modes. With `m` modes, a call of a mode with the share `s` of
//! all calls is beyond a tail with probability `p / (m s)`, so that the probability over all calls
//! is `p`. The bounds of a rare mode are then no wider than its few calls require.
//!
//! A tail does not extend into the upper half of the next mode, because calls there belong to that
//! mode.
//!
//! Outliers: the `s` outermost calls at an end of a mode are excluded if three conditions hold.
//! They are fewer than a mode requires, they are at most a quarter of the mode, and the tail of the
//! remaining calls would have so wide a gap below them with a probability of at most one in a
//! million. Earlier anomalies then do not widen the tail.

use super::extrapolation::Extrapolation;
use super::mixture::{Room, valleys};
use super::mode::{Mode, Outer, Segment, middle};
use super::program::Multipliers;
use super::sketch::{Sketch, edge};

/// Narrowest gap between modes, in log time: 16 %.
const NARROWEST: f64 = 0.15;
/// A gap with `s` calls beyond it separates modes if its width is at least this many quartile
/// ranges divided by `s`.
const GAP: f64 = 12.0;
/// Probability of a gap below which the calls beyond it are excluded as outliers.
const CHANCE: f64 = 1e-6;
/// Largest number of modes of a function; if there are more, the nearest ones are joined.
const MOST_MODES: usize = 8;
/// Largest distance of the quartiles of a narrow mode, in log time, or ...
const TIGHT: f64 = 0.05;
/// ... this multiple of that distance in the widest other mode.
const AS_WIDE: f64 = 1.5;
/// Largest probability that a normal call of a mode is beyond a tail.
const RARELY: f64 = 0.01;

/// Parameters of a fit.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wanted {
    /// Probability that a normal call is labelled abnormal.
    pub(super) probability: f64,
    /// Fewest calls of a mode.
    pub(super) mode_calls: u64,
    /// Smallest share of a function's calls that is a mode.
    pub(super) mode_share: f64,
    /// Smallest share of a function's calls that is a mode if it is narrow.
    pub(super) rare_share: f64,
    /// Tick of the clock in nanoseconds; at least the resolution.
    pub(super) tick: f64,
}

/// Fewest calls of a mode and of a narrow mode, from the shares and the number of calls.
#[derive(Clone, Copy, Debug)]
struct Least {
    /// Fewest calls of a mode.
    mode: u64,
    /// Fewest calls of a narrow mode.
    rare: u64,
}

impl Least {
    fn new(wanted: &Wanted, calls: u64) -> Self {
        let of = |share: f64| wanted.mode_calls.max((share * calls as f64).ceil() as u64);
        Least {
            mode: of(wanted.mode_share),
            rare: of(wanted.rare_share),
        }
    }
}

/// Computes the boundaries between modes, at gaps and at the valleys between gaps, into `cuts`.
/// They are in ascending order; each is the lowest bucket of the upper mode.
pub(super) fn overlaps(
    sketch: &Sketch,
    wanted: &Wanted,
    filled: &mut Vec<(usize, u64)>,
    room: &mut Room,
    cuts: &mut Vec<usize>,
) {
    filled.clear();
    filled.extend(sketch.filled());
    cuts.clear();
    let resolution = wanted.tick;
    let least = Least::new(wanted, sketch.count());
    for segment in segments(filled, &[], sketch.count(), resolution, least) {
        // Gaps are stored too, because later calls may fill them before the next mixture is
        // computed.
        cuts.push(segment.first());
        if segment.calls >= 2 * least.rare {
            valleys(segment.filled, resolution, NARROWEST, room, cuts);
        }
    }
}

/// Returns the modes of a sketch in ascending order, given the boundaries from [overlaps]; none for
/// an empty sketch.
pub(super) fn fit(
    sketch: &Sketch,
    wanted: &Wanted,
    cuts: &[usize],
    filled: &mut Vec<(usize, u64)>,
) -> Vec<Mode> {
    filled.clear();
    filled.extend(sketch.filled());
    let resolution = wanted.tick;
    let least = Least::new(wanted, sketch.count());
    let segments = segments(filled, cuts, sketch.count(), resolution, least);
    let parts = sketch.count() as f64 / segments.len().max(1) as f64;
    let mut modes: Vec<_> = segments
        .iter()
        .map(|segment| {
            let own = wanted.probability * parts / segment.calls.max(1) as f64;
            let own = own.min(RARELY).max(wanted.probability / MOST_MODES as f64);
            let inner = without_outliers(*segment, least.mode);
            let mut mode = Mode::new(&inner, sketch, resolution, own, wanted.mode_share);
            if mode.low <= sketch.resolution().0 as u64 {
                // No call can be too fast.
                mode.probability = own;
            }
            mode
        })
        .collect();
    for at in 1..modes.len() {
        let ([.., left], [right, ..]) = modes.split_at_mut(at) else {
            continue;
        };
        // A call in the gap between two modes is judged by the nearer mode. If the normal ranges
        // overlap, calls in the overlap are normal.
        let (low, high) = (left.high.min(right.low), left.high.max(right.low));
        let until = (low + (high - low) / 2).min(right.center.max(left.center));
        // The wide tail of a mode of few calls does not reach into the calls of the lower mode.
        left.until = until.max(left.longest.saturating_sub(2 * resolution as u64));
    }
    modes
}

/// Splits the occupied buckets at gaps and at the boundaries of the mixture.
fn segments<'a>(
    filled: &'a [(usize, u64)],
    cuts: &[usize],
    calls: u64,
    resolution: f64,
    least: Least,
) -> Vec<Segment<'a>> {
    let spread = Segment { filled, calls }.spread().max(1.0 / 64.0);
    let mut segments = Vec::new();
    let (mut start, mut before, mut sum) = (0, 0, 0);
    let mut cuts = cuts.iter().peekable();
    for (at, pair) in filled.windows(2).enumerate() {
        let [(left, count), (right, _)] = pair else {
            continue;
        };
        sum += count;
        let mut is_valley = false;
        while let Some(cut) = cuts.next_if(|cut| **cut <= *right) {
            is_valley |= cut > left;
        }
        let beyond = sum.min(calls - sum);
        if beyond < least.rare || (*right <= left + 1 && !is_valley) {
            continue;
        }
        let (lower, upper) = (edge(left + 1), edge(*right));
        let gap = (upper / lower).ln();
        let is_gap = gap >= NARROWEST
            && gap * beyond as f64 >= GAP * spread
            && upper - lower >= 4.0 * resolution;
        if is_gap || is_valley {
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

/// Joins segments that are not modes with their nearest neighbour, and then the nearest segments
/// until there are at most [`MOST_MODES`].
fn join<'a>(segments: &mut Vec<Segment<'a>>, filled: &'a [(usize, u64)], least: Least) {
    while segments.len() > 1 {
        let gap = |at: usize| edge(segments[at + 1].first()) / edge(segments[at].end());
        let gaps = 0..segments.len() - 1;
        let full = segments.iter().filter(|one| one.calls >= least.mode);
        let widest = full.map(Segment::spread).fold(0.0, f64::max);
        let small = segments.iter().position(|one| match one.calls {
            calls if calls >= least.mode => false,
            calls if calls < least.rare => true,
            _ => one.spread() > TIGHT.max(AS_WIDE * widest) || !is_alone(one, segments),
        });
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

/// Returns `true` if gaps separate a segment from all other segments.
fn is_alone(one: &Segment<'_>, segments: &[Segment<'_>]) -> bool {
    let (first, end) = (edge(one.first()), edge(one.end()));
    let gap = NARROWEST.exp();
    segments.iter().all(|other| {
        let (from, to) = (edge(other.first()), edge(other.end()));
        from == first || from >= gap * end || first >= gap * to
    })
}

/// Extrapolates a tail of the calls of a mode with values above `from` and up to `until`: the slow one,
/// or the fast one if the median of the mode is given. `factors` multiply the weights of the shapes of
/// slow tails.
pub(super) fn extrapolate(
    sketch: &Sketch,
    wanted: &Wanted,
    (from, until): (u64, u64),
    median: Option<u64>,
    factors: &Multipliers,
) -> Extrapolation {
    let is_own = |(bucket, _): &(usize, u64)| {
        middle(*bucket) > from as f64 && middle(*bucket) <= until as f64
    };
    let filled: Vec<_> = sketch.filled().filter(is_own).collect();
    let calls = filled.iter().map(|(_, count)| count).sum();
    let all = Segment {
        filled: &filled,
        calls,
    };
    let least = Least::new(wanted, sketch.count());
    let regular = without_outliers(all, least.mode);
    // Fewer calls than those of a mode may be anomalies.
    let outliers = (wanted.mode_share * regular.calls as f64) as u64;
    let (outliers, tick) = ((outliers, least.mode), wanted.tick);
    match median {
        Some(median) => Extrapolation::mirrored(&regular, sketch, outliers, tick, median as f64),
        None => Extrapolation::new(&all, &regular, sketch, outliers, tick, factors),
    }
}

/// Excludes fewer than `least` calls at each end that lie further out than a regular tail reaches.
fn without_outliers(mut segment: Segment<'_>, least: u64) -> Segment<'_> {
    let most = (least - 1).min(segment.calls / 4);
    let mut beyond = 0;
    for (at, pair) in segment.filled.windows(2).enumerate().rev() {
        let [(left, _), (right, count)] = pair else {
            continue;
        };
        beyond += count;
        if beyond > most {
            break;
        }
        let inner = &segment.filled[..=at];
        let gap = (edge(*right) / edge(left + 1)).ln();
        let excess = |start: usize, bucket| (middle(bucket) / edge(start + 1)).ln();
        if is_beyond(
            inner.iter().rev(),
            segment.calls - beyond,
            gap,
            beyond,
            excess,
        ) {
            segment = Segment {
                filled: inner,
                calls: segment.calls - beyond,
            };
            break;
        }
    }
    let mut beyond = 0;
    for (at, pair) in segment.filled.windows(2).enumerate() {
        let [(left, count), (right, _)] = pair else {
            continue;
        };
        beyond += count;
        if beyond > most {
            break;
        }
        let inner = &segment.filled[at + 1..];
        let gap = (edge(*right) / edge(left + 1)).ln();
        let excess = |start, bucket| (edge(start) / middle(bucket)).ln();
        if is_beyond(inner.iter(), segment.calls - beyond, gap, beyond, excess) {
            return Segment {
                filled: inner,
                calls: segment.calls - beyond,
            };
        }
    }
    segment
}

/// Returns `true` if a gap is too wide for the calls `beyond` it to belong to the tail of the
/// `inner` buckets, which are given from the outermost inwards. `excess` returns the excess of a
/// bucket over the start of the tail.
fn is_beyond<'a>(
    inner: impl Iterator<Item = &'a (usize, u64)> + Clone,
    calls: u64,
    gap: f64,
    beyond: u64,
    excess: impl Fn(usize, usize) -> f64,
) -> bool {
    if gap < NARROWEST {
        return false;
    }
    let tail = Outer::new(inner.clone(), calls);
    let start = tail.next.unwrap_or(tail.innermost);
    let scale = tail.mean(inner, |bucket| excess(start, bucket).max(0.0));
    // Distribution of a tail whose scale is estimated; `mode.rs` has the derivation.
    let from = (tail.calls - tail.censored()) as f64;
    let reach = from * (CHANCE.powf(-1.0 / from) - 1.0);
    gap * beyond as f64 >= reach * scale.max(1.0 / 128.0)
}
