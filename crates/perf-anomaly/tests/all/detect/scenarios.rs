//! Small scenarios with known results, for the strict detectors and their models.

use crate::common;

use common::{Random, call};
use perf_anomaly::{
    Bin, Copod, Detector, Error, FunctionId, Functions, Hbos, Histogram, Judgement, Label, Losses,
    Model, Moments, Place, Sample, ScoredHistogram, Sstd, StrictParams, Tail,
};
use perf_core::{CallPathId, Job, Merge, Nanos};

fn defaults() -> perf_anomaly::StrictChecked {
    StrictParams::default().check().expect("defaults")
}

fn us(function: u32, runtime: f64) -> Sample {
    call(function, runtime.round() * 1000.0)
}

fn detect(detector: &mut dyn Detector, calls: &[Sample]) -> Vec<Judgement> {
    let mut judgements = Vec::new();
    detector
        .detect(calls, &mut judgements, &Job::default())
        .expect("not cancelled");
    judgements
}

fn rejudge(detector: &dyn Detector, calls: &[Sample]) -> Vec<Judgement> {
    let mut judgements = Vec::new();
    detector.rejudge(calls, &mut judgements);
    judgements
}

fn anomalies(judgements: &[Judgement]) -> Vec<usize> {
    let at = judgements.iter().enumerate();
    at.filter(|(_, judgement)| judgement.label.is_anomaly())
        .map(|(at, _)| at)
        .collect()
}

#[test]
fn sstd_finds_the_last_call() {
    let mut random = Random::new(1);
    let mut normal = |count| -> Vec<_> {
        (0..count)
            .map(|_| us(0, 420.0 + 10.0 * random.normal()))
            .collect()
    };
    let mut detector = Sstd::new(defaults());
    detector.learn(&normal(50));
    let mut batch = normal(49);
    batch.push(us(0, 800.0));
    let judgements = detect(&mut detector, &batch);
    assert_eq!(anomalies(&judgements), [49]);
    assert_eq!(judgements[49].label, Label::TooSlow);
    // No samples: no judgements.
    assert!(detect(&mut detector, &[]).is_empty());
}

#[test]
fn exclusive_times_blame_the_child_alone() {
    // A parent takes 2 us more than its child.
    let child = |at: usize| {
        if at == 49 {
            800.0
        } else {
            400.0 + (at % 7) as f64
        }
    };
    let run = |parent: fn(f64) -> f64| {
        let calls: Vec<_> = (0..50)
            .flat_map(|at| [us(1, child(at)), us(0, parent(child(at)))])
            .collect();
        anomalies(&detect(&mut Sstd::new(defaults()), &calls))
    };
    assert_eq!(run(|_| 2.0), [98]);
    assert_eq!(run(|child| child + 2.0), [98, 99]);
}

#[test]
fn sstd_scores_count_deviations() {
    // 500 of 90 and 500 of 110, less the factor of n / (n - 1): mean 100, deviation 10.
    let offset = 10_000.0 * (999.0_f64 / 1000.0).sqrt();
    let moments: Moments = (0..1000)
        .map(|at| 100_000.0 + [-offset, offset][at % 2])
        .collect();
    let mut detector = Sstd::new(defaults());
    detector
        .restore(&Model::Sstd(known(moments)))
        .expect("it is of SSTD");
    for runtime in [110_000.0, 90_000.0] {
        let judged = rejudge(&detector, &[us(0, runtime)]);
        assert!((judged[0].score - 1.0).abs() < 1e-6, "{}", judged[0].score);
        assert_eq!(judged[0].expected, Some(Nanos(100_000_000)));
    }
}

#[test]
fn an_ignored_function_has_no_anomalies_and_the_other_has() {
    let detectors: [Box<dyn Detector>; 4] = [
        Box::new(Sstd::new(defaults())),
        Box::new(Hbos::new(defaults())),
        Box::new(Copod::new(defaults())),
        Box::new(Tail::default()),
    ];
    for mut detector in detectors {
        detector.ignore(FunctionId(1), true);
        let runtime = |at| {
            if at == 99 {
                9000.0
            } else {
                420.0 + f64::from(at % 20)
            }
        };
        let calls: Vec<_> = (0..100)
            .flat_map(|at| [us(0, runtime(at)), us(1, runtime(at))])
            .collect();
        let judgements = detect(&mut *detector, &calls);
        assert!(anomalies(&judgements).contains(&198), "{}", detector.name());
        assert!(
            judgements
                .iter()
                .skip(1)
                .step_by(2)
                .all(|judgement| judgement.label == Label::Ignored)
        );
        assert_eq!(detector.snapshot().len(), 1);
        detector.ignore(FunctionId(1), false);
        assert_eq!(
            rejudge(&*detector, &calls[1..2])[0].label,
            Label::NotEnoughData
        );
    }
}

