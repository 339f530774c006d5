//! [`Hbos`]: rarity of the histogram bin of a run time.

use super::histogram::{Bin, Width};
use super::scored::{Scored, Scores, rarity};
use super::strict::{StrictChecked, StrictParams};
use super::{Detector, Histogram, Model};
use crate::{FunctionId, Judgement, Result, Sample};
use perf_core::{Cancelled, Job};

/// Labels calls in the rarest bins of a histogram of run times, with the same labels as Chimbuko's
/// HBOS.
///
/// The score of a call is `-log2(p + 78.88e-32)` for the fraction `p` of its bin, and 100 if it is
/// more than 5 % of a bin outside of the histogram. It is abnormal from
/// `T = least + 0.99 (most - least)` on, over the scores of the occupied bins, or the highest `T`
/// so far. If all bins are equal, all calls are therefore abnormal: those of a uniform
/// distribution, of two equal modes, and of two calls.
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

    /// Returns the histogram of a function's run times in microseconds.
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
