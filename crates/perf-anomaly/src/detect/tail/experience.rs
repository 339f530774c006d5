//! [`Experience`]: run times beyond all earlier calls of a function.
//!
//! A tail is extrapolated from few calls, and if those are ties at the tick of the clock, its bound
//! may be hours. A second rule needs no estimate. Let the calls have a survival function `S` for
//! which `x S(x)` does not increase beyond the `j`-th longest of `n` calls, `x_j`: a tail that is
//! at most a Pareto tail with exponent 1, the heaviest with a finite mean in the limit. `S(x_j)` is
//! the `j`-th smallest of `n` uniform numbers, with mean `j / (n + 1)`, so that a new call exceeds
//! `c x_j` with a probability of at most `j / ((n + 1) c)`. For the required probability `p` the
//! factor is `c = j / ((n + 1) p)`.
//!
//! Two ranks `j` are used, each with a part of the probability of slow calls: the longest call, and
//! the rank that has fewer longer calls than a mode. The second one holds if earlier outliers are
//! among the longest calls.

use super::fit::Wanted;
use super::sketch::{Sketch, edge};

/// Part of the probability of slow calls for each rank; the tails have the rest.
const PART: f64 = 0.1;
/// Part of the probability of slow calls for the tails.
pub(super) const TAIL_PART: f64 = 1.0 - 2.0 * PART;
/// Smallest factor above a call; below it only the tail decides.
const LEAST_FACTOR: f64 = 10.0;

/// Long calls of a function, and the bound derived from them. Values are run times plus the
/// resolution.
#[derive(Clone, Copy, Debug)]
pub(super) struct Experience {
    /// Highest value that is not beyond experience.
    pub(super) until: u64,
    /// Upper edges of the buckets of the deciding calls, each divided by the mean of its survival
    /// function.
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
