//! [`align`]: optimal alignment of one sequence with a consensus in little memory.
//!
//! Values follow the recurrence of Needleman and Wunsch, with costs of gaps proportional to their
//! length:
//!
//! ```text
//! H[i][j] = max(H[i-1][j-1] + pair(i, j), H[i-1][j] - GAP, H[i][j-1] - skip(j))
//! ```
//!
//! With `D[j]` the cost of skipping the first `j` columns and `G = H + D`, the last of the three
//! cases is `G[i][j-1]`. A row is therefore first computed from the row above, in any order, and then
//! replaced by its running maximum.
//!
//! Three optimisations do not change the worth of the result. First, columns at either end in which
//! all threads have the symbol of the sequence are paired at once. This pairing has the highest worth
//! and skipping has the highest cost, so that any other alignment can be exchanged for one that pairs
//! them. Second, a band around the diagonal is tried, and accepted if no path that leaves the band can
//! be worth more; otherwise its result determines the required width. A wide band is replaced by the
//! whole table in [`striped_table`]. Third, if either would take too much memory, the problem is halved
//! with Hirschberg's method.
//!
//! Sequences for which that would take more than [`MOST_CELLS`] cells are first divided at the
//! [`anchors`] of a coarse alignment. The parts are aligned optimally, the whole only nearly.

mod anchors;
pub(super) mod consensus;
mod striped_table;

use consensus::Consensus;
use perf_core::{CancellationChecks, Cancelled, Job};
use std::ops::Range;
use striped_table::Stripes;

/// Cost of a gap, and of a pair of different symbols.
pub(super) const GAP: i32 = 16;
/// Smallest worth of a symbol: two gaps. A pair is worth at least half of it, so that one pair justifies
/// skipping one column.
pub(super) const MIN_WORTH: i32 = 32;
/// Largest worth of a symbol. With sequences of length [`LONGEST`] no sum overflows.
pub(super) const MAX_WORTH: i32 = 512;
/// Largest length of a sequence and a consensus.
pub(super) const LONGEST: usize = 1 << 20;

const NEVER: i32 = i32::MIN / 2;
/// Number of cells above which sequences that differ much are divided.
const MOST_CELLS: usize = 1 << 28;
/// Half the width of the first band.
const FIRST_BAND: usize = 32;
/// Time for a cell of a band divided by the time for a cell of the whole table, measured as about 3.
const BAND_COST: usize = 3;

const UP: u8 = 0;
const DIAGONAL: u8 = 1;
const LEFT: u8 = 2;

/// Position of a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In a column of the consensus.
    Column(u32),
    /// Before a column of the consensus, or after the last one.
    Before(u32),
}

/// Reusable buffers.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// Previous row.
    old: Vec<i32>,
    /// Current row.
    new: Vec<i32>,
    /// Bonus of each column for the current symbol.
    bonus: Vec<i32>,
    /// Direction of each cell.
    directions: Vec<u8>,
    /// Buffers of the whole table.
    stripes: Stripes,
}

/// Returns the position of each burst of `sequence`. `memory` is the memory budget in bytes for
/// directions or the whole table. Makes cancellation checks by the number of computed cells.
pub(super) fn align(
    consensus: &Consensus,
    sequence: &[u32],
    memory: usize,
    scratch: &mut Scratch,
    job: &Job,
) -> Result<Vec<Place>, Cancelled> {
    let mut problem = Problem {
        consensus,
        sequence,
        memory,
        scratch,
        places: vec![Place::Before(0); sequence.len()],
        checks: job.checks(),
    };
    problem.solve(0..sequence.len(), 0..consensus.len())?;
    Ok(problem.places)
}

struct Problem<'a> {
    /// Consensus to align with.
    consensus: &'a Consensus,
    /// Sequence to align.
    sequence: &'a [u32],
    /// Memory budget in bytes.
    memory: usize,
    /// Reusable buffers.
    scratch: &'a mut Scratch,
    /// Positions found so far.
    places: Vec<Place>,
    /// Cancellation checks.
    checks: CancellationChecks<'a>,
}

