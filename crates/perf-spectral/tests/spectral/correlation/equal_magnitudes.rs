//! Reported value if magnitudes are equal up to noise.

use crate::common::{digits, noise};
use perf_core::Job;
use perf_spectral::{AxisFilter, Correlation, NullParams, RankParams, Real, Score, Spectra};
use proptest::prelude::*;
use std::f64::consts::TAU;

fn correlate<T: Real>(dims: &[usize], views: &[Vec<f64>], f: &[f64]) -> Correlation {
    let mut builder = Spectra::<T>::builder(dims).expect("a shape");
    builder
        .extend(views, &Job::default())
        .expect("finite views");
    let spectra = builder.finish();
    let filter = AxisFilter::new(f).expect("weights");
    match spectra
        .reference(0, &filter, &Job::default())
        .expect("a view")
    {
        Some(reference) => spectra
            .correlate(&reference, 1, &Job::default())
            .expect("a view"),
        None => Correlation::default(),
    }
}

/// Returns the first harmonic along the first axis, `shift` cells further, with a fraction of
/// noise.
fn wave(dims: &[usize], amplitude: f64, shift: usize, share: f64, seed: u64) -> Vec<f64> {
    let noise = noise(dims.iter().product(), seed);
    let cells = noise.iter().enumerate();
    cells
        .map(|(cell, noise)| {
            let at = digits(cell, dims)[0] as f64 - shift as f64;
            amplitude * ((TAU * (at / dims[0] as f64 + 0.1)).cos() + share * noise)
        })
        .collect()
}

/// Returns filters that pass one axis and all axes.
fn filters(axes: usize) -> [Vec<f64>; 2] {
    let mut one = vec![0.0; axes];
    one[0] = 1.0;
    [one, vec![1.0; axes]]
}

#[test]
fn a_wave_with_noise_keeps_its_sign_and_has_no_shift() {
    let mut misled = 0;
    for seed in 0..20 {
        for dims in [&[8][..], &[2], &[6, 5], &[4, 4, 4], &[2, 2, 2], &[16, 4, 2]] {
            for (sign, f) in [1.0, -1.0]
                .into_iter()
                .flat_map(|sign| filters(dims.len()).into_iter().map(move |f| (sign, f)))
            {
                let views = [
                    wave(dims, 3.0, 0, 0.01, 2 * seed),
                    wave(dims, sign * 0.2, 0, 0.01, 2 * seed + 1),
                ];
                let checks = [
                    correlate::<f64>(dims, &views, &f),
                    correlate::<f32>(dims, &views, &f),
                ];
                for found in checks {
                    assert_eq!(
                        found.best().at,
                        0,
                        "{seed} {dims:?} {sign} {f:?}: {found:?}"
                    );
                    assert_eq!(found.best().r, found.zero);
                    assert!(found.zero * sign > 0.99);
                    misled += usize::from(found.strict().r * sign < 0.0);
                }
            }
        }
    }
    assert!(
        misled > 0,
        "noise decides none of these, which shows nothing"
    );
}

#[test]
fn a_shifted_wave_with_noise_has_its_shift_along_its_axis_alone() {
    for seed in 0..20 {
        for dims in [&[8][..], &[8, 4, 4], &[12, 3]] {
            for (sign, f) in [(1.0, 0), (-1.0, 0), (1.0, 1), (-1.0, 1)] {
                let views = [
                    wave(dims, 1.0, 0, 0.01, 2 * seed),
                    wave(dims, sign, 1, 0.01, 2 * seed + 1),
                ];
                let found = correlate::<f64>(dims, &views, &filters(dims.len())[f]);
                let below: usize = dims[1..].iter().product();
                assert_eq!(found.best().at, below, "{seed} {dims:?} {sign}: {found:?}");
                assert!(found.best().r * sign > 0.99);
            }
        }
    }
}

