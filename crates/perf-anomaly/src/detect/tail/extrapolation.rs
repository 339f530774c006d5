//! [`Extrapolation`]: tail fitted to the slow calls of a mode, or to its mirrored fast calls; gives
//! the probability of a call further out and the run time for a probability.
//!
//! The `k` outermost of the `n` calls of a mode exceed the threshold `u`. Let `e` be the logarithm
//! of the ratio of a run time to `u`, and `z` the standard normal number that is exceeded with the
//! same probability. The tails of one family are considered:
//!
//! ```text
//! e = s ((1 + z)^l - (1 + z0)^l) / l        u has z0
//! ```
//!
//! The scale `s` is free and the shape `l` is one of [`SHAPES`]. Times are lognormal at `l = 1`,
//! Pareto at 2.06 within 2 % down to a probability of `1e-9`, normal with a deviation of 10 % at
//! 0.8, and exponential at 0.35. A generalised Pareto distribution alone needs many more calls for
//! the same purpose, because the maxima of normal times converge slowly to its limit.
//!
//! Narrow distributions with heavy tails, such as Student's `t` or normal times of two deviations,
//! are no member of this family. Generalised Pareto distributions of the excess `x / u - 1` with the
//! indices of [`PARETO`](super::shapes::PARETO) are therefore further shapes. Few calls do not distinguish them from
//! normal times, so that they count less until there are more calls.
//!
//! If most calls are ties at a few ticks of the clock, only the calls above the ties are the tail,
//! however few they are. Their rate is the mean of its posterior distribution, `(k + 1/2) / (n + 1)`,
//! and `s` is limited to tails with about a finite mean. A first longer call is thus abnormal only
//! if it is far longer than the ties and there were many of them. Fitted as a whole distribution, which may be
//! light, 5 to 30 such calls would exclude shorter ones, but have 1,450 instead of 0 false alarms in a million if
//! one call in ten is lognormal with a width of 1.
//!
//! A tail may have two parts, such as usual calls and those with an interrupt. If at least as many
//! calls as a mode requires lie so far out that the fitted tail does not explain their number, they are
//! no anomalies: the tail is fitted again to the calls beyond the point where they begin, up to twice.
//!
//! The weights of the shapes before any call are fixed, multiplied by factors that follow from the
//! other functions of the [program](super::program).
//!
//! No estimate of `s` and `l` is used. The result is the average of the tail probability over all
//! of them, weighted by the likelihood of the calls. Few calls do not determine the shape, so
//! that the heavy shapes then determine the result. Calls are counted in intervals of run time,
//! which are at least as wide as the tick of the clock. Ties at a tick therefore have a tail, too.
//!
//! The tail functions are tabulated, which makes a fit thirty times as fast as without tables.

use super::cells::{Cell, above_ties, cells};
use super::mode::Segment;
use super::program::{Evidence, Multipliers, UNCHANGED};
use super::shapes::{COUNT, SHAPES, kind, log_excesses, look_up, nearest_start, table};
use super::sketch::Sketch;

