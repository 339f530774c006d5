//! Detectors: which of the completed calls are abnormal.
//!
//! | detector | model a function | order | what it is for |
//! |---|---|---|---|
//! | [`Tail`] | quantile sketch of the run time, modes by a mixture | score, then learn | the default: a stated number of false alarms per million calls |
//! | [`Sstd`] | [`Moments`](crate::Moments) | learn, then score | labels as Chimbuko's SSTD gives them |
//! | [`Hbos`] | [`Histogram`] | learn, then score | labels as its HBOS gives them |
//! | [`Copod`] | [`Histogram`] | learn, then score | labels as its COPOD gives them |
//!
//! What they find of 201 calls planted among 200,000 of one function, and how many alarms they raise
//! (the test `planted_anomalies_are_found` prints it):
//!
//! | run times | planted | [`Tail`] | [`Sstd`] | [`Hbos`] | [`Copod`] |
//! |---|---|---|---|---|---|
//! | normal, deviation 10 % | 2 to 30 times as long | 200 of 200 | 149 of 149 | 102 of 147 | 6 of 17 |
//! | lognormal, 0.5 | 20 to 300 times as long | 195 of 195 | 146 of 147 | 85 of 137 | 6 of 9 |
//! | two even modes, 100 and 200 us | 1.3 to 1.6 times the first | 201 of 201 | 0 of 0 | 60 of 103 | 0 of 1446 |
//! | 100 us, one call in 50 takes 5 ms | 3 to 12 times the first | 201 of 216 | 0 of 3642 | 32 of 130 | 0 of 11 |
//!
//! Each planted call takes another time: what takes the same time again and again is a mode by the rule
//! of [`TailParams::rare_share`], told some 16 times and then usual.
//!
//! A million calls of which none is abnormal get at most 3 alarms of the 10 that [`Tail`] allows itself
//! by default, in fifteen distributions from uniform to Pareto, with up to three modes, apart or
//! overlapping, and 481 of 500 where the tail is the heaviest that it is calibrated for.
//!
//! The last three are for comparison with published results; what is odd in them is odd in the
//! original, and said where it is.

mod copod;
mod drift;
mod facts;
mod functions;
mod hbos;
mod histogram;
mod losses;
mod model;
mod overlap;
mod rules;
mod scored;
mod sstd;
mod strict;
mod tail;

pub use copod::Copod;
pub use drift::{Change, Drift, DriftChecked, DriftParams};
pub use facts::facts_text;
pub(crate) use facts::{is_endless, is_time, value_text};
pub use functions::Functions;
pub(crate) use functions::table;
pub use hbos::Hbos;
pub use histogram::{Bin, Histogram};
pub(crate) use losses::Relabelled;
pub use losses::{Loss, Losses, Place};
pub use model::{Model, ScoredHistogram};
pub use sstd::Sstd;
pub use strict::{StrictChecked, StrictParams};
pub use tail::{Sketch, Tail, TailChecked, TailParams};

use crate::{Error, FunctionId, Judgement, Result, Sample};
use perf_core::{Cancelled, Job};

/// Calls between two cancellation checks: a few milliseconds of judging.
pub(crate) const LOOK: usize = 1 << 14;

/// Tells which calls are abnormal, and learns from them what is normal.
///
/// A detector works alone, or shares what it learns: [`take_delta`](Self::take_delta) gives what is
/// new, a parameter server merges the deltas of all ranks, and [`adopt`](Self::adopt) takes its
/// global view. Nobody waits for anybody: between two views a detector works with the last one and
/// what it learned itself.
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
/// Four methods are needed: [`name`](Self::name), [`detect`](Self::detect), [`rejudge`](Self::rejudge)
/// and [`ignore`](Self::ignore). The others have a meaning for a detector that keeps what it knows to
/// itself: its model is [`Model::Own`], which merges with nothing, so that ranks judge alone, and it has
/// no thresholds. One that learns overrides [`forget`](Self::forget) and [`describe`](Self::describe),
/// too. The cookbook of the project has a whole one.
pub trait Detector: std::fmt::Debug + Send + Sync {
    /// A short name: `tail`, `sstd`, `hbos`, `copod`.
    fn name(&self) -> &'static str;

