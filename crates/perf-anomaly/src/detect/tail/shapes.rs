//! Shapes of slow tails: tabulated tail functions of the two families of [`SHAPES`] and [`PARETO`].
//! [`super::extrapolation`] has their formulas.

use statrs::distribution::{ContinuousCDF, Normal};
use std::sync::OnceLock;

/// Shapes in ascending order of the weight of their tails.
pub(super) const SHAPES: [f64; 9] = [-0.4, 0.0, 0.35, 0.7, 1.0, 1.35, 1.7, 2.06, 2.45];
/// Indices of generalised Pareto distributions of the excess.
pub(super) const PARETO: [f64; 3] = [0.2, 0.4, 0.7];
/// Number of the first kind of shapes, which are ordered.
pub(super) const LOG_SHAPES: usize = SHAPES.len();
/// Number of shapes of both kinds.
pub(super) const COUNT: usize = LOG_SHAPES + PARETO.len();
/// Number of tabulated thresholds.
const STARTS: usize = 21;
/// Distance of the thresholds in standard normal numbers; the first one is 0. With twice the distance,
/// lognormal times of 1 in programs of 50 functions have 11.2 instead of 8.4 false alarms in a million
/// after 2,000 calls each.
const START_STEP: f64 = 0.125;
/// Range of the logarithm of the ratio of an excess to its median.
const RANGE: f64 = 7.0;
/// Number of steps of the table per unit of that logarithm.
const FINE: f64 = 16.0;
/// Size of a table.
pub(super) const SIZE: usize = (2.0 * RANGE * FINE) as usize + 1;
/// Smallest logarithm of a tail probability.
const LOWEST: f64 = -690.0;

/// Logarithms of tail probabilities by the logarithm of the excess, for each shape.
pub(super) type Table = [[f64; SIZE]; COUNT];

/// Returns the table of a threshold, which is computed at its first use.
pub(super) fn table(number: usize) -> &'static Table {
    static TABLES: [OnceLock<Box<Table>>; STARTS] = [const { OnceLock::new() }; STARTS];
    TABLES[number].get_or_init(|| {
        let start = number as f64 * START_STEP;
        let normal = Normal::standard();
        let log_tail = |z: f64| normal.sf(z).max(f64::MIN_POSITIVE).ln();
        let median = -normal.inverse_cdf(normal.sf(start) / 2.0);
        let log_start = log_tail(start);
        let logs = SHAPES.map(|shape| {
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
        });
        // The excess over a threshold has the same distribution for all thresholds.
        let pareto = PARETO.map(|index| {
            std::array::from_fn(|at| {
                let times = (at as f64 / FINE - RANGE).exp();
                -(times * (index.exp2() - 1.0)).ln_1p() / index
            })
        });
        let mut all = Box::new([[0.0; SIZE]; COUNT]);
        let (first, second) = all.split_at_mut(SHAPES.len());
        first.copy_from_slice(&logs);
        second.copy_from_slice(&pareto);
        all
    })
}

/// Returns the logarithm of the tail probability at the logarithm of an excess.
#[inline]
pub(super) fn look_up(table: &[f64; SIZE], log: f64) -> f64 {
    let at = (log + RANGE) * FINE;
    if at <= 0.0 {
        return table[0] * (log + RANGE).exp();
    }
    let below = (at as usize).min(SIZE - 2);
    let part = at - below as f64;
    (table[below] + part * (table[below + 1] - table[below])).max(LOWEST)
}

/// Returns the kind of a shape, which is an index of [`log_excesses`].
#[inline]
pub(super) fn kind(shape: usize) -> usize {
    usize::from(shape >= SHAPES.len())
}

/// Returns the logarithms of the excess over a threshold in log time and in time, given the ratio of
/// a run time to the threshold.
#[inline]
pub(super) fn log_excesses(ratio: f64) -> [f64; 2] {
    [ratio.ln().max(1e-12).ln(), (ratio - 1.0).max(1e-12).ln()]
}

/// Returns the number of the threshold whose tail probability is that of a tail with `share` of the
/// calls.
pub(super) fn nearest_start(share: f64) -> usize {
    let start = -Normal::standard().inverse_cdf(share.clamp(1e-9, 0.5));
    ((start / START_STEP).round() as usize).min(STARTS - 1)
}
