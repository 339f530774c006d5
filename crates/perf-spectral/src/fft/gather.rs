//! Copies a view to the working space of a forward transform, in whole vectors where enough values
//! are contiguous, and transforms it along the real axis on the way if possible. The values pass
//! through a few rows that fit in the cache.

use crate::Result;
use crate::fft::kernel::prefetch::{is_far, prefetch};
use crate::fft::kernel::real_forward::RealForwardWork;
use crate::fft::transpose::{Strips, Turning};
use crate::fft::{GROUP, Transform};
use crate::real::Real;
use perf_core::CancellationChecks;
use pulp::{Arch, Simd, WithSimd};
use std::ops::Range;

/// Inner points whose lines are read together if samples of the real axis are contiguous. With 64
/// samples they take a third of a first-level cache.
const INNER: usize = 4;

/// Inner points that are read together if outer points are contiguous. The written values are then
/// contiguous too, and the rows still fit in a first-level cache.
const NEXT: usize = 2;

/// Samples of a longer line that are read at once, so that the buffer does not grow with the line.
/// Lines that [`RealForward`](crate::fft::kernel::real_forward::RealForward) transforms as a whole are shorter.
const PIECE: usize = 1 << 12;

/// Bytes of rows up to which the next rows are requested while rows are copied, so that both stay in
/// a second-level cache.
const MAX_AHEAD: usize = 1 << 17;

impl<T: Real> Transform<T> {
    /// Returns the size of the buffer for [`read`](Self::read), in numbers.
    pub(crate) fn reading_space(&self) -> usize {
        let layout = &self.layout;
        let groups = GROUP.min(layout.along()) * NEXT.min(layout.below);
        layout.real.min(PIECE) * groups.max(INNER.min(layout.below)) * layout.width
    }

    /// Reads the values of some tiles of outer points into their part of the working space.
    /// Transforms them along the real axis if that is possible at the same time, see
    /// [`RealForward`](crate::fft::kernel::real_forward::RealForward); otherwise samples 2 s and 2 s + 1 become slot s. Returns
    /// `true` if the transform was done. Fails only if the job is cancelled.
    pub(crate) fn read(
        &self,
        view: &[T],
        tiles: Range<usize>,
        [re, im]: [&mut [T]; 2],
        [space, middle]: [&mut [T]; 2],
        checks: &mut CancellationChecks<'_>,
    ) -> Result<bool> {
        let layout = &self.layout;
        let (width, block) = (layout.width, layout.block());
        let Some(line) = &self.real else {
            im.fill(T::default());
            self.gather_odd(view, tiles, re, checks)?;
            return Ok(true);
        };
        let mut done = true;
        let mut transform = |rows: &[T], slots: usize, start: usize, tiles: usize| {
            done &= T::first(
                line,
                RealForwardWork {
                    turns: &self.turns,
                    slots,
                    middle: &mut *middle,
                    from: rows,
                    tiles,
                    re: &mut *re,
                    im: &mut *im,
                    start,
                    block,
                    step: layout.step,
                },
            );
        };
        let places = &layout.place1[tiles.start * width..(tiles.end * width).min(layout.rows)];
        if layout.run == 1 && layout.real_axis == self.last_axis() {
            for (tile, places) in places.chunks(width).enumerate() {
                for inner in (0..layout.below).step_by(INNER) {
                    let count = INNER.min(layout.below - inner);
                    for sample in (0..layout.real).step_by(PIECE) {
                        let samples = PIECE.min(layout.real - sample);
                        checks.next(samples * count * width)?;
                        let rows = &mut space[..samples * count * width];
                        T::turn(Turning::Strips(Strips {
                            values: &view[sample..],
                            places,
                            starts: &layout.place2[2 * inner..2 * (inner + count)],
                            samples,
                            rows,
                        }));
                        let start = tile * block + inner * width + sample / 2 * layout.step;
                        transform(rows, samples / 2, start, 1);
                    }
                }
            }
            return Ok(done);
        }
        let row = tiles.len() * width;
        let is_contiguous = places.windows(2).all(|two| two[1] == two[0] + 1);
        for inner in (0..layout.below).step_by(NEXT) {
            let count = NEXT.min(layout.below - inner);
            for sample in (0..layout.real).step_by(PIECE) {
                let samples = PIECE.min(layout.real - sample);
                checks.next(samples * count * row)?;
                let rows = &mut space[..samples * count * row];
                let is_ahead = is_far(view) && size_of_val(rows) <= MAX_AHEAD;
                for next in 0..count {
                    let first = 2 * (inner + next) + sample * layout.below;
                    let starts = &layout.place2[first..];
                    let ahead = inner + count + next;
                    let ahead = is_ahead.then(|| self.first_value(&tiles, ahead)).flatten();
                    macro_rules! runs {
                        ($run:literal) => {
                            Arch::new().dispatch(Runs::<T, $run> {
                                values: view,
                                places,
                                is_contiguous,
                                ahead,
                                starts,
                                step: 2 * layout.below,
                                rows: &mut *rows,
                                row: next * row..(next + 1) * row,
                                apart: count * row,
                            })
                        };
                    }
                    match layout.run {
                        16 => runs!(16),
                        8 => runs!(8),
                        4 => runs!(4),
                        2 => runs!(2),
                        _ => runs!(1),
                    }
                }
                let start = inner * width + sample / 2 * layout.step;
                transform(rows, samples / 2, start, tiles.len());
            }
        }
        Ok(done)
    }

