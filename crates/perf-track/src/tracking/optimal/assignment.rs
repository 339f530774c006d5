//! [`best`]: assignment of left to right nodes in which each has at most one partner and the sum of
//! the weights of the links is largest.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Pair that may be linked, with its weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Edge {
    /// Left node.
    pub(crate) left: usize,
    /// Right node.
    pub(crate) right: usize,
    /// Weight of the link.
    pub(crate) weight: f64,
}

/// Returns the partner of each left node in the assignment of largest total weight, in which each
/// node has at most one partner. Edges of weight 0 or less are never used.
///
/// Uses shortest augmenting paths with potentials (Jonker and Volgenant, Computing 38, 1987) over
/// the existing edges, which takes O(n m log n) time for n left nodes and m edges. Each left node
/// may stay unassigned at cost 0, so that every left node can be placed.
pub(crate) fn best(lefts: usize, rights: usize, edges: &[Edge]) -> Vec<Option<usize>> {
    let mut edges: Vec<Edge> = edges
        .iter()
        .copied()
        .filter(|e| e.weight > 0.0 && e.left < lefts && e.right < rights)
        .collect();
    edges.sort_by_key(|edge| (edge.left, edge.right));
    // Right nodes `rights + i` represent left node i without a partner.
    let places = rights + lefts;
    let mut outgoing: Vec<Vec<(usize, f64)>> = vec![Vec::new(); lefts];
    for edge in &edges {
        outgoing[edge.left].push((edge.right, -edge.weight));
    }
    for (left, list) in outgoing.iter_mut().enumerate() {
        list.push((rights + left, 0.0));
    }
    let mut search = Search {
        outgoing,
        potential_left: vec![0.0; lefts],
        potential_right: vec![0.0; places],
        owner: vec![None; places],
        place_of: vec![None; lefts],
        distance: vec![f64::INFINITY; places],
        from: vec![usize::MAX; places],
        done: vec![false; places],
    };
    for left in 0..lefts {
        search.place(left);
    }
    let placed = search.place_of.into_iter();
    placed
        .map(|place| place.filter(|&right| right < rights))
        .collect()
}

struct Search {
    /// Edges of each left node, as right node and cost.
    outgoing: Vec<Vec<(usize, f64)>>,
    /// Potential of each left node.
    potential_left: Vec<f64>,
    /// Potential of each right node.
    potential_right: Vec<f64>,
    /// Left node assigned to each right node.
    owner: Vec<Option<usize>>,
    /// Right node assigned to each left node.
    place_of: Vec<Option<usize>>,
    /// Shortest distance to each right node.
    distance: Vec<f64>,
    /// Predecessor of each right node on the shortest path.
    from: Vec<usize>,
    /// `true` for right nodes whose distance is final.
    done: Vec<bool>,
}

#[derive(PartialEq)]
struct Reached(f64, usize);

impl Eq for Reached {}
impl PartialOrd for Reached {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Reached {
    /// Reverses the order, because the heap is a max-heap: the nearest node comes first, in a tie
    /// the node with the lowest number.
    fn cmp(&self, other: &Self) -> Ordering {
        other.0.total_cmp(&self.0).then(other.1.cmp(&self.1))
    }
}

impl Search {
    /// Assigns one more left node at the lowest total cost; moves other left nodes if necessary.
    fn place(&mut self, start: usize) {
        // The reduced cost of each edge is at least 0, except for the edges of the new node.
        let costs = self.outgoing[start].iter();
        let reduced = costs.map(|&(right, cost)| cost - self.potential_right[right]);
        self.potential_left[start] = reduced.fold(f64::INFINITY, f64::min);
        let mut touched = Vec::new();
        let mut heap = BinaryHeap::new();
        self.relax(start, 0.0, &mut heap, &mut touched);
        let mut end = None;
        while let Some(Reached(distance, right)) = heap.pop() {
            if self.done[right] || distance > self.distance[right] {
                continue;
            }
            self.done[right] = true;
            match self.owner[right] {
                Some(next) => self.relax(next, distance, &mut heap, &mut touched),
                None => {
                    end = Some((right, distance));
                    break;
                }
            }
        }
        // Only the left node itself can use its private place, so the search always ends.
        if let Some((last, length)) = end {
            for &right in &touched {
                if self.done[right] && right != last {
                    let shift = length - self.distance[right];
                    self.potential_right[right] -= shift;
                    if let Some(owner) = self.owner[right] {
                        self.potential_left[owner] += shift;
                    }
                }
            }
            self.potential_left[start] += length;
            let mut next = Some(last);
            while let Some(right) = next {
                let left = self.from[right];
                self.owner[right] = Some(left);
                next = self.place_of[left].replace(right);
            }
        }
        for right in touched {
            self.distance[right] = f64::INFINITY;
            self.done[right] = false;
        }
    }

    fn relax(
        &mut self,
        left: usize,
        so_far: f64,
        heap: &mut BinaryHeap<Reached>,
        touched: &mut Vec<usize>,
    ) {
        for &(right, cost) in &self.outgoing[left] {
            let reduced = cost - self.potential_left[left] - self.potential_right[right];
            // Rounding may make the reduced cost slightly negative.
            let distance = so_far + reduced.max(0.0);
            if !self.done[right] && distance < self.distance[right] {
                if self.distance[right] == f64::INFINITY {
                    touched.push(right);
                }
                self.distance[right] = distance;
                self.from[right] = left;
                heap.push(Reached(distance, right));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Tries all assignments.
    fn naive(left: usize, lefts: usize, used: &mut Vec<bool>, edges: &[Edge]) -> f64 {
        if left == lefts {
            return 0.0;
        }
        let mut most = naive(left + 1, lefts, used, edges);
        for edge in edges.iter().filter(|edge| edge.left == left) {
            if !used[edge.right] {
                used[edge.right] = true;
                most = most.max(edge.weight + naive(left + 1, lefts, used, edges));
                used[edge.right] = false;
            }
        }
        most
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        #[test]
        fn equals_brute_force(
            lefts in 1usize..7,
            rights in 1usize..7,
            raw in prop::collection::vec((0usize..7, 0usize..7, -3i32..12), 0..30),
        ) {
            let mut edges: Vec<Edge> = Vec::new();
            for (left, right, weight) in raw {
                let known = edges.iter().any(|e| (e.left, e.right) == (left, right));
                if left < lefts && right < rights && !known {
                    edges.push(Edge { left, right, weight: f64::from(weight) / 4.0 });
                }
            }
            let partner = best(lefts, rights, &edges);
            let mut used = vec![false; rights];
            let mut total = 0.0;
            for (left, right) in partner.iter().enumerate() {
                let Some(right) = *right else { continue };
                prop_assert!(!used[right], "{} twice", right);
                used[right] = true;
                let edge = edges.iter().find(|e| (e.left, e.right) == (left, right));
                total += edge.map_or(f64::NAN, |edge| edge.weight);
            }
            let expected = naive(0, lefts, &mut vec![false; rights], &edges);
            prop_assert!((total - expected).abs() < 1e-9, "{total} of {expected}");
        }
    }

    #[test]
    fn greedy_is_not_best() {
        // Greedily linking 0-0 alone yields 10; the best links are 0-1 and 1-0 with 17.
        let edge = |left, right, weight| Edge {
            left,
            right,
            weight,
        };
        let edges = [edge(0, 0, 10.0), edge(0, 1, 9.0), edge(1, 0, 8.0)];
        assert_eq!(best(2, 2, &edges), [Some(1), Some(0)]);
        assert_eq!(best(2, 2, &[edge(0, 0, -1.0)]), [None, None]);
    }
}
