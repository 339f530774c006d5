//! [`Extrapolation`]: tail shapes fitted to the longest calls of a mode, which give the probability
//! of a longer call and the run time for a probability.
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
//! 0.8, and exponential at 0.35. A generalised Pareto distribution needs many more calls for the
//! same purpose, because the maxima of normal times converge slowly to its limit.
//!
//! If most calls are ties at a few ticks of the clock, only the calls above the ties are the tail,
//! however few they are. Their rate is the mean of its posterior distribution, `(k + 1/2) / (n + 1)`,
//! and `s` is limited to tails with about a finite mean. A first longer call is thus abnormal only
//! if it is far longer than the ties and there were many of them.
//!
//! No estimate of `s` and `l` is used. The result is the average of the tail probability over all
//! of them, weighted by the likelihood of the calls. Few calls do not determine the shape, so
//! that the heavy shapes then determine the result. Calls are counted in intervals of run time,
//! which are at least as wide as the tick of the clock. Ties at a tick therefore have a tail, too.
//!
//! The tail functions are tabulated, which makes a fit thirty times as fast as without tables.

use super::mode::{Segment, middle};
use super::sketch::edge;
use statrs::distribution::{ContinuousCDF, Normal};
use std::sync::OnceLock;

/// Shapes in ascending order of the weight of their tails.
const SHAPES: [f64; COUNT] = [-0.4, 0.0, 0.35, 0.7, 1.0, 1.35, 1.7, 2.06, 2.45];
/// Number of shapes.
const COUNT: usize = 9;
/// Standard normal numbers of tabulated thresholds.
const STARTS: [f64; 6] = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5];
/// Range of the logarithm of the ratio of an excess to its median.
const RANGE: f64 = 7.0;
/// Number of steps of the table per unit of that logarithm.
const FINE: f64 = 16.0;
/// Size of a table.
const SIZE: usize = (2.0 * RANGE * FINE) as usize + 1;
/// Smallest logarithm of a tail probability.
const LOWEST: f64 = -690.0;
/// Number of scales of each shape.
const SCALES: usize = 13;
/// Largest number of intervals of a tail.
const INTERVALS: usize = 32;
/// Largest number of ticks of calls that are ties because of the resolution of the clock.
const MOST_TICKS: u64 = 4;
/// Smallest fraction of the calls at two adjacent multiples of the tick that are ties.
const TIES: f64 = 0.7;
/// Smallest fraction of the calls at one multiple of the tick that are ties.
const MOST_TIES: f64 = 0.9;
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
/// Number of ticks of a call that is far above ties, if no call above them is known.
const FAR_TICKS: f64 = 50.0;
/// Largest assumed fraction of such calls among the calls above ties. Interrupts take a few ticks,
/// so that the scales that are possible without any call do not describe calls that far out.
const FAR_SHARE: f64 = 0.0026;
/// Decrease of the log likelihood at which a scale is negligible.
const NEGLIGIBLE: f64 = 12.0;
/// Decrease of the log likelihood at which the weight of a shape and scale is negligible.
const LEAST_WEIGHT: f64 = 40.0;
/// Median excess, in log time, from which on heavy tails are as likely as light ones.
const WIDE: f64 = 0.6;
/// Ratio of a median excess to that one below which heavy tails become no more unlikely.
const NARROWEST: f64 = 0.03;
/// Fewest calls in a tail, if the mode has twice as many.
const FEWEST: f64 = 100.0;

/// Logarithms of tail probabilities by the logarithm of the excess, for each shape.
type Table = [[f64; SIZE]; COUNT];

/// Returns the table of a threshold, which is computed at its first use.
fn table(number: usize) -> &'static Table {
    static TABLES: [OnceLock<Box<Table>>; STARTS.len()] = [const { OnceLock::new() }; STARTS.len()];
    TABLES[number].get_or_init(|| {
        let start = STARTS[number];
        let normal = Normal::standard();
        let log_tail = |z: f64| normal.sf(z).max(f64::MIN_POSITIVE).ln();
        let median = -normal.inverse_cdf(normal.sf(start) / 2.0);
        let log_start = log_tail(start);
        Box::new(SHAPES.map(|shape| {
            let power = |z: f64| match shape {
                0.0 => (1.0 + z).ln(),
                _ => ((1.0 + z).powf(shape) - 1.0) / shape,
            };
            let root = |power: f64| match shape {
                0.0 => power.exp() - 1.0,
                // Light shapes have an end.
                _ => (1.0 + shape * power).max(0.0).powf(1.0 / shape) - 1.0,
            };
            let from = power(start);
            let unit = power(median) - from;
            std::array::from_fn(|at| {
                let excess = unit * (at as f64 / FINE - RANGE).exp();
                (log_tail(root(from + excess)) - log_start).clamp(LOWEST, 0.0)
            })
        }))
    })
}

/// Returns the logarithm of the tail probability at the logarithm of an excess.
#[inline]
fn look_up(table: &[f64; SIZE], log: f64) -> f64 {
    let at = (log + RANGE) * FINE;
    if at <= 0.0 {
        return table[0] * (log + RANGE).exp();
    }
    let below = (at as usize).min(SIZE - 2);
    let part = at - below as f64;
    (table[below] + part * (table[below + 1] - table[below])).max(LOWEST)
}

