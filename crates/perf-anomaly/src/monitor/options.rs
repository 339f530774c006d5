//! Options of a [`Monitor`]: functions that are ignored, thresholds, accepted modes, and steps that are compared.

use super::Monitor;
use crate::{FunctionId, Result};
use std::ops::RangeInclusive;

impl Monitor {
    /// Ignores functions whose name matches a pattern with `*` and `?`: their calls are neither
    /// judged nor learned. For a model of a call path, the pattern must match its whole name or the
    /// name of its last function. Later rules override earlier rules.
    pub fn ignore(mut self, pattern: impl Into<String>) -> Self {
        self.rules.push((pattern.into(), None));
        self
    }

    /// Sets the threshold of functions whose name matches a pattern, in the unit of the
    /// [detector](crate::Detector::set_threshold).
    ///
    /// # Errors
    /// Returns [`Error::Parameter`](crate::Error::Parameter) if the threshold is out of the range of the detector.
    pub fn threshold(mut self, pattern: impl Into<String>, threshold: f64) -> Result<Self> {
        // No function has this number; the call only validates the threshold.
        let nobody = FunctionId(u32::MAX);
        self.detector.set_threshold(nobody, Some(threshold))?;
        self.detector.set_threshold(nobody, None)?;
        self.rules.push((pattern.into(), Some(threshold)));
        Ok(self)
    }

    /// Accepts [new modes](crate::lost_time::NewMode) of functions whose name matches a pattern as
    /// normal, for a reason that results state. Default: a mode is normal once it has half of all calls
    /// of its function.
    pub fn accept(mut self, pattern: impl Into<String>, reason: impl Into<String>) -> Self {
        self.lasting.accept(pattern.into(), reason.into());
        self
    }

    /// Sets the number of steps that are [compared as one](crate::lost_time::Peers::grouped) to find slow
    /// ranks and phases. Must be set before the first step. Default: 1.
    pub fn compare_steps(mut self, steps: u64) -> Self {
        self.lasting.group(steps);
        self
    }

    /// Sets the steps that are [compared](crate::lost_time::Peers) to find slow ranks and phases, such as the iterations of
    /// a program without its initialisation. Default: all.
    pub fn compare_between(mut self, steps: RangeInclusive<u64>) -> Self {
        self.lasting.compare_between(steps);
        self
    }
}