#[test]
fn thresholds_of_a_function_are_its_own() {
    let mut detector = Sstd::new(defaults());
    detector
        .set_threshold(FunctionId(1), Some(2.0))
        .expect("positive");
    let runtime = |at| {
        if at == 19 {
            900.0
        } else {
            400.0 + f64::from(at % 5)
        }
    };
    let calls: Vec<_> = (0..20)
        .flat_map(|at| [us(0, runtime(at)), us(1, runtime(at))])
        .collect();
    assert_eq!(anomalies(&detect(&mut detector, &calls)), [39]);
    detector.set_threshold(FunctionId(1), None).expect("back");
    assert!(anomalies(&rejudge(&detector, &calls)).is_empty());
    assert!(matches!(
        detector.set_threshold(FunctionId(1), Some(f64::NAN)),
        Err(Error::Parameter { name: "sigma", .. })
    ));

    // A function with a thousand times as many allowed alarms has a tighter bound.
    let mut detector = Tail::new(
        Tail::params()
            .false_positives(0.1)
            .check()
            .expect("in range"),
    );
    let calls: Vec<_> = (0..2000)
        .map(|at| us(0, 10_000.0 + f64::from(at * 37 % 1000)))
        .collect();
    detect(&mut detector, &calls);
    let wide = detector.normal(FunctionId(0));
    detector
        .set_threshold(FunctionId(0), Some(1000.0))
        .expect("in range");
    let narrow = detector.normal(FunctionId(0));
    assert!(narrow[0].end() < wide[0].end() && narrow[0].start() > wide[0].start());
    assert!(detector.set_threshold(FunctionId(0), Some(0.0)).is_err());
}

/// Returns counts 2, 8, 1, 0, 0, 2 in bins of 100 from 100.
fn six_bins() -> Histogram {
    Histogram::from_counts(vec![2, 8, 1, 0, 0, 2], 100.0, 100.0, 101.0, 700.0).expect("they fit")
}

fn known<T: Merge>(entry: T) -> Functions<T> {
    Functions::from_iter([(FunctionId(0), entry)])
}

#[test]
fn hbos_scores_bins() {
    let model = ScoredHistogram::new(six_bins(), 1.00001_f64.log2());
    let mut detector = Hbos::new(defaults());
    detector
        .restore(&Model::Hbos(known(model)))
        .expect("it is of HBOS");
    let calls = [250.0, 650.0, 96.0, 704.0, 90.0, 710.0, 550.0].map(|value| us(0, value));
    let judged = rejudge(&detector, &calls);
    assert_eq!(anomalies(&judged), [4, 5, 6]);
    let known = [0.700, 2.700, 2.700, 2.700, 100.0, 100.0, 100.0];
    for (judgement, score) in judged.iter().zip(known) {
        assert!(
            (judgement.score - score).abs() < 1e-3,
            "{}",
            judgement.score
        );
    }
    // The rarest bin scores 3.700; the threshold is 0.7004 + 0.99 * 3.
    assert!((rejudge(&detector, &[us(0, 350.0)])[0].score - 3.700).abs() < 1e-3);
    assert_eq!(anomalies(&rejudge(&detector, &[us(0, 350.0)])), [0]);
    assert_eq!(judged[4].label, Label::TooFast);
    assert_eq!(judged[5].label, Label::TooSlow);
}

#[test]
fn thresholds_of_hbos_only_rise() {
    let forgetful = StrictParams::default().keep_threshold(false).check();
    let mut detectors = [
        Hbos::new(defaults()),
        Hbos::new(forgetful.expect("defaults otherwise")),
    ];
    // One rare value at first, then equal ones.
    let peak = |at| 10.0 + f64::from(at % 2) + if at == 7 { 50.0 } else { 0.0 };
    let even = |at: i32| 10.0 + f64::from(at % 52);
    let steps = std::iter::once((0..1000).map(|at| us(0, peak(at))).collect::<Vec<_>>());
    let steps = steps.chain((0..20).map(|_| (0..520).map(|at| us(0, even(at))).collect()));
    let (mut highest, mut fell) = (0.0, 0);
    for step in steps {
        let [kept, new] = detectors.each_mut().map(|detector| {
            detect(detector, &step);
            match detector.snapshot() {
                Model::Hbos(models) => models.get(FunctionId(0)).map(ScoredHistogram::threshold),
                _ => None,
            }
            .expect("it was learned")
        });
        highest = f64::max(highest, new);
        assert_eq!(kept, highest);
        fell += usize::from(new < kept);
    }
    assert!(fell > 0);
}

