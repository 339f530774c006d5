//! [`Last`]: the last step of an inverse transform, along the real axis, in one pass: the spectra of
//! even and odd samples from that of all, their inverse, and the extremes of what comes out.

use crate::butterfly::{Cx, Roots, dft, times};
use crate::real::{Real, vectors_mut};
use pulp::{Simd, WithSimd};

/// Columns of the widest tile.
const MOST: usize = 16;

/// Largest and smallest number of each column.
#[derive(Clone, Copy, Debug)]
pub struct Columns<T> {
    pub(crate) high: [T; MOST],
    pub(crate) low: [T; MOST],
}

/// Inverse along a real axis of `2 P Q` samples, see the module.
pub(crate) struct Last<'a, T, const P: usize, const Q: usize> {
    pub(crate) roots: [&'a Roots<T>; 2],
    pub(crate) twiddles: &'a [[T; 2]],
    /// `exp(2 pi i s / L)`.
    pub(crate) turns: &'a [[T; 2]],
    pub(crate) re: &'a mut [T],
    pub(crate) im: &'a mut [T],
}

impl<T: Real, const P: usize, const Q: usize> WithSimd for Last<'_, T, P, Q> {
    type Output = Columns<T>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) -> Columns<T> {
        let slots = P * Q;
        let (twiddles, turns) = (&self.twiddles[..slots], &self.turns[..slots / 2 + 1]);
        let (re, im) = (vectors_mut(s, self.re), vectors_mut(s, self.im));
        let n = re.len() / slots;
        let (re, im) = (&mut re[..n * slots], &mut im[..n * slots]);
        let zero = T::splat(s, T::default());
        let mut middle = [[Cx { re: zero, im: zero }; P]; Q];
        // Vectors of a row.
        let per = T::COLUMNS * size_of::<T>() / size_of::<T::V<S>>();
        let (mut high, mut low) = ([re[0]; MOST], [re[0]; MOST]);
        high[..per].copy_from_slice(&re[..per]);
        low[..per].copy_from_slice(&re[..per]);
        let mut first = true;
        for i in 0..n {
            let column = i % per;
            // Planes are swapped, which makes the forward transform below the inverse.
            let (a, b) = (re[i], im[i]);
            middle[0][0] = Cx {
                re: T::vsub(s, a, b),
                im: T::vadd(s, a, b),
            };
            for slot in 1..slots.div_ceil(2) {
                let back = slots - slot;
                let (xr, xi) = (re[slot * n + i], im[slot * n + i]);
                let (yr, yi) = (re[back * n + i], im[back * n + i]);
                let (er, ei) = (T::vadd(s, xr, yr), T::vsub(s, xi, yi));
                let (dr, di) = (T::vsub(s, xr, yr), T::vadd(s, xi, yi));
                let c = T::splat(s, turns[slot][0]);
                let d = T::splat(s, turns[slot][1]);
                let less = T::splat(s, T::default() - turns[slot][1]);
                let or = T::mul_add(s, dr, c, T::vmul(s, di, less));
                let oi = T::mul_add(s, dr, d, T::vmul(s, di, c));
                middle[slot % Q][slot / Q] = Cx {
                    re: T::vadd(s, ei, or),
                    im: T::vsub(s, er, oi),
                };
                middle[back % Q][back / Q] = Cx {
                    re: T::vsub(s, or, ei),
                    im: T::vadd(s, er, oi),
                };
            }
            if slots.is_multiple_of(2) {
                let half = slots / 2;
                let (a, b) = (re[half * n + i], im[half * n + i]);
                middle[half % Q][half / Q] = Cx {
                    re: T::vsub(s, zero, T::vadd(s, b, b)),
                    im: T::vadd(s, a, a),
                };
            }
            for q in 0..Q {
                let x = &mut middle[q];
                dft::<T, S, P>(s, self.roots[0], x);
                if q > 0 {
                    for t in 1..P {
                        x[t] = times::<T, S>(s, x[t], twiddles[q * P + t]);
                    }
                }
            }
            let (mut top, mut bottom) = if first {
                (middle[0][0].im, middle[0][0].im)
            } else {
                (high[column % MOST], low[column % MOST])
            };
            for r in 0..P {
                let mut x = [Cx { re: zero, im: zero }; Q];
                for t in 0..Q {
                    x[t] = middle[t][r];
                }
                dft::<T, S, Q>(s, self.roots[1], &mut x);
                for t in 0..Q {
                    if first && r == 0 && t == 0 {
                        (top, bottom) = (x[0].im, x[0].im);
                    }
                    let at = (r + P * t) * n + i;
                    re[at] = x[t].im;
                    im[at] = x[t].re;
                    top = T::larger(s, top, T::larger(s, x[t].re, x[t].im));
                    bottom = T::smaller(s, bottom, T::smaller(s, x[t].re, x[t].im));
                }
            }
            high[column % MOST] = top;
            low[column % MOST] = bottom;
            first = i + 1 < per;
        }
        let mut columns = Columns {
            high: [T::default(); MOST],
            low: [T::default(); MOST],
        };
        let high: &[T] = bytemuck::try_cast_slice(&high[..per]).unwrap_or_default();
        let low: &[T] = bytemuck::try_cast_slice(&low[..per]).unwrap_or_default();
        let count = high.len().min(MOST);
        columns.high[..count].copy_from_slice(&high[..count]);
        columns.low[..count].copy_from_slice(&low[..count]);
        columns
    }
}

impl<T: Real> Columns<T> {
    /// Largest and smallest of the columns in use.
    pub(crate) fn used(&self, columns: usize) -> (T, T) {
        let (mut top, mut bottom) = (self.high[0], self.low[0]);
        for at in 1..columns.min(MOST) {
            if self.high[at] > top {
                top = self.high[at];
            }
            if self.low[at] < bottom {
                bottom = self.low[at];
            }
        }
        (top, bottom)
    }
}
