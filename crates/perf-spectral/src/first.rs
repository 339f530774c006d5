//! [`First`]: the first step of a forward transform, along the real axis, in one pass: from the samples
//! of some lines to their spectra, into the working space.

use crate::butterfly::{Steps, middle};
use crate::points::{Slices, Source};
use crate::real::{Real, vectors, vectors_mut};
use pulp::{Simd, WithSimd};

/// Forward along a real axis of `2 P Q` samples, see the module.
pub(crate) struct First<'a, T, const P: usize, const Q: usize> {
    pub(crate) steps: Steps<'a, T, P, Q>,
    pub(crate) work: FirstWork<'a, T>,
}

/// Some rows of lines, and where their spectra go.
#[derive(Debug)]
pub struct FirstWork<'a, T> {
    /// `exp(2 pi i s / L)`.
    pub(crate) turns: &'a [[T; 2]],
    pub(crate) slots: usize,
    /// Space between two steps.
    pub(crate) middle: &'a mut [T],
    /// Sample by sample, all rows of each: inner point by inner point, of some tiles of outer points.
    pub(crate) from: &'a [T],
    pub(crate) tiles: usize,
    pub(crate) re: &'a mut [T],
    pub(crate) im: &'a mut [T],
    /// Where slot 0 of the first row goes, how far it is to the next tile, and to the next slot. The next inner
    /// point is the next row.
    pub(crate) start: usize,
    pub(crate) block: usize,
    pub(crate) step: usize,
}

impl<T: Real, const P: usize, const Q: usize> WithSimd for First<'_, T, P, Q> {
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
        // Vectors of one inner point, and inner points.
        let row = work.tiles * parts;
        let (block, inner) = (work.block / lanes, n / row);
        // What lies together is written together.
        let places = (0..row).flat_map(|at| (0..inner).map(move |inner| (at, inner)));
        for (vector, inner) in places {
            let i = inner * row + vector;
            let samples = Slices {
                re: &from[i..],
                im: &from[n + i..],
                step: 2 * n,
            };
            // Frequencies take the places of what they were made of.
            self.steps.run(s, spectrum, &samples, &mut spectrum.clone());
            let at = work.start / lanes + vector / parts * block + inner * parts + vector % parts;
            let end = at + (slots - 1) * step + 1;
            let (re, im) = (&mut re[at..end], &mut im[at..end]);
            let x = spectrum.load(0);
            re[0] = T::vadd(s, x.re, x.im);
            im[0] = T::vsub(s, x.re, x.im);
            // As between transforms of L/2 slots and L samples, see `halves`.
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

impl<T: Real> FirstWork<'_, T> {
    /// Samples 2 s and 2 s + 1 as slot s.
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
