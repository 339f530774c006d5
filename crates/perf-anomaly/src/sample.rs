//! [`Sample`] and [`Judgement`]: input and output of a detector, with [`Label`], the classes of
//! calls, and [`FunctionId`], the number of the model of a call.

use perf_core::Nanos;

/// Number of a model, which is that of a function or of a call path of a program. It is common to
/// all ranks and threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[repr(transparent)]
pub struct FunctionId(pub u32);

/// Completed call, reduced to the data that a detector uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Sample {
    /// Model of the call.
    pub function: FunctionId,
    /// Run time: exclusive by default, inclusive with
    /// [`Runtime::Inclusive`](crate::calls::Runtime::Inclusive).
    pub runtime: Nanos,
    /// `true` for the first call of its function on its stream, which is often slower than later
    /// calls.
    pub first: bool,
}

/// Classification of a call.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    serde::Serialize,
    serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Label {
    /// The run time is as expected.
    #[default]
    Normal,
    /// The run time is longer than expected.
    #[serde(rename = "too slow")]
    TooSlow,
    /// The run time is shorter than expected.
    #[serde(rename = "too fast")]
    TooFast,
    /// The detector has not learned enough calls to judge the call, or it cannot tell an abnormal
    /// call from a change of the function yet.
    #[serde(rename = "not enough data")]
    NotEnoughData,
    /// The function is excluded by the user.
    Ignored,
    /// The call is abnormal, and takes more than ten times as long as any earlier call of its kind.
    /// Counts as too slow.
    #[serde(rename = "beyond experience")]
    BeyondExperience,
}

impl Label {
    /// Returns `true` if the call is abnormal.
    pub fn is_anomaly(self) -> bool {
        self.is_slow() || self == Label::TooFast
    }

    /// Returns `true` if the call took longer than expected: [`TooSlow`](Self::TooSlow) or
    /// [`BeyondExperience`](Self::BeyondExperience).
    ///
    /// ```
    /// use perf_anomaly::Label;
    /// assert!(Label::BeyondExperience.is_slow() && Label::TooSlow.is_slow());
    /// assert!(!Label::TooFast.is_slow() && !Label::NotEnoughData.is_anomaly());
    /// ```
    pub fn is_slow(self) -> bool {
        matches!(self, Label::TooSlow | Label::BeyondExperience)
    }
}

/// Judgement of a call by a detector.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Judgement {
    /// Label.
    pub label: Label,
    /// Score in the units of the detector; higher is rarer.
    pub score: f64,
    /// Expected run time; `None` if the model has none.
    pub expected: Option<Nanos>,
}

impl Judgement {
    /// Returns the time lost, which is the run time minus the expected run time for calls that are
    /// [slow](Label::is_slow), and 0 for other calls and without an expected run time.
    pub fn severity(&self, sample: &Sample) -> Nanos {
        match (self.label.is_slow(), self.expected) {
            (true, Some(expected)) => Nanos(sample.runtime.0.saturating_sub(expected.0).max(0)),
            _ => Nanos(0),
        }
    }
}
