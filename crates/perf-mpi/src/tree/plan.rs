//! [`Plan`]: selects the neighbouring [`Part`]s that a rank merges, by a fixed binary tree, so that
//! the result is the same for any distribution of parts over ranks.

use crate::{Reader, Result, Wire};
use perf_core::Merge;
use std::ops::Range;

/// Merged value of `2^level` neighbouring places, the first of which is a multiple of `2^level`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Part<T> {
    /// First place.
    start: u32,
    /// Binary logarithm of the number of places.
    level: u8,
    /// Merged value.
    pub(crate) value: T,
}

impl<T> Part<T> {
    /// Creates the part of one place.
    pub(crate) fn new(place: u32, value: T) -> Self {
        Part {
            start: place,
            level: 0,
            value,
        }
    }

    fn range(start: u32, level: u8) -> Range<u64> {
        let start = u64::from(start);
        start..start + (1 << level)
    }
}

/// Number of bits of a place.
const TOP: u8 = 32;

impl<T: Wire> Wire for Part<T> {
    const LEAST: usize = 5 + T::LEAST;

    fn write(&self, to: &mut Vec<u8>) {
        self.start.write(to);
        self.level.write(to);
        self.value.write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self> {
        let (start, level) = (u32::read(from)?, u8::read(from)?);
        if level > TOP || u64::from(start) % (1 << level) != 0 {
            return Err(from.error(5, "the range of a part").into());
        }
        let value = T::read(from)?;
        Ok(Part {
            start,
            level,
            value,
        })
    }
}

/// Places whose parts arrive at a rank, as runs of neighbours.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Number of all places.
    places: u64,
    /// Runs of places whose parts arrive at this rank.
    runs: Vec<Range<u64>>,
}

impl Plan {
    /// Creates a plan for places with these owners, for a rank at which the parts of the ranks in
    /// `subtree` arrive.
    pub(crate) fn new(owners: impl IntoIterator<Item = usize>, subtree: &Range<usize>) -> Self {
        let mut plan = Plan::default();
        for owner in owners {
            if subtree.contains(&owner) {
                match plan.runs.last_mut().filter(|run| run.end == plan.places) {
                    Some(run) => run.end += 1,
                    None => plan.runs.push(plan.places..plan.places + 1),
                }
            }
            plan.places += 1;
        }
        plan
    }

    /// Creates a plan for `places` places, for a rank at which the parts of a block of places
    /// arrive.
    pub(crate) fn block(places: usize, block: Range<usize>) -> Self {
        Plan {
            places: places as u64,
            runs: std::iter::once(block.start as u64..block.end as u64).collect(),
        }
    }

    /// Creates a plan in which each rank has one place, with the number of the rank.
    pub(crate) fn of_ranks(size: usize, subtree: Range<usize>) -> Self {
        Self::block(size, subtree)
    }

    /// Returns `true` if the parts of all these places arrive at this rank.
    fn knows(&self, places: Range<u64>) -> bool {
        let end = places.end.min(self.places);
        let at = self.runs.partition_point(|run| run.end <= places.start);
        let run = self.runs.get(at);
        run.is_some_and(|run| run.start <= places.start && end <= run.end)
    }

