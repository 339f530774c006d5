//! [`regroup_by_position`]: regroups the clustered bursts of all experiments into new clusters
//! ([`Parts`]) that each have one program position.

use crate::tracking::observation::{MOST_CLUSTERS, Observation};
use crate::tracking::program_position::call_sites::{self, has_callers, has_lines};
use crate::{ClusterId, Labels, Result};
use std::collections::BTreeMap;

/// Smallest share of a program position's bursts or time at which a cluster is a mode of the position.
const MODE: f64 = 0.1;

/// Clusters of an experiment after regrouping by program position.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Parts {
    /// Cluster of each point. The part with the most time keeps the number of the cluster; the other
    /// parts have numbers above those of all original clusters.
    pub labels: Labels,
    /// Original cluster of each new number: `of[0]` belongs to the first number above those of the
    /// original clusters. Noise for a part that consists of noise.
    pub of: Vec<ClusterId>,
    /// Points that were noise and joined the cluster of their program position, ascending.
    pub rescued: Vec<u32>,
    /// Points that moved from a cluster with few bursts of their program position to the cluster of that
    /// position, ascending.
    pub moved: Vec<u32>,
}

/// Program position of a burst: containing functions, call before, and call after if the call before is
/// unknown.
type Key = (Option<String>, Option<String>, Option<String>);

/// Bursts of one program position in one cluster.
#[derive(Clone, Debug, Default)]
struct Group {
    /// Number of bursts.
    bursts: usize,
    /// Time of the bursts, in ascending order until it is added up.
    times: Vec<f64>,
    /// Sum of the coordinates.
    sums: Vec<f64>,
}

impl Group {
    fn time(&self) -> f64 {
        self.times.iter().sum()
    }

    fn add(&mut self, other: &Group) {
        self.bursts += other.bursts;
        self.times.extend(&other.times);
        self.sums.resize(other.sums.len(), 0.0);
        let pairs = self.sums.iter_mut().zip(&other.sums);
        pairs.for_each(|(sum, value)| *sum += value);
    }

    fn distance(&self, place: &[f64]) -> f64 {
        let mean = self.sums.iter().map(|sum| sum / self.bursts.max(1) as f64);
        mean.zip(place)
            .map(|(mean, at)| (mean - at) * (mean - at))
            .sum()
    }
}

/// Groups by cluster.
type Clusters = BTreeMap<ClusterId, Group>;

/// Position of a burst: number of its key, and number of its path, which is the call after it.
type Place = (u32, u32);

/// Groups of one experiment by key and path.
type Groups = BTreeMap<u32, BTreeMap<u32, Clusters>>;

/// Clusters of an experiment that are modes of a position.
#[derive(Clone, Debug, Default)]
struct Modes {
    /// All of them.
    all: Clusters,
    /// Those of each path.
    of_path: BTreeMap<u32, Clusters>,
}

impl Modes {
    /// Returns the modes of a path, or all modes if the path has none.
    fn of(&self, path: u32) -> &Clusters {
        let own = self.of_path.get(&path).filter(|own| !own.is_empty());
        own.unwrap_or(&self.all)
    }
}

/// Modes of an experiment by key.
type AllModes = BTreeMap<u32, Modes>;

/// Program positions of all points.
struct Keys {
    /// Position of each point by experiment; `None` if it is unknown.
    of: Vec<Vec<Option<Place>>>,
    /// `true` for keys with lines, by key.
    is_exact: Vec<bool>,
}