#[test]
fn copod_finds_values_outside_of_the_histogram() {
    let model = ScoredHistogram::new(six_bins(), 1.00001_f64.log2());
    let mut detector = Copod::new(defaults());
    detector
        .restore(&Model::Copod(known(model)))
        .expect("it is of COPOD");
    let calls = [95.0, 705.0, 250.0, 101.0].map(|value| us(0, value));
    assert_eq!(anomalies(&rejudge(&detector, &calls)), [0, 1]);
}

#[test]
fn values_fall_into_bins() {
    let bins = Histogram::from_counts(vec![1, 2, 0, 4], 0.1, 0.1, 0.1, 0.5).expect("they fit");
    let known = [
        (0.1, 0.0, Bin::Left),
        (0.1, 0.01, Bin::Inside(0)),
        (0.2, 0.05, Bin::Inside(0)),
        (0.20001, 0.05, Bin::Inside(1)),
        (0.5, 0.05, Bin::Inside(3)),
        (0.096, 0.05, Bin::Inside(0)),
        (0.504, 0.05, Bin::Inside(3)),
        (0.6, 0.05, Bin::Right),
    ];
    for (value, tolerance, bin) in known {
        assert_eq!(bins.bin(value, tolerance), bin, "{value}");
    }
    let made = Histogram::with_width(&[0.1, 0.1, 0.1, 0.2, 0.4], 0.1);
    assert_eq!(made.counts(), [3, 1, 0, 1]);
    for (value, bin) in [(0.1, 0), (0.2, 1), (0.3, 2), (0.4, 3)] {
        assert_eq!(made.bin(value, 0.05), Bin::Inside(bin), "{value}");
    }
    assert_eq!(
        (made.bin(0.0, 0.05), made.bin(0.5, 0.05)),
        (Bin::Left, Bin::Right)
    );
    for (counts, max) in [(vec![], 0.1), (vec![1], f64::NAN), (vec![1], 0.3)] {
        assert!(Histogram::from_counts(counts, 0.1, 0.1, 0.1, max).is_none());
    }
}

/// For any width and values memory is bounded, and each value is counted.
#[test]
fn no_width_makes_too_many_bins_or_loses_values() {
    let values: Vec<f64> = (0..1000).map(|at| 1.0 + f64::from(at * at % 997)).collect();
    for width in [
        0.0,
        -0.0,
        1e-12,
        -3.0,
        f64::NAN,
        f64::INFINITY,
        5e-324,
        f64::MAX,
        1e80,
    ] {
        let made = Histogram::with_width(&values, width);
        assert!(
            made.counts().len() <= 50_001,
            "{width}: {}",
            made.counts().len()
        );
        assert_eq!(
            (made.total(), made.min(), made.max()),
            (1000, 1.0, 997.0),
            "{width}"
        );
        assert!(made.bin_width() > 0.0 && made.bin_width().is_finite());
    }
    let wide = Histogram::with_width(&values, 10.0);
    assert_eq!(wide.counts().len(), 100);
    for values in [
        &[1e-200, 2e-200][..],
        &[5e-324, 1e-323],
        &[0.0, 5e-324],
        &[1.0, 1.0 + f64::EPSILON],
        &[-1e90, 1e90],
        &[-1e90, 0.0, 5e-324],
    ] {
        let same = [1e300, f64::NAN, values[0], f64::INFINITY, values[1]];
        for made in [
            Histogram::scott(values),
            Histogram::with_bins(values, u16::MAX),
            Histogram::with_width(values, 0.0),
        ] {
            assert!(made.counts().len() <= 65_536);
            assert_eq!(made.total(), values.len() as u64, "{values:?}");
            let mut twice = made.clone();
            twice.merge(&made);
            twice.merge(&wide);
            assert_eq!(twice.total(), 2 * values.len() as u64 + 1000);
        }
        // NaN values are dropped.
        assert_eq!(Histogram::scott(&same), Histogram::scott(&values[..2]));
    }
    assert!(Histogram::scott(&[f64::NAN, f64::INFINITY]).is_empty());
}

