//! [`Layout`]: where the values of a view and of its spectrum lie inside.
//!
//! An axis of even length, the longest, is the real one: its samples 2 s and 2 s + 1 make the
//! complex slot s of `L/2`. The other axes are split into outer and inner ones of about the same
//! number of points. A tile is all of the one kind by a row of the other, so that the transforms
//! along all axes of the tile run on whole vectors, and the data cross the memory twice.
//!
//! Slot 0 of the real axis holds two spectra of real data, those of its frequencies 0 and L/2. They
//! are kept apart in the packed spectrum: of a pair k, -k of the other axes the first place holds
//! frequency 0 and the second L/2; where k is its own opposite both are real and share one place.
//! A spectrum so takes exactly one real a point. If all axes are odd there is no such axis, and half
//! of the complex spectrum is kept.

use crate::{Error, Result};

/// Where things lie; see the module.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) dims: Vec<usize>,
    /// |T|.
    pub(crate) points: usize,
    /// Length of the real axis; 1 if all axes are odd.
    pub(crate) real: usize,
    /// Slots of the real axis.
    pub(crate) slots: usize,
    /// Lengths of outer axes, slowest first.
    pub(crate) outer: Vec<usize>,
    pub(crate) outer_axes: Vec<usize>,
    pub(crate) inner_axes: Vec<usize>,
    /// Lengths of inner axes, without the real one, which is slower than all of them.
    pub(crate) inner: Vec<usize>,
    /// Points of the outer axes: G1.
    pub(crate) rows: usize,
    /// Places of the inner axes and the real one: G2.
    pub(crate) depth: usize,
    /// Points of the inner axes.
    pub(crate) below: usize,
    /// Columns of a tile.
    pub(crate) width: usize,
    /// Numbers from slot to slot in the working space.
    pub(crate) step: usize,
    /// Row-major place of each outer point, and of each inner one; the latter twice a place where
    /// there is a real axis.
    pub(crate) place1: Vec<u32>,
    pub(crate) place2: Vec<u32>,
    /// Squared torus norm, likewise.
    pub(crate) norm1: Vec<u64>,
    pub(crate) norm2: Vec<u64>,
    /// Signed frequencies of each outer point, one number a dimension (0 where it has no part).
    pub(crate) waves1: Vec<i32>,
    /// Of each inner place.
    pub(crate) waves2: Vec<i32>,
    /// Pairs k, -k of slot 0 (even) or of all places (odd), never one twice, by their first place.
    pub(crate) pairs: Vec<Pair>,
    /// Places of slot 0 that are their own opposite.
    pub(crate) own: Vec<Place>,
    /// Tiles of the inner places: first those of slot 0, then the others.
    pub(crate) tiles: Vec<Tile>,
    /// Which axis is real.
    pub(crate) real_axis: Option<usize>,
    /// Outer points that follow each other in a view: a power of two, at most the width, that
    /// divides their number.
    pub(crate) run: usize,
}

/// A place of slot 0: outer and inner number, and its number among all of slot 0, row by row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) row: u32,
    pub(crate) at: u32,
    pub(crate) first: u32,
}

/// The places of k and -k.
pub(crate) type Pair = [Place; 2];

/// Some inner places, by all outer points.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tile {
    /// The first of them.
    pub(crate) at: usize,
    /// How many: at most a row of numbers.
    pub(crate) columns: usize,
    /// Whether they are of slot 0.
    pub(crate) first: bool,
}

/// Bytes of a cache line, which a row of a tile is.
const LINE: usize = 64;

/// Bytes apart at which what follows each other lies in one in two sets of a first-level cache or fewer.
const ALIAS: usize = 2048;

/// Signed frequency of index `at` of `len`: 0, 1, .., -2, -1, of even lengths -len/2.
pub(crate) fn signed(at: usize, len: usize) -> i32 {
    // Lengths are at most 2^28.
    let (at, len) = (at as i32, len as i32);
    if 2 * at >= len { at - len } else { at }
}

/// Steps to `at` around a ring of `len`, squared.
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

    /// Tiles of the outer points.
    pub(crate) fn along(&self) -> usize {
        self.rows.div_ceil(self.width)
    }

    /// Numbers in the working space of one tile of outer points.
    pub(crate) fn block(&self) -> usize {
        self.slots * self.step
    }

    /// Where an inner place is in the working space of a tile.
    pub(crate) fn inside(&self, at: usize) -> usize {
        at / self.below * self.step + at % self.below * self.width
    }

    /// Whether the inner places of a slot are whole tiles: then a slot is transformed along its inner axes
    /// just before it is turned, and otherwise with all others of a tile of outer points.
    pub(crate) fn by_slot(&self) -> bool {
        self.below.is_multiple_of(self.width) && self.rows.is_multiple_of(self.width)
    }

    /// Puts slots a row further apart where `bytes` a number would have them share the sets of a
    /// first-level cache.
    fn spread(&mut self, bytes: usize) {
        let apart = self.step * bytes;
        if self.by_slot() && self.slots > 1 && apart.is_multiple_of(ALIAS) {
            self.step += self.width;
        }
    }

    /// Where the real and the imaginary part of a place that is not of slot 0 are stored: tile by
    /// tile, each its real parts and then its imaginary ones, row by row.
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
        // Of an odd shape all places pair up, `slots` is 1 and `depth` is `below`.
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

    /// The signed frequencies of a place, one a dimension.
    pub(crate) fn waves(&self, row: usize, at: usize, into: &mut [i32]) {
        let n = self.dims.len();
        let one = self.waves1[row * n..(row + 1) * n].iter();
        let two = self.waves2[at * n..(at + 1) * n].iter();
        let sums = one.zip(two).map(|(one, two)| one + two);
        into.iter_mut().zip(sums).for_each(|(to, sum)| *to = sum);
    }

    /// The highest frequency of the real axis, which shares slot 0.
    pub(crate) fn nyquist(&self) -> i32 {
        -((self.real / 2) as i32)
    }
}

/// Digits of `number` along some axes, the last the fastest; other axes stay.
fn digits(mut number: usize, axes: &[usize], dims: &[usize], into: &mut [usize]) {
    for axis in axes.iter().rev() {
        into[*axis] = number % dims[*axis];
        number /= dims[*axis];
    }
}

/// The number of the opposite frequency.
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

/// Splits the axes but the real one and those of length 1 so that the larger half is smallest.
fn halves(
    dims: &[usize],
    real: Option<usize>,
    slots: usize,
    width: usize,
) -> (Vec<usize>, Vec<usize>) {
    let free: Vec<usize> = (0..dims.len())
        .filter(|axis| Some(*axis) != real && dims[*axis] > 1)
        .collect();
    // Of equal ways one whose tiles are full, and then that with the last axes among the outer ones: the
    // columns of a tile then follow each other in a view.
    let mut best = (usize::MAX, false, 0usize);
    // At most 2^16 ways.
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
