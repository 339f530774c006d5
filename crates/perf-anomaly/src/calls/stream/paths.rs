//! [`Paths`]: tree of call paths with their ids, and a fast lookup of the path of a region below
//! that of its caller.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Tree of call paths. Path 0 is the root and represents no call; path 1 represents all paths
/// beyond the limit.
///
/// Programs call in loops. Each path therefore stores its child that was entered last, and its
/// sibling that was entered next the last time. Most children are found with one or two
/// comparisons; the others are looked up in a table.
#[derive(Clone, Debug)]
pub(in crate::calls) struct Paths {
    /// Paths by id.
    nodes: Vec<Node>,
    /// Ids by hash of parent and region.
    table: HashMap<u64, u32, BuildHasherDefault<Mix>>,
    /// Largest number of paths.
    limit: usize,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    /// Region of the path.
    region: u32,
    /// Calling path.
    parent: u32,
    /// Child that was entered last; 0 for none.
    child: u32,
    /// Sibling that was entered after this path the last time; 0 for none.
    next: u32,
}

/// Marker that is not a region number.
const NONE: u32 = u32::MAX;

impl Paths {
    pub(in crate::calls) const ROOT: u32 = 0;
    /// Path of all calls beyond the limit, and of their callees.
    pub(in crate::calls) const OTHER: u32 = 1;

    pub(in crate::calls) fn new(limit: usize) -> Self {
        let none = Node {
            region: NONE,
            parent: 0,
            child: 0,
            next: 0,
        };
        Paths {
            nodes: vec![none; 2],
            table: HashMap::default(),
            limit,
        }
    }

    pub(in crate::calls) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns region and parent of a path; `None` for paths 0 and 1, and for unknown ids.
    pub(in crate::calls) fn get(&self, path: u32) -> Option<(u32, u32)> {
        let node = self.nodes.get(path as usize)?;
        (node.region != NONE).then_some((node.region, node.parent))
    }

    /// Returns `true` if `parent` has called `region` before.
    pub(in crate::calls) fn knows(&self, parent: u32, region: u32) -> bool {
        self.table.contains_key(&key(parent, region))
    }

    /// Returns the path of `region` called from `parent`, and adds it if it is new;
    /// [`OTHER`](Self::OTHER) if the limit is reached.
    #[inline]
    pub(in crate::calls) fn child(&mut self, parent: u32, region: u32) -> u32 {
        // Paths 0 and 1 have no region, so an absent child never matches.
        let at = |path: u32| self.nodes.get(path as usize).copied();
        let Some(last) = at(parent).map(|parent| parent.child) else {
            return Self::OTHER;
        };
        let known = at(last);
        if known.is_some_and(|known| known.region == region) {
            return last;
        }
        let next = known.map_or(0, |known| known.next);
        let found = match at(next) {
            Some(node) if node.region == region => next,
            _ => self.find(parent, region),
        };
        if found == Self::OTHER {
            return found;
        }
        if last != 0
            && let Some(known) = self.nodes.get_mut(last as usize)
        {
            known.next = found;
        }
        if let Some(node) = self.nodes.get_mut(parent as usize) {
            node.child = found;
        }
        found
    }

    fn find(&mut self, parent: u32, region: u32) -> u32 {
        let key = key(parent, region);
        if let Some(found) = self.table.get(&key) {
            return *found;
        }
        // The limit is validated to be far below 2^32.
        let id = self.nodes.len() as u32;
        if parent == Self::OTHER || self.nodes.len() >= self.limit.saturating_add(2) {
            return Self::OTHER;
        }
        self.nodes.push(Node {
            region,
            parent,
            child: 0,
            next: 0,
        });
        self.table.insert(key, id);
        id
    }
}

fn key(parent: u32, region: u32) -> u64 {
    (u64::from(parent) << 32) | u64::from(region)
}

/// Hash function that mixes the 64 bits of a key: multiply and fold, twice.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::calls) struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    #[inline]
    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    #[inline]
    fn write_u64(&mut self, value: u64) {
        // The odd constants are those of the finaliser of splitmix64.
        let mut bits = self.0 ^ value;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        self.0 = bits ^ (bits >> 31);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Hints and table agree with a map, for any order of calls.
        #[test]
        fn children_are_those_of_a_map(calls in prop::collection::vec((0u32..6, 0u32..5), 0..200)) {
            let mut paths = Paths::new(1 << 20);
            let mut naive = std::collections::BTreeMap::new();
            for (parent, region) in calls {
                let parent = parent.min(naive.len() as u32);
                let parent = if parent == 0 { Paths::ROOT } else { parent + 1 };
                let next = naive.len() as u32 + 2;
                let expected = *naive.entry((parent, region)).or_insert(next);
                prop_assert_eq!(paths.child(parent, region), expected);
                prop_assert_eq!(paths.get(expected), Some((region, parent)));
                prop_assert!(paths.knows(parent, region));
            }
            prop_assert_eq!(paths.len(), naive.len() + 2);
        }
    }

    #[test]
    fn paths_beyond_the_limit_become_other() {
        let mut paths = Paths::new(1);
        assert_eq!(paths.child(Paths::ROOT, 7), 2);
        assert_eq!(paths.child(Paths::ROOT, 8), Paths::OTHER);
        assert_eq!(paths.child(Paths::OTHER, 7), Paths::OTHER);
        assert_eq!(paths.child(Paths::ROOT, 7), 2);
    }
}
