//! [`Functions`]: table with one entry for each function, indexed by its number without hashing.

use crate::format_version::{Reader, Writer};
use crate::{FunctionId, Result};
use perf_core::Merge;
use std::collections::HashMap;

/// Ids below this bound are looked up in an array. Higher ids, which occur only in unusual
/// numberings, are hashed, so that the array never takes more than 4 MiB.
const NEAR: u32 = 1 << 20;
const NONE: u32 = u32::MAX;

/// Table with one `T` for each function. Functions without an entry take no space beyond the index.
///
/// ```
/// use perf_anomaly::{FunctionId, Functions, Moments};
/// let seven = |value| {
///     let mut moments = Moments::default();
///     moments.push(value);
///     (FunctionId(7), moments)
/// };
/// // Entries of the same function are merged.
/// let known: Functions<Moments> = [seven(2.0), seven(4.0)].into_iter().collect();
/// assert_eq!((known.len(), known.get(FunctionId(7)).map(|one| one.mean())), (1, Some(3.0)));
/// assert!(known.get(FunctionId(8)).is_none());
/// ```
#[derive(Clone, Debug)]
pub struct Functions<T> {
    /// Index plus 1 of the entries of low ids.
    near: Vec<u32>,
    /// Index of the entries of high ids.
    far: HashMap<u32, u32>,
    /// Entries.
    entries: Vec<(FunctionId, T)>,
    /// Number of entries in the index. Decoded entries are sorted and mostly iterated once, so they
    /// are looked up by binary search until an entry is added.
    indexed: usize,
}

/// Returns the size in bytes of a hash table with the given capacity and entry size: one additional
/// byte for each place, and a load factor of at most 7/8.
pub(crate) fn table(capacity: usize, size: usize) -> usize {
    (capacity + capacity / 7) * (size + 1)
}

impl<T> Default for Functions<T> {
    fn default() -> Self {
        Functions {
            near: Vec::new(),
            far: HashMap::new(),
            entries: Vec::new(),
            indexed: 0,
        }
    }
}

impl<T> Functions<T> {
    /// Returns the number of functions with an entry.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns `true` if there are no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the memory in bytes; `own` returns the heap memory of an entry.
    pub(crate) fn memory(&self, own: impl Fn(&T) -> usize) -> usize {
        self.near.capacity() * size_of::<u32>()
            + table(self.far.capacity(), size_of::<(u32, u32)>())
            + self.entries.capacity() * size_of::<(FunctionId, T)>()
            + self
                .entries
                .iter()
                .map(|(_, entry)| own(entry))
                .sum::<usize>()
    }

    #[inline]
    fn slot(&self, function: FunctionId) -> Option<u32> {
        match self.near.get(function.0 as usize) {
            Some(&slot) if self.indexed == self.entries.len() => (slot != NONE).then_some(slot),
            _ => self.far_slot(function),
        }
    }

    /// Looks up a function that is not in the array.
    #[cold]
    fn far_slot(&self, function: FunctionId) -> Option<u32> {
        if self.indexed < self.entries.len() {
            let found = self.entries.binary_search_by_key(&function, |(id, _)| *id);
            return found.ok().map(|slot| slot as u32);
        }
        if function.0 >= NEAR {
            self.far.get(&function.0).copied()
        } else {
            None
        }
    }

    /// Returns the entry of a function.
    pub fn get(&self, function: FunctionId) -> Option<&T> {
        let slot = self.slot(function)?;
        self.entries.get(slot as usize).map(|(_, entry)| entry)
    }

    /// Returns the entry of a function for modification.
    pub fn get_mut(&mut self, function: FunctionId) -> Option<&mut T> {
        let slot = self.slot(function)?;
        self.entries.get_mut(slot as usize).map(|(_, entry)| entry)
    }

    /// Returns all entries in ascending order of function number.
    pub fn iter(&self) -> impl Iterator<Item = (FunctionId, &T)> {
        let mut all: Vec<_> = self.unordered().collect();
        all.sort_unstable_by_key(|(id, _)| *id);
        all.into_iter()
    }

    /// Creates a table with capacity for `count` entries.
    pub(crate) fn with_room(count: usize) -> Self {
        Functions {
            near: Vec::new(),
            far: HashMap::new(),
            entries: Vec::with_capacity(count),
            indexed: 0,
        }
    }

    /// Returns all entries in unspecified order, which is faster.
    pub(crate) fn unordered(&self) -> impl Iterator<Item = (FunctionId, &T)> {
        self.entries.iter().map(|(id, entry)| (*id, entry))
    }

    /// Encodes all entries in ascending order of function number: their count, and for each entry
    /// the number of ids skipped since the previous entry, followed by the entry.
    pub(crate) fn write(&self, to: &mut Writer, encode: impl Fn(&T, &mut Writer)) {
        to.u32(self.len() as u32);
        let mut next = 0;
        for (function, entry) in self.iter() {
            to.varint(u64::from(function.0).saturating_sub(next));
            next = u64::from(function.0) + 1;
            encode(entry, to);
        }
    }

