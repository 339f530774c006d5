//! Division of a long alignment [`Problem`] into parts at corresponding places, which an alignment
//! of blocks of symbols finds.

use super::{Consensus, MOST_CELLS, Place, Problem};
use crate::monotone::monotone;
use perf_core::{CancellationChecks, Cancelled};
use std::collections::BTreeMap;
use std::ops::Range;

/// Largest number of blocks of a sequence.
const MOST_BLOCKS: usize = 2048;
/// Smallest number of symbols of a block.
const LEAST_BLOCK: usize = 32;
/// Smallest number of blocks between two anchors.
const LEAST_DISTANCE: usize = 8;
/// Smallest number of symbols between two anchors.
const LEAST_PART: usize = 2048;
/// Number of blocks on either side of an anchor within which the exact place is found.
const MARGIN: usize = 8;

/// Corresponding places.
struct Anchors {
    /// Symbols of the sequence and columns of the range, each counted from 0, in ascending order.
    places: Vec<(usize, usize)>,
    /// Number of symbols around an anchor within which the exact place is.
    margin: usize,
}

impl Problem<'_> {
    /// Divides a large problem at its anchors. The cut next to an anchor is taken from an alignment of the bursts
    /// around it. Returns `false` if the problem is small or has no anchor.
    pub(super) fn divided(
        &mut self,
        rows: Range<usize>,
        columns: Range<usize>,
    ) -> Result<bool, Cancelled> {
        if rows.len().saturating_mul(columns.len()) <= MOST_CELLS {
            return Ok(false);
        }
        let sequence = &self.sequence[rows.clone()];
        let anchors = find(self.consensus, sequence, columns.clone(), &mut self.checks)?;
        let (mut row, mut column) = (rows.start, columns.start);
        let mut is_cut = false;
        for &(at, to) in &anchors.places {
            let (at, to) = (rows.start + at, columns.start + to);
            let around = |place: usize, first: usize, end: usize| {
                place.saturating_sub(anchors.margin).max(first)..(place + anchors.margin).min(end)
            };
            if at <= row || to <= column {
                continue;
            }
            let near = around(at, row, rows.end);
            self.solve(near.clone(), around(to, column, columns.end))?;
            let cut = (at..near.end).find_map(|row| match self.places.get(row) {
                Some(Place::Column(column)) => Some((row, *column as usize)),
                _ => None,
            });
            if let Some((next, to)) = cut {
                self.solve(row..next, column..to)?;
                (row, column, is_cut) = (next, to, true);
            }
        }
        if is_cut {
            self.solve(row..rows.end, column..columns.end)?;
        }
        Ok(is_cut)
    }
}

/// Aligns blocks of a sequence with blocks of columns. The gain of two blocks is the worth of their common symbols,
/// minus half of the worth of the symbols of the sequence. An anchor is the begin of a block whose neighbours
/// are aligned like the block itself.
fn find(
    consensus: &Consensus,
    sequence: &[u32],
    columns: Range<usize>,
    checks: &mut CancellationChecks<'_>,
) -> Result<Anchors, Cancelled> {
    let longest = sequence.len().max(columns.len());
    let block = longest.div_ceil(MOST_BLOCKS).max(LEAST_BLOCK);
    let wide = columns.len().div_ceil(block);
    // Symbols of each block of the sequence with their numbers.
    let blocks: Vec<BTreeMap<u32, i64>> = sequence
        .chunks(block)
        .map(|symbols| {
            let mut counts = BTreeMap::new();
            for symbol in symbols {
                *counts.entry(*symbol).or_default() += 1;
            }
            counts
        })
        .collect();
    // Number of columns of each block that contain a symbol, by symbol.
    let mut there: BTreeMap<u32, Vec<i64>> = BTreeMap::new();
    for symbol in blocks.iter().flat_map(BTreeMap::keys) {
        there.entry(*symbol).or_insert_with(|| {
            let mut counts = vec![0; wide];
            for (column, _) in consensus.pairs(*symbol, columns.start, columns.end) {
                counts[(*column as usize - columns.start) / block] += 1;
            }
            counts
        });
    }
    let mut gains = vec![0_i64; blocks.len() * wide];
    for (counts, gains) in blocks.iter().zip(gains.chunks_mut(wide)) {
        checks.next(wide * counts.len())?;
        for (symbol, count) in counts {
            let worth = i64::from(consensus.best(*symbol).max(0));
            for (gain, there) in gains.iter_mut().zip(&there[symbol]) {
                *gain += (2 * count.min(there) - count) * worth;
            }
        }
    }
    let pairs = monotone(blocks.len(), wide, |row, column| {
        gains[row * wide + column] as f64
    });
    let distance = LEAST_DISTANCE.max(LEAST_PART.div_ceil(block));
    let mut places: Vec<(usize, usize)> = Vec::new();
    for near in pairs.windows(3) {
        let [before, (row, column), after] = *near else {
            continue;
        };
        let is_straight = before == (row - 1, column - 1) && after == (row + 1, column + 1);
        let is_far = places
            .last()
            .is_none_or(|last| row * block >= last.0 + distance * block);
        if is_straight && is_far {
            places.push((row * block, column * block));
        }
    }
    Ok(Anchors {
        places,
        margin: MARGIN * block,
    })
}

#[cfg(test)]
mod tests {
    use super::super::consensus::{Consensus, Worth};
    use super::super::{Place, Scratch, align};
    use perf_core::Job;
    use perf_testdata::xorshift::Xorshift;

    /// Long sequences with a long insertion, a long deletion and many short ones keep nearly all planted pairs.
    #[test]
    fn divided_sequences_keep_planted_pairs() {
        for seed in 1..=4 {
            let mut random = Xorshift::new(seed);
            // Loops of different bodies, with symbols in between that differ.
            let mut base: Vec<u32> = Vec::new();
            while base.len() < 24_000 {
                let body: Vec<u32> = (0..3 + random.below(9))
                    .map(|_| random.below(8) as u32)
                    .collect();
                for _ in 0..20 + random.below(200) {
                    base.extend(&body);
                    if random.below(6) == 0 {
                        base.push(random.below(8) as u32);
                    }
                }
            }
            let (mut sequence, mut planted) = (Vec::new(), 0);
            for (column, symbol) in base.iter().enumerate() {
                if (9_000..12_000).contains(&column) || random.below(50) == 0 {
                    continue;
                }
                let added = if column == 18_000 {
                    2_500
                } else {
                    u64::from(random.below(50) == 0)
                };
                for _ in 0..added {
                    sequence.push(random.below(8) as u32);
                }
                sequence.push(*symbol);
                planted += 1;
            }
            let worths = Worth::new(&[1; 8], &[0.3, 0.2, 0.2, 0.1, 0.1, 0.05, 0.03, 0.02]);
            let consensus = Consensus::of_sequence(&base, &worths, 8);
            let job = Job::default();
            let places = align(
                &consensus,
                &sequence,
                1 << 26,
                &mut Scratch::default(),
                &job,
            )
            .expect("not cancelled");
            let mut next = 0;
            let mut equal = 0;
            for (symbol, place) in sequence.iter().zip(&places) {
                if let Place::Column(column) = *place {
                    assert!(column >= next);
                    next = column + 1;
                    equal += usize::from(base[column as usize] == *symbol);
                }
            }
            assert!(
                equal * 100 >= planted * 98,
                "seed {seed}: {equal} of {planted}"
            );
        }
    }
}
