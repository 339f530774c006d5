//! [`edges`] of the minimum spanning tree of points under mutual reachability, by Borůvka's method
//! over a k-d tree.
//!
//! In each round every component finds its shortest edge to another component. Edges are ordered by
//! (distance, lower index, higher index), so that no two edges are equal and the tree is unique.

use crate::Result;
use crate::cluster::disjoint_sets::DisjointSets;
use crate::cluster::distance::squared;
use crate::cluster::tree::{KdTree, Node, View, by_dimension};
use perf_core::{Job, parallel};
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of points that a thread processes at a time.
const PIECE: usize = 256;
const MIXED: u32 = u32::MAX;

/// Edge: squared distance, lower and higher index of its ends.
pub(in crate::cluster) type Edge = (f64, u32, u32);

fn precedes(a: Edge, b: Edge) -> bool {
    a.0.total_cmp(&b.0)
        .then((a.1, a.2).cmp(&(b.1, b.2)))
        .is_lt()
}

/// Returns the edges of the tree in ascending order. `core` holds squared core distances by index.
pub(in crate::cluster) fn edges(tree: &KdTree, core: &[f64], job: &Job) -> Result<Vec<Edge>> {
    by_dimension!(tree, view => grow(view, core, job))
}

/// Nearest point of another component, or a lower bound of its distance.
#[derive(Clone, Copy, Debug)]
enum Known {
    /// Lower bound of the distance of the nearest point.
    Beyond(f64),
    /// Nearest point, valid as long as its end (by position) is in another component.
    Exact(Edge, u32),
}

struct Round<'a, const D: usize> {
    /// Tree of the points.
    view: View<'a, D>,
    /// Squared core distance by position.
    core: &'a [f64],
    /// Smallest squared core distance of each node.
    least: &'a [f64],
    /// Component of each position.
    of: Vec<u32>,
    /// Component of each node; [`MIXED`] if its points are in several components.
    of_node: Vec<u32>,
    /// Length of the shortest edge of each component so far, as the bits of a non-negative float,
    /// which have the same order as the numbers.
    shortest: Vec<AtomicU64>,
}

fn grow<const D: usize>(view: View<'_, D>, core: &[f64], job: &Job) -> Result<Vec<Edge>> {
    let count = view.tree.len();
    let places = view.tree.indices().iter();
    let core: Vec<f64> = places.map(|&index| core[index as usize]).collect();
    let mut least = vec![f64::INFINITY; view.tree.nodes()];
    fold(
        view.tree.root(),
        &mut least,
        &|node| {
            core[node.range()]
                .iter()
                .copied()
                .fold(f64::INFINITY, f64::min)
        },
        &f64::min,
    );
    let sets = DisjointSets::new(count);
    let mut edges: Vec<Edge> = Vec::with_capacity(count.saturating_sub(1));
    let mut known = vec![Known::Beyond(0.0); count];
    while edges.len() + 1 < count {
        let of: Vec<u32> = parallel::fill(count, 0, |place| sets.find(place as u32), job)?;
        let mut of_node = vec![MIXED; view.tree.nodes()];
        fold(
            view.tree.root(),
            &mut of_node,
            &|node| {
                let first = of[node.start];
                if of[node.range()].iter().all(|&other| other == first) {
                    first
                } else {
                    MIXED
                }
            },
            &|a, b| if a == b { a } else { MIXED },
        );
        let infinite = f64::INFINITY.to_bits();
        let shortest = (0..count).map(|_| AtomicU64::new(infinite)).collect();
        let round = Round {
            view,
            core: &core,
            least: &least,
            of,
            of_node,
            shortest,
        };
        known = parallel::try_map(parallel::chunk_count(count, PIECE), |piece| -> Result<_> {
            job.check()?;
            let range = parallel::chunk(count, PIECE, piece);
            Ok(range
                .map(|place| round.nearest(place, known[place]))
                .collect::<Vec<_>>())
        })?
        .concat();
        job.check()?;
        let mut best: Vec<Option<(Edge, u32, u32)>> = vec![None; count];
        for (place, known) in known.iter().enumerate() {
            if let Known::Exact(edge, other) = *known {
                let best = &mut best[round.of[place] as usize];
                if best.is_none_or(|(known, ..)| precedes(edge, known)) {
                    *best = Some((edge, place as u32, other));
                }
            }
        }
        let before = edges.len();
        for (edge, a, b) in best.into_iter().flatten() {
            if !sets.together(a, b) {
                sets.unite(a, b);
                edges.push(edge);
            }
        }
        job.advance(
            "spanning tree",
            (edges.len() - before) as u64,
            count as u64 - 1,
        );
    }
    let order = |a: &Edge, b: &Edge| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2)));
    job.sort_by(&mut edges, order)?;
    Ok(edges)
}

