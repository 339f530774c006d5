//! The forward transform from a view to its packed spectrum: along the real axis, then along the
//! inner axes in the cache, and then along the outer axes within the spectrum. Shapes with partial
//! tiles are transformed along the outer axes from a working space.

use crate::Result;
use crate::fft::kernel::prefetch::{is_far, prefetch};
use crate::fft::layout::Tile;
use crate::fft::line::{Line, LineSpace};
use crate::fft::packing::rows_out;
use crate::fft::transpose::{Blocks, Turning};
use crate::fft::{GROUP, Scratch, Transform};
use crate::real::Real;
use std::ops::Range;

/// Number of tiles of inner places that are transposed at once, so that adjacent values are read
/// together.
const TILES: usize = 8;

/// Bytes of both planes that fit in a first-level cache together with other data.
const NEAR: usize = 1 << 15;

impl<T: Real> Transform<T> {
    pub(crate) fn run_forward(
        &self,
        view: &[T],
        spectrum: &mut [T],
        scratch: &mut Scratch<T>,
    ) -> Result<()> {
        self.check("values of a view", view.len())?;
        self.check("values of a spectrum", spectrum.len())?;
        let layout = &self.layout;
        let along = layout.along();
        for start in (0..along).step_by(GROUP) {
            scratch.check()?;
            let group = start..(start + GROUP).min(along);
            self.along_real(view, group.clone(), scratch);
            if layout.is_whole() {
                self.turn_into(group, spectrum, scratch);
            }
        }
        if layout.is_whole() {
            self.outer_in_place(spectrum, scratch)?;
        } else {
            self.outer_of_work(spectrum, scratch)?;
        }
        scratch.check()?;
        let mut checks = scratch.lines.job.checks();
        match layout.real_axis {
            Some(_) => self.unmix(&scratch.first, spectrum, &mut checks)?,
            None => self.pack(&scratch.first, spectrum, &mut checks)?,
        }
        scratch.check()
    }

    /// Transposes some tiles of outer points from the start of the working space into the tiles of
    /// the spectrum, if all are whole.
    fn turn_into(&self, group: Range<usize>, spectrum: &mut [T], scratch: &Scratch<T>) {
        let layout = &self.layout;
        let (width, block) = (layout.width, layout.block());
        let (square, size) = (width * width, layout.rows * width);
        let is_far = is_far(spectrum);
        for (number, tile) in layout.tiles.iter().enumerate() {
            for (part, work) in scratch.work.iter().enumerate() {
                let plane = (2 * number + part) * size;
                let to = plane + group.start * square..plane + group.end * square;
                // The next plane is fetched meanwhile.
                let next = spectrum.get(to.start + size..to.end + size);
                if let Some(next) = next.filter(|_| is_far) {
                    prefetch(next);
                }
                T::turn(Turning::Blocks(Blocks {
                    from: (
                        &work.get()[layout.inside(tile.at)..group.len() * block],
                        block,
                    ),
                    to: (&mut spectrum[to], square),
                }));
            }
        }
    }

    /// Transforms all tiles along the outer axes, within the spectrum.
    fn outer_in_place(&self, spectrum: &mut [T], scratch: &mut Scratch<T>) -> Result<()> {
        let layout = &self.layout;
        let size = layout.rows * layout.width;
        let out = spectrum.chunks_exact_mut(2 * size);
        for (tile, out) in layout.tiles.iter().zip(out) {
            scratch.check()?;
            let (re, im) = out.split_at_mut(size);
            let planes = [&mut *re, &mut *im];
            along(&self.outer, planes, layout.width, &mut scratch.lines);
            if tile.first {
                self.keep(tile, re, im, &mut scratch.first);
            }
        }
        Ok(())
    }

    /// Transforms all tiles along the outer axes, from the working space to the spectrum.
    fn outer_of_work(&self, spectrum: &mut [T], scratch: &mut Scratch<T>) -> Result<()> {
        let layout = &self.layout;
        let whole = |tile: &&Tile| !tile.first && tile.columns == layout.width;
        let mut tiles = layout.tiles.as_slice();
        while let Some(tile) = tiles.first() {
            scratch.check()?;
            let count = if layout.rows.is_multiple_of(layout.width) {
                tiles.iter().take(TILES).take_while(whole).count()
            } else {
                0
            };
            tiles = &tiles[count.max(1)..];
            if count > 0 {
                self.in_place(tile.at, count, spectrum, scratch);
            } else {
                self.beside(tile, spectrum, scratch);
            }
        }
        Ok(())
    }

