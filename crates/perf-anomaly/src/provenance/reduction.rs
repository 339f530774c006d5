//! [`Reduction`]: what keeping anomalies alone saves.

use crate::calls::StreamHealth;

/// How much of a stream was kept.
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
    /// Bytes of the events: 48 for an enter, an exit and a counter value, 64 for a message, as the
    /// arrays of the TAU trace plugin have them.
    pub raw_bytes: u64,
    /// Bytes that were kept, as text: what a database adds to them for its indices is not counted.
    pub kept_bytes: u64,
    /// Anomalies, whether kept or not.
    pub anomalies: u64,
    /// Anomalies that were kept.
    pub recorded: u64,
    /// Normal executions that were kept.
    pub normals: u64,
    /// Anomalies that a filter left out.
    pub filtered: u64,
    /// Anomalies that were not among the worst of their function.
    pub not_among_worst: u64,
    /// Entries that did not fit into the budget.
    pub over_budget: u64,
    /// Records of calls that are lost: the store could not take them, or had not committed them at the end.
    pub lost: u64,
}

impl Reduction {
    /// Raw bytes for each byte that is kept; `None` where nothing is.
    pub fn factor(&self) -> Option<f64> {
        (self.kept_bytes > 0).then(|| self.raw_bytes as f64 / self.kept_bytes as f64)
    }

    /// Raw bytes of so many events.
    pub fn raw_bytes(events: &StreamHealth) -> u64 {
        let rows = events.functions.saturating_add(events.counters);
        rows.saturating_mul(48)
            .saturating_add(events.messages.saturating_mul(64))
    }
}