/// Shape of each kind from which the range of likely scales is computed.
const MIDDLE: [usize; 2] = [4, SHAPES.len() + 1];
/// Logarithm of the prior weight of [`PARETO`](super::shapes::PARETO) for a tail of [`FEWEST`] calls,
/// or of fewer than [`DISTINCT`] cells. It approaches 0 with the square root of the number of calls.
const PARETO_WEIGHT: f64 = -7.0;
/// Largest number of times that a tail is fitted again to its outer part.
const PARTS: usize = 2;
/// Least deviance of the number of calls beyond a point that the fitted tail does not explain.
const UNEXPLAINED: f64 = 10.0;
/// Weight of a shape and scale that is negligible for an expected number of calls.
const SMALL_WEIGHT: f64 = 1e-3;
/// Number of scales of each shape.
const SCALES: usize = 13;
/// Largest number of intervals of a tail.
const INTERVALS: usize = 32;
/// Number that is added to the observed number of calls above ties, because the next call may be the
/// first of them. It is that of the prior of Jeffreys for a rate.
const FIRST: f64 = 0.5;
/// Logarithms of the smallest and the largest median excess, in log time, of calls above ties. Half
/// of the calls at the largest one take at least 2.5 times as long as the threshold, a little more
/// than those of a Pareto tail with exponent 1, the limit of tails with a finite mean.
const BOUNDS: (f64, f64) = (-3.9, -0.1);
/// The same bounds as long as there is no call above ties. Tails without a mean are included, because
/// [`FAR_SHARE`] bounds their far part.
const FIRST_BOUNDS: (f64, f64) = (-3.9, 0.3);
/// Number of resolutions of a call that is far above ties, if no call above them is known, ...
const FAR_RESOLUTIONS: f64 = 50.0;
/// ... and its fewest ticks.
const FAR_TICKS: f64 = 5.0;
/// Largest assumed fraction of such calls among the calls above ties. Interrupts take a few ticks,
/// so that the scales that are possible without any call do not describe calls that far out.
const FAR_SHARE: f64 = 0.0037;
/// Multiple of that time from which on the fraction falls, in inverse proportion to the time.
const FARTHER: f64 = 4.0;
/// Decrease of the log likelihood at which a scale is negligible.
const NEGLIGIBLE: f64 = 12.0;
/// Decrease of the log likelihood at which the weight of a shape and scale is negligible.
const LEAST_WEIGHT: f64 = 40.0;
/// Median excess, in log time, from which on heavy tails are as likely as light ones.
const WIDE: f64 = 0.4;
/// The same median excess for tails without ties that begin within [`NEAR`] ticks. Such times are wide because of
/// the tick: at 0.4, 200 gamma times of 2 us on a tick of 1 us do not exclude a tail that reaches 50 us in 7 to 23 %
/// of the functions, at 1.2 in 1 to 2 %. At 1.5, Pareto times with exponent 1 have 34 false alarms in a million.
const WIDE_NEAR: f64 = 1.2;
/// The same median excess for tails above ties that begin within [`NEAR`] ticks and have [`MANY`] calls. Two ticks
/// are 70 % of the calls of such functions by chance: at 0.4, 200 gamma times of 2 us do not exclude 50 us in 0.7 % of
/// the functions, at 0.5 in 0.07 %. At 0.6, lognormal times of 1 us and a width of 0.5 have 21 instead of 11 false
/// alarms in a million.
const WIDE_ABOVE_TIES: f64 = 0.5;
/// Fewest calls above ties, and their smallest share, that continue the ties instead of having a cause of their own.
const MANY: (u64, f64) = (32, 0.18);
/// Largest number of ticks of the first calls of such tails.
const NEAR: u64 = 3;
/// Ratio of a median excess to that one below which heavy tails become no more unlikely. It is that of
/// lognormal times of 10 %.
const NARROWEST: f64 = 0.17;
/// Power of that ratio by which the weight of a tail falls for each unit of its shape above 1.
const UNLIKELY: f64 = 2.8;
/// Logarithms of the prior weights of [`SHAPES`] in wide functions. Shapes between the lognormal one and power
/// laws are less likely. If all were as likely, planted calls were found in .50 instead of .62 of the lognormal
/// functions of .3 after 200 calls, .29 instead of .38 of those of 1, and .81 instead of .78 of the Pareto
/// functions of 1.5.
const WEIGHTS: [f64; SHAPES.len()] = [0.0, 0.0, 0.0, 0.0, 0.0, -0.5, -0.9, -0.2, 0.0];
/// Fewest calls in a tail, if the mode has twice as many.
const FEWEST: f64 = 100.0;
/// Fewest cells that determine the shape of a tail. The ratio of two numbers of calls only determines
/// its scale: of 20,000 normal times of 1 % in buckets of 1.1 %, calls of 20 deviations were normal.
const DISTINCT: usize = 5;

/// Returns the logarithm of the prior weight of the shape of a number for the logarithm of a scale. Heavy tails are
/// as likely as light ones from the median excess `wide` on.
fn log_weight(shape: usize, scale: f64, wide: f64) -> f64 {
    let narrow = (scale.exp() / wide).clamp(NARROWEST, 1.0).ln();
    WEIGHTS[shape] + UNLIKELY * narrow * (SHAPES[shape] - 1.0).max(0.0)
}

/// Calls in an interval of run time; bounds are logarithms of excesses of both kinds.
#[derive(Clone, Copy, Debug)]
struct Interval {
    /// Lower bound.
    low: [f64; 2],
    /// Upper bound.
    high: [f64; 2],
    /// Lower bound, a shifted value.
    from: f64,
    /// Number of calls.
    calls: f64,
    /// `true` if the calls may also be longer than the upper bound.
    is_open: bool,
}

