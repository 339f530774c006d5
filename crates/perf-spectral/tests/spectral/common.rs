//! Reference implementations in O(N^2), and test data.

use std::f64::consts::TAU;

/// Returns reproducible noise in -1 to 1.
pub(crate) fn noise(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    let mut next = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) as f64 / (1u64 << 30) as f64 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

pub(crate) fn digits(mut cell: usize, dims: &[usize]) -> Vec<usize> {
    let mut at = vec![0; dims.len()];
    for (at, len) in at.iter_mut().zip(dims).rev() {
        *at = cell % len;
        cell /= len;
    }
    at
}

pub(crate) fn signed(k: usize, len: usize) -> f64 {
    if 2 * k >= len {
        k as f64 - len as f64
    } else {
        k as f64
    }
}

/// Transforms a view by the defining sum.
pub(crate) fn naive(view: &[f64], dims: &[usize]) -> Vec<(f64, f64)> {
    let cells: Vec<Vec<usize>> = (0..view.len()).map(|cell| digits(cell, dims)).collect();
    let one = |k: &Vec<usize>| {
        let terms = cells.iter().zip(view).map(|(x, value)| {
            let turns = k.iter().zip(x).zip(dims);
            let turns: f64 = turns
                .map(|((k, x), len)| (k * x % len) as f64 / *len as f64)
                .sum();
            (value * (TAU * turns).cos(), -value * (TAU * turns).sin())
        });
        terms.fold((0.0, 0.0), |sum, term| (sum.0 + term.0, sum.1 + term.1))
    };
    cells.iter().map(one).collect()
}

/// Transforms a larger view along one axis after the other.
pub(crate) fn by_axis(view: &[f64], dims: &[usize]) -> Vec<(f64, f64)> {
    let mut values: Vec<(f64, f64)> = view.iter().map(|value| (*value, 0.0)).collect();
    let mut below = view.len();
    for len in dims.iter().copied() {
        let block = below;
        below /= len;
        let root = |at: usize| (TAU * at as f64 / len as f64).sin_cos();
        let roots: Vec<(f64, f64)> = (0..len).map(root).collect();
        for values in values.chunks_exact_mut(block) {
            for first in 0..below {
                let line: Vec<_> = values[first..].iter().step_by(below).copied().collect();
                for (k, slot) in values[first..].iter_mut().step_by(below).enumerate() {
                    let terms = line.iter().enumerate().map(|(x, (re, im))| {
                        let (sin, cos) = roots[k * x % len];
                        (re * cos + im * sin, im * cos - re * sin)
                    });
                    *slot = terms.fold((0.0, 0.0), |sum, term| (sum.0 + term.0, sum.1 + term.1));
                }
            }
        }
    }
    values
}

/// Returns the cosine weighting `sum f_i k_i^2 / |k|^2` of signed frequencies; 0 for the mean.
pub(crate) fn cosine(k: &[f64], f: &[f64]) -> f64 {
    let square: f64 = k.iter().map(|k| k * k).sum();
    let sum: f64 = k.iter().zip(f).map(|(k, f)| f * k * k).sum();
    if square > 0.0 { sum / square } else { 0.0 }
}

/// Applies the square root of the cosine filter to a view, so that its own circular correlation is
/// g.
pub(crate) fn filtered(view: &[f64], dims: &[usize], f: &[f64]) -> Vec<f64> {
    weighted(view, dims, &|k| cosine(k, f))
}

/// Applies the square root of any weight of signed frequencies.
pub(crate) fn weighted(view: &[f64], dims: &[usize], weight: &dyn Fn(&[f64]) -> f64) -> Vec<f64> {
    let spectrum = naive(view, dims);
    let weight = |cell: usize| {
        let digits = digits(cell, dims);
        let k = digits.iter().zip(dims).map(|(k, len)| signed(*k, *len));
        weight(&k.collect::<Vec<_>>()).sqrt()
    };
    // The inverse by the defining sum. It is real, since weight and spectrum are symmetric.
    let cells: Vec<Vec<usize>> = (0..view.len()).map(|cell| digits(cell, dims)).collect();
    let one = |x: &Vec<usize>| {
        let terms = cells.iter().enumerate().map(|(cell, k)| {
            let turns: f64 = k
                .iter()
                .zip(x)
                .zip(dims)
                .map(|((k, x), len)| (k * x % len) as f64 / *len as f64)
                .sum();
            let (sin, cos) = (TAU * turns).sin_cos();
            weight(cell) * (spectrum[cell].0 * cos - spectrum[cell].1 * sin)
        });
        terms.sum::<f64>() / view.len() as f64
    };
    cells.iter().map(one).collect()
}

