//! [`Real`]: the floating-point types of spectra, `f64` and `f32`, with their vector operations;
//! [`Aligned`]: buffer aligned to cache lines.

use crate::correlation::{Product, Sums};
use crate::fft::compiled::Compiled;
use crate::fft::kernel::real_forward::RealForwardWork;
use crate::fft::line::{Line, LineSpace};
use crate::fft::packing::real_axis;
use crate::fft::transpose::{Turning, turn_f32, turn_f64};
use pulp::{Arch, Simd};
use std::fmt::Debug;

/// Floating-point type of the spectra, `f64` or `f32`. Single precision takes half the memory and
/// half the time.
///
/// This trait is sealed.
pub trait Real: kernel::Kernel + Compiled {}

impl Real for f64 {}
impl Real for f32 {}

pub(crate) mod kernel {
    use super::{Debug, Simd};
    use crate::correlation::{Product, Sums};
    use crate::fft::kernel::real_forward::RealForwardWork;
    use crate::fft::line::{Line, LineSpace};
    use crate::fft::transpose::Turning;

    /// Operations that the transforms need on numbers and on vectors of them.
    pub trait Kernel:
        Copy
        + Debug
        + Default
        + Send
        + Sync
        + PartialOrd
        + bytemuck::Pod
        + rustfft::FftNum
        + std::ops::AddAssign
    {
        /// Numbers in a row of a tile: 64 bytes, a cache line and the widest vector.
        const COLUMNS: usize;
        /// Share of the energy below which variation is rounding error (section 5).
        const NOTHING: f64;
        /// Difference below which values of R are equal (section 4).
        const TIE: f64;
        /// Largest rounding error of the magnitude bound.
        const SLACK: f64;
        /// Name of the type, `f64` or `f32`.
        const NAME: &'static str;

        /// Vector of numbers.
        type V<S: Simd>: Copy + bytemuck::Pod;

        /// Splits a slice into whole vectors and the remaining numbers.
        fn split<S: Simd>(s: S, values: &[Self]) -> (&[Self::V<S>], &[Self]);
        /// Splits a mutable slice like [`split`](Self::split).
        fn split_mut<S: Simd>(s: S, values: &mut [Self]) -> (&mut [Self::V<S>], &mut [Self]);
        /// Rounds to this precision.
        fn of(value: f64) -> Self;
        /// Converts to `f64`, exactly.
        fn wide(self) -> f64;
        /// Broadcasts a number to all lanes.
        fn splat<S: Simd>(s: S, value: Self) -> Self::V<S>;
        /// Returns `a + b`.
        fn vadd<S: Simd>(s: S, a: Self::V<S>, b: Self::V<S>) -> Self::V<S>;
        /// Returns `a - b`.
        fn vsub<S: Simd>(s: S, a: Self::V<S>, b: Self::V<S>) -> Self::V<S>;
        /// Returns `-a`.
        fn vneg<S: Simd>(s: S, a: Self::V<S>) -> Self::V<S>;
        /// Returns `a * b`.
        fn vmul<S: Simd>(s: S, a: Self::V<S>, b: Self::V<S>) -> Self::V<S>;
        /// Returns `a * b + c`, rounded once if the processor supports it.
        fn mul_add<S: Simd>(s: S, a: Self::V<S>, b: Self::V<S>, c: Self::V<S>) -> Self::V<S>;
        /// Returns the larger number of each lane.
        fn larger<S: Simd>(s: S, a: Self::V<S>, b: Self::V<S>) -> Self::V<S>;
        /// Returns the smaller number of each lane.
        fn smaller<S: Simd>(s: S, a: Self::V<S>, b: Self::V<S>) -> Self::V<S>;
        /// Returns the square root of each lane.
        fn root<S: Simd>(s: S, a: Self::V<S>) -> Self::V<S>;
        /// Calls [`Line::run_all`], which is compiled once here instead of in every crate that uses
        /// it.
        fn run(
            line: &Line<Self>,
            re: &mut [Self],
            im: &mut [Self],
            step: usize,
            columns: usize,
            space: &mut LineSpace<Self>,
        );
        /// Calls [`Line::last_all`], compiled here too.
        fn last(
            line: &Line<Self>,
            turns: &[[Self; 2]],
            planes: [&mut [Self]; 2],
            bounds: [&mut [Self]; 2],
            space: &mut LineSpace<Self>,
        ) -> bool;
        /// Calls [`Line::first_all`], compiled here too.
        fn first(line: &Line<Self>, work: RealForwardWork<'_, Self>) -> bool;
        /// Converts between a transform of L/2 slots and one of L samples, compiled here too.
        fn real_axis(
            forward: bool,
            turns: &[[Self; 2]],
            slots: usize,
            re: &mut [Self],
            im: &mut [Self],
        );
        /// Multiplies two spectra, compiled here too.
        fn product(work: Product<'_, Self>);
        /// Computes sums over two spectra, compiled here too.
        fn sums(work: Sums<'_, Self>) -> (f64, f64);
        /// Transposes square blocks of [`COLUMNS`](Self::COLUMNS) rows.
        fn turn(work: Turning<'_, Self>);
        /// Converts between little-endian and native byte order, in place.
        fn little_endian(values: &mut [Self]);
    }
}

macro_rules! kernel {
    ($real:ident, $columns:literal, $nothing:literal, $tie:literal, $slack:literal, $vector:ident,
     $as_simd:ident, $as_mut_simd:ident,
     $splat:ident, $add:ident, $sub:ident, $neg:ident, $mul:ident, $mul_add:ident, $max:ident, $min:ident,
     $sqrt:ident, $turn:ident) => {
        impl kernel::Kernel for $real {
            const COLUMNS: usize = $columns;
            const NOTHING: f64 = $nothing;
            const TIE: f64 = $tie;
            const SLACK: f64 = $slack;
            const NAME: &'static str = stringify!($real);
            type V<S: Simd> = S::$vector;

            #[inline(always)]
            fn split<S: Simd>(_: S, values: &[Self]) -> (&[Self::V<S>], &[Self]) {
                S::$as_simd(values)
            }
            #[inline(always)]
            fn split_mut<S: Simd>(_: S, values: &mut [Self]) -> (&mut [Self::V<S>], &mut [Self]) {
                S::$as_mut_simd(values)
            }
            #[inline(always)]
            fn of(value: f64) -> Self {
                value as $real
            }
            #[inline(always)]
            fn wide(self) -> f64 {
                f64::from(self)
            }
            #[inline(always)]
            fn splat<S: Simd>(s: S, value: Self) -> Self::V<S> {
                s.$splat(value)
            }
            #[inline(always)]
            fn vadd<S: Simd>(s: S, a: Self::V<S>, b: Self::V<S>) -> Self::V<S> {
                s.$add(a, b)
            }
            #[inline(always)]
            fn vsub<S: Simd>(s: S, a: Self::V<S>, b: Self::V<S>) -> Self::V<S> {
                s.$sub(a, b)
            }
            #[inline(always)]
            fn vneg<S: Simd>(s: S, a: Self::V<S>) -> Self::V<S> {
                s.$neg(a)
            }
            #[inline(always)]
            fn vmul<S: Simd>(s: S, a: Self::V<S>, b: Self::V<S>) -> Self::V<S> {
                s.$mul(a, b)
            }
            #[inline(always)]
            fn mul_add<S: Simd>(s: S, a: Self::V<S>, b: Self::V<S>, c: Self::V<S>) -> Self::V<S> {
                s.$mul_add(a, b, c)
            }
            #[inline(always)]
            fn larger<S: Simd>(s: S, a: Self::V<S>, b: Self::V<S>) -> Self::V<S> {
                s.$max(a, b)
            }
            #[inline(always)]
            fn smaller<S: Simd>(s: S, a: Self::V<S>, b: Self::V<S>) -> Self::V<S> {
                s.$min(a, b)
            }
            #[inline(always)]
            fn root<S: Simd>(s: S, a: Self::V<S>) -> Self::V<S> {
                s.$sqrt(a)
            }
            #[inline(never)]
            fn run(
                line: &Line<Self>,
                re: &mut [Self],
                im: &mut [Self],
                step: usize,
                columns: usize,
                space: &mut LineSpace<Self>,
            ) {
                line.run_all(re, im, step, columns, space);
            }
            #[inline(never)]
            fn last(
                line: &Line<Self>,
                turns: &[[Self; 2]],
                planes: [&mut [Self]; 2],
                bounds: [&mut [Self]; 2],
                space: &mut LineSpace<Self>,
            ) -> bool {
                line.last_all(turns, planes, bounds, space)
            }
            #[inline(never)]
            fn first(line: &Line<Self>, work: RealForwardWork<'_, Self>) -> bool {
                line.first_all(work)
            }
            #[inline(never)]
            fn real_axis(
                forward: bool,
                turns: &[[Self; 2]],
                slots: usize,
                re: &mut [Self],
                im: &mut [Self],
            ) {
                if forward {
                    real_axis::<Self, true>(turns, slots, re, im);
                } else {
                    real_axis::<Self, false>(turns, slots, re, im);
                }
            }
            #[inline(never)]
            fn product(work: Product<'_, Self>) {
                Arch::new().dispatch(work)
            }
            #[inline(never)]
            fn sums(work: Sums<'_, Self>) -> (f64, f64) {
                Arch::new().dispatch(work)
            }
            #[inline(never)]
            fn turn(work: Turning<'_, Self>) {
                $turn(work)
            }
            fn little_endian(values: &mut [Self]) {
                if cfg!(target_endian = "big") {
                    for value in values {
                        *value = $real::from_bits(value.to_bits().swap_bytes());
                    }
                }
            }
        }
    };
}

kernel!(
    f64,
    8,
    1e-12,
    1e-9,
    1e-9,
    f64s,
    as_simd_f64s,
    as_mut_simd_f64s,
    splat_f64s,
    add_f64s,
    sub_f64s,
    neg_f64s,
    mul_f64s,
    mul_add_e_f64s,
    max_f64s,
    min_f64s,
    sqrt_f64s,
    turn_f64
);
kernel!(
    f32,
    16,
    1e-11,
    2e-6,
    2e-5,
    f32s,
    as_simd_f32s,
    as_mut_simd_f32s,
    splat_f32s,
    add_f32s,
    sub_f32s,
    neg_f32s,
    mul_f32s,
    mul_add_e_f32s,
    max_f32s,
    min_f32s,
    sqrt_f32s,
    turn_f32
);

/// Casts a slice to vectors. Every slice of rows consists of whole vectors; anything else is a bug
/// and panics.
#[inline(always)]
pub(crate) fn vectors<S: Simd, T: Real>(s: S, values: &[T]) -> &[T::V<S>] {
    let (vectors, rest) = T::split(s, values);
    assert!(rest.is_empty(), "rows are whole vectors");
    vectors
}

/// Casts a mutable slice like [`vectors`].
#[inline(always)]
pub(crate) fn vectors_mut<S: Simd, T: Real>(s: S, values: &mut [T]) -> &mut [T::V<S>] {
    let (vectors, rest) = T::split_mut(s, values);
    assert!(rest.is_empty(), "rows are whole vectors");
    vectors
}

/// Numbers aligned to a cache line, so that no vector straddles two.
#[derive(Debug, Default)]
pub(crate) struct Aligned<T> {
    /// Storage with room for the alignment.
    store: Vec<T>,
    /// Index of the first aligned number.
    start: usize,
    /// Number of aligned numbers.
    len: usize,
}

impl<T: Real> Aligned<T> {
    pub(crate) fn zeros(len: usize) -> Self {
        let store = vec![T::default(); len + T::COLUMNS];
        let start = store.as_ptr().align_offset(64).min(T::COLUMNS);
        Aligned { store, start, len }
    }

    pub(crate) fn get(&self) -> &[T] {
        &self.store[self.start..self.start + self.len]
    }

    pub(crate) fn get_mut(&mut self) -> &mut [T] {
        &mut self.store[self.start..self.start + self.len]
    }
}

impl<T: Real> Clone for Aligned<T> {
    fn clone(&self) -> Self {
        let mut new = Self::zeros(self.len);
        new.get_mut().copy_from_slice(self.get());
        new
    }
}
