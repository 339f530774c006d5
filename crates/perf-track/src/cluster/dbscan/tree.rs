//! [`scan`]: DBSCAN on a k-d tree, for any number of dimensions and any eps: finds the core points,
//! unites those within eps and labels all points.
//!
//! Core points are counted with whole boxes at a time. Clusters come from a walk of the tree
//! against itself, which skips pairs of nodes whose boxes are too far apart or whose core points
//! are known to be in one cluster. The core points of a node whose box is no longer than eps are
//! one cluster.

use super::border::Claim;
use super::{Checked, Found};
use crate::cluster::disjoint_sets::DisjointSets;
use crate::cluster::distance::squared;
use crate::cluster::tree::{KdTree, Node, View, by_dimension};
use crate::{Points, Result};
use perf_core::{Job, parallel};
use std::sync::atomic::{AtomicBool, Ordering};

/// Number of points that a thread processes at a time.
const PIECE: usize = 512;
/// Number of points below which a pair of nodes is not worth another thread.
const ALONE: usize = 4_096;

pub(super) fn scan(points: Points<'_>, params: &Checked, job: &Job) -> Result<Found> {
    let tree = KdTree::new(points, job)?;
    by_dimension!(tree, view => walk(view, params, job))
}

fn walk<const D: usize>(view: View<'_, D>, params: &Checked, job: &Job) -> Result<Found> {
    let count = view.tree.len();
    let (limit, least) = (params.eps() * params.eps(), params.min_points());
    let pieces = parallel::chunk_count(count, PIECE);
    let range = |piece| parallel::chunk(count, PIECE, piece);
    let dense = dense(view, limit, least);
    job.check()?;
    let core = parallel::try_map(pieces, |piece| -> Result<_> {
        let enough = |place: usize| {
            // A ball may take as many distances as there are points.
            job.check()?;
            let root = view.tree.root();
            Ok(dense[place] || view.count(root, view.point(place), limit, least) >= least)
        };
        let core: Vec<bool> = range(piece).map(enough).collect::<Result<_>>()?;
        job.advance("core points", core.len() as u64, count as u64);
        Ok(core)
    })?
    .concat();
    drop(dense);
    let mut join = Join {
        view,
        limit,
        sets: DisjointSets::new(count),
        first: vec![u32::MAX; view.tree.nodes()],
        whole: (0..view.tree.nodes())
            .map(|_| AtomicBool::new(false))
            .collect(),
        core: &core,
        job,
    };
    join.mark(view.tree.root());
    join.within(view.tree.root());
    job.check()?;
    job.advance("clusters", count as u64, count as u64);
    let (cluster_of, seeds) = join.number();
    let found = Found::new(count);
    parallel::try_map(pieces, |piece| -> Result<_> {
        for place in range(piece) {
            job.check()?;
            let index = view.tree.indices()[place];
            if core[place] {
                found.set(index, cluster_of[place], true);
                continue;
            }
            let mut claim = Claim::new(params.border(), &seeds);
            join.claim(view.tree.root(), view.point(place), &cluster_of, &mut claim);
            if let Some(cluster) = claim.cluster() {
                found.set(index, cluster, false);
            }
        }
        job.advance("border points", range(piece).len() as u64, count as u64);
        Ok(())
    })?;
    Ok(found)
}

/// Marks the points in boxes no longer than eps that hold enough points.
fn dense<const D: usize>(view: View<'_, D>, limit: f64, least: usize) -> Vec<bool> {
    let mut dense = vec![false; view.tree.len()];
    let mut open = vec![view.tree.root()];
    while let Some(node) = open.pop() {
        let bounds = view.bounds(node);
        if node.len() < least {
            continue;
        }
        if bounds.reach_to(bounds) <= limit {
            dense[node.range()].fill(true);
        } else if !node.is_leaf() {
            let (left, right) = node.halves();
            open.extend([left, right]);
        }
    }
    dense
}

struct Join<'a, const D: usize> {
    /// Tree of the points.
    view: View<'a, D>,
    /// Square of eps.
    limit: f64,
    /// Sets of positions of the tree.
    sets: DisjointSets,
    /// Position of the first core point of each node; `u32::MAX` if it has none.
    first: Vec<u32>,
    /// `true` if all core points of a node are known to be in one set.
    whole: Vec<AtomicBool>,
    /// `true` for each position with a core point.
    core: &'a [bool],
    /// Job, for cancellation checks.
    job: &'a Job,
}

