//! Points sorted into a grid of cells so small that all points of a cell are neighbours.

use crate::Points;
use crate::cluster::distance::{Bounds, enclose};
use crate::cluster::par;

/// Cells along an axis that a grid can have at most: so few that the rounding of a cell's number
/// stays far below the margin that [`MARGIN`] leaves.
const AXIS: f64 = (1u64 << 26) as f64;
/// How much smaller than eps/sqrt(d) the side of a cell is. With numbers below 2^26, computed with
/// two roundings, points of one cell are less than (1 + 2^-25) sides apart on each axis, so their
/// squared distance stays below eps² as computed.
const MARGIN: f64 = 1.0 - 1.0 / (1u64 << 20) as f64;
/// How many cells away along an axis a neighbour can be: eps is at most sqrt(3) (1 + 2^-19) sides,
/// and rounding adds 2^-25.
const REACH: i64 = 2;

/// Points by cell. Cells are in the order of their keys, points of a cell in that of their index.
#[derive(Debug)]
pub(super) struct Cells<const D: usize> {
    /// The points, cell after cell.
    pub(super) points: Vec<[f64; D]>,
    /// The index each of them was given by.
    pub(super) index: Vec<u32>,
    /// Where the points of each cell start, and the end.
    start: Vec<u32>,
    keys: Vec<u64>,
    /// The smallest box around the points of each cell: lowest and highest corner.
    boxes: Vec<([f64; D], [f64; D])>,
    /// Rows of cells (all axes but the last) around a cell, nearest first.
    rows: Vec<Row>,
}

/// A row of cells around a cell.
#[derive(Clone, Copy, Debug)]
struct Row {
    /// What is added to the key of a cell.
    delta: i64,
    /// Cells away along the axis where it is farthest.
    away: i64,
}

/// Numbers of cells along each axis to keys and back. Two empty cells lie on either side of each
/// axis, so that the key of a neighbour never wraps into another row.
struct Layout<const D: usize> {
    low: [f64; D],
    side: f64,
    strides: [u64; D],
    cells: u64,
}

impl<const D: usize> Layout<D> {
    /// `None` where eps is too small for the extent of the points.
    fn new(points: Points<'_>, eps: f64) -> Option<Self> {
        let (mut low, mut high) = ([0.0; D], [0.0; D]);
        enclose(points.iter(), &mut low, &mut high);
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
        rows.sort_by_key(|&(far, row)| (far, row.delta));
        rows.into_iter().map(|(_, row)| row).collect()
    }
}

impl<const D: usize> Cells<D> {
    /// Sorts the points into cells; `None` where eps is too small for their extent.
    pub(super) fn new(points: Points<'_>, eps: f64) -> Option<Self> {
        let layout = Layout::<D>::new(points, eps)?;
        let (index, start, keys) = if layout.cells <= 4 * points.len() as u64 {
            counted(points, &layout)
        } else {
            sorted(points, &layout)
        };
        let values = points.values();
        let point = |&at: &u32| {
            let mut point = [0.0; D];
            point.copy_from_slice(&values[at as usize * D..][..D]);
            point
        };
        let points: Vec<[f64; D]> = index.iter().map(point).collect();
        let boxes = start.windows(2).map(|pair| {
            let (mut low, mut high) = ([0.0; D], [0.0; D]);
            let inside = &points[pair[0] as usize..pair[1] as usize];
            enclose(inside.iter().map(|point| &point[..]), &mut low, &mut high);
            (low, high)
        });
        let boxes = boxes.collect();
        Some(Cells {
            points,
            index,
            start,
            keys,
            boxes,
            rows: layout.rows(),
        })
    }

    /// How many cells have points.
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Places of the points of a cell.
    pub(super) fn range(&self, cell: usize) -> std::ops::Range<usize> {
        self.start[cell] as usize..self.start[cell + 1] as usize
    }

    /// Points of a cell.
    pub(super) fn inside(&self, cell: usize) -> &[[f64; D]] {
        &self.points[self.range(cell)]
    }

    /// The smallest box around the points of a cell.
    pub(super) fn bounds(&self, cell: usize) -> Bounds<'_> {
        let (low, high) = &self.boxes[cell];
        Bounds { low, high }
    }

    /// Calls `visit` with each of `cells` and the cells that may hold neighbours of its points,
    /// itself left out, rows nearest first. Only cells up to `reach` away along every axis, and
    /// only later ones if `ahead`, so that each pair comes once.
    pub(super) fn around(
        &self,
        cells: std::ops::Range<usize>,
        reach: i64,
        ahead: bool,
        mut visit: impl FnMut(usize, &[u32]),
    ) {
        let Some(&first) = self.keys.get(cells.start) else {
            return;
        };
        let rows = self.rows.iter();
        let wanted = |row: &&Row| row.away <= reach && (!ahead || row.delta >= 0);
        // Keys ascend, so the start of each row moves on only.
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
            visit(cell, &found);
        }
    }
}

type Sorted = (Vec<u32>, Vec<u32>, Vec<u64>);

/// One count a cell of the grid, where there are not many more cells than points.
fn counted<const D: usize>(points: Points<'_>, layout: &Layout<D>) -> Sorted {
    let mut ends = vec![0_u32; layout.cells as usize];
    for point in points.iter() {
        ends[layout.key(point) as usize] += 1;
    }
    let (mut start, mut keys, mut sum) = (vec![0], Vec::new(), 0);
    for (key, end) in ends.iter_mut().enumerate() {
        if *end > 0 {
            let count = std::mem::replace(end, sum);
            sum += count;
            start.push(sum);
            keys.push(key as u64);
        }
    }
    let mut index = vec![0; points.len()];
    for (at, point) in points.iter().enumerate() {
        let next = &mut ends[layout.key(point) as usize];
        index[*next as usize] = at as u32;
        *next += 1;
    }
    (index, start, keys)
}

fn sorted<const D: usize>(points: Points<'_>, layout: &Layout<D>) -> Sorted {
    let keyed = points.iter().enumerate();
    let mut keyed: Vec<(u64, u32)> = keyed
        .map(|(at, point)| (layout.key(point), at as u32))
        .collect();
    par::sort(&mut keyed);
    let (mut start, mut keys) = (Vec::new(), Vec::new());
    for (at, &(key, _)) in keyed.iter().enumerate() {
        if keys.last() != Some(&key) {
            keys.push(key);
            start.push(at as u32);
        }
    }
    start.push(keyed.len() as u32);
    (keyed.into_iter().map(|(_, at)| at).collect(), start, keys)
}