/// Range of columns `j` that row `i` covers: `i + low ..= i + high`, within the columns.
#[derive(Clone, Copy, Debug)]
struct Band {
    /// Lowest diagonal.
    low: i64,
    /// Highest diagonal.
    high: i64,
}

impl Band {
    fn row(self, row: usize, columns: usize) -> (usize, usize) {
        let at = |offset: i64| (row as i64 + offset).clamp(0, columns as i64) as usize;
        (at(self.low), at(self.high))
    }

    fn width(self) -> usize {
        (self.high - self.low + 1) as usize
    }
}

impl Problem<'_> {
    fn symbol(&self, row: usize) -> u32 {
        self.sequence[row]
    }

    fn put(&mut self, row: usize, place: Place) {
        if let Some(slot) = self.places.get_mut(row) {
            *slot = place;
        }
    }

    fn solve(
        &mut self,
        mut rows: Range<usize>,
        mut columns: Range<usize>,
    ) -> Result<(), Cancelled> {
        let all = |column: usize| self.consensus.all.get(column).copied().flatten();
        let (first_row, first_column) = (rows.start, columns.start);
        while !rows.is_empty() && !columns.is_empty() {
            if all(columns.start) != Some(self.symbol(rows.start)) {
                break;
            }
            (rows.start, columns.start) = (rows.start + 1, columns.start + 1);
        }
        let (last_row, last_column) = (rows.end, columns.end);
        while !rows.is_empty() && !columns.is_empty() {
            if all(columns.end - 1) != Some(self.symbol(rows.end - 1)) {
                break;
            }
            (rows.end, columns.end) = (rows.end - 1, columns.end - 1);
        }
        for row in first_row..rows.start {
            self.put(row, Place::Column((first_column + row - first_row) as u32));
        }
        for row in rows.end..last_row {
            self.put(row, Place::Column((last_column - (last_row - row)) as u32));
        }
        if rows.is_empty() {
            return Ok(());
        }
        if columns.is_empty() {
            for row in rows {
                self.put(row, Place::Before(columns.end as u32));
            }
            return Ok(());
        }
        if self.banded(rows.clone(), columns.clone())?
            || self.divided(rows.clone(), columns.clone())?
        {
            return Ok(());
        }
        let middle = rows.start + rows.len() / 2;
        let above = self.last_row(rows.start..middle, columns.clone(), false)?;
        let below = self.last_row(middle..rows.end, columns.clone(), true)?;
        let both = above.iter().zip(below.iter().rev()).map(|(a, b)| a + b);
        // Takes the first of equal values.
        let best = both.enumerate().fold((0, i32::MIN), |best, (at, worth)| {
            if worth > best.1 { (at, worth) } else { best }
        });
        let cut = columns.start + best.0;
        self.solve(rows.start..middle, columns.start..cut)?;
        self.solve(middle..rows.end, cut..columns.end)
    }

    /// Solves the problem within a sufficiently wide band or with the whole table. Returns `false` if
    /// that takes too much memory.
    fn banded(&mut self, rows: Range<usize>, columns: Range<usize>) -> Result<bool, Cancelled> {
        let (n, width) = (rows.len() as i64, columns.len() as i64);
        let off = width - n;
        // Largest worth of each row, and the smallest loss of a row without a column.
        let symbols = &self.sequence[rows.clone()];
        let most: i64 = symbols
            .iter()
            .map(|s| i64::from(self.consensus.best(*s)))
            .sum();
        let loss = symbols
            .iter()
            .map(|s| i64::from(self.consensus.best(*s) + GAP))
            .min();
        let skips = &self.consensus.skip[columns.clone()];
        let skip = skips.iter().copied().min().map_or(1, i64::from);
        let loss = loss.unwrap_or(0).max(0);
        let mut half = FIRST_BAND as i64;
        loop {
            let band = Band {
                low: (off.min(0) - half).max(-n),
                high: (off.max(0) + half).min(width),
            };
            let is_last = band.low == -n && band.high == width;
            if band.width().saturating_mul(BAND_COST) > columns.len()
                && striped_table::fits(rows.len(), columns.len(), self.memory)
            {
                self.whole(rows, columns)?;
                return Ok(true);
            }
            if rows.len().saturating_mul(band.width()) > self.memory && rows.len() > 1 {
                return Ok(false);
            }
            let found = i64::from(self.fill(rows.clone(), columns.clone(), band)?);
            // A path that leaves the band skips a column, or has a row without a column, for each
            // step off the diagonal and back to the end.
            let beyond_high = most - (band.high + 1 - off) * loss - (band.high + 1) * skip;
            let beyond_low = most - (1 - band.low) * loss - (1 - band.low + off) * skip;
            let is_proven = (band.high == width || beyond_high <= found)
                && (band.low == -n || beyond_low <= found);
            if is_last || is_proven {
                self.trace(rows, columns, band);
                return Ok(true);
            }
            // Any wider band finds a worth of at least `found`, so this width is sufficient.
            half = (half + 1).max((most - found) / (loss + skip) + 1);
        }
    }

    /// Solves the problem with the whole table.
    fn whole(&mut self, rows: Range<usize>, columns: Range<usize>) -> Result<(), Cancelled> {
        let symbols = &self.sequence[rows.clone()];
        let places = &mut self.places[rows];
        let put = &mut |row: usize, place| {
            if let Some(slot) = places.get_mut(row) {
                *slot = place;
            }
        };
        striped_table::solve(
            self.consensus,
            symbols,
            columns,
            &mut self.scratch.stripes,
            put,
            &mut self.checks,
        )
    }

    /// Computes the directions of a band and returns the worth of its best path.
    fn fill(
        &mut self,
        rows: Range<usize>,
        columns: Range<usize>,
        band: Band,
    ) -> Result<i32, Cancelled> {
        let width = columns.len();
        let Scratch {
            old,
            new,
            bonus,
            directions,
            ..
        } = &mut *self.scratch;
        for buffer in [&mut *old, &mut *new] {
            buffer.clear();
            buffer.resize(width + 1, NEVER);
        }
        directions.clear();
        directions.resize(rows.len() * band.width(), UP);
        let (_, mut last) = band.row(0, width);
        if let Some(first) = old.get_mut(..=last) {
            first.fill(0);
        }
        for (row, index) in rows.clone().enumerate() {
            let row = row + 1;
            let (low, high) = band.row(row, width);
            self.checks.next(high - low + 1)?;
            for slot in old.iter_mut().take(high + 1).skip(last + 1) {
                *slot = NEVER;
            }
            last = high;
            let symbol = self.sequence[index];
            let from = low.max(1);
            let part = columns.start + from - 1..columns.start + high;
            bonuses(self.consensus, symbol, part, bonus);
            // The direction of column j is at j - (row + band.low).
            let first = (row - 1) * band.width();
            let shift = (low as i64 - (row as i64 + band.low)) as usize;
            let start = first + shift;
            let Some(directions) = directions.get_mut(start..start + (high - low + 1)) else {
                continue;
            };
            step(old, new, bonus, (low, high), Some(directions));
            std::mem::swap(old, new);
        }
        let left_out: i32 = self.consensus.skip[columns].iter().sum();
        Ok(old[width] - left_out)
    }

    fn trace(&mut self, rows: Range<usize>, columns: Range<usize>, band: Band) {
        let (mut row, mut column) = (rows.len(), columns.len());
        while row > 0 {
            let offset = column as i64 - (row as i64 + band.low);
            let at = (row - 1) * band.width() + offset.max(0) as usize;
            match self.scratch.directions[at] {
                UP => {
                    row -= 1;
                    self.put(
                        rows.start + row,
                        Place::Before((columns.start + column) as u32),
                    );
                }
                DIAGONAL if column > 0 => {
                    (row, column) = (row - 1, column - 1);
                    self.put(
                        rows.start + row,
                        Place::Column((columns.start + column) as u32),
                    );
                }
                _ => column = column.saturating_sub(1),
            }
        }
    }

    /// Computes the last row of `H`: for each `j` the worth of all `rows` against the first `j` columns,
    /// or with `reversed` against the last `j` columns.
    fn last_row(
        &mut self,
        rows: Range<usize>,
        columns: Range<usize>,
        reversed: bool,
    ) -> Result<Vec<i32>, Cancelled> {
        let width = columns.len();
        let Scratch {
            old, new, bonus, ..
        } = &mut *self.scratch;
        old.clear();
        old.resize(width + 1, 0);
        new.clear();
        new.resize(width + 1, 0);
        for step_index in 0..rows.len() {
            self.checks.next(width)?;
            let index = if reversed {
                rows.end - 1 - step_index
            } else {
                rows.start + step_index
            };
            let symbol = self.sequence[index];
            bonuses(self.consensus, symbol, columns.clone(), bonus);
            if reversed {
                bonus.reverse();
            }
            step(old, new, bonus, (0, width), None);
            std::mem::swap(old, new);
        }
        let skips = &self.consensus.skip[columns];
        let mut left_out = 0;
        let mut skip = |j: usize| {
            let cost = j.checked_sub(1).and_then(|j| {
                if reversed {
                    skips.get(skips.len() - 1 - j)
                } else {
                    skips.get(j)
                }
            });
            left_out += cost.copied().unwrap_or(0);
            left_out
        };
        let worths = old.iter().enumerate();
        Ok(worths.map(|(j, worth)| worth - skip(j)).collect())
    }
}

