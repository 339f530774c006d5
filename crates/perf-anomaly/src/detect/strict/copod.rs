//! [`Copod`]: detector that scores a run time by its position in the tails of the distribution.

use super::Histogram;
use super::histogram::Width;
use super::scored::{Scored, Scores, rarity, scored_detector};
use super::{StrictChecked, StrictParams};

/// Labels calls in the tails of the empirical distribution of run times, with the same labels as
/// Chimbuko's COPOD.
///
/// Let `l = -log2 F(x)` for the empirical distribution `F` of the histogram, and `r = -log2 F(-x)`
/// for that of its mirror image. Within the range of the data, each `F` is increased by `1 / n`, to
/// at most 1. Bins have Scott's width. The score of the run time `x` is the larger of `(l + r) / 2`
/// and `-l sgn(skewness - 1) + r sgn(skewness + 1)`.
///
/// A call is abnormal if its score is at least `T = least + f (most - least)`. Here `least` and
/// `most` are the extreme scores of the midpoints of the bins, and `f` is
/// [`StrictParams::threshold`], 0.99 by default. If all these scores are negative, `T = -f (most -
/// least)`. If [`StrictParams::keep_threshold`] is on, which is the default, a higher earlier `T`
/// is kept, unless it is at most `-log2(1.00001)`; `T` is initially `log2(1.00001)`.
///
/// ```
/// use perf_anomaly::{Copod, Detector, FunctionId, Label, Sample};
/// use perf_core::{Job, Nanos};
/// let mut copod = Copod::default();
/// let call = |k: i64| {
///     let slow = if k == 300 { 900_000 } else { 0 };
///     Sample { function: FunctionId(0), runtime: Nanos(50_000 + k * 37 % 1000 + slow), first: false }
/// };
/// let calls: Vec<Sample> = (0..400).map(call).collect();
/// let mut judgements = Vec::new();
/// copod.detect(&calls, &mut judgements, &Job::default())?;
/// assert_eq!(judgements[300].label, Label::TooSlow);
/// # Ok::<(), perf_anomaly::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Copod(Scored);

struct ByTail {
    /// Histogram of the negated values.
    mirrored: Histogram,
    /// Cumulative counts of the histogram.
    below: Vec<u64>,
    /// Cumulative counts of the mirrored histogram.
    above: Vec<u64>,
    /// Signs of the skewness minus 1, and plus 1.
    signs: (f64, f64),
}

/// Returns -1, 0 or 1; 0 for NaN.
fn sign(value: f64) -> f64 {
    f64::from(i8::from(value > 0.0) - i8::from(value < 0.0))
}

fn tail(histogram: &Histogram, below: &[u64], value: f64) -> f64 {
    let total = below.last().copied().unwrap_or_default() as f64;
    let share = histogram.at_most(value, below) / total;
    // Without this addition the fraction at the smallest value would be about 0.
    let share = if value >= histogram.min() {
        (share + 1.0 / total).min(1.0)
    } else {
        share
    };
    rarity(share)
}

impl Scores for ByTail {
    fn width(_params: &StrictChecked) -> Width {
        Width::Scott
    }

    fn new(histogram: &Histogram) -> Self {
        let mirrored = histogram.negated();
        let skewness = histogram.skewness();
        ByTail {
            below: histogram.sums(),
            above: mirrored.sums(),
            mirrored,
            signs: (sign(skewness - 1.0), sign(skewness + 1.0)),
        }
    }

    fn of(&self, histogram: &Histogram, value: f64) -> f64 {
        let left = tail(histogram, &self.below, value);
        let right = tail(&self.mirrored, &self.above, -value);
        let even = (left + right) / 2.0;
        even.max(right * self.signs.1 - left * self.signs.0)
    }

    fn threshold(&self, histogram: &Histogram, part: f64) -> f64 {
        let highest = rarity(0.0);
        let scores =
            (0..histogram.counts().len()).map(|bin| self.of(histogram, histogram.middle(bin)));
        let (least, most) = scores.fold((highest, -highest), |(least, most), score| {
            (score.min(least), score.max(most))
        });
        if most < 0.0 {
            -part * (most - least)
        } else {
            least + part * (most - least)
        }
    }

    fn keeps(before: f64, new: f64) -> bool {
        new < before && before > -(1.00001_f64.log2())
    }
}

scored_detector!(Copod, ByTail, "copod", as_copod);
