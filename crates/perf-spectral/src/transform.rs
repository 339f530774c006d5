//! [`Transform`]: real Fourier transforms in any number of dimensions.
//!
//! The kernels are our own because each lane of a vector is a line of its own: a view of 28x8x8x8x2x16x4 in f64 takes
//! 6.8 ms on one core. A driver over realfft and rustfft, which transform one line after another, took 47 ms on a
//! similar machine. rustfft remains for prime factors above 127 and for processors without vectors.

use crate::layout::Layout;
use crate::lines::{Line, LineSpace};
use crate::real::{Aligned, Real};
use crate::{Error, Result};
use perf_core::Job;

/// Real Fourier transforms of one shape, planned once, run many times.
///
/// `V(k) = sum over x of v(x) exp(-2 pi i k x / d)`, and back with `1/|T|`. Views are row-major, the
/// last axis the fastest. Spectra are packed: exactly |T| reals, in an order of their own, which
/// [`Transform::coefficient`](Self::coefficient) reads.
///
/// `Send + Sync`. Any lengths; those with factors 2, 3, 5 and 7 up to 64 are fastest, and primes above 127
/// slow.
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
    pub(crate) layout: Layout,
    /// Along each outer axis, and how many rows lie below one step.
    pub(crate) outer: Vec<(Line<T>, usize)>,
    /// Along each inner axis, likewise.
    pub(crate) inner: Vec<(Line<T>, usize)>,
    /// Along the slots of the real axis.
    pub(crate) real: Option<Line<T>>,
    /// `exp(2 pi i s / L)` for slots up to the middle.
    pub(crate) turns: Vec<[T; 2]>,
}

/// Space for [`Transform`]: about |T| reals and two tiles. Made by [`Transform::scratch`].
#[derive(Debug)]
pub struct Scratch<T: Real> {
    /// All rows by a tile's columns.
    pub(crate) tile: [Aligned<T>; 2],
    /// All tiles of outer points by the inner places.
    pub(crate) work: [Aligned<T>; 2],
    /// Slot 0 before its two spectra are one, row by row; of odd shapes the whole spectrum.
    pub(crate) first: [Vec<T>; 2],
    pub(crate) lines: LineSpace<T>,
    /// What is read at once.
    pub(crate) rows: Aligned<T>,
    /// Largest and smallest number along the real axis, of each tile's inner points.
    pub(crate) high: Aligned<T>,
    pub(crate) low: Aligned<T>,
}

impl<T: Real> Scratch<T> {
    /// Sets the job of the transforms in this space: once it is cancelled, they return [`Error::Cancelled`]. Default: a
    /// job that nothing cancels. The output of a cancelled transform is unspecified.
    ///
    /// Checks are made between two tiles, and along a long axis between pieces of each pass over it. A line whose length
    /// has a prime factor above 127 is done as a whole, since rustfft has no place to stop in. So are what lies
    /// between two transforms along an axis and the extremes of one tile, a few nanoseconds a point: views of tens of
    /// millions of points along one axis, which are one tile, end late.
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

    /// For `?`.
    pub(crate) fn check(&self) -> Result<()> {
        Ok(self.lines.job.check()?)
    }
}

/// Tiles of outer points whose values are read at once: what lies together in a view is then read
/// together. Of a view of 28 x 8 x 8 x 8 x 2 x 16 x 4 these tiles fill a second-level cache of 1 MiB.
pub(crate) const GROUP: usize = 8;

impl<T: Real> Transform<T> {
    /// Plans transforms of views with these axis lengths.
    ///
    /// # Errors
    /// [`Error::Shape`] without axes, with more than [`perf_topology::MAX_AXES`] or a length of 0, or
    /// with more than [`perf_topology::MAX_CELLS`] points.
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

    /// The axis lengths.
    pub fn dims(&self) -> &[usize] {
        &self.layout.dims
    }

    /// Number of points, |T|: of a view, and of reals in a spectrum.
    pub fn len(&self) -> usize {
        self.layout.points
    }

    /// Whether there are no points: never.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Space for the transforms, one a thread.
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

    /// Bytes that the spectra of so many different views take in memory while they are made, told before:
    /// one spectrum of |T| numbers each, one on its way, and a working space a thread. Views that are equal,
    /// or that do not vary, take next to nothing. Of [spectra in a file](crate::Spectra::builder_in) only 16, a batch, are
    /// in memory: ask for as many.
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
        // As in `new_scratch`, with the values of a view beside it.
        let space = 2 * (tile + along * layout.block() + first + along * layout.step)
            + self.reading_space()
            + layout.points;
        let lanes = perf_core::parallel::current_threads().min(views);
        let batch = usize::from(views > 0);
        (views + batch).saturating_mul(layout.points * size_of::<T>())
            + lanes * space * size_of::<T>()
    }

    /// The packed spectrum of a view.
    ///
    /// # Errors
    /// [`Error::Length`] if view or spectrum is not of |T| numbers; [`Error::Cancelled`] if the job of
    /// the space is cancelled, see [`Scratch::set_job`].
    pub fn forward(&self, view: &[T], spectrum: &mut [T], scratch: &mut Scratch<T>) -> Result<()> {
        T::forward(self, view, spectrum, scratch)
    }

    /// The view of a packed spectrum.
    ///
    /// # Errors
    /// [`Error::Length`] if view or spectrum is not of |T| numbers; [`Error::Cancelled`] if the job of
    /// the space is cancelled, see [`Scratch::set_job`].
    pub fn inverse(&self, spectrum: &[T], view: &mut [T], scratch: &mut Scratch<T>) -> Result<()> {
        T::inverse(self, spectrum, view, scratch)
    }

    /// Where the values of an outer and inner number are in the working space.
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
