//! [`sort()`]: sorts the events of a batch, each an [`Entry`], by time with a radix sort.

/// An event of a batch: its time relative to the start of the batch, and its position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    /// Time relative to the start of the batch.
    pub(super) offset: u64,
    /// Index of the stream.
    pub(super) stream: u32,
    /// Index of the event in the current and next block.
    pub(super) index: u32,
}

/// Maximum number of bits in one pass: its counters take 16 KiB, which fits the first-level cache.
const DIGIT: u32 = 11;
/// Fewer entries for each pass are sorted by comparison, because a pass visits all its counters.
const FEW: usize = 512;

/// Sorts `entries` by time, keeping the order of those at the same time. `spare` is scratch memory.
///
/// The method is a stable radix sort over the bits in which the times differ. Its cost does not
/// depend on the distribution of times.
pub(super) fn sort(entries: &mut Vec<Entry>, spare: &mut Vec<Entry>) {
    let used = entries.iter().fold(0, |all, entry| all | entry.offset);
    let bits = u64::BITS - used.leading_zeros();
    let passes = bits.div_ceil(DIGIT);
    if passes == 0 {
        return;
    }
    if entries.len() < FEW * passes as usize {
        entries.sort_by_key(|entry| entry.offset);
        return;
    }
    let width = bits.div_ceil(passes);
    spare.resize(entries.len(), Entry::default());
    for pass in 0..passes {
        scatter(entries, spare, pass * width, width);
        std::mem::swap(entries, spare);
    }
}

/// One pass of the sort: distributes by `width` bits of the time, from bit `shift` on.
fn scatter(from: &[Entry], to: &mut [Entry], shift: u32, width: u32) {
    let digit = |entry: &Entry| (entry.offset >> shift) as usize & ((1 << width) - 1);
    let mut places = [0_usize; 1 << DIGIT];
    for entry in from {
        if let Some(count) = places.get_mut(digit(entry)) {
            *count += 1;
        }
    }
    let mut before = 0;
    for place in &mut places {
        let count = *place;
        *place = before;
        before += count;
    }
    for entry in from {
        if let Some(place) = places.get_mut(digit(entry)) {
            if let Some(slot) = to.get_mut(*place) {
                *slot = *entry;
            }
            *place += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn it_is_a_stable_sort(
            offsets in prop::collection::vec(any::<u64>(), 0..9000), shift in 0u32..64,
        ) {
            let entry = |(index, offset): (u32, u64)| Entry { offset: offset >> shift, stream: 0, index };
            let mut entries: Vec<Entry> = (0..).zip(offsets).map(entry).collect();
            let mut wanted = entries.clone();
            wanted.sort_by_key(|entry| entry.offset);
            sort(&mut entries, &mut vec![Entry::default(); 3]);
            prop_assert_eq!(entries, wanted);
        }
    }
}
