//! [`Layout`]: memory layout of the working space and of packed spectra (split of the axes, tiles,
//! pairs of opposite frequencies), with the frequency and distance of each place.
//!
//! The longest axis of even length is the real one: its samples 2 s and 2 s + 1 form the complex
//! slot s of `L/2`. The other axes are split into outer and inner ones with about the same number
//! of points. A tile is all of the one kind by a row of the other. The transforms along all axes of
//! the tile therefore run on whole vectors, and the data cross the memory bus twice.
//!
//! Slot 0 of the real axis holds two spectra of real data, those of its frequencies 0 and L/2. The
//! packed spectrum keeps them apart: for a pair k, -k of the other axes, the first place holds
//! frequency 0 and the second L/2. If k is its own opposite, both are real and share one place. A
//! spectrum thus takes exactly one real for each point. If all axes are odd there is no real axis,
//! and half of the complex spectrum is kept.

use crate::{Error, Result};

/// Memory layout; see the module.
#[derive(Debug)]
pub(crate) struct Layout {
    /// Axis lengths.
    pub(crate) dims: Vec<usize>,
    /// |T|.
    pub(crate) points: usize,
    /// Length of the real axis; 1 if all axes are odd.
    pub(crate) real: usize,
    /// Number of slots of the real axis.
    pub(crate) slots: usize,
    /// Lengths of the outer axes, slowest first.
    pub(crate) outer: Vec<usize>,
    /// Numbers of the outer axes.
    pub(crate) outer_axes: Vec<usize>,
    /// Numbers of the inner axes.
    pub(crate) inner_axes: Vec<usize>,
    /// Lengths of the inner axes without the real one, which is slower than all of them.
    pub(crate) inner: Vec<usize>,
    /// Number of points of the outer axes, G1.
    pub(crate) rows: usize,
    /// Number of places of the inner axes and the real one, G2.
    pub(crate) depth: usize,
    /// Number of points of the inner axes.
    pub(crate) below: usize,
    /// Number of columns of a tile.
    pub(crate) width: usize,
    /// Distance between slots in the working space, in numbers.
    pub(crate) step: usize,
    /// Row-major index of each outer point.
    pub(crate) place1: Vec<u32>,
    /// Row-major index of each inner point; two for each inner place if there is a real axis.
    pub(crate) place2: Vec<u32>,
    /// Squared torus norm of each entry of `place1`.
    pub(crate) norm1: Vec<u64>,
    /// Squared torus norm of each entry of `place2`.
    pub(crate) norm2: Vec<u64>,
    /// Signed frequencies of each outer point, one for each axis of the shape (0 for axes that are
    /// not outer).
    pub(crate) waves1: Vec<i32>,
    /// Signed frequencies of each inner place.
    pub(crate) waves2: Vec<i32>,
    /// Pairs k, -k of slot 0 (even shapes) or of all places (odd shapes), each once, ordered by the
    /// first place.
    pub(crate) pairs: Vec<Pair>,
    /// Places of slot 0 that are their own opposite.
    pub(crate) own: Vec<Place>,
    /// Tiles of the inner places: first those of slot 0, then the others.
    pub(crate) tiles: Vec<Tile>,
    /// Number of the real axis.
    pub(crate) real_axis: Option<usize>,
    /// Number of outer points that are contiguous in a view: a power of two of at most the width
    /// that divides their number.
    pub(crate) run: usize,
}

/// Place in slot 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// Number of the outer point.
    pub(crate) row: u32,
    /// Number of the inner point.
    pub(crate) at: u32,
    /// Row-major number among all places of slot 0.
    pub(crate) first: u32,
}

/// Places of k and -k.
pub(crate) type Pair = [Place; 2];

/// Some inner places, for all outer points.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tile {
    /// First inner place.
    pub(crate) at: usize,
    /// Number of inner places, at most a row of numbers.
    pub(crate) columns: usize,
    /// `true` if they belong to slot 0.
    pub(crate) first: bool,
}

/// Size of a cache line in bytes, and of a row of a tile.
const LINE: usize = 64;

/// Distance in bytes at which consecutive rows share half of the sets of a first-level cache or
/// fewer.
const ALIAS: usize = 2048;

/// Returns the signed frequency of index `at` of `len`: 0, 1, .., -2, -1, and -len/2 for even
/// lengths.
pub(crate) fn signed(at: usize, len: usize) -> i32 {
    // Lengths are at most 2^28.
    let (at, len) = (at as i32, len as i32);
    if 2 * at >= len { at - len } else { at }
}

/// Returns the squared distance to `at` around a ring of `len`.
pub(crate) fn ring(at: usize, len: usize) -> u64 {
    let steps = at.min(len - at) as u64;
    steps * steps
}