/// Harmonics repeat along their axis, as do combs (nodes of several ranks). Noise makes one of the
/// repetitions the largest, and the nearest is reported.
#[test]
fn the_nearest_repetition_of_a_periodic_pattern_is_reported() {
    let mut misled = 0;
    for seed in 0..20 {
        for (dims, harmonic, shift) in [
            (&[16][..], 2.0, 1),
            (&[16, 4], 2.0, 1),
            (&[12, 4, 4], 2.0, 1),
            (&[64], 4.0, 2),
            (&[64], 0.0, 1),
        ] {
            let below: usize = dims[1..].iter().product();
            let view = |shift: usize, seed: u64| -> Vec<f64> {
                let noise = noise(dims.iter().product(), seed);
                let value = |cell: usize| {
                    if harmonic > 0.0 {
                        (TAU * harmonic * (cell as f64 - shift as f64) / dims[0] as f64).cos()
                    } else {
                        // Every eighth cell.
                        f64::from(u8::from((cell + dims[0] - shift).is_multiple_of(8)))
                    }
                };
                let cells = noise.iter().enumerate();
                cells
                    .map(|(cell, noise)| value(digits(cell, dims)[0]) + 0.01 * noise)
                    .collect()
            };
            let views = [view(0, 2 * seed), view(shift, 2 * seed + 1)];
            let found = correlate::<f64>(dims, &views, &filters(dims.len())[1]);
            let best = found.best();
            assert_eq!(best.at, shift * below, "{seed} {dims:?}: {found:?}");
            assert!(best.r > 0.98, "{seed} {dims:?}: {found:?}");
            misled += usize::from(found.max.at != best.at);
        }
    }
    assert!(misled > 0, "noise moves none of the maxima");
}

#[test]
fn a_shift_that_raises_the_magnitude_is_reported() {
    // One cell of 32 reduces a wave by 2 %, and one of 64 by half a percent.
    for (len, at) in [(32, 1), (64, 0)] {
        let views = [wave(&[len], 1.0, 0, 0.0, 0), wave(&[len], 1.0, 1, 0.0, 0)];
        let found = correlate::<f64>(&[len], &views, &[1.0]);
        assert_eq!((found.best().at, found.max.at), (at, 1));
    }
}

/// Two waves, one of them inverted: maximum and minimum are equal and equally far away, so the
/// unshifted value decides the sign.
#[test]
fn equal_shifts_keep_the_sign_of_the_unshifted_value() {
    let dims = &[4, 4];
    for (weak, sign) in [(0.3, 1.0), (0.3, -1.0)] {
        for seed in 0..20 {
            let view = |strong: f64, weak: f64, seed: u64| -> Vec<f64> {
                let noise = noise(16, seed);
                let cells = noise.iter().enumerate();
                let wave = |at: usize| (TAU * at as f64 / 4.0).cos();
                cells
                    .map(|(cell, noise)| {
                        strong * wave(cell % 4) + weak * wave(cell / 4) + 0.002 * noise
                    })
                    .collect()
            };
            let views = [
                view(1.0, weak, 2 * seed),
                view(sign, -sign * weak, 2 * seed + 1),
            ];
            let found = correlate::<f64>(dims, &views, &[1.0, 1.0]);
            assert!(found.best().r * sign > 0.99, "{seed} {sign}: {found:?}");
            assert!(
                found.zero * sign > 0.5 && found.best().norm == 4,
                "{found:?}"
            );
        }
    }
}

#[test]
fn the_tolerance_is_an_option() {
    let dims = &[4, 4, 4];
    for seed in 0..20 {
        let views = [
            wave(dims, 1.0, 0, 0.01, 2 * seed),
            wave(dims, 1.0, 0, 0.01, 2 * seed + 1),
        ];
        let mut builder = Spectra::<f64>::builder(dims).expect("a shape");
        builder
            .extend(&views, &Job::default())
            .expect("finite views");
        let spectra = builder.finish();
        let filter = AxisFilter::new(&[1.0, 0.0, 0.0]).expect("weights");
        let peak = |params: RankParams| {
            let params = params.check().expect("in range");
            let list = spectra
                .rank(0, &filter, &params, &Job::default())
                .expect("a view");
            (list.matches[0].peak, list.matches[0].correlation)
        };
        let (found, of) = peak(RankParams::default().tolerance(0.0));
        assert_eq!(found, of.strict());
        assert_eq!(peak(RankParams::default()).0.at, 0);
        // The score of the paper is reported without tolerance.
        let (found, of) = peak(RankParams::default().score(Score::Paper));
        assert_eq!(found, of.max);
    }
    for share in [-0.1, 1.0, f64::NAN] {
        assert!(RankParams::default().tolerance(share).check().is_err());
        assert!(NullParams::default().tolerance(share).check().is_err());
    }
}

