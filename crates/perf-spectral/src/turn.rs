//! Square blocks with rows and columns swapped: between the transforms along outer and inner axes.

use crate::real::Real;
#[cfg(target_arch = "x86_64")]
use pulp::{Arch, Simd, WithSimd, x86::V3};

/// Some square blocks of `width` rows: the n-th from `n * from.1` of `from.0` to `n * to.1` of `to.0`.
#[derive(Debug)]
pub struct Blocks<'a, T> {
    pub(crate) from: (&'a [T], usize),
    pub(crate) to: (&'a mut [T], usize),
}

impl<T: Real> Blocks<'_, T> {
    /// Turns as many blocks as there are, in numbers that are copied as they are.
    pub(crate) fn turn_each<const N: usize>(self) {
        for (from, to) in blocks::<T, N>(self.from, self.to) {
            for (row, to) in to.iter_mut().enumerate() {
                for (to, from) in to.iter_mut().zip(from) {
                    *to = from[row];
                }
            }
        }
    }
}

type Square<T, const N: usize> = [[T; N]; N];

/// The blocks, as far as both sides have whole ones.
#[inline(always)]
fn blocks<'a, T, const N: usize>(
    from: (&'a [T], usize),
    to: (&'a mut [T], usize),
) -> impl Iterator<Item = (&'a Square<T, N>, &'a mut Square<T, N>)> {
    let from = from.0.chunks(from.1.max(1));
    let to = to.0.chunks_mut(to.1.max(1));
    from.zip(to).filter_map(|(from, to)| {
        let from = from.as_chunks::<N>().0.first_chunk::<N>()?;
        let to = to.as_chunks_mut::<N>().0.first_chunk_mut::<N>()?;
        Some((from, to))
    })
}

/// Blocks of 8 x 8 doubles.
pub(crate) fn turn_f64(blocks: Blocks<'_, f64>) {
    #[cfg(target_arch = "x86_64")]
    match Arch::new() {
        Arch::V4(s) => return Simd::vectorize(*s, Wide(*s, blocks)),
        Arch::V3(s) => return Simd::vectorize(s, Wide(s, blocks)),
        _ => {}
    }
    blocks.turn_each::<8>();
}

/// Blocks of 16 x 16 floats.
pub(crate) fn turn_f32(blocks: Blocks<'_, f32>) {
    #[cfg(target_arch = "x86_64")]
    match Arch::new() {
        Arch::V4(s) => return Simd::vectorize(*s, Wide(*s, blocks)),
        Arch::V3(s) => return Simd::vectorize(s, Wide(s, blocks)),
        _ => {}
    }
    blocks.turn_each::<16>();
}

/// The same in vectors of 32 bytes.
#[cfg(target_arch = "x86_64")]
struct Wide<'a, T>(V3, Blocks<'a, T>);

#[cfg(target_arch = "x86_64")]
impl WithSimd for Wide<'_, f64> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Wide(s, Blocks { from, to }) = self;
        for (from, to) in blocks::<f64, 8>(from, to) {
            for row in [0, 4] {
                for column in [0, 4] {
                    let load = |at: usize| {
                        let all = &from[row + at];
                        let four: [f64; 4] = std::array::from_fn(|lane| all[column + lane]);
                        bytemuck::cast(four)
                    };
                    let [a, b, c, d] = [load(0), load(1), load(2), load(3)];
                    let (e, f) = (
                        s.avx._mm256_unpacklo_pd(a, b),
                        s.avx._mm256_unpackhi_pd(a, b),
                    );
                    let (g, h) = (
                        s.avx._mm256_unpacklo_pd(c, d),
                        s.avx._mm256_unpackhi_pd(c, d),
                    );
                    let lines = [
                        s.avx._mm256_permute2f128_pd::<0x20>(e, g),
                        s.avx._mm256_permute2f128_pd::<0x20>(f, h),
                        s.avx._mm256_permute2f128_pd::<0x31>(e, g),
                        s.avx._mm256_permute2f128_pd::<0x31>(f, h),
                    ];
                    for (at, line) in lines.into_iter().enumerate() {
                        let four: [f64; 4] = bytemuck::cast(line);
                        to[column + at][row..row + 4].copy_from_slice(&four);
                    }
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
impl WithSimd for Wide<'_, f32> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Wide(s, Blocks { from, to }) = self;
        for (from, to) in blocks::<f32, 16>(from, to) {
            for row in [0, 8] {
                for column in [0, 8] {
                    let load = |at: usize| {
                        let all = &from[row + at];
                        let eight: [f32; 8] = std::array::from_fn(|lane| all[column + lane]);
                        bytemuck::cast(eight)
                    };
                    // Two rows at a time, then four, then all eight.
                    let two = |at: usize| {
                        let (a, b) = (load(at), load(at + 1));
                        (
                            s.avx._mm256_unpacklo_ps(a, b),
                            s.avx._mm256_unpackhi_ps(a, b),
                        )
                    };
                    let four = |at: usize| {
                        let ((a, b), (c, d)) = (two(at), two(at + 2));
                        [
                            s.avx._mm256_shuffle_ps::<0x44>(a, c),
                            s.avx._mm256_shuffle_ps::<0xee>(a, c),
                            s.avx._mm256_shuffle_ps::<0x44>(b, d),
                            s.avx._mm256_shuffle_ps::<0xee>(b, d),
                        ]
                    };
                    let (low, high) = (four(0), four(4));
                    for at in 0..4 {
                        let near = s.avx._mm256_permute2f128_ps::<0x20>(low[at], high[at]);
                        let far = s.avx._mm256_permute2f128_ps::<0x31>(low[at], high[at]);
                        let (near, far): ([f32; 8], [f32; 8]) =
                            (bytemuck::cast(near), bytemuck::cast(far));
                        to[column + at][row..row + 8].copy_from_slice(&near);
                        to[column + at + 4][row..row + 8].copy_from_slice(&far);
                    }
                }
            }
        }
    }
}