/// Returns the intervals of the calls of a tail above a threshold, from the outermost inwards.
fn intervals(tail: &[Cell], start: f64, outliers: u64) -> Vec<Interval> {
    let mut intervals: Vec<Interval> = Vec::with_capacity(INTERVALS);
    let mut sum = 0;
    for cell in tail.iter().rev() {
        let count = cell.calls;
        let is_full = match intervals.as_slice() {
            [] => true,
            [_] => sum >= outliers || sum + count > 2 * outliers,
            [.., last] => last.calls * 4.0 >= sum as f64,
        };
        if intervals.is_empty() || (is_full && intervals.len() < INTERVALS) {
            intervals.push(Interval {
                low: [0.0; 2],
                high: log_excesses(cell.high / start),
                from: 0.0,
                calls: 0.0,
                is_open: false,
            });
        }
        if let Some(last) = intervals.last_mut() {
            last.low = log_excesses(cell.low / start);
            last.from = cell.low;
            last.calls += count as f64;
        }
        sum += count;
    }
    if let Some(outermost) = intervals.first_mut() {
        // More calls than that are no anomalies, but ties.
        outermost.is_open = outermost.calls <= 2.0 * outliers as f64;
    }
    intervals
}

/// Returns `true` if a tail from the cell `first` on has too few cells to determine its shape.
fn is_coarse(cells: &[Cell], first: usize) -> bool {
    cells.len() - first < DISTINCT
}

/// Returns the index of the first cell of a tail, at least `least`. It has more calls if they take few
/// different times, up to half of all calls.
fn first_of_tail(cells: &[Cell], calls: u64, least: usize) -> usize {
    let wanted = (calls as f64 / 2.0).min(FEWEST.max(16.0 * (calls as f64).sqrt()));
    let (mut kept, mut first) = (0, cells.len());
    while let Some(cell) = first.checked_sub(1).and_then(|at| cells.get(at)) {
        let sum = (kept + cell.calls) as f64;
        // The nearer one of the two numbers of calls.
        let is_full = sum > wanted && kept as f64 * sum > wanted * wanted;
        let needs_more = is_coarse(cells, first) && sum < calls as f64 / 2.0;
        if (is_full && !needs_more) || first <= least {
            break;
        }
        (kept, first) = (kept + cell.calls, first - 1);
    }
    first
}

/// Outermost calls to which a tail is fitted.
#[derive(Clone, Copy, Debug)]
struct Part<'a> {
    /// Calls of the mode.
    cells: &'a [Cell],
    /// Index of the first cell of the tail.
    first: usize,
    /// Fraction of the calls of the mode in the tail.
    share: f64,
    /// Number of calls that may be anomalies.
    outliers: u64,
    /// Logarithm of the prior weight of [`PARETO`](super::shapes::PARETO); `None` if these shapes do not count.
    pareto: Option<f64>,
    /// Factors of the prior weights.
    factors: Multipliers,
}

/// Slow tail of a mode, averaged over shapes and scales.
#[derive(Clone, Debug)]
pub(super) struct Extrapolation {
    /// Difference between shifted values and those of the sketch.
    shift: f64,
    /// Threshold, a shifted value.
    start: f64,
    /// Fraction of the calls of the mode beyond the threshold.
    share: f64,
    /// Shifted value from which on a call is far above ties; infinite if there are no ties, or longer
    /// calls than them.
    far: f64,
    /// Number of the table.
    table: usize,
    /// Median excess, in log time, from which on heavy tails are as likely as light ones.
    wide: f64,
    /// Logarithm of the smallest scale of each kind of shape.
    scale: [f64; 2],
    /// Step of the logarithms of scales.
    step: [f64; 2],
    /// Weight of each shape and scale.
    weights: [[f64; SCALES]; COUNT],
    /// Evidence for the shapes; `None` for a tail of few cells, of two parts, above ties or of fast calls.
    evidence: Option<Evidence>,
}