#[test]
fn filtered_fields_correlate_as_reported() {
    let (dims, f) = ([4, 6, 3], [1.0, 0.25, 0.0]);
    let views = [
        noise(72, 1),
        noise(72, 2).iter().map(|v| 1e6 * v + 1e7).collect(),
    ];
    let mut builder = Spectra::<f64>::builder(&dims).expect("a shape");
    builder
        .extend(&views, &Job::default())
        .expect("finite views");
    builder
        .extend(&[vec![3.0; 72]], &Job::default())
        .expect("finite views");
    let spectra = builder.finish();
    let filter = AxisFilter::new(&f).expect("weights");
    let fields = [0, 1].map(|view| spectra.filtered(view, &filter).expect("a view"));
    for (view, field) in views.iter().zip(&fields) {
        let defined = crate::common::filtered(view, &dims, &f);
        let most = defined.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
        let mut pairs = field.iter().zip(&defined);
        assert!(pairs.all(|(a, b)| (a - b).abs() < 1e-9 * most));
    }
    let zero = correlate::<f64>(&dims, &views, &f).zero;
    assert!((crate::common::pearson(&fields[0], &fields[1]) - zero).abs() < 1e-9);
    assert_eq!(spectra.filtered(2, &filter).expect("a view"), vec![0.0; 72]);
    // Rounding errors do not make a field.
    let nothing = spectra.filtered(0, &AxisFilter::new(&[0.0; 3]).expect("weights"));
    assert_eq!(nothing.expect("a view"), vec![0.0; 72]);
    assert!(spectra.filtered(3, &filter).is_err());
    assert!(spectra.filtered(0, &AxisFilter::all(2)).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_view_is_itself_and_the_opposite_of_its_inverse(
        dims in prop::collection::vec(1usize..9, 1..4), seed in 0u64..1000, weight in 0.01f64..=1.0,
    ) {
        let view = noise(dims.iter().product(), seed);
        prop_assume!(dims[0] > 1);
        let mut f = vec![0.0; dims.len()];
        f[0] = weight;
        let inverse: Vec<f64> = view.iter().map(|v| 1.0 - 2.0 * v).collect();
        for (other, r) in [(view.clone(), 1.0), (inverse, -1.0)] {
            let found = correlate::<f64>(&dims, &[view.clone(), other], &f).best();
            prop_assert!(found.at == 0 && (found.r - r).abs() < 1e-9, "{:?}", found);
        }
    }

    #[test]
    fn the_unshifted_value_is_reported_wherever_it_is_equal(
        dims in prop::collection::vec(1usize..9, 1..4), seed in 0u64..1000, noisy in 0.0f64..0.3, down: bool,
    ) {
        prop_assume!(dims[0] > 1);
        let amplitude = if down { -1.0 } else { 1.0 };
        let views = [wave(&dims, 1.0, 0, noisy, seed), wave(&dims, amplitude, 0, noisy, seed + 1)];
        for f in filters(dims.len()) {
            let found = correlate::<f64>(&dims, &views, &f);
            let (best, strict) = (found.best(), found.strict());
            prop_assert!(best.r.abs() >= 0.99 * strict.r.abs() - 1e-9 && best.norm <= strict.norm);
            prop_assert!(best.r.abs() >= found.zero.abs());
            if found.zero.abs() >= 0.99 * strict.r.abs() {
                prop_assert!(best.at == 0 && best.r == found.zero, "{:?}", found);
            }
        }
    }
}