impl Layout {
    pub(crate) fn new(dims: &[usize], width: usize) -> Result<Self> {
        let points = dims.iter().try_fold(1usize, |points, len| {
            let points = points.checked_mul(*len);
            points.filter(|points| *points <= perf_topology::MAX_CELLS)
        });
        let fit = !dims.is_empty() && dims.len() <= perf_topology::MAX_AXES;
        let Some(points) = points.filter(|points| *points > 0 && fit) else {
            return Err(Error::Shape {
                dims: dims.to_vec(),
            });
        };
        let even = (0..dims.len()).filter(|axis| dims[*axis].is_multiple_of(2));
        let real_axis = even.max_by_key(|axis| dims[*axis]);
        let real = real_axis.map_or(1, |axis| dims[axis]);
        let slots = real.div_ceil(2);
        let (outer, inner) = halves(dims, real_axis, slots, width);
        let lens = |axes: &[usize]| axes.iter().map(|axis| dims[*axis]).collect::<Vec<_>>();
        let (outer_lens, inner_lens) = (lens(&outer), lens(&inner));
        let rows: usize = outer_lens.iter().product();
        let below: usize = inner_lens.iter().product();
        let depth = slots * below;
        let strides: Vec<usize> = (0..dims.len())
            .map(|axis| dims[axis + 1..].iter().product())
            .collect();
        let mut layout = Layout {
            dims: dims.to_vec(),
            points,
            real,
            slots,
            rows,
            depth,
            below,
            width,
            step: below * width,
            place1: Vec::with_capacity(rows),
            place2: Vec::with_capacity(depth * 2),
            norm1: Vec::with_capacity(rows),
            norm2: Vec::with_capacity(depth * 2),
            waves1: Vec::with_capacity(rows * dims.len()),
            waves2: Vec::with_capacity(depth * dims.len()),
            pairs: Vec::new(),
            own: Vec::new(),
            tiles: Vec::new(),
            outer: outer_lens,
            inner: inner_lens,
            outer_axes: outer,
            inner_axes: inner,
            real_axis,
            run: 1,
        };
        let mut at = vec![0; dims.len()];
        let sum = |at: &[usize]| -> (u32, u64) {
            let place: usize = at
                .iter()
                .zip(&strides)
                .map(|(at, stride)| at * stride)
                .sum();
            let norm = at.iter().zip(dims).map(|(at, len)| ring(*at, *len)).sum();
            (place as u32, norm)
        };
        for row in 0..rows {
            digits(row, &layout.outer_axes, dims, &mut at);
            let (place, norm) = sum(&at);
            layout.place1.push(place);
            layout.norm1.push(norm);
            let waves = at.iter().zip(dims).map(|(at, len)| signed(*at, *len));
            layout.waves1.extend(waves);
        }
        at.fill(0);
        for place in 0..depth {
            digits(place % below, &layout.inner_axes, dims, &mut at);
            let slot = place / below;
            if let Some(axis) = real_axis {
                at[axis] = slot;
            }
            let waves = at.iter().zip(dims).map(|(at, len)| signed(*at, *len));
            layout.waves2.extend(waves);
            let samples = if real_axis.is_some() { 2 } else { 1 };
            for sample in 0..samples {
                if let Some(axis) = real_axis {
                    at[axis] = 2 * slot + sample;
                }
                let (place, norm) = sum(&at);
                layout.place2.push(place);
                layout.norm2.push(norm);
            }
        }
        while 2 * layout.run <= width
            && rows.is_multiple_of(2 * layout.run)
            && layout
                .place1
                .chunks_exact(2 * layout.run)
                .all(|places| places.windows(2).all(|two| two[1] == two[0] + 1))
        {
            layout.run *= 2;
        }
        // A row of a tile is a cache line.
        layout.spread(LINE / width);
        layout.find_pairs();
        layout.find_tiles();
        Ok(layout)
    }

    /// Returns the number of tiles of the outer points.
    pub(crate) fn along(&self) -> usize {
        self.rows.div_ceil(self.width)
    }

    /// Returns the size of the working space of one tile of outer points, in numbers.
    pub(crate) fn block(&self) -> usize {
        self.slots * self.step
    }

    /// Returns the index of an inner place in the working space of a tile.
    pub(crate) fn inside(&self, at: usize) -> usize {
        at / self.below * self.step + at % self.below * self.width
    }

    /// Returns `true` if all tiles are whole. A forward transform then keeps intermediate results in
    /// the spectrum, and otherwise in a working space of the same size.
    pub(crate) fn is_whole(&self) -> bool {
        self.below.is_multiple_of(self.width) && self.rows.is_multiple_of(self.width)
    }

