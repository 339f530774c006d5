//! [`Energies`]: energy of a packed spectrum along each axis; iteration over a packed spectrum in
//! [`Run`]s, for the weights of a filter and the power of blocks.

use crate::fft::Transform;
use crate::fft::layout::Layout;
use crate::real::Real;
use crate::{Filter, Result, Wave};
use perf_core::Job;

/// Contiguous part of a packed spectrum, with `len` real and `len` imaginary parts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    /// Index of the first real part.
    pub(crate) re: usize,
    /// Index of the first imaginary part.
    pub(crate) im: usize,
    /// Number of complex numbers.
    pub(crate) len: usize,
}

impl Layout {
    /// Returns all contiguous parts: pairs of slot 0 (frequency 0, then L/2), then the tiles. For
    /// an odd shape, one coefficient of each pair.
    pub(crate) fn runs(&self) -> impl Iterator<Item = Run> + '_ {
        let pairs = self.pairs.len();
        let (start, count) = match self.real_axis {
            Some(_) => (0, 2),
            None => (1, 1),
        };
        let first = (0..count).map(move |part| Run {
            re: start + 2 * part * pairs,
            im: start + (2 * part + 1) * pairs,
            len: pairs,
        });
        let tiles = self.tiles.iter().filter(|tile| !tile.first);
        first.chain(tiles.map(|tile| Run {
            re: tile.at * self.rows * 2,
            im: tile.at * self.rows * 2 + self.rows * tile.columns,
            len: self.rows * tile.columns,
        }))
    }

    /// Returns the positions of the two real numbers that share each self-opposite place: those of
    /// frequency 0, then those of L/2. Both are empty for an odd shape, since k = 0 is excluded.
    pub(crate) fn owns(&self) -> [std::ops::Range<usize>; 2] {
        let (from, len) = (4 * self.pairs.len(), self.own.len());
        match self.real_axis {
            Some(_) => [from..from + len, from + len..from + 2 * len],
            None => [0..0, 0..0],
        }
    }

    /// Calls back with the index of each stored number, its factor in |V|^2 (2 if its opposite is
    /// not stored), and its frequencies. A complex number counts as two.
    fn each(&self, job: &Job, mut with: impl FnMut(usize, f64, &[i32])) -> Result<()> {
        let mut k = vec![0; self.dims.len()];
        let mut checks = job.checks();
        let count = self.pairs.len();
        let Some(axis) = self.real_axis else {
            for (at, [one, _]) in self.pairs.iter().enumerate() {
                checks.next(2)?;
                self.waves(one.row as usize, one.at as usize, &mut k);
                with(at + 1, 2.0, &k);
                with(at + 1 + count, 2.0, &k);
            }
            return Ok(());
        };
        for row in 0..self.rows {
            for at in self.below..self.depth {
                checks.next(2)?;
                self.waves(row, at, &mut k);
                let (re, im) = self.place(row, at);
                with(re, 2.0, &k);
                with(im, 2.0, &k);
            }
        }
        for (at, [one, _]) in self.pairs.iter().enumerate() {
            checks.next(4)?;
            self.waves(one.row as usize, one.at as usize, &mut k);
            with(at, 2.0, &k);
            with(at + count, 2.0, &k);
            k[axis] = self.nyquist();
            with(at + 2 * count, 2.0, &k);
            with(at + 3 * count, 2.0, &k);
        }
        let [low, high] = self.owns();
        for ((own, low), high) in self.own.iter().zip(low).zip(high) {
            self.waves(own.row as usize, own.at as usize, &mut k);
            with(low, 1.0, &k);
            k[axis] = self.nyquist();
            with(high, 1.0, &k);
        }
        Ok(())
    }
}

impl<T: Real> Transform<T> {
    /// Computes the weights of a filter in the order of packed spectra. The weight of k = 0 is 0.
    pub(crate) fn weights(&self, filter: &dyn Filter, job: &Job) -> Result<Vec<T>> {
        let mut weights = vec![T::default(); self.layout.points];
        let dims = &self.layout.dims;
        self.layout.each(job, |at, _, k| {
            if k.iter().any(|k| *k != 0) {
                let weight = filter.weight(Wave { k, dims });
                weights[at] = T::of(weight.clamp(0.0, 1.0));
            }
        })?;
        Ok(weights)
    }
}

/// Computes `sum_k W_i^2 |V|^2` along all axes at once, from tables of the shape.
#[derive(Debug)]
pub(crate) struct Energies {
    /// Factor `share / |k|^2` of each complex number, in the order of the runs.
    scale: Vec<f64>,
    /// Factor of each real number.
    own: Vec<[f64; 2]>,
}

impl Energies {
    pub(crate) fn new(layout: &Layout, job: &Job) -> Result<Self> {
        let mut by_place = vec![0.0; layout.points];
        layout.each(job, |at, share, k| {
            let square: f64 = k.iter().map(|k| f64::from(*k).powi(2)).sum();
            if square > 0.0 {
                by_place[at] = share / square;
            }
        })?;
        let mut checks = job.checks();
        let mut scale = Vec::with_capacity(layout.runs().map(|run| run.len).sum());
        for run in layout.runs() {
            for piece in checks.pieces(run.re..run.re + run.len) {
                scale.extend_from_slice(&by_place[piece?]);
            }
        }
        let [low, high] = layout.owns();
        Ok(Energies {
            scale,
            own: low
                .zip(high)
                .map(|(low, high)| [by_place[low], by_place[high]])
                .collect(),
        })
    }

