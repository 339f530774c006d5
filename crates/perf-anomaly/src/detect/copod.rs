//! [`Copod`]: detector that scores a run time by its position in the tails of the distribution.

use super::histogram::Width;
use super::scored::{Scored, Scores, rarity};
use super::strict::{StrictChecked, StrictParams};
use super::{Detector, Histogram, Model};
use crate::{FunctionId, Judgement, Result, Sample};
use perf_core::{Cancelled, Job};

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

impl Default for Copod {
    /// Returns a detector with the default parameters and an empty model.
    fn default() -> Self {
        Copod::new(StrictChecked::default())
    }
}

impl Copod {
    /// Returns parameters with their default values.
    pub fn params() -> StrictParams {
        StrictParams::default()
    }

    /// Creates a detector with an empty model.
    pub fn new(params: StrictChecked) -> Self {
        Copod(Scored::new(params))
    }

    /// Returns the histogram of a function's run times in microseconds; `None` if no call of the
    /// function was learned.
    pub fn histogram(&self, function: FunctionId) -> Option<&Histogram> {
        self.0
            .known
            .functions
            .get(function)
            .map(|model| model.histogram())
    }
}

impl Detector for Copod {
    fn name(&self) -> &'static str {
        "copod"
    }

    fn options(&self) -> Vec<(String, String)> {
        self.0.params.options_of_histograms()
    }

    fn detect(
        &mut self,
        samples: &[Sample],
        judgements: &mut Vec<Judgement>,
        job: &Job,
    ) -> std::result::Result<(), Cancelled> {
        self.0
            .detect::<ByTail>(samples, judgements, Width::Scott, job)
    }

    fn learn(&mut self, samples: &[Sample]) {
        let learned = self.0.learn(samples, Width::Scott, &Job::default());
        learned.unwrap_or_default();
    }

    fn rejudge(&self, samples: &[Sample], judgements: &mut Vec<Judgement>) {
        self.0.rejudge::<ByTail>(samples, judgements);
    }

    fn snapshot(&self) -> Model {
        Model::Copod(self.0.known.functions.clone())
    }

    fn take_delta(&mut self) -> Model {
        Model::Copod(self.0.known.take())
    }

    fn adopt(&mut self, view: &Model) -> Result<()> {
        self.0.known.adopt(view.as_copod()?);
        Ok(())
    }

    fn restore(&mut self, snapshot: &Model) -> Result<()> {
        self.0.known.restore(snapshot.as_copod()?);
        Ok(())
    }

    fn describe(&self, function: FunctionId) -> Vec<(String, f64)> {
        self.0.describe(function)
    }

    fn forget(&mut self, function: FunctionId) {
        self.0.known.forget(function);
    }

    fn ignore(&mut self, function: FunctionId, ignored: bool) {
        self.0.rules.ignore(function, ignored);
    }

    fn set_threshold(&mut self, function: FunctionId, part: Option<f64>) -> Result<()> {
        self.0.set_threshold(function, part)
    }
}
