//! [`StepSums`]: sums by step in bounded memory; [`FunctionSteps`]: time lost by function and step.

use crate::format_version::{Reader, Writer};
use crate::server::tree;
use crate::{FunctionId, Result};
use perf_core::{Merge, Nanos};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Largest number of sums of a [`StepSums`]. Beyond it, consecutive steps share a sum.
const MAX_SUMS: u64 = 128;

/// Sums by step, in nanoseconds. Groups of a power of two of consecutive steps share a sum, so that there
/// are at most 128 sums.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StepSums {
    /// Binary logarithm of the number of steps of a group.
    bits: u32,
    /// Sums by group, in ascending order.
    sums: Vec<(u64, i64)>,
}

impl StepSums {
    pub(super) fn add(&mut self, step: u64, lost: i64) {
        let group = step >> self.bits;
        match self.sums.binary_search_by_key(&group, |(known, _)| *known) {
            Ok(at) => self.sums[at].1 = self.sums[at].1.saturating_add(lost),
            Err(at) => self.sums.insert(at, (group, lost)),
        }
        while let (Some((first, _)), Some((last, _))) = (self.sums.first(), self.sums.last())
            && last - first >= MAX_SUMS
        {
            self.coarsen();
        }
    }

    /// Doubles the number of steps of a group.
    fn coarsen(&mut self) {
        self.bits += 1;
        self.sums.iter_mut().for_each(|(group, _)| *group >>= 1);
        self.sums.dedup_by(|right, left| {
            let is_same = left.0 == right.0;
            if is_same {
                left.1 = left.1.saturating_add(right.1);
            }
            is_same
        });
    }

    /// Returns the first step, the last step and the sum of each group.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u64, i64)> {
        let last = (1_u64 << self.bits) - 1;
        let sums = self.sums.iter();
        sums.map(move |(group, lost)| (group << self.bits, (group << self.bits) | last, *lost))
    }

    /// Returns the same sums in later steps.
    pub(super) fn moved(&self, later: u64) -> Self {
        let mut all = StepSums::default();
        for (first, _, lost) in self.iter() {
            all.add(first.saturating_add(later), lost);
        }
        all
    }

    pub(super) fn memory(&self) -> usize {
        self.sums.capacity() * size_of::<(u64, i64)>()
    }

    pub(super) fn write(&self, to: &mut Writer) {
        to.u8(self.bits as u8);
        to.varint(self.sums.len() as u64);
        let mut before = 0;
        for (group, lost) in &self.sums {
            to.varint(group - before);
            to.signed(*lost);
            before = *group;
        }
    }

    pub(super) fn read(from: &mut Reader<'_>) -> Result<Self> {
        let start = *from;
        let wrong = || start.error(0, "at most 128 sums of groups of steps");
        let bits = u32::from(from.u8("the size of a group of steps")?);
        let count = from.varint("a number of sums")?;
        if bits > 63 || count > MAX_SUMS {
            return Err(wrong().into());
        }
        let mut sums = StepSums {
            bits,
            ..StepSums::default()
        };
        let mut group = 0_u64;
        for _ in 0..count {
            let next = group.checked_add(from.varint("a group of steps")?);
            group = next
                .filter(|group| *group <= u64::MAX >> bits)
                .ok_or_else(wrong)?;
            sums.add(group << bits, from.signed("a time lost")?);
        }
        Ok(sums)
    }
}

impl Merge for StepSums {
    fn merge(&mut self, other: &Self) {
        while self.bits < other.bits {
            self.coarsen();
        }
        for (first, _, lost) in other.iter() {
            self.add(first, lost);
        }
    }
}

/// Time lost by function and step. Groups of a power of two of consecutive steps are added up, so that
/// there are at most 128 for each function. Clones share the memory of a function until it changes.
///
/// ```
/// use perf_anomaly::FunctionId;
/// use perf_anomaly::lost_time::FunctionSteps;
/// use perf_core::Nanos;
/// let mut lost = FunctionSteps::default();
/// for step in 0..1000 {
///     lost.add(FunctionId(7), step, 5);
/// }
/// let sums: Vec<_> = lost.iter().collect();
/// assert_eq!((sums.len(), sums[0]), (125, (FunctionId(7), 0, 7, Nanos(40))));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionSteps(BTreeMap<FunctionId, Arc<StepSums>>);

impl FunctionSteps {
    /// Smallest encoded size of a function in bytes.
    const LEAST: usize = 3;

    /// Returns `true` if there are no functions.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of functions.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds time that a function lost in a step, in nanoseconds.
    pub fn add(&mut self, function: FunctionId, step: u64, lost: i64) {
        Arc::make_mut(self.0.entry(function).or_default()).add(step, lost);
    }

