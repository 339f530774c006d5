//! Correlations compared with their defining sums, and the properties stated in section 2.

use crate::common::{self, correlation, digits, noise, pearson};
use perf_core::Job;
use perf_spectral::{
    AxisFilter, Band, Both, Correlation, Error, Filter, Frequencies, Harmonics, RankParams, Real,
    Spectra, TOLERANCE, Transform, Wave, Without,
};
use proptest::prelude::*;

fn spectra<T: Real>(dims: &[usize], views: &[Vec<f64>]) -> Spectra<T> {
    let mut builder = Spectra::<T>::builder(dims).expect("a shape");
    builder
        .extend(views, &Job::default())
        .expect("finite views");
    builder.finish()
}

fn correlate<T: Real>(
    dims: &[usize],
    views: &[Vec<f64>],
    filter: &dyn Filter,
) -> (Correlation, f64) {
    let spectra = spectra::<T>(dims, views);
    match spectra
        .reference(0, filter, &Job::default())
        .expect("a view")
    {
        Some(reference) => (
            spectra
                .correlate(&reference, 1, &Job::default())
                .expect("a view"),
            spectra
                .bound(&reference, 1, &Job::default())
                .expect("a view")
                .most,
        ),
        None => (Correlation::default(), 0.0),
    }
}

fn filters(n: usize) -> Vec<Vec<f64>> {
    let mut all = vec![vec![1.0; n], vec![0.5; n]];
    for axis in 0..n {
        let mut one = vec![0.0; n];
        one[axis] = 1.0;
        all.push(one);
    }
    all.push((0..n).map(|axis| 1.0 / (axis + 1) as f64).collect());
    all
}

fn equals_naive(dims: &[usize], seed: u64) {
    let count = dims.iter().product();
    let views = [noise(count, seed), noise(count, seed + 1)];
    for f in filters(dims.len()) {
        let varies = f.iter().zip(dims).any(|(f, len)| *f > 0.0 && *len > 1);
        let filter = AxisFilter::new(&f).expect("weights");
        let (found, bound) = correlate::<f64>(dims, &views, &filter);
        let (single, _) = correlate::<f32>(dims, &views, &filter);
        if !varies {
            assert_eq!(found, Correlation::default(), "{dims:?} {f:?}");
            continue;
        }
        let all = correlation(&views[0], &views[1], dims, &f);
        let high = all.iter().copied().fold(f64::MIN, f64::max);
        let low = all.iter().copied().fold(f64::MAX, f64::min);
        assert!(
            (found.max.r - high).abs() < 2e-9,
            "{dims:?} {f:?}: {found:?}, not {high}"
        );
        assert!(
            (found.min.r - low).abs() < 2e-9,
            "{dims:?} {f:?}: {found:?}, not {low}"
        );
        assert!((found.zero - all[0]).abs() < 1e-10, "{dims:?} {f:?}");
        assert!((all[found.max.at] - high).abs() < 2e-9, "{dims:?} {f:?}");
        assert!((all[found.min.at] - low).abs() < 2e-9, "{dims:?} {f:?}");
        assert!((single.max.r - high).abs() < 1e-5, "{dims:?} {f:?}");
        assert!((single.min.r - low).abs() < 1e-5, "{dims:?} {f:?}");
        // Among equal values the smallest shift, then the lowest cell.
        let norm = |cell: usize| -> usize {
            let shift = digits(cell, dims);
            let pairs = shift.iter().zip(dims);
            pairs.map(|(s, d)| (*s).min(d - s).pow(2)).sum()
        };
        let near = (0..count).filter(|cell| all[*cell] > high - 1e-9);
        let first = near.min_by_key(|cell| (norm(*cell), *cell));
        assert_eq!(Some(found.max.at), first, "{dims:?} {f:?}");
        let (at, r) = common::reported(&all, dims, TOLERANCE);
        assert_eq!(found.best().at, at, "{dims:?} {f:?}: {found:?}");
        assert!((found.best().r - r).abs() < 2e-9, "{dims:?} {f:?}");
        // |Z| <= |r_f| <= max |R| <= U <= 1, and the shifts sum up to nothing.
        assert!(
            found.zero.abs() <= found.best().r.abs()
                && found.best().r.abs() <= high.max(-low) + 2e-9
        );
        assert!(found.strict().r.abs() <= bound + 1e-9 && bound <= 1.0);
        assert!(all.iter().sum::<f64>().abs() < 1e-8);
    }
}

