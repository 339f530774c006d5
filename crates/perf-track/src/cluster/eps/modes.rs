//! [`Modes`]: parts of the points that are significantly denser than the gaps between them, and the
//! radii that separate or join them.

use super::EpsSearch;
use crate::cluster::hdbscan::spanning;
use crate::cluster::k_distance::squared;
use crate::cluster::tree::KdTree;
use crate::{Points, Result};
use perf_core::Job;

/// Natural logarithm of the odds against a gap by chance: one in 20 recordings with a single mode.
const ODDS: f64 = 3.0;

/// Number of distances, points times neighbours, above which a part of the points represents all.
const MOST_DISTANCES: usize = 1 << 26;

/// Pair of modes that DBSCAN separates for radii between two bounds.
#[derive(Clone, Copy, Debug)]
struct Split {
    /// Typical core distance within the sparser mode. The mode falls apart below this radius.
    low: f64,
    /// Radius that joins the two modes.
    high: f64,
}

/// Hierarchy of DBSCAN's clusters over all radii, without insignificant splits of a single mode.
///
/// The minimum spanning tree under mutual reachability, as in [`Hdbscan`](super::super::Hdbscan),
/// holds the clusters of every radius. Two clusters that an edge of length `h` joins are two modes
/// if the density along the edge is significantly lower than in either cluster. Let `k` be the number
/// of points in a neighbourhood, `m` the number of points in the cluster, `r` the geometric mean of
/// their core distances and `d` the dimension of the points. The density in the gap is lower by the
/// factor `x = (h / r)^d`. The logarithm of the likelihood ratio of two densities against a common
/// density, with `m` points counted in the cluster and `k` in the gap, is
///
/// ```text
/// G = (m + k) ln((m + k x) / (m + k)) - k ln x
/// ```
///
/// and the gap is significant if `G > ln n + 3` for both clusters. Among `n` points there are `n`
/// places for a gap, and 3 leaves a chance of 1 in 20 that any place has a gap by accident.
#[derive(Debug)]
pub(super) struct Modes {
    /// Significant splits.
    splits: Vec<Split>,
    /// Smallest radius above which DBSCAN finds a single cluster.
    single: f64,
}

/// Points that edges have joined so far.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Number of points.
    points: f64,
    /// Sum of the logarithms of their core distances.
    logs: f64,
}

impl Part {
    fn radius(&self) -> f64 {
        (self.logs / self.points).exp()
    }
}

impl Modes {
    /// Returns the number of modes that are separate at a radius.
    pub(super) fn at(&self, eps: f64) -> usize {
        let apart = |split: &&Split| split.low <= eps && eps < split.high;
        1 + self.splits.iter().filter(apart).count()
    }

    /// Returns the smallest radius that joins modes which `eps` separates; infinite if `eps` separates
    /// no modes.
    pub(super) fn ties(&self, eps: f64) -> f64 {
        let apart = self
            .splits
            .iter()
            .filter(|split| split.low <= eps && eps < split.high);
        apart.map(|split| split.high).fold(f64::INFINITY, f64::min)
    }

    /// Returns `true` if no radius keeps two modes apart.
    pub(super) fn is_single(&self) -> bool {
        self.splits.is_empty()
    }

    /// Returns the smallest radius above which DBSCAN finds a single cluster.
    pub(super) fn single(&self) -> f64 {
        self.single
    }
}

