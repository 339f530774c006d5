//! [`Mixture`]: call sites that a tracked region mixes although an experiment separates them, or that change from
//! one experiment to the next.

use crate::ClusterId;
use crate::tracking::observation::Observation;
use crate::tracking::program_position::site_times::{homes, tally};
use crate::tracking::result::TrackedRegion;
use std::collections::{BTreeMap, BTreeSet};

/// Smallest fraction of the time of a tracked region in an experiment at which a call site counts.
const PART: f64 = 0.1;
/// Smallest overlap of the call sites of a tracked region in two experiments at which the region is
/// the same phase in both.
const SAME: f64 = 0.5;

/// Call sites that a tracked region mixes. A trend of such a region describes its composition, not
/// a phase.
///
/// A call site is the chain of callers of the call before a burst. Two call sites are mixed if
/// * a tracked region contains both in one experiment, each with at least 10 % of the time of the
///   region, and this or another experiment has most of the time of each in a different cluster; or
/// * the call sites of a tracked region in two consecutive experiments have less than half of its
///   time in common. This happens, for example, if a cluster of MPI start-up is linked to a cluster
///   of computation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Mixture {
    /// Call sites, each once: those of the first experiment of [`experiments`](Self::experiments) in
    /// descending order of time, then those of the second. A call site is a chain of callers with
    /// the innermost caller first.
    pub sites: Vec<String>,
    /// Experiments that show the mixture: the experiment whose cluster has both call sites and the
    /// experiment that separates them, or the two experiments whose call sites differ.
    pub experiments: [usize; 2],
}

/// Time of call sites by name.
type Sites<'f> = BTreeMap<&'f str, f64>;

/// Returns the mixture of each tracked region, if any.
pub(in crate::tracking) fn mixtures(
    experiments: &[Observation<'_>],
    regions: &[TrackedRegion],
) -> Vec<Option<Mixture>> {
    // Indexed by tracked region, then by experiment.
    let mut sites: Vec<Vec<Sites<'_>>> = vec![vec![Sites::new(); experiments.len()]; regions.len()];
    for (at, experiment) in experiments.iter().enumerate() {
        let Some(callers) = &experiment.before else {
            continue;
        };
        let mut object_of: BTreeMap<ClusterId, usize> = BTreeMap::new();
        for (region, of) in regions.iter().enumerate() {
            let members = of.members.get(at).into_iter().flatten();
            object_of.extend(members.map(|&id| (id, region)));
        }
        for ((id, name), (time, _)) in tally(experiment, callers) {
            if let Some(region) = object_of.get(&id) {
                *sites[*region][at].entry(name).or_default() += time;
            }
        }
    }
    let homes: Vec<_> = experiments.iter().map(homes).collect();
    sites.iter().map(|of| mixture(of, &homes)).collect()
}

/// Cluster with most of the time of each call site in an experiment; `None` if no cluster has.
type Homes<'f> = BTreeMap<&'f str, Option<ClusterId>>;

fn mixture(sites: &[Sites<'_>], homes: &[Homes<'_>]) -> Option<Mixture> {
    for (experiment, of) in sites.iter().enumerate() {
        let parts = parts(of);
        for (other, homes) in homes.iter().enumerate() {
            let home = |name: &str| homes.get(name).copied().flatten();
            let known: Vec<&str> = parts
                .iter()
                .copied()
                .filter(|name| home(name).is_some())
                .collect();
            let apart: BTreeSet<_> = known.iter().filter_map(|name| home(name)).collect();
            if apart.len() > 1 {
                return Some(Mixture {
                    sites: known.into_iter().map(str::to_owned).collect(),
                    experiments: [experiment, other],
                });
            }
        }
    }
    let seen: Vec<usize> = (0..sites.len())
        .filter(|&at| !sites[at].is_empty())
        .collect();
    let changed = seen
        .windows(2)
        .find(|pair| overlap(&sites[pair[0]], &sites[pair[1]]) < SAME)?;
    let mut all: Vec<String> = Vec::new();
    for name in changed.iter().flat_map(|&at| parts(&sites[at])) {
        if !all.iter().any(|known| known == name) {
            all.push(name.to_owned());
        }
    }
    (all.len() > 1).then_some(Mixture {
        sites: all,
        experiments: [changed[0], changed[1]],
    })
}

/// Returns the call sites with at least the fraction [`PART`] of the time, in descending order of
/// time.
fn parts<'f>(sites: &Sites<'f>) -> Vec<&'f str> {
    let all: f64 = sites.values().sum();
    let mut parts: Vec<_> = sites
        .iter()
        .filter(|(_, time)| **time >= PART * all)
        .collect();
    parts.sort_by(|a, b| b.1.total_cmp(a.1).then(a.0.cmp(b.0)));
    parts.into_iter().map(|(name, _)| *name).collect()
}

/// Returns the overlap of two sets of call sites, in `0.0..=1.0`: the sum of the smaller fractions
/// of the time over common call sites.
fn overlap(a: &Sites<'_>, b: &Sites<'_>) -> f64 {
    let sum = |of: &Sites<'_>| of.values().sum::<f64>().max(f64::MIN_POSITIVE);
    let (first, second) = (sum(a), sum(b));
    let both = a
        .iter()
        .filter_map(|(name, time)| Some((time / first).min(b.get(name)? / second)));
    both.sum()
}