/// Calls in an interval of run time; bounds are logarithms of excesses.
#[derive(Clone, Copy, Debug)]
struct Interval {
    /// Lower bound.
    low: f64,
    /// Upper bound.
    high: f64,
    /// Number of calls.
    calls: f64,
    /// `true` if the calls may also be longer than the upper bound.
    is_open: bool,
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
    /// Logarithm of the smallest scale.
    scale: f64,
    /// Step of the logarithms of scales.
    step: f64,
    /// Weight of each shape and scale.
    weights: [[f64; SCALES]; COUNT],
}

impl Extrapolation {
    /// Fits the tail of the calls of `all`, of which up to `outliers` may be anomalies; `regular` are
    /// those without outliers far beyond the others. `resolution` is the one of the sketch, and
    /// `tick` the tick of the clock.
    pub(super) fn new(
        all: &Segment<'_>,
        regular: &Segment<'_>,
        outliers: u64,
        resolution: f64,
        tick: f64,
    ) -> Self {
        let mut calls = all.calls;
        let mut cells = cells(all.filled, resolution, tick);
        let above = above_ties(&cells, calls);
        if above.is_none() {
            calls = regular.calls;
            cells = self::cells(regular.filled, resolution, tick);
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
        let wanted = (calls as f64 / 2.0).min(FEWEST.max(16.0 * (calls as f64).sqrt()));
        let (mut kept, mut first) = (0, cells.len());
        while let Some(cell) = first.checked_sub(1).and_then(|at| cells.get(at)) {
            let sum = (kept + cell.calls) as f64;
            // The nearer one of the two numbers of calls.
            let is_full = sum > wanted && kept as f64 * sum > wanted * wanted;
            if is_full || above.is_some_and(|above| first <= above) {
                break;
            }
            (kept, first) = (kept + cell.calls, first - 1);
        }
        let outliers = match above {
            Some(_) => outliers.min(kept / 4),
            None => outliers,
        };
        let tail = &cells[first..];
        let start = match first.checked_sub(1) {
            Some(before) => cells[before].high,
            None => tail.first().map_or(1.0, |cell| cell.low),
        };
        let share = match above {
            Some(_) => (kept as f64 + FIRST) / (calls + 1) as f64,
            None => kept as f64 / calls.max(1) as f64,
        };
        let mut intervals = [Interval {
            low: 0.0,
            high: 0.0,
            calls: 0.0,
            is_open: false,
        }; INTERVALS];
        let (mut used, mut sum) = (0, 0);
        for cell in tail.iter().rev() {
            let count = cell.calls;
            let is_full = match used {
                0 => sum >= outliers || sum + count > 2 * outliers,
                _ => intervals[used].calls * 4.0 >= sum as f64,
            };
            if sum > 0 && is_full && used + 1 < INTERVALS {
                used += 1;
            }
            let interval = &mut intervals[used];
            if interval.calls == 0.0 {
                interval.high = (cell.high / start).ln().max(1e-12).ln();
            }
            interval.low = (cell.low / start).ln().max(1e-12).ln();
            interval.calls += count as f64;
            sum += count;
        }
        // More calls than that are no anomalies, but ties.
        intervals[0].is_open = intervals[0].calls <= 2.0 * outliers as f64;
        let intervals = if tail.is_empty() {
            &[]
        } else {
            &intervals[..=used]
        };
        let table = nearest_start(share);
        let mut all = Extrapolation {
            shift,
            start,
            share,
            far: match above {
                Some(_) if kept == 0 => FAR_TICKS * tick,
                _ => f64::INFINITY,
            },
            table,
            scale: 0.0,
            step: 0.0,
            weights: [[0.0; SCALES]; COUNT],
        };
        all.weigh(intervals, above.is_some());
        all
    }

    fn weigh(&mut self, intervals: &[Interval], is_above_ties: bool) {
        let tables = table(self.table);
        // No term is positive, so that the sum ends where it is negligible.
        let likelihood = |table: &[f64; SIZE], scale: f64, least: f64| {
            let mut sum = 0.0;
            let tail = |log: f64| look_up(table, log - scale).exp();
            // Most intervals begin where the previous one ends.
            let mut last = (f64::NAN, 0.0);
            for one in intervals {
                let beyond = match one.is_open {
                    true => 0.0,
                    false if one.high == last.0 => last.1,
                    false => tail(one.high),
                };
                last = (one.low, tail(one.low));
                let within = last.1 - beyond;
                sum += one.calls * within.max(1e-300).ln();
                if sum < least {
                    break;
                }
            }
            sum
        };
        // The scales that matter are those of a middle shape, and some more.
        let logs = intervals.iter().map(|one| one.high);
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
                let found = likelihood(&tables[4], at(index), best - 2.0 * NEGLIGIBLE);
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
        self.scale = from;
        self.step = (to - from) / (SCALES - 1) as f64;
        let mut best = f64::NEG_INFINITY;
        let shapes = tables.iter().zip(&mut self.weights);
        for ((table, weights), shape) in shapes.zip(SHAPES) {
            for (at, weight) in weights.iter_mut().enumerate() {
                let scale = self.scale + self.step * at as f64;
                let narrow = (scale.exp() / WIDE).clamp(NARROWEST, 1.0).ln();
                *weight = likelihood(table, scale, best - LEAST_WEIGHT)
                    + 2.0 * narrow * (shape - 1.0).max(0.0);
                best = weight.max(best);
            }
        }
        let all = self.weights.as_flattened_mut();
        all.iter_mut()
            .for_each(|weight| *weight = (*weight - best).exp());
        let sum: f64 = all.iter().sum();
        all.iter_mut().for_each(|weight| *weight /= sum);
    }

    /// Returns the probability that a call of the mode takes at least as long as `value`.
    pub(super) fn probability(&self, value: f64) -> f64 {
        let shifted = value + self.shift;
        let excess = (shifted / self.start).ln();
        if excess <= 0.0 {
            return self.share;
        }
        let log = excess.ln();
        let tables = table(self.table);
        let mut sum = 0.0;
        for (table, weights) in tables.iter().zip(&self.weights) {
            for (at, weight) in weights.iter().enumerate() {
                if *weight > 1e-30 {
                    let scale = self.scale + self.step * at as f64;
                    sum += weight * look_up(table, log - scale).exp();
                }
            }
        }
        let most = if shifted >= self.far { FAR_SHARE } else { 1.0 };
        self.share * sum.min(most)
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

/// Calls whose run times are indistinguishable. Bounds are run times plus a tick, so that the
/// logarithms of times of few ticks are not far apart.
#[derive(Clone, Copy, Debug)]
struct Cell {
    /// Number of ticks; `None` if the bucket is wider than a tick.
    ticks: Option<u64>,
    /// Lower bound.
    low: f64,
    /// Upper bound.
    high: f64,
    /// Number of calls.
    calls: u64,
}

/// Returns the calls of occupied buckets in ascending order, those within half a tick of the same
/// multiple of the tick together.
fn cells(filled: &[(usize, u64)], resolution: f64, tick: f64) -> Vec<Cell> {
    let mut cells: Vec<Cell> = Vec::with_capacity(filled.len());
    for (bucket, count) in filled {
        let (low, high) = (edge(*bucket), edge(bucket + 1));
        let ticks = ((middle(*bucket) - resolution) / tick).round();
        let is_narrow = high - low < tick;
        let ticks = is_narrow.then_some(ticks.max(0.0) as u64);
        if let (Some(last), Some(_)) = (cells.last_mut(), ticks)
            && last.ticks == ticks
        {
            last.calls += count;
            continue;
        }
        let (low, high) = match ticks {
            Some(ticks) => {
                let middle = (ticks + 1) as f64 * tick;
                (middle - tick / 2.0, middle + tick / 2.0)
            }
            None => (low + tick - resolution, high + tick - resolution),
        };
        let below = cells.last().map_or(tick / 2.0, |cell| cell.high);
        let low = low.max(below);
        cells.push(Cell {
            ticks,
            low,
            high: high.max(low * 1.001),
            calls: *count,
        });
    }
    cells
}

/// Returns the index of the first cell above two adjacent multiples of the tick with more than half
/// of the calls; `None` if there are no such ties, or if they last many ticks.
///
/// A time of less than a tick is measured as one of two multiples of the tick. The distribution of
/// such calls is unrelated to that of longer calls, which have a cause of their own, such as
/// interrupts.
fn above_ties(cells: &[Cell], calls: u64) -> Option<usize> {
    let near = cells
        .iter()
        .take_while(|cell| cell.ticks.is_some_and(|ticks| ticks <= MOST_TICKS));
    let near = near.count();
    let follows = |cell: &&Cell, before: &Cell| cell.ticks == before.ticks.map(|ticks| ticks + 1);
    let ties = |end: usize| {
        let last = &cells[end - 1];
        let before = end.checked_sub(2).and_then(|at| cells.get(at));
        match before.filter(|before| follows(&last, before)) {
            Some(before) => (last.calls + before.calls) as f64 > TIES * calls as f64,
            None => last.calls as f64 > MOST_TIES * calls as f64,
        }
    };
    let end = (1..=near).find(|end| ties(*end))?;
    // The calls at the next multiple of the tick are left out if there are longer ones.
    let is_next = |next: &Cell| end == 1 && follows(&next, &cells[0]) && cells.len() > 2;
    Some(end + usize::from(cells.get(end).is_some_and(is_next)))
}

/// Returns the number of the threshold whose tail probability is nearest to `share`.
fn nearest_start(share: f64) -> usize {
    // Half-way between the tail probabilities of the thresholds, relative to that of the first.
    let halfway = [0.8, 0.45, 0.2, 0.085, 0.03];
    let share = share.min(0.5) * 2.0;
    halfway.iter().take_while(|limit| share < **limit).count()
}
