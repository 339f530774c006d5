//! [`split_by_callers`]: clusters that mix phases which another frame tells apart.

use super::{Callers, Observation};
use crate::{ClusterId, Labels, Result};
use std::collections::BTreeMap;

/// A call site needs this share of its cluster's time, or bursts, to become a part of its own.
const LEAST: f64 = 0.02;
/// And this share of its own time in one cluster to be told from others by a frame.
const MOSTLY: f64 = 0.5;

/// The clusters of a frame after those that mix phases were split.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Parts {
    /// The cluster of each point. The part of a cluster with the most time keeps its number, the
    /// others have numbers past those of all clusters.
    pub labels: Labels,
    /// Which cluster each new number is a part of: `of[0]` belongs to the first number past those
    /// of the clusters before.
    pub of: Vec<ClusterId>,
}

/// Splits clusters by the callers before their bursts where another frame shows that these are
/// different phases.
///
/// Two call sites are told apart by a frame if most of the time of the one is in one cluster and most
/// of that of the other in another. A cluster is split into groups of call sites that no frame tells
/// apart: call sites join, the longest first, the first group all of whose members they go with. So a
/// cluster of many short phases that are never told apart stays whole, and one that mixes two phases
/// which have clusters of their own in another frame becomes two. Bursts without callers, and of call
/// sites with less than 2 % of the cluster's time and bursts, stay with the longest part.
///
/// The frames are those that will be tracked; pass the labels on with
/// [`Observation::with_labels`].
///
/// # Errors
/// None that observations that were made can cause.
///
/// ```
/// use perf_track::tracking::{Callers, Observation, split_by_callers};
/// use perf_track::{ClusterId, Points};
/// let (a, b) = (ClusterId(1), ClusterId(2));
/// let place = [0.0, 0.1, 0.9, 1.0];
/// let callers = Callers::new(["solve", "halo"], vec![Some(0), Some(0), Some(1), Some(1)])?;
/// let frame = |labels: &[ClusterId]| {
///     let seen = Observation::new("", 4, Points::new(&place, 1)?, labels, &[3.0, 3.0, 1.0, 1.0])?;
///     seen.with_callers(Some(callers.clone()), None)
/// };
/// // The first frame mixes what the second one tells apart.
/// let parts = split_by_callers(&[frame(&[a, a, a, a])?, frame(&[a, a, b, b])?])?;
/// assert_eq!(parts[0].labels.as_slice(), [a, a, b, b]);
/// assert_eq!(parts[0].of, [a]);
/// assert!(parts[1].of.is_empty());
/// # Ok::<(), perf_track::Error>(())
/// ```
pub fn split_by_callers(frames: &[Observation<'_>]) -> Result<Vec<Parts>> {
    // In each frame, the cluster in which most of each call site's time is.
    let homes: Vec<BTreeMap<&str, Option<ClusterId>>> = frames.iter().map(homes).collect();
    let told_apart = |a: &str, b: &str| {
        homes
            .iter()
            .any(|homes| match (homes.get(a), homes.get(b)) {
                (Some(Some(a)), Some(Some(b))) => a != b,
                _ => false,
            })
    };
    Ok(frames
        .iter()
        .map(|frame| split(frame, &told_apart))
        .collect())
}

/// Time and bursts of call sites in clusters.
pub(super) fn tally<'f>(
    frame: &'f Observation<'_>,
    callers: &'f Callers,
) -> BTreeMap<(ClusterId, &'f str), (f64, usize)> {
    // Durations are added in ascending order, so that sums do not depend on the order of points.
    let mut times: BTreeMap<(ClusterId, &str), Vec<f64>> = BTreeMap::new();
    for (point, (&id, &time)) in frame.labels.iter().zip(&frame.time).enumerate() {
        if let Some(name) = callers.name(point).filter(|_| !id.is_noise()) {
            times.entry((id, name)).or_default().push(time);
        }
    }
    let sum = |(key, mut times): (_, Vec<f64>)| {
        times.sort_unstable_by(f64::total_cmp);
        (key, (times.iter().sum(), times.len()))
    };
    times.into_iter().map(sum).collect()
}

/// The cluster in which most of the time of each call site is; `None` if no cluster has that much.
pub(super) fn homes<'f>(frame: &'f Observation<'_>) -> BTreeMap<&'f str, Option<ClusterId>> {
    let Some(callers) = &frame.before else {
        return BTreeMap::new();
    };
    let mut sites: BTreeMap<&str, Vec<(ClusterId, f64)>> = BTreeMap::new();
    for ((id, name), (time, _)) in tally(frame, callers) {
        sites.entry(name).or_default().push((id, time));
    }
    let home = |clusters: Vec<(ClusterId, f64)>| {
        let sum: f64 = clusters.iter().map(|cluster| cluster.1).sum();
        let main = clusters
            .into_iter()
            .find(|cluster| cluster.1 > MOSTLY * sum);
        main.map(|cluster| cluster.0)
    };
    sites
        .into_iter()
        .map(|(name, clusters)| (name, home(clusters)))
        .collect()
}

fn split(frame: &Observation<'_>, told_apart: &impl Fn(&str, &str) -> bool) -> Parts {
    let Some(callers) = &frame.before else {
        return Parts {
            labels: Labels::new(frame.labels.clone()),
            of: Vec::new(),
        };
    };
    let mut sites: BTreeMap<ClusterId, Vec<(&str, f64, usize)>> = BTreeMap::new();
    for ((id, name), (time, bursts)) in tally(frame, callers) {
        sites.entry(id).or_default().push((name, time, bursts));
    }
    let first = frame.clusters() as u32 + 1;
    let mut of = Vec::new();
    let mut new: BTreeMap<(ClusterId, &str), ClusterId> = BTreeMap::new();
    for (id, mut sites) in sites {
        let all = sites
            .iter()
            .fold((0.0, 0), |sum, site| (sum.0 + site.1, sum.1 + site.2));
        sites.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
        let mut groups: Vec<Vec<&str>> = Vec::new();
        for (name, time, bursts) in sites {
            let goes = |group: &&mut Vec<&str>| group.iter().all(|other| !told_apart(name, other));
            if let Some(group) = groups.iter_mut().find(goes) {
                group.push(name);
            } else if time >= LEAST * all.0 || bursts as f64 >= LEAST * all.1 as f64 {
                groups.push(vec![name]);
            }
        }
        for group in groups.iter().skip(1) {
            let part = ClusterId(first + of.len() as u32);
            of.push(id);
            new.extend(group.iter().map(|&name| ((id, name), part)));
        }
    }
    let labels = frame.labels.iter().enumerate().map(|(point, &id)| {
        let part = callers.name(point).and_then(|name| new.get(&(id, name)));
        part.copied().unwrap_or(id)
    });
    Parts {
        labels: Labels::new(labels.collect()),
        of,
    }
}
