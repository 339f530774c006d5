//! [`NewMode`]: a slow run time that repeats, with its [`Beginning`]; [`Accepted`]: reasons why one is
//! normal.

use crate::FunctionId;
use perf_core::Nanos;

/// Number of calls that a mode would have had before its first one, at its later share of all calls, up
/// to which it may have been there since the start, and from which it was not.
const MISSING: (f64, f64) = (1.0, 3.0);

/// Reason for which a mode is normal.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub enum Accepted {
    /// It has half of the calls of its function since this step.
    UsualSince(u64),
    /// A rule of the user accepts it for this reason.
    Rule(String),
}

/// Beginning of a mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub enum Beginning {
    /// The mode was there since the first calls of the function.
    Start,
    /// The mode was not there before its first call.
    Appeared,
    /// There are too few calls before its first one to know whether it was there.
    Unknown,
}

/// Slow run time that repeats, in addition to the usual one.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct NewMode {
    /// Function.
    pub function: FunctionId,
    /// Shortest run time of the mode, within 6 %.
    pub from: Nanos,
    /// Longest run time of the mode, within 6 %.
    pub to: Nanos,
    /// Mean usual run time of the ranks on which its calls are.
    pub usual: Nanos,
    /// Step of its first call. A mode that was there since the [start](Self::beginning) has that of the
    /// first call of its function.
    pub first: u64,
    /// Number of calls of the function before that.
    pub before: u64,
    /// Number of calls of the function until the last call of the mode.
    pub of: u64,
    /// Step of its last call.
    pub last: u64,
    /// Number of calls.
    pub calls: u64,
    /// Sum of their run times.
    pub time: Nanos,
    /// Number of the calls that are alarms by themselves.
    pub alarms: u64,
    /// Time lost: run time minus the expected one, summed over the calls until the mode is accepted.
    pub lost: Nanos,
    /// Part of the time lost in calls that are alarms by themselves.
    pub alarmed: Nanos,
    /// Number of ranks with such calls.
    pub ranks: usize,
    /// Reason for which the mode is normal; `None` for a mode that loses time.
    pub accepted: Option<Accepted>,
}

impl NewMode {
    /// Returns the beginning, from the number of calls that the mode would have had before its first one.
    pub fn beginning(&self) -> Beginning {
        let after = self.of.saturating_sub(self.before).max(1);
        let missing = self.before as f64 * self.calls as f64 / after as f64;
        match missing {
            few if few <= MISSING.0 => Beginning::Start,
            many if many >= MISSING.1 => Beginning::Appeared,
            _ => Beginning::Unknown,
        }
    }

    /// Returns the factor between the mean run time and the usual one.
    pub fn factor(&self) -> f64 {
        let mean = self.time.0 as f64 / self.calls.max(1) as f64;
        mean / (self.usual.0.max(1) as f64)
    }
}
