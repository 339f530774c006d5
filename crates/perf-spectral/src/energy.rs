//! Weights in the order of packed spectra, and the energy along each axis.

use crate::layout::Layout;
use crate::real::Real;
use crate::transform::Transform;
use crate::{Filter, Wave};

/// A stretch of a packed spectrum: `len` real parts, and as many imaginary ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) re: usize,
    pub(crate) im: usize,
    pub(crate) len: usize,
}

impl Layout {
    /// All stretches of complex numbers. Those places that hold two real ones are among them.
    pub(crate) fn runs(&self) -> impl Iterator<Item = Run> + '_ {
        let even = self.real_axis.is_some();
        let tiles = if even { self.tiles().0 } else { 1 };
        (0..tiles).map(move |tile| {
            if !even {
                let len = self.pairs.len();
                return Run {
                    re: 1,
                    im: 1 + len,
                    len,
                };
            }
            let re = tile * self.width * self.rows * 2;
            let len = self.rows * self.columns(tile);
            Run {
                re,
                im: re + len,
                len,
            }
        })
    }

    /// Each number that is stored, as its place, its share of |V|^2 (2 where its opposite is not
    /// stored), and its frequencies. A complex number is two of them.
    fn each(&self, mut with: impl FnMut(u32, f64, &[i32])) {
        let mut k = vec![0; self.dims.len()];
        let Some(axis) = self.real_axis else {
            for (at, [one, _]) in self.pairs.iter().enumerate() {
                self.waves(one.row as usize, one.at as usize, &mut k);
                with(at as u32 + 1, 2.0, &k);
                with((at + 1 + self.pairs.len()) as u32, 2.0, &k);
            }
            return;
        };
        for row in 0..self.rows {
            for at in self.below..self.depth {
                self.waves(row, at, &mut k);
                let place = self.place(row, at);
                with(place.re, 2.0, &k);
                with(place.im, 2.0, &k);
            }
        }
        for [one, two] in &self.pairs {
            self.waves(one.row as usize, one.at as usize, &mut k);
            with(one.re, 2.0, &k);
            with(one.im, 2.0, &k);
            k[axis] = self.nyquist();
            with(two.re, 2.0, &k);
            with(two.im, 2.0, &k);
        }
        for own in &self.own {
            self.waves(own.row as usize, own.at as usize, &mut k);
            with(own.re, 1.0, &k);
            k[axis] = self.nyquist();
            with(own.im, 1.0, &k);
        }
    }
}

impl<T: Real> Transform<T> {
    /// The weights of a filter in the order of packed spectra. That of k = 0 is 0.
    pub(crate) fn weights(&self, filter: &(impl Filter + ?Sized)) -> Vec<T> {
        let mut weights = vec![T::default(); self.layout.points];
        let dims = &self.layout.dims;
        self.layout.each(|at, _, k| {
            if k.iter().any(|k| *k != 0) {
                let weight = filter.weight(Wave { k, dims });
                weights[at as usize] = T::of(weight.clamp(0.0, 1.0));
            }
        });
        weights
    }
}

/// Sums up `sum_k W_i^2 |V|^2` along all axes at once, from tables of the shape.
#[derive(Debug)]
pub(crate) struct Energies {
    /// `share / |k|^2` of each complex number, in the order of the runs; 0 where two real ones are.
    scale: Vec<f64>,
    /// The same of places that hold two real numbers.
    own: Vec<[f64; 2]>,
}

impl Energies {
    pub(crate) fn new(layout: &Layout) -> Self {
        let mut by_place = vec![0.0; layout.points];
        layout.each(|at, share, k| {
            let square: f64 = k.iter().map(|k| f64::from(*k).powi(2)).sum();
            if square > 0.0 {
                by_place[at as usize] = share / square;
            }
        });
        let mut own = Vec::new();
        if layout.real_axis.is_some() {
            let both = layout.own.iter().map(|own| [own.re, own.im]);
            own = both
                .map(|both| both.map(|at| by_place[at as usize]))
                .collect();
            for place in &layout.own {
                by_place[place.re as usize] = 0.0;
            }
        }
        let runs = layout.runs().flat_map(|run| run.re..run.re + run.len);
        let scale = runs.map(|at| by_place[at]).collect();
        Energies { scale, own }
    }

    /// E_i of each axis, of one spectrum.
    pub(crate) fn of<T: Real>(&self, layout: &Layout, spectrum: &[T]) -> Vec<f64> {
        let power = |at: usize| spectrum[at].wide().powi(2);
        let n = layout.dims.len();
        let mut energies = vec![0.0; n];
        let Some(axis) = layout.real_axis else {
            let count = layout.pairs.len();
            let mut k = vec![0; n];
            for (at, ([one, _], scale)) in layout.pairs.iter().zip(&self.scale).enumerate() {
                layout.waves(one.row as usize, one.at as usize, &mut k);
                let amount = scale * (power(at + 1) + power(at + 1 + count));
                add(&mut energies, &k, amount);
            }
            return energies;
        };
        // A sum over all places is one over rows and one over columns, since k is made of both.
        let mut rows = vec![0.0; layout.rows];
        let mut columns = vec![0.0; layout.depth];
        let mut scales = self.scale.as_slice();
        for (tile, run) in layout.runs().enumerate() {
            let width = layout.columns(tile);
            let (scale, rest) = scales.split_at(run.len);
            scales = rest;
            let re = spectrum[run.re..run.re + run.len].chunks_exact(width);
            let im = spectrum[run.im..run.im + run.len].chunks_exact(width);
            let columns = &mut columns[tile * layout.width..][..width];
            let lines = re.zip(im).zip(scale.chunks_exact(width)).zip(&mut rows);
            for (((re, im), scale), row) in lines {
                let mut sum = 0.0;
                for (((re, im), scale), column) in re.iter().zip(im).zip(scale).zip(&mut *columns) {
                    let amount = scale * (re.wide().powi(2) + im.wide().powi(2));
                    sum += amount;
                    *column += amount;
                }
                *row += sum;
            }
        }
        for (waves, amount) in layout.waves1.chunks_exact(n).zip(&rows) {
            add(&mut energies, waves, *amount);
        }
        for (waves, amount) in layout.waves2.chunks_exact(n).zip(&columns) {
            add(&mut energies, waves, *amount);
        }
        // What is stored of slot 0 under the highest frequency of the real axis.
        let high = f64::from(layout.nyquist()).powi(2);
        for [_, two] in &layout.pairs {
            let scale = self.scale[self.complex_at(layout, two)];
            energies[axis] += high * scale * (power(two.re as usize) + power(two.im as usize));
        }
        let mut k = vec![0; n];
        for (own, scale) in layout.own.iter().zip(&self.own) {
            layout.waves(own.row as usize, own.at as usize, &mut k);
            let (low, top) = (power(own.re as usize), power(own.im as usize));
            add(&mut energies, &k, scale[0] * low + scale[1] * top);
            energies[axis] += high * scale[1] * top;
        }
        energies
    }

    /// Where the scale of a place is: all real parts of the runs before it, then its own.
    fn complex_at(&self, layout: &Layout, place: &crate::layout::Place) -> usize {
        let tile = place.at as usize / layout.width;
        place.re as usize - tile * layout.width * layout.rows
    }
}

fn add(energies: &mut [f64], k: &[i32], amount: f64) {
    for (energy, k) in energies.iter_mut().zip(k) {
        *energy += amount * f64::from(*k).powi(2);
    }
}
