//! From a view to the working space: whole vectors at a time wherever values of a view that go into
//! one, or come out of a few, follow each other.

use crate::real::Real;
use crate::transform::Transform;
use crate::turn::Blocks;
use std::ops::Range;

impl<T: Real> Transform<T> {
    /// The values of some tiles of outer points, whose part of the working space is given.
    pub(crate) fn gather(&self, view: &[T], tiles: Range<usize>, re: &mut [T], im: &mut [T]) {
        let width = self.layout.width;
        if self.layout.real_axis.is_none() {
            im.fill(T::default());
            return self.gather_odd(view, tiles, re);
        }
        match (self.layout.run, width) {
            (16, 16) => self.gather_runs::<16>(view, tiles, re, im),
            (8, 8 | 16) => self.gather_runs::<8>(view, tiles, re, im),
            (4, 8 | 16) => self.gather_runs::<4>(view, tiles, re, im),
            (2, 8 | 16) => self.gather_runs::<2>(view, tiles, re, im),
            (_, 8) if self.layout.real_axis == self.last_axis() => {
                self.gather_real::<8>(view, tiles, re, im);
            }
            (_, 16) if self.layout.real_axis == self.last_axis() => {
                self.gather_real::<16>(view, tiles, re, im);
            }
            _ => self.gather_runs::<1>(view, tiles, re, im),
        }
    }

    /// The axis along which values follow each other.
    fn last_axis(&self) -> Option<usize> {
        self.dims().iter().rposition(|len| *len > 1)
    }

    /// Outer points that follow each other go into one row together; all tiles at once, so that what
    /// lies together is read together.
    fn gather_runs<const RUN: usize>(
        &self,
        view: &[T],
        tiles: Range<usize>,
        re: &mut [T],
        im: &mut [T],
    ) {
        let layout = &self.layout;
        let (width, block) = (layout.width, layout.block());
        let places = &layout.place1[tiles.start * width..(tiles.end * width).min(layout.rows)];
        for at in 0..layout.depth {
            for (sample, plane) in [&mut *re, &mut *im].into_iter().enumerate() {
                let from = layout.place2[2 * at + sample];
                let tiles = plane.chunks_exact_mut(block).zip(places.chunks(width));
                for (tile, places) in tiles {
                    let row = &mut tile[at * width..(at + 1) * width];
                    let runs = row.as_chunks_mut::<RUN>().0.iter_mut();
                    for (to, place) in runs.zip(places.iter().step_by(RUN)) {
                        let from = (place + from) as usize;
                        to.copy_from_slice(&view[from..from + RUN]);
                    }
                    row[places.len()..].fill(T::default());
                }
            }
        }
    }

    /// Samples of the real axis follow each other: square blocks of outer points by samples.
    fn gather_real<const N: usize>(
        &self,
        view: &[T],
        tiles: Range<usize>,
        re: &mut [T],
        im: &mut [T],
    ) {
        let layout = &self.layout;
        let below = layout.below;
        let places = &layout.place1[tiles.start * N..(tiles.end * N).min(layout.rows)];
        let tiles = re
            .chunks_exact_mut(layout.block())
            .zip(im.chunks_exact_mut(layout.block()));
        let (mut here, mut turned) = ([[T::default(); N]; N], [[T::default(); N]; N]);
        for ((re, im), places) in tiles.zip(places.chunks(N)) {
            let (re, im) = (re.as_chunks_mut::<N>().0, im.as_chunks_mut::<N>().0);
            for inner in 0..below {
                let start = layout.place2[2 * inner];
                for sample in (0..layout.real).step_by(N) {
                    let count = N.min(layout.real - sample);
                    for (place, to) in places.iter().zip(&mut here) {
                        let from = &view[(place + start) as usize + sample..];
                        match from.first_chunk::<N>() {
                            Some(from) if count == N => *to = *from,
                            _ => to[..count].copy_from_slice(&from[..count]),
                        }
                    }
                    T::turn(Blocks {
                        from: (here.as_flattened(), N * N),
                        to: (turned.as_flattened_mut(), N * N),
                    });
                    for (number, two) in turned[..count].chunks_exact(2).enumerate() {
                        let to = (sample / 2 + number) * below + inner;
                        (re[to], im[to]) = (two[0], two[1]);
                    }
                }
            }
            // Of a tile that is not full the rest holds what was there before.
            if places.len() < N {
                for row in re.iter_mut().chain(im) {
                    row[places.len()..].fill(T::default());
                }
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
