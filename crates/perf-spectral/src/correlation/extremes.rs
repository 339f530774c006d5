//! Extremes of a correlation over all shifts as [`Peak`]s, found while the last step of the inverse
//! transform runs; among ties the smallest shift wins.

use crate::Result;
use crate::correlation::Correlation;
use crate::fft::{Scratch, Transform};
use crate::real::{Aligned, Real};
use perf_topology::MAX_AXES;

/// Value of R and the shift at which it occurs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Peak {
    /// Correlation, in `-1.0..=1.0`.
    pub r: f64,
    /// Shift as a row-major cell number; [`Transform::shift`] converts it to coordinates. The
    /// pattern of the view lies this far along the axes from that of the reference.
    pub at: usize,
    /// Squared torus norm of the shift, `sum min(s, d - s)^2`.
    pub norm: u64,
}

/// Returns `true` if any number of a row passes a test. All numbers are tested, without an early
/// exit.
#[inline(always)]
fn any<T: Real>(row: &[T], passes: impl Fn(T) -> bool) -> bool {
    row.iter().fold(false, |any, value| any | passes(*value))
}

impl<T: Real> Transform<T> {
    /// Runs the rest of the inverse and returns the extremes of its output. `norm` is the divisor
    /// of R.
    pub(crate) fn extremes(
        &self,
        scratch: &mut Scratch<T>,
        norm: f64,
        tolerance: f64,
    ) -> Result<Correlation> {
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
        let (value, norm2, at) = self.nearest(scratch, 1.0, high - near, |_, _| true)?;
        let max = peak(value, norm2, at);
        let (value, norm2, at) = self.nearest(scratch, -1.0, -low - near, |_, _| true)?;
        let min = peak(-value, norm2, at);
        let mut found = Correlation {
            max,
            min,
            zero: peak(zero, 0, 0).r,
            chosen: Peak::default(),
        };
        found.chosen = self.smallest_shift(scratch, &found, norm, tolerance)?;
        Ok(found)
    }

    /// Returns the value of the smallest shift among extremes of equal magnitude.
    ///
    /// A candidate has a magnitude within `tolerance`, a relative difference, of the larger of
    /// maximum and minimum. It is also an extreme along each axis that it is shifted along: its
    /// neighbours there do not have larger magnitudes. Among equally small shifts, one with the
    /// sign of the unshifted value wins, unless that value is smaller than the tolerance. Then the
    /// lowest cell wins.
    fn smallest_shift(
        &self,
        scratch: &Scratch<T>,
        found: &Correlation,
        norm: f64,
        tolerance: f64,
    ) -> Result<Peak> {
        let most = found.max.r.abs().max(found.min.r.abs());
        let least = most * (1.0 - tolerance) - T::TIE;
        if tolerance > 0.0 && found.zero.abs() >= least {
            return Ok(Peak {
                r: found.zero,
                at: 0,
                norm: 0,
            });
        }
        let has_sign = tolerance > 0.0 && found.zero.abs() > tolerance * most;
        // Ordered by squared shift, sign and cell.
        let mut best: Option<((u64, bool, usize), f64)> = None;
        for (extreme, sign) in [(found.max, 1.0), (found.min, -1.0)] {
            if extreme.r * sign < least {
                continue;
            }
            let is_opposite = has_sign && found.zero * sign < 0.0;
            let mut peak = extreme;
            if tolerance > 0.0 {
                let edge = T::TIE * norm;
                let accepts = |at, value| self.is_extreme(scratch, at, value + edge, sign);
                let (value, norm2, at) = self.nearest(scratch, sign, least * norm, accepts)?;
                if (norm2, at) < (extreme.norm, extreme.at) && value > 0.0 {
                    let r = (sign * value / norm).clamp(-1.0, 1.0);
                    peak = Peak { r, at, norm: norm2 };
                }
            }
            let key = (peak.norm, is_opposite, peak.at);
            if best.is_none_or(|(best, _)| key < best) {
                best = Some((key, peak.r));
            }
        }
        let peak = |((norm, _, at), r)| Peak { r, at, norm };
        Ok(best.map(peak).unwrap_or_default())
    }

