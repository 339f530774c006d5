//! Adds split and merge events to tracked regions that share a cluster in only one of two
//! experiments, before regrouping by program position.

use crate::ClusterId;
use crate::tracking::observation::Observation;
use crate::tracking::result::{Event, TrackedRegion};
use std::collections::{BTreeMap, BTreeSet};

/// Smallest share of the time of a cluster at which a region is one of the regions in the cluster, if the threads do
/// not repeat it.
const SHARE: f64 = 0.1;

/// Adds a merge to regions that were in different clusters before regrouping in one experiment and are in
/// one cluster in the next experiment, and a split in the opposite case. The clusters of these events are
/// those before regrouping.
pub(in crate::tracking) fn name(experiments: &[Observation<'_>], regions: &mut [TrackedRegion]) {
    let clusters: Vec<BTreeMap<usize, ClusterId>> = experiments
        .iter()
        .enumerate()
        .map(|(at, experiment)| main_clusters(experiment, at, regions))
        .collect();
    for (at, pair) in clusters.windows(2).enumerate() {
        let (before, after) = (&pair[0], &pair[1]);
        for (from, to, is_merge) in [(before, after, true), (after, before, false)] {
            let mut groups: BTreeMap<ClusterId, Vec<usize>> = BTreeMap::new();
            for (&region, &id) in to {
                if from.contains_key(&region) {
                    groups.entry(id).or_default().push(region);
                }
            }
            for (one, members) in groups {
                let several: BTreeSet<ClusterId> = members
                    .iter()
                    .filter_map(|region| from.get(region))
                    .copied()
                    .collect();
                if several.len() < 2 {
                    continue;
                }
                let several: Vec<ClusterId> = several.into_iter().collect();
                for region in members {
                    let (experiment, several) = (at + 1, several.clone());
                    let event = if is_merge {
                        Event::Merge {
                            experiment,
                            from: several,
                            into: one,
                        }
                    } else {
                        Event::Split {
                            experiment,
                            from: one,
                            into: several,
                        }
                    };
                    regions[region].events.push(event);
                    regions[region].events.sort_by_key(Event::experiment);
                }
            }
        }
    }
}

/// Returns the cluster before regrouping with most of the time of each region in an experiment, if the
/// region has a share of at least [`SHARE`] of the time of that cluster, or two bursts there for each thread.
fn main_clusters(
    experiment: &Observation<'_>,
    at: usize,
    regions: &[TrackedRegion],
) -> BTreeMap<usize, ClusterId> {
    let mut region_of: BTreeMap<ClusterId, usize> = BTreeMap::new();
    for (index, region) in regions.iter().enumerate() {
        for &id in region.members.get(at).into_iter().flatten() {
            region_of.insert(id, index);
        }
    }
    // Region and cluster before regrouping depend on the cluster alone, so there is one look-up for each cluster.
    let mut sums = vec![(0.0, 0_usize); experiment.clusters() + 1];
    for (id, time) in experiment.labels.iter().zip(&experiment.time) {
        let sum = &mut sums[id.0 as usize];
        *sum = (sum.0 + time, sum.1 + 1);
    }
    let original = experiment.originals();
    let mut times: BTreeMap<(usize, ClusterId), (f64, usize)> = BTreeMap::new();
    let mut all: BTreeMap<ClusterId, f64> = BTreeMap::new();
    for (id, (time, bursts)) in (0..).map(ClusterId).zip(sums) {
        if let (Some(&region), Some(original)) = (region_of.get(&id), original(id)) {
            let own = times.entry((region, original)).or_default();
            *own = (own.0 + time, own.1 + bursts);
            *all.entry(original).or_default() += time;
        }
    }
    let mut main: BTreeMap<usize, (ClusterId, (f64, usize))> = BTreeMap::new();
    for (&(region, id), &own) in &times {
        let known = main.entry(region).or_insert((id, own));
        if own.0 > known.1.0 {
            *known = (id, own);
        }
    }
    let repeated = 2 * experiment.tasks as usize;
    let is_large = |(_, (id, (time, bursts))): &(usize, (ClusterId, (f64, usize)))| {
        *bursts >= repeated || all.get(id).is_some_and(|all| *time >= SHARE * all)
    };
    let large = main.into_iter().filter(is_large);
    large.map(|(region, (id, _))| (region, id)).collect()
}
