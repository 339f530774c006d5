//! [`Scored`]: learning and judging with a histogram and threshold for each function, by the
//! [`Scores`] of HBOS or COPOD; a macro makes each a detector.

use super::Histogram;
use super::histogram::Width;
use super::{Known, StrictChecked, by_function, check_part, room};
use crate::detect::rules::{IGNORED, Rules, TOO_FEW};
use crate::detect::{CALLS_PER_CHECK, ScoredHistogram, microseconds};
use crate::{FunctionId, Judgement, Label, Result, Sample};
use perf_core::{Cancelled, Job, Nanos};

/// Summand of each probability, which limits scores to `-log2(78.88e-32)`, about 100.
const ALPHA: f64 = 78.88e-32;

/// Returns the score of a probability.
pub(super) fn rarity(probability: f64) -> f64 {
    -(probability + ALPHA).log2()
}

/// Scores of values for a histogram.
pub(super) trait Scores {
    /// Returns the rule for the bins of the histograms.
    fn width(params: &StrictChecked) -> Width;

    /// Prepares the computation of scores for a non-empty histogram.
    fn new(histogram: &Histogram) -> Self;

    /// Returns the score of a value in microseconds.
    fn of(&self, histogram: &Histogram, value: f64) -> f64;

    /// Returns the threshold at a fraction `part` of the range of scores of the histogram.
    fn threshold(&self, histogram: &Histogram, part: f64) -> f64;

    /// Returns `true` if an earlier threshold is kept instead of `new`.
    fn keeps(before: f64, new: f64) -> bool;
}

/// Parameters, rules and model of a detector.
#[derive(Clone, Debug)]
pub(super) struct Scored {
    /// Parameters.
    pub(super) params: StrictChecked,
    /// Ignored functions, and thresholds of single functions.
    pub(super) rules: Rules,
    /// Model.
    pub(super) known: Known<ScoredHistogram>,
}

impl Scored {
    pub(super) fn new(params: StrictChecked) -> Self {
        Scored {
            params,
            rules: Rules::default(),
            known: Known::default(),
        }
    }

    pub(super) fn learn<S: Scores>(
        &mut self,
        samples: &[Sample],
        job: &Job,
    ) -> Result<(), Cancelled> {
        let width = S::width(&self.params);
        let mut values = Vec::new();
        for calls in by_function(samples, &self.rules, job)?.chunk_by(|a, b| a.0 == b.0) {
            job.check()?;
            values.clear();
            values.extend(calls.iter().map(|(_, _, sample)| microseconds(sample)));
            let batch = Histogram::new(&values, width);
            if let Some((function, ..)) = calls.first() {
                self.known.change(*function, |model| model.add(&batch));
            }
        }
        Ok(())
    }

    pub(super) fn rejudge<S: Scores>(&self, samples: &[Sample], judgements: &mut Vec<Judgement>) {
        // The default job is never cancelled.
        let judged = self.each::<S>(samples, judgements, &Job::default());
        drop(judged.unwrap_or_default());
    }

    /// Learns all calls, then judges them, and stores the threshold that was used for each
    /// function.
    pub(super) fn detect<S: Scores>(
        &mut self,
        samples: &[Sample],
        judgements: &mut Vec<Judgement>,
        job: &Job,
    ) -> Result<(), Cancelled> {
        self.learn::<S>(samples, job)?;
        for (function, threshold) in self.each::<S>(samples, judgements, job)? {
            self.known
                .change(function, |model| model.set_threshold(threshold));
        }
        Ok(())
    }

    /// Judges calls, and returns the threshold that was used for each function.
    fn each<S: Scores>(
        &self,
        samples: &[Sample],
        judgements: &mut Vec<Judgement>,
        job: &Job,
    ) -> Result<Vec<(FunctionId, f64)>, Cancelled> {
        let mut thresholds = Vec::new();
        let judgements = room(judgements, samples, IGNORED);
        for calls in by_function(samples, &self.rules, job)?.chunk_by(|a, b| a.0 == b.0) {
            let Some(&(function, ..)) = calls.first() else {
                continue;
            };
            let model = self.known.functions.get(function);
            let Some(model) = model.filter(|model| !model.histogram().is_empty()) else {
                for (_, index, _) in calls {
                    judgements[*index] = TOO_FEW;
                }
                continue;
            };
            let histogram = model.histogram();
            let scores = S::new(histogram);
            let part = self.rules.threshold(function);
            let new = scores.threshold(histogram, part.unwrap_or(self.params.threshold()));
            let keeps = self.params.keeps_threshold() && S::keeps(model.threshold(), new);
            let threshold = if keeps { model.threshold() } else { new };
            thresholds.push((function, threshold));
            let median = histogram.median();
            for (number, (_, index, sample)) in calls.iter().enumerate() {
                if number.is_multiple_of(CALLS_PER_CHECK) {
                    job.check()?;
                }
                let value = microseconds(sample);
                let score = scores.of(histogram, value);
                let label = match (score >= threshold, value < median) {
                    (false, _) => Label::Normal,
                    (true, true) => Label::TooFast,
                    (true, false) => Label::TooSlow,
                };
                judgements[*index] = Judgement {
                    label,
                    score,
                    expected: Some(Nanos((median * 1e3).round() as i64)),
                };
            }
        }
        Ok(thresholds)
    }

