//! [`Unfiltered`]: extracted bursts before short ones are dropped, so that the minimum duration can
//! be derived from them.

use super::{Amount, Bursts, Dropped, DurationCut, Kind};
use crate::Result;
use perf_core::Nanos;
use std::collections::BTreeMap;

/// Bursts of a recording before short ones are dropped. The minimum duration may therefore depend on the bursts, or on
/// those of other recordings, without a second extraction.
///
/// [`Extract::unfiltered`](crate::Extract::unfiltered) extracts them.
///
/// ```
/// use perf_core::{Job, samples::cosmo};
/// use perf_track::Extract;
/// let trace = cosmo::trace();
/// let unfiltered = Extract::default().unfiltered(trace.view(), &Job::default())?;
/// // Bursts below this minimum take at most 1 % of the time.
/// let min = unfiltered.cut(0.01)?.min;
/// let extract = Extract::params().min_duration(min).check()?;
/// assert_eq!(unfiltered.above(min), extract.extract(trace.view(), &Job::default())?);
/// # Ok::<(), perf_track::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Unfiltered {
    /// Bursts with the kinds that they have without a minimum duration.
    pub(super) bursts: Bursts,
    /// Counts that do not depend on the minimum duration, and the bursts that are too long.
    pub(super) dropped: Dropped,
    /// Bursts that other filters drop.
    pub(super) filtered: Filtered,
}

/// Durations of the bursts that filters other than the minimum duration drop.
#[derive(Clone, Debug, Default)]
pub(super) struct Filtered {
    /// Durations of the bursts of [`Dropped::missing`].
    pub(super) missing: BTreeMap<Vec<String>, Vec<Nanos>>,
    /// Durations of the bursts of [`Dropped::ranges`].
    pub(super) ranges: BTreeMap<String, Vec<Nanos>>,
}

impl Filtered {
    pub(super) fn append(&mut self, other: Self) {
        append(&mut self.missing, other.missing);
        append(&mut self.ranges, other.ranges);
    }
}

fn append<K: Ord>(into: &mut BTreeMap<K, Vec<Nanos>>, other: BTreeMap<K, Vec<Nanos>>) {
    for (key, durations) in other {
        into.entry(key).or_default().extend(durations);
    }
}

/// Returns the amounts of the durations from a minimum up, without empty ones.
fn amounts<K: Ord>(all: BTreeMap<K, Vec<Nanos>>, min: Nanos) -> BTreeMap<K, Amount> {
    let of = |(key, durations): (K, Vec<Nanos>)| {
        let mut amount = Amount::default();
        for duration in durations.into_iter().filter(|duration| *duration >= min) {
            amount.add(duration);
        }
        (amount.bursts > 0).then_some((key, amount))
    };
    all.into_iter().filter_map(of).collect()
}

impl Unfiltered {
    /// Returns all bursts, with the kinds that they have without a minimum duration.
    pub fn bursts(&self) -> &Bursts {
        &self.bursts
    }

    /// Computes the largest minimum duration that drops at most `share` of the time, see [`DurationCut::of`].
    ///
    /// # Errors
    /// Returns [`Error::Parameter`](crate::Error::Parameter) for a share outside of `0.0..=1.0`.
    pub fn cut(&self, share: f64) -> Result<DurationCut> {
        DurationCut::of(&self.bursts, share)
    }

    /// Drops the bursts shorter than `min`, as the extraction with this minimum duration does.
    pub fn above(self, min: Nanos) -> (Bursts, Dropped) {
        let (mut bursts, mut dropped) = (self.bursts, self.dropped);
        for (burst, kind) in bursts.rows.iter().zip(&mut bursts.kinds) {
            let duration = Nanos(burst.end.0.saturating_sub(burst.begin.0));
            if *kind != Kind::Duration && duration < min {
                *kind = Kind::Duration;
                dropped.duration.add(duration);
            } else if *kind == Kind::Complete {
                dropped.complete.add(duration);
            }
        }
        dropped.missing = amounts(self.filtered.missing, min);
        dropped.ranges = amounts(self.filtered.ranges, min);
        (bursts, dropped)
    }
}