    /// Decodes the bytes of [`write`](Self::write), with at least `least` bytes for each function.
    pub(crate) fn read(
        from: &mut Reader<'_>,
        least: usize,
        decode: impl Fn(&mut Reader<'_>) -> Result<T>,
    ) -> Result<Self> {
        let count = from.count(
            1 + least,
            "a number of functions that fits the remaining bytes",
        )?;
        // An entry is several times larger in memory than encoded, so the initial capacity is
        // limited.
        let mut functions = Functions::with_room(count.min(4096));
        let mut next = 0_u64;
        for _ in 0..count {
            let function = next.saturating_add(from.varint("a function")?);
            let Ok(number) = u32::try_from(function) else {
                return Err(from.error(1, "a function").into());
            };
            next = function + 1;
            functions.entries.push((FunctionId(number), decode(from)?));
        }
        Ok(functions)
    }

    /// Replaces or adds the entries of the functions in `other`.
    pub(crate) fn replace(&mut self, other: &Self)
    where
        T: Clone,
    {
        for (function, entry) in &other.entries {
            match self.get_mut(*function) {
                Some(own) => own.clone_from(entry),
                None => {
                    self.insert(*function, entry.clone());
                }
            }
        }
    }

    /// Returns the entries of the functions for which `is_wanted` returns `true`.
    pub(crate) fn filtered(&self, is_wanted: impl Fn(FunctionId) -> bool) -> Self
    where
        T: Clone,
    {
        let mut some = Functions::default();
        for (function, entry) in self.iter().filter(|(function, _)| is_wanted(*function)) {
            some.insert(function, entry.clone());
        }
        some
    }

    /// Returns all entries for modification, in unspecified order.
    pub(crate) fn entries_mut(&mut self) -> impl Iterator<Item = (FunctionId, &mut T)> {
        self.entries.iter_mut().map(|(id, entry)| (*id, entry))
    }

    /// Returns the entry of a function; `make` creates it if there is none.
    #[inline]
    pub(crate) fn entry(&mut self, function: FunctionId, make: impl FnOnce() -> T) -> &mut T {
        let slot = self.place(function, make);
        &mut self.entries[slot].1
    }

    #[inline]
    fn place(&mut self, function: FunctionId, make: impl FnOnce() -> T) -> usize {
        match self.slot(function) {
            Some(slot) => slot as usize,
            None => self.insert(function, make()),
        }
    }

    /// Returns `true` if the numbers of all functions are below `end`.
    pub(crate) fn is_below(&self, end: u64) -> bool {
        let is_below = |(function, _): &(FunctionId, T)| u64::from(function.0) < end;
        if self.indexed < self.entries.len() {
            // Decoded entries are sorted.
            self.entries.last().is_none_or(is_below)
        } else {
            self.entries.iter().all(is_below)
        }
    }

    #[cold]
    fn insert(&mut self, function: FunctionId, entry: T) -> usize {
        for slot in self.indexed..self.entries.len() {
            self.index(slot);
        }
        let slot = self.entries.len();
        self.entries.push((function, entry));
        self.index(slot);
        self.indexed = slot + 1;
        slot
    }

    fn index(&mut self, slot: usize) {
        let known = slot as u32;
        let Some(function) = self.entries.get(slot).map(|(function, _)| *function) else {
            return;
        };
        if function.0 < NEAR {
            let at = function.0 as usize;
            if self.near.len() <= at {
                self.near.resize(at + 1, NONE);
            }
            self.near[at] = known;
        } else {
            self.far.insert(function.0, known);
        }
    }
}

impl<T: Merge> FromIterator<(FunctionId, T)> for Functions<T> {
    /// Collects entries; those of equal functions are merged.
    fn from_iter<I: IntoIterator<Item = (FunctionId, T)>>(entries: I) -> Self {
        let mut functions = Functions::default();
        for (function, entry) in entries {
            functions.entry(function, T::default).merge(&entry);
        }
        functions
    }
}

impl<T: PartialEq> PartialEq for Functions<T> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl<T: Merge> Merge for Functions<T> {
    fn merge(&mut self, other: &Self) {
        // Ranks of one program have the same functions in the same order, so the next one is mostly
        // at the next place.
        let mut next = 0;
        for (function, entry) in &other.entries {
            match self.entries.get_mut(next) {
                Some((own, mine)) if own == function => mine.merge(entry),
                _ => {
                    next = self.place(*function, T::default);
                    self.entries[next].1.merge(entry);
                }
            }
            next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Moments;

    #[test]
    fn high_ids_take_no_more_space_than_low_ones() {
        let mut functions = Functions::<Moments>::default();
        for id in [u32::MAX, 0, NEAR, NEAR - 1] {
            functions
                .entry(FunctionId(id), Moments::default)
                .push(f64::from(id));
        }
        assert_eq!(
            (functions.near.len(), functions.far.len()),
            (NEAR as usize, 2)
        );
        let means: Vec<_> = functions.iter().map(|(id, m)| (id.0, m.mean())).collect();
        let expected = [0, NEAR - 1, NEAR, u32::MAX].map(|id| (id, f64::from(id)));
        assert_eq!(means, expected);
        assert!(functions.get(FunctionId(1)).is_none());
        assert!(functions.get(FunctionId(NEAR + 1)).is_none());
        // Decoded entries are equal, are found, and can be extended.
        let mut to = Writer::default();
        functions.write(&mut to, Moments::encode);
        let read = Functions::read(&mut Reader::new(&to.0), 1, Moments::decode);
        let mut read = read.expect("it was just written");
        assert_eq!(read, functions);
        assert!(read.get(FunctionId(1)).is_none() && read.get(FunctionId(NEAR)).is_some());
        read.entry(FunctionId(1), Moments::default).push(1.0);
        assert_eq!(
            (read.len(), read.near.len(), read.far.len()),
            (5, NEAR as usize, 2)
        );
        for (id, count) in [(0, 1), (1, 1), (2, 0), (u32::MAX, 1)] {
            let found = read.get(FunctionId(id)).map_or(0, Moments::count);
            assert_eq!(found, count, "{id}");
        }
    }
}
