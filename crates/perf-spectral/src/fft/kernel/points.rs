//! [`Source`] and [`Sink`]: traits through which short transforms read and write complex points,
//! implemented for planes and slices at any distance, and with twiddles.
//!
//! These are traits rather than closures, because vector code must be inlined into the function
//! that is compiled for the instruction set, and `#[inline]` is not available for closures.

use crate::fft::kernel::butterfly::{Cx, times};
use crate::real::Real;
use pulp::Simd;
use std::cell::Cell;

/// Numbered complex vectors to read.
pub(crate) trait Source<V> {
    fn load(&self, at: usize) -> Cx<V>;
}

/// Numbered places for complex vectors.
pub(crate) trait Sink<V> {
    fn store(&mut self, at: usize, x: Cx<V>);
}

/// Complex vectors, with separate real and imaginary parts, that are read and written alternately:
/// from `start` on, `step` apart.
#[derive(Clone, Copy)]
pub(crate) struct Planes<'a, V> {
    /// Real parts.
    re: &'a [Cell<V>],
    /// Imaginary parts.
    im: &'a [Cell<V>],
    /// Index of the first point.
    start: usize,
    /// Distance between points.
    step: usize,
}

impl<'a, V: Copy> Planes<'a, V> {
    /// Takes the first `len` vectors of both planes.
    #[inline(always)]
    pub(crate) fn new([re, im]: [&'a mut [V]; 2], len: usize) -> Self {
        Planes {
            re: &Cell::from_mut(re).as_slice_of_cells()[..len],
            im: &Cell::from_mut(im).as_slice_of_cells()[..len],
            start: 0,
            step: 1,
        }
    }

    /// Selects the points from `start` on, `step` apart.
    #[inline(always)]
    pub(crate) fn line(self, start: usize, step: usize) -> Self {
        Planes {
            start,
            step,
            ..self
        }
    }
}

impl<V: Copy> Source<V> for Planes<'_, V> {
    #[inline(always)]
    fn load(&self, at: usize) -> Cx<V> {
        let at = self.start + at * self.step;
        Cx {
            re: self.re[at].get(),
            im: self.im[at].get(),
        }
    }
}

impl<V: Copy> Sink<V> for Planes<'_, V> {
    #[inline(always)]
    fn store(&mut self, at: usize, x: Cx<V>) {
        let at = self.start + at * self.step;
        self.re[at].set(x.re);
        self.im[at].set(x.im);
    }
}

/// Complex vectors to read, `step` apart.
pub(crate) struct Slices<'a, V> {
    /// Real parts.
    pub(crate) re: &'a [V],
    /// Imaginary parts.
    pub(crate) im: &'a [V],
    /// Distance between points.
    pub(crate) step: usize,
}

impl<V: Copy> Source<V> for Slices<'_, V> {
    #[inline(always)]
    fn load(&self, at: usize) -> Cx<V> {
        Cx {
            re: self.re[at * self.step],
            im: self.im[at * self.step],
        }
    }
}

/// Every `step`-th of other points, from `start` on.
pub(crate) struct Every<P> {
    /// The other points.
    pub(crate) of: P,
    /// Number of the first point.
    pub(crate) start: usize,
    /// Distance between points.
    pub(crate) step: usize,
}

impl<V, P: Source<V>> Source<V> for Every<&P> {
    #[inline(always)]
    fn load(&self, at: usize) -> Cx<V> {
        self.of.load(self.start + at * self.step)
    }
}

impl<V, P: Sink<V>> Sink<V> for Every<&mut P> {
    #[inline(always)]
    fn store(&mut self, at: usize, x: Cx<V>) {
        self.of.store(self.start + at * self.step, x);
    }
}

/// Sink that multiplies each point except the first by a twiddle.
pub(crate) struct Turned<'a, S, T, P> {
    /// Vector instructions.
    pub(crate) s: S,
    /// Target of the points.
    pub(crate) to: P,
    /// Twiddle of each point; the first is not used.
    pub(crate) twiddles: &'a [[T; 2]],
}

impl<T: Real, S: Simd, P: Sink<T::V<S>>> Sink<T::V<S>> for Turned<'_, S, T, P> {
    #[inline(always)]
    fn store(&mut self, at: usize, mut x: Cx<T::V<S>>) {
        if at > 0 {
            x = times::<T, S>(self.s, x, self.twiddles[at]);
        }
        self.to.store(at, x);
    }
}