    /// Moves slots one row further apart if elements of `bytes` bytes would make them share the
    /// sets of a first-level cache.
    fn spread(&mut self, bytes: usize) {
        let apart = self.step * bytes;
        if self.is_whole() && self.slots > 1 && apart.is_multiple_of(ALIAS) {
            self.step += self.width;
        }
    }

    /// Returns the indices of the real and the imaginary part of a place outside of slot 0. Each
    /// tile holds its real parts and then its imaginary ones, row by row.
    pub(crate) fn place(&self, row: usize, at: usize) -> (usize, usize) {
        let from = at - at.saturating_sub(self.below) % self.width;
        let columns = self.width.min(self.depth - from);
        let re = from * self.rows * 2 + row * columns + at - from;
        (re, re + self.rows * columns)
    }

    fn find_tiles(&mut self) {
        for (range, first) in [(0..self.below, true), (self.below..self.depth, false)] {
            for at in range.clone().step_by(self.width) {
                let columns = self.width.min(range.end - at);
                self.tiles.push(Tile { at, columns, first });
            }
        }
    }

    fn find_pairs(&mut self) {
        // For an odd shape all places form pairs, `slots` is 1 and `depth` is `below`.
        for row in 0..self.rows {
            let row_back = opposite(row, &self.outer);
            for at in 0..self.below {
                let at_back = opposite(at, &self.inner);
                let place = |row: usize, at: usize| Place {
                    row: row as u32,
                    at: at as u32,
                    first: (row * self.below + at) as u32,
                };
                let (here, there) = (place(row, at), place(row_back, at_back));
                match (row, at).cmp(&(row_back, at_back)) {
                    std::cmp::Ordering::Less => self.pairs.push([here, there]),
                    std::cmp::Ordering::Equal => self.own.push(here),
                    std::cmp::Ordering::Greater => {}
                }
            }
        }
    }

    /// Writes the signed frequencies of a place, one for each axis of the shape.
    pub(crate) fn waves(&self, row: usize, at: usize, into: &mut [i32]) {
        let n = self.dims.len();
        let one = self.waves1[row * n..(row + 1) * n].iter();
        let two = self.waves2[at * n..(at + 1) * n].iter();
        let sums = one.zip(two).map(|(one, two)| one + two);
        into.iter_mut().zip(sums).for_each(|(to, sum)| *to = sum);
    }

    /// Returns the highest frequency of the real axis, which shares slot 0.
    pub(crate) fn nyquist(&self) -> i32 {
        -((self.real / 2) as i32)
    }
}

/// Writes the digits of `number` along some axes, the last varying fastest; other axes are
/// unchanged.
fn digits(mut number: usize, axes: &[usize], dims: &[usize], into: &mut [usize]) {
    for axis in axes.iter().rev() {
        into[*axis] = number % dims[*axis];
        number /= dims[*axis];
    }
}

/// Returns the number of the opposite frequency.
fn opposite(mut number: usize, lens: &[usize]) -> usize {
    let (mut back, mut stride) = (0, 1);
    for len in lens.iter().rev() {
        let digit = number % len;
        number /= len;
        back += (len - digit) % len * stride;
        stride *= len;
    }
    back
}

/// Splits the axes, except the real one and those of length 1, so that the larger half is as small
/// as possible.
fn halves(
    dims: &[usize],
    real: Option<usize>,
    slots: usize,
    width: usize,
) -> (Vec<usize>, Vec<usize>) {
    let free: Vec<usize> = (0..dims.len())
        .filter(|axis| Some(*axis) != real && dims[*axis] > 1)
        .collect();
    // Among equal splits, prefers one with full tiles, and then one with the last axes among the
    // outer ones, because the columns of a tile are then contiguous in a view.
    let mut best = (usize::MAX, false, 0usize);
    // There are at most 2^16 ways.
    for way in 0..1usize << free.len() {
        let (mut outer, mut inner) = (1, slots);
        for (bit, axis) in free.iter().enumerate() {
            let side = if way >> bit & 1 == 1 {
                &mut outer
            } else {
                &mut inner
            };
            *side *= dims[*axis];
        }
        let ragged = !(inner / slots).is_multiple_of(width);
        best = best.min((outer.max(inner), ragged, !way));
    }
    let (mut outer, mut inner) = (Vec::new(), Vec::new());
    for (bit, axis) in free.into_iter().enumerate() {
        let side = if best.2 >> bit & 1 == 0 {
            &mut outer
        } else {
            &mut inner
        };
        side.push(axis);
    }
    (outer, inner)
}
