//! From a view to the working space: whole vectors at a time wherever values of a view that go into
//! one, or come out of a few, follow each other. What is read goes through a few rows that the cache
//! holds, and from there through the transform along the real axis.

use crate::first::FirstWork;
use crate::real::Real;
use crate::transform::{GROUP, Transform};
use crate::turn::Blocks;
use std::ops::Range;

/// Inner points whose lines are read together where samples of the real axis follow each other: with 64
/// samples they take a third of a first-level cache.
const INNER: usize = 4;

impl<T: Real> Transform<T> {
    /// Numbers of space for [`read`](Self::read).
    pub(crate) fn reading_space(&self) -> usize {
        let layout = &self.layout;
        let rows = GROUP.min(layout.along()).max(INNER.min(layout.below));
        layout.real * rows * layout.width
    }

    /// Reads the values of some tiles of outer points, whose part of the working space is given, and
    /// transforms them along the real axis if that is done in one go, see [`First`](crate::first::First);
    /// otherwise samples 2 s and 2 s + 1 are slot s. Whether it was done.
    pub(crate) fn read(
        &self,
        view: &[T],
        tiles: Range<usize>,
        [re, im]: [&mut [T]; 2],
        space: &mut [T],
    ) -> bool {
        let layout = &self.layout;
        let (width, block) = (layout.width, layout.block());
        let Some(line) = &self.real else {
            im.fill(T::default());
            self.gather_odd(view, tiles, re);
            return true;
        };
        let mut done = true;
        let mut transform = |rows: &[T], start: usize, stride: usize| {
            done &= T::first(
                line,
                FirstWork {
                    turns: &self.turns,
                    slots: layout.slots,
                    from: rows,
                    re: &mut *re,
                    im: &mut *im,
                    start,
                    stride,
                    step: layout.below * width,
                },
            );
        };
        let places = &layout.place1[tiles.start * width..(tiles.end * width).min(layout.rows)];
        if layout.run == 1 && layout.real_axis == self.last_axis() {
            for (tile, places) in places.chunks(width).enumerate() {
                for inner in (0..layout.below).step_by(INNER) {
                    let count = INNER.min(layout.below - inner);
                    let rows = &mut space[..layout.real * count * width];
                    for at in 0..count {
                        let values = &view[layout.place2[2 * (inner + at)] as usize..];
                        let rows = &mut rows[at * width..];
                        match width {
                            8 => self.turned::<8>(values, places, rows, count),
                            _ => self.turned::<16>(values, places, rows, count),
                        }
                    }
                    transform(rows, tile * block + inner * width, width);
                }
            }
            return done;
        }
        let rows = &mut space[..layout.real * tiles.len() * width];
        for inner in 0..layout.below {
            for (sample, row) in rows.chunks_exact_mut(tiles.len() * width).enumerate() {
                let from = layout.place2[2 * (sample / 2 * layout.below + inner) + sample % 2];
                let values = &view[from as usize..];
                match layout.run {
                    16 => runs::<T, 16>(values, places, row),
                    8 => runs::<T, 8>(values, places, row),
                    4 => runs::<T, 4>(values, places, row),
                    2 => runs::<T, 2>(values, places, row),
                    _ => runs::<T, 1>(values, places, row),
                }
                row[places.len()..].fill(T::default());
            }
            transform(rows, inner * width, block);
        }
        done
    }

    /// The axis along which values follow each other.
    fn last_axis(&self) -> Option<usize> {
        self.dims().iter().rposition(|len| *len > 1)
    }

    /// Samples of the real axis follow each other: square blocks of outer points by samples. Sample by
    /// sample a row of them, `count` rows apart.
    fn turned<const N: usize>(&self, values: &[T], places: &[u32], rows: &mut [T], count: usize) {
        let (mut here, mut turned) = ([[T::default(); N]; N], [[T::default(); N]; N]);
        let real = self.layout.real;
        let rows = rows.as_chunks_mut::<N>().0;
        for sample in (0..real).step_by(N) {
            let some = N.min(real - sample);
            for (place, to) in places.iter().zip(&mut here) {
                let from = &values[*place as usize + sample..];
                match from.first_chunk::<N>() {
                    Some(from) if some == N => *to = *from,
                    _ => to[..some].copy_from_slice(&from[..some]),
                }
            }
            T::turn(Blocks {
                from: (here.as_flattened(), N * N),
                to: (turned.as_flattened_mut(), N * N),
            });
            let rows = rows[sample * count..].iter_mut().step_by(count);
            for (to, from) in rows.zip(&turned[..some]) {
                *to = *from;
            }
        }
    }

    /// One number at a time, of shapes whose axes are all odd.
    fn gather_odd(&self, view: &[T], tiles: Range<usize>, re: &mut [T]) {
        let layout = &self.layout;
        let (width, block) = (layout.width, layout.block());
        let places = &layout.place1[tiles.start * width..(tiles.end * width).min(layout.rows)];
        for (tile, places) in re.chunks_exact_mut(block).zip(places.chunks(width)) {
            for (row, from) in tile.chunks_exact_mut(width).zip(&layout.place2) {
                row[places.len()..].fill(T::default());
                for (to, place) in row.iter_mut().zip(places) {
                    *to = view[(place + from) as usize];
                }
            }
        }
    }
}

/// Outer points that follow each other go into a row together.
#[inline(always)]
fn runs<T: Real, const RUN: usize>(values: &[T], places: &[u32], row: &mut [T]) {
    let runs = row.as_chunks_mut::<RUN>().0.iter_mut();
    for (to, place) in runs.zip(places.iter().step_by(RUN)) {
        if let Some(from) = values[*place as usize..].first_chunk::<RUN>() {
            *to = *from;
        }
    }
}
