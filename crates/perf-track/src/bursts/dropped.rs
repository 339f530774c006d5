//! [`Dropped`]: counts of the bursts that the extraction found, kept and dropped, by reason;
//! [`Amount`]: number and total time of bursts.

use perf_core::{Merge, Nanos, ReplayCounts};
use std::collections::BTreeMap;

/// Number of bursts and their total time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Amount {
    /// Number of bursts.
    pub bursts: u64,
    /// Sum of their durations.
    pub time: Nanos,
}

impl Amount {
    /// Adds a burst.
    pub fn add(&mut self, duration: Nanos) {
        self.bursts += 1;
        self.time = Nanos(self.time.0.saturating_add(duration.0));
    }
}

impl Merge for Amount {
    fn merge(&mut self, other: &Self) {
        self.bursts += other.bursts;
        self.time = Nanos(self.time.0.saturating_add(other.time.0));
    }
}

/// Bursts that [`Extract::extract`](crate::Extract::extract) found, kept and dropped, by reason.
/// [`Bursts`](crate::Bursts) includes the bursts dropped by `duration`, `missing` and `ranges` with their
/// [`Kind`](crate::Kind), but not the bursts of `empty`, `cut` and `interrupted`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Dropped {
    /// All bursts, including dropped ones, except `empty`, `cut` and `interrupted`.
    pub found: Amount,
    /// Bursts that have all metrics and pass all filters.
    pub complete: Amount,
    /// Bursts that are too short or too long.
    pub duration: Amount,
    /// Bursts without a required metric, by the missing counters in alphabetical order. A metric
    /// that has all its counters but is not finite, such as after a division by 0, is listed by its
    /// name.
    #[cfg_attr(
        feature = "serde",
        serde(serialize_with = "crate::serialize::by_counters")
    )]
    pub missing: BTreeMap<Vec<String>, Amount>,
    /// Bursts with a metric out of its range, by the metric (the first such metric of a burst).
    pub ranges: BTreeMap<String, Amount>,
    /// Bursts cut by an edge of the window or by the end of the recording.
    pub cut: Amount,
    /// Calls during which recording was off or a buffer was flushed.
    pub interrupted: Amount,
    /// Number of calls with zero duration.
    pub empty: u64,
    /// Number of accumulated counters that decreased within a burst. The burst lacks these metrics.
    pub resets: u64,
    /// Number of samples of requested metrics that describe a process, a device or a thread other
    /// than the recording one. Bursts lack these metrics.
    pub foreign: u64,
    /// Number of divisions by 0.
    pub divisions_by_zero: u64,
    /// Number of CPU threads whose events are missing from the recording.
    pub absent_threads: u64,
    /// Number of CPU threads that have events but no burst.
    pub idle_threads: u64,
    /// Repairs made during the replay of enters and leaves.
    pub repairs: ReplayCounts,
}

fn merge_maps<K: Ord + Clone>(into: &mut BTreeMap<K, Amount>, other: &BTreeMap<K, Amount>) {
    for (key, amount) in other {
        into.entry(key.clone()).or_default().merge(amount);
    }
}

impl Merge for Dropped {
    fn merge(&mut self, other: &Self) {
        self.found.merge(&other.found);
        self.complete.merge(&other.complete);
        self.duration.merge(&other.duration);
        merge_maps(&mut self.missing, &other.missing);
        merge_maps(&mut self.ranges, &other.ranges);
        self.cut.merge(&other.cut);
        self.interrupted.merge(&other.interrupted);
        self.empty += other.empty;
        self.resets += other.resets;
        self.foreign += other.foreign;
        self.divisions_by_zero += other.divisions_by_zero;
        self.absent_threads += other.absent_threads;
        self.idle_threads += other.idle_threads;
        self.repairs.merge(&other.repairs);
    }
}
