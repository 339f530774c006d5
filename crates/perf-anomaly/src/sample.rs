//! [`Sample`] and [`Judgement`]: what a detector is asked, and what it answers.

use perf_core::Nanos;

/// What has one model: a function of a program, or a call path of it, whatever its rank and thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[repr(transparent)]
pub struct FunctionId(pub u32);

/// One completed call, as a detector sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Sample {
    /// Its model.
    pub function: FunctionId,
    /// Its run time: exclusive by default, inclusive on demand.
    pub runtime: Nanos,
    /// Whether it is the first call of its function on its stream, which may be slow for reasons
    /// of its own.
    pub first: bool,
}

/// What a call is.
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
    /// It took longer than expected.
    #[serde(rename = "too slow")]
    TooSlow,
    /// It took less time than expected.
    #[serde(rename = "too fast")]
    TooFast,
    /// Too few calls of its function were seen to say.
    #[serde(rename = "not enough data")]
    NotEnoughData,
    /// Nobody wants to know.
    Ignored,
    /// It took longer than anything its function has shown, by a margin that the stated rate of false alarms
    /// does not explain, where the tail of the run times is too uncertain to be a bound. It counts as too slow.
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

/// What a detector says of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Judgement {
    /// What it is.
    pub label: Label,
    /// How unusual it is, in the units of the detector; higher is rarer.
    pub score: f64,
    /// The run time that the model expects, where it expects one.
    pub expected: Option<Nanos>,
}

impl Judgement {
    /// Time lost: the run time above the expected one; 0 of a call that is as expected, of one that is
    /// too fast, and where nothing is expected.
    pub fn severity(&self, sample: &Sample) -> Nanos {
        match (self.label.is_slow(), self.expected) {
            (true, Some(expected)) => Nanos(sample.runtime.0.saturating_sub(expected.0).max(0)),
            _ => Nanos(0),
        }
    }
}
