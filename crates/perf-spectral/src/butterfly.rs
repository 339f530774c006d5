//! Short Fourier transforms on rows of a tile: each lane of a vector is a line of its own, so
//! nothing is shuffled and no twiddle differs between lanes.
//!
//! All are forward, `exp(-2 pi i k x / L)`; the inverse is the same with both planes swapped.

use crate::real::{Real, vectors, vectors_mut};
use pulp::{Simd, WithSimd};

/// A complex vector.
pub(crate) struct Cx<V> {
    pub(crate) re: V,
    pub(crate) im: V,
}

impl<V: Copy> Clone for Cx<V> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<V: Copy> Copy for Cx<V> {}

/// Cosines and sines of an odd length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Roots<T> {
    pub(crate) cos: [T; 8],
    pub(crate) sin: [T; 8],
}

impl<T: Real> Roots<T> {
    pub(crate) fn new(len: usize) -> Self {
        let angle = |at: usize| at as f64 * std::f64::consts::TAU / len as f64;
        Roots {
            cos: std::array::from_fn(|at| T::of(angle(at).cos())),
            sin: std::array::from_fn(|at| T::of(angle(at).sin())),
        }
    }
}

#[inline(always)]
fn plus<T: Real, S: Simd>(s: S, a: Cx<T::V<S>>, b: Cx<T::V<S>>) -> Cx<T::V<S>> {
    Cx {
        re: T::vadd(s, a.re, b.re),
        im: T::vadd(s, a.im, b.im),
    }
}

#[inline(always)]
fn minus<T: Real, S: Simd>(s: S, a: Cx<T::V<S>>, b: Cx<T::V<S>>) -> Cx<T::V<S>> {
    Cx {
        re: T::vsub(s, a.re, b.re),
        im: T::vsub(s, a.im, b.im),
    }
}

/// `a + (-i) b`.
#[inline(always)]
fn turned<T: Real, S: Simd>(s: S, a: Cx<T::V<S>>, b: Cx<T::V<S>>) -> Cx<T::V<S>> {
    Cx {
        re: T::vadd(s, a.re, b.im),
        im: T::vsub(s, a.im, b.re),
    }
}

/// `a + i b`.
#[inline(always)]
fn turned_back<T: Real, S: Simd>(s: S, a: Cx<T::V<S>>, b: Cx<T::V<S>>) -> Cx<T::V<S>> {
    Cx {
        re: T::vsub(s, a.re, b.im),
        im: T::vadd(s, a.im, b.re),
    }
}

#[inline(always)]
pub(crate) fn times<T: Real, S: Simd>(s: S, a: Cx<T::V<S>>, root: [T; 2]) -> Cx<T::V<S>> {
    let (c, d) = (T::splat(s, root[0]), T::splat(s, root[1]));
    let less = T::vsub(s, T::splat(s, T::default()), a.im);
    Cx {
        re: T::mul_add(s, a.re, c, T::vmul(s, less, d)),
        im: T::mul_add(s, a.re, d, T::vmul(s, a.im, c)),
    }
}

#[inline(always)]
fn four<T: Real, S: Simd>(s: S, x: [Cx<T::V<S>>; 4]) -> [Cx<T::V<S>>; 4] {
    let (a, b) = (plus::<T, S>(s, x[0], x[2]), minus::<T, S>(s, x[0], x[2]));
    let (c, d) = (plus::<T, S>(s, x[1], x[3]), minus::<T, S>(s, x[1], x[3]));
    [
        plus::<T, S>(s, a, c),
        turned::<T, S>(s, b, d),
        minus::<T, S>(s, a, c),
        turned_back::<T, S>(s, b, d),
    ]
}