    /// Reads some tiles of outer points and transforms them along the real axis and the inner axes.
    /// If all tiles are whole, the result is at the start of the working space, which then fits in
    /// the cache.
    fn along_real(&self, view: &[T], group: Range<usize>, scratch: &mut Scratch<T>) {
        let layout = &self.layout;
        let (width, block) = (layout.width, layout.block());
        let [re, im] = &mut scratch.work;
        let start = if layout.is_whole() { 0 } else { group.start };
        let range = start * block..(start + group.len()) * block;
        let (re, im) = (&mut re.get_mut()[range.clone()], &mut im.get_mut()[range]);
        let job = &scratch.lines.job;
        let space = [scratch.rows.get_mut(), scratch.lines.middle.get_mut()];
        let mut checks = job.checks();
        let read = self.read(
            view,
            group.clone(),
            [&mut *re, &mut *im],
            space,
            &mut checks,
        );
        let Ok(done) = read else { return };
        let tiles = re.chunks_exact_mut(block).zip(im.chunks_exact_mut(block));
        for (tile, (re, im)) in group.zip(tiles) {
            if scratch.lines.is_over() {
                return;
            }
            let columns = width.min(layout.rows - tile * width);
            if let Some(line) = self.real.as_ref().filter(|_| !done) {
                T::run(line, re, im, layout.step, columns, &mut scratch.lines);
                self.split(re, im);
            }
            self.along_inner([re, im], columns, &mut scratch.lines);
        }
    }

    /// Transforms some whole tiles from inner place `at` on along the outer axes, within the
    /// spectrum.
    fn in_place(&self, at: usize, count: usize, spectrum: &mut [T], scratch: &mut Scratch<T>) {
        let layout = &self.layout;
        let (width, block) = (layout.width, layout.block());
        let (square, size) = (width * width, layout.rows * width);
        let start = at * layout.rows * 2;
        let Some(out) = spectrum.get_mut(start..start + 2 * count * size) else {
            return;
        };
        for tile in 0..layout.along() {
            let from = tile * block + layout.inside(at);
            for (part, work) in scratch.work.iter().enumerate() {
                T::turn(Turning::Blocks(Blocks {
                    from: (&work.get()[from..from + count * square], square),
                    to: (&mut out[part * size + tile * square..], 2 * size),
                }));
            }
        }
        for out in out.chunks_exact_mut(2 * size) {
            along(
                &self.outer,
                out.split_at_mut(size).into(),
                width,
                &mut scratch.lines,
            );
        }
    }

    /// Transforms a partial tile, or one of slot 0, along the outer axes in a buffer.
    fn beside(&self, tile: &Tile, spectrum: &mut [T], scratch: &mut Scratch<T>) {
        let layout = &self.layout;
        let (width, block) = (layout.width, layout.block());
        let [re, im] = &mut scratch.tile;
        let (re, im) = (re.get_mut(), im.get_mut());
        for (from, to) in scratch.work.iter().zip([&mut *re, &mut *im]) {
            let from = &from.get()[layout.inside(tile.at)..];
            if tile.columns == width {
                T::turn(Turning::Blocks(Blocks {
                    from: (from, block),
                    to: (to, width * width),
                }));
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
        let planes = [&mut re[..used], &mut im[..used]];
        along(&self.outer, planes, tile.columns, &mut scratch.lines);
        if tile.first {
            self.keep(tile, re, im, &mut scratch.first);
            return;
        }
        let start = tile.at * layout.rows * 2;
        let size = layout.rows * tile.columns;
        if let Some(out) = spectrum.get_mut(start..start + 2 * size) {
            let (out_re, out_im) = out.split_at_mut(size);
            rows_out(&re[..used], out_re, tile.columns, width);
            rows_out(&im[..used], out_im, tile.columns, width);
        }
    }

    /// Transforms all slots of one tile of outer points along the inner axes.
    pub(crate) fn along_inner(
        &self,
        [re, im]: [&mut [T]; 2],
        columns: usize,
        space: &mut LineSpace<T>,
    ) {
        let layout = &self.layout;
        let used = layout.below * layout.width;
        // A single axis takes one call. With several axes, all are done for one slot, which fits in
        // the cache.
        if self.inner.len() < 2 && layout.step == used {
            return along(&self.inner, [re, im], columns, space);
        }
        let slots = re.chunks_exact_mut(layout.step);
        for (re, im) in slots.zip(im.chunks_exact_mut(layout.step)) {
            along(
                &self.inner,
                [&mut re[..used], &mut im[..used]],
                columns,
                space,
            );
        }
    }
}

/// Transforms along some axes, the slowest first, with the number of rows below one step of each.
/// Both planes are whole steps of the slowest axis. Data larger than the first-level cache is
/// transformed along the other axes in parts that fit.
pub(crate) fn along<T: Real>(
    lines: &[(Line<T>, usize)],
    [re, im]: [&mut [T]; 2],
    columns: usize,
    space: &mut LineSpace<T>,
) {
    let Some(((line, below), rest)) = lines.split_first() else {
        return;
    };
    let step = below * T::COLUMNS;
    let part = if 2 * size_of_val(re) > NEAR {
        step
    } else {
        re.len()
    };
    for (re, im) in re.chunks_exact_mut(part).zip(im.chunks_exact_mut(part)) {
        along(rest, [re, im], columns, space);
    }
    T::run(line, re, im, step, columns, space);
}
