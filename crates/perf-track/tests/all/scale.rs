//! Points from bursts: compared with the corpus, and properties of shifts and ranges.

use crate::reference;

use perf_core::{Job, Nanos};
use perf_testdata::cancel::checks;
use perf_track::{Burst, Bursts, Dimension, Error, Kind, Scale, ScaleMode, Shift, Thread};
use proptest::prelude::*;

/// Returns consecutive bursts of one thread: duration in milliseconds and metrics.
fn bursts(names: &[&str], rows: &[(i64, Vec<f64>)]) -> Bursts {
    let mut bursts = Bursts::new(names.iter().copied());
    let thread = bursts.add_thread(Thread::default()).expect("it is valid");
    let mut at = 0;
    for (duration, values) in rows {
        let end = at + duration * 1_000_000;
        let (begin, end_at) = (Nanos(at), Nanos(end));
        bursts
            .push(
                Burst {
                    thread,
                    begin,
                    end: end_at,
                    ..Burst::default()
                },
                values,
            )
            .expect("it is valid");
        at = end;
    }
    bursts
}

fn one(values: &[f64]) -> Bursts {
    bursts(
        &["x"],
        &values.iter().map(|x| (1, vec![*x])).collect::<Vec<_>>(),
    )
}

fn log_x() -> Dimension {
    Dimension::new("x").log(true)
}

#[test]
fn ranges_of_each_experiment_are_those_of_the_corpus() {
    for name in ["e2", "e4", "e16"] {
        let Some(rows) = reference::data(name) else {
            return;
        };
        let mut experiment = Bursts::new(["PAPI_TOT_INS", "IPC"]);
        let thread = experiment.add_thread(Thread::default()).unwrap();
        for row in &rows {
            let (begin, end) = (Nanos(row.begin), Nanos(row.end));
            experiment
                .push(
                    Burst {
                        thread,
                        begin,
                        end,
                        ..Burst::default()
                    },
                    &row.raw,
                )
                .unwrap();
        }
        let scale = Scale::params()
            .mode(ScaleMode::PerExperiment)
            .dimension(Dimension::new("PAPI_TOT_INS").log(true))
            .dimension(Dimension::new("IPC"))
            .check()
            .unwrap();
        let scaled = scale.fit(&[&experiment], &Job::default()).unwrap();
        let points = scaled.experiments[0].points().unwrap();
        assert_eq!(points.len(), rows.len());
        for (point, row) in points.iter().zip(&rows) {
            for (own, theirs) in point.iter().zip(&row.normalised) {
                // Both columns are written with six digits.
                assert!((own - theirs).abs() < 1.5e-6, "{name}: {own} {theirs}");
            }
        }
    }
}

#[test]
fn a_joint_range_undoes_the_number_of_tasks() {
    let Some(experiments) = ["e2", "e4", "e16"]
        .map(reference::data)
        .into_iter()
        .collect::<Option<Vec<_>>>()
    else {
        return;
    };
    let experiments: Vec<Bursts> = experiments
        .iter()
        .map(|rows| {
            let rows = rows
                .iter()
                .map(|row| ((row.end - row.begin) / 1_000_000, row.raw.clone()));
            bursts(&["instructions", "ipc"], &rows.collect::<Vec<_>>())
        })
        .collect();
    let scale = Scale::params()
        .dimension(Dimension::new("instructions").log(true))
        .dimension(Dimension::new("ipc"))
        .check()
        .unwrap();
    let scaled = scale
        .fit(&experiments.iter().collect::<Vec<_>>(), &Job::default())
        .unwrap();
    let axes = scaled.transform.axes();
    // Instructions of the dominant bursts halve, and then fall to a quarter (to 1 in 4.2 on
    // average: there they form two clusters, of which one is smaller).
    let factors: Vec<f64> = axes[0]
        .experiments
        .iter()
        .map(|experiment| (-experiment.shift).exp())
        .collect();
    assert_eq!(factors[0], 1.0);
    assert!((factors[1] - 2.0).abs() < 0.04, "{factors:?}");
    assert!((factors[2] - 8.0).abs() < 0.4, "{factors:?}");
    assert!(
        axes[1]
            .experiments
            .iter()
            .all(|experiment| experiment.shift == 0.0)
    );
    assert!(
        axes[0]
            .experiments
            .iter()
            .all(|experiment| experiment.overlap >= experiment.overlap_unshifted)
    );
}

