//! [`Ids`]: map from the ids of the elements of an anchor, or from their positions in the document,
//! to indices; created by sorting the elements by id.

use super::Resolver;
use crate::cube::anchor::{Numbered, Space};
use crate::{Error, Result};
use std::fmt::Debug;

/// Type of the ids of the file.
pub(super) trait Key: Copy + Ord + Debug {
    /// Returns the number, if all elements of a kind share one namespace.
    fn number(self) -> Option<u64>;
}

impl Key for u64 {
    fn number(self) -> Option<u64> {
        Some(self)
    }
}

impl Key for (Space, u64) {
    fn number(self) -> Option<u64> {
        (self.0 == Space::Any).then_some(self.1)
    }
}

/// Returns `true` if the ids are 0, 1, 2 and so on, in the order of the document.
pub(super) fn are_counted<K: Key>(ids: &[(K, usize)]) -> bool {
    let mut numbers = ids.iter().zip(0u64..);
    numbers.all(|((id, _), at)| id.number() == Some(at))
}

/// Returns the ids by position, if they are a permutation of 0, 1, 2 and so on, but not in the
/// order of the document.
fn shuffled<K: Key>(ids: &[(K, usize)]) -> Option<Vec<u32>> {
    if are_counted(ids) {
        return None;
    }
    let mut is_used = vec![false; ids.len()];
    let number = |(id, _): &(K, usize)| {
        let id = id.number()?;
        let slot = is_used.get_mut(usize::try_from(id).ok()?)?;
        (!std::mem::replace(slot, true)).then_some(id as u32)
    };
    ids.iter().map(number).collect()
}

/// Moves each element to its position in `to`, which must be a permutation.
fn move_to<T>(things: &mut [T], mut to: Vec<u32>) {
    for at in 0..to.len() {
        while let Some(next) = to
            .get(at)
            .map(|next| *next as usize)
            .filter(|next| *next != at)
        {
            things.swap(at, next);
            to.swap(at, next);
        }
    }
}

/// Map from the ids of the file to indices.
#[derive(Clone, Debug)]
pub(super) struct Ids<K = u64> {
    /// Number of elements.
    count: u32,
    /// Ids with their indices, by ascending id; empty if ids equal indices.
    sorted: Vec<(K, u32)>,
    /// Indices by position in the document; empty if these are equal.
    moved: Vec<u32>,
}

impl<K: Key> Ids<K> {
    /// Returns the index for an id.
    pub(super) fn get(&self, id: &K) -> Option<u32> {
        if self.sorted.is_empty() {
            let index = u32::try_from(id.number()?).ok()?;
            return (index < self.count).then_some(index);
        }
        let at = self.sorted.binary_search_by(|(own, _)| own.cmp(id)).ok()?;
        self.sorted.get(at).map(|(_, index)| *index)
    }

    /// Returns the index for a position in the document. Without moved elements, index and position are equal.
    pub(super) fn placed(&self, place: u32) -> u32 {
        self.moved.get(place as usize).copied().unwrap_or(place)
    }

    /// Iterates over all indices in the order of the document.
    pub(super) fn in_document(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.count).map(|place| self.placed(place))
    }
}

impl Resolver<'_> {
    /// Sorts elements by id, so that an index is the rank of an id. A duplicate id is an error,
    /// because references to it would be ambiguous.
    pub(super) fn sorted<T, K: Key>(
        &self,
        numbered: Numbered<T, K>,
        what: &str,
    ) -> Result<(Vec<T>, Ids<K>)> {
        if let Some(moved) = shuffled(&numbered.ids) {
            let mut things = numbered.things;
            let count = moved.len() as u32;
            move_to(&mut things, moved.clone());
            let sorted = Vec::new();
            return Ok((
                things,
                Ids {
                    count,
                    sorted,
                    moved,
                },
            ));
        }
        let mut ids = self.unsorted(&numbered, what)?;
        let places = ids.sorted.iter().map(|(_, place)| *place);
        if places.is_sorted() {
            return Ok((numbered.things, ids));
        }
        ids.moved = vec![0; ids.sorted.len()];
        for ((_, at), index) in ids.sorted.iter_mut().zip(0..) {
            if let Some(moved) = ids.moved.get_mut(*at as usize) {
                *moved = index;
            }
            *at = index;
        }
        let mut things = numbered.things;
        move_to(&mut things, ids.moved.clone());
        Ok((things, ids))
    }

    /// Like [`sorted`](Self::sorted), for elements that stay in the order of the document.
    pub(super) fn unsorted<T, K: Key>(
        &self,
        numbered: &Numbered<T, K>,
        what: &str,
    ) -> Result<Ids<K>> {
        // The limits, which are below 2^32, bound the number.
        let count = numbered.ids.len() as u32;
        let mut sorted = Vec::new();
        if !are_counted(&numbered.ids) {
            let ids = numbered.ids.iter().map(|(id, _)| *id);
            sorted = ids.zip(0..).collect();
            sorted.sort_unstable();
        }
        let mut neighbours = sorted.iter().zip(sorted.iter().skip(1));
        if let Some((_, (id, place))) = neighbours.find(|((one, _), (next, _))| one == next) {
            let at = numbered.ids.get(*place as usize);
            return Err(Error::Malformed {
                place: self.place(at.map_or(0, |(_, at)| *at)),
                expected: format!("each {what} to have an id of its own"),
                got: format!("{id:?} twice"),
            });
        }
        let moved = Vec::new();
        Ok(Ids {
            count,
            sorted,
            moved,
        })
    }
}
