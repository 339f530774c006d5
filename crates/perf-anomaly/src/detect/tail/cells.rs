//! [`Cell`]: calls with indistinguishable run times, and ties at the ticks of a coarse clock.

use super::mode::{Segment, middle};
use super::sketch::{Sketch, edge};

/// Largest number of ticks of calls that are ties because of the resolution of the clock.
const MOST_TICKS: u64 = 4;
/// Smallest fraction of the calls at two adjacent multiples of the tick that are ties.
const TIES: f64 = 0.7;
/// Smallest fraction of the calls at one multiple of the tick that are ties.
const MOST_TIES: f64 = 0.9;

/// Calls whose run times are indistinguishable. Bounds are run times plus a tick, so that the
/// logarithms of times of few ticks are not far apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    /// Number of ticks; `None` if the bucket is wider than a tick.
    pub(super) ticks: Option<u64>,
    /// Lower bound.
    pub(super) low: f64,
    /// Upper bound.
    pub(super) high: f64,
    /// Number of calls.
    pub(super) calls: u64,
}

/// Returns the calls of a segment of a sketch in ascending order, those within half a tick of the same
/// multiple of the tick together.
pub(super) fn cells(segment: &Segment<'_>, sketch: &Sketch, tick: f64) -> Vec<Cell> {
    let resolution = sketch.resolution().0 as f64;
    let is_constant = segment.is_constant(sketch);
    let mut cells: Vec<Cell> = Vec::with_capacity(segment.filled.len());
    for (bucket, count) in segment.filled {
        let (low, high) = (edge(*bucket), edge(bucket + 1));
        let ticks = ((middle(*bucket) - resolution) / tick).round();
        let is_narrow = high - low < tick;
        let ticks = is_narrow.then_some(ticks.max(0.0) as u64);
        if let (Some(last), Some(_)) = (cells.last_mut(), ticks)
            && last.ticks == ticks
        {
            last.calls += count;
            continue;
        }
        let (low, high) = match ticks {
            Some(ticks) => {
                let middle = (ticks + 1) as f64 * tick;
                (middle - tick / 2.0, middle + tick / 2.0)
            }
            None if is_constant => {
                let (low, high) = segment.bounds(sketch, *bucket);
                let shift = tick - resolution;
                (low + shift - tick / 2.0, high + shift + tick / 2.0)
            }
            None if tick > resolution => {
                // A bucket holds one or two multiples of a tick that is nearly as wide.
                let next = |edge: f64| ((edge - resolution) / tick).ceil() + 0.5;
                (next(low) * tick, next(high) * tick)
            }
            None => (low + tick - resolution, high + tick - resolution),
        };
        let below = cells.last().map_or(tick / 2.0, |cell| cell.high);
        let low = low.max(below);
        cells.push(Cell {
            ticks,
            low,
            high: match ticks {
                None if is_constant => high.max(low + tick / 2.0),
                _ => high.max(low * 1.001),
            },
            calls: *count,
        });
    }
    cells
}

/// Returns the index of the first cell above two adjacent multiples of the tick with more than half
/// of the calls; `None` if there are no such ties, or if they last many ticks.
///
/// A time of less than a tick is measured as one of two multiples of the tick. The distribution of
/// such calls is unrelated to that of longer calls, which have a cause of their own, such as
/// interrupts.
pub(super) fn above_ties(cells: &[Cell], calls: u64) -> Option<usize> {
    let near = cells
        .iter()
        .take_while(|cell| cell.ticks.is_some_and(|ticks| ticks <= MOST_TICKS));
    let near = near.count();
    let follows = |cell: &&Cell, before: &Cell| cell.ticks == before.ticks.map(|ticks| ticks + 1);
    let ties = |end: usize| {
        let last = &cells[end - 1];
        let before = end.checked_sub(2).and_then(|at| cells.get(at));
        match before.filter(|before| follows(&last, before)) {
            Some(before) => (last.calls + before.calls) as f64 > TIES * calls as f64,
            None => last.calls as f64 > MOST_TIES * calls as f64,
        }
    };
    let end = (1..=near).find(|end| ties(*end))?;
    // The calls at the next multiple of the tick are left out if there are longer ones.
    let is_next = |next: &Cell| end == 1 && follows(&next, &cells[0]) && cells.len() > 2;
    Some(end + usize::from(cells.get(end).is_some_and(is_next)))
}
