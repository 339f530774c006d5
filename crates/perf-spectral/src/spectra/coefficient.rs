//! [`Transform::coefficient`] and [`Transform::magnitudes`]: the coefficient of one frequency, or
//! the magnitudes of all, read from a packed spectrum.

use crate::fft::Transform;
use crate::fft::layout::{Place, signed};
use crate::real::Real;

/// Position of a coefficient in a packed spectrum.
pub(crate) enum Found {
    /// Indices of the real and imaginary part, and `true` if the stored value is the conjugate.
    At(usize, usize, bool),
    /// Index of a real coefficient.
    Real(usize),
}

impl<T: Real> Transform<T> {
    /// Returns the coefficient `V(k)` of a packed spectrum as (real, imaginary). Frequencies are
    /// signed and taken modulo the axis lengths. Returns `None` for a wrong number of frequencies
    /// or reals.
    pub fn coefficient(&self, spectrum: &[T], k: &[i32]) -> Option<(f64, f64)> {
        T::coefficient(self, spectrum, k)
    }

    pub(crate) fn one_of(&self, spectrum: &[T], k: &[i32]) -> Option<(f64, f64)> {
        if spectrum.len() != self.layout.points || k.len() != self.layout.dims.len() {
            return None;
        }
        let read = |at: usize| Some(spectrum.get(at)?.wide());
        match self.find(k) {
            Found::Real(at) => Some((read(at)?, 0.0)),
            Found::At(re, im, turned) => {
                let im = read(im)?;
                Some((read(re)?, if turned { -im } else { im }))
            }
        }
    }

    /// Returns `|V(k)|` of all frequencies in row-major order of the transform: 0, 1, .., -2, -1
    /// along each axis. Empty for a wrong number of reals.
    pub fn magnitudes(&self, spectrum: &[T]) -> Vec<f64> {
        T::magnitudes(self, spectrum)
    }

    pub(crate) fn all_magnitudes(&self, spectrum: &[T]) -> Vec<f64> {
        let dims = &self.layout.dims;
        let mut k = vec![0; dims.len()];
        let cells = (0..self.layout.points).map_while(|cell| {
            let mut rest = cell;
            for (k, len) in k.iter_mut().zip(dims).rev() {
                *k = signed(rest % len, *len);
                rest /= len;
            }
            let (re, im) = self.one_of(spectrum, &k)?;
            Some(re.hypot(im))
        });
        cells.collect()
    }

    fn find(&self, k: &[i32]) -> Found {
        let layout = &self.layout;
        // Frequencies as indices from 0, and those of -k.
        let digit = |axis: usize| k[axis].rem_euclid(layout.dims[axis] as i32) as usize;
        let back = |axis: usize| (layout.dims[axis] - digit(axis)) % layout.dims[axis];
        let slot = layout.real_axis.map_or(0, digit);
        let number = |turned: bool| {
            let of = |axes: &[usize]| {
                axes.iter().fold(0, |number, axis| {
                    let digit = if turned { back(*axis) } else { digit(*axis) };
                    number * layout.dims[*axis] + digit
                })
            };
            (of(&layout.outer_axes), of(&layout.inner_axes))
        };
        if layout.real_axis.is_some() && slot != 0 && slot != layout.slots {
            let turned = slot > layout.slots;
            let slot = if turned { layout.real - slot } else { slot };
            let (row, at) = number(turned);
            let (re, im) = layout.place(row, slot * layout.below + at);
            return Found::At(re, im, turned);
        }
        // A pair is stored under its lower index.
        let (here, there) = (number(false), number(true));
        let turned = here > there;
        let key = here.min(there);
        let high = usize::from(layout.real_axis.is_some() && slot == layout.slots);
        let count = layout.pairs.len();
        let start = usize::from(layout.real_axis.is_none());
        if let Ok(at) = layout
            .pairs
            .binary_search_by_key(&key, |[one, _]| order(one))
        {
            let re = start + at + 2 * high * count;
            return Found::At(re, re + count, turned);
        }
        let at = layout.own.binary_search_by_key(&key, order).unwrap_or(0);
        match layout.real_axis {
            Some(_) => Found::Real(4 * count + high * layout.own.len() + at),
            None => Found::Real(0),
        }
    }
}

fn order(place: &Place) -> (usize, usize) {
    (place.row as usize, place.at as usize)
}
