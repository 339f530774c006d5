//! Parameters of [`Tail`](crate::Tail).

use crate::Result;
use crate::error::{check_resolution, within};
use perf_core::Nanos;

/// Parameters of [`Tail`](crate::Tail), made by [`Tail::params`](crate::Tail::params).
///
/// ```
/// use perf_anomaly::Tail;
/// // One alarm in a million calls, and none before the hundredth call of a function.
/// assert!(Tail::params().false_positives(1.0).minimum(100).check().is_ok());
/// assert!(Tail::params().false_positives(0.0).check().is_err());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TailParams {
    false_positives: f64,
    minimum: u64,
    mode_share: f64,
    rare_share: f64,
    mode_calls: u64,
    memory: u64,
    resolution: Nanos,
    learn_first: bool,
}

/// [`TailParams`] that were checked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TailChecked(TailParams);

impl Default for TailParams {
    fn default() -> Self {
        TailParams {
            false_positives: 10.0,
            minimum: 32,
            mode_share: 0.005,
            rare_share: 0.0005,
            mode_calls: 16,
            memory: 1 << 16,
            resolution: Nanos(1000),
            learn_first: false,
        }
    }
}

impl TailParams {
    /// Most calls in a million that are expected to be judged abnormal though nothing is wrong, too slow
    /// and too fast together, default 10.
    pub fn false_positives(mut self, per_million: f64) -> Self {
        self.false_positives = per_million;
        self
    }

    /// Calls of a function below which there is not enough data, default 32.
    pub fn minimum(mut self, calls: u64) -> Self {
        self.minimum = calls;
        self
    }

    /// Least share of a function's calls that may be a mode of its own, default 0.005: what is rarer
    /// is abnormal, unless it is [narrow](Self::rare_share). Up to that share anomalies do not stretch the
    /// tails; a higher one here lets more anomalies do so.
    pub fn mode_share(mut self, share: f64) -> Self {
        self.mode_share = share;
        self
    }

    /// Least share that may be a mode where its calls take about as long each time: their quartiles are no
    /// further apart than 5 %, or one and a half times those of the widest other mode. Default: 0.0005, so
    /// that what repeats is reported until it is known, but what happens less than once in 2,000 calls is
    /// always reported. As high as [`mode_share`](Self::mode_share), rare calls are abnormal however alike.
    pub fn rare_share(mut self, share: f64) -> Self {
        self.rare_share = share;
        self
    }

    /// Least calls that may be a mode of their own, default 16.
    pub fn mode_calls(mut self, calls: u64) -> Self {
        self.mode_calls = calls;
        self
    }

    /// Calls of a function at which all its counts are halved, default 65,536.
    pub fn memory(mut self, calls: u64) -> Self {
        self.memory = calls;
        self
    }

    /// Times closer than this cannot be told apart, default 1 us: the step of the clock, or what
    /// nobody cares about. A call is only abnormal if it is more than two of them from the usual ones,
    /// and modes are at least four apart.
    pub fn resolution(mut self, time: Nanos) -> Self {
        self.resolution = time;
        self
    }

    /// Whether the first call of a function on a stream is judged and learned like others, default
    /// false: it often compiles, loads or connects something, and is
    /// [`NotEnoughData`](crate::Label::NotEnoughData).
    pub fn learn_first(mut self, learn: bool) -> Self {
        self.learn_first = learn;
        self
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// [`Error::Parameter`](crate::Error::Parameter) unless `false_positives` is above 0 and at most 1000, `minimum` at least 16,
    /// `mode_share` above 0 and at most 0.5, `rare_share` above 0 and at most that, `mode_calls` at least 8, `memory` at least 1024 and at
    /// least four times `minimum`, and `resolution` from 1 ns to 1 s.
    pub fn check(self) -> Result<TailChecked> {
        check_false_positives(self.false_positives)?;
        let (minimum, memory, calls) = (self.minimum, self.memory, self.mode_calls);
        let (share, rare) = (self.mode_share, self.rare_share);
        within(minimum >= 16, "minimum", minimum, "at least 16")?;
        let is_share = share > 0.0 && share <= 0.5;
        within(is_share, "mode_share", share, "above 0, at most 0.5")?;
        let is_less = rare > 0.0 && rare <= share;
        within(
            is_less,
            "rare_share",
            rare,
            "above 0, at most the share of a mode",
        )?;
        within(calls >= 8, "mode_calls", calls, "at least 8")?;
        within(
            memory >= 1024 && memory / 4 >= minimum && memory <= 1 << 40,
            "memory",
            memory,
            "1024 to 2^40, and four times the minimum",
        )?;
        check_resolution(self.resolution)?;
        Ok(TailChecked(self))
    }
}

pub(super) fn check_false_positives(per_million: f64) -> Result<()> {
    within(
        per_million > 0.0 && per_million <= 1000.0,
        "false_positives",
        per_million,
        "above 0, at most 1000 per million",
    )
}

impl TailChecked {
    /// Names and values, for the metadata of a run.
    pub(super) fn options(&self) -> Vec<(String, String)> {
        let all = &self.0;
        let option = |name: &str, value: &dyn std::fmt::Display| (name.into(), value.to_string());
        vec![
            option("false positives per million", &all.false_positives),
            option("minimum calls", &all.minimum),
            option("mode share", &all.mode_share),
            option("rare share", &all.rare_share),
            option("mode calls", &all.mode_calls),
            option("memory", &all.memory),
            option("resolution", &all.resolution),
            option("learn first", &all.learn_first),
        ]
    }

    pub(super) fn false_positives(&self) -> f64 {
        self.0.false_positives
    }

    pub(super) fn minimum(&self) -> u64 {
        self.0.minimum
    }

    pub(super) fn mode_share(&self) -> f64 {
        self.0.mode_share
    }

    pub(super) fn rare_share(&self) -> f64 {
        self.0.rare_share
    }

    pub(super) fn mode_calls(&self) -> u64 {
        self.0.mode_calls
    }

    pub(super) fn memory(&self) -> u64 {
        self.0.memory
    }

    pub(super) fn resolution(&self) -> Nanos {
        self.0.resolution
    }

    pub(super) fn learns_first(&self) -> bool {
        self.0.learn_first
    }
}
