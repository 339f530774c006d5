//! [`First`]: the first step of a forward transform, along the real axis, in one pass: from the samples
//! of some lines to their spectra, into the working space.

use crate::butterfly::{Cx, Roots, dft, times};
use crate::real::{Real, vectors, vectors_mut};
use pulp::{Simd, WithSimd};

/// Forward along a real axis of `2 P Q` samples, see the module.
pub(crate) struct First<'a, T, const P: usize, const Q: usize> {
    pub(crate) roots: [&'a Roots<T>; 2],
    pub(crate) twiddles: &'a [[T; 2]],
    pub(crate) work: FirstWork<'a, T>,
}

/// Some rows of lines, and where their spectra go.
#[derive(Debug)]
pub struct FirstWork<'a, T> {
    /// `exp(2 pi i s / L)`.
    pub(crate) turns: &'a [[T; 2]],
    pub(crate) slots: usize,
    /// Sample by sample, all rows of each.
    pub(crate) from: &'a [T],
    pub(crate) re: &'a mut [T],
    pub(crate) im: &'a mut [T],
    /// Where slot 0 of the first row goes, how far it is to that of the next row, and to the next slot.
    pub(crate) start: usize,
    pub(crate) stride: usize,
    pub(crate) step: usize,
}

impl<T: Real, const P: usize, const Q: usize> WithSimd for First<'_, T, P, Q> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) {
        let slots = P * Q;
        let work = self.work;
        let (twiddles, turns) = (&self.twiddles[..slots], &work.turns[..slots / 2 + 1]);
        let from = vectors(s, work.from);
        let (re, im) = (vectors_mut(s, work.re), vectors_mut(s, work.im));
        // Vectors in a row, and numbers in a vector.
        let lanes = size_of::<T::V<S>>() / size_of::<T>();
        let parts = T::COLUMNS / lanes;
        let n = from.len() / (2 * slots);
        let from = &from[..2 * n * slots];
        let step = work.step / lanes;
        let zero = T::splat(s, T::default());
        let half = T::splat(s, T::of(0.5));
        // Written before it is read each time round.
        let mut middle = [[Cx { re: zero, im: zero }; P]; Q];
        for i in 0..n {
            for q in 0..Q {
                let x = &mut middle[q];
                for t in 0..P {
                    let at = 2 * (q + Q * t) * n + i;
                    x[t] = Cx {
                        re: from[at],
                        im: from[at + n],
                    };
                }
                dft::<T, S, P>(s, self.roots[0], x);
                if q > 0 {
                    for t in 1..P {
                        x[t] = times::<T, S>(s, x[t], twiddles[q * P + t]);
                    }
                }
            }
            let at = (work.start + i / parts * work.stride) / lanes + i % parts;
            let (re, im) = (&mut re[at..], &mut im[at..]);
            let (re, im) = (
                &mut re[..(slots - 1) * step + 1],
                &mut im[..(slots - 1) * step + 1],
            );
            // Slots s and L/2 - s are needed together: they are r + P t of r and of P - r.
            for r in 0..P / 2 + 1 {
                let mate = (P - r) % P;
                let (mut here, mut there) = ([middle[0][r % P]; Q], [middle[0][mate]; Q]);
                for t in 0..Q {
                    here[t] = middle[t][r % P];
                }
                dft::<T, S, Q>(s, self.roots[1], &mut here);
                if mate == r {
                    there = here;
                } else {
                    for t in 0..Q {
                        there[t] = middle[t][mate];
                    }
                    dft::<T, S, Q>(s, self.roots[1], &mut there);
                }
                for t in 0..Q {
                    let slot = r + P * t;
                    let back = slots - slot;
                    let x = here[t];
                    if slot == 0 {
                        re[0] = T::vadd(s, x.re, x.im);
                        im[0] = T::vsub(s, x.re, x.im);
                    } else if slot == back {
                        re[slot * step] = x.re;
                        im[slot * step] = T::vsub(s, zero, x.im);
                    } else if mate != r || slot < back {
                        let y = there[back / P];
                        // As between transforms of L/2 slots and L samples, see `halves`.
                        let (er, ei) = (T::vadd(s, x.re, y.re), T::vsub(s, x.im, y.im));
                        let (dr, di) = (T::vsub(s, x.re, y.re), T::vadd(s, x.im, y.im));
                        let (low, turn) = (slot.min(back), turns[slot.min(back)]);
                        // That of L/2 - s is minus the conjugate of that of s.
                        let sign = if slot == low { 0.5 } else { -0.5 };
                        let c = T::splat(s, turn[0] * T::of(sign));
                        let d = T::splat(s, turn[1] * T::of(0.5));
                        let tr = T::vsub(s, T::vmul(s, di, c), T::vmul(s, dr, d));
                        let ti = T::mul_add(s, dr, c, T::vmul(s, di, d));
                        re[slot * step] = T::mul_add(s, er, half, tr);
                        im[slot * step] = T::vsub(s, T::vmul(s, ei, half), ti);
                        re[back * step] = T::vsub(s, T::vmul(s, er, half), tr);
                        im[back * step] = T::vsub(s, zero, T::mul_add(s, ei, half, ti));
                    }
                }
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
                let to = self.start + row * self.stride + slot * self.step;
                self.re[to..to + width].copy_from_slice(even);
                self.im[to..to + width].copy_from_slice(odd);
            }
        }
    }
}
