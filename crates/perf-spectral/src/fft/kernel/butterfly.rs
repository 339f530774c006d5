//! Vector kernels for short Fourier transforms along an axis of a tile, in one step ([`Single`]),
//! in two ([`Double`]), or as a [`Pass`] of a longer transform; complex vectors [`Cx`]. Each lane
//! of a vector holds a separate line, so that no shuffles are needed and all lanes share a twiddle
//! factor.
//!
//! All transforms are forward, `exp(-2 pi i k x / L)`. The inverse is the same with real and
//! imaginary planes swapped.

use crate::fft::kernel::points::{Every, Planes, Sink, Slices, Source, Turned};
use crate::real::{Real, vectors, vectors_mut};
use perf_core::CancellationChecks;
use pulp::{Simd, WithSimd};
use std::ops::Range;

/// Complex vector. It is aligned to a cache line, so that none on the stack straddles two; SIMD
/// vectors alone are aligned like their elements.
#[repr(C, align(64))]
pub(crate) struct Cx<V> {
    /// Real parts.
    pub(crate) re: V,
    /// Imaginary parts.
    pub(crate) im: V,
}

impl<V: Copy> Clone for Cx<V> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<V: Copy> Copy for Cx<V> {}

/// Cosines and sines for the transform of an odd length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Roots<T> {
    /// Cosines of multiples of `2 pi / P`.
    pub(crate) cos: [T; 8],
    /// Sines of multiples of `2 pi / P`.
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

/// Returns `a + (-i) b`.
#[inline(always)]
fn turned<T: Real, S: Simd>(s: S, a: Cx<T::V<S>>, b: Cx<T::V<S>>) -> Cx<T::V<S>> {
    Cx {
        re: T::vadd(s, a.re, b.im),
        im: T::vsub(s, a.im, b.re),
    }
}

/// Returns `a + i b`.
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
    Cx {
        re: T::mul_add(s, T::vneg(s, a.im), d, T::vmul(s, a.re, c)),
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

/// Transforms `P` points in registers. All points are read before the first is stored, so source
/// and sink may be the same places. Points are separate variables, because an array indexed by a
/// computed number would be placed on the stack.
#[inline(always)]
pub(crate) fn dft<T: Real, S: Simd, const P: usize>(
    s: S,
    roots: &Roots<T>,
    from: &impl Source<T::V<S>>,
    to: &mut impl Sink<T::V<S>>,
) {
    if P == 1 {
        to.store(0, from.load(0));
    } else if P == 2 {
        let (a, b) = (from.load(0), from.load(1));
        to.store(0, plus::<T, S>(s, a, b));
        to.store(1, minus::<T, S>(s, a, b));
    } else if P == 4 {
        let [a, b, c, d] =
            four::<T, S>(s, [from.load(0), from.load(1), from.load(2), from.load(3)]);
        to.store(0, a);
        to.store(1, b);
        to.store(2, c);
        to.store(3, d);
    } else if P == 8 {
        let e = four::<T, S>(s, [from.load(0), from.load(2), from.load(4), from.load(6)]);
        let o = four::<T, S>(s, [from.load(1), from.load(3), from.load(5), from.load(7)]);
        to.store(0, plus::<T, S>(s, e[0], o[0]));
        to.store(4, minus::<T, S>(s, e[0], o[0]));
        to.store(2, turned::<T, S>(s, e[2], o[2]));
        to.store(6, turned_back::<T, S>(s, e[2], o[2]));
        let half = T::splat(s, T::of(std::f64::consts::FRAC_1_SQRT_2));
        // exp(-i pi/4) o1 and exp(-3 i pi/4) o3, the latter divided by -i.
        let o1 = Cx {
            re: T::vmul(s, T::vadd(s, o[1].re, o[1].im), half),
            im: T::vmul(s, T::vsub(s, o[1].im, o[1].re), half),
        };
        let o3 = Cx {
            re: T::vmul(s, T::vadd(s, o[3].re, o[3].im), half),
            im: T::vmul(s, T::vsub(s, o[3].im, o[3].re), half),
        };
        to.store(1, plus::<T, S>(s, e[1], o1));
        to.store(5, minus::<T, S>(s, e[1], o1));
        to.store(3, turned::<T, S>(s, e[3], o3));
        to.store(7, turned_back::<T, S>(s, e[3], o3));
    } else {
        odd::<T, S, P>(s, roots, from, to);
    }
}

/// Transforms odd lengths up to 7. Lines k and P - k share their sums and differences.
#[inline(always)]
fn odd<T: Real, S: Simd, const P: usize>(
    s: S,
    roots: &Roots<T>,
    from: &impl Source<T::V<S>>,
    to: &mut impl Sink<T::V<S>>,
) {
    let first = from.load(0);
    let (mut sums, mut gaps) = ([first; 4], [first; 4]);
    let mut total = first;
    for j in 1..P / 2 + 1 {
        let (a, b) = (from.load(j), from.load(P - j));
        sums[j] = plus::<T, S>(s, a, b);
        gaps[j] = minus::<T, S>(s, a, b);
        total = plus::<T, S>(s, total, sums[j]);
    }
    to.store(0, total);
    for k in 1..P / 2 + 1 {
        let (mut a, sin) = (first, T::splat(s, roots.sin[k % 8]));
        let cos = T::splat(s, roots.cos[k % 8]);
        a.re = T::mul_add(s, sums[1].re, cos, a.re);
        a.im = T::mul_add(s, sums[1].im, cos, a.im);
        let mut b = Cx {
            re: T::vmul(s, gaps[1].re, sin),
            im: T::vmul(s, gaps[1].im, sin),
        };
        for j in 2..P / 2 + 1 {
            let at = (j * k) % P % 8;
            let (cos, sin) = (T::splat(s, roots.cos[at]), T::splat(s, roots.sin[at]));
            a.re = T::mul_add(s, sums[j].re, cos, a.re);
            a.im = T::mul_add(s, sums[j].im, cos, a.im);
            b.re = T::mul_add(s, gaps[j].re, sin, b.re);
            b.im = T::mul_add(s, gaps[j].im, sin, b.im);
        }
        to.store(k, turned::<T, S>(s, a, b));
        to.store(P - k, turned_back::<T, S>(s, a, b));
    }
}

/// Transforms of `P` points along an axis: blocks of `P` steps of `step` numbers.
pub(crate) struct Single<'a, T, const P: usize> {
    /// Roots of the transform.
    pub(crate) roots: &'a Roots<T>,
    /// Real parts.
    pub(crate) re: &'a mut [T],
    /// Imaginary parts.
    pub(crate) im: &'a mut [T],
    /// Numbers between consecutive points.
    pub(crate) step: usize,
}

