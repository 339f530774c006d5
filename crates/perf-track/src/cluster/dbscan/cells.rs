//! [`Cells`]: points sorted into a grid of cells so small that all points of a cell are neighbours,
//! and the search of cells around a cell.

use crate::cluster::distance::{Bounds, enclose};
use crate::{Points, Result};
use perf_core::{CancellationChecks, Cancelled, Job, parallel};
use std::sync::atomic::{AtomicU32, Ordering};

/// Largest number of cells along an axis of a grid, so that the rounding error of a cell number
/// stays far below the margin of [`MARGIN`].
const AXIS: f64 = (1u64 << 26) as f64;
/// Ratio of the side of a cell to eps/sqrt(d). With cell numbers below 2^26, computed with two
/// roundings, points of one cell are less than (1 + 2^-25) sides apart on each axis, so their
/// squared distance stays below eps² as computed.
const MARGIN: f64 = 1.0 - 1.0 / (1u64 << 20) as f64;
/// Largest distance of a neighbour in cells along an axis: eps is at most sqrt(3) (1 + 2^-19)
/// sides, and rounding adds 2^-25.
const REACH: i64 = 2;

/// Points by cell. Cells are in the order of their keys, and the points of a cell in the order of their indices.
#[derive(Debug)]
pub(super) struct Cells<const D: usize> {
    /// Points, cell after cell.
    pub(super) points: Vec<[f64; D]>,
    /// Original index of each point.
    pub(super) index: Vec<u32>,
    /// Start of the points of each cell, and the end.
    start: Vec<u32>,
    /// Key of each cell.
    keys: Vec<u64>,
    /// Lowest and highest corner of the smallest box around the points of each cell.
    boxes: Vec<([f64; D], [f64; D])>,
    /// Rows of cells (all axes but the last) around a cell, nearest first.
    rows: Vec<Row>,
}

/// Row of cells around a cell.
#[derive(Clone, Copy, Debug)]
struct Row {
    /// Offset to the key of a cell.
    delta: i64,
    /// Largest distance along an axis, in cells.
    away: i64,
}

/// Conversion between cell numbers along each axis and keys. Two empty cells on either side of each
/// axis ensure that the key of a neighbour never wraps into another row.
struct Layout<const D: usize> {
    /// Lowest coordinate of each axis.
    low: [f64; D],
    /// Side of a cell.
    side: f64,
    /// Key difference of adjacent cells along each axis.
    strides: [u64; D],
    /// Number of cells.
    cells: u64,
}

impl<const D: usize> Layout<D> {
    /// Creates the conversion for the extent of the points. `None` if eps is too small for this extent.
    fn new(points: Points<'_>, eps: f64) -> Option<Self> {
        let (low, high) = extent(points);
        let side = eps / (D as f64).sqrt() * MARGIN;
        let (mut strides, mut cells) = ([0; D], 1_u64);
        for axis in (0..D).rev() {
            let last = (high[axis] - low[axis]) / side;
            // Infinite for an extent beyond the largest number.
            if last >= AXIS {
                return None;
            }
            strides[axis] = cells;
            cells = cells.checked_mul(last as u64 + 1 + 2 * REACH as u64)?;
        }
        (cells <= i64::MAX as u64).then_some(Layout {
            low,
            side,
            strides,
            cells,
        })
    }

    fn key(&self, point: &[f64]) -> u64 {
        let axes = point.iter().zip(&self.low).zip(&self.strides);
        axes.map(|((x, low), stride)| (((x - low) / self.side) as u64 + REACH as u64) * stride)
            .sum()
    }

    fn rows(&self) -> Vec<Row> {
        let mut rows = vec![(0, Row { delta: 0, away: 0 })];
        for &stride in &self.strides[..D - 1] {
            let steps = -REACH..=REACH;
            let around = |&(far, row): &(i64, Row)| {
                steps.clone().map(move |step| {
                    let delta = row.delta + step * stride as i64;
                    let away = row.away.max(step.abs());
                    (far + step * step, Row { delta, away })
                })
            };
            rows = rows.iter().flat_map(around).collect();
        }
        rows.sort_unstable_by_key(|&(far, row)| (far, row.delta));
        rows.into_iter().map(|(_, row)| row).collect()
    }
}

