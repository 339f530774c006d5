//! From ids of the file and places in the document to indices.

use super::Resolver;
use crate::cube::anchor::Numbered;
use crate::{Error, Result};
use std::fmt::Debug;

/// Where things are that the file has ids for.
#[derive(Clone, Debug)]
pub(super) struct Ids<K = u64> {
    /// Ids with their indices, by ascending id.
    sorted: Vec<(K, u32)>,
    /// Indices by place in the document; empty where these are the same.
    moved: Vec<u32>,
}

impl<K: Ord> Ids<K> {
    /// The index of the thing of this id.
    pub(super) fn get(&self, id: &K) -> Option<u32> {
        let at = self.sorted.binary_search_by(|(own, _)| own.cmp(id)).ok()?;
        self.sorted.get(at).map(|(_, index)| *index)
    }

    /// The index of a thing by its place.
    pub(super) fn placed(&self, place: u32) -> u32 {
        self.moved.get(place as usize).copied().unwrap_or(place)
    }

    /// All indices in the order of the document.
    pub(super) fn in_document(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.sorted.len() as u32).map(|place| self.placed(place))
    }
}

impl Resolver<'_> {
    /// Things in order of their ids, so that an index is the rank of an id. An id that is used
    /// twice is an error: which one is meant cannot be told.
    pub(super) fn sorted<T, K: Copy + Ord + Debug>(
        &self,
        numbered: Numbered<T, K>,
        what: &str,
    ) -> Result<(Vec<T>, Ids<K>)> {
        let mut ids = self.unsorted(&numbered, what)?;
        let places = ids.sorted.iter().map(|(_, place)| *place);
        if places.is_sorted() {
            return Ok((numbered.things, ids));
        }
        ids.moved = vec![0; ids.sorted.len()];
        let mut slots: Vec<Option<T>> = numbered.things.into_iter().map(Some).collect();
        let mut things = Vec::with_capacity(slots.len());
        for ((_, at), index) in ids.sorted.iter_mut().zip(0..) {
            let place = *at as usize;
            things.extend(slots.get_mut(place).and_then(Option::take));
            if let Some(moved) = ids.moved.get_mut(place) {
                *moved = index;
            }
            *at = index;
        }
        Ok((things, ids))
    }

    /// As [`sorted`](Self::sorted) for things that stay in the order of the document.
    pub(super) fn unsorted<T, K: Copy + Ord + Debug>(
        &self,
        numbered: &Numbered<T, K>,
        what: &str,
    ) -> Result<Ids<K>> {
        let ids = numbered.ids.iter().map(|(id, _)| *id);
        let mut sorted: Vec<(K, u32)> = ids.zip(0..).collect();
        sorted.sort_unstable();
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
        Ok(Ids { sorted, moved })
    }
}