#[test]
fn one_outlier_moves_nothing() {
    let values: Vec<f64> = (0..1_000)
        .map(|i| 1e6 * (1.0 + f64::from(i % 10) / 10.0))
        .collect();
    let mut wild = values.clone();
    wild.push(1e15);
    let scale = Scale::params().dimension(log_x()).check().unwrap();
    let place = |experiment: &Bursts| {
        scale
            .fit(&[experiment], &Job::default())
            .unwrap()
            .experiments[0]
            .points()
            .unwrap()
            .values()[3]
    };
    let (plain, with) = (place(&one(&values)), place(&one(&wild)));
    assert!((plain - with).abs() < 1e-9, "{plain} {with}");
    // It is a point all the same, far out.
    let scaled = scale.fit(&[&one(&wild)], &Job::default()).unwrap();
    assert!(scaled.experiments[0].points().unwrap().values()[1_000] > 10.0);
}

#[test]
fn large_experiments_are_looked_at_often() {
    let value = |at: i32| 1.0 + f64::from(at.wrapping_mul(7_919) % 1_000).abs();
    let few: Vec<f64> = (0..140_000).map(value).collect();
    let many: Vec<f64> = few.iter().map(|x| 3.0 * x).collect();
    let experiments = [one(&few), one(&many)];
    let scale = Scale::params().dimension(log_x()).check().unwrap();
    let fit = |job: &Job| scale.fit(&[&experiments[0], &experiments[1]], job);
    let (found, checks) = checks("scale", fit);
    assert!((found.transform.axes()[0].experiments[1].shift - 3f64.ln()).abs() < 1e-2);
    // Two checks for each experiment in each of: values, density, sorting, means, range, positions;
    // and the overlaps.
    assert!(checks >= 190, "{checks} checks");
}

#[test]
fn no_logarithm_is_no_point() {
    let experiment = one(&[0.0, 10.0, -3.0, 1_000.0, f64::NAN, f64::INFINITY]);
    let scale = Scale::params()
        .dimension(log_x())
        .mode(ScaleMode::PerExperiment)
        .check()
        .unwrap();
    let scaled = scale.fit(&[&experiment], &Job::default()).unwrap();
    assert_eq!(scaled.experiments[0].rows(), [1, 3]);
    assert_eq!(scaled.experiments[0].points().unwrap().values(), [0.0, 1.0]);
    assert_eq!(scaled.experiments[0].left_out[0].bursts, 4);
    assert_eq!(scaled.experiments[0].left_out[0].time, Nanos(4_000_000));
    let labels = scaled.experiments[0]
        .spread(&["a", "b"], &experiment, "none")
        .unwrap();
    assert_eq!(labels, ["none", "a", "none", "b", "none", "none"]);
    assert!(
        scaled.experiments[0]
            .spread(&["a"], &experiment, "none")
            .is_err()
    );
}

#[test]
fn constant_axes_are_zero() {
    let rows: Vec<(i64, Vec<f64>)> = (1..=5).map(|i| (i, vec![7.0, i as f64])).collect();
    let experiment = bursts(&["same", "x"], &rows);
    for mode in [ScaleMode::Joint, ScaleMode::PerExperiment] {
        let scale = Scale::params().mode(mode);
        let scale = scale
            .dimension(Dimension::new("same"))
            .dimension(log_x())
            .check()
            .unwrap();
        let scaled = scale
            .fit(&[&experiment, &experiment], &Job::default())
            .unwrap();
        let points = scaled.experiments[1].points().unwrap();
        assert!(points.iter().all(|point| point[0] == 0.0));
        assert!(scaled.transform.axes()[0].experiments[0].is_constant());
        assert_eq!(scaled.transform.invert(1, &[0.0, 0.0]).unwrap()[0], 7.0);
    }
    // Most values are equal: so are the quantiles, but not the extremes.
    let mut values = vec![5.0; 1_000];
    values.push(6.0);
    let scale = Scale::params()
        .dimension(Dimension::new("x"))
        .check()
        .unwrap();
    let scaled = scale.fit(&[&one(&values)], &Job::default()).unwrap();
    assert_eq!(scaled.experiments[0].points().unwrap().values()[1_000], 1.0);
}

