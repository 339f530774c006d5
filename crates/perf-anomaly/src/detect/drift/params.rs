//! [`DriftParams`]: parameters of [`Drift`](crate::Drift), such as size of windows, rate of false
//! alarms and smallest change.

use super::rank_sum::bound;
use crate::Result;
use crate::error::{check_resolution, within};
use perf_core::Nanos;

perf_core::parameters! {
    /// Parameters of [`Drift`](crate::Drift), created by [`Drift::params`](crate::Drift::params).
    ///
    /// ```
    /// use perf_anomaly::Drift;
    /// assert!(Drift::params().window(64).check().is_ok());
    /// assert!(Drift::params().window(0).check().is_err());
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct DriftParams {
        /// Sets the number of calls of a function in a window; default 128. A change is reported after
        /// two to three windows. Larger windows reveal smaller changes: the probability that a call is
        /// longer than an earlier one must differ from 1/2 by `z / sqrt(12 n)`, 0.13 by default. This
        /// corresponds to a change by 10 % if the standard deviation of run times is up to 21 %, and by
        /// a factor of 1.7 if run times are exponentially distributed.
        window: u64 = 128,
        /// Sets the expected number of windows per million that deviate significantly although the
        /// function is unchanged; default 1. A second window must confirm a change.
        false_alarms: f64 = 1.0,
        /// Sets the smallest relevant relative change of the usual run time; default 0.1: from 100 to
        /// 110 us, or back.
        least: f64 = 0.1,
        /// Sets the number of calls of a function at which the counts of its earlier calls are halved;
        /// default 65,536.
        memory: u64 = 1 << 16,
        /// Sets the smallest difference between distinguishable times; default 1 us. A change exceeds
        /// twice this time.
        resolution: Nanos = Nanos(1000),
        /// Sets the largest number of changes that are kept; default 1024. The first changes are kept,
        /// later ones are only [counted](crate::Drift::left_out).
        most: usize = 1024,
    }
}

/// Validated [`DriftParams`].
#[derive(Clone, Debug, PartialEq)]
pub struct DriftChecked {
    /// Parameters.
    params: DriftParams,
    /// Bound in standard deviations of the rank sum.
    bound: f64,
}

impl DriftParams {
    /// Validates the parameters.
    ///
    /// # Errors
    /// Returns [`Error::Parameter`](crate::Error::Parameter) unless `window` is from 32 to 65,536,
    /// `false_alarms` above 0 and at most 10,000, `least` above 0 and at most 100, `memory` at
    /// least two windows and at most 2^40, `resolution` from 1 ns to 1 s, and `most` at least 1.
    pub fn check(self) -> Result<DriftChecked> {
        let (window, rate, least) = (self.window, self.false_alarms, self.least);
        let is_window = (32..=65_536).contains(&window);
        within(is_window, "window", window, "32 to 65,536 calls")?;
        within(
            rate > 0.0 && rate <= 10_000.0,
            "false_alarms",
            rate,
            "above 0, at most 10,000 per million",
        )?;
        let is_share = least > 0.0 && least <= 100.0;
        within(is_share, "least", least, "above 0, at most 100")?;
        within(
            self.memory >= 2 * window && self.memory <= 1 << 40,
            "memory",
            self.memory,
            "at least two windows, at most 2^40",
        )?;
        check_resolution(self.resolution)?;
        within(self.most > 0, "most", self.most, "at least 1")?;
        Ok(DriftChecked::of(self))
    }
}

impl Default for DriftChecked {
    /// Returns the default parameters.
    fn default() -> Self {
        DriftChecked::of(DriftParams::default())
    }
}

impl DriftChecked {
    fn of(params: DriftParams) -> Self {
        DriftChecked {
            bound: bound(params.false_alarms / 1e6),
            params,
        }
    }

    pub(super) fn window(&self) -> u64 {
        self.params.window
    }

    pub(super) fn least(&self) -> f64 {
        self.params.least
    }

    pub(super) fn memory(&self) -> u64 {
        self.params.memory
    }

    pub(super) fn resolution(&self) -> Nanos {
        self.params.resolution
    }

    pub(super) fn most(&self) -> usize {
        self.params.most
    }

    /// Returns the significance bound in standard deviations of the rank sum.
    pub(super) fn bound(&self) -> f64 {
        self.bound
    }
}