impl Extrapolation {
    /// Fits the tail of the calls of `all`, of which up to `outliers` may be anomalies; `least` calls
    /// that the tail does not explain are a part of it. `regular` are the calls without outliers far
    /// beyond the others. Both are segments of `sketch`; `tick` is the tick of the clock.
    /// `factors` multiply the fixed weights of the shapes.
    pub(super) fn new(
        all: &Segment<'_>,
        regular: &Segment<'_>,
        sketch: &Sketch,
        (outliers, least): (u64, u64),
        tick: f64,
        factors: &Multipliers,
    ) -> Self {
        let mut calls = all.calls;
        let resolution = sketch.resolution().0 as f64;
        let mut cells = cells(all, sketch, tick);
        let above = above_ties(&cells, calls);
        if above.is_none() {
            calls = regular.calls;
            cells = super::cells::cells(regular, sketch, tick);
        }
        let mut shift = tick - resolution;
        if above.is_some() {
            // Plain times: a tail above ties does not include times of 0.
            shift -= tick;
            for cell in &mut cells {
                cell.low = (cell.low - tick).max(0.0);
                cell.high -= tick;
            }
        }
        let first = first_of_tail(&cells, calls, above.unwrap_or(0));
        if above.is_none() {
            let limits = (outliers, least);
            let mut tail = Extrapolation::of_parts(&cells, first, calls, limits, shift, factors);
            if let Some(evidence) = &mut tail.evidence {
                evidence.spread = regular.spread();
            }
            return tail;
        }
        let kept = cells[first..].iter().map(|cell| cell.calls).sum::<u64>();
        let part = Part {
            cells: &cells,
            first,
            share: (kept as f64 + FIRST) / (calls + 1) as f64,
            outliers: outliers.min(kept / 4),
            // Few calls above ties do not determine more shapes.
            pareto: None,
            factors: UNCHANGED,
        };
        let far = match kept {
            0 => (FAR_RESOLUTIONS * resolution).max(FAR_TICKS * tick),
            _ => f64::INFINITY,
        };
        Extrapolation::of_part(&part, shift, far).0
    }

    /// Fits the tail of the fast calls of a mode, which is the slow tail of run times that are mirrored
    /// at `center`, a value of the sketch. The arguments are those of [`new`](Self::new).
    pub(super) fn mirrored(
        calls: &Segment<'_>,
        sketch: &Sketch,
        (outliers, least): (u64, u64),
        tick: f64,
        center: f64,
    ) -> Self {
        let shift = tick - sketch.resolution().0 as f64;
        let turn = 2.0 * (center + shift);
        let cells = cells(calls, sketch, tick);
        let below = cells.iter().rev().filter(|cell| cell.low < turn / 2.0);
        let cells: Vec<Cell> = below
            .map(|cell| Cell {
                low: turn - cell.high,
                high: turn - cell.low,
                ..*cell
            })
            .collect();
        let first = first_of_tail(&cells, calls.calls, 0);
        let limits = (outliers, least);
        let mut tail =
            Extrapolation::of_parts(&cells, first, calls.calls, limits, shift, &UNCHANGED);
        tail.evidence = None;
        tail
    }

    /// Fits a tail from the cell `first` on, and again to its outer part if it does not explain the number
    /// of calls there, at most [`PARTS`] times.
    fn of_parts(
        cells: &[Cell],
        first: usize,
        calls: u64,
        (outliers, least): (u64, u64),
        shift: f64,
        factors: &Multipliers,
    ) -> Self {
        let kept = cells[first..].iter().map(|cell| cell.calls).sum::<u64>();
        let is_coarse = is_coarse(cells, first);
        let known = if is_coarse {
            FEWEST
        } else {
            kept.max(1) as f64
        };
        let mut part = Part {
            cells,
            first,
            share: kept as f64 / calls.max(1) as f64,
            outliers,
            pareto: Some(PARETO_WEIGHT * (FEWEST / known).sqrt()),
            factors: *factors,
        };
        let (mut tail, mut intervals) = Extrapolation::of_part(&part, shift, f64::INFINITY);
        if is_coarse {
            tail.evidence = None;
        }
        for _ in 0..PARTS {
            let Some((from, beyond)) = tail.unexplained(&intervals, calls, least) else {
                break;
            };
            part = Part {
                first: cells.partition_point(|cell| cell.low < from),
                share: (beyond as f64 + FIRST) / (calls + 1) as f64,
                outliers: outliers.min(beyond / 4),
                pareto: Some(0.0),
                factors: UNCHANGED,
                ..part
            };
            (tail, intervals) = Extrapolation::of_part(&part, shift, f64::INFINITY);
            // Calls of two kinds say nothing about the shape of either.
            tail.evidence = None;
        }
        tail
    }