impl<T: Real, const P: usize> WithSimd for Single<'_, T, P> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) {
        let blocks = self.re.chunks_exact_mut(self.step * P);
        for (re, im) in blocks.zip(self.im.chunks_exact_mut(self.step * P)) {
            let planes = [vectors_mut(s, re), vectors_mut(s, im)];
            let n = planes[0].len() / P;
            let planes = Planes::new(planes, n * P);
            for i in 0..n {
                let mut line = planes.line(i, n);
                dft::<T, S, P>(s, self.roots, &line.clone(), &mut line);
            }
        }
    }
}

/// Part of a pass between two cancellation checks: a range of its twiddles and of the rows of each.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// Range of twiddles.
    pub(crate) parts: Range<usize>,
    /// Range of rows, in numbers.
    pub(crate) rows: Range<usize>,
}

impl Part {
    /// Returns the range of twiddles, and the range of rows in vectors of `V`.
    #[inline(always)]
    pub(crate) fn of<T, V>(self) -> [Range<usize>; 2] {
        let lanes = size_of::<V>() / size_of::<T>();
        [self.parts, self.rows.start / lanes..self.rows.end / lanes]
    }

    /// Splits a pass by `factor` with `parts` times `factor` twiddles over lines of `rows` numbers.
    /// Each part has several twiddles with no more numbers than lie between two checks, or part of
    /// the rows of one larger twiddle, in whole cache lines.
    pub(crate) fn all<T: Real>(
        factor: usize,
        parts: usize,
        rows: usize,
    ) -> impl Iterator<Item = Part> {
        let many = (CancellationChecks::EACH / (factor * rows).max(1)).max(1);
        let wide = match many {
            1 => (CancellationChecks::EACH / factor).next_multiple_of(T::COLUMNS),
            _ => rows.max(1),
        };
        (0..parts).step_by(many).flat_map(move |part| {
            (0..rows).step_by(wide).map(move |row| Part {
                parts: part..(part + many).min(parts),
                rows: row..(row + wide).min(rows),
            })
        })
    }
}

/// One pass of a transform of more points (Stockham): transforms `P` points at a distance of `n/P`,
/// multiplies by the twiddles and stores the results at consecutive places.
pub(crate) struct Pass<'a, T, const P: usize> {
    /// Roots of the transform.
    pub(crate) roots: &'a Roots<T>,
    /// Twiddles `exp(-2 pi i j t / n)` at `j P + t`, n in total.
    pub(crate) twiddles: &'a [[T; 2]],
    /// Source planes.
    pub(crate) from: [&'a [T]; 2],
    /// Target planes.
    pub(crate) to: [&'a mut [T]; 2],
    /// Part of the pass to execute.
    pub(crate) part: Part,
}

impl<T: Real, const P: usize> WithSimd for Pass<'_, T, P> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) {
        let [from_re, from_im] = self.from.map(|plane| vectors(s, plane));
        let to = self.to.map(|plane| vectors_mut(s, plane));
        let (parts, all) = (self.twiddles.len() / P, from_re.len());
        let n = all / self.twiddles.len().max(1);
        let to = Planes::new(to, all);
        let [some, rows] = self.part.of::<T, T::V<S>>();
        for j in some {
            let twiddles = &self.twiddles[j * P..(j + 1) * P];
            for i in rows.clone() {
                let from = Slices {
                    re: &from_re[j * n + i..],
                    im: &from_im[j * n + i..],
                    step: parts * n,
                };
                let mut to = to.line(j * P * n + i, n);
                if parts > 1 {
                    let mut to = Turned { s, to, twiddles };
                    dft::<T, S, P>(s, self.roots, &from, &mut to);
                } else {
                    dft::<T, S, P>(s, self.roots, &from, &mut to);
                }
            }
        }
    }
}

