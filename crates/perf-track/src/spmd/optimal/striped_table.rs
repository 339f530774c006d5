//! [`solve`]: dynamic-programming table of one alignment, computed eight columns at a time.
//!
//! A row is a running maximum, which is sequential over the columns. The columns are therefore
//! split into eight segments of equal length that are processed in parallel, one in each lane
//! (Farrar's striped layout, 2007). For each segment the maximum of all segments before it is stored
//! with the row and applied when the row is read. The values of all rows are stored and the path
//! is traced back through them, so that no directions are computed. The path is the same as with
//! directions.
//!
//! The values are integers below 2^24, which `f32` represents exactly. The maximum of two `f32` is one
//! instruction on every processor, while the maximum of two `i32` is four on many.

use super::consensus::Consensus;
use super::{GAP, MAX_WORTH, Place};
use perf_core::{CancellationChecks, Cancelled};
use std::ops::Range;

const LANES: usize = 8;
/// Values of the columns at the same step of their segments.
type Lanes = [f32; LANES];
/// Less than the worth of any path.
const NEVER: f32 = -33_554_432.0;
/// Number of rows and columns up to which every value is exact. Each row adds at most [`MAX_WORTH`], and each
/// row and column costs at most [`GAP`].
const LARGEST: usize = (1 << 24) / (MAX_WORTH + GAP) as usize / 2;

/// Returns the larger of two numbers. Unlike `f32::max`, the comparison compiles to one instruction.
#[inline(always)]
fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// Reusable buffers.
#[derive(Debug, Default)]
pub(super) struct Stripes {
    /// Position of each column among the flattened lanes of a row.
    spot: Vec<u32>,
    /// Index of the profile of each symbol in `profiles`; 0 for symbols in no column.
    profile_of: Vec<u32>,
    /// For each symbol of the sequence the worth of a pair with each column plus the saved cost of
    /// skipping the column. The first profile is for symbols in no column.
    profiles: Vec<Lanes>,
    /// Values, row after row. The first row precedes the first symbol.
    cells: Vec<Lanes>,
    /// For each row and each segment the maximum of all segments before it.
    carried: Vec<Lanes>,
}

/// Returns `true` if the values of a table are exact and take at most `memory` bytes.
pub(super) fn fits(rows: usize, columns: usize, memory: usize) -> bool {
    // There are at most as many profiles as rows.
    let cells = 2 * (rows + 2).saturating_mul(columns + 2 * LANES);
    rows.max(columns) <= LARGEST && cells.saturating_mul(size_of::<f32>()) <= memory
}

/// Finds the best path of `symbols` through a non-empty range of columns and returns the position
/// of each symbol.
pub(super) fn solve(
    consensus: &Consensus,
    symbols: &[u32],
    columns: Range<usize>,
    stripes: &mut Stripes,
    put: &mut dyn FnMut(usize, Place),
    checks: &mut CancellationChecks<'_>,
) -> Result<(), Cancelled> {
    let mut table = Table {
        consensus,
        symbols,
        steps: columns.len().div_ceil(LANES),
        columns: columns.clone(),
        stripes,
    };
    table.lay(checks)?;
    table.fill(checks)?;
    let (mut row, mut column) = (symbols.len(), columns.len());
    while row > 0 {
        let Some(left) = column.checked_sub(1) else {
            row -= 1;
            put(row, Place::Before(columns.start as u32));
            continue;
        };
        let bonus = table.bonus(symbols[row - 1], left);
        let diagonal = table.value(row - 1, left) + bonus;
        let up = table.value(row - 1, column) - GAP as f32;
        if larger(diagonal, up) < table.value(row, left) {
            column = left;
        } else if diagonal >= up {
            (row, column) = (row - 1, left);
            put(row, Place::Column((columns.start + column) as u32));
        } else {
            row -= 1;
            put(row, Place::Before((columns.start + column) as u32));
        }
    }
    Ok(())
}

struct Table<'a> {
    /// Consensus to align with.
    consensus: &'a Consensus,
    /// Symbols to align.
    symbols: &'a [u32],
    /// Columns of the consensus.
    columns: Range<usize>,
    /// Number of columns of a segment.
    steps: usize,
    /// Reusable buffers.
    stripes: &'a mut Stripes,
}

