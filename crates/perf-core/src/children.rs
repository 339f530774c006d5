//! [`Children`]: the call path that enters a region from another, found in a table that grows bit by bit.

use crate::{CallPath, CallPathId, RegionId};
use std::hash::{BuildHasher, RandomState};

/// Call paths by parent and region.
///
/// Linear hashing (Litwin, 1980): each call path that is added makes one more bucket, and parts the call paths
/// of one that is there. So no step takes long, however many call paths there are, as the doubling of a table
/// does; and all of it is given back by two calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Children {
    /// The first call path of each bucket: its number and 1, or 0 for none.
    heads: Vec<u32>,
    /// The next one in its bucket, by call path.
    next: Vec<u32>,
    keys: RandomState,
}

/// What one is known by.
type Key = (Option<CallPathId>, RegionId);

impl Children {
    /// Bytes of a call path: a bucket and what comes next.
    pub(crate) const A_PATH: usize = 2 * size_of::<u32>();

    /// The call path of a key among `paths`.
    pub(crate) fn find(&self, paths: &[CallPath], key: Key) -> Option<CallPathId> {
        let mut at = *self.heads.get(self.bucket(self.hash(key)))?;
        while let Some(index) = at.checked_sub(1) {
            let path = paths.get(index as usize)?;
            if (path.parent, path.region) == key {
                return Some(CallPathId(index));
            }
            at = self.next.get(index as usize).copied()?;
        }
        None
    }

    /// Adds the last of `paths`, which was not there.
    pub(crate) fn add(&mut self, paths: &[CallPath]) {
        let Some(index) = paths.len().checked_sub(1) else {
            return;
        };
        let (Some(path), Ok(entry)) = (paths.get(index), u32::try_from(paths.len())) else {
            return;
        };
        self.next.resize(paths.len(), 0);
        self.part(paths);
        let bucket = self.bucket(self.hash((path.parent, path.region)));
        if let (Some(head), Some(next)) = (self.heads.get_mut(bucket), self.next.get_mut(index)) {
            *next = std::mem::replace(head, entry);
        }
    }

    /// One more bucket, and in it what belongs there of that whose number lacks its highest bit.
    fn part(&mut self, paths: &[CallPath]) {
        let new = self.heads.len();
        self.heads.push(0);
        let Some(old) = new.checked_sub(1 << new.checked_ilog2().unwrap_or_default()) else {
            return;
        };
        let mut at = self.heads.get_mut(old).map_or(0, std::mem::take);
        while let Some(index) = at.checked_sub(1) {
            let index = index as usize;
            let Some(path) = paths.get(index) else { return };
            let bucket = self.bucket(self.hash((path.parent, path.region)));
            let (Some(head), Some(next)) = (self.heads.get_mut(bucket), self.next.get_mut(index))
            else {
                return;
            };
            let entry = at;
            at = std::mem::replace(next, std::mem::replace(head, entry));
        }
    }

    fn hash(&self, (parent, region): Key) -> u64 {
        // No parent is 0.
        let parent = parent.map_or(0, |parent| u64::from(parent.0) + 1);
        self.keys.hash_one(parent << 32 | u64::from(region.0))
    }

    /// The bucket of a hash: by as many bits as the last bucket has, by one less where there is none of that.
    fn bucket(&self, hash: u64) -> usize {
        let bits = self.heads.len().checked_ilog2().unwrap_or_default();
        let wide = hash as usize & ((2 << bits) - 1);
        match wide < self.heads.len() {
            true => wide,
            false => wide & ((1 << bits) - 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;
    use std::collections::hash_map::Entry;

    #[test]
    fn finds_what_a_map_finds() {
        let (mut children, mut paths, mut naive) =
            (Children::default(), Vec::new(), HashMap::new());
        let mut state = 7_u64;
        for step in 0..20_000_u32 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let random = (state >> 33) as u32;
            // Now and then one without a parent, and one that is not in the table.
            let parent = (!random.is_multiple_of(5) && !paths.is_empty())
                .then(|| CallPathId(random / 5 % paths.len() as u32));
            let key = (parent, RegionId(random % 7));
            assert_eq!(children.find(&paths, key), naive.get(&key).copied());
            let (parent, region) = key;
            if step % 10 == 0 {
                paths.push(CallPath { region, parent });
            } else if let Entry::Vacant(free) = naive.entry(key) {
                free.insert(CallPathId(paths.len() as u32));
                paths.push(CallPath { region, parent });
                children.add(&paths);
            }
        }
        for (key, path) in naive {
            assert_eq!(children.find(&paths, key), Some(path));
        }
    }

    #[test]
    fn buckets_are_short() {
        let (mut children, mut paths) = (Children::default(), Vec::new());
        for at in 0..50_000 {
            let parent = (at > 0).then_some(CallPathId(at / 2));
            paths.push(CallPath {
                region: RegionId(at % 2),
                parent,
            });
            children.add(&paths);
        }
        assert_eq!(children.heads.len(), paths.len());
        let length = |head: &u32| {
            let next = |at: &u32| children.next.get(at.checked_sub(1)? as usize).copied();
            std::iter::successors(Some(*head), next).count() - 1
        };
        let lengths: Vec<usize> = children.heads.iter().map(length).collect();
        assert_eq!(lengths.iter().sum::<usize>(), paths.len());
        assert!(lengths.iter().max() < Some(&24));
    }
}
