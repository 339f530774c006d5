//! What is open on a location whose regions overlap, as kernels of one accelerator stream do.

use perf_core::{RegionId, ReplayCounts};
use std::collections::{HashMap, VecDeque};

/// The regions that are open, in the order in which they were entered. A leave closes the first of
/// its region and no other, wherever that lies, as [`perf_core::intervals()`] has it.
///
/// The caller keeps the inner ones in a plain `Vec`, for the state map to look at. Those are all,
/// unless [`MOST`] were open at once: then the ones further out are kept here, so that a leave
/// costs the same however many are open. A list that nothing leaves in order is no worse.
#[derive(Debug, Default)]
pub(crate) struct Overlaps {
    /// Those further out; `None` where one has been left.
    outer: Vec<Option<RegionId>>,
    /// Where in `outer` those of each region are that are still open.
    places: HashMap<RegionId, VecDeque<usize>>,
    pub(crate) counts: ReplayCounts,
}

/// Most open regions that a state map is given.
const MOST: usize = 256;

impl Overlaps {
    #[inline]
    pub(crate) fn enter(&mut self, inner: &mut Vec<RegionId>, region: RegionId) {
        inner.push(region);
        if inner.len() > MOST {
            for region in inner.drain(..MOST / 2) {
                let places = self.places.entry(region).or_default();
                places.push_back(self.outer.len());
                self.outer.push(Some(region));
            }
        }
    }

    /// A leave of a region that is not open closes the last one entered, as in [`perf_core::replay`].
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

    /// How many are open.
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

    /// Moves some back in, so that `inner` is empty only where nothing is open. Each was moved out
    /// since the last time, or so many were left that it pays.
    #[cold]
    fn refill(&mut self, inner: &mut Vec<RegionId>) {
        while inner.len() < MOST / 2
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

    /// The textbook version: one list, searched and shifted.
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
        fn is_one_list(
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
                    prop_assert!(inner.len() <= MOST);
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
