//! [`Hbos`]: detector that scores a run time by the rarity of its histogram bin.

use super::histogram::{Bin, Width};
use super::scored::{Scored, Scores, rarity};
use super::strict::{StrictChecked, StrictParams};
use super::{Detector, Histogram, Model};
use crate::{FunctionId, Judgement, Result, Sample};
use perf_core::{Cancelled, Job};

/// Labels calls in the rarest bins of a histogram of run times, with the same labels as Chimbuko's
/// HBOS.
///
/// The score of a call is `-log2(p + 78.88e-32)`, where `p` is the fraction of the calls in its
/// bin. The score is about 100 if the run time lies outside of the histogram by more than 5 % of a
/// bin.
///
/// A call is abnormal if its score is at least `T = least + f (most - least)`. Here `least` and
/// `most` are the extreme scores of the occupied bins, and `f` is [`StrictParams::threshold`], 0.99
/// by default. If [`StrictParams::keep_threshold`] is on, which is the default, `T` never
/// decreases; it is initially `log2(1.00001)`.
///
/// If several bins are occupied and have the same count, all calls are therefore abnormal. This
/// happens with a uniform distribution, with two equal modes, and with two different run times.
///
/// ```
/// use perf_anomaly::{Detector, FunctionId, Hbos, Sample};
/// use perf_core::{Job, Nanos};
/// let mut detector = Hbos::default();
/// let calls = [100, 200].map(|us| Sample {
///     function: FunctionId(0),
///     runtime: Nanos(us * 1000),
///     first: false,
/// });
/// let mut judgements = Vec::new();
/// detector.detect(&calls, &mut judgements, &Job::default())?;
/// assert!(judgements.iter().all(|judgement| judgement.label.is_anomaly()));
/// # Ok::<(), perf_anomaly::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Hbos(Scored);

struct ByBin(Vec<f64>);

impl Scores for ByBin {
    fn new(histogram: &Histogram) -> Self {
        let total = histogram.total() as f64;
        let counts = histogram.counts().iter();
        ByBin(counts.map(|&count| rarity(count as f64 / total)).collect())
    }

    fn of(&self, histogram: &Histogram, value: f64) -> f64 {
        match histogram.bin(value, 0.05) {
            Bin::Inside(bin) => self.0.get(bin).copied().unwrap_or_else(|| rarity(0.0)),
            Bin::Left | Bin::Right => rarity(0.0),
        }
    }

    fn threshold(&self, histogram: &Histogram, part: f64) -> f64 {
        let filled = self.0.iter().zip(histogram.counts());
        let filled = filled
            .filter(|(_, count)| **count > 0)
            .map(|(score, _)| *score);
        let least = filled.clone().fold(f64::INFINITY, f64::min);
        let most = filled.fold(f64::NEG_INFINITY, f64::max);
        least + part * (most - least)
    }

    fn keeps(before: f64, new: f64) -> bool {
        new < before
    }
}

impl Default for Hbos {
    /// Returns a detector with the default parameters and an empty model.
    fn default() -> Self {
        Hbos::new(StrictChecked::default())
    }
}

impl Hbos {
    /// Returns parameters with their default values.
    pub fn params() -> StrictParams {
        StrictParams::default()
    }

    /// Creates a detector with an empty model.
    pub fn new(params: StrictChecked) -> Self {
        Hbos(Scored::new(params))
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

    fn width(&self) -> Width {
        Width::Bins(self.0.params.bins())
    }
}

impl Detector for Hbos {
    fn name(&self) -> &'static str {
        "hbos"
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
        let width = self.width();
        self.0.detect::<ByBin>(samples, judgements, width, job)
    }

    fn learn(&mut self, samples: &[Sample]) {
        let width = self.width();
        let learned = self.0.learn(samples, width, &Job::default());
        learned.unwrap_or_default();
    }

    fn rejudge(&self, samples: &[Sample], judgements: &mut Vec<Judgement>) {
        self.0.rejudge::<ByBin>(samples, judgements);
    }

    fn snapshot(&self) -> Model {
        Model::Hbos(self.0.known.functions.clone())
    }

    fn take_delta(&mut self) -> Model {
        Model::Hbos(self.0.known.take())
    }

    fn adopt(&mut self, view: &Model) -> Result<()> {
        self.0.known.adopt(view.as_hbos()?);
        Ok(())
    }

    fn restore(&mut self, snapshot: &Model) -> Result<()> {
        self.0.known.restore(snapshot.as_hbos()?);
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