/// Computes a value for each node from the values of the leaves.
fn fold<T: Copy>(
    node: Node,
    values: &mut [T],
    leaf: &impl Fn(Node) -> T,
    join: &impl Fn(T, T) -> T,
) -> T {
    let value = if node.is_leaf() {
        leaf(node)
    } else {
        let (left, right) = node.halves();
        let a = fold(left, values, leaf, join);
        join(a, fold(right, values, leaf, join))
    };
    values[node.id] = value;
    value
}

impl<const D: usize> Round<'_, D> {
    fn nearest(&self, place: usize, known: Known) -> Known {
        let component = self.of[place];
        let shared = &self.shortest[component as usize];
        match known {
            // Components only grow, so that the nearest point of another component is still the
            // nearest unless it has joined this component.
            Known::Exact(edge, other) if self.of[other as usize] != component => {
                shared.fetch_min(edge.0.to_bits(), Ordering::Relaxed);
                return known;
            }
            Known::Exact(edge, _) if edge.0 > f64::from_bits(shared.load(Ordering::Relaxed)) => {
                return Known::Beyond(edge.0);
            }
            Known::Beyond(bound) if bound > f64::from_bits(shared.load(Ordering::Relaxed)) => {
                return known;
            }
            _ => {}
        }
        let mut best = None;
        let mut beyond = None;
        self.search(self.view.tree.root(), place, &mut best, &mut beyond);
        match (best, beyond) {
            // A skipped point could be as near to this point, though not to its component.
            (Some((edge, other)), beyond) if beyond.is_none_or(|least| edge.0 < least) => {
                shared.fetch_min(edge.0.to_bits(), Ordering::Relaxed);
                Known::Exact(edge, other)
            }
            (Some((edge, _)), Some(least)) => Known::Beyond(least.min(edge.0)),
            (_, least) => Known::Beyond(least.unwrap_or(f64::INFINITY)),
        }
    }

    /// Searches a node. `beyond` is the smallest bound of nodes skipped because the component has a
    /// shorter edge.
    fn search(
        &self,
        node: Node,
        place: usize,
        best: &mut Option<(Edge, u32)>,
        beyond: &mut Option<f64>,
    ) {
        let component = self.of[place];
        if self.of_node[node.id] == component {
            return;
        }
        let point = self.view.point(place);
        let core = self.core[place];
        let gap = self.view.bounds(node).gap(point);
        let bound = gap.max(core).max(self.least[node.id]);
        if best.is_some_and(|(edge, _)| bound > edge.0) {
            return;
        }
        let shared = &self.shortest[component as usize];
        if bound > f64::from_bits(shared.load(Ordering::Relaxed)) {
            *beyond = Some(beyond.map_or(bound, |least| least.min(bound)));
            return;
        }
        if node.is_leaf() {
            let indices = self.view.tree.indices();
            for other in node.range().filter(|&other| self.of[other] != component) {
                let distance = squared(point, self.view.point(other));
                let reach = distance.max(core).max(self.core[other]);
                let (a, b) = (indices[place], indices[other]);
                let edge = (reach, a.min(b), a.max(b));
                if best.is_none_or(|(known, _)| precedes(edge, known)) {
                    *best = Some((edge, other as u32));
                }
            }
            return;
        }
        let (left, right) = node.halves();
        let gap = |node| self.view.bounds(node).gap(point);
        let (near, far) = if gap(left) <= gap(right) {
            (left, right)
        } else {
            (right, left)
        };
        self.search(near, place, best, beyond);
        self.search(far, place, best, beyond);
    }
}