/// Returns R at all shifts under the cosine filter.
pub(crate) fn correlation(a: &[f64], b: &[f64], dims: &[usize], f: &[f64]) -> Vec<f64> {
    correlated(&filtered(a, dims, f), &filtered(b, dims, f), dims)
}

/// Returns R of filtered views at all shifts, by the sum over all x: a~(x) b~(x + dx) over the root
/// of their energies.
pub(crate) fn correlated(a: &[f64], b: &[f64], dims: &[usize]) -> Vec<f64> {
    let energy = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>();
    let norm = (energy(a) * energy(b)).sqrt();
    let cells: Vec<Vec<usize>> = (0..a.len()).map(|cell| digits(cell, dims)).collect();
    let number = |x: &[usize], dx: &[usize]| {
        let pairs = x.iter().zip(dx).zip(dims);
        pairs.fold(0, |cell, ((x, dx), len)| cell * len + (x + dx) % len)
    };
    let one = |dx: &Vec<usize>| {
        let terms = cells.iter().enumerate();
        terms.map(|(at, x)| a[at] * b[number(x, dx)]).sum::<f64>() / norm
    };
    cells.iter().map(one).collect()
}

/// Returns the cell and value to report of R at all shifts. Candidates reach the largest magnitude
/// to within the tolerance and are extremes along each axis that they are shifted along; the
/// smallest shift wins. With tolerance 0 it is the larger of maximum and minimum.
pub(crate) fn reported(all: &[f64], dims: &[usize], tolerance: f64) -> (usize, f64) {
    const TIE: f64 = 1e-9;
    let norm = |cell: usize| -> usize {
        let shift = digits(cell, dims);
        let pairs = shift.iter().zip(dims);
        pairs.map(|(s, d)| (*s).min(d - s).pow(2)).sum()
    };
    let extreme = |sign: f64| {
        let most = all.iter().map(|r| sign * r).fold(f64::MIN, f64::max);
        let near = (0..all.len()).filter(|at| sign * all[*at] >= most - TIE);
        let at = near.min_by_key(|at| (norm(*at), *at));
        (sign, at.expect("there are cells"))
    };
    let extremes = [extreme(1.0), extreme(-1.0)];
    let most = extremes.map(|(sign, at)| sign * all[at]);
    let least = most[0].max(most[1]) * (1.0 - tolerance) - TIE;
    let is_extreme = |at: usize, sign: f64| {
        let shift = digits(at, dims);
        (0..dims.len()).all(|axis| {
            let near = |step: usize| {
                let mut near = shift.clone();
                near[axis] = (near[axis] + step) % dims[axis];
                let cell = near.iter().zip(dims);
                cell.fold(0, |cell, (at, len)| cell * len + at)
            };
            let both = [1, dims[axis] - 1].map(near);
            shift[axis] == 0
                || both
                    .iter()
                    .all(|near| sign * all[*near] <= sign * all[at] + TIE)
        })
    };
    let candidates = (0..all.len()).filter(|at| {
        extremes.iter().any(|(sign, extreme)| {
            let reaches = |at: usize| sign * all[at] >= least;
            reaches(*extreme)
                && reaches(*at)
                && (at == extreme || tolerance > 0.0 && is_extreme(*at, *sign))
        })
    });
    // Of equal shifts, one with the sign of the unshifted value, unless that is too small.
    let has_sign = tolerance > 0.0 && all[0].abs() > tolerance * most[0].max(most[1]);
    let is_opposite = |at: usize| has_sign && all[at] * all[0] < 0.0;
    let at = candidates.min_by_key(|at| (norm(*at), is_opposite(*at), *at));
    let at = at.expect("the larger extreme");
    (at, all[at])
}

pub(crate) fn pearson(a: &[f64], b: &[f64]) -> f64 {
    let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
    let (ma, mb) = (mean(a), mean(b));
    let sum = |f: &dyn Fn(f64, f64) -> f64| -> f64 {
        a.iter().zip(b).map(|(a, b)| f(a - ma, b - mb)).sum()
    };
    sum(&|a, b| a * b) / (sum(&|a, _| a * a) * sum(&|_, b| b * b)).sqrt()
}
