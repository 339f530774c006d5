//! [`split_by_callers`]: splits clusters that mix phases which an experiment separates.

use super::{Callers, Observation};
use crate::{ClusterId, Labels, Result};
use std::collections::BTreeMap;

/// Smallest share of a cluster's time or bursts at which a call site may become a part.
const LEAST: f64 = 0.02;
/// Share of a call site's time above which a cluster is the cluster of the call site.
const MOSTLY: f64 = 0.5;

/// Clusters of an experiment after splitting those that mix phases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Parts {
    /// Cluster of each point. The part with the longest call site keeps the number of the cluster;
    /// the other parts have numbers above those of all original clusters.
    pub labels: Labels,
    /// Original cluster of each new number: `of[0]` belongs to the first number above those of the
    /// original clusters.
    pub of: Vec<ClusterId>,
}

/// Splits clusters by the callers before their bursts if another experiment shows that these are
/// different phases.
///
/// An experiment separates two call sites if one cluster has more than half of the time of the
/// first, and a different cluster has more than half of the time of the second. A cluster is split
/// into groups of call sites that no experiment separates. In descending order of time, each call
/// site joins the first group from whose members no experiment separates it. Otherwise it starts a
/// new group if it has at least 2 % of the cluster's time or bursts.
///
/// A cluster of many short phases that are never separated thus stays whole. A cluster that mixes
/// two phases is split in two if each phase has its own cluster in another experiment. The group
/// with the longest call site keeps the number of the cluster, and with it all bursts without
/// callers or of call sites in no group.
///
/// Pass the experiments that will be tracked, and the resulting labels to
/// [`Observation::with_labels`].
///
/// # Errors
/// Never fails for valid observations.
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
/// // The first experiment mixes phases that the second one separates.
/// let parts = split_by_callers(&[frame(&[a, a, a, a])?, frame(&[a, a, b, b])?])?;
/// assert_eq!(parts[0].labels.as_slice(), [a, a, b, b]);
/// assert_eq!(parts[0].of, [a]);
/// assert!(parts[1].of.is_empty());
/// # Ok::<(), perf_track::Error>(())
/// ```
pub fn split_by_callers(frames: &[Observation<'_>]) -> Result<Vec<Parts>> {
    // For each experiment, the cluster with most of the time of each call site.
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

/// Returns the time and the number of bursts of each call site in each cluster.
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

/// Returns for each call site the cluster with more than half of its time; `None` if there is none.
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
