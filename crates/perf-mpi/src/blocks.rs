//! Division of items into one block for each rank, also by weight, and of long messages into pieces
//! that fit into MPI calls.

use std::ops::Range;

/// Maximum number of bytes in one MPI call, whose counts have 31 bits.
pub(crate) const PIECE: usize = 1 << 28;

/// Returns at most `piece` bytes, starting at a position.
pub(crate) fn part(bytes: &[u8], from: usize, piece: usize) -> &[u8] {
    let from = from.min(bytes.len());
    let to = from.saturating_add(piece).min(bytes.len());
    &bytes[from..to]
}

/// Returns counts and positions of consecutive parts. They fit into 31 bits, because a call has at
/// most [`PIECE`] bytes, or one byte for each rank.
pub(crate) fn partition(parts: &[usize]) -> (Vec<i32>, Vec<i32>) {
    let counts: Vec<i32> = parts.iter().map(|part| *part as i32).collect();
    let mut at = 0;
    let displs = counts.iter().map(|count| {
        let start = at;
        at += count;
        start
    });
    let displs = displs.collect();
    (counts, displs)
}

/// Returns the block of one of `size` ranks among `things` items.
pub(crate) fn block(things: usize, rank: usize, size: usize) -> Range<usize> {
    let (each, more) = (things / size.max(1), things % size.max(1));
    let start = |rank: usize| rank * each + rank.min(more);
    start(rank)..start(rank + 1)
}

/// Divides weighted items into one block for each rank, in order. No block exceeds its share by
/// more than one item.
pub(crate) fn weighted(weights: &[u64], size: usize) -> Vec<Range<usize>> {
    let total: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
    let (mut blocks, mut at, mut sum) = (Vec::with_capacity(size), 0, 0_u128);
    for rank in 1..=size as u128 {
        let start = at;
        let share = total * rank / size.max(1) as u128;
        while let Some(weight) = weights.get(at) {
            // An item belongs to the block that contains its middle; the last rank takes the rest.
            if rank < size as u128 && sum + u128::from(*weight) / 2 >= share {
                break;
            }
            sum += u128::from(*weight);
            at += 1;
        }
        blocks.push(start..at);
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_all_things_once() {
        for things in 0..40 {
            for size in 1..9 {
                let blocks: Vec<_> = (0..size).map(|rank| block(things, rank, size)).collect();
                let all: Vec<usize> = blocks.iter().cloned().flatten().collect();
                assert!(all.iter().copied().eq(0..things), "{things} {size}");
                let lens = || blocks.iter().map(ExactSizeIterator::len);
                assert!(lens().max() <= lens().min().map(|len| len + 1));
                let weights: Vec<u64> = (0..things as u64).map(|at| at * 7 % 5).collect();
                let blocks = weighted(&weights, size);
                assert_eq!(blocks.len(), size);
                assert!(
                    blocks.into_iter().flatten().eq(0..things),
                    "{things} {size}"
                );
            }
        }
    }

    #[test]
    fn heavy_things_are_shared_out() {
        let blocks = weighted(&[10, 10, 10, 10, 40], 2);
        assert_eq!(blocks, [0..4, 4..5]);
        let lens = weighted(&[0, 0, 0], 2).into_iter().map(|block| block.len());
        assert_eq!(lens.sum::<usize>(), 3);
    }

    #[test]
    fn parts_are_cut_at_the_end() {
        assert_eq!(part(&[1, 2, 3], 2, 5), [3]);
        assert!(part(&[1, 2, 3], 7, 5).is_empty());
        assert_eq!(partition(&[3, 0, 2]), (vec![3, 0, 2], vec![0, 3, 3]));
    }
}
