//! [`Condensed`]: condensed tree of a spanning tree, and the selection of its clusters by excess of mass.

use super::Hierarchy;
use super::spanning::Edge;
use crate::{ClusterId, Labels, Result};
use perf_core::Job;

/// Union of two nodes by an edge of the spanning tree, shortest edges first.
#[derive(Clone, Copy, Debug)]
struct Merge {
    /// First node.
    left: u32,
    /// Second node.
    right: u32,
    /// Number of points.
    size: u32,
    /// Density of the merge: 1 over its distance.
    density: f64,
}

/// Cluster of the condensed tree.
#[derive(Clone, Copy, Debug)]
struct Cluster {
    /// Parent cluster.
    parent: u32,
    /// Density at which the cluster appears.
    birth: f64,
    /// Excess of mass.
    stability: f64,
    /// Density at which the last point leaves the cluster without entering a child.
    last: f64,
}

/// Condensed tree; parents come before their children.
#[derive(Debug)]
pub(super) struct Condensed {
    /// Clusters.
    clusters: Vec<Cluster>,
    /// Cluster that each point leaves last, and the density at which it does.
    left: Vec<(u32, f64)>,
    /// `true` if the root may be a cluster.
    single: bool,
}

/// Condenses the tree of `count` points with `edges` in ascending order.
pub(super) fn clusters(
    count: usize,
    edges: &[Edge],
    size: usize,
    single: bool,
    job: &Job,
) -> Result<Condensed> {
    let merges = merges(count, edges, job)?;
    let root = Cluster {
        parent: u32::MAX,
        birth: 0.0,
        stability: 0.0,
        last: 0.0,
    };
    let mut condensed = Condensed {
        clusters: vec![root],
        left: vec![(0, 0.0); count],
        single,
    };
    // Nodes below `count` are points, `count` + i is merge i.
    let top = (count + merges.len()).saturating_sub(1) as u32;
    let size_of = |node: u32| match (node as usize).checked_sub(count) {
        Some(merge) => merges[merge].size as usize,
        None => 1,
    };
    let mut open = vec![(top, 0_u32)];
    let mut checks = job.checks();
    while let Some((node, cluster)) = open.pop() {
        checks.next(1)?;
        let Some(merge) = (node as usize).checked_sub(count).map(|at| merges[at]) else {
            continue;
        };
        let halves = [merge.left, merge.right];
        let large = halves.map(|half| size_of(half) >= size);
        let rise = merge.density - condensed.clusters[cluster as usize].birth;
        for (half, is_large) in halves.into_iter().zip(large) {
            if is_large && !(large[0] && large[1]) {
                open.push((half, cluster));
                continue;
            }
            condensed.clusters[cluster as usize].stability += rise * size_of(half) as f64;
            if is_large {
                let child = condensed.clusters.len() as u32;
                condensed.clusters.push(Cluster {
                    parent: cluster,
                    birth: merge.density,
                    ..root
                });
                open.push((half, child));
            } else {
                condensed.fall(half, cluster, merge.density, &merges);
            }
        }
    }
    Ok(condensed)
}

/// Unites along the edges. Distances of 0 count as half the shortest other one, so that densities
/// are finite.
fn merges(count: usize, edges: &[Edge], job: &Job) -> Result<Vec<Merge>> {
    let shortest = edges
        .iter()
        .map(|edge| edge.0)
        .find(|&squared| squared > 0.0);
    let shortest = shortest.map_or(1.0, |squared| squared.sqrt() / 2.0);
    let mut top: Vec<u32> = (0..count as u32).collect();
    let mut parent = top.clone();
    let mut size = vec![1_u32; count];
    let find = |parent: &mut Vec<u32>, mut x: u32| {
        while parent[x as usize] != x {
            parent[x as usize] = parent[parent[x as usize] as usize];
            x = parent[x as usize];
        }
        x
    };
    let mut merges = Vec::with_capacity(edges.len());
    let mut checks = job.checks();
    for (&(squared, a, b), node) in edges.iter().zip(count as u32..) {
        checks.next(1)?;
        let (a, b) = (find(&mut parent, a), find(&mut parent, b));
        let distance = squared.sqrt().max(shortest);
        let sum = size[a as usize] + size[b as usize];
        merges.push(Merge {
            left: top[a as usize],
            right: top[b as usize],
            size: sum,
            density: 1.0 / distance,
        });
        let (low, high) = if size[a as usize] < size[b as usize] {
            (a, b)
        } else {
            (b, a)
        };
        parent[low as usize] = high;
        size[high as usize] = sum;
        top[high as usize] = node;
    }
    Ok(merges)
}

impl Condensed {
    /// Removes all points below `node` from `cluster`.
    fn fall(&mut self, node: u32, cluster: u32, density: f64, merges: &[Merge]) {
        let count = self.left.len();
        let own = &mut self.clusters[cluster as usize];
        own.last = own.last.max(density);
        let mut open = vec![node];
        while let Some(node) = open.pop() {
            match (node as usize).checked_sub(count) {
                Some(merge) => open.extend([merges[merge].left, merges[merge].right]),
                None => self.left[node as usize] = (cluster, density),
            }
        }
    }

    /// Selects the clusters that have more mass than the best selection below them.
    fn choose(&self) -> Vec<bool> {
        let mut below = vec![0.0; self.clusters.len()];
        let mut chosen = vec![false; self.clusters.len()];
        for (at, cluster) in self.clusters.iter().enumerate().rev() {
            let may = at > 0 || self.single;
            // Sums that are equal up to rounding select the parent, for any order of summation.
            chosen[at] = may && cluster.stability >= below[at] * (1.0 - 1e-9);
            let best = if chosen[at] {
                cluster.stability
            } else {
                below[at]
            };
            if let Some(parent) = below.get_mut(cluster.parent as usize) {
                *parent += best;
            }
        }
        // No selected cluster may lie within another, so that the highest is kept. Parents are
        // decided before their children.
        let mut within = vec![false; chosen.len()];
        for at in 1..chosen.len() {
            let parent = self.clusters[at].parent as usize;
            within[at] = within[parent] || chosen[parent];
            chosen[at] &= !within[at];
        }
        chosen
    }

    pub(super) fn hierarchy(&self, count: usize) -> Hierarchy {
        let chosen = self.choose();
        // The selected cluster at or above each, and the highest density at or below it.
        let (mut owner, mut last) = (vec![None; chosen.len()], vec![0.0_f64; chosen.len()]);
        for at in 0..chosen.len() {
            let above = owner
                .get(self.clusters[at].parent as usize)
                .copied()
                .flatten();
            owner[at] = above.or(chosen[at].then_some(at));
        }
        for (at, owner) in owner.iter().enumerate() {
            if let Some(owner) = *owner {
                last[owner] = last[owner].max(self.clusters[at].last);
            }
        }
        let mut number = vec![0_u32; chosen.len()];
        let mut stability = Vec::new();
        let (mut labels, mut strength) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for &(cluster, density) in &self.left {
            let Some(owner) = owner[cluster as usize] else {
                labels.push(ClusterId::NOISE);
                strength.push(0.0);
                continue;
            };
            if number[owner] == 0 {
                stability.push(self.clusters[owner].stability);
                number[owner] = stability.len() as u32;
            }
            labels.push(ClusterId(number[owner]));
            strength.push(if last[owner] > 0.0 {
                density / last[owner]
            } else {
                1.0
            });
        }
        Hierarchy {
            labels: Labels::new(labels),
            strength,
            stability,
        }
    }
}
