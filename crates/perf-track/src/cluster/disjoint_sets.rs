//! [`DisjointSets`]: disjoint sets that several threads unite concurrently.

use std::sync::atomic::{AtomicU32, Ordering};

/// Disjoint sets of the numbers below a count.
///
/// Roots are linked under lower roots only, each by one compare-and-exchange. The resulting sets
/// and their roots (the lowest number of each) therefore depend on the united pairs and not on
/// their order.
#[derive(Debug)]
pub(crate) struct DisjointSets(Vec<AtomicU32>);

impl DisjointSets {
    pub(crate) fn new(count: usize) -> Self {
        DisjointSets((0..count as u32).map(AtomicU32::new).collect())
    }

    /// Returns the root of the set of `x`. Concurrent changes do no harm: every parent that is read
    /// is in the same set.
    pub(crate) fn find(&self, mut x: u32) -> u32 {
        loop {
            let parent = self.0[x as usize].load(Ordering::Relaxed);
            if parent == x {
                return x;
            }
            let above = self.0[parent as usize].load(Ordering::Relaxed);
            if above != parent {
                // Halves the path. Parents only decrease, so a lost race does no harm.
                let _ = self.0[x as usize].compare_exchange_weak(
                    parent,
                    above,
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                );
            }
            x = above;
        }
    }

    pub(crate) fn unite(&self, a: u32, b: u32) {
        let (mut a, mut b) = (a, b);
        loop {
            (a, b) = (self.find(a), self.find(b));
            if a == b {
                return;
            }
            let (low, high) = (a.min(b), a.max(b));
            let link = self.0[high as usize].compare_exchange(
                high,
                low,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            if link.is_ok() {
                return;
            }
        }
    }

    pub(crate) fn together(&self, a: u32, b: u32) -> bool {
        self.find(a) == self.find(b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_lowest_for_any_order() {
        let links = [(5, 3), (9, 8), (3, 9), (1, 2), (7, 7)];
        for turn in 0..links.len() {
            let union = DisjointSets::new(10);
            for step in 0..links.len() {
                let (a, b) = links[(turn + step) % links.len()];
                union.unite(a, b);
            }
            let roots: Vec<u32> = (0..10).map(|x| union.find(x)).collect();
            assert_eq!(roots, [0, 1, 1, 3, 4, 3, 6, 7, 3, 3]);
            assert!(union.together(5, 8) && !union.together(0, 1));
        }
    }
}
