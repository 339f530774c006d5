//! Parameters of [`Drift`](crate::Drift).

use super::test::bound;
use crate::Result;
use crate::error::{check_resolution, within};
use perf_core::Nanos;

/// Parameters of [`Drift`](crate::Drift), made by [`Drift::params`](crate::Drift::params).
///
/// ```
/// use perf_anomaly::Drift;
/// assert!(Drift::params().window(64).check().is_ok());
/// assert!(Drift::params().window(0).check().is_err());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct DriftParams {
    window: u64,
    false_alarms: f64,
    least: f64,
    memory: u64,
    resolution: Nanos,
    most: usize,
}

/// [`DriftParams`] that were checked.
#[derive(Clone, Debug, PartialEq)]
pub struct DriftChecked {
    params: DriftParams,
    bound: f64,
}

impl Default for DriftParams {
    fn default() -> Self {
        DriftParams {
            window: 128,
            false_alarms: 1.0,
            least: 0.1,
            memory: 1 << 16,
            resolution: Nanos(1000),
            most: 1024,
        }
    }
}

impl DriftParams {
    /// Calls of a function that are compared with the past at a time, default 128. A change is told after
    /// two to three of them. More of them show smaller changes: the chance that a call is longer than one
    /// before must differ from a half by `z / sqrt(12 n)`, 0.13 by default, which a change by 10 % is where
    /// run times scatter by up to 21 %, and a change by 1.7 times where they are exponential.
    pub fn window(mut self, calls: u64) -> Self {
        self.window = calls;
        self
    }

    /// Most windows in a million that are expected to be taken for the beginning of a change though
    /// nothing changes, default 1.
    pub fn false_alarms(mut self, per_million: f64) -> Self {
        self.false_alarms = per_million;
        self
    }

    /// Least relative change of the usual run time that matters, default 0.1: from 100 to 110 us, or back.
    pub fn least(mut self, share: f64) -> Self {
        self.least = share;
        self
    }

    /// Calls of a function from which on the past is counted half, default 65,536.
    pub fn memory(mut self, calls: u64) -> Self {
        self.memory = calls;
        self
    }

    /// Times closer than this cannot be told apart, default 1 us. A change is of more than two of them.
    pub fn resolution(mut self, time: Nanos) -> Self {
        self.resolution = time;
        self
    }

    /// Most changes that are kept, the first ones; others are [counted](crate::Drift::left_out). Default:
    /// 1024.
    pub fn most(mut self, changes: usize) -> Self {
        self.most = changes;
        self
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// [`Error::Parameter`](crate::Error::Parameter) unless `window` is from 32 to 65,536, `false_alarms` above 0 and at most
    /// 10,000, `least` above 0 and at most 100, `memory` at least two windows and at most 2^40,
    /// `resolution` from 1 ns to 1 s, and `most` at least 1.
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

    /// How many standard deviations of the rank sum are no chance.
    pub(super) fn bound(&self) -> f64 {
        self.bound
    }
}