    /// Returns the function, the first step, the last step and the time lost of each group of steps.
    pub fn iter(&self) -> impl Iterator<Item = (FunctionId, u64, u64, Nanos)> {
        self.0.iter().flat_map(|(function, sums)| {
            let sums = sums.iter();
            sums.map(|(first, last, lost)| (*function, first, last, Nanos(lost)))
        })
    }

    /// Returns the same times in later steps. A simulation that repeats a recording uses it.
    pub fn moved(&self, later: u64) -> Self {
        let mut all = FunctionSteps::default();
        for (function, first, _, lost) in self.iter() {
            all.add(function, first.saturating_add(later), lost.0);
        }
        all
    }

    /// Returns the numbers of the functions.
    pub(crate) fn functions(&self) -> impl Iterator<Item = FunctionId> {
        self.0.keys().copied()
    }

    /// Returns `true` if the numbers of all functions are below `end`.
    pub(crate) fn is_below(&self, end: u64) -> bool {
        self.functions().all(|one| u64::from(one.0) < end)
    }

    /// Returns the same times with other numbers of functions, without the functions for which `number`
    /// returns `None`.
    pub(crate) fn renumbered(&self, number: impl Fn(FunctionId) -> Option<FunctionId>) -> Self {
        let mut all = FunctionSteps::default();
        for (function, sums) in &self.0 {
            if let Some(function) = number(*function) {
                all.add_sums(function, sums);
            }
        }
        all
    }

    fn add_sums(&mut self, function: FunctionId, sums: &Arc<StepSums>) {
        let known = self.0.entry(function);
        known
            .and_modify(|known| Arc::make_mut(known).merge(sums))
            .or_insert_with(|| Arc::clone(sums));
    }

    /// Returns the memory in bytes.
    pub(crate) fn memory(&self) -> usize {
        let entry = size_of::<(FunctionId, StepSums)>();
        tree(self.len(), entry) + self.0.values().map(|sums| sums.memory()).sum::<usize>()
    }

    pub(crate) fn write(&self, to: &mut Writer) {
        to.u32(self.len() as u32);
        for (function, sums) in &self.0 {
            to.varint(function.0.into());
            sums.write(to);
        }
    }

    /// Reads times from a message, which is empty in versions without them.
    pub(crate) fn read_if_present(from: &mut Reader<'_>) -> Result<Self> {
        let mut all = FunctionSteps::default();
        if !from.context.has_modes {
            return Ok(all);
        }
        for _ in 0..from.count(
            Self::LEAST,
            "a number of functions that fits the remaining bytes",
        )? {
            let function = FunctionId(from.varint32("a function")?);
            all.add_sums(function, &Arc::new(StepSums::read(from)?));
        }
        Ok(all)
    }
}

impl Merge for FunctionSteps {
    fn merge(&mut self, other: &Self) {
        for (function, sums) in &other.0 {
            self.add_sums(*function, sums);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(of: &[(u64, i64)]) -> StepSums {
        let mut sums = StepSums::default();
        of.iter().for_each(|(step, lost)| sums.add(*step, *lost));
        sums
    }

    #[test]
    fn sums_are_kept_in_bounded_memory() {
        let all: Vec<(u64, i64)> = (0..100_000).map(|step| (step, 3)).collect();
        let long = sums(&all);
        assert_eq!((long.sums.len(), long.bits), (98, 10));
        assert_eq!(long.iter().map(|(_, _, lost)| lost).sum::<i64>(), 300_000);
        assert_eq!(long.iter().nth(1), Some((1024, 2047, 3072)));
        // Halves in either order are the whole.
        let (one, two) = (sums(&all[..40_000]), sums(&all[40_000..]));
        for (mut first, second) in [(one.clone(), two.clone()), (two, one)] {
            first.merge(&second);
            assert_eq!(first, long);
        }
        let ends = sums(&[(u64::MAX, i64::MAX), (0, 1), (u64::MAX, 1)]);
        assert_eq!(ends.iter().map(|one| one.1).max(), Some(u64::MAX));
    }

    #[test]
    fn impossible_numbers_are_refused() {
        let read = |bytes: &[u8]| StepSums::read(&mut Reader::new(bytes));
        let mut to = Writer::default();
        let all = sums(&[(7, -5), (9, 4), (300, i64::MIN)]);
        all.write(&mut to);
        assert_eq!(read(&to.0).unwrap(), all);
        // A size of a group, a number of sums and a group that do not exist.
        for bytes in [&[64, 0][..], &[0, 0x81, 1], &[63, 1, 2, 0], &[0, 1]] {
            assert!(read(bytes).is_err(), "{bytes:?}");
        }
    }
}
