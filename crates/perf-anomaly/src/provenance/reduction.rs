//! [`Reduction`]: amounts of recorded and dropped data, and the factor that recording only anomalies saves.

use crate::calls::StreamHealth;

/// Amounts of recorded and dropped data.
///
/// ```
/// use perf_anomaly::provenance::Reduction;
/// let mut all = Reduction::default();
/// assert_eq!(all.factor(), None);
/// (all.raw_bytes, all.kept_bytes) = (9_600_000, 64_000);
/// assert_eq!(all.factor(), Some(150.0));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Reduction {
    /// Size of the events in bytes: 48 for an enter, an exit and a counter value, 64 for a message,
    /// as in the arrays of the TAU trace plugin.
    pub raw_bytes: u64,
    /// Size of the kept text in bytes, without the indices of a database.
    pub kept_bytes: u64,
    /// Number of anomalies, kept or not.
    pub anomalies: u64,
    /// Number of kept anomalies.
    pub recorded: u64,
    /// Number of kept normal executions.
    pub normals: u64,
    /// Number of anomalies dropped by a filter.
    pub filtered: u64,
    /// Number of anomalies dropped because they were not among the worst of their function.
    pub not_among_worst: u64,
    /// Number of entries dropped because they exceeded the budget.
    pub over_budget: u64,
    /// Number of records that the store could not accept, or had not committed at the end.
    pub lost: u64,
}

impl Reduction {
    /// Returns the number of raw bytes for each kept byte; `None` if no bytes are kept.
    pub fn factor(&self) -> Option<f64> {
        (self.kept_bytes > 0).then(|| self.raw_bytes as f64 / self.kept_bytes as f64)
    }

    /// Returns the size of events in bytes, with the sizes of the field `raw_bytes`.
    pub fn raw_bytes(events: &StreamHealth) -> u64 {
        let rows = events.functions.saturating_add(events.counters);
        rows.saturating_mul(48)
            .saturating_add(events.messages.saturating_mul(64))
    }
}
