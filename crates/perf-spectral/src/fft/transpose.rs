//! Transposition in square blocks: of [`Blocks`] between the transforms along outer and inner axes,
//! and of [`Strips`] of a view in which samples of the real axis are contiguous.

use crate::real::Real;
#[cfg(target_arch = "x86_64")]
use pulp::{Arch, Simd, WithSimd, x86::V3};

/// Square blocks of `width` rows: the n-th from `n * from.1` of `from.0` to `n * to.1` of `to.0`.
#[derive(Debug)]
pub struct Blocks<'a, T> {
    /// Source and the distance between its blocks.
    pub(crate) from: (&'a [T], usize),
    /// Target and the distance between its blocks.
    pub(crate) to: (&'a mut [T], usize),
}

/// Lines of contiguous samples, which become rows of one sample each.
#[derive(Debug)]
pub struct Strips<'a, T> {
    /// Values of the view.
    pub(crate) values: &'a [T],
    /// Start of the line of each column. Missing columns repeat the last.
    pub(crate) places: &'a [u32],
    /// Offsets added to that, one for each row of a sample.
    pub(crate) starts: &'a [u32],
    /// Number of samples.
    pub(crate) samples: usize,
    /// Target, sample by sample, with all rows of each.
    pub(crate) rows: &'a mut [T],
}

/// Transposition of a block of N x N numbers into every `step`-th row of the target.
trait Square<T, const N: usize>: Copy {
    fn turn(self, from: [&[T; N]; N], to: &mut [[T; N]], step: usize);
}

/// Transposition of single numbers.
#[derive(Clone, Copy)]
struct Plain;

impl<T: Copy, const N: usize> Square<T, N> for Plain {
    #[inline(always)]
    fn turn(self, from: [&[T; N]; N], to: &mut [[T; N]], step: usize) {
        for (row, to) in to.iter_mut().step_by(step).enumerate().take(N) {
            for (to, from) in to.iter_mut().zip(from) {
                *to = from[row];
            }
        }
    }
}

impl<T: Real> Blocks<'_, T> {
    /// Transposes as many blocks as both sides hold completely.
    #[inline(always)]
    fn turn<const N: usize>(self, square: impl Square<T, N>) {
        let from = self.from.0.chunks(self.from.1.max(1));
        let to = self.to.0.chunks_mut(self.to.1.max(1));
        for (from, to) in from.zip(to) {
            let rows = from.as_chunks::<N>().0.first_chunk::<N>();
            let to = to.as_chunks_mut::<N>().0;
            if let Some(rows) = rows
                && to.len() >= N
            {
                square.turn(rows.each_ref(), to, 1);
            }
        }
    }
}

impl<T: Real> Strips<'_, T> {
    #[inline(always)]
    fn turn<const N: usize>(self, square: impl Square<T, N>) {
        let starts = self.starts.iter().step_by(2);
        let count = starts.len();
        let rows = self.rows.as_chunks_mut::<N>().0;
        let whole = self.samples / N * N;
        for (at, start) in starts.enumerate() {
            let mut lines: [&[T]; N] = [&[]; N];
            let mut place = 0;
            for (column, line) in lines.iter_mut().enumerate() {
                // A square has N lines: those beyond the last column repeat it.
                place = self.places.get(column).copied().unwrap_or(place);
                *line = &self.values[(start + place) as usize..][..self.samples];
            }
            let none = [T::default(); N];
            for sample in (0..whole).step_by(N) {
                let mut from = [&none; N];
                for (from, line) in from.iter_mut().zip(lines) {
                    if let Some(part) = line[sample..].first_chunk::<N>() {
                        *from = part;
                    }
                }
                square.turn(from, &mut rows[sample * count + at..], count);
            }
            for sample in whole..self.samples {
                let row = &mut rows[sample * count + at];
                for (to, line) in row.iter_mut().zip(lines) {
                    *to = line[sample];
                }
            }
        }
    }
}

/// Blocks or strips to transpose.
#[derive(Debug)]
pub enum Turning<'a, T> {
    /// Square blocks.
    Blocks(Blocks<'a, T>),
    /// Lines of contiguous samples.
    Strips(Strips<'a, T>),
}

impl<T: Real> Turning<'_, T> {
    #[inline(always)]
    fn run<const N: usize>(self, square: impl Square<T, N>) {
        match self {
            Turning::Blocks(blocks) => blocks.turn(square),
            Turning::Strips(strips) => strips.turn(square),
        }
    }
}