/// One transform of `P` points in registers.
#[inline(always)]
pub(crate) fn dft<T: Real, S: Simd, const P: usize>(
    s: S,
    roots: &Roots<T>,
    x: &mut [Cx<T::V<S>>; P],
) {
    if P == 2 {
        let (a, b) = (x[0], x[1]);
        x[0] = plus::<T, S>(s, a, b);
        x[1] = minus::<T, S>(s, a, b);
    } else if P == 4 {
        let y = four::<T, S>(s, [x[0], x[1], x[2], x[3]]);
        x[0] = y[0];
        x[1] = y[1];
        x[2] = y[2];
        x[3] = y[3];
    } else if P == 8 {
        let e = four::<T, S>(s, [x[0], x[2], x[4], x[6]]);
        let o = four::<T, S>(s, [x[1], x[3], x[5], x[7]]);
        let half = T::splat(s, T::of(std::f64::consts::FRAC_1_SQRT_2));
        // exp(-i pi/4) o1 and exp(-3 i pi/4) o3, the latter over -i.
        let o1 = Cx {
            re: T::vmul(s, T::vadd(s, o[1].re, o[1].im), half),
            im: T::vmul(s, T::vsub(s, o[1].im, o[1].re), half),
        };
        let o3 = Cx {
            re: T::vmul(s, T::vadd(s, o[3].re, o[3].im), half),
            im: T::vmul(s, T::vsub(s, o[3].im, o[3].re), half),
        };
        x[0] = plus::<T, S>(s, e[0], o[0]);
        x[4] = minus::<T, S>(s, e[0], o[0]);
        x[1] = plus::<T, S>(s, e[1], o1);
        x[5] = minus::<T, S>(s, e[1], o1);
        x[2] = turned::<T, S>(s, e[2], o[2]);
        x[6] = turned_back::<T, S>(s, e[2], o[2]);
        x[3] = turned::<T, S>(s, e[3], o3);
        x[7] = turned_back::<T, S>(s, e[3], o3);
    } else {
        odd::<T, S, P>(s, roots, x);
    }
}

/// Odd lengths: lines k and P - k share their sums and differences.
#[inline(always)]
fn odd<T: Real, S: Simd, const P: usize>(s: S, roots: &Roots<T>, x: &mut [Cx<T::V<S>>; P]) {
    let first = x[0];
    let (mut sums, mut gaps) = ([first; P], [first; P]);
    let mut total = first;
    for j in 1..=P / 2 {
        sums[j] = plus::<T, S>(s, x[j], x[P - j]);
        gaps[j] = minus::<T, S>(s, x[j], x[P - j]);
        total = plus::<T, S>(s, total, sums[j]);
    }
    x[0] = total;
    for k in 1..=P / 2 {
        let (mut a, sin) = (first, T::splat(s, roots.sin[k % 8]));
        let cos = T::splat(s, roots.cos[k % 8]);
        a.re = T::mul_add(s, sums[1].re, cos, a.re);
        a.im = T::mul_add(s, sums[1].im, cos, a.im);
        let mut b = Cx {
            re: T::vmul(s, gaps[1].re, sin),
            im: T::vmul(s, gaps[1].im, sin),
        };
        for j in 2..=P / 2 {
            let at = (j * k) % P % 8;
            let (cos, sin) = (T::splat(s, roots.cos[at]), T::splat(s, roots.sin[at]));
            a.re = T::mul_add(s, sums[j].re, cos, a.re);
            a.im = T::mul_add(s, sums[j].im, cos, a.im);
            b.re = T::mul_add(s, gaps[j].re, sin, b.re);
            b.im = T::mul_add(s, gaps[j].im, sin, b.im);
        }
        x[k] = turned::<T, S>(s, a, b);
        x[P - k] = turned_back::<T, S>(s, a, b);
    }
}

/// Transforms of `P` points along an axis: blocks of `P` steps of `step` numbers.
pub(crate) struct Single<'a, T, const P: usize> {
    pub(crate) roots: &'a Roots<T>,
    pub(crate) re: &'a mut [T],
    pub(crate) im: &'a mut [T],
    pub(crate) step: usize,
}

impl<T: Real, const P: usize> WithSimd for Single<'_, T, P> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) {
        let blocks = self.re.chunks_exact_mut(self.step * P);
        for (re, im) in blocks.zip(self.im.chunks_exact_mut(self.step * P)) {
            let (re, im) = (vectors_mut(s, re), vectors_mut(s, im));
            let n = re.len() / P;
            let (re, im) = (&mut re[..n * P], &mut im[..n * P]);
            for i in 0..n {
                let zero = T::splat(s, T::default());
                let mut x = [Cx { re: zero, im: zero }; P];
                for t in 0..P {
                    x[t] = Cx {
                        re: re[t * n + i],
                        im: im[t * n + i],
                    };
                }
                dft::<T, S, P>(s, self.roots, &mut x);
                for t in 0..P {
                    re[t * n + i] = x[t].re;
                    im[t * n + i] = x[t].im;
                }
            }
        }
    }
}

