//! [`Sample`] and [`Judgement`]: input and output of a detector.

use perf_core::Nanos;

/// Number of a model: of a function of a program, or of a call path of it, common to all ranks and
/// threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[repr(transparent)]
pub struct FunctionId(pub u32);

/// One completed call, as a detector sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Sample {
    /// Model of the call.
    pub function: FunctionId,
    /// Run time: exclusive by default, inclusive on request.
    pub runtime: Nanos,
    /// `true` if it is the first call of its function on its stream, which is often slower than
    /// others.
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
    /// As expected.
    #[default]
    Normal,
    /// Longer than expected.
    #[serde(rename = "too slow")]
    TooSlow,
    /// Shorter than expected.
    #[serde(rename = "too fast")]
    TooFast,
    /// The function has had too few calls.
    #[serde(rename = "not enough data")]
    NotEnoughData,
    /// Excluded by the user.
    Ignored,
    /// Longer than any earlier call of its function, by a margin that the stated rate of false
    /// alarms does not explain, while the tail of the run times is too uncertain for a bound.
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
    /// Expected run time, if the model has one.
    pub expected: Option<Nanos>,
}

impl Judgement {
    /// Returns the time lost: run time minus expected run time; 0 for calls that are normal or too
    /// fast, and without an expected run time.
    pub fn severity(&self, sample: &Sample) -> Nanos {
        match (self.label.is_slow(), self.expected) {
            (true, Some(expected)) => Nanos(sample.runtime.0.saturating_sub(expected.0).max(0)),
            _ => Nanos(0),
        }
    }
}