impl EpsSearch {
    /// Finds the modes of the points, which must be at least as many as a neighbourhood needs. `least`
    /// is the smallest radius that is tried. Half of it is one tick of the clock, and shorter distances
    /// count as one tick.
    ///
    /// If `n` points with `k` neighbours have more than 2^26 distances, every `s`-th point in the order of the
    /// search tree is used, with `k / s` neighbours, so that the radius of a neighbourhood remains the same;
    /// `s` is the smallest number for which the distances are few enough.
    pub(super) fn modes(&self, points: Points<'_>, least: f64, job: &Job) -> Result<Modes> {
        let least = (least / 2.0).max(f64::MIN_POSITIVE);
        let tree = KdTree::new(points, job)?;
        let distances = points.len().saturating_mul(self.0.min_points()) as f64;
        let step = (distances / MOST_DISTANCES as f64).sqrt().ceil() as usize;
        if step > 1 {
            let some = tree.indices().iter().step_by(step);
            let some = some.filter_map(|&at| points.get(at as usize)).flatten();
            let some: Vec<f64> = some.copied().collect();
            let some = Points::new(&some, points.dimensions())?;
            let min_points = (self.0.min_points() / step).max(2);
            return modes(some, &KdTree::new(some, job)?, min_points, least, job);
        }
        modes(points, &tree, self.0.min_points(), least, job)
    }
}

/// Finds the modes of all points with neighbourhoods of `min_points`, at least 2.
fn modes(
    points: Points<'_>,
    tree: &KdTree,
    min_points: usize,
    least: f64,
    job: &Job,
) -> Result<Modes> {
    let others = min_points - 1;
    let core = squared(tree, others, job)?;
    let nearest = squared(tree, 1, job)?;
    let edges = spanning::edges(tree, &core, job)?;
    let dimension = dimension(&core, &nearest, others, least).min(points.dimensions() as f64);
    let k = min_points as f64;
    let enough = (points.len() as f64).ln() + ODDS;
    let is_mode = |part: Part, high: f64| {
        let Part { points: m, .. } = part;
        let thinner = (high / part.radius()).powf(dimension).max(1.0);
        (m + k) * ((m + k * thinner) / (m + k)).ln() - k * thinner.ln() > enough
    };
    let mut parts: Vec<Part> = core
        .iter()
        .map(|squared| Part {
            points: 1.0,
            logs: squared.sqrt().max(least).ln(),
        })
        .collect();
    let mut parent: Vec<u32> = (0..points.len() as u32).collect();
    let find = |parent: &mut Vec<u32>, mut at: u32| {
        while parent[at as usize] != at {
            parent[at as usize] = parent[parent[at as usize] as usize];
            at = parent[at as usize];
        }
        at
    };
    let mut modes = Modes {
        splits: Vec::new(),
        single: least,
    };
    for (squared, a, b) in edges {
        let (a, b) = (find(&mut parent, a), find(&mut parent, b));
        let [one, other] = [a, b].map(|at| parts[at as usize]);
        let high = squared.sqrt().max(least);
        // A point that becomes core at this very radius was not a cluster.
        let was_core = |part: Part| part.points > 1.0 || part.radius() < high * (1.0 - 1e-12);
        if was_core(one) && was_core(other) {
            modes.single = high;
        }
        if is_mode(one, high) && is_mode(other, high) {
            let low = one.radius().max(other.radius());
            modes.splits.push(Split { low, high });
        }
        let (small, large) = if one.points < other.points {
            (a, b)
        } else {
            (b, a)
        };
        parent[small as usize] = large;
        parts[large as usize] = Part {
            points: one.points + other.points,
            logs: one.logs + other.logs,
        };
    }
    Ok(modes)
}

/// Estimates the dimension `d` of the points, at least 1, from the distances to the nearest (`r_1`) and
/// to the `k`-th nearest point (`r_k`). For points of constant density the mean of `ln(r_k / r_1)` is
/// `(1 + 1/2 + ... + 1/(k - 1)) / d` (Levina and Bickel 2004).
fn dimension(far: &[f64], near: &[f64], k: usize, least: f64) -> f64 {
    let pairs = far.iter().zip(near);
    let apart = pairs.filter(|(_, near)| near.sqrt() > least);
    let (sum, count) = apart.fold((0.0, 0_u32), |(sum, count), (far, near)| {
        (sum + (far / near).ln() / 2.0, count + 1)
    });
    let harmonic: f64 = (1..k).map(|at| 1.0 / at as f64).sum();
    if sum > 0.0 {
        (harmonic * f64::from(count) / sum).max(1.0)
    } else {
        1.0
    }
}
