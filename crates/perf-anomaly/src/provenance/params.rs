//! [`RecorderParams`]: which anomalies are kept, and what they may cost.

use crate::Result;
use crate::error::within;
use perf_core::Nanos;
use std::ops::RangeInclusive;

/// Which anomalies are kept: see [`Recorder::params`](super::Recorder::params).
///
/// How many calls before and after an anomaly are kept says
/// [`CallsParams::context`](crate::calls::CallsParams::context).
///
/// ```
/// use perf_anomaly::provenance::Recorder;
/// use perf_core::Nanos;
/// // The ten worst of each function that lost a millisecond or more, 1 MiB in all.
/// let params = Recorder::params().per_function(10).severity(Nanos(1_000_000)).budget(1 << 20);
/// assert!(params.fact("job", "4711").check().is_ok());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RecorderParams {
    pub(super) per_function: usize,
    pub(super) budget: u64,
    pub(super) severity: Nanos,
    pub(super) runtime: Nanos,
    pub(super) steps: RangeInclusive<u64>,
    pub(super) too_fast: bool,
    pub(super) normals: bool,
    pub(super) patience: u64,
    pub(super) frames: usize,
    pub(super) notes: usize,
    pub(super) facts: Vec<(String, String)>,
}

impl Default for RecorderParams {
    fn default() -> Self {
        RecorderParams {
            per_function: 1000,
            budget: 1 << 30,
            severity: Nanos(0),
            runtime: Nanos(0),
            steps: 0..=u64::MAX,
            too_fast: true,
            normals: true,
            patience: 16,
            frames: 128,
            notes: 256,
            facts: Vec::new(),
        }
    }
}

impl RecorderParams {
    /// How many anomalies are kept a function: the worst by severity, then by score. Default: 1,000.
    ///
    /// A stream has no end at which the worst are known: an anomaly is kept if it is among the worst
    /// so far, so that of `n` anomalies in no particular order about `k (1 + ln(n / k))` are kept, of
    /// which [`prune`](super::prune) leaves the `k` worst.
    pub fn per_function(mut self, anomalies: usize) -> Self {
        self.per_function = anomalies;
        self
    }

    /// Most bytes that are kept, as text. Default: 1 GiB. From half of it on fewer anomalies a function
    /// are kept, down to one. The length of an entry is known before it is written: the budget is never
    /// passed, and what does not fit is [counted](super::Reduction::over_budget).
    pub fn budget(mut self, bytes: u64) -> Self {
        self.budget = bytes;
        self
    }

    /// Least time lost of an anomaly that is kept. Default: 0.
    pub fn severity(mut self, least: Nanos) -> Self {
        self.severity = least;
        self
    }

    /// Least run time of an anomaly that is kept, of the kind that is judged. Default: 0.
    pub fn runtime(mut self, least: Nanos) -> Self {
        self.runtime = least;
        self
    }

    /// Steps of which anomalies are kept. Default: all.
    pub fn steps(mut self, steps: RangeInclusive<u64>) -> Self {
        self.steps = steps;
        self
    }

    /// Whether calls that are too fast are kept. Default: true.
    pub fn too_fast(mut self, is_kept: bool) -> Self {
        self.too_fast = is_kept;
        self
    }

    /// Whether normal executions are kept for comparison: one a stream and function that has an
    /// anomaly. Default: true.
    pub fn normals(mut self, is_kept: bool) -> Self {
        self.normals = is_kept;
        self
    }

    /// For how many steps a record waits for the calls after it, and for its launch. Default: 16.
    pub fn patience(mut self, steps: u64) -> Self {
        self.patience = steps;
        self
    }

    /// How many calls of the stack are kept of a record: the innermost ones. Default: 128. How many there
    /// were beside is [told](super::Record::left_out).
    pub fn frames(mut self, calls: usize) -> Self {
        self.frames = calls;
        self
    }

    /// How many messages, how many counter values, and how many values of the node are kept of a record:
    /// the last ones of each. Default: 256. How many there were beside is
    /// [told](super::Record::left_out).
    pub fn notes(mut self, notes: usize) -> Self {
        self.notes = notes;
        self
    }

    /// A fact about the run that is kept with it, such as a version or a job number. Default: none. A
    /// further one of the same name is kept as `name 2`, and so on.
    pub fn fact(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.add_fact(&name.into(), value.into());
        self
    }

    pub(super) fn add_fact(&mut self, name: &str, value: String) {
        let is_there = |name: &str| self.facts.iter().any(|(one, _)| one == name);
        let mut unique = name.to_string();
        let mut number = 1;
        while is_there(&unique) {
            number += 1;
            unique = format!("{name} {number}");
        }
        self.facts.push((unique, value));
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// [`Error::Parameter`](crate::Error::Parameter) for one out of its range.
    pub fn check(self) -> Result<CheckedRecorderParams> {
        let (worst, budget, severity) = (self.per_function, self.budget, self.severity);
        let is_number = (1..=1 << 20).contains(&worst);
        within(is_number, "per_function", worst, "1 to 1,048,576")?;
        within(budget >= 1024, "budget", budget, "at least 1,024")?;
        within(severity.0 >= 0, "severity", severity, "not negative")?;
        Ok(CheckedRecorderParams(self))
    }
}

/// Parameters that were checked.
#[derive(Clone, Debug, Default)]
pub struct CheckedRecorderParams(pub(super) RecorderParams);
