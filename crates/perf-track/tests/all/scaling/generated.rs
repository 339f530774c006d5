//! Models of known functions with noise.

use perf_core::Job;
use perf_testdata::xorshift::Xorshift;
use perf_track::scaling::{Form, Measurements, ScalingModel};
use proptest::prelude::*;

/// Returns a value of the normal distribution, by the method of Box and Muller.
fn normal(random: &mut Xorshift) -> f64 {
    let mut uniform = || (random.below(1 << 52) + 1) as f64 / (1_u64 << 52) as f64;
    let (radius, angle) = (uniform(), uniform());
    (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}

/// Returns values of a function with relative noise of a normal distribution.
fn noisy(
    names: &[&str],
    scales: &[Vec<f64>],
    noise: f64,
    seed: u64,
    of: impl Fn(&[f64]) -> f64,
) -> Measurements {
    let mut random = Xorshift::new(seed);
    let mut data = Measurements::new(names.iter().copied());
    for scale in scales {
        let value = of(scale) * (noise * normal(&mut random)).exp();
        data.push(scale, value).expect("positive");
    }
    data
}

fn fit(data: &Measurements) -> ScalingModel {
    let model = ScalingModel::fit(data, 0.95, &Job::default());
    model.expect("a level").expect("several scales")
}

fn single(values: &[f64]) -> Vec<Vec<f64>> {
    values.iter().map(|value| vec![*value]).collect()
}

#[test]
fn two_scales_have_no_interval_and_one_no_model() {
    let of = |points: &[(f64, f64)], level: f64| {
        let mut data = Measurements::new(["tasks"]);
        for (tasks, value) in points {
            data.push(&[*tasks], *value).expect("positive");
        }
        ScalingModel::fit(&data, level, &Job::default())
    };
    let law = of(&[(2.0, 8.0), (4.0, 4.0)], 0.95)
        .expect("a level")
        .expect("two");
    let next = law.predict(&[8.0]).expect("one parameter");
    assert_eq!(
        (law.exponent_interval(0), next.interval, law.free),
        (None, None, 0)
    );
    assert!((next.value - 2.0).abs() < 1e-12);
    let needed = |factor: f64| law.scales_needed(&[8.0], factor);
    assert_eq!(needed(2.0).expect("a factor"), Some(1));
    assert!(needed(0.9).is_err() && law.scales_needed(&[8.0, 1.0], 2.0).is_err());
    for points in [
        &[(2.0, 8.0)][..],
        &[(2.0, 8.0), (2.0, 4.0)],
        &[(2.0, 0.0), (4.0, 1.0)],
        &[],
    ] {
        assert_eq!(of(points, 0.95).expect("a level"), None);
    }
    assert!(of(&[(2.0, 8.0), (4.0, 4.0)], 1.0).is_err());
    assert!(law.predict(&[0.0]).is_err() && law.predict(&[1.0, 2.0]).is_err());
}

#[test]
fn intervals_are_those_of_printed_tables() {
    for (level, points, expected) in [
        (0.95, 3, 12.706_2),
        (0.95, 4, 4.302_65),
        (0.95, 12, 2.228_14),
        (0.95, 102, 1.983_97),
        (0.99, 5, 5.840_91),
        (0.90, 7, 2.015_05),
        (0.50, 3, 1.0),
    ] {
        let mut data = Measurements::new(["tasks"]);
        for tasks in 1..=points {
            let value = if tasks % 2 == 0 { 1.0 } else { 2.0 };
            data.push(&[tasks as f64], value).expect("positive");
        }
        let law = ScalingModel::power_law(&data, level)
            .expect("a level")
            .expect("points");
        let (low, high) = law.exponent_interval(0).expect("more than two points");
        // The standard error of the slope by the textbook formula.
        let logs: Vec<(f64, f64)> = (1..=points)
            .map(|tasks| {
                (
                    (tasks as f64).ln(),
                    if tasks % 2 == 0 { 0.0 } else { 2.0_f64.ln() },
                )
            })
            .collect();
        let n = points as f64;
        let (mx, my) = (
            logs.iter().map(|p| p.0).sum::<f64>() / n,
            logs.iter().map(|p| p.1).sum::<f64>() / n,
        );
        let sxx: f64 = logs.iter().map(|p| (p.0 - mx).powi(2)).sum();
        let b = logs.iter().map(|p| (p.0 - mx) * (p.1 - my)).sum::<f64>() / sxx;
        let rest: f64 = logs
            .iter()
            .map(|p| (p.1 - my - b * (p.0 - mx)).powi(2))
            .sum();
        let t = 0.5 * (high - low) / (rest / (n - 2.0) / sxx).sqrt();
        assert!((t / expected - 1.0).abs() < 3e-6, "{level} {points}: {t}");
    }
}

#[test]
fn known_functions_are_found_without_noise() {
    let scales = single(&[2.0, 4.0, 8.0, 16.0, 32.0, 64.0]);
    let log = fit(&noisy(&["p"], &scales, 0.0, 1, |p| 0.5 * p[0].log2()));
    assert_eq!(log.to_string(), "0.5 * log2(p)");
    let sort = fit(&noisy(&["n"], &scales, 0.0, 1, |n| {
        3e-6 * n[0] * n[0].log2()
    }));
    assert_eq!(sort.to_string(), "3e-6 * n * log2(n)");
    let sum = fit(&noisy(&["p"], &scales, 0.0, 1, |p| {
        10.0 + 0.25 * p[0].powf(1.5)
    }));
    assert_eq!(sum.to_string(), "10 + 0.25 * p^(3/2)");
    let law = fit(&noisy(&["p"], &scales, 0.0, 1, |p| 7.0 * p[0].powf(-0.87)));
    assert_eq!(
        (law.form, law.to_string().as_str()),
        (Form::PowerLaw, "7 * p^-0.87")
    );
    let flat = fit(&noisy(&["p"], &scales, 0.0, 1, |_| 7.0));
    assert_eq!((flat.form, flat.exponent(0)), (Form::Constant, 0.0));
    let mut grid = Vec::new();
    for p in [8.0, 27.0, 64.0, 125.0] {
        grid.extend([10.0, 20.0, 30.0, 40.0].map(|size| vec![p, size]));
    }
    let two = fit(&noisy(&["p", "size"], &grid, 0.0, 1, |at| {
        1e-6 * at[1].powi(3) + 0.02 * at[0].log2()
    }));
    assert_eq!(two.to_string(), "0.02 * log2(p) + 1e-6 * size^3");
}

#[test]
fn noise_does_not_add_terms_and_intervals_hold() {
    type Function = fn(&[f64]) -> f64;
    let functions: [(&str, Function); 4] = [
        ("constant", |_| 3.0),
        ("power law", |p| 5.0 * p[0].powf(-0.9)),
        ("logarithm", |p| 2.0 * p[0].log2()),
        ("sum", |p| 1.0 + 0.05 * p[0]),
    ];
    let scales = single(&[4.0, 8.0, 16.0, 32.0, 64.0, 128.0]);
    for (name, function) in functions {
        let (mut held, mut extra, runs) = (0, 0, 100);
        for seed in 1..=runs {
            let model = fit(&noisy(&["p"], &scales, 0.03, seed, function));
            extra += usize::from(name == "constant" && model.form == Form::NormalForm);
            let mut random = Xorshift::new(seed + 1_000);
            let value = function(&[256.0]) * (0.03 * normal(&mut random)).exp();
            let interval = model.predict(&[256.0]).expect("positive").interval;
            let (low, high) = interval.expect("degrees of freedom");
            held += usize::from(low <= value && value <= high);
        }
        println!("{name}: {held} of {runs} intervals at twice the scale hold, {extra} extra terms");
        assert!(held >= 90, "{name}: {held} of {runs}");
        assert!(extra <= 10, "{name}: {extra} of {runs}");
    }
}

#[test]
fn cancelled_selection_stops() {
    let job = Job::default();
    job.cancel();
    let data = noisy(&["p"], &single(&[1.0, 2.0, 4.0, 8.0]), 0.1, 3, |p| p[0]);
    assert!(ScalingModel::fit(&data, 0.95, &job).is_err());
}

proptest! {
    #[test]
    fn power_laws_equal_the_normal_equations(
        logs in prop::collection::vec((0.0f64..8.0, -3.0f64..3.0), 3..12),
    ) {
        let mut data = Measurements::new(["p"]);
        for (x, y) in &logs {
            data.push(&[x.exp()], y.exp()).expect("positive");
        }
        let law = ScalingModel::power_law(&data, 0.9).expect("a level");
        // Textbook formulas: b = (n Sxy - Sx Sy) / (n Sxx - Sx^2), its error from the residuals.
        let n = logs.len() as f64;
        let sum = |of: &dyn Fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>();
        let (sx, sy) = (sum(&|p| p.0), sum(&|p| p.1));
        let (sxx, sxy) = (sum(&|p| p.0 * p.0), sum(&|p| p.0 * p.1));
        let below = n * sxx - sx * sx;
        prop_assume!(below > 1e-3);
        let law = law.expect("points that differ");
        let b = (n * sxy - sx * sy) / below;
        let a = (sy - b * sx) / n;
        prop_assert!((law.exponent(0) - b).abs() < 1e-6 * (1.0 + b.abs()));
        prop_assert!((law.terms[0].coefficient.ln() - a).abs() < 1e-6 * (1.0 + a.abs()));
        let rest = sum(&|p| (p.1 - a - b * p.0).powi(2)) / (n - 2.0);
        let error = (rest * n / below).sqrt();
        let (low, high) = law.exponent_interval(0).expect("three or more");
        let t = (high - low) / 2.0 / error;
        // Student's t at 90 %: 6.31 for one degree of freedom, 1.645 for infinitely many.
        prop_assert!(t > 1.64 && t < 6.32, "{}", t);
    }
}
