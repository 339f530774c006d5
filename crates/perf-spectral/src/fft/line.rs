//! [`Line`]: plan and execution of the transform along one axis of a tile, with vector kernels or
//! rustfft.

use crate::fft::kernel::butterfly::{Double, Part, Pass, Roots, Single, Steps, middle_space};
use crate::fft::kernel::dispatch::{dispatch, has_vectors};
use crate::fft::kernel::prime::{self, Prime};
use crate::fft::kernel::real_forward::{RealForward, RealForwardWork};
use crate::fft::kernel::real_inverse::RealInverse;
use crate::fft::kernel::rustfft_plan;
use crate::real::{Aligned, Real};
use perf_core::{CancellationChecks, Job};
use rustfft::Fft;
use rustfft::num_complex::Complex;
use std::sync::Arc;

/// Transform along one axis of a tile: with vectors, in which each lane holds a line, or with
/// rustfft.
#[derive(Clone)]
pub struct Line<T> {
    /// Number of points.
    len: usize,
    /// Algorithm.
    way: Way<T>,
}

/// Algorithm for a line.
#[derive(Clone)]
enum Way<T> {
    /// One factor, in registers.
    Single(Roots<T>),
    /// Two factors. The first fills the registers, the second uses the twiddles.
    Double([usize; 2], [Roots<T>; 2], Vec<[T; 2]>),
    /// One pass over the tile for each factor.
    Passes(Vec<Step<T>>),
    /// rustfft, for lengths with prime factors above [`prime::LARGEST`] and for processors without
    /// vectors.
    Long(Arc<dyn Fft<T>>),
}

/// One pass: a factor and its twiddles.
#[derive(Clone, Debug)]
struct Step<T> {
    /// Factor of the pass.
    factor: usize,
    /// Roots of the factor.
    roots: Roots<T>,
    /// Table of a prime factor above 7, see [`prime::table`].
    table: Vec<[T; 2]>,
    /// Twiddles `exp(-2 pi i j t / n)` at `j factor + t`, where n is the length divided by the
    /// factors of the earlier passes.
    twiddles: Vec<[T; 2]>,
}

impl<T: Real> Step<T> {
    /// Executes a part of the pass, from one tile to another.
    fn pass(&self, from: [&[T]; 2], to: [&mut [T]; 2], middle: &mut [T], part: Part) {
        let twiddles = self.twiddles.as_slice();
        macro_rules! pass {
            ($p:literal) => {
                dispatch(Pass::<T, $p> {
                    roots: &self.roots,
                    twiddles,
                    from,
                    to,
                    part,
                })
            };
        }
        // Nothing is dispatched without vectors, because lines then use rustfft.
        let _ = match self.factor {
            2 => pass!(2),
            3 => pass!(3),
            4 => pass!(4),
            5 => pass!(5),
            7 => pass!(7),
            8 => pass!(8),
            prime => dispatch(Prime {
                prime,
                roots: &self.table,
                twiddles,
                from,
                to,
                space: middle,
                part,
            }),
        };
    }
}

/// Buffers for lines that are not transformed in place.
#[derive(Debug)]
pub struct LineSpace<T> {
    /// Buffer between two steps of a line.
    pub(crate) middle: Aligned<T>,
    /// Tile for passes.
    planes: [Aligned<T>; 2],
    /// One line for rustfft.
    line: Vec<Complex<T>>,
    /// Scratch of rustfft.
    scratch: Vec<Complex<T>>,
    /// Job whose cancellation stops a transform between two tiles, and between two pieces of a pass
    /// over a long one.
    pub(crate) job: Job,
}