    /// Fits a part of a tail. Returns it with the intervals of its calls, from the outermost inwards.
    fn of_part(part: &Part<'_>, shift: f64, far: f64) -> (Self, Vec<Interval>) {
        let tail = &part.cells[part.first..];
        let start = match part.first.checked_sub(1) {
            Some(before) => part.cells[before].high,
            None => tail.first().map_or(1.0, |cell| cell.low),
        };
        let intervals = intervals(tail, start, part.outliers);
        let ticks = tail.first().and_then(|cell| cell.ticks);
        let is_near = ticks.is_some_and(|ticks| ticks <= NEAR);
        let kept = tail.iter().map(|cell| cell.calls).sum::<u64>();
        let wide = match part.pareto {
            Some(_) if is_near => WIDE_NEAR,
            None if is_near && kept >= MANY.0 && part.share >= MANY.1 => WIDE_ABOVE_TIES,
            _ => WIDE,
        };
        let mut all = Extrapolation {
            shift,
            start,
            share: part.share,
            far,
            table: nearest_start(part.share),
            wide,
            scale: [0.0; 2],
            step: [0.0; 2],
            weights: [[0.0; SCALES]; COUNT],
            evidence: None,
        };
        all.weigh(&intervals, part.pareto);
        all.share_out(part);
        (all, intervals)
    }

    /// Returns the start and the number of those outermost calls whose number the tail explains
    /// least; `None` if it explains all calls, apart from fewer than `least` that may be anomalies.
    fn unexplained(&self, intervals: &[Interval], calls: u64, least: u64) -> Option<(f64, u64)> {
        let (mut beyond, mut most, mut found) = (0.0, UNEXPLAINED, None);
        for one in intervals {
            beyond += one.calls;
            let share = self.share * self.beyond(one.low, SMALL_WEIGHT);
            let expected = (calls as f64 * share).max(1e-9);
            let deviance = beyond * (beyond / expected).ln() - (beyond - expected);
            if beyond >= least as f64 && beyond > expected && deviance > most {
                (most, found) = (deviance, Some((one.from, beyond as u64)));
            }
        }
        found
    }

    /// Weighs shapes and scales by the likelihood of calls. `pareto` is the logarithm of the prior
    /// weight of [`PARETO`](super::shapes::PARETO); `None` for a tail above ties, which has the other shapes only.
    fn weigh(&mut self, intervals: &[Interval], pareto: Option<f64>) {
        let tables = table(self.table);
        // No term is positive, so that the sum ends where it is negligible.
        let likelihood = |shape: usize, scale: f64, least: f64| {
            let (table, kind) = (&tables[shape], kind(shape));
            let mut sum = 0.0;
            let tail = |log: f64| look_up(table, log - scale).exp();
            // Most intervals begin where the previous one ends.
            let mut last = (f64::NAN, 0.0);
            for one in intervals {
                let beyond = if one.is_open {
                    0.0
                } else if one.high[kind] == last.0 {
                    last.1
                } else {
                    tail(one.high[kind])
                };
                last = (one.low[kind], tail(one.low[kind]));
                let within = last.1 - beyond;
                sum += one.calls * within.max(1e-300).ln();
                if sum < least {
                    break;
                }
            }
            sum
        };
        let is_above_ties = pareto.is_none();
        let kinds = if is_above_ties { 1 } else { 2 };
        for (kind, middle) in MIDDLE.into_iter().enumerate().take(kinds) {
            // The scales that matter are those of a middle shape, and some more.
            let logs = intervals.iter().map(|one| one.high[kind]);
            let highest = logs.clone().fold(f64::NEG_INFINITY, f64::max);
            let lowest = logs.fold(f64::INFINITY, f64::min);
            let (mut from, mut to) = if is_above_ties && intervals.is_empty() {
                FIRST_BOUNDS
            } else if is_above_ties {
                BOUNDS
            } else {
                (lowest - 2.5, highest + 1.0)
            };
            for _ in 0..3 {
                let step = (to - from) / 15.0;
                let at = |index: usize| from + step * index as f64;
                let mut best = f64::NEG_INFINITY;
                let found: [f64; 16] = std::array::from_fn(|index| {
                    let found = likelihood(middle, at(index), best - 2.0 * NEGLIGIBLE);
                    best = best.max(found);
                    found
                });
                let is_likely = |value: &f64| *value > best - NEGLIGIBLE;
                let first = found.iter().position(is_likely).unwrap_or(0);
                let last = found.iter().rposition(is_likely).unwrap_or(15);
                (from, to) = (at(first.saturating_sub(1)), at((last + 1).min(15)));
            }
            if !is_above_ties {
                let spare = 0.1 * (to - from);
                (from, to) = (from - spare, to + spare);
            }
            self.scale[kind] = from;
            self.step[kind] = (to - from) / (SCALES - 1) as f64;
        }
        let mut best = f64::NEG_INFINITY;
        for (shape, weights) in self.weights.iter_mut().enumerate() {
            let kind = kind(shape);
            for (at, weight) in weights.iter_mut().enumerate() {
                let scale = self.scale[kind] + self.step[kind] * at as f64;
                let prior = match (kind, pareto) {
                    (0, _) => log_weight(shape, scale, self.wide),
                    // Scales are equally likely in all shapes.
                    (_, Some(pareto)) => pareto + (self.step[1] / self.step[0]).ln(),
                    (_, None) => f64::NEG_INFINITY,
                };
                *weight = prior;
                if prior.is_finite() {
                    *weight += likelihood(shape, scale, best - LEAST_WEIGHT);
                }
                best = weight.max(best);
            }
        }
        let all = self.weights.as_flattened_mut();
        all.iter_mut()
            .for_each(|weight| *weight = (*weight - best).exp());
    }

