//! [`Sstd`]: detector that scores a run time by its distance from the mean in standard deviations.

use super::{Known, StrictChecked, StrictParams, check_sigma};
use crate::detect::rules::{IGNORED, Rules, TOO_FEW};
use crate::detect::{CALLS_PER_CHECK, Detector, Model, microseconds};
use crate::{FunctionId, Judgement, Label, Moments, Result, Sample};
use perf_core::{Cancelled, Job, Nanos};

/// Labels calls whose run time is more than `sigma` standard deviations from the mean, with the
/// same labels as Chimbuko's SSTD. The score is the number of standard deviations.
///
/// The calls of a batch are learned before they are judged, so an outlier masks itself: with `n`
/// calls no score exceeds `(n - 1) / sqrt(n)`, so 6 standard deviations need 38 calls. Run times
/// are rounded down to whole microseconds. By default the first call of a function on a stream is
/// labelled normal and is not learned.
///
/// ```
/// use perf_anomaly::{Detector, FunctionId, Label, Sample, Sstd};
/// use perf_core::{Job, Nanos};
/// let mut detector = Sstd::new(Sstd::params().sigma(3.0).check()?);
/// let mut calls = [100_000; 20].map(|runtime| Sample {
///     function: FunctionId(0),
///     runtime: Nanos(runtime),
///     first: false,
/// });
/// calls[7].runtime = Nanos(900_000);
/// let mut judgements = Vec::new();
/// detector.detect(&calls, &mut judgements, &Job::default())?;
/// assert_eq!(judgements[7].label, Label::TooSlow);
/// assert_eq!(judgements[8].label, Label::Normal);
/// # Ok::<(), perf_anomaly::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sstd {
    /// Parameters.
    params: StrictChecked,
    /// Ignored functions, and thresholds of single functions.
    rules: Rules,
    /// Model.
    known: Known<Moments>,
}

impl Default for Sstd {
    /// Returns a detector with the default parameters and an empty model.
    fn default() -> Self {
        Sstd::new(StrictChecked::default())
    }
}

impl Sstd {
    /// Returns parameters with their default values.
    pub fn params() -> StrictParams {
        StrictParams::default()
    }

    /// Creates a detector with an empty model.
    pub fn new(params: StrictChecked) -> Self {
        Sstd {
            params,
            rules: Rules::default(),
            known: Known::default(),
        }
    }

    /// Returns the moments of a function's run times in microseconds; `None` if no call of the
    /// function was learned.
    pub fn moments(&self, function: FunctionId) -> Option<&Moments> {
        self.known.functions.get(function)
    }

    fn judge(&self, sample: &Sample) -> Judgement {
        if self.rules.ignored(sample.function) {
            return IGNORED;
        }
        if self.params.skips_first() && sample.first {
            return Judgement::default();
        }
        let moments = self.moments(sample.function);
        let Some(moments) = moments.filter(|moments| moments.count() >= 2) else {
            return TOO_FEW;
        };
        let sigma = self.rules.threshold(sample.function);
        let (mean, deviation) = (moments.mean(), moments.std_dev());
        let most = sigma.unwrap_or(self.params.sigma()) * deviation;
        let runtime = microseconds(sample);
        let label = if runtime > mean + most {
            Label::TooSlow
        } else if runtime < mean - most {
            Label::TooFast
        } else {
            Label::Normal
        };
        let deviation = if deviation == 0.0 { 1e-10 } else { deviation };
        Judgement {
            label,
            score: (runtime - mean).abs() / deviation,
            expected: Some(Nanos((mean * 1e3).round() as i64)),
        }
    }
}

impl Detector for Sstd {
    fn name(&self) -> &'static str {
        "sstd"
    }

    fn options(&self) -> Vec<(String, String)> {
        self.params.options_of_sstd()
    }

    fn detect(
        &mut self,
        samples: &[Sample],
        judgements: &mut Vec<Judgement>,
        job: &Job,
    ) -> std::result::Result<(), Cancelled> {
        for some in samples.chunks(CALLS_PER_CHECK) {
            job.check()?;
            self.learn(some);
        }
        for some in samples.chunks(CALLS_PER_CHECK) {
            job.check()?;
            self.rejudge(some, judgements);
        }
        Ok(())
    }

    fn learn(&mut self, samples: &[Sample]) {
        for sample in samples {
            let skipped = self.params.skips_first() && sample.first;
            if !skipped && !self.rules.ignored(sample.function) {
                let runtime = microseconds(sample);
                self.known
                    .change(sample.function, |moments| moments.push(runtime));
            }
        }
    }

    fn rejudge(&self, samples: &[Sample], judgements: &mut Vec<Judgement>) {
        judgements.extend(samples.iter().map(|sample| self.judge(sample)));
    }

    fn snapshot(&self) -> Model {
        Model::Sstd(self.known.functions.clone())
    }

    fn take_delta(&mut self) -> Model {
        Model::Sstd(self.known.take())
    }

    fn adopt(&mut self, view: &Model) -> Result<()> {
        self.known.adopt(view.as_sstd()?);
        Ok(())
    }

    fn restore(&mut self, snapshot: &Model) -> Result<()> {
        self.known.restore(snapshot.as_sstd()?);
        Ok(())
    }

    fn describe(&self, function: FunctionId) -> Vec<(String, f64)> {
        let Some(moments) = self.moments(function) else {
            return Vec::new();
        };
        // The model is in microseconds.
        let time = |us: f64| us * 1e3;
        let facts = [
            ("calls", moments.count() as f64),
            ("mean", time(moments.mean())),
            ("deviation", time(moments.std_dev())),
            ("minimum", time(moments.min().unwrap_or_default())),
            ("maximum", time(moments.max().unwrap_or_default())),
            ("skewness", moments.skewness()),
            ("kurtosis", moments.kurtosis()),
        ];
        facts.map(|(name, value)| (name.into(), value)).into()
    }

    fn forget(&mut self, function: FunctionId) {
        self.known.forget(function);
    }

    fn ignore(&mut self, function: FunctionId, ignored: bool) {
        self.rules.ignore(function, ignored);
    }

    fn set_threshold(&mut self, function: FunctionId, sigma: Option<f64>) -> Result<()> {
        sigma.map_or(Ok(()), check_sigma)?;
        self.rules.set_threshold(function, sigma);
        Ok(())
    }
}