impl<T: Real> LineSpace<T> {
    pub(crate) fn new() -> Self {
        LineSpace {
            middle: Aligned::zeros(middle_space::<T>()),
            planes: [Aligned::zeros(0), Aligned::zeros(0)],
            line: Vec::new(),
            scratch: Vec::new(),
            job: Job::default(),
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.job.is_cancelled()
    }
}

impl<T> std::fmt::Debug for Line<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Line")
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

/// Returns `exp(-2 pi i at / len)`.
fn root<T: Real>(at: usize, len: usize) -> [T; 2] {
    let angle = -((at % len) as f64) * std::f64::consts::TAU / len as f64;
    [T::of(angle.cos()), T::of(angle.sin())]
}

impl<T: Real> Way<T> {
    fn of(len: usize) -> Self {
        // Each kernel is compiled for two precisions and each kind of vector instructions, so only
        // frequent lengths have their own.
        let two = match len {
            1 | 2 | 3 | 4 | 5 | 7 | 8 => [len, 1],
            14 => [2, 7],
            16 => [4, 4],
            32 => [4, 8],
            64 => [8, 8],
            _ => [0, 0],
        };
        match (factors(len), two) {
            _ if !has_vectors() => Way::Long(rustfft_plan::plan(len)),
            (_, [_, 1]) => Way::Single(Roots::new(len)),
            (_, [p, q]) if p > 0 => {
                let twiddles = (0..len).map(|at| root(at / p * (at % p), len));
                Way::Double(two, [Roots::new(p), Roots::new(q)], twiddles.collect())
            }
            (Some(factors), _) => {
                let mut rest = len;
                let step = |factor| {
                    let twiddles = (0..rest).map(|at| root(at / factor * (at % factor), rest));
                    let step = Step {
                        factor,
                        roots: Roots::new(factor),
                        table: match factor {
                            0..=8 => Vec::new(),
                            prime => prime::table(prime),
                        },
                        twiddles: twiddles.collect(),
                    };
                    rest /= factor;
                    step
                };
                Way::Passes(factors.into_iter().map(step).collect())
            }
            (None, _) => Way::Long(rustfft_plan::plan(len)),
        }
    }
}

/// Factorises a length; factors above 8 are primes. Returns `None` if one exceeds
/// [`prime::LARGEST`].
fn factors(len: usize) -> Option<Vec<usize>> {
    let (mut rest, mut factors) = (len, Vec::new());
    // The remainder without smaller factors is a prime.
    for factor in (11..=prime::LARGEST).step_by(2) {
        let is_prime = [3, 5, 7].iter().all(|small| factor % small > 0);
        while is_prime && rest.is_multiple_of(factor) {
            factors.push(factor);
            rest /= factor;
        }
    }
    for factor in [7, 5, 3, 8, 4, 2] {
        // 16 is split as 4 x 4 rather than 8 x 2, which has the same number of passes but is
        // slower.
        while rest.is_multiple_of(factor) && !(factor == 8 && rest == 16) {
            factors.push(factor);
            rest /= factor;
        }
    }
    (rest == 1).then_some(factors)
}

impl<T: Real> Line<T> {
    pub(crate) fn new(len: usize) -> Self {
        Line {
            len,
            way: Way::of(len),
        }
    }

    /// Transforms forward along an axis whose steps are `step` numbers (rows of a tile), with
    /// `columns` of each row in use. With swapped planes it computes the inverse multiplied by the
    /// length.
    pub(crate) fn run_all(
        &self,
        re: &mut [T],
        im: &mut [T],
        step: usize,
        columns: usize,
        space: &mut LineSpace<T>,
    ) {
        macro_rules! single {
            ($p:literal, $roots:expr) => {
                dispatch(Single::<T, $p> {
                    roots: $roots,
                    re,
                    im,
                    step,
                })
                .unwrap_or_default()
            };
        }
        macro_rules! double {
            ($p:literal, $q:literal, $roots:expr, $twiddles:expr) => {
                dispatch(Double::<T, $p, $q> {
                    steps: Steps {
                        roots: $roots.each_ref(),
                        twiddles: $twiddles,
                    },
                    middle: space.middle.get_mut(),
                    re,
                    im,
                    step,
                })
                .unwrap_or_default()
            };
        }
        match &self.way {
            Way::Long(fft) => self.long(fft.as_ref(), re, im, step, columns, space),
            Way::Passes(steps) => self.passes(steps, re, im, step, space),
            Way::Single(roots) => match self.len {
                2 => single!(2, roots),
                3 => single!(3, roots),
                4 => single!(4, roots),
                5 => single!(5, roots),
                7 => single!(7, roots),
                8 => single!(8, roots),
                _ => {}
            },
            Way::Double(factors, roots, twiddles) => match factors {
                [2, 7] => double!(2, 7, roots, twiddles),
                [4, 4] => double!(4, 4, roots, twiddles),
                [4, 8] => double!(4, 8, roots, twiddles),
                [8, 8] => double!(8, 8, roots, twiddles),
                _ => {}
            },
        }
    }

