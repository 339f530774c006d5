//! [`Transform`]: real Fourier transforms in any number of dimensions.

use crate::halves::{rows_in, rows_out};
use crate::layout::{Layout, Pair, Tile};
use crate::lines::{Line, LineSpace};
use crate::real::{Aligned, Real};
use crate::turn::Blocks;
use crate::{Error, Result};

/// Real Fourier transforms of one shape, planned once, run many times.
///
/// `V(k) = sum over x of v(x) exp(-2 pi i k x / d)`, and back with `1/|T|`. Views are row-major, the
/// last axis the fastest. Spectra are packed: exactly |T| reals, in an order of their own, which
/// [`Transform::coefficient`](Self::coefficient) reads.
///
/// `Send + Sync`. Any lengths; those with factors 2, 3, 5 and 7 up to 64 are fast.
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
    outer: Vec<(Line<T>, usize)>,
    /// Along each inner axis, likewise.
    inner: Vec<(Line<T>, usize)>,
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
    rows: Aligned<T>,
    /// Largest and smallest number along the real axis, of each tile's inner points.
    pub(crate) high: Aligned<T>,
    pub(crate) low: Aligned<T>,
}

/// Tiles of outer points whose values are read at once: what lies together in a view is then read
/// together. Of a view of 28 x 8 x 8 x 8 x 2 x 16 x 4 these tiles fill a second-level cache of 1 MiB.
pub(crate) const GROUP: usize = 8;

