//! The largest and the smallest of the working space, with ties to the smallest shift.

use crate::real::Real;
use crate::transform::{Scratch, Transform};

/// A value of R and the shift it is at.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Peak {
    /// The correlation, from -1 to 1.
    pub r: f64,
    /// The shift as a row-major cell number; [`Transform::shift`] makes coordinates of it. The
    /// view is found that far along the axes from the reference.
    pub at: usize,
    /// Its squared torus norm, `sum min(s, d - s)^2`.
    pub norm: u64,
}

/// The largest and smallest number of each column of a tile, of lines that rustfft transforms and of odd
/// shapes.
fn look<T: Real>(planes: [&[T]; 2], columns: usize, width: usize) -> (T, T) {
    let start = planes[0].first().copied().unwrap_or_default();
    let rows = planes
        .into_iter()
        .flat_map(|plane| plane.chunks_exact(width));
    let values = rows.flat_map(|row| row.iter().take(columns));
    values.fold((start, start), |(high, low), value| {
        let high = if *value > high { *value } else { high };
        (high, if *value < low { *value } else { low })
    })
}

impl<T: Real> Transform<T> {
    /// The rest of the inverse, and the extremes of what comes out: largest, smallest, and the
    /// value without shift. `norm` is what R is a quotient of.
    pub(crate) fn extremes(&self, scratch: &mut Scratch<T>, norm: f64) -> [Peak; 3] {
        let layout = &self.layout;
        let along = layout.along();
        scratch.bounds.clear();
        let even = layout.real_axis.is_some();
        for tile in 0..along {
            let [re, im] = &mut scratch.work;
            let (re, im) = (re.get_mut(), im.get_mut());
            let columns = layout.width.min(layout.rows - tile * layout.width);
            let (re, im, found) = self.inverse_rest_of(tile, re, im, &mut scratch.lines);
            let planes: [&[T]; 2] = [re, if even { im } else { &[] }];
            let bounds = match found {
                Some(found) => found.used(columns),
                None => look(planes, columns, layout.width),
            };
            scratch.bounds.push(bounds);
        }
        let wide = |value: T| value.wide();
        let high = scratch.bounds.iter().map(|bounds| wide(bounds.0));
        let high = high.fold(f64::NEG_INFINITY, f64::max);
        let low = scratch.bounds.iter().map(|bounds| wide(bounds.1));
        let low = low.fold(f64::INFINITY, f64::min);
        let zero = wide(scratch.work[0].get()[0]);
        let peak = |value: f64, norm2, at| Peak {
            r: (value / norm).clamp(-1.0, 1.0),
            at,
            norm: norm2,
        };
        let near = T::TIE * norm;
        let (value, norm2, at) = self.nearest(scratch, 1.0, high - near);
        let max = peak(value, norm2, at);
        let (value, norm2, at) = self.nearest(scratch, -1.0, -low - near);
        let min = peak(-value, norm2, at);
        [max, min, peak(zero, 0, 0)]
    }

    /// Of all values times `sign` that reach `least`, that with the smallest shift.
    fn nearest(&self, scratch: &Scratch<T>, sign: f64, least: f64) -> (f64, u64, usize) {
        let layout = &self.layout;
        let (width, block) = (layout.width, layout.block());
        let samples = layout.place2.len() / layout.depth;
        let mut best = (0.0, u64::MAX, usize::MAX);
        // A little less, since it is rounded.
        let (edge, up) = (T::of(sign * (least - T::TIE * least.abs())), sign > 0.0);
        let reaches = |value: T| if up { value >= edge } else { value <= edge };
        for (tile, (high, low)) in scratch.bounds.iter().enumerate() {
            let top = if sign > 0.0 { high.wide() } else { -low.wide() };
            if top < least {
                continue;
            }
            let columns = width.min(layout.rows - tile * width);
            for sample in 0..samples {
                let plane = &scratch.work[sample].get()[tile * block..(tile + 1) * block];
                for (at, row) in plane.chunks_exact(width).enumerate() {
                    // Most rows hold nothing near: a test of all columns at once.
                    let near = row.iter().fold(false, |near, value| near | reaches(*value));
                    if !near {
                        continue;
                    }
                    for (column, value) in row[..columns].iter().enumerate() {
                        let value = value.wide() * sign;
                        if value < least {
                            continue;
                        }
                        let (one, two) = (tile * width + column, at * samples + sample);
                        let norm = layout.norm1[one] + layout.norm2[two];
                        let place = (layout.place1[one] + layout.place2[two]) as usize;
                        if (norm, place) < (best.1, best.2) {
                            best = (value, norm, place);
                        }
                    }
                }
            }
        }
        if best.2 == usize::MAX {
            (0.0, 0, 0)
        } else {
            best
        }
    }

    /// The coordinates of a shift, one an axis.
    pub fn shift(&self, peak: Peak) -> Vec<usize> {
        let mut rest = peak.at;
        let mut shift: Vec<usize> = self
            .dims()
            .iter()
            .rev()
            .map(|len| {
                let at = rest % len;
                rest /= len;
                at
            })
            .collect();
        shift.reverse();
        shift
    }
}