#[test]
fn edges_and_counts_that_are_none_make_no_histogram() {
    let infinite = f64::INFINITY;
    for (start, width, min, max) in [
        (0.0, infinite, 1.0, 5.0),
        (-infinite, 1.0, 1.0, 5.0),
        (0.0, infinite, 1.0, infinite),
        (-f64::MAX, f64::MAX, -f64::MAX, 0.0),
        (0.0, f64::NAN, 0.0, 1.0),
    ] {
        assert!(Histogram::from_counts(vec![1], start, width, min, max).is_none());
    }
    for (counts, fits) in [
        (vec![u64::MAX, 1], false),
        (vec![1 << 52, 1 << 52], false),
        (vec![1 << 52, (1 << 52) - 1], true),
    ] {
        let made = Histogram::from_counts(counts, 0.0, 1.0, 0.5, 2.0);
        assert_eq!(made.is_some(), fits);
    }
    // The sum of several is limited to the largest count.
    let most = Histogram::from_counts(vec![(1 << 53) - 1], 0.0, 1.0, 0.5, 1.0);
    let mut all = most.expect("they are less than 2^53");
    for _ in 0..20 {
        all.merge(&all.clone());
    }
    assert_eq!(all.total(), u64::MAX);
    assert!((0.0..=1.0).contains(&all.distribution(0.75)));
}

#[test]
fn the_empirical_distribution_is_linear_in_a_bin() {
    let counts = vec![2, 40, 24, 10, 3, 1, 0, 1];
    let histogram = Histogram::from_counts(counts, 0.1, 0.1, 0.1, 0.9).expect("they fit");
    let close =
        |value: f64, expected: f64| assert!((value - expected).abs() < 1e-12, "{value} {expected}");
    close(histogram.distribution(0.14), 0.8 / 81.0);
    close(histogram.distribution(0.34), 51.6 / 81.0);
    close(histogram.distribution(0.851), 80.51 / 81.0);
    close(histogram.distribution(0.05), 0.0);
    close(histogram.distribution(1.0), 1.0);
    let mirrored = histogram.negated();
    assert_eq!(mirrored.counts()[0], 1);
    for value in [0.14_f64, 0.34, 0.851] {
        let sum = histogram.distribution(value) + mirrored.distribution(-value);
        assert!((sum - 1.0).abs() < 1e-6, "{sum}");
    }
    assert!(Histogram::default().distribution(1.0) == 0.0);
}

#[test]
fn two_clients_of_a_server_find_the_outlier_of_each() {
    let methods: [fn() -> Box<dyn Detector>; 3] = [
        || Box::new(Sstd::new(defaults())),
        || Box::new(Hbos::new(defaults())),
        || Box::new(Copod::new(defaults())),
    ];
    for (method, at_least) in methods.into_iter().zip([1, 1, 1]) {
        let mut random = Random::new(4);
        let mut batch = |outlier: f64| {
            let mut calls: Vec<_> = (0..50)
                .map(|_| us(0, (2.0 + 0.5 * random.normal()).exp()))
                .collect();
            calls.push(us(0, outlier));
            calls
        };
        let mut server: Option<Model> = None;
        for outlier in [1000.0, 5000.0] {
            let calls = batch(outlier);
            let mut client = method();
            // Learn, share, judge: like the original with its server.
            client.learn(&calls);
            let delta = Model::decode(&client.take_delta().encode()).expect("it was just written");
            match &mut server {
                Some(server) => server.merge(&delta).expect("of one kind"),
                None => server = Some(delta),
            }
            client
                .adopt(server.as_ref().expect("it has a model"))
                .expect("of one kind");
            let found = anomalies(&rejudge(&*client, &calls));
            let name = client.name();
            assert!(
                (at_least..=2).contains(&found.len()),
                "{name} {outlier}: {found:?}"
            );
            assert!(found.contains(&50), "{name} {outlier}: {found:?}");
            assert!(client.take_delta().is_empty());
        }
    }
}