impl<const D: usize> Cells<D> {
    /// Sorts the points into cells; `None` if eps is too small for their extent.
    pub(super) fn new(points: Points<'_>, eps: f64, job: &Job) -> Result<Option<Self>> {
        let Some(layout) = Layout::<D>::new(points, eps) else {
            return Ok(None);
        };
        let room = 4 * points.len() as u64 / layout.cells;
        let (index, start, keys) = match (room as usize).min(parallel::current_threads()) {
            0 => sorted(points, &layout, job)?,
            lanes => counted(points, &layout, lanes, job)?,
        };
        let values = points.values();
        let points: Vec<[f64; D]> = parallel::fill(
            index.len(),
            [0.0; D],
            |place| {
                let mut point = [0.0; D];
                point.copy_from_slice(&values[index[place] as usize * D..][..D]);
                point
            },
            job,
        )?;
        let nothing = ([0.0; D], [0.0; D]);
        let boxes = parallel::fill(
            keys.len(),
            nothing,
            |cell| {
                let (mut low, mut high) = ([0.0; D], [0.0; D]);
                let inside = &points[start[cell] as usize..start[cell + 1] as usize];
                enclose(inside.iter().map(|point| &point[..]), &mut low, &mut high);
                (low, high)
            },
            job,
        )?;
        Ok(Some(Cells {
            points,
            index,
            start,
            keys,
            boxes,
            rows: layout.rows(),
        }))
    }

    /// Returns the number of occupied cells.
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns the positions of the points of a cell.
    pub(super) fn range(&self, cell: usize) -> std::ops::Range<usize> {
        self.start[cell] as usize..self.start[cell + 1] as usize
    }

    /// Returns the points of a cell.
    pub(super) fn inside(&self, cell: usize) -> &[[f64; D]] {
        &self.points[self.range(cell)]
    }

    /// Returns the smallest box around the points of a cell.
    pub(super) fn bounds(&self, cell: usize) -> Bounds<'_> {
        let (low, high) = &self.boxes[cell];
        Bounds { low, high }
    }

    /// Calls `visit` with each of `cells` and the other cells that may hold neighbours of its
    /// points, nearest rows first. Only cells at most `reach` cells away along every axis are visited.
    /// With `ahead` only later cells are visited, so that each pair occurs once. Stops at the first
    /// error.
    pub(super) fn around(
        &self,
        cells: std::ops::Range<usize>,
        reach: i64,
        ahead: bool,
        mut visit: impl FnMut(usize, &[u32]) -> Result<(), Cancelled>,
    ) -> Result<(), Cancelled> {
        let Some(&first) = self.keys.get(cells.start) else {
            return Ok(());
        };
        let rows = self.rows.iter();
        let wanted = |row: &&Row| row.away <= reach && (!ahead || row.delta >= 0);
        // Keys ascend, so the start of each row only moves forward.
        let mut rows: Vec<(i64, usize)> = rows
            .filter(wanted)
            .map(|row| {
                let from = (first as i64 + row.delta - reach).max(0) as u64;
                let start = self.keys.partition_point(|&key| key < from);
                (row.delta, start)
            })
            .collect();
        let mut found = Vec::new();
        for cell in cells {
            found.clear();
            let centre = self.keys[cell] as i64;
            for (delta, start) in &mut rows {
                let from = centre + *delta - reach;
                while self
                    .keys
                    .get(*start)
                    .is_some_and(|&key| (key as i64) < from)
                {
                    *start += 1;
                }
                let row = self.keys[*start..].iter().zip(*start..);
                let row = row.take_while(|&(&key, _)| key as i64 <= from + 2 * reach);
                let others = row.filter(|&(_, other)| other != cell && (!ahead || other > cell));
                found.extend(others.map(|(_, other)| other as u32));
            }
            visit(cell, &found)?;
        }
        Ok(())
    }
}

/// Returns the number of occupied cells, or an upper bound of it, and the memory in bytes for sorting
/// points into cells. `None` if eps is too small for a grid.
pub(super) fn memory<const D: usize>(points: Points<'_>, eps: f64) -> Option<(usize, usize)> {
    let layout = Layout::<D>::new(points, eps)?;
    let (count, lanes) = (points.len(), parallel::current_threads());
    let cells = usize::try_from(layout.cells).unwrap_or(usize::MAX);
    let sorting = match (4 * count / cells.max(1)).min(lanes) {
        // Pairs of key and index, the same again for merging, and for the parts of the threads.
        0 => {
            let copies = match (count > CancellationChecks::EACH, lanes > 1) {
                (false, _) => 1,
                (true, false) => 2,
                (true, true) => 3,
            };
            copies * size_of::<(u64, u32)>() * count
        }
        lanes => size_of::<u32>() * (lanes * cells + count),
    };
    // A bitmap of cells is used if it takes no more memory than the points.
    if layout.cells > 64 * count as u64 {
        return Some((cells.min(count), sorting));
    }
    let mut filled = vec![0_u64; cells.div_ceil(64)];
    for point in points.values().chunks_exact(D) {
        let key = layout.key(point) as usize;
        filled[key / 64] |= 1 << (key % 64);
    }
    let filled: u32 = filled.iter().map(|word| word.count_ones()).sum();
    Some((filled as usize, sorting))
}

