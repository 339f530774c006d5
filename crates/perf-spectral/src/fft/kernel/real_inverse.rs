//! [`RealInverse`]: the last step of an inverse transform, along the real axis, in one pass that
//! also finds the extremes of the output. It splits the spectrum into those of even and odd samples
//! and transforms them back.

use crate::fft::kernel::butterfly::{Cx, Steps, middle};
use crate::fft::kernel::points::{Planes, Sink, Source};
use crate::real::{Real, vectors_mut};
use pulp::{Simd, WithSimd};

/// Inverse transform along a real axis of `2 P Q` samples, see the module.
pub(crate) struct RealInverse<'a, T, const P: usize, const Q: usize> {
    /// Roots and twiddles.
    pub(crate) steps: Steps<'a, T, P, Q>,
    /// Buffer between the two steps.
    pub(crate) middle: &'a mut [T],
    /// Twiddles of the real axis, `exp(2 pi i s / L)`.
    pub(crate) turns: &'a [[T; 2]],
    /// Real parts.
    pub(crate) re: &'a mut [T],
    /// Imaginary parts.
    pub(crate) im: &'a mut [T],
    /// Largest number of all slots, for each of `step` numbers.
    pub(crate) high: &'a mut [T],
    /// Smallest number of all slots, for each of `step` numbers.
    pub(crate) low: &'a mut [T],
}

impl<T: Real, const P: usize, const Q: usize> WithSimd for RealInverse<'_, T, P, Q> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) {
        let slots = P * Q;
        let turns = &self.turns[..slots / 2 + 1];
        let planes = [vectors_mut(s, self.re), vectors_mut(s, self.im)];
        let n = planes[0].len() / slots;
        let planes = Planes::new(planes, n * slots);
        let [mut before, between] = middle::<T, S>(s, self.middle, slots);
        let (high, low) = (vectors_mut(s, self.high), vectors_mut(s, self.low));
        let (high, low) = (&mut high[..n], &mut low[..n]);
        let lowest = T::splat(s, T::of(f64::NEG_INFINITY));
        let highest = T::splat(s, T::of(f64::INFINITY));
        for i in 0..n {
            // The planes are swapped, so that the forward transform below computes the inverse.
            let x = planes.load(i);
            let first = Cx {
                re: T::vsub(s, x.re, x.im),
                im: T::vadd(s, x.re, x.im),
            };
            before.store(0, first);
            for slot in 1..slots.div_ceil(2) {
                let back = slots - slot;
                let (x, y) = (planes.load(slot * n + i), planes.load(back * n + i));
                let (er, ei) = (T::vadd(s, x.re, y.re), T::vsub(s, x.im, y.im));
                let (dr, di) = (T::vsub(s, x.re, y.re), T::vadd(s, x.im, y.im));
                let c = T::splat(s, turns[slot][0]);
                let d = T::splat(s, turns[slot][1]);
                let or = T::mul_add(s, T::vneg(s, di), d, T::vmul(s, dr, c));
                let oi = T::mul_add(s, dr, d, T::vmul(s, di, c));
                let here = Cx {
                    re: T::vadd(s, ei, or),
                    im: T::vsub(s, er, oi),
                };
                let there = Cx {
                    re: T::vsub(s, or, ei),
                    im: T::vadd(s, er, oi),
                };
                before.store(slot, here);
                before.store(back, there);
            }
            if slots.is_multiple_of(2) {
                let x = planes.load(slots / 2 * n + i);
                let half = Cx {
                    re: T::vneg(s, T::vadd(s, x.im, x.im)),
                    im: T::vadd(s, x.re, x.re),
                };
                before.store(slots / 2, half);
            }
            let mut to = Bounded::<S, T, _> {
                s,
                to: planes.line(i, n),
                high: lowest,
                low: highest,
            };
            self.steps.run(s, between, &before, &mut to);
            high[i] = to.high;
            low[i] = to.low;
        }
    }
}

/// Sink that swaps the planes back and tracks the extremes of the stored numbers.
struct Bounded<S: Simd, T: Real, P> {
    /// Vector instructions.
    s: S,
    /// Target of the points.
    to: P,
    /// Largest numbers so far.
    high: T::V<S>,
    /// Smallest numbers so far.
    low: T::V<S>,
}

impl<T: Real, S: Simd, P: Sink<T::V<S>>> Sink<T::V<S>> for Bounded<S, T, P> {
    #[inline(always)]
    fn store(&mut self, at: usize, x: Cx<T::V<S>>) {
        let s = self.s;
        self.to.store(at, Cx { re: x.im, im: x.re });
        self.high = T::larger(s, self.high, T::larger(s, x.re, x.im));
        self.low = T::smaller(s, self.low, T::smaller(s, x.re, x.im));
    }
}