    /// Multiplies the weights by the factors of the shapes, and scales them to the sum 1. Keeps the
    /// evidence for the shapes.
    fn share_out(&mut self, part: &Part<'_>) {
        if let Some(pareto) = part.pareto {
            let likelihood = self.weights.map(|weights| weights.iter().sum());
            let fixed = std::array::from_fn(|shape| match SHAPES.get(shape) {
                Some(heaviness) if *heaviness > 1.0 => {
                    let scales = self.weights[shape].iter().enumerate();
                    let without = scales.map(|(at, weight)| {
                        let scale = self.scale[0] + self.step[0] * at as f64;
                        weight * (-log_weight(shape, scale, self.wide)).exp()
                    });
                    likelihood[shape] / without.sum::<f64>().max(f64::MIN_POSITIVE)
                }
                Some(_) => 1.0,
                None => pareto.exp(),
            });
            self.evidence = Some(Evidence::new(fixed, likelihood));
        }
        for (weights, factor) in self.weights.iter_mut().zip(part.factors) {
            weights.iter_mut().for_each(|weight| *weight *= factor);
        }
        let all = self.weights.as_flattened_mut();
        let sum: f64 = all.iter().sum();
        all.iter_mut().for_each(|weight| *weight /= sum);
    }

    /// Returns the evidence for the shapes; `None` if the calls do not have one tail.
    pub(super) fn evidence(&self) -> Option<&Evidence> {
        self.evidence.as_ref()
    }

    /// Returns the probability that a call beyond the threshold is beyond an excess, given by its
    /// logarithms. Shapes and scales of no more than the weight `negligible` do not count.
    fn beyond(&self, logs: [f64; 2], negligible: f64) -> f64 {
        let mut sum = 0.0;
        let shapes = table(self.table).iter().zip(&self.weights);
        for (shape, (table, weights)) in shapes.enumerate() {
            let kind = kind(shape);
            for (at, weight) in weights.iter().enumerate() {
                if *weight > negligible {
                    let scale = self.scale[kind] + self.step[kind] * at as f64;
                    sum += weight * look_up(table, logs[kind] - scale).exp();
                }
            }
        }
        sum
    }

    /// Returns the probability that a call of the mode takes at least as long as `value`.
    pub(super) fn probability(&self, value: f64) -> f64 {
        let shifted = value + self.shift;
        if shifted <= self.start {
            return self.share;
        }
        let most = match shifted / self.far {
            times if times >= 1.0 => FAR_SHARE * (FARTHER / times).min(1.0),
            _ => 1.0,
        };
        self.share
            * self
                .beyond(log_excesses(shifted / self.start), 1e-30)
                .min(most)
    }

    /// Returns the value that a call of the mode exceeds with the given probability.
    pub(super) fn bound(&self, probability: f64) -> f64 {
        let (mut low, mut high) = ((self.start - self.shift).max(1.0), f64::MAX);
        // Bisection of logarithms.
        for _ in 0..64 {
            let middle = (0.5 * (low.ln() + high.ln())).exp();
            if self.probability(middle) > probability {
                low = middle;
            } else {
                high = middle;
            }
        }
        high
    }
}
