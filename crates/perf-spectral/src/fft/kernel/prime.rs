//! [`Prime`]: one pass of a transform by its defining sum, for prime factors without a kernel of
//! their own. Each lane of a vector is a line, so the sum consists of products only. For primes of
//! this size it is faster than a convolution that processes one line after the other.

use crate::fft::kernel::butterfly::{Cx, Part, times};
use crate::fft::kernel::points::{Planes, Sink, Slices, Source};
use crate::real::{Real, vectors, vectors_mut};
use pulp::{Simd, WithSimd};

/// Largest of these primes; its lines fill the available buffer.
pub(crate) const LARGEST: usize = 127;

/// Returns `cos` and `sin` of `2 pi j k / p`: for each k from 1 to (p - 1) / 2, all j from 1 to (p
/// - 1) / 2.
pub(crate) fn table<T: Real>(prime: usize) -> Vec<[T; 2]> {
    let root = |at: usize| {
        let (sin, cos) = ((at % prime) as f64 * std::f64::consts::TAU / prime as f64).sin_cos();
        [T::of(cos), T::of(sin)]
    };
    let half = 1..=prime / 2;
    half.clone()
        .flat_map(|k| half.clone().map(move |j| root(j * k)))
        .collect()
}

/// One pass, like [`Pass`](crate::fft::kernel::butterfly::Pass) for small factors.
pub(crate) struct Prime<'a, T> {
    /// The prime factor.
    pub(crate) prime: usize,
    /// Table of roots, see [`table`].
    pub(crate) roots: &'a [[T; 2]],
    /// Twiddles `exp(-2 pi i j t / n)` at `j p + t`, n in total.
    pub(crate) twiddles: &'a [[T; 2]],
    /// Source planes.
    pub(crate) from: [&'a [T]; 2],
    /// Target planes.
    pub(crate) to: [&'a mut [T]; 2],
    /// Buffer for sums and differences: 2 (p - 1) rows.
    pub(crate) space: &'a mut [T],
    /// Part of the pass to execute.
    pub(crate) part: Part,
}

impl<T: Real> WithSimd for Prime<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) {
        let [from_re, from_im] = self.from.map(|plane| vectors(s, plane));
        let to = self.to.map(|plane| vectors_mut(s, plane));
        let (prime, half) = (self.prime, self.prime / 2);
        let (parts, all) = (self.twiddles.len() / prime, from_re.len());
        let n = all / self.twiddles.len().max(1);
        let to = Planes::new(to, all);
        let pairs = &mut vectors_mut(s, self.space).as_chunks_mut::<4>().0[..half];
        let [some, rows] = self.part.of::<T, T::V<S>>();
        for j in some {
            let twiddles = &self.twiddles[j * prime..(j + 1) * prime];
            for i in rows.clone() {
                let from = Slices {
                    re: &from_re[j * n + i..],
                    im: &from_im[j * n + i..],
                    step: parts * n,
                };
                let first = from.load(0);
                let mut sum = first;
                for (at, pair) in pairs.iter_mut().enumerate() {
                    let (x, y) = (from.load(at + 1), from.load(prime - 1 - at));
                    *pair = [
                        T::vadd(s, x.re, y.re),
                        T::vadd(s, x.im, y.im),
                        T::vsub(s, x.re, y.re),
                        T::vsub(s, x.im, y.im),
                    ];
                    sum.re = T::vadd(s, sum.re, pair[0]);
                    sum.im = T::vadd(s, sum.im, pair[1]);
                }
                let mut to = to.line(j * prime * n + i, n);
                to.store(0, sum);
                let mut put = |k: usize, x: Cx<T::V<S>>| {
                    let x = match parts {
                        1 => x,
                        _ => times::<T, S>(s, x, twiddles[k]),
                    };
                    to.store(k, x);
                };
                // Two frequencies at once, which halves the loads.
                let mut rows = self.roots.chunks_exact(2 * half);
                let mut k = 1;
                for two in &mut rows {
                    let (one, two) = two.split_at(half);
                    for (row, [x, y]) in sums::<T, S, 2>(s, first, pairs, [one, two])
                        .into_iter()
                        .enumerate()
                    {
                        put(k + row, x);
                        put(prime - k - row, y);
                    }
                    k += 2;
                }
                if let [_, ..] = rows.remainder() {
                    let [[x, y]] = sums::<T, S, 1>(s, first, pairs, [rows.remainder()]);
                    put(k, x);
                    put(prime - k, y);
                }
            }
        }
    }
}

/// Computes the sums of some frequencies k, and those of p - k.
#[inline(always)]
fn sums<T: Real, S: Simd, const N: usize>(
    s: S,
    first: Cx<T::V<S>>,
    pairs: &[[T::V<S>; 4]],
    roots: [&[[T; 2]]; N],
) -> [[Cx<T::V<S>>; 2]; N] {
    let none = T::splat(s, T::default());
    let mut sums = [[first.re, first.im, none, none]; N];
    let roots = roots.map(|row| &row[..pairs.len()]);
    for (at, pair) in pairs.iter().enumerate() {
        for (sums, roots) in sums.iter_mut().zip(roots) {
            let (cos, sin) = (T::splat(s, roots[at][0]), T::splat(s, roots[at][1]));
            sums[0] = T::mul_add(s, pair[0], cos, sums[0]);
            sums[1] = T::mul_add(s, pair[1], cos, sums[1]);
            sums[2] = T::mul_add(s, pair[2], sin, sums[2]);
            sums[3] = T::mul_add(s, pair[3], sin, sums[3]);
        }
    }
    // Multiplies the differences by -i.
    sums.map(|[er, ei, or, oi]| {
        [
            Cx {
                re: T::vadd(s, er, oi),
                im: T::vsub(s, ei, or),
            },
            Cx {
                re: T::vsub(s, er, oi),
                im: T::vadd(s, ei, or),
            },
        ]
    })
}
