//! [`TimeBalance`]: breakdown of the CPU time of an experiment into bursts of tracked and other
//! clusters, noise, and those that each filter drops.

use crate::{Amount, Bursts, ClusterId, Error, Kind, Labels, Result};
use perf_core::{Merge, Nanos};

/// CPU time of an experiment, divided into disjoint classes that add up to it exactly.
///
/// CPU time is the time of all bursts before any filter, summed over all threads. It excludes
/// bursts cut by the edge of a window and calls during which recording was off; see
/// [`Dropped`](crate::Dropped).
///
/// ```
/// use perf_core::Nanos;
/// use perf_track::{Burst, Bursts, ClusterId, Kind, Labels, Thread, TimeBalance};
/// let mut bursts = Bursts::new(["instructions"]);
/// let thread = bursts.add_thread(Thread::default())?;
/// for (begin, end) in [(0, 90), (100, 109), (200, 290), (300, 301)] {
///     let burst = Burst { thread, begin: Nanos(begin), end: Nanos(end), ..Burst::default() };
///     bursts.push(burst, &[1e6])?;
/// }
/// bursts.set_kinds(vec![Kind::Complete, Kind::Complete, Kind::Complete, Kind::Duration])?;
/// let labels = Labels::new(vec![ClusterId(1), ClusterId::NOISE, ClusterId(2), ClusterId::NOISE]);
/// let balance = TimeBalance::of(&bursts, &labels, |cluster| cluster == ClusterId(1))?;
/// assert_eq!(balance.total.time, Nanos(190));
/// let parts = balance.parts().map(|(_, amount)| amount.time.0);
/// assert_eq!(parts, [90, 90, 9, 1, 0, 0, 0]);
/// assert_eq!(balance.share(balance.noise), 9.0 / 190.0);
/// # Ok::<(), perf_track::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct TimeBalance {
    /// All bursts, before any filter.
    pub total: Amount,
    /// Bursts of tracked clusters, whose tracked region occurs in several experiments and is not
    /// filtered.
    pub tracked: Amount,
    /// Bursts of all other clusters.
    pub untracked: Amount,
    /// Bursts in no cluster.
    pub noise: Amount,
    /// Bursts that the duration filter dropped.
    pub duration: Amount,
    /// Bursts without a counter or a finite value of a metric.
    pub missing: Amount,
    /// Bursts that the range filter of a metric dropped.
    pub range: Amount,
    /// Bursts of clusters that the filter by share of time dropped.
    pub share: Amount,
}

impl TimeBalance {
    /// Computes the balance of bursts from the cluster of each burst and a test for tracked
    /// clusters.
    ///
    /// # Errors
    /// Returns [`Error::Length`] if there is not one label for each burst.
    pub fn of(
        bursts: &Bursts,
        labels: &Labels,
        is_tracked: impl Fn(ClusterId) -> bool,
    ) -> Result<Self> {
        if labels.len() != bursts.len() {
            return Err(Error::Length {
                what: "labels of bursts",
                expected: bursts.len(),
                got: labels.len(),
            });
        }
        let mut balance = TimeBalance::default();
        let kinds = bursts.kinds().iter().zip(labels.as_slice());
        for ((kind, &label), burst) in kinds.zip(bursts.rows()) {
            balance.add(
                *kind,
                label,
                Nanos(burst.end.0.saturating_sub(burst.begin.0)),
                &is_tracked,
            );
        }
        Ok(balance)
    }

    /// Adds a burst of a kind and, if it is complete, of a cluster.
    pub(crate) fn add(
        &mut self,
        kind: Kind,
        label: ClusterId,
        duration: Nanos,
        is_tracked: impl Fn(ClusterId) -> bool,
    ) {
        let class = match kind {
            Kind::Complete if label.is_noise() => &mut self.noise,
            Kind::Complete if is_tracked(label) => &mut self.tracked,
            Kind::Complete => &mut self.untracked,
            Kind::Missing => &mut self.missing,
            Kind::Duration => &mut self.duration,
            Kind::Range => &mut self.range,
            Kind::Share => &mut self.share,
        };
        class.add(duration);
        self.total.add(duration);
    }

    /// Returns the classes in a fixed order, each with a name for tables. Their amounts add up to
    /// [`total`](Self::total).
    pub fn parts(&self) -> [(&'static str, Amount); 7] {
        [
            ("tracked", self.tracked),
            ("untracked", self.untracked),
            ("noise", self.noise),
            ("duration filter", self.duration),
            ("without counters", self.missing),
            ("range filter", self.range),
            ("share filter", self.share),
        ]
    }

    /// Returns the bursts of all clusters, tracked or not.
    pub fn clustered(&self) -> Amount {
        let mut sum = self.tracked;
        sum.merge(&self.untracked);
        sum
    }

    /// Returns the fraction of an amount in the CPU time, in `0.0..=1.0`; 0 if there is no CPU
    /// time.
    pub fn share(&self, part: Amount) -> f64 {
        match self.total.time.0 {
            0 => 0.0,
            total => part.time.0 as f64 / total as f64,
        }
    }
}

impl Merge for TimeBalance {
    fn merge(&mut self, other: &Self) {
        self.total.merge(&other.total);
        self.tracked.merge(&other.tracked);
        self.untracked.merge(&other.untracked);
        self.noise.merge(&other.noise);
        self.duration.merge(&other.duration);
        self.missing.merge(&other.missing);
        self.range.merge(&other.range);
        self.share.merge(&other.share);
    }
}