impl Table<'_> {
    /// Assigns the columns to lanes and fills the profiles of the symbols.
    fn lay(&mut self, checks: &mut CancellationChecks<'_>) -> Result<(), Cancelled> {
        let Stripes {
            spot,
            profile_of,
            profiles,
            cells,
            carried,
        } = &mut *self.stripes;
        let (steps, Range { start, end }) = (self.steps, self.columns.clone());
        let place = |column: usize| (column % steps * LANES + column / steps) as u32;
        spot.clear();
        spot.extend((0..end - start).map(place));
        profiles.clear();
        profiles.resize(steps, [0.0; LANES]);
        let flat = profiles.as_flattened_mut();
        let skips = self.consensus.skip.get(start..end);
        for (spot, skip) in spot.iter().zip(skips.unwrap_or_default()) {
            flat[*spot as usize] = (skip - GAP) as f32;
        }
        profile_of.clear();
        for symbol in self.symbols {
            let slot = *symbol as usize;
            if slot >= profile_of.len() {
                profile_of.resize(slot + 1, u32::MAX);
            }
            let pairs = self.consensus.pairs(*symbol, start, end);
            if profile_of[slot] != u32::MAX {
                continue;
            }
            if pairs.is_empty() {
                profile_of[slot] = 0;
                continue;
            }
            checks.next(steps * LANES)?;
            profile_of[slot] = (profiles.len() / steps) as u32;
            let first = profiles.len();
            profiles.extend_from_within(..steps);
            let flat = profiles[first..].as_flattened_mut();
            for (column, worth) in pairs {
                flat[spot[*column as usize - start] as usize] += (worth + GAP) as f32;
            }
        }
        let rows = self.symbols.len() + 1;
        if cells.len() < rows * steps {
            // Existing content is overwritten.
            cells.resize(rows * steps, [0.0; LANES]);
        }
        cells[..steps].fill([0.0; LANES]);
        carried.clear();
        carried.push([NEVER; LANES]);
        Ok(())
    }

    fn profile(&self, symbol: u32) -> &[Lanes] {
        let index = self.stripes.profile_of[symbol as usize] as usize;
        &self.stripes.profiles[index * self.steps..][..self.steps]
    }

    /// Returns the bonus of one pair.
    fn bonus(&self, symbol: u32, column: usize) -> f32 {
        let spot = self.stripes.spot[column] as usize;
        self.profile(symbol)[spot / LANES][spot % LANES]
    }

    fn fill(&mut self, checks: &mut CancellationChecks<'_>) -> Result<(), Cancelled> {
        let steps = self.steps;
        let mut cells = std::mem::take(&mut self.stripes.cells);
        for (row, symbol) in self.symbols.iter().enumerate() {
            checks.next(steps * LANES)?;
            let (above, below) = cells.split_at_mut((row + 1) * steps);
            let (old, new) = (&above[row * steps..], &mut below[..steps]);
            let carried = self.stripes.carried[row];
            // Before the first column all rows so far are gaps.
            let edge = -(row as f32) * GAP as f32;
            let mut diagonal = [edge; LANES];
            for lane in 1..LANES {
                diagonal[lane] = larger(old[steps - 1][lane - 1], carried[lane - 1]);
            }
            let mut best = [NEVER; LANES];
            best[0] = edge - GAP as f32;
            stretch(old, carried, self.profile(*symbol), new, diagonal, best);
            let ends = new[steps - 1];
            let mut carried = [NEVER; LANES];
            for lane in 1..LANES {
                carried[lane] = larger(carried[lane - 1], ends[lane - 1]);
            }
            self.stripes.carried.push(carried);
        }
        self.stripes.cells = cells;
        Ok(())
    }

    fn value(&self, row: usize, column: usize) -> f32 {
        match column.checked_sub(1) {
            None => -(row as f32) * GAP as f32,
            Some(column) => {
                let spot = self.stripes.spot[column] as usize;
                let (step, lane) = (spot / LANES, spot % LANES);
                let value = self.stripes.cells[row * self.steps + step][lane];
                larger(value, self.stripes.carried[row][lane])
            }
        }
    }
}

/// Computes a row from the row above, each segment separately. Not inlined, so that it compiles to
/// whole vectors.
#[inline(never)]
fn stretch(
    old: &[Lanes],
    carried: Lanes,
    bonus: &[Lanes],
    new: &mut [Lanes],
    mut diagonal: Lanes,
    mut best: Lanes,
) {
    for ((up, bonus), slot) in old.iter().zip(bonus).zip(new) {
        for lane in 0..LANES {
            let up = larger(up[lane], carried[lane]);
            let pair = diagonal[lane] + bonus[lane];
            best[lane] = larger(best[lane], larger(pair, up - GAP as f32));
            diagonal[lane] = up;
        }
        *slot = best;
    }
}
