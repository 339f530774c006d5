//! From a sketch to the run times that are normal: modes, and the tails of each.
//!
//! Modes: calls are sorted, and wherever a gap is too wide for the calls beyond it the sketch is cut.
//! In a tail that falls exponentially in log time with mean excess `b`, the gap below the `s` outermost
//! calls is exponential with mean `b / s`; a gap wider than `12 / s` quartile ranges does not happen by
//! chance (`exp(-12)` and less). Between gaps the sketch is cut at the valleys of a [mixture](super::mixture).
//!
//! A piece is a mode if it holds the share of one, or if it holds a smaller share, lies between gaps, and is
//! narrow, its quartiles no further apart than 5 %, or one and a half times those of the widest mode: what
//! repeats takes about as long each time, what goes wrong does not. Fewer calls than that never are one: they
//! are outliers of the nearest.
//!
//! Alarms are shared out by modes: with `m` modes, each of a share `s` of the calls, a call of one is
//! beyond a tail with probability `p / (m s)`, so that of all calls `p` are. The bounds of a rare mode are
//! then no wider than its few calls need.
//!
//! A few calls say little of one in 200,000: the tail of 16 may end at hours. What takes more than ten times
//! as long as the longest call of the function is therefore not normal where the tail does not end before: it is
//! [beyond experience](super::experience), or, where the margin is too small for the stated rate of false
//! alarms, there is not enough data to tell. Nor does a tail reach into the upper half of the mode above it: calls there are
//! that mode's, whatever the tail of the lower one.
//!
//! Outliers: the `s` outermost calls of a mode are left out if they are fewer than a mode and the gap
//! below them is wider than one in a million of a tail like the one that remains, by the same law. What
//! was planted then does not stretch the tail.

use super::mixture::{Room, valleys};
use super::mode::{Mode, Outer, Segment, middle};
use super::sketch::{Sketch, edge};

/// Narrowest gap between modes, in log time: 16 %.
const NARROWEST: f64 = 0.15;
/// A gap with `s` calls beyond is wider than chance from this many quartile ranges / `s` on.
const GAP: f64 = 12.0;
/// Outliers are left out of a fit where a gap like theirs has less than this chance.
const CHANCE: f64 = 1e-6;
/// Most modes of a function; of more, those nearest to each other are taken as one.
const MOST_MODES: usize = 8;
/// A rare mode is no wider than this in log time, or ...
const TIGHT: f64 = 0.05;
/// ... this many times the widest of the others.
const AS_WIDE: f64 = 1.5;
/// Most alarms of a mode: one call in so many beyond a tail.
const RARELY: f64 = 0.01;
/// Calls tell nothing of what takes this many times as long as the longest of them.
const FARTHEST: f64 = 10.0;

/// What a fit is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    /// Probability that a normal call is beyond one tail of its mode.
    pub(super) probability: f64,
    /// Least calls of a mode.
    pub(super) mode_calls: u64,
    /// Least share of a mode.
    pub(super) mode_share: f64,
    /// Least share of a narrow mode.
    pub(super) rare_share: f64,
}

/// Least calls of a mode, and of a narrow one.
#[derive(Clone, Copy, Debug)]
struct Least {
    mode: u64,
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

/// Where modes are parted, by gaps and by valleys between them: in order, each the lowest bucket of the upper one.
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
    let resolution = sketch.resolution().0 as f64;
    let least = Least::new(wanted, sketch.count());
    for segment in segments(filled, &[], sketch.count(), resolution, least) {
        // A gap may be filled before the next mixture.
        cuts.push(segment.first());
        if segment.calls >= 2 * least.rare {
            valleys(segment.filled, resolution, NARROWEST, room, cuts);
        }
    }
}

/// The modes of a sketch in order, with what is known of [overlaps]; none of an empty one.
pub(super) fn fit(
    sketch: &Sketch,
    wanted: &Wanted,
    cuts: &[usize],
    filled: &mut Vec<(usize, u64)>,
) -> Vec<Mode> {
    filled.clear();
    filled.extend(sketch.filled());
    let resolution = sketch.resolution().0 as f64;
    let least = Least::new(wanted, sketch.count());
    let segments = segments(filled, cuts, sketch.count(), resolution, least);
    let parts = sketch.count() as f64 / segments.len().max(1) as f64;
    let mut modes: Vec<_> = segments
        .iter()
        .map(|segment| {
            let own = wanted.probability * parts / segment.calls.max(1) as f64;
            let own = own.min(RARELY).max(wanted.probability / MOST_MODES as f64);
            Mode::new(&without_outliers(*segment, least.mode), resolution, own)
        })
        .collect();
    for at in 1..modes.len() {
        let ([.., left], [right, ..]) = modes.split_at_mut(at) else {
            continue;
        };
        // In a gap the nearer mode judges; where two overlap, both find normal what is between.
        let (low, high) = (left.high.min(right.low), left.high.max(right.low));
        left.until = (low + (high - low) / 2).min(right.center.max(left.center));
    }
    let longest = filled.last().map_or(0.0, |(bucket, _)| edge(bucket + 1));
    for mode in &mut modes {
        // Conversions saturate.
        mode.known = (FARTHEST * longest) as u64;
    }
    modes
}

/// Cuts at the gaps between modes, and where the mixture says so.
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

/// Joins segments that are no modes, and those too many, with their nearest neighbour.
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

/// Whether gaps part a piece from its neighbours.
fn is_alone(one: &Segment<'_>, segments: &[Segment<'_>]) -> bool {
    let (first, end) = (edge(one.first()), edge(one.end()));
    let gap = NARROWEST.exp();
    segments.iter().all(|other| {
        let (from, to) = (edge(other.first()), edge(other.end()));
        from == first || from >= gap * end || first >= gap * to
    })
}

/// Leaves out, at both ends, fewer than `least` calls that lie further out than a regular tail reaches.
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

/// Whether a gap is too wide for the calls `beyond` it to belong to the tail of the `inner` ones, which
/// are given from the outermost inwards. `excess` is that of a bucket over the one where a tail starts.
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
    // The law of a tail whose scale is estimated, as in the module of modes.
    let from = (tail.calls - tail.censored()) as f64;
    let reach = from * (CHANCE.powf(-1.0 / from) - 1.0);
    gap * beyond as f64 >= reach * scale.max(1.0 / 128.0)
}