    /// Returns the energies E_i of noise, a spectrum that is 1 everywhere.
    pub(crate) fn of_noise(&self, layout: &Layout, job: &Job) -> Result<Vec<f64>> {
        let mut flat = vec![0.0f64; layout.points];
        let mut checks = job.checks();
        for run in layout.runs() {
            for piece in checks.pieces(run.re..run.re + run.len) {
                flat[piece?].fill(1.0);
            }
        }
        for own in layout.owns() {
            flat[own].fill(1.0);
        }
        self.of(layout, &flat, job)
    }

    /// Returns the energy E_i of one spectrum along each axis.
    pub(crate) fn of<T: Real>(
        &self,
        layout: &Layout,
        spectrum: &[T],
        job: &Job,
    ) -> Result<Vec<f64>> {
        let mut checks = job.checks();
        let power = |at: usize| spectrum[at].wide().powi(2);
        let n = layout.dims.len();
        // A sum over all places is the sum of one over rows and one over columns, since each wave
        // vector has a row part and a column part.
        let mut rows = vec![0.0; layout.rows];
        let mut columns = vec![0.0; layout.depth];
        // Energy at the highest frequency of the real axis, which is stored in slot 0.
        let mut highest = 0.0;
        let mut scales = self.scale.as_slice();
        let mut runs = layout.runs();
        let parts = if layout.real_axis.is_some() { 2 } else { 1 };
        for (part, run) in runs.by_ref().take(parts).enumerate() {
            let (scale, rest) = scales.split_at(run.len);
            scales = rest;
            for (at, ([one, _], scale)) in layout.pairs.iter().zip(scale).enumerate() {
                checks.next(2)?;
                let amount = scale * (power(run.re + at) + power(run.im + at));
                rows[one.row as usize] += amount;
                columns[one.at as usize] += amount;
                highest += amount * part as f64;
            }
        }
        let [low, high] = layout.owns();
        for (((own, scale), low), high) in layout.own.iter().zip(&self.own).zip(low).zip(high) {
            let amounts = [scale[0] * power(low), scale[1] * power(high)];
            rows[own.row as usize] += amounts[0] + amounts[1];
            columns[own.at as usize] += amounts[0] + amounts[1];
            highest += amounts[1];
        }
        let tiles = layout.tiles.iter().filter(|tile| !tile.first);
        for (run, tile) in runs.zip(tiles) {
            let (scale, rest) = scales.split_at(run.len);
            scales = rest;
            let width = tile.columns;
            let re = spectrum[run.re..run.re + run.len].chunks_exact(width);
            let im = spectrum[run.im..run.im + run.len].chunks_exact(width);
            let columns = &mut columns[tile.at..tile.at + width];
            let lines = re.zip(im).zip(scale.chunks_exact(width)).zip(&mut rows);
            for (((re, im), scale), row) in lines {
                checks.next(2 * width)?;
                let mut sum = 0.0;
                for (((re, im), scale), column) in re.iter().zip(im).zip(scale).zip(&mut *columns) {
                    let amount = scale * (re.wide().powi(2) + im.wide().powi(2));
                    sum += amount;
                    *column += amount;
                }
                *row += sum;
            }
        }
        let mut energies = vec![0.0; n];
        let one = layout.waves1.chunks_exact(n).zip(&rows);
        let two = layout.waves2.chunks_exact(n).zip(&columns);
        for (waves, amount) in one.chain(two) {
            for (energy, k) in energies.iter_mut().zip(waves) {
                *energy += amount * f64::from(*k).powi(2);
            }
        }
        if let Some(axis) = layout.real_axis {
            energies[axis] += highest * f64::from(layout.nyquist()).powi(2);
        }
        Ok(energies)
    }
}

/// Number of blocks of a spectrum whose power is stored. Real numbers form another block.
const BLOCKS: usize = 256;

/// Returns the root of the power in each block of a packed spectrum. For two spectra, `sum |A| |B|
/// <= sum_j root_j(A) root_j(B)` (Cauchy-Schwarz in each block), an upper bound that reads neither
/// spectrum.
pub(crate) fn roots<T: Real>(layout: &Layout, spectrum: &[T], job: &Job) -> Result<Vec<f64>> {
    let mut checks = job.checks();
    let total: usize = layout.runs().map(|run| run.len).sum();
    let size = total.div_ceil(BLOCKS).max(1);
    let mut powers = vec![0.0; BLOCKS + 1];
    let mut first = 0;
    for Run { re, im, len } in layout.runs() {
        let mut at = 0;
        while at < len {
            let block = (first + at) / size;
            let end = len.min((block + 1) * size - first);
            checks.next(2 * (end - at))?;
            let parts = [re + at..re + end, im + at..im + end];
            let values = parts.into_iter().flat_map(|part| &spectrum[part]);
            powers[block] += 2.0 * values.map(|value| value.wide().powi(2)).sum::<f64>();
            at = end;
        }
        first += len;
    }
    for own in layout.owns() {
        powers[BLOCKS] += spectrum[own]
            .iter()
            .map(|value| value.wide().powi(2))
            .sum::<f64>();
    }
    Ok(powers.into_iter().map(f64::sqrt).collect())
}