#[test]
fn time_lost_is_summed_by_function_path_rank_and_step() {
    let slow = Judgement {
        label: Label::TooSlow,
        score: 6.0,
        expected: Some(Nanos(100)),
    };
    let fast = Judgement {
        label: Label::TooFast,
        ..slow
    };
    let fine = Judgement {
        label: Label::Normal,
        ..slow
    };
    let samples = [
        call(0, 500.0),
        call(1, 50.0),
        call(0, 100.0),
        call(1, 300.0),
    ];
    let judgements = [slow, fast, fine, slow];
    let paths = [3, 4, 3, 4].map(CallPathId);
    let place = |rank, step| Place {
        program: 0,
        rank,
        step,
    };
    let mut left = Losses::default();
    left.add(place(0, 0), &samples, &judgements, paths, |_| false);
    let mut right = Losses::default();
    right.add(
        place(1, 0),
        &samples[..1],
        &judgements[..1],
        [paths[0]],
        |_| false,
    );
    right.add(place(1, 1), &samples[1..], &judgements[1..], [], |_| false);
    let mut both = left.clone();
    both.merge(&right);
    let mut other = right.clone();
    other.merge(&left);
    assert_eq!(both, other);
    assert_eq!(
        (
            both.total().calls,
            both.total().time,
            both.total().anomalies()
        ),
        (8, Nanos(1200), 6)
    );
    let functions: Vec<_> = both
        .worst_functions()
        .iter()
        .map(|(id, loss)| (id.0, loss.time.0, loss.too_fast))
        .collect();
    assert_eq!(functions, [(0, 800, 0), (1, 400, 2)]);
    assert_eq!(both.function(FunctionId(7)).calls, 0);
    let paths: Vec<_> = both
        .worst_paths()
        .iter()
        .map(|(id, loss)| (id.0, loss.calls))
        .collect();
    assert_eq!(paths, [(3, 3), (4, 2)]);
    assert_eq!(
        both.worst_ranks()
            .iter()
            .map(|(rank, _)| rank.1)
            .collect::<Vec<_>>(),
        [0, 1]
    );
    assert_eq!(
        both.steps()
            .map(|(step, loss)| (step, loss.time.0))
            .collect::<Vec<_>>(),
        [(0, 1000), (1, 200)]
    );
}

/// Returns a hundred calls, the last of which takes twenty times as long.
fn with_one_slow() -> Vec<Sample> {
    let runtime = |at| match at {
        99 => 9000.0,
        _ => 420.0 + f64::from(at % 20),
    };
    (0..100).map(|at| us(0, runtime(at))).collect()
}

#[test]
fn thresholds_of_scores_are_parts_of_their_range() {
    // Earlier thresholds are not kept, since they only increase.
    let params = || {
        let forgetful = StrictParams::default().keep_threshold(false);
        forgetful.check().expect("defaults otherwise")
    };
    let detectors: [Box<dyn Detector>; 2] = [
        Box::new(Hbos::new(params())),
        Box::new(Copod::new(params())),
    ];
    for mut detector in detectors {
        let calls = with_one_slow();
        for wrong in [-0.1, 1.1, f64::NAN] {
            let refused = detector.set_threshold(FunctionId(0), Some(wrong));
            assert!(matches!(
                refused,
                Err(Error::Parameter {
                    name: "threshold",
                    ..
                })
            ));
        }
        let found = |detector: &mut dyn Detector, part| {
            detector
                .set_threshold(FunctionId(0), part)
                .expect("a part of the range");
            anomalies(&detect(detector, &calls)).len()
        };
        let name = detector.name();
        let usual = found(&mut *detector, None);
        assert!((1..100).contains(&usual), "{name}: {usual}");
        // Even calls with the lowest score are abnormal.
        let all = found(&mut *detector, Some(0.0));
        assert!(all > usual, "{name}: {usual}, {all}");
    }
}

#[test]
fn a_function_that_is_forgotten_is_learned_anew() {
    let tail = Tail::default();
    let detectors: [Box<dyn Detector>; 4] = [
        Box::new(Sstd::new(defaults())),
        Box::new(Hbos::new(defaults())),
        Box::new(Copod::new(defaults())),
        Box::new(tail),
    ];
    for mut detector in detectors {
        let calls = with_one_slow();
        detect(&mut *detector, &calls);
        detector.forget(FunctionId(0));
        let name = detector.name();
        let judged = rejudge(&*detector, &calls[99..]);
        assert_eq!(judged[0].label, Label::NotEnoughData, "{name}");
        // Unsent knowledge is still sent.
        assert_eq!(detector.take_delta().len(), 1, "{name}");
        // An unknown function has no model to drop.
        detector.forget(FunctionId(7));
        let again = anomalies(&detect(&mut *detector, &calls));
        assert!(again.contains(&99), "{name}: {again:?}");
    }
}
