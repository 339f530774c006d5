//! The largest and the smallest of the working space, with ties to the smallest shift.

use crate::Result;
use crate::real::{Aligned, Real};
use crate::transform::{Scratch, Transform};
use perf_core::Looks;

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

/// Whether any number of a row passes a test, all of them at once.
#[inline(always)]
fn any<T: Real>(row: &[T], passes: impl Fn(T) -> bool) -> bool {
    row.iter().fold(false, |any, value| any | passes(*value))
}

impl<T: Real> Transform<T> {
    /// The rest of the inverse, and the extremes of what comes out: largest, smallest, and the
    /// value without shift. `norm` is what R is a quotient of.
    pub(crate) fn extremes(&self, scratch: &mut Scratch<T>, norm: f64) -> Result<[Peak; 3]> {
        let layout = &self.layout;
        let (width, step) = (layout.width, layout.step);
        let used = layout.below * width;
        let wide = |value: T| value.wide();
        let (mut high, mut low) = (f64::NEG_INFINITY, f64::INFINITY);
        for tile in 0..layout.along() {
            self.inverse_rest_of(tile, scratch);
            let columns = width.min(layout.rows - tile * width);
            let range = tile * step..tile * step + used;
            let rows = |from: &Aligned<T>, pick: fn(f64, f64) -> f64, start: f64| {
                let rows = from.get()[range.clone()].chunks_exact(width);
                let values = rows.flat_map(|row| &row[..columns]);
                values.fold(start, |most, value| pick(most, wide(*value)))
            };
            high = rows(&scratch.high, f64::max, high);
            low = rows(&scratch.low, f64::min, low);
        }
        scratch.check()?;
        let zero = wide(scratch.work[0].get()[0]);
        let peak = |value: f64, norm2, at| Peak {
            r: (value / norm).clamp(-1.0, 1.0),
            at,
            norm: norm2,
        };
        let near = T::TIE * norm;
        let (value, norm2, at) = self.nearest(scratch, 1.0, high - near)?;
        let max = peak(value, norm2, at);
        let (value, norm2, at) = self.nearest(scratch, -1.0, -low - near)?;
        let min = peak(-value, norm2, at);
        Ok([max, min, peak(zero, 0, 0)])
    }

    /// Of all values times `sign` that reach `least`, that with the smallest shift.
    fn nearest(&self, scratch: &Scratch<T>, sign: f64, least: f64) -> Result<(f64, u64, usize)> {
        let mut looks = Looks::new(scratch.lines.cancel.as_ref());
        let layout = &self.layout;
        let (width, block) = (layout.width, layout.block());
        let samples = layout.place2.len() / layout.depth;
        let mut best = (0.0, u64::MAX, usize::MAX);
        // A little less, since it is rounded.
        let (edge, up) = (T::of(sign * (least - T::TIE * least.abs())), sign > 0.0);
        let reaches = |value: T| if up { value >= edge } else { value <= edge };
        // The extremes along the real axis tell where there is nothing near.
        let bounds = if up { &scratch.high } else { &scratch.low };
        let rows = bounds.get().chunks_exact(width).enumerate();
        for (number, bounds) in rows {
            let apart = layout.step / width;
            looks.next(width)?;
            let (tile, below) = (number / apart, number % apart);
            if below >= layout.below || !any(bounds, reaches) {
                continue;
            }
            let columns = width.min(layout.rows - tile * width);
            for at in (below..layout.depth).step_by(layout.below) {
                looks.next(samples * width)?;
                for sample in 0..samples {
                    let plane = scratch.work[sample].get();
                    let row = &plane[tile * block + layout.inside(at)..][..columns];
                    if !any(row, reaches) {
                        continue;
                    }
                    for (column, value) in row.iter().enumerate() {
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
        Ok(match best.2 {
            usize::MAX => (0.0, 0, 0),
            _ => best,
        })
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