impl Keys {
    fn new(experiments: &[Observation<'_>]) -> Self {
        let mut numbers: BTreeMap<Key, Option<u32>> = BTreeMap::new();
        let mut paths: BTreeMap<Option<String>, u32> = BTreeMap::new();
        let mut is_exact = Vec::new();
        let mut of = Vec::with_capacity(experiments.len());
        for experiment in experiments {
            let mut known: BTreeMap<[Option<u32>; 3], Option<Place>> = BTreeMap::new();
            let parts = [
                &experiment.position[2],
                &experiment.before,
                &experiment.after,
            ];
            let is_named = experiment.position[..2].iter().all(Option::is_none);
            let key = |point: usize| {
                let ids = parts.map(|part| part.as_ref()?.of().get(point).copied().flatten());
                *known.entry(ids).or_insert_with(|| {
                    let text = |at: usize| {
                        let name = parts[at].as_ref()?.names().get(ids[at]? as usize);
                        name.cloned()
                    };
                    let after = text(2);
                    let next = paths.len() as u32;
                    let path = *paths.entry(after.clone()).or_insert(next);
                    let before = text(1);
                    let after = after.filter(|_| before.is_none());
                    let key: Key = (text(0), before, after);
                    let has = |test: fn(&str) -> bool| {
                        [&key.1, &key.2]
                            .into_iter()
                            .flatten()
                            .any(|name| test(name))
                    };
                    // Callers of unknown calls are positions, as coarse as the caller of this library made
                    // them.
                    let callers = has(has_callers) || is_named && has(|_| true);
                    // The begin of a thread is one position.
                    let is_begin = key.1.is_none() && key.2.is_some() && !is_named;
                    let is_known = key.0.is_some() || callers || is_begin;
                    let lines = has(has_lines) || is_begin;
                    let number = *numbers.entry(key).or_insert_with(|| {
                        let number = is_exact.len() as u32;
                        is_known.then(|| is_exact.push(lines));
                        is_known.then_some(number)
                    });
                    Some((number?, path))
                })
            };
            of.push((0..experiment.len()).map(key).collect());
        }
        Keys { of, is_exact }
    }
}

/// Makes each cluster one program position: the call before a burst with its callers, and the functions
/// that contain the burst. Call sites are first aligned between the experiments, so that a position is
/// recognised although its lines shifted.
///
/// * A cluster with bursts of several positions is divided.
/// * A cluster with at least 10 % of the bursts or the time of a position is a mode of this position. So is a
///   cluster with 10 % of the bursts or the time of those that lead to one of the calls after the position, such
///   as the code behind a loop, if at least one burst for each thread leads there. Bursts of the position in
///   other clusters join the nearest mode, if possible one that leads to the same call.
/// * Noise of a position joins the nearest mode. If the experiment has no mode of the position, the noise
///   becomes one cluster for each mode of the position in the nearest other experiment that has one.
///
/// Bursts of unknown position stay in their cluster. A call without callers and lines is no position,
/// because a program has many calls of the same name.
///
/// Pass the experiments that will be tracked, and the resulting labels to
/// [`Observation::with_labels`].
///
/// # Errors
/// Never fails for valid observations.
///
/// ```
/// use perf_track::tracking::{Callers, Observation, regroup_by_position};
/// use perf_track::{ClusterId, Points};
/// let (a, b) = (ClusterId(1), ClusterId(2));
/// let place = [0.0, 0.1, 0.9, 1.0];
/// let sites = ["MPI_Send < solve a.f90:7", "MPI_Wait < halo a.f90:30"];
/// let callers = Callers::new(sites, vec![Some(0), Some(0), Some(1), Some(1)])?;
/// let experiment = |labels: &[ClusterId]| {
///     let seen = Observation::new("", 4, Points::new(&place, 1)?, labels, &[3.0, 3.0, 1.0, 1.0])?;
///     seen.with_callers(Some(callers.clone()), None)
/// };
/// // One cluster with two positions, and noise of a position.
/// let noise = ClusterId::NOISE;
/// let parts = regroup_by_position(&[experiment(&[a, a, a, a])?, experiment(&[a, noise, b, b])?])?;
/// assert_eq!(parts[0].labels.as_slice(), [a, a, b, b]);
/// assert_eq!(parts[0].of, [a]);
/// assert_eq!(parts[1].labels.as_slice(), [a, a, b, b]);
/// assert_eq!(parts[1].rescued, [1]);
/// # Ok::<(), perf_track::Error>(())
/// ```
pub fn regroup_by_position(experiments: &[Observation<'_>]) -> Result<Vec<Parts>> {
    let calls: Vec<_> = experiments.iter().map(Observation::by_calls).collect();
    let experiments = call_sites::align(&calls);
    let keys = Keys::new(&experiments);
    let all: Vec<Groups> = experiments
        .iter()
        .zip(&keys.of)
        .map(|(experiment, keys)| groups(experiment, keys))
        .collect();
    let threads = experiments.iter().map(|of| of.tasks as usize);
    let modes_of = |(of, threads)| modes(of, &keys.is_exact, threads);
    let mut modes: Vec<AllModes> = all.iter().zip(threads).map(modes_of).collect();
    only_noise(&all, &keys.is_exact, &mut modes);
    let each = experiments.iter().zip(&keys.of).enumerate();
    Ok(each
        .map(|(at, (experiment, of))| regroup((experiment, of), at, (&modes, &keys.is_exact)))
        .collect())
}

fn groups(experiment: &Observation<'_>, places: &[Option<Place>]) -> Groups {
    let mut groups = Groups::new();
    // In ascending order of time, so that sums do not depend on the order of points.
    let mut rows: Vec<usize> = (0..experiment.len()).collect();
    rows.sort_by(|&a, &b| {
        let by_time = experiment.time[a].total_cmp(&experiment.time[b]);
        by_time.then_with(|| {
            // Each row is a point, so that the default is not used.
            let place = |at| experiment.points.get(at).unwrap_or(&[]);
            let mut pairs = place(a).iter().zip(place(b));
            let differing = pairs.find_map(|(x, y)| Some(x.total_cmp(y)).filter(|o| o.is_ne()));
            differing.unwrap_or(std::cmp::Ordering::Equal)
        })
    });
    for point in rows {
        let (Some(Some((key, path))), Some(place)) =
            (places.get(point), experiment.points.get(point))
        else {
            continue;
        };
        let group = groups.entry(*key).or_default().entry(*path).or_default();
        let group = group.entry(experiment.labels[point]).or_default();
        group.bursts += 1;
        group.times.push(experiment.time[point]);
        group.sums.resize(place.len(), 0.0);
        group
            .sums
            .iter_mut()
            .zip(place)
            .for_each(|(sum, value)| *sum += value);
    }
    groups
}

/// Returns the clusters, without noise, that have at least the share [`MODE`] of the bursts or the time.
fn large(clusters: &Clusters) -> Clusters {
    let own = || clusters.iter().filter(|(id, _)| !id.is_noise());
    let bursts: usize = own().map(|(_, group)| group.bursts).sum();
    let time: f64 = own().map(|(_, group)| group.time()).sum();
    let is_mode =
        |group: &Group| group.bursts as f64 >= MODE * bursts as f64 || group.time() >= MODE * time;
    let large = own().filter(|(_, group)| is_mode(group));
    large.map(|(id, group)| (*id, group.clone())).collect()
}

/// Adds groups of clusters to others.
fn add(sum: &mut Clusters, of: &Clusters) {
    for (id, group) in of {
        sum.entry(*id).or_default().add(group);
    }
}

/// Returns the clusters that are modes of each position: all of them if none is large enough or if the position has no
/// line.
fn modes(all: &Groups, is_exact: &[bool], threads: usize) -> AllModes {
    let of = |(key, paths): (&u32, &BTreeMap<u32, Clusters>)| {
        let mut whole = Clusters::new();
        paths
            .values()
            .for_each(|clusters| add(&mut whole, clusters));
        whole.remove(&ClusterId::NOISE);
        if !is_exact[*key as usize] {
            let of_path = BTreeMap::new();
            return (
                *key,
                Modes {
                    all: whole,
                    of_path,
                },
            );
        }
        let large_of_whole = large(&whole);
        let mut modes = Modes::default();
        for (path, clusters) in paths {
            let bursts: usize = clusters.values().map(|group| group.bursts).sum();
            let mut own = clusters.clone();
            own.retain(|id, _| large_of_whole.contains_key(id));
            if bursts >= threads {
                own.extend(large(clusters));
            }
            modes.of_path.insert(*path, own);
        }
        let kept = |id: &ClusterId| modes.of_path.values().any(|own| own.contains_key(id));
        // All clusters of a position that scatters over many.
        if whole.keys().any(kept) {
            whole.retain(|id, _| kept(id));
        }
        modes.all = whole;
        (*key, modes)
    };
    all.iter().map(of).collect()
}

/// Makes the noise of positions that are nowhere clustered a mode, in the experiment with most of it. A
/// few tasks have too few bursts of a phase that each of them executes once.
fn only_noise(all: &[Groups], is_exact: &[bool], modes: &mut [AllModes]) {
    let noise = |experiment: usize, key: u32| -> Option<Group> {
        let mut sum = Clusters::new();
        let paths = all[experiment].get(&key)?.values();
        paths.for_each(|clusters| add(&mut sum, clusters));
        sum.remove(&ClusterId::NOISE)
    };
    for key in (0..is_exact.len() as u32).filter(|&key| is_exact[key as usize]) {
        if modes
            .iter()
            .any(|of| of.get(&key).is_some_and(|of| !of.all.is_empty()))
        {
            continue;
        }
        let found = (0..all.len())
            .rev()
            .filter_map(|at| Some((at, noise(at, key)?)));
        let most = found.max_by_key(|(_, group)| group.bursts);
        if let Some((experiment, group)) = most {
            let own = modes[experiment].entry(key).or_default();
            own.all.insert(ClusterId::NOISE, group);
        }
    }
}

/// Part of the regrouped clusters: position, and cluster of this or of another experiment.
type Unit = (u32, ClusterId, usize);

fn regroup(
    (experiment, places): (&Observation<'_>, &[Option<Place>]),
    at: usize,
    (modes, is_exact): (&[AllModes], &[bool]),
) -> Parts {
    // Experiments in order of their distance.
    let mut order: Vec<usize> = (0..modes.len()).collect();
    order.sort_by_key(|&other| other.abs_diff(at));
    let unit = |point: usize| -> Option<Unit> {
        let (key, path) = places.get(point).copied().flatten()?;
        let place = experiment.points.get(point)?;
        let label = experiment.labels[point];
        if label.is_noise() && !is_exact[key as usize] {
            return None;
        }
        let found = order.iter().find_map(|&other| {
            let modes = modes[other].get(&key)?;
            (!modes.all.is_empty()).then_some((other, modes))
        });
        let (other, modes) = found?;
        let modes = modes.of(path);
        if other == at && modes.contains_key(&label) {
            return Some((key, label, at));
        }
        let near = modes.iter().min_by(|a, b| {
            let by_distance = a.1.distance(place).total_cmp(&b.1.distance(place));
            by_distance.then(a.0.cmp(b.0))
        });
        near.map(|(id, _)| (key, *id, other))
    };
    let units: Vec<Option<Unit>> = (0..experiment.len()).map(unit).collect();
    // Time of each part of each original cluster. Parts are ordered by key, so sums are exact enough
    // to be compared in any order of points.
    let mut times: BTreeMap<(ClusterId, Option<Unit>), Vec<f64>> = BTreeMap::new();
    for (point, unit) in units.iter().enumerate() {
        let of = match unit {
            Some((_, id, from)) if *from == at => *id,
            Some(_) => ClusterId::NOISE,
            None => experiment.labels[point],
        };
        if !of.is_noise() || unit.is_some() {
            times
                .entry((of, *unit))
                .or_default()
                .push(experiment.time[point]);
        }
    }
    let mut sums: BTreeMap<ClusterId, Vec<(f64, Option<Unit>)>> = BTreeMap::new();
    for ((of, unit), mut times) in times {
        times.sort_unstable_by(f64::total_cmp);
        sums.entry(of).or_default().push((times.iter().sum(), unit));
    }
    let mut next = experiment.clusters() as u32 + 1;
    let mut new: BTreeMap<(ClusterId, Option<Unit>), ClusterId> = BTreeMap::new();
    let mut of = Vec::new();
    for (id, mut parts) in sums {
        parts.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        for (rank, (_, unit)) in parts.into_iter().enumerate() {
            if (rank == 0 && !id.is_noise()) || next as usize > MOST_CLUSTERS {
                new.insert((id, unit), id);
            } else {
                new.insert((id, unit), ClusterId(next));
                next += 1;
                of.push(id);
            }
        }
    }
    let (mut rescued, mut moved) = (Vec::new(), Vec::new());
    let labels = units.iter().enumerate().map(|(point, unit)| {
        let old = experiment.labels[point];
        let from = match unit {
            Some((_, id, from)) if *from == at => *id,
            Some(_) => ClusterId::NOISE,
            None => old,
        };
        // Clusters that are not split keep their label.
        let label = new.get(&(from, *unit)).copied().unwrap_or(old);
        if old.is_noise() && !label.is_noise() {
            rescued.push(point as u32);
        } else if unit.is_some() && from != old {
            moved.push(point as u32);
        }
        label
    });
    Parts {
        labels: Labels::new(labels.collect()),
        of,
        rescued,
        moved,
    }
}