impl<const D: usize> Join<'_, D> {
    fn mark(&mut self, node: Node) -> u32 {
        let first = if node.is_leaf() {
            let core = node.range().find(|&place| self.core[place]);
            core.map_or(u32::MAX, |place| place as u32)
        } else {
            let (left, right) = node.halves();
            self.mark(left).min(self.mark(right))
        };
        self.first[node.id] = first;
        first
    }

    fn is_whole(&self, node: Node) -> bool {
        self.whole[node.id].load(Ordering::Relaxed)
    }

    /// Returns `true` if the core points of both nodes are known to be in one set.
    fn together(&self, a: Node, b: Node) -> bool {
        self.is_whole(a)
            && self.is_whole(b)
            && self.sets.together(self.first[a.id], self.first[b.id])
    }

    /// Unites the core points below a node that are within eps of each other.
    fn within(&self, node: Node) {
        let first = self.first[node.id];
        if first == u32::MAX || self.job.is_cancelled() {
            return;
        }
        let bounds = self.view.bounds(node);
        if bounds.reach_to(bounds) <= self.limit {
            for place in node.range().filter(|&place| self.core[place]) {
                self.sets.unite(first, place as u32);
            }
            self.set_whole(node);
            return;
        }
        if node.is_leaf() {
            self.compare(node, node);
            let mut core = node.range().filter(|&place| self.core[place]);
            if core.all(|place| self.sets.together(first, place as u32)) {
                self.whole[node.id].store(true, Ordering::Relaxed);
            }
            return;
        }
        let (left, right) = node.halves();
        if node.len() > ALONE {
            parallel::join(&mut || self.within(left), &mut || self.within(right));
        } else {
            self.within(left);
            self.within(right);
        }
        self.across(left, right);
        self.refresh(node);
    }

    /// Marks a node, and all nodes below it, as having their core points in one set.
    fn set_whole(&self, node: Node) {
        self.whole[node.id].store(true, Ordering::Relaxed);
        if !node.is_leaf() {
            let (left, right) = node.halves();
            self.set_whole(left);
            self.set_whole(right);
        }
    }

    fn refresh(&self, node: Node) {
        let (left, right) = node.halves();
        let known = |node: Node| self.first[node.id] == u32::MAX || self.is_whole(node);
        let firsts = (self.first[left.id], self.first[right.id]);
        let one =
            firsts.0 == u32::MAX || firsts.1 == u32::MAX || self.sets.together(firsts.0, firsts.1);
        if known(left) && known(right) && one {
            self.whole[node.id].store(true, Ordering::Relaxed);
        }
    }

    /// Unites core points of `a` with those of `b` that are within eps of them.
    fn across(&self, a: Node, b: Node) {
        let firsts = (self.first[a.id], self.first[b.id]);
        if firsts.0 == u32::MAX || firsts.1 == u32::MAX || self.together(a, b) {
            return;
        }
        let bounds = (self.view.bounds(a), self.view.bounds(b));
        if bounds.0.gap_to(bounds.1) > self.limit || self.job.is_cancelled() {
            return;
        }
        if self.is_whole(a) && self.is_whole(b) && bounds.0.reach_to(bounds.1) <= self.limit {
            self.sets.unite(firsts.0, firsts.1);
            return;
        }
        if a.is_leaf() && b.is_leaf() {
            self.compare(a, b);
            return;
        }
        let (large, small) = if b.is_leaf() || (!a.is_leaf() && a.len() >= b.len()) {
            (a, b)
        } else {
            (b, a)
        };
        let (left, right) = large.halves();
        if large.len() > ALONE {
            parallel::join(&mut || self.across(left, small), &mut || {
                self.across(right, small)
            });
        } else {
            // The nearer half first, because it is more likely to unite them.
            let other = self.view.bounds(small);
            let gap = |node| self.view.bounds(node).gap_to(other);
            let (near, far) = if gap(left) <= gap(right) {
                (left, right)
            } else {
                (right, left)
            };
            self.across(near, small);
            self.across(far, small);
        }
    }

    fn compare(&self, a: Node, b: Node) {
        for p in a.range().filter(|&place| self.core[place]) {
            for q in b.range().filter(|&place| self.core[place]) {
                let apart = squared(self.view.point(p), self.view.point(q)) > self.limit;
                if !apart && !self.sets.together(p as u32, q as u32) {
                    self.sets.unite(p as u32, q as u32);
                    if self.together(a, b) {
                        return;
                    }
                }
            }
        }
    }

    /// Returns the cluster of each position with a core point, and the core point of lowest index
    /// of each cluster. Clusters are numbered in the order of these.
    fn number(&self) -> (Vec<u32>, Vec<u32>) {
        let indices = self.view.tree.indices();
        let places = || (0..indices.len()).filter(|&place| self.core[place]);
        let mut lowest = vec![u32::MAX; indices.len()];
        for place in places() {
            let least = &mut lowest[self.sets.find(place as u32) as usize];
            *least = (*least).min(indices[place]);
        }
        let roots = places().filter(|&place| lowest[place] != u32::MAX);
        let mut seeds: Vec<(u32, usize)> = roots.map(|root| (lowest[root], root)).collect();
        seeds.sort_unstable();
        let mut cluster_of = vec![u32::MAX; indices.len()];
        for (&(_, root), cluster) in seeds.iter().zip(0..) {
            cluster_of[root] = cluster;
        }
        for place in places() {
            cluster_of[place] = cluster_of[self.sets.find(place as u32) as usize];
        }
        (
            cluster_of,
            seeds.into_iter().map(|(least, _)| least).collect(),
        )
    }

    /// Passes the core points below `node` within eps of `point` to `claim`.
    fn claim(&self, node: Node, point: &[f64], cluster_of: &[u32], claim: &mut Claim<'_>) {
        let far = self.view.bounds(node).gap(point) > self.limit;
        if self.first[node.id] == u32::MAX || far {
            return;
        }
        if node.is_leaf() {
            for place in node.range().filter(|&place| self.core[place]) {
                if squared(point, self.view.point(place)) <= self.limit {
                    claim.offer(self.view.tree.indices()[place], cluster_of[place]);
                }
            }
            return;
        }
        let (left, right) = node.halves();
        self.claim(left, point, cluster_of, claim);
        self.claim(right, point, cluster_of, claim);
    }
}
