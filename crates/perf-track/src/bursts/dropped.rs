//! [`Dropped`]: what extraction left out, by reason.

use perf_core::{Merge, Nanos, ReplayCounts};
use std::collections::BTreeMap;

/// A number of bursts and the time they take together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Amount {
    /// How many.
    pub bursts: u64,
    /// The sum of their durations.
    pub time: Nanos,
}

impl Amount {
    /// Counts one more burst.
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

/// What [`Extract::extract`](crate::Extract::extract) found, kept and left out, by reason. Bursts
/// left out by `duration`, `missing` and `ranges` are in [`Bursts`](crate::Bursts) with their
/// [`Kind`](crate::Kind); those of `empty`, `cut` and `interrupted` are not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Dropped {
    /// All bursts there are, with those that were left out but without `empty`, `cut` and
    /// `interrupted` ones.
    pub found: Amount,
    /// Those that have all metrics and pass all filters.
    pub complete: Amount,
    /// Too short or too long.
    pub duration: Amount,
    /// Without a metric, by the counters that were missing, in alphabetical order. A metric that
    /// has all its counters and is not finite all the same, as after a division by 0, stands here
    /// by its own name.
    #[cfg_attr(
        feature = "serde",
        serde(serialize_with = "crate::serialize::by_counters")
    )]
    pub missing: BTreeMap<Vec<String>, Amount>,
    /// With a metric out of its range, by that metric (the first one, where there are several).
    pub ranges: BTreeMap<String, Amount>,
    /// Cut by an edge of the window, or not over when the recording ended.
    pub cut: Amount,
    /// Calls during which recording was off or a buffer was written out.
    pub interrupted: Amount,
    /// Calls of no duration.
    pub empty: u64,
    /// Accumulated counters that fell within a burst, for which the burst lacks them.
    pub resets: u64,
    /// Samples of metrics that were asked for and are about a process, a device or another thread
    /// than the one that recorded them: they are no part of its bursts, which lack them.
    pub foreign: u64,
    /// Divisions by 0.
    pub divisions_by_zero: u64,
    /// CPU threads whose events are missing from the recording.
    pub absent_threads: u64,
    /// CPU threads without any burst.
    pub idle_threads: u64,
    /// What the replay of enters and leaves had to mend.
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