    pub(super) fn describe(&self, function: FunctionId) -> Vec<(String, f64)> {
        let model = self.known.functions.get(function);
        let Some(model) = model.filter(|model| !model.histogram().is_empty()) else {
            return Vec::new();
        };
        let histogram = model.histogram();
        // The histogram is in microseconds.
        let facts = [
            ("calls", histogram.total() as f64),
            ("minimum", histogram.min() * 1e3),
            ("median", histogram.median() * 1e3),
            ("maximum", histogram.max() * 1e3),
            ("bins", histogram.counts().len() as f64),
            ("threshold", model.threshold()),
        ];
        facts.map(|(name, value)| (name.into(), value)).into()
    }

    pub(super) fn set_threshold(&mut self, function: FunctionId, part: Option<f64>) -> Result<()> {
        part.map_or(Ok(()), check_part)?;
        self.rules.set_threshold(function, part);
        Ok(())
    }
}

/// Implements a detector `$detector(Scored)` with the scores `$scores`. `$of` selects its model.
macro_rules! scored_detector {
    ($detector:ident, $scores:ident, $name:literal, $of:ident) => {
        impl Default for $detector {
            /// Returns a detector with the default parameters and an empty model.
            fn default() -> Self {
                $detector::new(StrictChecked::default())
            }
        }

        impl $detector {
            /// Returns parameters with their default values.
            pub fn params() -> StrictParams {
                StrictParams::default()
            }

            /// Creates a detector with an empty model.
            pub fn new(params: StrictChecked) -> Self {
                $detector(Scored::new(params))
            }

            /// Returns the histogram of a function's run times in microseconds; `None` if no call
            /// of the function was learned.
            pub fn histogram(&self, function: crate::FunctionId) -> Option<&Histogram> {
                let model = self.0.known.functions.get(function)?;
                Some(model.histogram())
            }
        }

        impl crate::Detector for $detector {
            fn name(&self) -> &'static str {
                $name
            }

            fn options(&self) -> Vec<(String, String)> {
                self.0.params.options_of_histograms()
            }

            fn detect(
                &mut self,
                samples: &[crate::Sample],
                judgements: &mut Vec<crate::Judgement>,
                job: &perf_core::Job,
            ) -> Result<(), perf_core::Cancelled> {
                self.0.detect::<$scores>(samples, judgements, job)
            }

            fn learn(&mut self, samples: &[crate::Sample]) {
                // The default job is never cancelled.
                let learned = self.0.learn::<$scores>(samples, &perf_core::Job::default());
                learned.unwrap_or_default();
            }

            fn rejudge(&self, samples: &[crate::Sample], judgements: &mut Vec<crate::Judgement>) {
                self.0.rejudge::<$scores>(samples, judgements);
            }

            fn snapshot(&self) -> crate::Model {
                crate::Model::$detector(self.0.known.functions.clone())
            }

            fn take_delta(&mut self) -> crate::Model {
                crate::Model::$detector(self.0.known.take())
            }

            fn adopt(&mut self, view: &crate::Model) -> crate::Result<()> {
                self.0.known.adopt(view.$of()?);
                Ok(())
            }

            fn restore(&mut self, snapshot: &crate::Model) -> crate::Result<()> {
                self.0.known.restore(snapshot.$of()?);
                Ok(())
            }

            fn describe(&self, function: crate::FunctionId) -> Vec<(String, f64)> {
                self.0.describe(function)
            }

            fn forget(&mut self, function: crate::FunctionId) {
                self.0.known.forget(function);
            }

            fn ignore(&mut self, function: crate::FunctionId, ignored: bool) {
                self.0.rules.ignore(function, ignored);
            }

            fn set_threshold(
                &mut self,
                function: crate::FunctionId,
                part: Option<f64>,
            ) -> crate::Result<()> {
                self.0.set_threshold(function, part)
            }
        }
    };
}
pub(super) use scored_detector;
