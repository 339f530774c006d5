//! Splits and merges in the metric space of regions that their program positions keep apart.

use crate::ClusterId;
use crate::tracking::observation::Observation;
use crate::tracking::result::{Event, Object};
use std::collections::{BTreeMap, BTreeSet};

/// Smallest share of the time of a cluster at which a region is one of the regions in the cluster.
const SHARE: f64 = 0.1;

/// Adds a merge to regions that were in different clusters before regrouping in one experiment and are in
/// one cluster in the next experiment, and a split in the opposite case. The clusters of these events are
/// those before regrouping.
pub(in crate::tracking) fn name(experiments: &[Observation<'_>], objects: &mut [Object]) {
    let clusters: Vec<BTreeMap<usize, ClusterId>> = experiments
        .iter()
        .enumerate()
        .map(|(at, experiment)| main_clusters(experiment, at, objects))
        .collect();
    for (at, pair) in clusters.windows(2).enumerate() {
        let (before, after) = (&pair[0], &pair[1]);
        for (from, to, is_merge) in [(before, after, true), (after, before, false)] {
            let mut groups: BTreeMap<ClusterId, Vec<usize>> = BTreeMap::new();
            for (&object, &id) in to {
                if from.contains_key(&object) {
                    groups.entry(id).or_default().push(object);
                }
            }
            for (one, members) in groups {
                let several: BTreeSet<ClusterId> = members
                    .iter()
                    .filter_map(|object| from.get(object))
                    .copied()
                    .collect();
                if several.len() < 2 {
                    continue;
                }
                let several: Vec<ClusterId> = several.into_iter().collect();
                for object in members {
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
                    objects[object].events.push(event);
                    objects[object].events.sort_by_key(Event::experiment);
                }
            }
        }
    }
}

/// Returns the cluster before regrouping with most of the time of each region in an experiment, if the
/// region has a share of at least [`SHARE`] of the time of that cluster.
fn main_clusters(
    experiment: &Observation<'_>,
    at: usize,
    objects: &[Object],
) -> BTreeMap<usize, ClusterId> {
    if experiment.parts.is_empty() {
        return BTreeMap::new();
    }
    let mut region: BTreeMap<ClusterId, usize> = BTreeMap::new();
    for (index, object) in objects.iter().enumerate() {
        for &id in object.members.get(at).into_iter().flatten() {
            region.insert(id, index);
        }
    }
    let mut times: BTreeMap<(usize, ClusterId), f64> = BTreeMap::new();
    let mut all: BTreeMap<ClusterId, f64> = BTreeMap::new();
    for (id, time) in experiment.labels.iter().zip(&experiment.time) {
        if let (Some(&object), Some(original)) = (region.get(id), experiment.original(*id)) {
            *times.entry((object, original)).or_default() += time;
            *all.entry(original).or_default() += time;
        }
    }
    let mut main: BTreeMap<usize, (ClusterId, f64)> = BTreeMap::new();
    for (&(object, id), &time) in &times {
        let known = main.entry(object).or_insert((id, time));
        if time > known.1 {
            *known = (id, time);
        }
    }
    let is_large = |(_, (id, time)): &(usize, (ClusterId, f64))| {
        all.get(id).is_some_and(|all| *time >= SHARE * all)
    };
    let large = main.into_iter().filter(is_large);
    large.map(|(object, (id, _))| (object, id)).collect()
}
