//! [`CallPathIndex`]: hash table of call paths by parent and region, which grows in small steps.

use crate::{CallPath, CallPathId, RegionId};
use std::hash::{BuildHasher, RandomState};

/// Call paths by parent and region.
///
/// The table uses linear hashing (Litwin, 1980): each added call path adds one bucket and splits an
/// existing bucket. Unlike in a table that doubles its size, no insertion takes long, regardless of
/// the number of call paths. The memory is freed with two calls.
#[derive(Clone, Debug)]
pub(crate) struct CallPathIndex {
    /// First call path of each bucket as its number plus 1, or 0 for an empty bucket.
    heads: Vec<u32>,
    /// Next call path in the same bucket, for each call path, in the same encoding.
    next: Vec<u32>,
    /// Random keys of the hash function, so that a recording cannot be made with many equal hashes.
    keys: [u64; 2],
}

impl Default for CallPathIndex {
    fn default() -> Self {
        let random = RandomState::new();
        CallPathIndex {
            heads: Vec::new(),
            next: Vec::new(),
            keys: [random.hash_one(0_u8), random.hash_one(1_u8)],
        }
    }
}

/// Key of a call path: its parent and region.
type Key = (Option<CallPathId>, RegionId);

impl CallPathIndex {
    /// Size in bytes of an entry, which consists of a bucket and a link.
    pub(crate) const A_PATH: usize = 2 * size_of::<u32>();

    /// Returns the call path of a key among `paths`, or `None` if there is no such call path.
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

    /// Adds the last of `paths`, which must be new.
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

    /// Adds a bucket and splits an existing bucket, whose number is that of the new bucket without
    /// its highest bit. Entries that belong to the new bucket move there.
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

    /// Returns the hash of a key: both halves of a product, which takes a tenth of the time of the default hash function.
    fn hash(&self, (parent, region): Key) -> u64 {
        // No parent is encoded as 0.
        let parent = parent.map_or(0, |parent| u64::from(parent.0) + 1);
        let key = (parent << 32 | u64::from(region.0)) ^ self.keys[0];
        let product = u128::from(key) * u128::from(self.keys[1] | 1);
        (product >> 64) as u64 ^ product as u64
    }

    /// Returns the bucket of a hash. It is given by the lowest bits of the hash, as many as the
    /// largest bucket number needs, or one bit less if that bucket does not exist yet.
    fn bucket(&self, hash: u64) -> usize {
        let bits = self.heads.len().checked_ilog2().unwrap_or_default();
        let wide = hash as usize & ((2 << bits) - 1);
        if wide < self.heads.len() {
            wide
        } else {
            wide & ((1 << bits) - 1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;
    use std::collections::hash_map::Entry;

    #[test]
    fn agrees_with_a_map() {
        let (mut children, mut paths, mut naive) =
            (CallPathIndex::default(), Vec::new(), HashMap::new());
        let mut state = 7_u64;
        for step in 0..20_000_u32 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let random = (state >> 33) as u32;
            // Sometimes without a parent, and sometimes a key that is not in the table.
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
        let (mut children, mut paths) = (CallPathIndex::default(), Vec::new());
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
