//! [`RecorderParams`]: filters and limits for recorded anomalies.

use crate::Result;
use crate::error::within;
use perf_core::Nanos;
use std::ops::RangeInclusive;

perf_core::parameters! {
    /// Filters and limits for recorded anomalies, created by
    /// [`Recorder::params`](super::Recorder::params).
    ///
    /// [`CallsParams::context`](crate::calls::CallsParams::context) sets the number of recorded calls
    /// before and after an anomaly.
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
        /// Sets the number of anomalies that are kept for each function, which are the worst by
        /// severity, then by score. Default: 1,000.
        ///
        /// The worst anomalies are not known until the end of a stream, so an anomaly is recorded if it
        /// is among the `k` worst so far. Of `n` anomalies in random order about `k (1 + ln(n / k))`
        /// are recorded. [`prune`](super::prune) keeps the `k` worst of them.
        pub(super) per_function: usize = 1000,
        /// Sets the limit of the size of all entries as text, in bytes. Default: 1 GiB. Once half of it
        /// is used, fewer anomalies are kept for each function, down to one. The limit is never
        /// exceeded, because the size of an entry is known before it is written. Dropped entries are
        /// [counted](super::Reduction::over_budget).
        pub(super) budget: u64 = 1 << 30,
        /// Sets the smallest time lost of a recorded anomaly. Default: 0.
        pub(super) severity: Nanos = Nanos(0),
        /// Sets the shortest run time of a recorded anomaly, exclusive or inclusive as it is judged.
        /// Default: 0.
        pub(super) runtime: Nanos = Nanos(0),
        /// Sets the steps whose anomalies are recorded. Default: all.
        pub(super) steps: RangeInclusive<u64> = 0..=u64::MAX,
        /// Records calls that are too fast. Default: true.
        pub(super) too_fast: bool = true,
        /// Records normal executions for comparison, one for each stream and function with an anomaly.
        /// Default: true.
        pub(super) normals: bool = true,
        /// Sets the number of steps for which a record waits for the calls after its call, and for its
        /// launch. Default: 16.
        pub(super) patience: u64 = 16,
        /// Sets the largest number of callers in a record. Default: 128. The innermost callers are
        /// kept; the number of dropped callers is [recorded](super::Record::left_out).
        pub(super) frames: usize = 128,
        /// Sets the largest number of messages, of counter values, and of node values in a record.
        /// Default: 256. The last ones are kept; the numbers of dropped ones are
        /// [recorded](super::Record::left_out).
        pub(super) notes: usize = 256,
    } and {
        /// Properties of the run.
        pub(super) facts: Vec<(String, String)> = Vec::new(),
    }
}

impl RecorderParams {
    /// Adds a property that is stored with the run, such as a version or a job number. Default:
    /// none. Further properties of the same name are stored as `name 2`, and so on.
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

    /// Validates the parameters.
    ///
    /// # Errors
    /// Returns [`Error::Parameter`](crate::Error::Parameter) unless `per_function` is from 1 to
    /// 1,048,576, `budget` at least 1,024 bytes, and `severity` not negative.
    pub fn check(self) -> Result<CheckedRecorderParams> {
        let (worst, budget, severity) = (self.per_function, self.budget, self.severity);
        let is_number = (1..=1 << 20).contains(&worst);
        within(is_number, "per_function", worst, "1 to 1,048,576")?;
        within(budget >= 1024, "budget", budget, "at least 1,024")?;
        within(severity.0 >= 0, "severity", severity, "not negative")?;
        Ok(CheckedRecorderParams(self))
    }
}

/// Validated [`RecorderParams`].
#[derive(Clone, Debug, Default)]
pub struct CheckedRecorderParams(pub(super) RecorderParams);