/// Roots and twiddles of transforms of `P Q` points in two steps (Stockham).
pub(crate) struct Steps<'a, T, const P: usize, const Q: usize> {
    /// Roots of both steps.
    pub(crate) roots: [&'a Roots<T>; 2],
    /// Twiddles `exp(-2 pi i q t / (P Q))` at `q P + t`; none are needed for `Q` = 1.
    pub(crate) twiddles: &'a [[T; 2]],
}

/// Number of points of the longest transform in two steps.
const LONGEST: usize = 64;

/// Returns the size of the buffers before and between both steps, in numbers.
pub(crate) const fn middle_space<T: Real>() -> usize {
    4 * LONGEST * T::COLUMNS
}

/// Returns two buffers for `len` complex numbers, which are written before they are read. The
/// caller provides the memory, because on the stack it would be zeroed each time.
#[inline(always)]
pub(crate) fn middle<T: Real, S: Simd>(
    s: S,
    space: &mut [T],
    len: usize,
) -> [Planes<'_, T::V<S>>; 2] {
    let space = vectors_mut(s, space);
    let (one, two) = space.split_at_mut(2 * len);
    [one, two].map(|both| Planes::new(both.split_at_mut(len).into(), len))
}

impl<T: Real, const P: usize, const Q: usize> Steps<'_, T, P, Q> {
    /// Executes both steps.
    #[inline(always)]
    pub(crate) fn run<S: Simd>(
        &self,
        s: S,
        middle: Planes<'_, T::V<S>>,
        from: &impl Source<T::V<S>>,
        to: &mut impl Sink<T::V<S>>,
    ) {
        let twiddles = self.twiddles.as_chunks::<P>().0;
        for q in 0..Q {
            let from = Every {
                of: from,
                start: q,
                step: Q,
            };
            let mut to = middle.line(q * P, 1);
            if Q > 1 && q > 0 {
                let twiddles = twiddles[q].as_slice();
                let mut to = Turned { s, to, twiddles };
                dft::<T, S, P>(s, self.roots[0], &from, &mut to);
            } else {
                dft::<T, S, P>(s, self.roots[0], &from, &mut to);
            }
        }
        for r in 0..P {
            let mut to = Every {
                of: &mut *to,
                start: r,
                step: P,
            };
            dft::<T, S, Q>(s, self.roots[1], &middle.line(r, P), &mut to);
        }
    }
}

/// Transforms of `P Q` points along an axis in two steps, with the intermediate result in the
/// cache.
pub(crate) struct Double<'a, T, const P: usize, const Q: usize> {
    /// Roots and twiddles.
    pub(crate) steps: Steps<'a, T, P, Q>,
    /// Buffer for the intermediate result.
    pub(crate) middle: &'a mut [T],
    /// Real parts.
    pub(crate) re: &'a mut [T],
    /// Imaginary parts.
    pub(crate) im: &'a mut [T],
    /// Numbers between consecutive points.
    pub(crate) step: usize,
}

impl<T: Real, const P: usize, const Q: usize> WithSimd for Double<'_, T, P, Q> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) {
        let [middle, _] = middle::<T, S>(s, self.middle, P * Q);
        let blocks = self.re.chunks_exact_mut(self.step * P * Q);
        for (re, im) in blocks.zip(self.im.chunks_exact_mut(self.step * P * Q)) {
            let planes = [vectors_mut(s, re), vectors_mut(s, im)];
            let n = planes[0].len() / (P * Q);
            let planes = Planes::new(planes, n * P * Q);
            for i in 0..n {
                let mut line = planes.line(i, n);
                self.steps.run(s, middle, &line.clone(), &mut line);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::real::kernel::Kernel;

    /// Tests the twiddles and rows of a long line, of short lines with many rows, of a single line
    /// that is most of a pass, and of a few numbers. Rows are whole vectors, as in a tile.
    #[test]
    fn parts_cover_a_pass_in_pieces_between_two_checks() {
        let passes = [
            (8, 4096, 8),
            (7, 3, 65_536),
            (2, 1, 1 << 20),
            (5, 4, 8),
            (11, 1, 16),
        ];
        for (factor, parts, rows) in passes {
            let mut seen = vec![0; parts * rows];
            for part in Part::all::<f64>(factor, parts, rows) {
                let numbers = part.parts.len() * part.rows.len() * factor;
                assert!(
                    numbers <= CancellationChecks::EACH + factor * f64::COLUMNS,
                    "{numbers}"
                );
                assert_eq!(part.rows.start % f64::COLUMNS, 0, "{part:?}");
                for twiddle in part.parts {
                    for row in part.rows.clone() {
                        seen[twiddle * rows + row] += 1;
                    }
                }
            }
            assert!(
                seen.iter().all(|count| *count == 1),
                "{factor} {parts} {rows}"
            );
        }
    }
}