    /// Executes the last step of an inverse transform if the axis is a short line of L/2 slots of a
    /// real axis. The step computes everything between the spectrum along the axis and the extremes
    /// of the output, see [`RealInverse`]. Returns `true` if the length has a kernel.
    pub(crate) fn last_all(
        &self,
        turns: &[[T; 2]],
        planes: [&mut [T]; 2],
        bounds: [&mut [T]; 2],
        space: &mut LineSpace<T>,
    ) -> bool {
        let [re, im] = planes;
        let [high, low] = bounds;
        // A length that fits in registers has a second factor of 1, without roots or twiddles.
        let none = [];
        macro_rules! last {
            ($p:literal, $q:literal, $roots:expr, $twiddles:expr) => {
                dispatch(RealInverse::<T, $p, $q> {
                    steps: Steps {
                        roots: $roots,
                        twiddles: $twiddles,
                    },
                    middle: space.middle.get_mut(),
                    turns,
                    re,
                    im,
                    high,
                    low,
                })
                .is_some()
            };
        }
        match &self.way {
            Way::Single(roots) => {
                let roots = [roots, roots];
                match self.len {
                    1 => last!(1, 1, roots, &none),
                    2 => last!(2, 1, roots, &none),
                    4 => last!(4, 1, roots, &none),
                    8 => last!(8, 1, roots, &none),
                    _ => false,
                }
            }
            Way::Double(factors, roots, twiddles) => match factors {
                [2, 7] => last!(2, 7, roots.each_ref(), twiddles),
                [4, 4] => last!(4, 4, roots.each_ref(), twiddles),
                [4, 8] => last!(4, 8, roots.each_ref(), twiddles),
                _ => false,
            },
            _ => false,
        }
    }

    /// Executes the first step of a forward transform if the axis is a short line of L/2 slots of a
    /// real axis, see [`RealForward`]. Returns `true` if the length has a kernel; for other lengths the
    /// samples are copied to the working space.
    pub(crate) fn first_all(&self, work: RealForwardWork<'_, T>) -> bool {
        let none = [];
        macro_rules! first {
            ($p:literal, $q:literal, $roots:expr, $twiddles:expr) => {
                dispatch(RealForward::<T, $p, $q> {
                    steps: Steps {
                        roots: $roots,
                        twiddles: $twiddles,
                    },
                    work,
                })
                .is_some()
            };
        }
        match &self.way {
            Way::Single(roots) => {
                let roots = [roots, roots];
                match self.len {
                    1 => return first!(1, 1, roots, &none),
                    2 => return first!(2, 1, roots, &none),
                    4 => return first!(4, 1, roots, &none),
                    8 => return first!(8, 1, roots, &none),
                    _ => {}
                }
            }
            Way::Double(factors, roots, twiddles) => match factors {
                [2, 7] => return first!(2, 7, roots.each_ref(), twiddles),
                [4, 4] => return first!(4, 4, roots.each_ref(), twiddles),
                [4, 8] => return first!(4, 8, roots.each_ref(), twiddles),
                _ => {}
            },
            _ => {}
        }
        work.copy();
        false
    }

    /// Executes the passes, alternating between the tile and a buffer.
    fn passes(
        &self,
        steps: &[Step<T>],
        re: &mut [T],
        im: &mut [T],
        step: usize,
        space: &mut LineSpace<T>,
    ) {
        let size = step * self.len;
        for plane in &mut space.planes {
            if plane.get().len() < size {
                *plane = Aligned::zeros(size);
            }
        }
        let job = &space.job;
        let is_over = || job.is_cancelled();
        let [other_re, other_im] = &mut space.planes;
        let (other_re, other_im) = (
            &mut other_re.get_mut()[..size],
            &mut other_im.get_mut()[..size],
        );
        let middle = space.middle.get_mut();
        let blocks = re.chunks_exact_mut(size).zip(im.chunks_exact_mut(size));
        for (re, im) in blocks {
            let (mut from, mut to) = ([&mut *re, &mut *im], [&mut *other_re, &mut *other_im]);
            for step in steps {
                let parts = step.twiddles.len() / step.factor;
                let rows = size / step.twiddles.len();
                let mut pass = |part| {
                    let from = from.each_ref().map(|plane| &**plane);
                    let to = to.each_mut().map(|plane| &mut **plane);
                    step.pass(from, to, middle, part);
                };
                // A tile of short lines is small and is processed as a whole.
                if size <= CancellationChecks::EACH {
                    pass(Part {
                        parts: 0..parts,
                        rows: 0..rows,
                    });
                } else {
                    for part in Part::all::<T>(step.factor, parts, rows) {
                        if is_over() {
                            return;
                        }
                        pass(part);
                    }
                }
                std::mem::swap(&mut from, &mut to);
            }
            if !steps.len().is_multiple_of(2) {
                re.copy_from_slice(other_re);
                im.copy_from_slice(other_im);
            }
        }
    }

    /// Copies one line at a time into an array, transforms it and copies it back.
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
                if space.is_over() {
                    return;
                }
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
