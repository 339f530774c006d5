//! Steps between the transforms along the axes, in both directions: from L/2 complex slots to the
//! spectrum of L real samples, and to packed spectra.

use crate::Result;
use crate::fft::Transform;
use crate::fft::layout::Tile;
use crate::real::{Real, vectors_mut};
use perf_core::CancellationChecks;
use pulp::{Arch, Simd, WithSimd};

impl<T: Real> Transform<T> {
    /// Converts the transform of length L/2 over samples (2 s, 2 s + 1) to that of length L. Slot 0
    /// then holds frequencies 0 and L/2, both real along this axis.
    pub(crate) fn split(&self, re: &mut [T], im: &mut [T]) {
        T::real_axis(true, &self.turns, self.layout.slots, re, im);
    }

    /// Reverses [`split`](Self::split) before the inverse of length L/2; the result is multiplied
    /// by 2.
    pub(crate) fn unsplit(&self, re: &mut [T], im: &mut [T]) {
        T::real_axis(false, &self.turns, self.layout.slots, re, im);
    }

    /// Separates the two spectra of slot 0, see [`Layout`](crate::fft::layout::Layout).
    pub(crate) fn unmix(
        &self,
        first: &[Vec<T>; 2],
        spectrum: &mut [T],
        checks: &mut CancellationChecks<'_>,
    ) -> Result<()> {
        let half = T::of(0.5);
        let count = self.layout.pairs.len();
        for (at, pair) in self.layout.pairs.iter().enumerate() {
            checks.next(4)?;
            let [one, two] = pair.map(|place| place.first as usize);
            let (a, b, c, d) = (first[0][one], first[1][one], first[0][two], first[1][two]);
            spectrum[at] = (a + c) * half;
            spectrum[at + count] = (b - d) * half;
            spectrum[at + 2 * count] = (b + d) * half;
            spectrum[at + 3 * count] = (c - a) * half;
        }
        let [low, high] = self.layout.owns();
        for ((own, low), high) in self.layout.own.iter().zip(low).zip(high) {
            spectrum[low] = first[0][own.first as usize];
            spectrum[high] = first[1][own.first as usize];
        }
        Ok(())
    }

    /// Saves slot 0 of one tile; for an odd shape, the whole tile.
    pub(crate) fn keep(&self, tile: &Tile, re: &[T], im: &[T], first: &mut [Vec<T>; 2]) {
        let layout = &self.layout;
        let [first_re, first_im] = first;
        for row in 0..layout.rows {
            let (to, from) = (row * layout.below + tile.at, row * layout.width);
            let (to, from) = (to..to + tile.columns, from..from + tile.columns);
            first_re[to.clone()].copy_from_slice(&re[from.clone()]);
            first_im[to].copy_from_slice(&im[from]);
        }
    }

    /// Packs the spectrum of an odd shape: frequency 0, then the real and the imaginary parts of
    /// one coefficient of each pair.
    pub(crate) fn pack(
        &self,
        first: &[Vec<T>; 2],
        spectrum: &mut [T],
        checks: &mut CancellationChecks<'_>,
    ) -> Result<()> {
        let layout = &self.layout;
        let Some((zero, rest)) = spectrum.split_first_mut() else {
            return Ok(());
        };
        *zero = first[0][0];
        let (re, im) = rest.split_at_mut(layout.pairs.len());
        for (([one, _], re), im) in layout.pairs.iter().zip(re).zip(im) {
            checks.next(2)?;
            let from = one.first as usize;
            *re = first[0][from];
            *im = first[1][from];
        }
        Ok(())
    }

    /// Reverses [`pack`](Self::pack).
    pub(crate) fn unpack(
        &self,
        spectrum: &[T],
        first: &mut [Vec<T>; 2],
        checks: &mut CancellationChecks<'_>,
    ) -> Result<()> {
        let layout = &self.layout;
        let Some((zero, rest)) = spectrum.split_first() else {
            return Ok(());
        };
        first[0][0] = *zero;
        first[1][0] = T::default();
        let (re, im) = rest.split_at(layout.pairs.len());
        for ((pair, re), im) in layout.pairs.iter().zip(re).zip(im) {
            checks.next(2)?;
            let [one, two] = pair.map(|place| place.first as usize);
            first[0][one] = *re;
            first[1][one] = *im;
            first[0][two] = *re;
            first[1][two] = T::default() - *im;
        }
        Ok(())
    }
}

/// Converts between the transform of L/2 slots and that of L samples, in either direction.
pub(crate) fn real_axis<T: Real, const FORWARD: bool>(
    turns: &[[T; 2]],
    slots: usize,
    re: &mut [T],
    im: &mut [T],
) {
    let step = re.len() / slots;
    let arch = Arch::new();
    arch.dispatch(Ends {
        re: &mut re[..step],
        im: &mut im[..step],
    });
    for slot in 1..slots.div_ceil(2) {
        let back = slots - slot;
        let (low_re, high_re) = re.split_at_mut(back * step);
        let (low_im, high_im) = im.split_at_mut(back * step);
        arch.dispatch(Transposed::<T, FORWARD> {
            one: [
                &mut low_re[slot * step..][..step],
                &mut low_im[slot * step..][..step],
            ],
            two: [&mut high_re[..step], &mut high_im[..step]],
            turn: turns[slot],
        });
    }
    if slots.is_multiple_of(2) {
        let range = slots / 2 * step..(slots / 2 + 1) * step;
        arch.dispatch(Middle {
            re: &mut re[range.clone()],
            im: &mut im[range],
            by: if FORWARD { 1.0 } else { 2.0 },
        });
    }
}

