//! The transforms against the sum that defines them.

use perf_spectral::{Real, Transform};
use std::f64::consts::TAU;

/// Numbers that look like noise, the same every time.
fn noise(count: usize, mut state: u64) -> Vec<f64> {
    let mut next = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) as f64 / (1u64 << 30) as f64 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

fn digits(mut cell: usize, dims: &[usize]) -> Vec<usize> {
    let mut at = vec![0; dims.len()];
    for (at, len) in at.iter_mut().zip(dims).rev() {
        *at = cell % len;
        cell /= len;
    }
    at
}

/// The definition, O(N^2).
fn naive(view: &[f64], dims: &[usize]) -> Vec<(f64, f64)> {
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

fn compare<T: Real>(dims: &[usize], tolerance: f64, of: fn(f64) -> T, wide: fn(T) -> f64) {
    let count: usize = dims.iter().product();
    let view = noise(count, 7);
    let plan = Transform::<T>::new(dims).expect("a shape");
    let typed: Vec<T> = view.iter().map(|value| of(*value)).collect();
    let (mut spectrum, mut back) = (vec![T::default(); count], vec![T::default(); count]);
    let mut scratch = plan.scratch();
    // Twice: scratch that was used before is as good as new.
    for _ in 0..2 {
        plan.forward(&typed, &mut spectrum, &mut scratch)
            .expect("lengths");
        plan.inverse(&spectrum, &mut back, &mut scratch)
            .expect("lengths");
    }
    let scale = (count as f64).sqrt();
    for (cell, (re, im)) in naive(&view, dims).into_iter().enumerate() {
        let k: Vec<i32> = digits(cell, dims).iter().map(|at| *at as i32).collect();
        let got = plan.coefficient(&spectrum, &k).expect("all are there");
        let off = (got.0 - re).abs().max((got.1 - im).abs());
        assert!(
            off < tolerance * scale,
            "{dims:?} {k:?}: {got:?} for {:?}",
            (re, im)
        );
    }
    for (at, (got, value)) in back.iter().zip(&view).enumerate() {
        assert!((wide(*got) - value).abs() < tolerance, "{dims:?} {at}");
    }
}

const SHAPES: &[&[usize]] = &[
    &[1],
    &[2],
    &[3],
    &[4],
    &[5],
    &[8],
    &[17],
    &[30],
    &[37],
    &[1, 1],
    &[2, 2],
    &[1, 7],
    &[2, 1, 3],
    &[8, 8],
    &[4, 5, 6],
    &[3, 2, 4, 2],
    &[7],
    &[2, 2, 2, 4, 3],
    &[7, 7, 7],
    &[3, 5],
    &[5, 3, 3],
    &[16, 4, 2],
    &[4, 1, 32],
    &[28, 8, 4],
    &[2, 2, 2, 2, 2, 2, 2, 2, 2],
    &[13, 6],
    &[11, 22],
    &[9, 10],
    &[12, 14],
    &[15, 20],
    &[24, 5],
    &[25, 4],
    &[64, 3],
    &[3, 128],
    &[35, 3],
    &[10, 19, 2],
    &[6, 6, 6],
];

#[test]
fn equals_the_sum_that_defines_it() {
    for dims in SHAPES {
        compare::<f64>(dims, 1e-12, |value| value, |value| value);
        compare::<f32>(dims, 1e-5, |value| value as f32, f64::from);
    }
}
