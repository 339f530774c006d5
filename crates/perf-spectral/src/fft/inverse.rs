//! The inverse transform: from packed spectra to the working space, which then holds a correlation
//! over all shifts, and from there to a view.

use crate::Result;
use crate::fft::forward::along;
use crate::fft::layout::{Pair, Tile};
use crate::fft::packing::rows_in;
use crate::fft::transpose::{Blocks, Turning};
use crate::fft::{Scratch, Transform};
use crate::real::Real;
use perf_core::CancellationChecks;

impl<T: Real> Transform<T> {
    pub(crate) fn run_inverse(
        &self,
        spectrum: &[T],
        view: &mut [T],
        scratch: &mut Scratch<T>,
    ) -> Result<()> {
        self.check("values of a view", view.len())?;
        self.check("values of a spectrum", spectrum.len())?;
        self.to_view(spectrum, scratch);
        scratch.check()?;
        let job = &scratch.lines.job;
        let mut checks = job.checks();
        let scale = T::of(1.0 / self.layout.points as f64);
        let layout = &self.layout;
        let samples = layout.place2.len() / layout.depth.max(1);
        for row in 0..layout.rows {
            for at in 0..layout.depth {
                checks.next(samples)?;
                let from = self.at(row, at);
                for sample in 0..samples {
                    let place = layout.place1[row] + layout.place2[samples * at + sample];
                    view[place as usize] = scratch.work[sample].get()[from] * scale;
                }
            }
        }
        Ok(())
    }

    /// Transforms a spectrum back into the working space, multiplied by |T|.
    pub(crate) fn to_view(&self, spectrum: &[T], scratch: &mut Scratch<T>) {
        let layout = &self.layout;
        match layout.real_axis {
            Some(_) => {
                let count = layout.pairs.len();
                for (at, pair) in layout.pairs.iter().enumerate() {
                    if at.is_multiple_of(CancellationChecks::EACH) && scratch.is_over() {
                        return;
                    }
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
            None => {
                let mut checks = scratch.lines.job.checks();
                let unpacked = self.unpack(spectrum, &mut scratch.first, &mut checks);
                // The caller checks the job.
                if unpacked.is_err() {
                    return;
                }
            }
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

    /// Combines one pair of slot 0: frequencies 0 and L/2 of k become one complex number at k and
    /// another at -k.
    #[inline(always)]
    pub(crate) fn mix(&self, pair: &Pair, zero: [T; 2], high: [T; 2], first: &mut [Vec<T>; 2]) {
        let [one, two] = pair.map(|place| place.first as usize);
        first[0][one] = zero[0] - high[1];
        first[1][one] = zero[1] + high[0];
        first[0][two] = zero[0] + high[1];
        first[1][two] = high[0] - zero[1];
    }

    /// Transforms back along the outer axes. `load` returns the spectrum of each tile; slot 0 (for
    /// odd shapes everything) is taken from `scratch.first`.
    pub(crate) fn inverse_tiles(
        &self,
        scratch: &mut Scratch<T>,
        load: impl Fn(&Tile, &mut [T], &mut [T]),
    ) {
        let layout = &self.layout;
        let (width, block) = (layout.width, layout.block());
        let used = layout.rows * width;
        for tile in &layout.tiles {
            if scratch.is_over() {
                return;
            }
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
            let planes = [&mut im[..used], &mut re[..used]];
            along(&self.outer, planes, tile.columns, &mut scratch.lines);
            for (from, to) in [&*re, &*im].into_iter().zip(&mut scratch.work) {
                let to = &mut to.get_mut()[layout.inside(tile.at)..];
                if tile.columns == width {
                    T::turn(Turning::Blocks(Blocks {
                        from: (from, width * width),
                        to: (to, block),
                    }));
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

    /// Transforms one tile of outer points in the working space back along the inner axes and the
    /// real one, and computes the extremes of the output.
    pub(crate) fn inverse_rest_of(&self, tile: usize, scratch: &mut Scratch<T>) {
        if scratch.is_over() {
            return;
        }
        let layout = &self.layout;
        let (width, block) = (layout.width, layout.block());
        let columns = width.min(layout.rows - tile * width);
        let step = layout.step;
        let [re, im] = &mut scratch.work;
        let range = tile * block..(tile + 1) * block;
        let (re, im) = (&mut re.get_mut()[range.clone()], &mut im.get_mut()[range]);
        let range = tile * step..(tile + 1) * step;
        let (high, low) = (
            &mut scratch.high.get_mut()[range.clone()],
            &mut scratch.low.get_mut()[range],
        );
        self.along_inner([im, re], columns, &mut scratch.lines);
        if let Some(line) = &self.real {
            if T::last(line, &self.turns, [re, im], [high, low], &mut scratch.lines) {
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
}
