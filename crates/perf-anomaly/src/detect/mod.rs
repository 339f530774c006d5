//! [`Detector`]: interface of the detectors, which label completed calls as normal or abnormal by
//! their run times; comparison of the detectors.
//!
//! | detector | model for each function | order | purpose |
//! |---|---|---|---|
//! | [`Tail`] | quantile sketch of the run time, modes by a mixture | score, then learn | the default: a stated number of false alarms per million calls |
//! | [`Sstd`] | [`Moments`](crate::Moments) | learn, then score | labels as Chimbuko's SSTD gives them |
//! | [`Hbos`] | [`Histogram`] | learn, then score | labels as its HBOS gives them |
//! | [`Copod`] | [`Histogram`] | learn, then score | labels as its COPOD gives them |
//!
//! 201 anomalous calls are planted among 200,000 calls of one function. "199 of 200" in the next
//! table means that 200 alarms include 199 planted calls. The test `planted_anomalies_are_found`
//! prints these numbers.
//!
//! | run times | planted | [`Tail`] | [`Sstd`] | [`Hbos`] | [`Copod`] |
//! |---|---|---|---|---|---|
//! | normal, deviation 10 % | 2 to 30 times as long | 200 of 201 | 149 of 149 | 102 of 147 | 6 of 17 |
//! | lognormal, 0.5 | 20 to 300 times as long | 199 of 200 | 146 of 147 | 85 of 137 | 6 of 9 |
//! | two even modes, 100 and 200 us | 1.3 to 1.6 times the first | 201 of 202 | 0 of 0 | 60 of 103 | 0 of 1446 |
//! | 100 us, one call in 50 takes 5 ms | 3 to 12 times the first | 200 of 216 | 0 of 3642 | 32 of 130 | 0 of 11 |
//!
//! Each planted call takes a different time. Calls that repeat the same time become a mode by the
//! rule of [`TailParams::rare_share`]: about the first 16 of them are reported, later ones are
//! normal.
//!
//! By default [`Tail`] allows 10 alarms per million normal calls. It raises 4 to 10 on independent
//! calls from normal to Pareto distributions, and fewer if run times are ties at the tick of the
//! clock. The table of recall by number of calls and shape is in `docs/methods.md`.
//!
//! [`Sstd`], [`Hbos`] and [`Copod`] are for comparison with published results. They reproduce the
//! peculiarities of Chimbuko's detectors, which are documented where they occur.

mod drift;
mod facts;
mod functions;
mod losses;
mod model;
mod rules;
mod strict;
mod tail;

pub use drift::{Change, Drift, DriftChecked, DriftParams, describe_changes};
pub use facts::facts_text;
pub(crate) use facts::{is_endless, is_time, value_text};
pub use functions::Functions;
pub(crate) use functions::table;
pub(crate) use losses::Relabelled;
pub use losses::{Loss, Losses, Place};
pub use model::{Model, ScoredHistogram};
pub use strict::{Bin, Copod, Hbos, Histogram, Sstd, StrictChecked, StrictParams};
pub use tail::{Sketch, Tail, TailChecked, TailParams};

use crate::{Error, FunctionId, Judgement, Result, Sample};
use perf_core::{Cancelled, Job};

/// Number of calls between two cancellation checks, which takes a few milliseconds.
pub(crate) const CALLS_PER_CHECK: usize = 1 << 14;