#[test]
fn equals_the_sum_over_all_shifts() {
    let shapes: &[&[usize]] = &[
        &[8, 8],
        &[4, 5, 6],
        &[3, 2, 4, 2],
        &[7],
        &[2, 2, 2, 4, 3],
        &[2, 2],
        &[5, 3],
        &[1, 6],
        &[9],
        &[4, 1, 8],
        &[16, 4, 2],
        &[33],
        &[34],
        &[6, 11],
    ];
    for (seed, dims) in shapes.iter().enumerate() {
        equals_naive(dims, seed as u64);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn equals_the_sum_for_any_shape(dims in prop::collection::vec(1usize..7, 1..4), seed in 0u64..1000) {
        equals_naive(&dims, seed);
    }

    #[test]
    fn all_axes_without_shift_are_pearson(dims in prop::collection::vec(1usize..9, 1..4), seed in 0u64..1000) {
        let count = dims.iter().product();
        prop_assume!(count > 1);
        let views = [noise(count, seed), noise(count, seed + 7)];
        let (found, _) = correlate::<f64>(&dims, &views, &AxisFilter::all(dims.len()));
        prop_assert!((found.zero - pearson(&views[0], &views[1])).abs() < 1e-12);
    }

    #[test]
    fn a_shifted_view_is_found_where_it_is(dims in prop::collection::vec(2usize..9, 1..4), seed in 0u64..1000) {
        let count: usize = dims.iter().product();
        let a = noise(count, seed);
        let shift = digits(seed as usize % count, &dims);
        // b(x + shift) = a(x)
        let mut b = vec![0.0; count];
        for (cell, value) in a.iter().enumerate() {
            let x = digits(cell, &dims);
            let to = x.iter().zip(&shift).zip(&dims);
            b[to.fold(0, |cell, ((x, s), len)| cell * len + (x + s) % len)] = *value;
        }
        let built = spectra::<f64>(&dims, &[a, b]);
        let reference = built.reference(0, &AxisFilter::all(dims.len()), &Job::default()).expect("a view");
        let found = built.correlate(&reference.expect("it varies"), 1, &Job::default()).expect("a view");
        prop_assert!((found.max.r - 1.0).abs() < 1e-12);
        // Small grids may be equal to their own shift; the shift found is then as good.
        if count > 4 {
            prop_assert_eq!(built.plan().shift(found.max), shift);
        }
    }

    #[test]
    fn energies_give_the_power_under_any_filter(
        dims in prop::collection::vec(1usize..8, 1..5), seed in 0u64..1000, weight in 0.0f64..=1.0,
    ) {
        // Parseval: sum_x v~^2 = sum_k w |V|^2 / |T| = sum_i f_i E_i / |T|.
        let count: usize = dims.iter().product();
        let view = noise(count, seed);
        let mut f = vec![1.0; dims.len()];
        f[0] = weight;
        let built = spectra::<f64>(&dims, std::slice::from_ref(&view));
        let info = &built.views()[0];
        let energy: f64 = info.energies.iter().zip(&f).map(|(e, f)| e * f).sum();
        let direct: f64 = common::filtered(&view, &dims, &f).iter().map(|v| v * v).sum();
        let scaled = energy * info.scale * info.scale / count as f64;
        prop_assert!((scaled - direct).abs() <= 1e-9 * direct.max(1.0), "{} {}", scaled, direct);
    }
}

#[test]
fn weights_sum_up_to_1() {
    for dims in [
        &[8usize, 8][..],
        &[4, 5, 6],
        &[3, 2, 4, 2],
        &[7],
        &[2, 2, 2, 4, 3],
    ] {
        let n = dims.len();
        for cell in 1..dims.iter().product() {
            let k: Vec<i32> = digits(cell, dims)
                .iter()
                .zip(dims)
                .map(|(k, len)| common::signed(*k, *len) as i32)
                .collect();
            for unit in [Frequencies::Index, Frequencies::Physical] {
                let sum: f64 = (0..n)
                    .map(|axis| {
                        let mut f = vec![0.0; n];
                        f[axis] = 1.0;
                        let filter = AxisFilter::new(&f).expect("weights").frequencies(unit);
                        filter.weight(Wave { k: &k, dims })
                    })
                    .sum();
                assert!((sum - 1.0).abs() < 1e-15 * 4.0, "{dims:?} {k:?} {sum}");
            }
        }
        let zero = Wave {
            k: &vec![0; n],
            dims,
        };
        assert_eq!(AxisFilter::all(n).weight(zero), 0.0);
    }
}

#[test]
fn fig_1_of_the_paper() {
    let p = [6.5, 3.5, 0.5, 3.5, 6.5, 3.5, 0.5, 3.5];
    let e = [1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0];
    let view = |of: fn(f64, f64) -> f64| -> Vec<f64> {
        p.iter()
            .flat_map(|p| e.iter().map(move |e| of(*p, *e)))
            .collect()
    };
    let (v0, v1, v2) = (view(|p, e| p * e), view(|p, _| p), view(|_, e| e));
    let r = |other: &Vec<f64>, f: &[f64]| {
        let filter = AxisFilter::new(f).expect("weights");
        correlate::<f64>(&[8, 8], &[v0.clone(), other.clone()], &filter).0
    };
    assert!((r(&v1, &[1.0, 1.0]).zero - 0.4602).abs() < 5e-5);
    assert!((r(&v2, &[1.0, 1.0]).zero - 0.7593).abs() < 5e-5);
    assert!((r(&v1, &[1.0, 0.0]).best().r - 0.9129).abs() < 5e-5);
    assert_eq!(r(&v2, &[1.0, 0.0]).best().r, 0.0);
    assert_eq!(r(&v1, &[0.0, 1.0]).best().r, 0.0);
    assert!((r(&v2, &[0.0, 1.0]).best().r - 0.8791).abs() < 5e-5);
}

#[test]
fn an_inverse_is_found_and_ties_go_to_no_shift() {
    // One peak against its inverse: -1, whereas argmax R gives +0.143.
    let peak = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0].to_vec();
    let inverse: Vec<f64> = peak.iter().map(|v| -v).collect();
    let (found, _) = correlate::<f64>(&[8], &[peak, inverse], &AxisFilter::all(1));
    assert!((found.best().r + 1.0).abs() < 1e-12 && found.best().at == 0);
    assert!((found.max.r - 1.0 / 7.0).abs() < 1e-12);
    // A wave has -r without shift and +r at half a period.
    let wave: Vec<f64> = (0..8)
        .map(|x| (f64::from(x) * std::f64::consts::FRAC_PI_4).sin())
        .collect();
    let back: Vec<f64> = wave.iter().map(|v| -3.0 * v).collect();
    let (found, _) = correlate::<f64>(&[8], &[wave, back], &AxisFilter::all(1));
    assert_eq!((found.best().at, found.max.at), (0, 4));
    assert!((found.best().r + 1.0).abs() < 1e-12 && (found.max.r - 1.0).abs() < 1e-12);
    // On an axis of length 2 the tie is exact.
    let (found, _) = correlate::<f64>(&[2], &[vec![0.0, 1.0], vec![1.0, 0.0]], &AxisFilter::all(1));
    assert_eq!((found.best().r, found.best().at), (-1.0, 0));
}