/// Tiles of inner places that are turned at once, likewise.
const TILES: usize = 4;

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
        let bounds = || Aligned::zeros(along * layout.below * layout.width);
        let first = match layout.real_axis {
            Some(_) => layout.rows * layout.below,
            None => layout.points,
        };
        Scratch {
            tile: [tile(), tile()],
            work: [work(), work()],
            first: [vec![T::default(); first], vec![T::default(); first]],
            lines: LineSpace::default(),
            rows: Aligned::zeros(self.reading_space()),
            high: bounds(),
            low: bounds(),
        }
    }

    /// The packed spectrum of a view.
    ///
    /// # Errors
    /// [`Error::Length`] if view or spectrum is not of |T| numbers.
    pub fn forward(&self, view: &[T], spectrum: &mut [T], scratch: &mut Scratch<T>) -> Result<()> {
        T::forward(self, view, spectrum, scratch)
    }

    pub(crate) fn run_forward(
        &self,
        view: &[T],
        spectrum: &mut [T],
        scratch: &mut Scratch<T>,
    ) -> Result<()> {
        self.check("values of a view", view.len())?;
        self.check("values of a spectrum", spectrum.len())?;
        let layout = &self.layout;
        let (along, width, block) = (layout.along(), layout.width, layout.block());
        for start in (0..along).step_by(GROUP) {
            let group = start..(start + GROUP).min(along);
            let [re, im] = &mut scratch.work;
            let range = group.start * block..group.end * block;
            let (re, im) = (&mut re.get_mut()[range.clone()], &mut im.get_mut()[range]);
            let planes = [&mut *re, &mut *im];
            let done = self.read(view, group.clone(), planes, scratch.rows.get_mut());
            let tiles = re.chunks_exact_mut(block).zip(im.chunks_exact_mut(block));
            for (tile, (re, im)) in group.zip(tiles) {
                let columns = width.min(layout.rows - tile * width);
                if let Some(line) = self.real.as_ref().filter(|_| !done) {
                    let step = layout.below * width;
                    T::run(line, re, im, step, columns, &mut scratch.lines);
                    self.split(re, im);
                }
                self.along_inner(re, im, columns, &mut scratch.lines);
            }
        }
        // Whole tiles in their places, a few at once: what lies together is read together.
        let mut tiles = layout.tiles.as_slice();
        while let Some(tile) = tiles.first() {
            let whole = tiles.iter().take(TILES).take_while(|tile| {
                !tile.first && tile.columns == width && layout.rows.is_multiple_of(width)
            });
            let whole = whole.count();
            tiles = &tiles[whole.max(1)..];
            if whole > 0 {
                let size = layout.rows * width;
                let start = tile.at * layout.rows * 2;
                if let Some(out) = spectrum.get_mut(start..start + 2 * whole * size) {
                    self.outer_in_place(tile.at, out, &scratch.work, &mut scratch.lines);
                }
                continue;
            }
            let [re, im] = &mut scratch.tile;
            let (re, im) = (re.get_mut(), im.get_mut());
            for (from, to) in scratch.work.iter().zip([&mut *re, &mut *im]) {
                let from = &from.get()[tile.at * width..];
                if tile.columns == width {
                    T::turn(Blocks {
                        from: (from, block),
                        to: (to, width * width),
                    });
                    continue;
                }
                let blocks = from.chunks(block).zip(to.chunks_exact_mut(width * width));
                for (from, to) in blocks {
                    let columns = from.chunks_exact(width).take(tile.columns);
                    for (column, from) in columns.enumerate() {
                        for (to, from) in to.chunks_exact_mut(width).zip(from) {
                            to[column] = *from;
                        }
                    }
                }
            }
            let used = layout.rows * width;
            for (line, below) in &self.outer {
                let (re, im) = (&mut re[..used], &mut im[..used]);
                T::run(
                    line,
                    re,
                    im,
                    below * width,
                    tile.columns,
                    &mut scratch.lines,
                );
            }
            if tile.first {
                self.keep(tile, re, im, &mut scratch.first);
                continue;
            }
            let start = tile.at * layout.rows * 2;
            let size = layout.rows * tile.columns;
            if let Some(out) = spectrum.get_mut(start..start + 2 * size) {
                let (out_re, out_im) = out.split_at_mut(size);
                rows_out(&re[..used], out_re, tile.columns, width);
                rows_out(&im[..used], out_im, tile.columns, width);
            }
        }
        match layout.real_axis {
            Some(_) => self.unmix(&scratch.first, spectrum),
            None => self.pack(&scratch.first, spectrum),
        }
        Ok(())
    }

    /// The view of a packed spectrum.
    ///
    /// # Errors
    /// [`Error::Length`] if view or spectrum is not of |T| numbers.
    pub fn inverse(&self, spectrum: &[T], view: &mut [T], scratch: &mut Scratch<T>) -> Result<()> {
        T::inverse(self, spectrum, view, scratch)
    }

    pub(crate) fn run_inverse(
        &self,
        spectrum: &[T],
        view: &mut [T],
        scratch: &mut Scratch<T>,
    ) -> Result<()> {
        self.check("values of a view", view.len())?;
        self.check("values of a spectrum", spectrum.len())?;
        self.to_view(spectrum, scratch);
        let scale = T::of(1.0 / self.layout.points as f64);
        let layout = &self.layout;
        let samples = layout.place2.len() / layout.depth.max(1);
        for row in 0..layout.rows {
            for at in 0..layout.depth {
                let from = self.at(row, at);
                for sample in 0..samples {
                    let place = layout.place1[row] + layout.place2[samples * at + sample];
                    view[place as usize] = scratch.work[sample].get()[from] * scale;
                }
            }
        }
        Ok(())
    }

    /// Where the values of an outer and inner number are in the working space.
    pub(crate) fn at(&self, row: usize, at: usize) -> usize {
        let layout = &self.layout;
        let width = layout.width;
        row / width * layout.block() + at * width + row % width
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

    /// The inverse transform into the working space, times |T|.
    pub(crate) fn to_view(&self, spectrum: &[T], scratch: &mut Scratch<T>) {
        let layout = &self.layout;
        match layout.real_axis {
            Some(_) => {
                let count = layout.pairs.len();
                for (at, pair) in layout.pairs.iter().enumerate() {
                    let zero = [spectrum[at], spectrum[at + count]];
                    let high = [spectrum[at + 2 * count], spectrum[at + 3 * count]];
                    self.mix(pair, zero, high, &mut scratch.first);
                }
                let [low, high] = layout.owns();
                for ((own, low), high) in layout.own.iter().zip(low).zip(high) {
                    scratch.first[0][own.first as usize] = spectrum[low];
                    scratch.first[1][own.first as usize] = spectrum[high];
                }
            }
            None => self.unpack(spectrum, &mut scratch.first),
        }
        self.inverse_tiles(scratch, |tile, re, im| {
            let start = tile.at * layout.rows * 2;
            let size = layout.rows * tile.columns;
            if let Some(from) = spectrum.get(start..start + 2 * size) {
                rows_in(&from[..size], re, tile.columns, layout.width);
                rows_in(&from[size..], im, tile.columns, layout.width);
            }
        });
        for tile in 0..layout.along() {
            self.inverse_rest_of(tile, scratch);
        }
    }

    /// Puts one pair of slot 0 together: frequency 0 and L/2 of k are one complex number at k and
    /// another at -k.
    #[inline(always)]
    pub(crate) fn mix(&self, pair: &Pair, zero: [T; 2], high: [T; 2], first: &mut [Vec<T>; 2]) {
        let [one, two] = pair.map(|place| place.first as usize);
        first[0][one] = zero[0] - high[1];
        first[1][one] = zero[1] + high[0];
        first[0][two] = zero[0] + high[1];
        first[1][two] = high[0] - zero[1];
    }

    /// Inverse along the outer axes: `load` gives the spectrum of each tile, slot 0 (of odd shapes
    /// everything) comes from `scratch.first`.
    pub(crate) fn inverse_tiles(
        &self,
        scratch: &mut Scratch<T>,
        load: impl Fn(&Tile, &mut [T], &mut [T]),
    ) {
        let layout = &self.layout;
        let (width, block) = (layout.width, layout.block());
        let used = layout.rows * width;
        for tile in &layout.tiles {
            let [re, im] = &mut scratch.tile;
            let (re, im) = (re.get_mut(), im.get_mut());
            if tile.first {
                for row in 0..layout.rows {
                    let (from, to) = (row * layout.below + tile.at, row * width);
                    let (from, to) = (from..from + tile.columns, to..to + tile.columns);
                    re[to.clone()].copy_from_slice(&scratch.first[0][from.clone()]);
                    im[to].copy_from_slice(&scratch.first[1][from]);
                }
            } else {
                load(tile, &mut re[..used], &mut im[..used]);
            }
            for (line, below) in &self.outer {
                let (re, im) = (&mut re[..used], &mut im[..used]);
                T::run(
                    line,
                    im,
                    re,
                    below * width,
                    tile.columns,
                    &mut scratch.lines,
                );
            }
            for (from, to) in [&*re, &*im].into_iter().zip(&mut scratch.work) {
                let to = &mut to.get_mut()[tile.at * width..];
                if tile.columns == width {
                    T::turn(Blocks {
                        from: (from, width * width),
                        to: (to, block),
                    });
                    continue;
                }
                let blocks = from.chunks_exact(width * width).zip(to.chunks_mut(block));
                for (from, to) in blocks {
                    let columns = to.chunks_exact_mut(width).take(tile.columns);
                    for (column, to) in columns.enumerate() {
                        for (to, from) in to.iter_mut().zip(from.chunks_exact(width)) {
                            *to = from[column];
                        }
                    }
                }
            }
        }
    }

    /// Inverse along the inner axes and the real one, of one tile of outer points in the working
    /// space; the extremes of what comes out.
    pub(crate) fn inverse_rest_of(&self, tile: usize, scratch: &mut Scratch<T>) {
        let layout = &self.layout;
        let (width, block) = (layout.width, layout.block());
        let columns = width.min(layout.rows - tile * width);
        let step = layout.below * width;
        let [re, im] = &mut scratch.work;
        let range = tile * block..(tile + 1) * block;
        let (re, im) = (&mut re.get_mut()[range.clone()], &mut im.get_mut()[range]);
        let range = tile * step..(tile + 1) * step;
        let (high, low) = (
            &mut scratch.high.get_mut()[range.clone()],
            &mut scratch.low.get_mut()[range],
        );
        self.along_inner(im, re, columns, &mut scratch.lines);
        if let Some(line) = &self.real {
            if T::last(line, &self.turns, [re, im], [high, low]) {
                return;
            }
            self.unsplit(re, im);
            T::run(line, im, re, step, columns, &mut scratch.lines);
        }
        high.copy_from_slice(&re[..step]);
        low.copy_from_slice(&re[..step]);
        let odd = self.real.is_none();
        for plane in [re, if odd { &mut [] } else { im }] {
            for row in plane.chunks_exact(step) {
                for ((value, high), low) in row.iter().zip(&mut *high).zip(&mut *low) {
                    *high = if *value > *high { *value } else { *high };
                    *low = if *value < *low { *value } else { *low };
                }
            }
        }
    }

    /// Forward along the outer axes, of whole tiles from inner place `at` on, in a spectrum.
    fn outer_in_place(
        &self,
        at: usize,
        out: &mut [T],
        work: &[Aligned<T>; 2],
        space: &mut LineSpace<T>,
    ) {
        let layout = &self.layout;
        let (width, block) = (layout.width, layout.block());
        let size = layout.rows * width;
        for (part, work) in work.iter().enumerate() {
            for tile in 0..layout.along() {
                let from = tile * block + at * width;
                T::turn(Blocks {
                    from: (
                        &work.get()[from..from + out.len() / (2 * size) * width * width],
                        width * width,
                    ),
                    to: (&mut out[part * size + tile * width * width..], 2 * size),
                });
            }
        }
        for out in out.chunks_exact_mut(2 * size) {
            let (re, im) = out.split_at_mut(size);
            for (line, below) in &self.outer {
                T::run(line, re, im, below * width, width, space);
            }
        }
    }

    /// Forward along the inner axes of one tile of outer points.
    fn along_inner(&self, re: &mut [T], im: &mut [T], columns: usize, space: &mut LineSpace<T>) {
        let width = self.layout.width;
        // One axis in one call; of several all of one slot, which the cache holds.
        let step = match self.inner.len() {
            0 | 1 => re.len(),
            _ => self.layout.below * width,
        };
        for (re, im) in re.chunks_exact_mut(step).zip(im.chunks_exact_mut(step)) {
            for (line, below) in &self.inner {
                T::run(line, re, im, below * width, columns, space);
            }
        }
    }
}