    /// Returns `true` if no neighbour of a cell along a shifted axis is larger than `value` after
    /// multiplication by `sign`.
    fn is_extreme(&self, scratch: &Scratch<T>, cell: usize, value: f64, sign: f64) -> bool {
        let dims = self.dims();
        let (mut shift, mut rest) = ([0; MAX_AXES], cell);
        for (at, len) in shift.iter_mut().zip(dims).rev() {
            (*at, rest) = (rest % len, rest / len);
        }
        dims.iter().enumerate().all(|(axis, len)| {
            let at = shift[axis];
            at == 0
                || [at + 1, at + len - 1].iter().all(|next| {
                    let mut near = shift;
                    near[axis] = next % len;
                    sign * self.value(scratch, &near) <= value
                })
        })
    }

    /// Returns the value of the working space at a shift, with one coordinate for each axis.
    fn value(&self, scratch: &Scratch<T>, shift: &[usize; MAX_AXES]) -> f64 {
        let layout = &self.layout;
        let number = |axes: &[usize]| {
            axes.iter()
                .fold(0, |number, axis| number * layout.dims[*axis] + shift[*axis])
        };
        let (slot, sample) = layout
            .real_axis
            .map_or((0, 0), |axis| (shift[axis] / 2, shift[axis] % 2));
        let row = number(&layout.outer_axes);
        let inside = layout.inside(slot * layout.below + number(&layout.inner_axes));
        let (tile, column) = (row / layout.width, row % layout.width);
        scratch.work[sample].get()[tile * layout.block() + inside + column].wide()
    }

    /// Returns the value with the smallest shift among those that reach `least` after
    /// multiplication by `sign` and that `accepts` accepts, with its squared shift and cell.
    fn nearest(
        &self,
        scratch: &Scratch<T>,
        sign: f64,
        least: f64,
        accepts: impl Fn(usize, f64) -> bool,
    ) -> Result<(f64, u64, usize)> {
        let mut checks = scratch.lines.job.checks();
        let layout = &self.layout;
        let (width, block) = (layout.width, layout.block());
        let samples = layout.place2.len() / layout.depth;
        let mut best = (0.0, u64::MAX, usize::MAX);
        // Slightly less than the bound, because it is rounded.
        let (edge, up) = (T::of(sign * (least - T::TIE * least.abs())), sign > 0.0);
        let reaches = |value: T| if up { value >= edge } else { value <= edge };
        // The extremes along the real axis exclude places without a sufficiently large value.
        let bounds = if up { &scratch.high } else { &scratch.low };
        let rows = bounds.get().chunks_exact(width).enumerate();
        for (number, bounds) in rows {
            let apart = layout.step / width;
            checks.next(width)?;
            let (tile, below) = (number / apart, number % apart);
            if below >= layout.below || !any(bounds, reaches) {
                continue;
            }
            let columns = width.min(layout.rows - tile * width);
            for at in (below..layout.depth).step_by(layout.below) {
                checks.next(samples * width)?;
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
                        if (norm, place) < (best.1, best.2) && accepts(place, value) {
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

    /// Returns the coordinates of a shift, one for each axis.
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

    /// Returns the steps of a shift along each axis in the shorter direction: -1 instead of 4 on an
    /// axis of length 5. Half an axis is positive.
    ///
    /// ```
    /// use perf_spectral::{Peak, Transform};
    /// let plan = Transform::<f64>::new(&[5, 4])?;
    /// let peak = Peak { at: 4 * 4 + 2, ..Peak::default() };
    /// assert_eq!((plan.shift(peak), plan.steps(peak)), (vec![4, 2], vec![-1, 2]));
    /// # Ok::<(), perf_spectral::Error>(())
    /// ```
    pub fn steps(&self, peak: Peak) -> Vec<isize> {
        let shift = self.shift(peak).into_iter().zip(self.dims());
        let short = |(at, len): (usize, &usize)| match at.cast_signed() {
            at if at > len.cast_signed() / 2 => at - len.cast_signed(),
            at => at,
        };
        shift.map(short).collect()
    }
}