#[test]
fn rounding_is_no_variation() {
    // Varies along the second axis alone, with values that are not exact binary fractions.
    let row: Vec<f64> = (0..30).map(|x| 0.1 + f64::from(x % 5) / 3.0).collect();
    let other = noise(30, 3);
    for views in [[row.clone(), other.clone()], [other, row]] {
        let first = AxisFilter::new(&[1.0, 0.0]).expect("weights");
        assert_eq!(
            correlate::<f64>(&[6, 5], &views, &first).0,
            Correlation::default()
        );
        assert_eq!(
            correlate::<f32>(&[6, 5], &views, &first).0,
            Correlation::default()
        );
    }
    let constant = spectra::<f64>(
        &[6],
        &[
            vec![0.1; 6],
            vec![1e300; 6],
            vec![-1e300, 1e300, 0.0, 0.0, 0.0, 1.0],
        ],
    );
    assert!(constant.views()[0].is_constant() && constant.views()[1].is_constant());
    assert!(!constant.views()[2].is_constant());
}

#[test]
fn filters_have_their_documented_weights() {
    let dims = &[8usize, 6];
    let weight = |filter: &dyn Filter, k: &[i32]| filter.weight(Wave { k, dims });
    let band = Band {
        axis: Some(0),
        low: 2.0,
        high: 3.0,
        unit: Frequencies::Index,
    };
    assert_eq!(
        [1, 2, -3, -4].map(|k| weight(&band, &[k, 0])),
        [0.0, 1.0, 1.0, 0.0]
    );
    let notch = Without(band.clone());
    assert_eq!(
        [1, 2, -3, -4].map(|k| weight(&notch, &[k, 0])),
        [1.0, 0.0, 0.0, 1.0]
    );
    let round = Band {
        axis: None,
        low: 0.0,
        high: 0.3,
        unit: Frequencies::Physical,
    };
    assert_eq!(
        [weight(&round, &[1, 1]), weight(&round, &[2, 2])],
        [1.0, 0.0]
    );
    let harmonics = Harmonics {
        k: vec![1, 2],
        count: 2,
    };
    let found = [[1, 2], [-1, -2], [2, -2], [-2, 2], [1, 1]].map(|k| weight(&harmonics, &k));
    assert_eq!(found, [1.0, 1.0, 1.0, 1.0, 0.0]);
    let both = Both(AxisFilter::new(&[1.0, 0.0]).expect("weights"), band);
    assert_eq!(weight(&both, &[2, 2]), 0.5);

    // The notch filter reveals a wave hidden below a stronger one.
    let wave = |k: f64, phase: f64| -> Vec<f64> {
        (0..48)
            .map(|cell| ((cell / 6) as f64 * k * std::f64::consts::FRAC_PI_4 + phase).sin())
            .collect()
    };
    let (strong, weak) = (wave(1.0, 0.0), wave(3.0, 0.5));
    let mixed: Vec<f64> = strong
        .iter()
        .zip(&weak)
        .map(|(s, w)| 10.0 * s + w)
        .collect();
    let known = Harmonics {
        k: vec![1, 0],
        count: 1,
    };
    let (all, _) = correlate::<f64>(dims, &[mixed.clone(), weak.clone()], &AxisFilter::all(2));
    let (rest, _) = correlate::<f64>(dims, &[mixed, weak], &Without(known));
    assert!(all.best().r.abs() < 0.2);
    assert!((rest.best().r - 1.0).abs() < 1e-9 && rest.best().at == 0);
}

