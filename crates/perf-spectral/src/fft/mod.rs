//! [`Transform`] and its workspace [`Scratch`]: real Fourier transforms in any number of
//! dimensions, from a view to its packed spectrum and back.
//!
//! This crate has its own kernels because each lane of a vector processes a separate line: a view
//! of 28x8x8x8x2x16x4 in f64 takes 5.2 ms on one core, and 6.3 ms with FFTW. A driver over realfft
//! and rustfft, which transform one line after another, took 47 ms on a similar machine. rustfft is
//! used for prime factors above 127 and on processors without vectors.
//!
//! Copies out of the view and into the spectrum wait for memory. The forward transform therefore
//! keeps its intermediate results in the spectrum: with a separate working space of the same size,
//! which was written and read once more, it took 2 ms longer. It also
//! [requests](kernel::prefetch) the values of both copies ahead: they take 1.8 instead of 3.9 ms.

pub(crate) mod compiled;
pub(crate) mod forward;
pub(crate) mod gather;
mod inverse;
pub(crate) mod kernel;
pub(crate) mod layout;
pub(crate) mod line;
pub(crate) mod packing;
pub(crate) mod transpose;

use crate::fft::layout::Layout;
use crate::fft::line::{Line, LineSpace};
use crate::real::{Aligned, Real};
use crate::{Error, Result};
use perf_core::Job;

/// Real Fourier transforms of one shape, planned once and run many times.
///
/// `V(k) = sum over x of v(x) exp(-2 pi i k x / d)`, and back with `1/|T|`. Views are row-major,
/// the last axis varying fastest. Spectra are packed: exactly |T| reals in an internal order, which
/// [`Transform::coefficient`](Self::coefficient) reads.
///
/// Transforms are `Send + Sync`. Any lengths are supported. Those with factors 2, 3, 5 and 7 up to
/// 64 are fastest; primes above 127 are slow.
///
/// ```
/// use perf_spectral::Transform;
/// let plan = Transform::<f64>::new(&[4, 6])?;
/// let view: Vec<f64> = (0..24).map(|x| f64::from(x % 5)).collect();
/// let (mut spectrum, mut back) = (vec![0.0; 24], vec![0.0; 24]);
/// let mut scratch = plan.scratch();
/// plan.forward(&view, &mut spectrum, &mut scratch)?;
/// assert_eq!(plan.coefficient(&spectrum, &[0, 0]), Some((view.iter().sum(), 0.0)));
/// plan.inverse(&spectrum, &mut back, &mut scratch)?;
/// assert!(view.iter().zip(&back).all(|(a, b)| (a - b).abs() < 1e-12));
/// # Ok::<(), perf_spectral::Error>(())
/// ```
#[derive(Debug)]
pub struct Transform<T: Real> {
    /// Memory layout of the shape.
    pub(crate) layout: Layout,
    /// Line of each outer axis, and the number of rows below one step.
    pub(crate) outer: Vec<(Line<T>, usize)>,
    /// Line of each inner axis, and the number of rows below one step.
    pub(crate) inner: Vec<(Line<T>, usize)>,
    /// Line of the slots of the real axis.
    pub(crate) real: Option<Line<T>>,
    /// Twiddles of the real axis, `exp(2 pi i s / L)`, for slots up to the middle.
    pub(crate) turns: Vec<[T; 2]>,
}

/// Workspace of a [`Transform`]: about |T| reals and two tiles. Created by [`Transform::scratch`].
#[derive(Debug)]
pub struct Scratch<T: Real> {
    /// Planes of all rows by the columns of a tile.
    pub(crate) tile: [Aligned<T>; 2],
    /// Planes of all tiles of outer points by the inner places.
    pub(crate) work: [Aligned<T>; 2],
    /// Slot 0 before its two spectra are combined, row by row; for odd shapes the whole spectrum.
    pub(crate) first: [Vec<T>; 2],
    /// Buffers of the lines.
    pub(crate) lines: LineSpace<T>,
    /// Rows of values that are read at once.
    pub(crate) rows: Aligned<T>,
    /// Largest number along the real axis, for the inner points of each tile.
    pub(crate) high: Aligned<T>,
    /// Smallest number along the real axis, for the inner points of each tile.
    pub(crate) low: Aligned<T>,
}