/// Computes for each of `columns` the worth of a pair with `symbol` plus the saved cost of skipping
/// the column.
fn bonuses(consensus: &Consensus, symbol: u32, columns: Range<usize>, bonus: &mut Vec<i32>) {
    bonus.clear();
    let skips = &consensus.skip[columns.clone()];
    bonus.extend(skips.iter().map(|skip| skip - GAP));
    for (column, worth) in consensus.pairs(symbol, columns.start, columns.end) {
        if let Some(slot) = bonus.get_mut(*column as usize - columns.start) {
            *slot += worth + GAP;
        }
    }
}

/// Computes one row from the row above, for columns `low..=high`, and its directions if requested.
/// `bonus` begins at column `max(low, 1)`.
#[inline]
fn step(
    old: &[i32],
    new: &mut [i32],
    bonus: &[i32],
    (low, high): (usize, usize),
    directions: Option<&mut [u8]>,
) {
    let from = low.max(1);
    let (Some(diagonal), Some(up), Some(row)) = (
        old.get(from - 1..high),
        old.get(from..=high),
        new.get_mut(low..=high),
    ) else {
        return;
    };
    let (edge, inner) = row.split_at_mut(from - low);
    // Column 0 has no left neighbour.
    let mut best = NEVER;
    if let (Some(slot), Some(above)) = (edge.first_mut(), old.first()) {
        *slot = above - GAP;
        best = *slot;
    }
    match directions {
        Some(directions) => {
            let (_, directions) = directions.split_at_mut(from - low);
            for ((((slot, direction), diagonal), up), bonus) in inner
                .iter_mut()
                .zip(&mut *directions)
                .zip(diagonal)
                .zip(up)
                .zip(bonus)
            {
                let (diagonal, up) = (diagonal + bonus, up - GAP);
                *slot = diagonal.max(up);
                *direction = u8::from(diagonal >= up);
            }
            for (slot, direction) in inner.iter_mut().zip(directions) {
                *direction = if *slot >= best { *direction } else { LEFT };
                best = best.max(*slot);
                *slot = best;
            }
        }
        None => {
            for (((slot, diagonal), up), bonus) in inner.iter_mut().zip(diagonal).zip(up).zip(bonus)
            {
                *slot = (diagonal + bonus).max(up - GAP);
            }
            for slot in inner {
                best = best.max(*slot);
                *slot = best;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::consensus::Worth;
    use super::*;
    use proptest::prelude::*;

    /// Reference implementation: the whole table.
    fn naive(consensus: &Consensus, sequence: &[u32]) -> i32 {
        let columns = consensus.len();
        let mut table = vec![vec![0; columns + 1]; sequence.len() + 1];
        for j in 1..=columns {
            table[0][j] = table[0][j - 1] - consensus.skip[j - 1];
        }
        for i in 1..=sequence.len() {
            table[i][0] = table[i - 1][0] - GAP;
            for j in 1..=columns {
                table[i][j] = (table[i - 1][j - 1] + pair(consensus, sequence[i - 1], j - 1))
                    .max(table[i - 1][j] - GAP)
                    .max(table[i][j - 1] - consensus.skip[j - 1]);
            }
        }
        table[sequence.len()][columns]
    }

    fn pair(consensus: &Consensus, symbol: u32, column: usize) -> i32 {
        let found = consensus.pairs(symbol, column, column + 1);
        found.first().map_or(-GAP, |(_, worth)| *worth)
    }

    /// Returns the worth of an alignment, after checking that it is valid.
    fn worth(consensus: &Consensus, sequence: &[u32], places: &[Place]) -> i32 {
        assert_eq!(places.len(), sequence.len());
        let (mut next, mut worth) = (0, 0);
        for (symbol, place) in sequence.iter().zip(places) {
            let (to, gain) = match *place {
                Place::Column(column) => {
                    (column as usize, pair(consensus, *symbol, column as usize))
                }
                Place::Before(column) => (column as usize, -GAP),
            };
            assert!(to >= next && to <= consensus.len(), "{places:?}");
            worth += gain - consensus.skip[next..to].iter().sum::<i32>();
            next = to + usize::from(matches!(place, Place::Column(_)));
        }
        worth - consensus.skip[next..].iter().sum::<i32>()
    }

    fn columns() -> impl Strategy<Value = Vec<Vec<(u32, u64)>>> {
        let column = prop::collection::btree_map(0u32..6, 1u64..4, 1..3);
        prop::collection::vec(column, 0..90).prop_map(|columns| {
            columns
                .into_iter()
                .map(|column| column.into_iter().collect())
                .collect()
        })
    }

    proptest! {
        #[test]
        fn as_good_as_the_whole_table(
            columns in columns(),
            sequence in prop::collection::vec(0u32..7, 0..90),
            memory in prop::sample::select(vec![0usize, 40, 400, 1 << 20]),
            shares in prop::collection::vec(0.0f64..1.0, 7),
        ) {
            let worths = Worth::new(&[9, 3, 1, 1, 40, 5, 2], &shares);
            let consensus = Consensus::new(&columns, 8, &worths, 7);
            let places = align(&consensus, &sequence, memory, &mut Scratch::default(), &Job::default())
                .expect("not cancelled");
            prop_assert_eq!(worth(&consensus, &sequence, &places), naive(&consensus, &sequence));
        }

        /// Nearly equal sequences: the band is narrow and the ends are paired at once.
        #[test]
        fn as_good_where_little_differs(
            base in prop::collection::vec(0u32..5, 1..900),
            edits in prop::collection::vec((0usize..900, 0u32..3, 0u32..6), 0..12),
            memory in prop::sample::select(vec![0usize, 3_000, 1 << 16, 1 << 20]),
        ) {
            let mut sequence = base.clone();
            for (at, what, symbol) in edits {
                let at = at % (sequence.len() + 1);
                match what {
                    0 => sequence.insert(at, symbol),
                    1 if at < sequence.len() => { sequence.remove(at); }
                    _ if at < sequence.len() => sequence[at] = symbol,
                    _ => {}
                }
            }
            let worths = Worth::new(&[1; 7], &[0.4, 0.3, 0.1, 0.1, 0.05, 0.05, 0.0]);
            let consensus = Consensus::of_sequence(&base, &worths, 7);
            let places = align(&consensus, &sequence, memory, &mut Scratch::default(), &Job::default())
                .expect("not cancelled");
            prop_assert_eq!(worth(&consensus, &sequence, &places), naive(&consensus, &sequence));
        }
    }
}
