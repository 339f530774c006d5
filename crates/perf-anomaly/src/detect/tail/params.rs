//! [`TailParams`]: parameters of [`Tail`](crate::Tail), such as rate of false alarms, sizes of
//! modes, halving of counts and resolution.

use super::fit::Wanted;
use crate::Result;
use crate::error::{check_resolution, within};
use perf_core::Nanos;

perf_core::parameters! {
    /// Parameters of [`Tail`](crate::Tail), created by [`Tail::params`](crate::Tail::params).
    ///
    /// ```
    /// use perf_anomaly::Tail;
    /// // One alarm in a million calls, and none before the hundredth call of a function.
    /// assert!(Tail::params().false_positives(1.0).minimum(100).check().is_ok());
    /// assert!(Tail::params().false_positives(0.0).check().is_err());
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct TailParams {
        /// Sets the expected number of false alarms per million normal calls of all functions, on the slow and
        /// the fast side together; default 10. A call of a rarely called function has up to 16 times this rate. Functions with rare slow calls have more, and so have those with
        /// heavy tails as long as they have few calls.
        false_positives: f64 = 10.0,
        /// Sets the number of calls of a function below which there is not enough data; default 32.
        /// Below three times as many, an abnormal call may be the first call of a further mode and is
        /// not reported, unless it takes up to ten times as long as the longest call, the fewer calls the longer.
        minimum: u64 = 32,
        /// Sets the smallest share of a function's calls that may be a mode; default 0.005. Groups of
        /// calls with a smaller share are abnormal, unless they are [narrow](Self::rare_share).
        /// Abnormal calls with a smaller share do not widen the tails of the modes.
        mode_share: f64 = 0.005,
        /// Sets the smallest share of a function's calls that may be a mode if the calls take about the
        /// same time. Calls take about the same time if their quartiles are at most 5 % apart, or at most 1.5 times
        /// as far apart as those of the widest other mode. Default: 0.0005. Calls that repeat the same
        /// time are then reported until they are a mode, and calls that occur less than once in 2,000
        /// calls are always reported. If `rare_share` equals [`mode_share`](Self::mode_share), rare
        /// calls are abnormal even if they are alike.
        rare_share: f64 = 0.0005,
        /// Sets the fewest calls that may be a mode; default 16.
        mode_calls: u64 = 16,
        /// Sets the number of calls of a function at which all its counts are halved; default 65,536.
        memory: u64 = 1 << 16,
        /// Sets the smallest relevant difference of times, such as the tick of the clock; default 1 us.
        /// A call is abnormal only if it differs from the calls of the nearest mode by more than two
        /// resolutions. Modes are at least four resolutions apart.
        resolution: Nanos = Nanos(1000),
        /// Judges and learns the first call of a function on a stream like later calls; default false.
        /// A first call often compiles, loads or connects something. If it is not learned, its label is
        /// [`NotEnoughData`](crate::Label::NotEnoughData).
        learn_first: bool = false,
    }
}

/// Validated [`TailParams`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TailChecked(TailParams);

impl TailParams {
    /// Validates the parameters.
    ///
    /// # Errors
    /// Returns [`Error::Parameter`](crate::Error::Parameter) unless `false_positives` is above 0
    /// and at most 1000, `minimum` at least 16, `mode_share` above 0 and at most 0.5, `rare_share`
    /// above 0 and at most `mode_share`, `mode_calls` at least 8, `memory` from 1024 to 2^40 and at
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
            "1024 to 2^40, and at least four times the minimum",
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
    /// Returns names and values for the metadata of a run.
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

    /// Returns the parameters of a fit; `per_million` replaces the rate of false alarms, `times` multiplies
    /// it, and `tick` is the tick of the clock in nanoseconds.
    pub(super) fn wanted(&self, per_million: Option<f64>, times: f64, tick: u64) -> Wanted {
        Wanted {
            probability: times * per_million.unwrap_or(self.0.false_positives) / 1e6,
            mode_calls: self.0.mode_calls,
            mode_share: self.0.mode_share,
            rare_share: self.0.rare_share,
            tick: self.0.resolution.0.max(tick as i64) as f64,
        }
    }

    pub(super) fn minimum(&self) -> u64 {
        self.0.minimum
    }

    /// Returns the number of calls by which a function of `calls` calls counts in a program: at most half of the
    /// number at which counts are halved, so that halving does not change it.
    pub(super) fn weighed(&self, calls: u64) -> u64 {
        calls.min(self.0.memory / 2)
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