#[test]
fn shifts_are_found_given_or_left() {
    // 80 % of the time scales by 4, a serial part does not.
    let at = |by: f64| {
        let mut rows = Vec::new();
        for i in 0..50 {
            let noise = 1.0 + 0.01 * f64::from(i % 7);
            rows.push((8, vec![4e8 / by * noise]));
            rows.push((2, vec![1e5 * noise]));
        }
        bursts(&["x"], &rows)
    };
    let (few, many) = (at(1.0), at(4.0));
    let shift = |shift: Shift| {
        let scale = Scale::params()
            .dimension(log_x().shift(shift))
            .check()
            .unwrap();
        let scaled = scale.fit(&[&few, &many], &Job::default())?;
        Ok::<_, Error>(scaled.transform.axes()[0].experiments[1].shift)
    };
    let found = shift(Shift::Auto).unwrap();
    assert!((found + 4_f64.ln()).abs() < 2e-3, "{found}");
    assert_eq!(shift(Shift::None).unwrap(), 0.0);
    assert_eq!(shift(Shift::Fixed(vec![0.0, -1.5])).unwrap(), -1.5);
    assert!(matches!(
        shift(Shift::Fixed(vec![0.0])),
        Err(Error::Length { .. })
    ));
    // A difference below the margin does not shift.
    let scale = Scale::params().dimension(log_x()).check().unwrap();
    let scaled = scale.fit(&[&few, &few], &Job::default()).unwrap();
    assert_eq!(scaled.transform.axes()[0].experiments[1].shift, 0.0);
    // An experiment without bursts cannot be the reference.
    let scaled = scale
        .fit(&[&one(&[]), &few, &many], &Job::default())
        .unwrap();
    assert!((scaled.transform.axes()[0].experiments[2].shift + 4_f64.ln()).abs() < 2e-3);
    assert!(scaled.experiments[0].points().unwrap().is_empty());
}

#[test]
fn duration_is_a_metric_and_filtered_bursts_are_no_points() {
    let mut experiment = bursts(&["x"], &[(1, vec![1.0]), (2, vec![1.0]), (4, vec![1.0])]);
    experiment
        .set_kinds(vec![Kind::Duration, Kind::Complete, Kind::Complete])
        .unwrap();
    let scale = Scale::params()
        .dimension(Dimension::new("duration").factor(3.0))
        .check()
        .unwrap();
    let scaled = scale.fit(&[&experiment], &Job::default()).unwrap();
    assert_eq!(scaled.experiments[0].rows(), [1, 2]);
    assert_eq!(scaled.experiments[0].points().unwrap().values(), [0.0, 3.0]);
    assert_eq!(scaled.transform.axes()[0].unit, "ns");
}

#[test]
fn wrong_parameters_are_errors() {
    let params = Scale::params;
    assert!(matches!(params().check(), Err(Error::NoDimensions)));
    for wrong in [
        params().dimension(log_x().factor(0.0)),
        params().dimension(log_x().factor(f64::INFINITY)),
        params().dimension(log_x()).dimension(log_x()),
        params().dimension(log_x()).quantile(0.5),
        params().dimension(log_x()).margin(2.0),
        params().dimension(log_x().shift(Shift::Fixed(vec![f64::NAN]))),
    ] {
        assert!(matches!(wrong.check(), Err(Error::Parameter { .. })));
    }
    let scale = params().dimension(Dimension::new("y")).check().unwrap();
    assert!(matches!(
        scale.fit(&[&one(&[1.0])], &Job::default()),
        Err(Error::UnknownMetric { .. })
    ));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn scaling_can_be_inverted(
        a in prop::collection::vec(1e-3f64..1e12, 1..60),
        b in prop::collection::vec(1e-3f64..1e12, 1..60),
        log: bool,
        per_experiment: bool,
    ) {
        let mode = if per_experiment { ScaleMode::PerExperiment } else { ScaleMode::Joint };
        let dimension = Dimension::new("x").log(log).factor(2.5).shift(Shift::Fit);
        let scale = Scale::params().mode(mode).dimension(dimension).check().unwrap();
        let scaled = scale.fit(&[&one(&a), &one(&b)], &Job::default()).unwrap();
        let largest = a.iter().chain(&b).copied().fold(0.0, f64::max);
        for (experiment, values) in [&a, &b].into_iter().enumerate() {
            let points = scaled.experiments[experiment].points().unwrap();
            for (point, value) in points.iter().zip(values) {
                let back = scaled.transform.invert(experiment, point).unwrap()[0];
                // An axis that is constant up to rounding loses no more than that.
                let error = if log { (back / value - 1.0).abs() } else { (back - value).abs() / largest };
                prop_assert!(error < 1e-9, "{back} {value}");
                let again = scaled.transform.apply(experiment, &[*value]).unwrap();
                prop_assert!((again[0] - point[0]).abs() < 1e-9);
            }
        }
    }

    /// An experiment compared with itself times a factor: the shift is the logarithm of the factor.
    #[test]
    fn factors_are_found(
        values in prop::collection::vec(1.0f64..1e6, 2..80),
        factor in prop::sample::select(vec![0.01, 0.2, 0.5, 3.0, 40.0]),
    ) {
        let scaled: Vec<f64> = values.iter().map(|value| value * factor).collect();
        let scale = Scale::params().dimension(log_x()).margin(0.0).check().unwrap();
        let found = scale.fit(&[&one(&values), &one(&scaled)], &Job::default()).unwrap();
        let experiment = found.transform.axes()[0].experiments[1];
        prop_assert!((experiment.shift - factor.ln()).abs() < 1e-6, "{experiment:?}");
    }
}