/// Labels calls as normal or abnormal, and learns the normal run times from all calls.
///
/// A detector works alone or shares its knowledge: [`take_delta`](Self::take_delta) returns the new
/// knowledge, a parameter server merges the deltas of all ranks, and [`adopt`](Self::adopt) takes
/// the view of the server. There is no synchronisation: between two views a detector works with the
/// last view and the knowledge of its own calls since.
///
/// ```
/// use perf_anomaly::{Detector, FunctionId, Label, Sample, Tail};
/// use perf_core::{Job, Nanos};
/// let call = |runtime| Sample { function: FunctionId(0), runtime: Nanos(runtime), first: false };
/// let mut detector: Box<dyn Detector> = Box::new(Tail::default());
/// let mut judgements = Vec::new();
/// let usual: Vec<_> = (0..1000).map(|i| call(100_000 + 10 * (i * 37 % 1000))).collect();
/// detector.detect(&usual, &mut judgements, &Job::default())?;
/// detector.detect(&[call(300_000)], &mut judgements, &Job::default())?;
/// assert_eq!(judgements[0].label, Label::NotEnoughData);
/// assert_eq!(judgements[999].label, Label::Normal);
/// assert_eq!(judgements[1000].label, Label::TooSlow);
/// # Ok::<(), perf_anomaly::Error>(())
/// ```
///
/// # A detector of your own
/// Four methods are required: [`name`](Self::name), [`detect`](Self::detect),
/// [`rejudge`](Self::rejudge) and [`ignore`](Self::ignore). The default methods suit a detector
/// without thresholds that does not share its model. Its model is [`Model::Own`], which cannot be
/// merged, so that ranks judge separately. A detector that learns should override
/// [`forget`](Self::forget) and [`describe`](Self::describe) too. The cookbook of the project has a
/// complete example.
pub trait Detector: std::fmt::Debug + Send + Sync {
    /// Returns a short name: `tail`, `sstd`, `hbos`, `copod`.
    fn name(&self) -> &'static str;