    /// What it was set up with, as names and values for people and for stores.
    fn options(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Judges the calls completed in a step and learns from them, in the order of the detector:
    /// appends one judgement a sample to `judgements`.
    ///
    /// # Errors
    ///
    /// Returns [`Cancelled`] if the job is cancelled. Some of the calls are then learned from, and some judged.
    fn detect(
        &mut self,
        samples: &[Sample],
        judgements: &mut Vec<Judgement>,
        job: &Job,
    ) -> std::result::Result<(), Cancelled>;

    /// Learns from calls without judging them. Default: judges them and drops what it says.
    fn learn(&mut self, samples: &[Sample]) {
        let mut judgements = Vec::with_capacity(samples.len());
        // Nothing cancels this job.
        self.detect(samples, &mut judgements, &Job::default())
            .unwrap_or_default();
    }

    /// Judges calls by what is known now, and learns nothing: with the final model of a run, what
    /// was said too early is said again. Appends one judgement a sample to `judgements`.
    fn rejudge(&self, samples: &[Sample], judgements: &mut Vec<Judgement>);

    /// All that is known now. Default: [`Model::Own`].
    fn snapshot(&self) -> Model {
        Model::Own
    }

    /// What was learned since the last call; at first, all that was learned since the detector was
    /// made, [`restored`](Self::restore) or [`adopted`](Self::adopt) a view. Default: [`Model::Own`].
    fn take_delta(&mut self) -> Model {
        Model::Own
    }

    /// Takes a view of all ranks in place of its own, and adds what it learned since
    /// [`take_delta`](Self::take_delta), which the view cannot have yet. Default: there is nothing to
    /// take from [`Model::Own`].
    ///
    /// # Errors
    /// [`Error::OtherModel`](crate::Error::OtherModel) if the view is of another detector.
    fn adopt(&mut self, view: &Model) -> Result<()> {
        match view {
            Model::Own => Ok(()),
            other => Err(Error::OtherModel {
                expected: self.name(),
                found: other.name(),
            }),
        }
    }

    /// Forgets everything and goes on from a snapshot. Default: as [`adopt`](Self::adopt), with nothing
    /// to forget.
    ///
    /// # Errors
    /// As [`adopt`](Self::adopt); then nothing is forgotten.
    fn restore(&mut self, snapshot: &Model) -> Result<()> {
        self.adopt(snapshot)
    }

    /// What is known of a function, as names and numbers for people and for stores: `calls` first;
    /// times in nanoseconds, shares of 1. [`facts_text`] gives them units by their names. Empty where nothing is known, and by default.
    fn describe(&self, function: FunctionId) -> Vec<(String, f64)> {
        let _ = function;
        Vec::new()
    }

    /// Starts over with a function: what was known of it is forgotten here, such as after a
    /// [change](crate::Drift). What was not told yet is still in [`take_delta`](Self::take_delta), and a
    /// view that is [adopted](Self::adopt) later knows what all ranks know. Default: there is nothing to
    /// forget.
    fn forget(&mut self, function: FunctionId) {
        let _ = function;
    }

    /// Whether calls of a function are neither judged nor learned: they are
    /// [`Label::Ignored`](crate::Label::Ignored).
    fn ignore(&mut self, function: FunctionId, ignored: bool);

    /// A threshold for one function in place of that of the parameters, in the same unit; `None`
    /// takes it back. Default: a detector has no thresholds.
    ///
    /// # Errors
    /// [`Error::Parameter`](crate::Error::Parameter) if the threshold is out of its range, as any is for
    /// a detector without.
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

/// Run times of strict detectors are whole microseconds.
pub(crate) fn microseconds(sample: &Sample) -> f64 {
    sample.runtime.0.div_euclid(1000) as f64
}