    /// Returns the index of the first value of some tiles at an inner point, where the inner points
    /// of the next tiles follow the last one. Returns `None` after the last tile.
    fn first_value(&self, tiles: &Range<usize>, inner: usize) -> Option<usize> {
        let layout = &self.layout;
        let (tile, inner) = match inner.checked_sub(layout.below) {
            Some(inner) => (tiles.end, inner),
            None => (tiles.start, inner),
        };
        let place = layout.place1.get(tile * layout.width)?;
        Some((place + layout.place2[2 * inner]) as usize)
    }

    /// Returns the axis along which values are contiguous.
    fn last_axis(&self) -> Option<usize> {
        self.dims().iter().rposition(|len| *len > 1)
    }

    /// Copies one number at a time, for shapes whose axes are all odd.
    fn gather_odd(
        &self,
        view: &[T],
        tiles: Range<usize>,
        re: &mut [T],
        checks: &mut CancellationChecks<'_>,
    ) -> Result<()> {
        let layout = &self.layout;
        let (width, block) = (layout.width, layout.block());
        let places = &layout.place1[tiles.start * width..(tiles.end * width).min(layout.rows)];
        for (tile, places) in re.chunks_exact_mut(block).zip(places.chunks(width)) {
            for (row, from) in tile.chunks_exact_mut(width).zip(&layout.place2) {
                checks.next(width)?;
                row[places.len()..].fill(T::default());
                for (to, place) in row.iter_mut().zip(places) {
                    *to = view[(place + from) as usize];
                }
            }
        }
        Ok(())
    }
}

/// Rows of samples, from outer points of which `RUN` are contiguous.
struct Runs<'a, T, const RUN: usize> {
    /// Values of the view.
    values: &'a [T],
    /// Index of each outer point.
    places: &'a [u32],
    /// `true` if all outer points are contiguous in the view. They are then copied at once: fewer
    /// instructions for each cache line let the processor wait for more of them at a time.
    is_contiguous: bool,
    /// Index of the values that are copied next, of sample 0. They are requested meanwhile if all
    /// outer points are contiguous.
    ahead: Option<usize>,
    /// Index of samples 0 and 1; those of the next two are `step` further.
    starts: &'a [u32],
    /// Distance between pairs of samples.
    step: usize,
    /// Target, sample by sample.
    rows: &'a mut [T],
    /// Range of numbers that are written for each sample.
    row: Range<usize>,
    /// Distance between samples in the target.
    apart: usize,
}

impl<T: Real, const RUN: usize> WithSimd for Runs<'_, T, RUN> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let places = self.places.as_chunks::<RUN>().0;
        let starts = self.starts.chunks(self.step.max(1));
        for (two, starts) in self.rows.chunks_exact_mut(2 * self.apart).zip(starts) {
            for (row, start) in two.chunks_exact_mut(self.apart).zip(starts) {
                let row = &mut row[self.row.clone()];
                let values = &self.values[*start as usize..];
                let (row, beyond) = row.split_at_mut(self.places.len());
                beyond.fill(T::default());
                if self.is_contiguous {
                    let from = self.places[0] as usize;
                    row.copy_from_slice(&values[from..from + row.len()]);
                    let sample = (start - self.starts[0]) as usize;
                    let next = self.ahead.map(|next| next + sample);
                    let next = next.and_then(|next| self.values.get(next..next + row.len()));
                    prefetch(next.unwrap_or_default());
                    continue;
                }
                for (to, places) in row.as_chunks_mut::<RUN>().0.iter_mut().zip(places) {
                    if let Some(from) = values[places[0] as usize..].first_chunk::<RUN>() {
                        *to = *from;
                    }
                }
            }
        }
    }
}
