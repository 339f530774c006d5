//! The transforms compared with their defining sum.

use crate::common::{by_axis, digits, naive, noise};
use perf_spectral::{Real, Transform};

/// Returns the view of a shape for the comparisons.
fn view(dims: &[usize]) -> Vec<f64> {
    noise(dims.iter().product(), 7)
}

/// Checks that forward and inverse are inverse to each other, and that each of these cells has its
/// defining sum.
fn compare<T: Real>(
    dims: &[usize],
    tolerance: f64,
    of: fn(f64) -> T,
    wide: fn(T) -> f64,
    sums: &[(usize, (f64, f64))],
) {
    let view = view(dims);
    let plan = Transform::<T>::new(dims).expect("a shape");
    let typed: Vec<T> = view.iter().map(|value| of(*value)).collect();
    let (mut spectrum, mut back) = (typed.clone(), typed.clone());
    let mut scratch = plan.scratch();
    // Runs twice, to test that a used workspace gives the same result.
    for _ in 0..2 {
        plan.forward(&typed, &mut spectrum, &mut scratch)
            .expect("lengths");
        plan.inverse(&spectrum, &mut back, &mut scratch)
            .expect("lengths");
    }
    let scale = (view.len() as f64).sqrt();
    for (cell, (re, im)) in sums {
        let k: Vec<i32> = digits(*cell, dims).iter().map(|at| *at as i32).collect();
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

/// Compares in both precisions; `sums` holds the sums of some cells.
fn compare_both(dims: &[usize], sums: &[(usize, (f64, f64))]) {
    compare::<f64>(dims, 1e-12, |value| value, |value| value, sums);
    compare::<f32>(dims, 1e-5, |value| value as f32, f64::from, sums);
}

/// Returns the sums of all cells.
fn all_sums(dims: &[usize]) -> Vec<(usize, (f64, f64))> {
    let view = view(dims);
    let sums = if view.len() > 5000 { by_axis } else { naive };
    sums(&view, dims).into_iter().enumerate().collect()
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
    &[48],
    &[100],
    &[343],
    &[48, 5],
    &[7, 49],
    &[5, 7, 9],
    &[3, 1, 5, 7],
    &[21, 11],
    &[9, 2, 13],
    &[26, 22],
    &[17, 19],
    &[23, 29],
    // Prime factors without their own vector kernels, alone and with others on either side.
    &[131],
    &[3, 262],
    &[393, 4],
    &[5, 137, 2],
    // Full and partial tiles, for each split into outer and inner points.
    &[16, 16, 4],
    &[8, 16, 6],
    &[4, 4, 4, 4, 4],
    &[10, 12, 8],
];

#[test]
fn equals_the_sum_that_defines_it() {
    for dims in SHAPES {
        compare_both(dims, &all_sums(dims));
    }
}

/// Shapes so large that tiles are processed in groups, slots are padded, and lines are split to fit
/// a cache.
#[test]
fn large_views_equal_the_sum_that_defines_them() {
    let shapes: [&[usize]; 6] = [
        // Nine and eighteen tiles for each slot: groups would reach into the next one.
        &[10, 8, 9, 8, 9, 5],
        &[10, 16, 9, 16, 9],
        &[32, 32, 64],
        &[4, 4, 4, 8, 2, 16, 4],
        &[28, 8, 8, 2, 16, 4],
        &[12, 31, 24, 11],
    ];
    for dims in shapes {
        compare_both(dims, &all_sums(dims));
    }
    let few: Vec<f64> = noise(210, 3);
    for (one, two) in naive(&few, &[5, 6, 7])
        .iter()
        .zip(by_axis(&few, &[5, 6, 7]))
    {
        assert!((one.0 - two.0).abs() + (one.1 - two.1).abs() < 1e-11);
    }
}

/// Views that are larger than the caches, whose values are requested before they are read: with
/// whole tiles, with an odd number of inner points, and with more samples than are requested.
#[test]
fn views_larger_than_caches_equal_the_sum_that_defines_them() {
    let shapes: [&[usize]; 3] = [
        &[28, 8, 8, 8, 2, 16, 4],
        &[28, 9, 7, 32, 32],
        &[192, 16, 8, 64],
    ];
    for dims in shapes {
        let sums: Vec<_> = all_sums(dims).into_iter().step_by(97).collect();
        compare_both(dims, &sums);
    }
}

/// Lines that are read and processed in pieces; some frequencies of each.
#[test]
fn long_lines_equal_the_sum_that_defines_them() {
    let sum = |view: &[f64], dims: &[usize], k: &[usize]| {
        let terms = view.iter().enumerate().map(|(at, value)| {
            let axes = digits(at, dims).into_iter().zip(k).zip(dims);
            let turns = axes.map(|((x, k), len)| (x * k % len) as f64 / *len as f64);
            let (sin, cos) = (std::f64::consts::TAU * turns.sum::<f64>()).sin_cos();
            (value * cos, -value * sin)
        });
        terms.fold((0.0, 0.0), |sum, term| (sum.0 + term.0, sum.1 + term.1))
    };
    let shapes: [&[usize]; 5] = [
        // Factors 11, 7, 5, 3 and 8.
        &[18_480],
        // Factors 127, 8 and twice 4; the first is processed in parts.
        &[32_512],
        &[9_240, 3],
        &[3, 16_384],
        // Samples of many lines are interleaved.
        &[8_194, 8],
    ];
    for dims in shapes {
        let view = view(dims);
        let last = view.len() - 1;
        let cells = (0..last).step_by(last / 61).chain([view.len() / 2, last]);
        let sums: Vec<_> = cells
            .map(|cell| (cell, sum(&view, dims, &digits(cell, dims))))
            .collect();
        compare_both(dims, &sums);
    }
}

#[test]
fn spectra_take_no_more_than_views() {
    // Table 1: size of the raw data, and of 2^n further values for each view. This crate adds none.
    let nekbone: &[usize] = &[28, 8, 8, 8, 2, 16, 4];
    let psopen: &[usize] = &[4, 4, 4, 8, 2, 16, 4];
    let sweep: &[usize] = &[32, 32, 64];
    let gib = f64::from(1 << 30);
    for (dims, views, raw, overhead) in [
        (nekbone, 624usize, 8.531, 638_976usize),
        (psopen, 2031, 0.992, 2_079_744),
        (sweep, 850, 0.415, 54_400),
    ] {
        let points: usize = dims.iter().product();
        assert!(((views * points * 8) as f64 / gib - raw).abs() < 1e-3);
        assert_eq!(views * (1 << dims.len()) * 8, overhead);
        assert_eq!(Transform::<f64>::new(dims).expect("a shape").len(), points);
    }
}

#[test]
fn lengths_and_shapes_are_checked() {
    assert!(Transform::<f64>::new(&[]).is_err());
    assert!(Transform::<f64>::new(&[4, 0]).is_err());
    assert!(Transform::<f64>::new(&[1 << 20, 1 << 20]).is_err());
    assert!(Transform::<f64>::new(&[1; 17]).is_err());
    let plan = Transform::<f64>::new(&[4]).expect("a shape");
    let mut scratch = plan.scratch();
    assert!(
        plan.forward(&[0.0; 3], &mut [0.0; 4], &mut scratch)
            .is_err()
    );
    assert!(
        plan.inverse(&[0.0; 4], &mut [0.0; 5], &mut scratch)
            .is_err()
    );
    assert_eq!(plan.coefficient(&[0.0; 4], &[0, 0]), None);
}

#[test]
fn plans_can_be_shared() {
    fn shared<T: Send + Sync + Unpin>() {}
    shared::<Transform<f64>>();
    shared::<perf_spectral::Spectra<f32>>();
    shared::<perf_spectral::Reference<f32>>();
    shared::<perf_spectral::Error>();
}

#[test]
fn magnitudes_of_fig_1_are_7_and_3() {
    let p = [6.5, 3.5, 0.5, 3.5, 6.5, 3.5, 0.5, 3.5];
    let e = [1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0];
    let view: Vec<f64> = p
        .iter()
        .flat_map(|p| e.iter().map(move |e| p * e))
        .collect();
    let plan = Transform::<f64>::new(&[8, 8]).expect("a shape");
    let mut spectrum = vec![0.0; 64];
    plan.forward(&view, &mut spectrum, &mut plan.scratch())
        .expect("lengths");
    let mut found: Vec<i64> = Vec::new();
    for value in plan.magnitudes(&spectrum) {
        let scaled = 4.0 * value / 64.0;
        assert!((scaled - scaled.round()).abs() < 1e-12);
        found.push(scaled.round() as i64);
    }
    found.retain(|value| *value != 0);
    found.sort_unstable();
    found.dedup();
    assert_eq!(found, [3, 7]);
}
