//! Reading packed spectra: single coefficients, magnitudes.

use crate::layout::{Place, signed};
use crate::real::Real;
use crate::transform::Transform;

/// Where a coefficient is.
pub(crate) enum Found {
    /// Real and imaginary part, and whether the conjugate is meant.
    At(u32, u32, bool),
    /// A real one.
    Real(u32),
}

impl<T: Real> Transform<T> {
    /// The coefficient `V(k)` of a packed spectrum, as (real, imaginary). Frequencies are signed
    /// and count modulo the axis lengths. `None` for the wrong number of frequencies or reals.
    pub fn coefficient(&self, spectrum: &[T], k: &[i32]) -> Option<(f64, f64)> {
        if spectrum.len() != self.layout.points || k.len() != self.layout.dims.len() {
            return None;
        }
        let read = |at: u32| Some(spectrum.get(at as usize)?.wide());
        match self.find(k) {
            Found::Real(at) => Some((read(at)?, 0.0)),
            Found::At(re, im, turned) => {
                let im = read(im)?;
                Some((read(re)?, if turned { -im } else { im }))
            }
        }
    }

    /// `|V(k)|` of all frequencies, row-major in the order of the transform: 0, 1, .., -2, -1 along
    /// each axis. Empty for the wrong number of reals.
    pub fn magnitudes(&self, spectrum: &[T]) -> Vec<f64> {
        let dims = &self.layout.dims;
        let mut k = vec![0; dims.len()];
        let cells = (0..self.layout.points).map_while(|cell| {
            let mut rest = cell;
            for (k, len) in k.iter_mut().zip(dims).rev() {
                *k = signed(rest % len, *len);
                rest /= len;
            }
            let (re, im) = self.coefficient(spectrum, &k)?;
            Some(re.hypot(im))
        });
        cells.collect()
    }

    fn find(&self, k: &[i32]) -> Found {
        let layout = &self.layout;
        // Frequencies as numbers from 0, and those of -k.
        let digit = |axis: usize| k[axis].rem_euclid(layout.dims[axis] as i32) as usize;
        let back = |axis: usize| (layout.dims[axis] - digit(axis)) % layout.dims[axis];
        let slot = layout.real_axis.map_or(0, digit);
        let place = |turned: bool, slot: usize| {
            let number = |axes: &[usize]| {
                axes.iter().fold(0, |number, axis| {
                    let digit = if turned { back(*axis) } else { digit(*axis) };
                    number * layout.dims[*axis] + digit
                })
            };
            let (row, at) = (number(&layout.outer_axes), number(&layout.inner_axes));
            layout.place(row, slot * layout.below + at)
        };
        if layout.real_axis.is_none() {
            let (here, there) = (place(false, 0), place(true, 0));
            let turned = order(&here) > order(&there);
            let key = order(if turned { &there } else { &here });
            return match layout
                .pairs
                .binary_search_by_key(&key, |[one, _]| order(one))
            {
                Ok(at) => Found::At(at as u32 + 1, (at + 1 + layout.pairs.len()) as u32, turned),
                Err(_) => Found::Real(0),
            };
        }
        if slot != 0 && slot != layout.slots {
            let turned = slot > layout.slots;
            let slot = if turned { layout.real - slot } else { slot };
            let place = place(turned, slot);
            return Found::At(place.re, place.im, turned);
        }
        let (here, there) = (place(false, 0), place(true, 0));
        let high = slot == layout.slots;
        match order(&here).cmp(&order(&there)) {
            std::cmp::Ordering::Equal if high => Found::Real(here.im),
            std::cmp::Ordering::Equal => Found::Real(here.re),
            near => {
                let turned = near.is_gt();
                let (first, second) = if turned { (there, here) } else { (here, there) };
                let place = if high { second } else { first };
                Found::At(place.re, place.im, turned)
            }
        }
    }
}

fn order(place: &Place) -> (u32, u32) {
    (place.row, place.at)
}
