//! [`RealForward`]: the first step of a forward transform, along the real axis, in one pass over
//! the lines of a [`RealForwardWork`], which can also copy them without a transform. It transforms
//! the samples of some lines and stores their spectra in the working space.

use crate::fft::kernel::butterfly::{Steps, middle};
use crate::fft::kernel::points::{Slices, Source};
use crate::real::{Real, vectors, vectors_mut};
use pulp::{Simd, WithSimd};

/// Forward transform along a real axis of `2 P Q` samples, see the module.
pub(crate) struct RealForward<'a, T, const P: usize, const Q: usize> {
    /// Roots and twiddles.
    pub(crate) steps: Steps<'a, T, P, Q>,
    /// Data to transform.
    pub(crate) work: RealForwardWork<'a, T>,
}

/// Rows of lines and the target of their spectra.
#[derive(Debug)]
pub struct RealForwardWork<'a, T> {
    /// Twiddles of the real axis, `exp(2 pi i s / L)`.
    pub(crate) turns: &'a [[T; 2]],
    /// Number of slots.
    pub(crate) slots: usize,
    /// Buffer between the two steps.
    pub(crate) middle: &'a mut [T],
    /// Samples, one after the other, with all rows of each: inner points in order, each with some
    /// tiles of outer points.
    pub(crate) from: &'a [T],
    /// Number of tiles of outer points.
    pub(crate) tiles: usize,
    /// Real parts of the working space.
    pub(crate) re: &'a mut [T],
    /// Imaginary parts of the working space.
    pub(crate) im: &'a mut [T],
    /// Index of slot 0 of the first row. The next inner point is the next row.
    pub(crate) start: usize,
    /// Distance to the next tile.
    pub(crate) block: usize,
    /// Distance to the next slot.
    pub(crate) step: usize,
}

impl<T: Real, const P: usize, const Q: usize> WithSimd for RealForward<'_, T, P, Q> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) {
        let slots = P * Q;
        let work = self.work;
        let turns = &work.turns[..slots / 2 + 1];
        let from = vectors(s, work.from);
        let (re, im) = (vectors_mut(s, work.re), vectors_mut(s, work.im));
        // Vectors in a row, and numbers in a vector.
        let lanes = size_of::<T::V<S>>() / size_of::<T>();
        let parts = T::COLUMNS / lanes;
        let n = from.len() / (2 * slots);
        let from = &from[..2 * n * slots];
        let step = work.step / lanes;
        let half = T::splat(s, T::of(0.5));
        let [spectrum, _] = middle::<T, S>(s, work.middle, slots);
        // Vectors of one inner point, and number of inner points.
        let row = work.tiles * parts;
        let (block, inner) = (work.block / lanes, n / row);
        // Adjacent places are written together.
        let places = (0..row).flat_map(|at| (0..inner).map(move |inner| (at, inner)));
        for (vector, inner) in places {
            let i = inner * row + vector;
            let samples = Slices {
                re: &from[i..],
                im: &from[n + i..],
                step: 2 * n,
            };
            // The frequencies replace the samples that they were computed from.
            self.steps.run(s, spectrum, &samples, &mut spectrum.clone());
            let at = work.start / lanes + vector / parts * block + inner * parts + vector % parts;
            let end = at + (slots - 1) * step + 1;
            let (re, im) = (&mut re[at..end], &mut im[at..end]);
            let x = spectrum.load(0);
            re[0] = T::vadd(s, x.re, x.im);
            im[0] = T::vsub(s, x.re, x.im);
            // Combines the transform of L/2 slots into that of L samples, see `halves`.
            for slot in 1..slots.div_ceil(2) {
                let back = slots - slot;
                let (x, y) = (spectrum.load(slot), spectrum.load(back));
                let (er, ei) = (T::vadd(s, x.re, y.re), T::vsub(s, x.im, y.im));
                let (dr, di) = (T::vsub(s, x.re, y.re), T::vadd(s, x.im, y.im));
                let c = T::splat(s, turns[slot][0] * T::of(0.5));
                let d = T::splat(s, turns[slot][1] * T::of(0.5));
                let tr = T::mul_add(s, T::vneg(s, dr), d, T::vmul(s, di, c));
                let ti = T::mul_add(s, dr, c, T::vmul(s, di, d));
                let (er, ei) = (T::vmul(s, er, half), T::vmul(s, ei, half));
                re[slot * step] = T::vadd(s, er, tr);
                im[slot * step] = T::vsub(s, ei, ti);
                re[back * step] = T::vsub(s, er, tr);
                im[back * step] = T::vneg(s, T::vadd(s, ei, ti));
            }
            if slots.is_multiple_of(2) {
                let x = spectrum.load(slots / 2);
                re[slots / 2 * step] = x.re;
                im[slots / 2 * step] = T::vneg(s, x.im);
            }
        }
    }
}

impl<T: Real> RealForwardWork<'_, T> {
    /// Copies samples 2 s and 2 s + 1 to slot s.
    pub(crate) fn copy(self) {
        let width = T::COLUMNS;
        let size = self.from.len() / (2 * self.slots);
        for (slot, two) in self.from.chunks_exact(2 * size).enumerate() {
            let (even, odd) = two.split_at(size);
            for (row, (even, odd)) in even.chunks(width).zip(odd.chunks(width)).enumerate() {
                let (inner, tile) = (row / self.tiles, row % self.tiles);
                let to = self.start + tile * self.block + inner * width + slot * self.step;
                self.re[to..to + width].copy_from_slice(even);
                self.im[to..to + width].copy_from_slice(odd);
            }
        }
    }
}
