//! [`tally`]: time and number of bursts of each call site in each cluster; [`homes`]: cluster with
//! more than half of the time of each call site.

use crate::ClusterId;
use crate::tracking::{Callers, Observation};
use std::collections::BTreeMap;

/// Share of a call site's time above which a cluster is the cluster of the call site.
const MOSTLY: f64 = 0.5;

/// Returns the time and the number of bursts of each call site in each cluster.
pub(in crate::tracking) fn tally<'f>(
    experiment: &'f Observation<'_>,
    callers: &'f Callers,
) -> BTreeMap<(ClusterId, &'f str), (f64, usize)> {
    // Durations are added in ascending order, so that sums do not depend on the order of points.
    let mut times: BTreeMap<(ClusterId, &str), Vec<f64>> = BTreeMap::new();
    for (point, (&id, &time)) in experiment.labels.iter().zip(&experiment.time).enumerate() {
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
pub(in crate::tracking) fn homes<'f>(
    experiment: &'f Observation<'_>,
) -> BTreeMap<&'f str, Option<ClusterId>> {
    let Some(callers) = &experiment.before else {
        return BTreeMap::new();
    };
    let mut sites: BTreeMap<&str, Vec<(ClusterId, f64)>> = BTreeMap::new();
    for ((id, name), (time, _)) in tally(experiment, callers) {
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