/// One pass of a transform of more points (Stockham): those of `P` points at a distance of `n/P`, with
/// the twiddles behind them, into places where they follow each other.
pub(crate) struct Pass<'a, T, const P: usize> {
    pub(crate) roots: &'a Roots<T>,
    /// `exp(-2 pi i j t / n)` at `j P + t`: n of them.
    pub(crate) twiddles: &'a [[T; 2]],
    pub(crate) from: [&'a [T]; 2],
    pub(crate) to: [&'a mut [T]; 2],
}

impl<T: Real, const P: usize> WithSimd for Pass<'_, T, P> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) {
        let [from_re, from_im] = self.from;
        let (from_re, from_im) = (vectors(s, from_re), vectors(s, from_im));
        let [to_re, to_im] = self.to;
        let (to_re, to_im) = (vectors_mut(s, to_re), vectors_mut(s, to_im));
        let parts = self.twiddles.len() / P;
        let n = from_re.len() / self.twiddles.len().max(1);
        for j in 0..parts {
            let (mut re, mut im) = ([&from_re[..0]; P], [&from_im[..0]; P]);
            for t in 0..P {
                let at = (j + parts * t) * n;
                (re[t], im[t]) = (&from_re[at..at + n], &from_im[at..at + n]);
            }
            let range = j * P * n..(j + 1) * P * n;
            let (to_re, to_im) = (&mut to_re[range.clone()], &mut to_im[range]);
            let twiddles = &self.twiddles[j * P..(j + 1) * P];
            for i in 0..n {
                let zero = T::splat(s, T::default());
                let mut x = [Cx { re: zero, im: zero }; P];
                for t in 0..P {
                    x[t] = Cx {
                        re: re[t][i],
                        im: im[t][i],
                    };
                }
                dft::<T, S, P>(s, self.roots, &mut x);
                for t in 0..P {
                    if t > 0 && parts > 1 {
                        x[t] = times::<T, S>(s, x[t], twiddles[t]);
                    }
                    to_re[t * n + i] = x[t].re;
                    to_im[t * n + i] = x[t].im;
                }
            }
        }
    }
}

/// Transforms of `P Q` points along an axis in two steps (Stockham), the middle in the cache.
pub(crate) struct Double<'a, T, const P: usize, const Q: usize> {
    pub(crate) roots: [&'a Roots<T>; 2],
    /// `exp(-2 pi i q t / (P Q))` at `q P + t`.
    pub(crate) twiddles: &'a [[T; 2]],
    pub(crate) re: &'a mut [T],
    pub(crate) im: &'a mut [T],
    pub(crate) step: usize,
}

impl<T: Real, const P: usize, const Q: usize> WithSimd for Double<'_, T, P, Q> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) {
        let twiddles = &self.twiddles[..P * Q];
        let zero = T::splat(s, T::default());
        // Outside of the loops: it is written before it is read each time round.
        let mut middle = [[Cx { re: zero, im: zero }; P]; Q];
        let blocks = self.re.chunks_exact_mut(self.step * P * Q);
        for (re, im) in blocks.zip(self.im.chunks_exact_mut(self.step * P * Q)) {
            let (re, im) = (vectors_mut(s, re), vectors_mut(s, im));
            let n = re.len() / (P * Q);
            let (re, im) = (&mut re[..n * P * Q], &mut im[..n * P * Q]);
            for i in 0..n {
                for q in 0..Q {
                    let x = &mut middle[q];
                    for t in 0..P {
                        let at = (q + Q * t) * n + i;
                        x[t] = Cx {
                            re: re[at],
                            im: im[at],
                        };
                    }
                    dft::<T, S, P>(s, self.roots[0], x);
                    if q > 0 {
                        for t in 1..P {
                            x[t] = times::<T, S>(s, x[t], twiddles[q * P + t]);
                        }
                    }
                }
                for r in 0..P {
                    let mut x = [Cx { re: zero, im: zero }; Q];
                    for t in 0..Q {
                        x[t] = middle[t][r];
                    }
                    dft::<T, S, Q>(s, self.roots[1], &mut x);
                    for t in 0..Q {
                        let at = (r + P * t) * n + i;
                        re[at] = x[t].re;
                        im[at] = x[t].im;
                    }
                }
            }
        }
    }
}
