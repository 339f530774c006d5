//! [`Experience`]: bound above which a call is far longer than the earlier calls of its function.
//!
//! The tail of a mode is extrapolated from few calls. If these are ties at the tick of the clock,
//! the bound of the tail may be hours. This module has a second bound that needs no estimate.
//!
//! Let `x_j` be the `j`-th longest of `n` calls. The survival function `S` of the run times is
//! assumed to be such that `x S(x)` does not increase beyond `x_j`. The tail is then at most a
//! Pareto tail with exponent 1, which is the limit of tails with a finite mean. `S(x_j)` is
//! distributed as the `j`-th smallest of `n` uniform numbers, whose mean is `j / (n + 1)`. A new
//! call therefore exceeds `c x_j` with a probability of at most `j / ((n + 1) c)`. For the required
//! probability `p`, the factor is `c = j / ((n + 1) p)`.
//!
//! Two values of `j` are used, each with a part of the probability of slow calls: 1, which is the
//! longest call, and the fewest calls of a mode. The second value makes the bound useful if the
//! longest calls include earlier outliers.

use super::fit::Wanted;
use super::sketch::{Sketch, edge};

/// Part of the probability of slow calls for each value of `j`; the tail of the mode has the rest.
const PART: f64 = 0.1;
/// Part of the probability of slow calls for the tail of the mode.
pub(super) const TAIL_PART: f64 = 1.0 - 2.0 * PART;
/// Smallest factor `c`; calls below it are judged by the tail of their mode only.
const LEAST_FACTOR: f64 = 10.0;

/// Long calls of a function, and the bound derived from them. Values are run times plus the
/// resolution.
#[derive(Clone, Copy, Debug)]
pub(super) struct Experience {
    /// Highest value that is not beyond experience.
    pub(super) until: u64,
    /// For each `j`, the upper edge of the bucket of `x_j` times the mean of `S(x_j)`.
    anchors: [f64; 2],
}

impl Default for Experience {
    /// Without calls no value is beyond experience.
    fn default() -> Self {
        Experience {
            until: u64::MAX,
            anchors: [f64::INFINITY; 2],
        }
    }
}

impl Experience {
    /// Computes the experience of the calls of a sketch.
    pub(super) fn of(sketch: &Sketch, wanted: &Wanted) -> Self {
        let calls = sketch.count() as f64 + 1.0;
        let mut all = Experience::default();
        let mut until = f64::INFINITY;
        for (anchor, rank) in all.anchors.iter_mut().zip([1, wanted.mode_calls]) {
            let mut sum = 0;
            let found = sketch.filled().rev().find(|(_, count)| {
                sum += count;
                sum >= rank
            });
            if let Some((bucket, _)) = found {
                let value = edge(bucket + 1);
                let share = rank as f64 / calls;
                let factor = share / (PART * wanted.probability);
                *anchor = value * share;
                until = until.min(value * factor.max(LEAST_FACTOR));
            }
        }
        // Conversions saturate.
        all.until = until as u64;
        all
    }

    /// Returns `-log10` of the bound on the probability of a call as long as `value`.
    pub(super) fn score(&self, value: u64) -> f64 {
        let ratios = self.anchors.map(|anchor| value as f64 / anchor);
        ratios.into_iter().fold(1.0, f64::max).log10()
    }
}
