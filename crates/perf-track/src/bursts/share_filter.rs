//! [`drop_small_clusters`]: makes the clusters with less than a given share of the time noise.

use super::{Amount, Bursts, Kind};
use crate::{ClusterId, Error, Labels, Result};
use perf_core::Nanos;

/// Drops the clusters that take less than `share` of the time of all clusters. Their bursts become
/// noise of kind [`Kind::Share`]. The remaining clusters are renumbered by time. Also returns the
/// amount of the dropped bursts.
///
/// `labels` has one label for each burst. `share` is in `0.0..=1.0`, such as 0.01.
///
/// ```
/// use perf_core::Nanos;
/// use perf_track::{Burst, Bursts, ClusterId, Kind, Labels, Thread, drop_small_clusters};
/// let mut bursts = Bursts::new(["instructions"]);
/// let thread = bursts.add_thread(Thread::default())?;
/// for (begin, end) in [(0, 90), (100, 109), (200, 290)] {
///     let burst = Burst { thread, begin: Nanos(begin), end: Nanos(end), ..Burst::default() };
///     bursts.push(burst, &[1e6])?;
/// }
/// let labels = Labels::new(vec![ClusterId(2), ClusterId(1), ClusterId(2)]);
/// let (labels, left_out) = drop_small_clusters(&mut bursts, &labels, 0.1)?;
/// assert_eq!(labels.as_slice(), [ClusterId(1), ClusterId::NOISE, ClusterId(1)]);
/// assert_eq!((left_out.bursts, bursts.kinds()[1]), (1, Kind::Share));
/// # Ok::<(), perf_track::Error>(())
/// ```
///
/// # Errors
/// Returns [`Error::Length`](crate::Error::Length) if there is not one label for each burst, or
/// [`Error::Parameter`](crate::Error::Parameter) for a share outside of `[0, 1]`.
pub fn drop_small_clusters(
    bursts: &mut Bursts,
    labels: &Labels,
    share: f64,
) -> Result<(Labels, Amount)> {
    if !(0.0..=1.0).contains(&share) {
        return Err(Error::Parameter {
            name: "share of time",
            value: share.to_string(),
            range: "from 0 to 1",
        });
    }
    let durations = bursts.durations();
    // Also checks the lengths. Clusters may change their numbers but not their members.
    let labels = labels.by_weight(&durations)?;
    let mut times = vec![0.0; labels.clusters()];
    for (id, duration) in labels.as_slice().iter().zip(&durations) {
        if let Some(time) = id.index().and_then(|index| times.get_mut(index)) {
            *time += duration;
        }
    }
    let least = share * times.iter().sum::<f64>();
    let mut kinds = bursts.kinds().to_vec();
    let mut amount = Amount::default();
    let mut kept = Vec::with_capacity(labels.len());
    for ((id, kind), burst) in labels.as_slice().iter().zip(&mut kinds).zip(bursts.rows()) {
        let is_small = id
            .index()
            .and_then(|index| times.get(index))
            .is_some_and(|t| *t < least);
        if is_small {
            *kind = Kind::Share;
            amount.add(Nanos(burst.end.0.saturating_sub(burst.begin.0)));
        }
        kept.push(if is_small { ClusterId::NOISE } else { *id });
    }
    bursts.set_kinds(kinds)?;
    let labels = Labels::new(kept).by_weight(&durations)?;
    Ok((labels, amount))
}