type Sorted = (Vec<u32>, Vec<u32>, Vec<u64>);

/// Returns the smallest box around all points.
fn extent<const D: usize>(points: Points<'_>) -> ([f64; D], [f64; D]) {
    const PIECE: usize = 1 << 16;
    let pieces = parallel::map(parallel::chunk_count(points.len(), PIECE), |piece| {
        let range = parallel::chunk(points.len(), PIECE, piece);
        let (mut low, mut high) = ([0.0; D], [0.0; D]);
        let inside = points.values()[range.start * D..range.end * D].chunks_exact(D);
        enclose(inside, &mut low, &mut high);
        (low, high)
    });
    let (mut low, mut high) = ([0.0; D], [0.0; D]);
    let corners = pieces.iter().flat_map(|(low, high)| [&low[..], &high[..]]);
    enclose(corners, &mut low, &mut high);
    (low, high)
}

/// Counting sort with one count for each cell of the grid and lane, if there are not many more
/// cells than points. Each lane counts and places a part of the points after those of earlier
/// lanes, so that the order does not depend on the number of lanes.
fn counted<const D: usize>(
    points: Points<'_>,
    layout: &Layout<D>,
    lanes: usize,
    job: &Job,
) -> Result<Sorted> {
    let stretch = points.len().div_ceil(lanes);
    let stretch_of = |lane| parallel::chunk(points.len(), stretch, lane);
    let points_of = |piece: std::ops::Range<usize>| {
        let inside = points.values()[piece.start * D..piece.end * D].chunks_exact(D);
        inside.zip(piece.start as u32..)
    };
    let mut next = parallel::map(parallel::chunk_count(points.len(), stretch), |lane| {
        let mut counts = vec![0_u32; layout.cells as usize];
        let mut checks = job.checks();
        for piece in checks.pieces(stretch_of(lane)).map_while(Result::ok) {
            for (point, _) in points_of(piece) {
                counts[layout.key(point) as usize] += 1;
            }
        }
        counts
    });
    let (mut start, mut keys, mut sum) = (vec![0], Vec::new(), 0);
    let mut checks = job.checks();
    for key in 0..layout.cells as usize {
        checks.next(1)?;
        let before = sum;
        for counts in &mut next {
            let count = std::mem::replace(&mut counts[key], sum);
            sum += count;
        }
        if sum > before {
            start.push(sum);
            keys.push(key as u64);
        }
    }
    // Lanes write to disjoint places all over the list, which is therefore shared.
    let index: Vec<AtomicU32> = (0..points.len()).map(|_| AtomicU32::default()).collect();
    parallel::for_each(next, |lane, mut next| {
        let mut checks = job.checks();
        for piece in checks.pieces(stretch_of(lane)).map_while(Result::ok) {
            for (point, at) in points_of(piece) {
                let place = &mut next[layout.key(point) as usize];
                index[*place as usize].store(at, Ordering::Relaxed);
                *place += 1;
            }
        }
    });
    job.check()?;
    let index = index.into_iter().map(AtomicU32::into_inner);
    Ok((index.collect(), start, keys))
}

fn sorted<const D: usize>(points: Points<'_>, layout: &Layout<D>, job: &Job) -> Result<Sorted> {
    let mut keyed = parallel::fill(
        points.len(),
        (0, 0),
        |at| {
            let point = &points.values()[at * D..][..D];
            (layout.key(point), at as u32)
        },
        job,
    )?;
    parallel::sort(&mut keyed, job)?;
    let (mut start, mut keys) = (Vec::new(), Vec::new());
    for (at, &(key, _)) in keyed.iter().enumerate() {
        if keys.last() != Some(&key) {
            keys.push(key);
            start.push(at as u32);
        }
    }
    start.push(keyed.len() as u32);
    let index = keyed.into_iter().map(|(_, at)| at);
    Ok((index.collect(), start, keys))
}
