//! [`Line`]: the transform along one axis of a tile.

use crate::butterfly::{Double, Roots, Single};
use crate::dispatch::{dispatch, has_vectors};
use crate::last::Last;
use crate::real::Real;
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftPlanner};
use std::sync::Arc;

/// The transform along one axis of a tile: a short one in vectors, or any length by rustfft.
#[derive(Clone)]
pub struct Line<T> {
    len: usize,
    /// Its two factors, the second 1 for lengths done in registers; `None` by rustfft.
    short: Option<(usize, usize)>,
    roots: [Roots<T>; 2],
    twiddles: Vec<[T; 2]>,
    long: Option<Arc<dyn Fft<T>>>,
}

/// Space for lines that rustfft transforms.
#[derive(Debug, Default)]
pub struct LineSpace<T> {
    line: Vec<Complex<T>>,
    scratch: Vec<Complex<T>>,
}

impl<T> std::fmt::Debug for Line<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Line")
            .field("len", &self.len)
            .field("short", &self.short)
            .finish_non_exhaustive()
    }
}

/// The factors of the lengths that have a transform of their own. The first factor fills the
/// registers, the second has the twiddles behind it.
fn factors(len: usize) -> Option<(usize, usize)> {
    Some(match len {
        1 | 2 | 3 | 4 | 5 | 7 | 8 => (len, 1),
        6 => (2, 3),
        9 => (3, 3),
        10 => (2, 5),
        12 => (4, 3),
        14 => (2, 7),
        15 => (3, 5),
        16 => (4, 4),
        20 => (4, 5),
        24 => (8, 3),
        28 => (4, 7),
        32 => (4, 8),
        64 => (8, 8),
        _ => return None,
    })
}

impl<T: Real> Line<T> {
    pub(crate) fn new(len: usize, planner: &mut FftPlanner<T>) -> Self {
        let short = factors(len).filter(|_| has_vectors());
        let (p, q) = short.unwrap_or((1, 1));
        let twiddle = |at: usize| {
            let angle = -((at / p * (at % p)) as f64) * std::f64::consts::TAU / len as f64;
            [T::of(angle.cos()), T::of(angle.sin())]
        };
        Line {
            len,
            short,
            roots: [Roots::new(p), Roots::new(q)],
            twiddles: (0..p * q).map(twiddle).collect(),
            long: short.is_none().then(|| planner.plan_fft_forward(len)),
        }
    }

    /// Forward along an axis whose steps are `step` numbers (rows of a tile), `columns` of each
    /// row in use. With the planes swapped it is the inverse, times the length.
    pub(crate) fn run_all(
        &self,
        re: &mut [T],
        im: &mut [T],
        step: usize,
        columns: usize,
        space: &mut LineSpace<T>,
    ) {
        macro_rules! single {
            ($p:literal) => {
                dispatch(Single::<T, $p> {
                    roots: &self.roots[0],
                    re,
                    im,
                    step,
                })
                .unwrap_or_default()
            };
        }
        macro_rules! double {
            ($p:literal, $q:literal) => {
                dispatch(Double::<T, $p, $q> {
                    roots: [&self.roots[0], &self.roots[1]],
                    twiddles: &self.twiddles,
                    re,
                    im,
                    step,
                })
                .unwrap_or_default()
            };
        }
        match (self.len, &self.long) {
            (_, Some(fft)) => self.long(fft.as_ref(), re, im, step, columns, space),
            (2, _) => single!(2),
            (3, _) => single!(3),
            (4, _) => single!(4),
            (5, _) => single!(5),
            (7, _) => single!(7),
            (8, _) => single!(8),
            (6, _) => double!(2, 3),
            (9, _) => double!(3, 3),
            (10, _) => double!(2, 5),
            (12, _) => double!(4, 3),
            (14, _) => double!(2, 7),
            (15, _) => double!(3, 5),
            (16, _) => double!(4, 4),
            (20, _) => double!(4, 5),
            (24, _) => double!(8, 3),
            (28, _) => double!(4, 7),
            (32, _) => double!(4, 8),
            (64, _) => double!(8, 8),
            _ => {}
        }
    }

    /// The last step of an inverse transform, where this is a short line of L/2 slots of a real axis:
    /// all that lies between the spectrum along it and the extremes of what comes out, see [`Last`].
    /// Whether it was done: not by rustfft.
    pub(crate) fn last_all(
        &self,
        turns: &[[T; 2]],
        planes: [&mut [T]; 2],
        bounds: [&mut [T]; 2],
    ) -> bool {
        let [re, im] = planes;
        let [high, low] = bounds;
        macro_rules! last {
            ($p:literal, $q:literal) => {
                dispatch(Last::<T, $p, $q> {
                    roots: [&self.roots[0], &self.roots[1]],
                    twiddles: &self.twiddles,
                    turns,
                    re,
                    im,
                    high,
                    low,
                })
                .is_some()
            };
        }
        if self.long.is_some() {
            return false;
        }
        match self.len {
            1 => last!(1, 1),
            2 => last!(2, 1),
            3 => last!(3, 1),
            4 => last!(4, 1),
            5 => last!(5, 1),
            6 => last!(2, 3),
            7 => last!(7, 1),
            8 => last!(8, 1),
            9 => last!(3, 3),
            10 => last!(2, 5),
            12 => last!(4, 3),
            14 => last!(2, 7),
            15 => last!(3, 5),
            16 => last!(4, 4),
            20 => last!(4, 5),
            24 => last!(8, 3),
            28 => last!(4, 7),
            32 => last!(4, 8),
            64 => last!(8, 8),
            _ => false,
        }
    }

    /// A row of lines at a time into one array each, and back.
    fn long(
        &self,
        fft: &dyn Fft<T>,
        re: &mut [T],
        im: &mut [T],
        step: usize,
        columns: usize,
        space: &mut LineSpace<T>,
    ) {
        let (len, width) = (self.len, T::COLUMNS);
        space.line.resize(len * columns, Complex::default());
        let need = fft.get_inplace_scratch_len();
        if space.scratch.len() < need {
            space.scratch.resize(need, Complex::default());
        }
        let blocks = re.chunks_exact_mut(step * len);
        for (re, im) in blocks.zip(im.chunks_exact_mut(step * len)) {
            for row in (0..step).step_by(width) {
                for at in 0..len {
                    let from = at * step + row;
                    for column in 0..columns {
                        space.line[column * len + at] =
                            Complex::new(re[from + column], im[from + column]);
                    }
                }
                fft.process_with_scratch(&mut space.line, &mut space.scratch[..need]);
                for at in 0..len {
                    let to = at * step + row;
                    for column in 0..columns {
                        let value = space.line[column * len + at];
                        re[to + column] = value.re;
                        im[to + column] = value.im;
                    }
                }
            }
        }
    }
}
