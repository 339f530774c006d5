//! [`range`]: range of the values of an axis over all experiments; [`shift`]: shift between the
//! values of two experiments. Values are sorted by value and weight before they are summed, so that
//! sums do not depend on the order of bursts.

use perf_core::{Cancelled, Job};

/// Number of cells over the values of an experiment. Half a cell is far less than the distance of two
/// clusters.
const CELLS: usize = 2048;
/// Half the width of the smoothing kernel in cells.
const SMOOTH: usize = 16;

/// Returns the smallest and the largest value; (0, 0) without values.
pub(super) fn extremes(values: &[f64]) -> (f64, f64) {
    let both = values.iter().map(|value| (*value, *value));
    both.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
        .unwrap_or_default()
}

/// Returns the range from the quantile `q` of all values to the quantile `1 - q`, with equal weight for
/// each experiment; if both quantiles are equal, the smallest and the largest value.
pub(super) fn range(experiments: &[Vec<f64>], q: f64, job: &Job) -> Result<(f64, f64), Cancelled> {
    let mut all: Vec<(f64, f64)> = Vec::new();
    for values in experiments {
        let weight = 1.0 / values.len().max(1) as f64;
        all.extend(values.iter().map(|value| (*value, weight)));
    }
    sort(&mut all, job)?;
    let total: f64 = all.iter().map(|(_, weight)| weight).sum();
    let (Some(first), Some(last)) = (all.first(), all.last()) else {
        return Ok((0.0, 0.0));
    };
    let (mut low, mut high, mut below) = (first.0, last.0, 0.0);
    let mut checks = job.checks();
    for (value, weight) in &all {
        checks.next(1)?;
        if below <= q * total {
            low = *value;
        }
        below += weight;
        if below >= (1.0 - q) * total {
            high = *value;
            break;
        }
    }
    Ok(if low < high {
        (low, high)
    } else {
        (first.0, last.0)
    })
}

fn sort(all: &mut Vec<(f64, f64)>, job: &Job) -> Result<(), Cancelled> {
    job.sort_by(all, |a, b| {
        a.0.total_cmp(&b.0).then_with(|| a.1.total_cmp(&b.1))
    })
}

/// Result of [`shift`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fitted {
    /// Fitted shift.
    pub(super) shift: f64,
    /// Overlap with the shift.
    pub(super) overlap: f64,
    /// Overlap without a shift.
    pub(super) unshifted: f64,
}

/// Fits the shift of `b` against `a`, each given as values with their times.
///
/// The densities are histograms with a common cell width, smoothed by a triangle, and the overlap
/// is computed for all shifts by whole cells. The result is off by up to half a cell, which is
/// corrected by the difference of the means of the values within a few cells of the other experiment.
pub(super) fn shift(
    a: (&[f64], &[f64]),
    b: (&[f64], &[f64]),
    margin: f64,
    job: &Job,
) -> Result<Fitted, Cancelled> {
    let none = Fitted {
        shift: 0.0,
        overlap: 1.0,
        unshifted: 1.0,
    };
    let (low_a, high_a) = extremes(a.0);
    let (low_b, high_b) = extremes(b.0);
    // If both experiments have a single value, the shift is the difference of the two values.
    let spread = (high_a - low_a).max(high_b - low_b);
    if a.0.is_empty() || b.0.is_empty() {
        return Ok(none);
    }
    let scale = low_a.abs().max(low_b.abs()).max(1.0);
    if spread <= 1e-12 * scale {
        let shift = low_b - low_a;
        let is_same = shift.abs() <= 1e-12 * scale;
        let unshifted = if is_same { 1.0 } else { 0.0 };
        let shift = if 1.0 - unshifted >= margin {
            shift
        } else {
            0.0
        };
        let overlap = if shift == 0.0 { unshifted } else { 1.0 };
        return Ok(Fitted {
            shift,
            overlap,
            unshifted,
        });
    }
    let cell = spread / (CELLS - 1) as f64;
    let one = density(a, low_a, cell, job)?;
    let other = density(b, low_b, cell, job)?;
    // Cell i of `one` is at value low_a + i cell; `other` shifted by k cells has its cell i - k
    // there.
    let steps = one.len() + other.len();
    let unshifted_by = ((low_b - low_a) / cell).round();
    let mut best = (0.0, f64::MIN, 0.0);
    let mut checks = job.checks();
    for step in 0..steps {
        checks.next(one.len())?;
        let k = step as i64 - other.len() as i64;
        let by = overlap(&one, &other, k);
        // A shift of k cells moves the lowest value of b to low_a + k cell.
        let shift = low_b - low_a - k as f64 * cell;
        let is_better = by > best.1 + 1e-9;
        let is_nearer = by > best.1 - 1e-9 && shift.abs() < f64::abs(best.0);
        if is_better || is_nearer {
            best = (shift, by, k as f64);
        }
    }
    let unshifted = if unshifted_by.abs() < steps as f64 {
        overlap(&one, &other, unshifted_by as i64)
    } else {
        0.0
    };
    if best.1 - unshifted < margin {
        return Ok(Fitted {
            shift: 0.0,
            overlap: unshifted,
            unshifted,
        });
    }
    Ok(Fitted {
        shift: best.0 + refine(a, b, best.0, cell, job)?,
        overlap: best.1,
        unshifted,
    })
}