    /// Returns the options of the detector as names and values, for display and storage. Default:
    /// none.
    fn options(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Judges the calls completed in a step and learns from them. The detector decides which comes
    /// first. Appends one judgement for each sample to `judgements`.
    ///
    /// # Errors
    ///
    /// Returns [`Cancelled`] if the job is cancelled. A part of the calls may then be learned, and
    /// a part may have judgements.
    fn detect(
        &mut self,
        samples: &[Sample],
        judgements: &mut Vec<Judgement>,
        job: &Job,
    ) -> std::result::Result<(), Cancelled>;

    /// Learns from calls without judging them. Default: judges them and drops the judgements.
    fn learn(&mut self, samples: &[Sample]) {
        let mut judgements = Vec::with_capacity(samples.len());
        // The default job is never cancelled.
        self.detect(samples, &mut judgements, &Job::default())
            .unwrap_or_default();
    }

    /// Judges calls with the current model, without learning. Appends one judgement for each sample to `judgements`.
    fn rejudge(&self, samples: &[Sample], judgements: &mut Vec<Judgement>);

    /// Returns the positions of judgements that later calls may correct, in ascending order, among those that the last
    /// call of [`detect`](Self::detect) appended to: those of calls without an alarm that take longer than all earlier
    /// ones. Default: none.
    fn undecided(&self) -> &[usize] {
        &[]
    }

    /// Judges calls that were learned again, each by all other calls, so that no call hides itself. Appends one judgement for each sample to
    /// `judgements`. Default: [`rejudge`](Self::rejudge).
    ///
    /// ```
    /// use perf_anomaly::{Detector, FunctionId, Label, Sample, Tail};
    /// use perf_core::{Job, Nanos};
    /// let call = |runtime| Sample { function: FunctionId(0), runtime: Nanos(runtime), first: false };
    /// let mut calls: Vec<_> = (0..2000).map(|i| call(1000 * (i * 37 % 100).max(40))).collect();
    /// calls[40] = call(300_000);
    /// let (mut detector, mut judgements) = (Tail::default(), Vec::new());
    /// detector.detect(&calls, &mut judgements, &Job::default())?;
    /// assert!(!judgements[40].label.is_anomaly());
    /// assert!(detector.undecided().contains(&40));
    /// let mut again = Vec::new();
    /// detector.judge_again(&[calls[40]], &mut again);
    /// assert_eq!(again[0].label, Label::TooSlow);
    /// # Ok::<(), perf_anomaly::Error>(())
    /// ```
    fn judge_again(&self, samples: &[Sample], judgements: &mut Vec<Judgement>) {
        self.rejudge(samples, judgements);
    }

    /// Returns the complete model. Default: [`Model::Own`].
    fn snapshot(&self) -> Model {
        Model::Own
    }

    /// Returns the knowledge since the last call of this method. The first call returns the
    /// knowledge since the detector was created or [restored](Self::restore). Default:
    /// [`Model::Own`].
    fn take_delta(&mut self) -> Model {
        Model::Own
    }

    /// Replaces the model by a view of all ranks, and adds the knowledge since the last
    /// [`take_delta`](Self::take_delta), which the view cannot contain yet. Default: accepts only
    /// [`Model::Own`], without effect.
    ///
    /// # Errors
    /// Returns [`Error::OtherModel`](crate::Error::OtherModel) if the view belongs to another
    /// detector.
    fn adopt(&mut self, view: &Model) -> Result<()> {
        match view {
            Model::Own => Ok(()),
            other => Err(Error::OtherModel {
                expected: self.name(),
                found: other.name(),
            }),
        }
    }

    /// Replaces the model by a snapshot. Default: the same as [`adopt`](Self::adopt).
    ///
    /// # Errors
    /// Returns the errors of [`adopt`](Self::adopt); the model is then unchanged.
    fn restore(&mut self, snapshot: &Model) -> Result<()> {
        self.adopt(snapshot)
    }

    /// Describes the model of a function as names and numbers for display and storage. The number
    /// of `calls` comes first; times are in nanoseconds, shares are fractions. [`facts_text`] adds
    /// units according to the names. Empty if the function has no model. Default: empty.
    fn describe(&self, function: FunctionId) -> Vec<(String, f64)> {
        let _ = function;
        Vec::new()
    }

    /// Drops the model of a function, such as after a [change](crate::Drift).
    /// [`take_delta`](Self::take_delta) still returns its knowledge that has not been taken yet,
    /// and a view that is [adopted](Self::adopt) later still contains the knowledge of all ranks.
    /// Default: no effect.
    fn forget(&mut self, function: FunctionId) {
        let _ = function;
    }

    /// Excludes a function: its calls are neither judged nor learned, and their label is
    /// [`Label::Ignored`](crate::Label::Ignored).
    fn ignore(&mut self, function: FunctionId, ignored: bool);

    /// Returns `true` if the detector has models for classes of sizes of messages. Default: `false`, so
    /// that each function has one model.
    fn separates_sizes(&self) -> bool {
        false
    }

    /// Declares that a model is that of the calls of a function with messages of a class of sizes, of
    /// which `bytes` is the smallest. Called before the first call of the class is judged. Default: no
    /// effect.
    fn add_size_class(&mut self, class: FunctionId, function: FunctionId, bytes: u64) {
        let _ = (class, function, bytes);
    }

    /// Returns the model that judges the calls of a size class: its own, or that of its function if the
    /// detector does not need the sizes. Default: `class`.
    fn judged_by(&self, class: FunctionId) -> FunctionId {
        class
    }

    /// Sets a threshold for one function, which replaces the threshold of the parameters and has
    /// the same unit; `None` resets it. Default: accepts only `None`.
    ///
    /// # Errors
    /// Returns [`Error::Parameter`](crate::Error::Parameter) if the threshold is out of range,
    /// which is always the case for a detector without thresholds.
    fn set_threshold(&mut self, function: FunctionId, threshold: Option<f64>) -> Result<()> {
        let _ = function;
        match threshold {
            None => Ok(()),
            Some(value) => Err(Error::Parameter {
                name: "threshold",
                value: value.to_string(),
                range: "none, since this detector has no thresholds",
            }),
        }
    }
}

/// Returns the run time in whole microseconds, the unit of the strict detectors.
pub(crate) fn microseconds(sample: &Sample) -> f64 {
    sample.runtime.0.div_euclid(1000) as f64
}
