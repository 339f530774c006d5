//! [`Last`]: the last step of an inverse transform, along the real axis, in one pass: the spectra of
//! even and odd samples from that of all, their inverse, and the extremes of what comes out.

use crate::butterfly::{Cx, Roots, dft, times};
use crate::real::{Real, vectors_mut};
use pulp::{Simd, WithSimd};

/// Inverse along a real axis of `2 P Q` samples, see the module.
pub(crate) struct Last<'a, T, const P: usize, const Q: usize> {
    pub(crate) roots: [&'a Roots<T>; 2],
    pub(crate) twiddles: &'a [[T; 2]],
    /// `exp(2 pi i s / L)`.
    pub(crate) turns: &'a [[T; 2]],
    pub(crate) re: &'a mut [T],
    pub(crate) im: &'a mut [T],
    /// The largest and the smallest number of all slots, for each of `step` numbers.
    pub(crate) high: &'a mut [T],
    pub(crate) low: &'a mut [T],
}

impl<T: Real, const P: usize, const Q: usize> WithSimd for Last<'_, T, P, Q> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) {
        let slots = P * Q;
        let (twiddles, turns) = (&self.twiddles[..slots], &self.turns[..slots / 2 + 1]);
        let (re, im) = (vectors_mut(s, self.re), vectors_mut(s, self.im));
        let n = re.len() / slots;
        let (re, im) = (&mut re[..n * slots], &mut im[..n * slots]);
        let zero = T::splat(s, T::default());
        let mut middle = [[Cx { re: zero, im: zero }; P]; Q];
        let (high, low) = (vectors_mut(s, self.high), vectors_mut(s, self.low));
        let (high, low) = (&mut high[..n], &mut low[..n]);
        for i in 0..n {
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
            let (mut top, mut bottom) = (zero, zero);
            for r in 0..P {
                let mut x = [Cx { re: zero, im: zero }; Q];
                for t in 0..Q {
                    x[t] = middle[t][r];
                }
                dft::<T, S, Q>(s, self.roots[1], &mut x);
                for t in 0..Q {
                    if r == 0 && t == 0 {
                        (top, bottom) = (x[0].im, x[0].im);
                    }
                    let at = (r + P * t) * n + i;
                    re[at] = x[t].im;
                    im[at] = x[t].re;
                    top = T::larger(s, top, T::larger(s, x[t].re, x[t].im));
                    bottom = T::smaller(s, bottom, T::smaller(s, x[t].re, x[t].im));
                }
            }
            high[i] = top;
            low[i] = bottom;
        }
    }
}