impl<T: Real> Scratch<T> {
    /// Sets the job of the transforms in this workspace. Once it is cancelled, they return
    /// [`Error::Cancelled`]. Default: a job that is never cancelled. The output of a cancelled
    /// transform is unspecified.
    ///
    /// Cancellation checks are made between two tiles, and along a long axis between pieces of each
    /// pass. A line whose length has a prime factor above 127 is processed as a whole, since
    /// rustfft has no cancellation. So are the operations between two transforms along an axis and
    /// the extremes of one tile, at a few nanoseconds for each point. Views of tens of millions of
    /// points along one axis, which form one tile, are therefore cancelled late.
    ///
    /// ```
    /// use perf_core::Job;
    /// use perf_spectral::{Error, Transform};
    /// let plan = Transform::<f64>::new(&[4, 6])?;
    /// let (mut spectrum, mut scratch) = (vec![0.0; 24], plan.scratch());
    /// let job = Job::default();
    /// scratch.set_job(&job);
    /// plan.forward(&[1.0; 24], &mut spectrum, &mut scratch)?;
    /// job.cancel();
    /// let stopped = plan.forward(&[1.0; 24], &mut spectrum, &mut scratch);
    /// assert!(matches!(stopped, Err(Error::Cancelled(_))));
    /// # Ok::<(), perf_spectral::Error>(())
    /// ```
    pub fn set_job(&mut self, job: &Job) {
        self.lines.job = job.without_progress();
    }

    pub(crate) fn is_over(&self) -> bool {
        self.lines.is_over()
    }

    /// Returns an error if the job is cancelled.
    pub(crate) fn check(&self) -> Result<()> {
        Ok(self.lines.job.check()?)
    }
}

/// Number of tiles of outer points that are read and transformed together, so that adjacent values
/// of a view are read together, and adjacent values of a spectrum written. For a view of
/// 28 x 8 x 8 x 8 x 2 x 16 x 4 these tiles take 0.7 MB of a second-level cache of 1 MiB. With 4
/// to 7 tiles the times are equal within their spread; 2, 8 and 16 are slower.
pub(crate) const GROUP: usize = 6;

impl<T: Real> Transform<T> {
    /// Plans transforms of views with these axis lengths.
    ///
    /// # Errors
    /// Returns [`Error::Shape`] without axes, with more than [`perf_topology::MAX_AXES`] axes, for
    /// an axis of length 0, or with more than [`perf_topology::MAX_CELLS`] points.
    pub fn new(dims: &[usize]) -> Result<Self> {
        T::plan(dims)
    }

    pub(crate) fn planned(dims: &[usize]) -> Result<Self> {
        let layout = Layout::new(dims, T::COLUMNS)?;
        let lines = |lens: &[usize]| -> Vec<(Line<T>, usize)> {
            let below = |at: usize| lens[at + 1..].iter().product();
            let axes = lens.iter().enumerate();
            axes.map(|(at, len)| (Line::new(*len), below(at))).collect()
        };
        let (outer, inner) = (lines(&layout.outer), lines(&layout.inner));
        let real = layout.real_axis.map(|_| Line::new(layout.slots));
        let turn = |slot: usize| {
            let angle = slot as f64 * std::f64::consts::TAU / layout.real as f64;
            [T::of(angle.cos()), T::of(angle.sin())]
        };
        let turns = (0..=layout.slots / 2).map(turn).collect();
        Ok(Transform {
            outer,
            inner,
            real,
            turns,
            layout,
        })
    }

    /// Returns the axis lengths.
    pub fn dims(&self) -> &[usize] {
        &self.layout.dims
    }