/// Transposes blocks of 8 x 8 doubles.
pub(crate) fn turn_f64(work: Turning<'_, f64>) {
    #[cfg(target_arch = "x86_64")]
    match Arch::new() {
        Arch::V4(s) => return Simd::vectorize(*s, Wide(*s, work)),
        Arch::V3(s) => return Simd::vectorize(s, Wide(s, work)),
        _ => {}
    }
    work.run::<8>(Plain);
}

/// Transposes blocks of 16 x 16 floats.
pub(crate) fn turn_f32(work: Turning<'_, f32>) {
    #[cfg(target_arch = "x86_64")]
    match Arch::new() {
        Arch::V4(s) => return Simd::vectorize(*s, Wide(*s, work)),
        Arch::V3(s) => return Simd::vectorize(s, Wide(s, work)),
        _ => {}
    }
    work.run::<16>(Plain);
}

/// Transposition with vectors of 32 bytes.
#[cfg(target_arch = "x86_64")]
struct Wide<'a, T>(V3, Turning<'a, T>);

#[cfg(target_arch = "x86_64")]
impl WithSimd for Wide<'_, f64> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.1.run::<8>(self.0);
    }
}

#[cfg(target_arch = "x86_64")]
impl WithSimd for Wide<'_, f32> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.1.run::<16>(self.0);
    }
}

/// Loads 16 bytes from each of two rows, N numbers each, into one vector, which is faster than
/// moving them between the halves of vectors. The index is applied to the row itself: with slices
/// cut beforehand the compiler did not always elide the bounds checks, which took 8 % more
/// instructions for a correlation.
#[cfg(target_arch = "x86_64")]
macro_rules! pair {
    ($s:expr, $n:literal, $one:expr, $two:expr, $part:expr) => {
        $s.avx._mm256_insertf128_pd::<1>(
            $s.avx
                ._mm256_castpd128_pd256(bytemuck::cast($one.as_chunks::<$n>().0[$part])),
            bytemuck::cast($two.as_chunks::<$n>().0[$part]),
        )
    };
}

#[cfg(target_arch = "x86_64")]
impl Square<f64, 8> for V3 {
    #[inline(always)]
    fn turn(self, from: [&[f64; 8]; 8], to: &mut [[f64; 8]], step: usize) {
        for row in [0, 4] {
            for part in 0..4 {
                let a = pair!(self, 2, from[row], from[row + 2], part);
                let b = pair!(self, 2, from[row + 1], from[row + 3], part);
                let lines = [
                    self.avx._mm256_unpacklo_pd(a, b),
                    self.avx._mm256_unpackhi_pd(a, b),
                ];
                for (at, line) in lines.into_iter().enumerate() {
                    let four: [f64; 4] = bytemuck::cast(line);
                    to[(2 * part + at) * step][row..row + 4].copy_from_slice(&four);
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
impl Square<f32, 16> for V3 {
    #[inline(always)]
    fn turn(self, from: [&[f32; 16]; 16], to: &mut [[f32; 16]], step: usize) {
        for row in [0, 8] {
            for part in 0..4 {
                let a = bytemuck::cast(pair!(self, 4, from[row], from[row + 4], part));
                let b = bytemuck::cast(pair!(self, 4, from[row + 1], from[row + 5], part));
                let c = bytemuck::cast(pair!(self, 4, from[row + 2], from[row + 6], part));
                let d = bytemuck::cast(pair!(self, 4, from[row + 3], from[row + 7], part));
                let (e, f) = (
                    self.avx._mm256_unpacklo_ps(a, b),
                    self.avx._mm256_unpackhi_ps(a, b),
                );
                let (g, h) = (
                    self.avx._mm256_unpacklo_ps(c, d),
                    self.avx._mm256_unpackhi_ps(c, d),
                );
                let lines = [
                    self.avx._mm256_shuffle_ps::<0x44>(e, g),
                    self.avx._mm256_shuffle_ps::<0xee>(e, g),
                    self.avx._mm256_shuffle_ps::<0x44>(f, h),
                    self.avx._mm256_shuffle_ps::<0xee>(f, h),
                ];
                for (at, line) in lines.into_iter().enumerate() {
                    let eight: [f32; 8] = bytemuck::cast(line);
                    to[(4 * part + at) * step][row..row + 8].copy_from_slice(&eight);
                }
            }
        }
    }
}