    /// Merges all parts that can be merged.
    ///
    /// A node of the tree over places is the merged value of its halves, the lower half first. It
    /// is computed once the parts of all its places arrive at this rank. Parts of invalid places
    /// are left unchanged.
    pub(crate) fn settle<T: Merge>(&self, mut parts: Vec<Part<T>>) -> Vec<Part<T>> {
        parts.sort_by_key(|part| (part.start, part.level));
        for level in 0..TOP {
            if parts.len() <= 1 && self.places <= 1 << level {
                break;
            }
            let mut next: Vec<Part<T>> = Vec::with_capacity(parts.len());
            for mut part in parts {
                let start = part.start & !(u32::MAX >> (31 - u32::from(level)));
                let is_whole = || self.knows(Part::<T>::range(start, level + 1));
                if part.level != level || !is_whole() {
                    next.push(part);
                    continue;
                }
                match next.last_mut() {
                    Some(left) if left.level == level + 1 && left.start == start => {
                        left.value.merge(&part.value);
                    }
                    _ => {
                        (part.start, part.level) = (start, level + 1);
                        next.push(part);
                    }
                }
            }
            parts = next;
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::super::Family;
    use super::*;

    /// Text that records the order of merging.
    #[derive(Clone, Debug, Default, PartialEq)]
    struct Tree(String);

    impl Merge for Tree {
        fn merge(&mut self, other: &Self) {
            self.0 = format!("({}{})", self.0, other.0);
        }
    }

    /// Simulates a reduction from the highest to the lowest rank and returns the remaining values
    /// of rank 0.
    fn whole(owners: &[usize], size: usize, has: impl Fn(usize) -> bool) -> Vec<String> {
        let mut received: Vec<Vec<Part<Tree>>> = vec![Vec::new(); size];
        for rank in (0..size).rev() {
            let family = Family::new(rank, size);
            let mut parts = std::mem::take(&mut received[rank]);
            for (place, owner) in owners.iter().enumerate() {
                if *owner == rank && has(place) {
                    parts.push(Part::new(place as u32, Tree(format!("{place}."))));
                }
            }
            let plan = Plan::new(owners.iter().copied(), &family.all);
            let parts = plan.settle(parts);
            match family.parent {
                Some(parent) => received[parent].extend(parts),
                None => received[rank] = parts,
            }
        }
        received[0]
            .iter()
            .map(|part| part.value.0.clone())
            .collect()
    }

    #[test]
    fn how_parts_merge_does_not_depend_on_who_has_them() {
        for places in [1, 2, 5, 8, 13] {
            let all: fn(usize) -> bool = |_| true;
            for has in [all, |place| !place.is_multiple_of(3)] {
                let expected = whole(&vec![0; places], 1, has);
                assert!(expected.len() <= 1, "{expected:?}");
                for size in [2, 3, 4, 7] {
                    let dealt: Vec<usize> = (0..places).map(|place| place % size).collect();
                    let blocks: Vec<usize> =
                        (0..places).map(|place| place * size / places).collect();
                    let odd: Vec<usize> = (0..places).map(|place| (place * 5 + 3) % size).collect();
                    for owners in [dealt, blocks, odd] {
                        assert_eq!(whole(&owners, size, has), expected, "{owners:?}");
                    }
                }
            }
        }
        assert_eq!(whole(&[0; 5], 1, |_| true), ["(((0.1.)(2.3.))4.)"]);
        assert_eq!(whole(&[0; 5], 1, |place| place != 1), ["((0.(2.3.))4.)"]);
    }

    #[test]
    fn a_rank_with_neighbouring_places_sends_few_parts() {
        let owners: Vec<usize> = (0..4096).map(|place| place / 1000).collect();
        for rank in 0..5 {
            let plan = Plan::new(owners.iter().copied(), &(rank..rank + 1));
            let own = owners.iter().zip(0..).filter(|(owner, _)| **owner == rank);
            let parts = own.map(|(_, place)| Part::new(place, Tree::default()));
            assert!(plan.settle(parts.collect()).len() <= 12);
        }
    }

    #[test]
    fn places_that_cannot_be_are_refused_or_left_aside() {
        let part = |start: u32, level: u8| [&start.to_bytes()[..], &[level], &[7]].concat();
        assert!(Part::<u8>::from_bytes(&part(4, 2)).is_ok());
        for bytes in [
            part(5, 1),
            part(4, 33),
            part(4, 3),
            part(4, 2)[..5].to_vec(),
        ] {
            assert!(Part::<u8>::from_bytes(&bytes).is_err(), "{bytes:?}");
        }
        let far = [u32::MAX, 9, 9].map(|place| Part::new(place, Tree("x".into())));
        let plan = Plan::of_ranks(2, 0..2);
        assert_eq!(plan.settle(far.to_vec()).len(), 3);
    }
}