/// Slot 0: frequencies 0 and L/2 from a sum and a difference, in both directions.
struct Ends<'a, T> {
    /// Real parts.
    re: &'a mut [T],
    /// Imaginary parts.
    im: &'a mut [T],
}

impl<T: Real> WithSimd for Ends<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) {
        let (re, im) = (vectors_mut(s, self.re), vectors_mut(s, self.im));
        for (re, im) in re.iter_mut().zip(im) {
            let (a, b) = (*re, *im);
            *re = T::vadd(s, a, b);
            *im = T::vsub(s, a, b);
        }
    }
}

/// The middle slot, which is its own partner and becomes its conjugate.
struct Middle<'a, T> {
    /// Real parts.
    re: &'a mut [T],
    /// Imaginary parts.
    im: &'a mut [T],
    /// Factor.
    by: f64,
}

impl<T: Real> WithSimd for Middle<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) {
        let (re, im) = (vectors_mut(s, self.re), vectors_mut(s, self.im));
        let (by, less) = (T::splat(s, T::of(self.by)), T::splat(s, T::of(-self.by)));
        for (re, im) in re.iter_mut().zip(im) {
            *re = T::vmul(s, *re, by);
            *im = T::vmul(s, *im, less);
        }
    }
}

/// Slots s and L/2 - s: the transforms of even and odd samples are their sum and difference.
struct Transposed<'a, T, const FORWARD: bool> {
    /// Planes of slot s.
    one: [&'a mut [T]; 2],
    /// Planes of slot L/2 - s.
    two: [&'a mut [T]; 2],
    /// Twiddle `exp(2 pi i s / L)`.
    turn: [T; 2],
}

impl<T: Real, const FORWARD: bool> WithSimd for Transposed<'_, T, FORWARD> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) {
        let [xr, xi] = self.one;
        let [yr, yi] = self.two;
        let (xr, xi) = (vectors_mut(s, xr), vectors_mut(s, xi));
        let (yr, yi) = (vectors_mut(s, yr), vectors_mut(s, yi));
        let scale = if FORWARD { T::of(0.5) } else { T::of(1.0) };
        let half = T::splat(s, scale);
        let (c, d) = (
            T::splat(s, self.turn[0] * scale),
            T::splat(s, self.turn[1] * scale),
        );
        let less = T::splat(s, T::default() - self.turn[1] * scale);
        for (((xr, xi), yr), yi) in xr.iter_mut().zip(xi).zip(yr).zip(yi) {
            // Sum and difference of x and the conjugate of y.
            let (er, ei) = (T::vadd(s, *xr, *yr), T::vsub(s, *xi, *yi));
            let (dr, di) = (T::vsub(s, *xr, *yr), T::vadd(s, *xi, *yi));
            if FORWARD {
                // t = exp(-2 pi i s / L) (difference / i); x = e + t, y = conj(e - t).
                let tr = T::mul_add(s, di, c, T::vmul(s, dr, less));
                let ti = T::mul_add(s, dr, c, T::vmul(s, di, d));
                *xr = T::mul_add(s, er, half, tr);
                *xi = T::vsub(s, T::vmul(s, ei, half), ti);
                *yr = T::vsub(s, T::vmul(s, er, half), tr);
                *yi = T::vsub(
                    s,
                    T::vsub(s, T::splat(s, T::default()), T::vmul(s, ei, half)),
                    ti,
                );
            } else {
                // o = exp(2 pi i s / L) difference; x = e + i o, y = conj(e) + i conj(o).
                let or = T::mul_add(s, dr, c, T::vmul(s, di, less));
                let oi = T::mul_add(s, dr, d, T::vmul(s, di, c));
                *xr = T::vsub(s, er, oi);
                *xi = T::vadd(s, ei, or);
                *yr = T::vadd(s, er, oi);
                *yi = T::vsub(s, or, ei);
            }
        }
    }
}

/// Copies rows of `columns` numbers out of a tile.
pub(crate) fn rows_out<T: Real>(tile: &[T], out: &mut [T], columns: usize, width: usize) {
    if columns == width {
        out.copy_from_slice(tile);
        return;
    }
    for (out, row) in out.chunks_exact_mut(columns).zip(tile.chunks_exact(width)) {
        out.copy_from_slice(&row[..columns]);
    }
}

/// Copies rows of `columns` numbers into a tile.
pub(crate) fn rows_in<T: Real>(from: &[T], tile: &mut [T], columns: usize, width: usize) {
    if columns == width {
        tile.copy_from_slice(from);
        return;
    }
    for (from, row) in from.chunks_exact(columns).zip(tile.chunks_exact_mut(width)) {
        row[..columns].copy_from_slice(from);
    }
}
