//! [`Overlaps`]: the open regions of a location whose regions overlap, such as kernels on one accelerator stream.

use perf_core::{RegionId, ReplayCounts};
use std::collections::{HashMap, VecDeque};

/// Open regions in the order in which they were entered. A leave closes the first open call of its
/// region, at any position, as [`perf_core::intervals()`] does.
///
/// The caller keeps the inner regions in a plain `Vec` for the state map. This `Vec` holds all open
/// regions until more than [`MAX_OPEN`] are open at once. From then on the outer regions are stored
/// here. The time of a leave therefore does not grow with the number of open regions, in any order
/// of leaves.
#[derive(Debug, Default)]
pub(crate) struct Overlaps {
    /// Outer regions; `None` for a region that has been left.
    outer: Vec<Option<RegionId>>,
    /// Positions in `outer` of the open calls of each region.
    places: HashMap<RegionId, VecDeque<usize>>,
    /// Counts of repaired leaves.
    pub(crate) counts: ReplayCounts,
}

/// Largest number of open regions that a state map receives.
const MAX_OPEN: usize = 256;

impl Overlaps {
    #[inline]
    pub(crate) fn enter(&mut self, inner: &mut Vec<RegionId>, region: RegionId) {
        inner.push(region);
        if inner.len() > MAX_OPEN {
            for region in inner.drain(..MAX_OPEN / 2) {
                let places = self.places.entry(region).or_default();
                places.push_back(self.outer.len());
                self.outer.push(Some(region));
            }
        }
    }

    /// Closes a region. A leave of a region that is not open closes the region that was entered
    /// last, as in [`perf_core::replay`].
    #[inline]
    pub(crate) fn leave(&mut self, inner: &mut Vec<RegionId>, region: RegionId) {
        if self.leave_outer(region) {
            self.counts.top += 1;
        } else if let Some(at) = inner.iter().position(|open| *open == region) {
            inner.remove(at);
            self.counts.top += 1;
        } else if inner.pop().is_some() {
            self.counts.renamed += 1;
        } else {
            self.counts.orphan += 1;
        }
        if inner.is_empty() && !self.outer.is_empty() {
            self.refill(inner);
        }
    }

    /// Returns the number of open regions.
    pub(crate) fn open(&self, inner: &[RegionId]) -> u64 {
        let outer = self.outer.iter().flatten().count();
        (inner.len() + outer) as u64
    }

    fn leave_outer(&mut self, region: RegionId) -> bool {
        if self.outer.is_empty() {
            return false;
        }
        let place = self.places.get_mut(&region).and_then(VecDeque::pop_front);
        let open = place.and_then(|place| self.outer.get_mut(place));
        open.and_then(Option::take).is_some()
    }

    /// Moves outer regions back, so that `inner` is empty only if no region is open. The amortised
    /// time is constant, because each entry of `outer` is moved out once and removed once.
    #[cold]
    fn refill(&mut self, inner: &mut Vec<RegionId>) {
        while inner.len() < MAX_OPEN / 2
            && let Some(open) = self.outer.pop()
        {
            if let Some(region) = open {
                self.places.get_mut(&region).and_then(VecDeque::pop_back);
                inner.push(region);
            }
        }
        inner.reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reference implementation: one list that is searched and shifted.
    fn leave(open: &mut Vec<RegionId>, region: RegionId) {
        match open.iter().position(|other| *other == region) {
            Some(at) => {
                open.remove(at);
            }
            None => {
                open.pop();
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn leaves_equal_those_of_one_list(
            runs in prop::collection::vec((any::<bool>(), 1usize..900, 1u32..900, any::<u32>()), 1..12),
        ) {
            let (mut overlaps, mut inner, mut all) = (Overlaps::default(), vec![], vec![]);
            let mut leaves = 0;
            for (enters, length, regions, seed) in runs {
                for step in 0..length as u32 {
                    let region = RegionId(step.wrapping_mul(7).wrapping_add(seed) % regions);
                    if enters {
                        overlaps.enter(&mut inner, region);
                        all.push(region);
                    } else {
                        overlaps.leave(&mut inner, region);
                        leave(&mut all, region);
                        leaves += 1;
                    }
                    prop_assert!(inner.len() <= MAX_OPEN);
                    prop_assert!(all.ends_with(&inner));
                    prop_assert_eq!(inner.is_empty(), all.is_empty());
                }
                prop_assert_eq!(overlaps.open(&inner), all.len() as u64);
            }
            let counts = overlaps.counts;
            prop_assert_eq!(counts.top + counts.renamed + counts.orphan, leaves);
        }
    }
}