/// References from other spectra are checked: one of another shape is rejected.
#[test]
fn references_of_other_shapes_are_refused() {
    let (dims, points) = ([4, 6], 24);
    let constant = vec![1.0; points];
    let built = spectra::<f64>(&dims, &[noise(points, 1), noise(points, 2), constant]);
    let params = RankParams::default().check().expect("in range");
    // Smaller, larger, of the same number of points in another order, and the same shape.
    let shapes = [
        &[4][..],
        &[4, 7],
        &[6, 4],
        &[2, 12],
        &[24],
        &[4, 6, 1],
        &dims,
    ];
    for shape in shapes {
        let plan = Transform::<f64>::new(shape).expect("a shape");
        let (all, view) = (AxisFilter::all(shape.len()), noise(plan.len(), 3));
        let mut spectrum = vec![0.0; plan.len()];
        plan.forward(&view, &mut spectrum, &mut plan.scratch())
            .expect("of the shape");
        let given = plan.reference(&spectrum, &all).expect("of the shape");
        let rank = |reference, plain, views: &[usize]| {
            built
                .rank_with(reference, plain, views, &params, &Job::default())
                .map(|_| ())
        };
        let mut found = vec![
            rank(Some(&given), None, &[]),
            rank(None, Some(&given), &[0, 1]),
        ];
        // View 2 does not vary.
        for view in 0..3 {
            found.push(built.correlate(&given, view, &Job::default()).map(|_| ()));
            found.push(built.bound(&given, view, &Job::default()).map(|_| ()));
            found.push(rank(Some(&given), Some(&given), &[view]));
        }
        for found in found {
            if shape == dims {
                assert!(found.is_ok(), "{found:?}")
            } else {
                assert!(
                    matches!(found, Err(Error::Length { .. })),
                    "{shape:?}: {found:?}"
                )
            }
        }
    }
}