/// Returns the time in each cell, normalised to 1 and smoothed, with margins for the smoothing on
/// both sides.
fn density(
    (values, times): (&[f64], &[f64]),
    low: f64,
    cell: f64,
    job: &Job,
) -> Result<Vec<f64>, Cancelled> {
    let total: f64 = times.iter().sum();
    let mut cells = vec![0.0; CELLS + 2 * SMOOTH];
    let mut checks = job.checks();
    for (value, time) in values.iter().zip(times) {
        checks.next(1)?;
        let at = ((value - low) / cell).round() as usize + SMOOTH;
        if let Some(slot) = cells.get_mut(at) {
            // Bursts with zero duration have equal weights.
            *slot += if total > 0.0 {
                time / total
            } else {
                1.0 / values.len() as f64
            };
        }
    }
    let mut smooth = vec![0.0; cells.len()];
    let norm = (SMOOTH * SMOOTH) as f64;
    for (at, value) in cells.iter().enumerate().filter(|(_, value)| **value > 0.0) {
        for by in 0..2 * SMOOTH - 1 {
            let weight = (SMOOTH - by.abs_diff(SMOOTH - 1)) as f64 / norm;
            if let Some(slot) = smooth.get_mut((at + by + 1).saturating_sub(SMOOTH)) {
                *slot += value * weight;
            }
        }
    }
    Ok(smooth)
}

/// Returns the overlap of two densities, the second shifted by `k` cells.
fn overlap(one: &[f64], other: &[f64], k: i64) -> f64 {
    let from = usize::try_from(k).unwrap_or(0);
    let skip = usize::try_from(-k).unwrap_or(0);
    let pairs = one.iter().skip(from).zip(other.iter().skip(skip));
    pairs.map(|(a, b)| a.min(*b)).sum()
}

/// Returns the correction of a shift: the difference of the means after the shift, each over the values
/// near the other experiment, at most a cell.
fn refine(
    a: (&[f64], &[f64]),
    b: (&[f64], &[f64]),
    shift: f64,
    cell: f64,
    job: &Job,
) -> Result<f64, Cancelled> {
    let near = SMOOTH as f64 * cell;
    let sorted = |(values, times): (&[f64], &[f64]), by: f64| {
        let values = values
            .iter()
            .zip(times)
            .map(|(value, time)| (value - by, *time));
        let mut all: Vec<(f64, f64)> = values.collect();
        sort(&mut all, job)?;
        Ok(all)
    };
    let (a, b) = (sorted(a, 0.0)?, sorted(b, shift)?);
    let mean_near = |of: &[(f64, f64)], others: &[(f64, f64)]| {
        let is_near = |value: f64| {
            let at = others.partition_point(|(other, _)| *other < value - near);
            others
                .get(at)
                .is_some_and(|(other, _)| *other <= value + near)
        };
        let (mut sum, mut weight) = (0.0, 0.0);
        let mut checks = job.checks();
        for (value, time) in of {
            checks.next(1)?;
            if is_near(*value) {
                sum += value * time;
                weight += time;
            }
        }
        Ok((weight > 0.0).then(|| sum / weight))
    };
    Ok(match (mean_near(&b, &a)?, mean_near(&a, &b)?) {
        // A difference of more than a cell is not a rounding error.
        (Some(b), Some(a)) => (b - a).clamp(-cell, cell),
        _ => 0.0,
    })
}