    /// Returns the number of points |T| of a view, and of reals in a spectrum.
    pub fn len(&self) -> usize {
        self.layout.points
    }

    /// Returns `false`; there is always a point.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Creates a workspace for the transforms of one thread.
    pub fn scratch(&self) -> Scratch<T> {
        T::scratch(self)
    }

    pub(crate) fn new_scratch(&self) -> Scratch<T> {
        let layout = &self.layout;
        let along = layout.along();
        let tile = || Aligned::zeros(layout.rows.next_multiple_of(layout.width) * layout.width);
        let work = || Aligned::zeros(along * layout.block());
        let bounds = || Aligned::zeros(along * layout.step);
        let first = match layout.real_axis {
            Some(_) => layout.rows * layout.below,
            None => layout.points,
        };
        Scratch {
            tile: [tile(), tile()],
            work: [work(), work()],
            first: [vec![T::default(); first], vec![T::default(); first]],
            lines: LineSpace::new(),
            rows: Aligned::zeros(self.reading_space()),
            high: bounds(),
            low: bounds(),
        }
    }

    /// Returns the memory in bytes that the spectra of a number of different views take during
    /// construction: one spectrum of |T| numbers each, one in progress, and a workspace for each
    /// thread. Equal or constant views take almost none. For [spectra in a
    /// file](crate::Spectra::builder_in) only a batch of 16 is in memory: pass 16.
    ///
    /// ```
    /// use perf_spectral::Transform;
    /// let plan = Transform::<f32>::new(&[32, 32, 16])?;
    /// // 1,000 views of 16,384 numbers of 4 bytes.
    /// assert_eq!(plan.memory(1000) / (16_384 * 4 * 1000), 1);
    /// # Ok::<(), perf_spectral::Error>(())
    /// ```
    pub fn memory(&self, views: usize) -> usize {
        let layout = &self.layout;
        let along = layout.along();
        let tile = layout.rows.next_multiple_of(layout.width) * layout.width;
        let first = match layout.real_axis {
            Some(_) => layout.rows * layout.below,
            None => layout.points,
        };
        // Like `new_scratch`, with the values of a view.
        let space = 2 * (tile + along * layout.block() + first + along * layout.step)
            + self.reading_space()
            + layout.points;
        let lanes = perf_core::parallel::current_threads().min(views);
        let batch = usize::from(views > 0);
        (views + batch).saturating_mul(layout.points * size_of::<T>())
            + lanes * space * size_of::<T>()
    }

    /// Transforms a view to its packed spectrum.
    ///
    /// # Errors
    /// Returns [`Error::Length`] if view or spectrum does not have |T| numbers, or
    /// [`Error::Cancelled`] if the job of the workspace is cancelled, see [`Scratch::set_job`].
    pub fn forward(&self, view: &[T], spectrum: &mut [T], scratch: &mut Scratch<T>) -> Result<()> {
        T::forward(self, view, spectrum, scratch)
    }

    /// Transforms a packed spectrum back to its view.
    ///
    /// # Errors
    /// Returns [`Error::Length`] if view or spectrum does not have |T| numbers, or
    /// [`Error::Cancelled`] if the job of the workspace is cancelled, see [`Scratch::set_job`].
    pub fn inverse(&self, spectrum: &[T], view: &mut [T], scratch: &mut Scratch<T>) -> Result<()> {
        T::inverse(self, spectrum, view, scratch)
    }

    /// Returns the index of an outer and inner number in the working space.
    pub(crate) fn at(&self, row: usize, at: usize) -> usize {
        let layout = &self.layout;
        let width = layout.width;
        row / width * layout.block() + layout.inside(at) + row % width
    }

    pub(crate) fn check(&self, what: &'static str, got: usize) -> Result<()> {
        let expected = self.layout.points;
        if got == expected {
            Ok(())
        } else {
            Err(Error::Length {
                what,
                expected,
                got,
            })
        }
    }
}
