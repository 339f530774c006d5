//! Laws of models: merging, encoding, sharing.

use crate::common;

use common::{Random, call};
use perf_anomaly::{
    Copod, Detector, Error, FunctionId, Functions, Hbos, Histogram, Judgement, Model, Moments,
    Sample, Sketch, Sstd, StrictParams, Tail,
};
use perf_core::{Job, Merge, Nanos};
use proptest::prelude::*;

/// Computes moments directly from their definitions.
fn direct(values: &[f64]) -> [f64; 4] {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let central = |order| {
        values
            .iter()
            .map(|value| (value - mean).powi(order))
            .sum::<f64>()
            / n
    };
    let (m2, m3, m4) = (central(2), central(3), central(4));
    [
        mean,
        m2 * n / (n - 1.0),
        m3 / m2.powf(1.5),
        m4 / (m2 * m2) - 3.0,
    ]
}

fn of(moments: &Moments) -> [f64; 4] {
    [
        moments.mean(),
        moments.variance(),
        moments.skewness(),
        moments.kurtosis(),
    ]
}

fn assert_close(ours: [f64; 4], direct: [f64; 4], tolerance: f64) {
    for (our, direct) in ours.iter().zip(direct) {
        let scale = direct.abs().max(1e-3);
        assert!(
            (our - direct).abs() <= tolerance * scale,
            "{ours:?} {direct}"
        );
    }
}

const SETS: [&[f64]; 7] = [
    &[
        160.0, 150.0, 140.0, 122.0, 103.0, 77.0, 33.0, 22.0, 19.0, 7.0, 1.0,
    ],
    &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0],
    &[100.0, 100.0, 100.0, 100.0, 101.0],
    &[0.5, 0.25, 0.125, 0.0625, 1024.0],
    &[-160.0, -150.0, -140.0, -3.0, -2.0, -1.0],
    &[3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0, 5.0, 3.0, 5.0],
    &[1e6, 1.1e6, 1.2e6, 1.25e6, 9e6],
];

#[test]
fn moments_equal_direct_sums_however_they_are_split() {
    for set in SETS {
        let all: Moments = set.iter().copied().collect();
        assert_close(of(&all), direct(set), 1e-12);
        for split in 0..=set.len() {
            let (left, right) = set.split_at(split);
            let mut merged: Moments = left.iter().copied().collect();
            merged.merge(&right.iter().copied().collect());
            assert_close(of(&merged), direct(set), 1e-12);
            assert_eq!(
                (merged.count(), merged.min(), merged.max()),
                (all.count(), all.min(), all.max())
            );
            assert!((merged.sum() - all.sum()).abs() <= 1e-12 * all.sum().abs());
        }
    }
}

#[test]
fn moments_have_no_unit() {
    for set in SETS {
        let [.., skewness, kurtosis] = direct(set);
        for unit in [1e-60, 1e-9, 1e9, 1e60] {
            let moments: Moments = set.iter().map(|value| value * unit).collect();
            assert!((moments.skewness() - skewness).abs() < 1e-11, "{unit}");
            assert!((moments.kurtosis() - kurtosis).abs() < 1e-11, "{unit}");
        }
    }
    let none = Moments::new();
    assert_eq!(
        (none.min(), none.max(), none.skewness(), none.kurtosis()),
        (None, None, 0.0, 0.0)
    );
    let mut negative = Moments::new();
    negative.merge(&[-5.0, -3.0].into_iter().collect());
    assert_eq!((negative.min(), negative.max()), (Some(-5.0), Some(-3.0)));
}

fn values() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(0.0..1e6_f64, 0..60)
}

fn sketch(values: &[f64]) -> Sketch {
    let mut sketch = Sketch::new(Nanos(100));
    values
        .iter()
        .for_each(|value| sketch.push(Nanos(*value as i64)));
    sketch
}

fn samples(values: &[f64]) -> Vec<Sample> {
    let calls = values.iter().enumerate();
    calls
        .map(|(at, value)| call(at as u32 % 5, value * 1000.0))
        .collect()
}

fn merged<T: Merge + Clone>(one: &T, other: &T) -> T {
    let mut merged = one.clone();
    merged.merge(other);
    merged
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn moments_merge_in_any_order(a in values(), b in values(), c in values()) {
        let parts = [&a, &b, &c].map(|part| part.iter().copied().collect::<Moments>());
        let [a, b, c] = &parts;
        prop_assert_eq!(merged(a, &Moments::default()), *a);
        prop_assert_eq!(merged(&Moments::default(), a), *a);
        let (left, right) = (merged(&merged(a, b), c), merged(a, &merged(b, c)));
        let swapped = merged(&merged(b, a), c);
        prop_assert_eq!((left.count(), left.min(), left.max()), (right.count(), right.min(), right.max()));
        for other in [right, swapped] {
            for (one, other) in of(&left).iter().zip(of(&other)) {
                prop_assert!((one - other).abs() <= 1e-9 * one.abs().max(1.0));
            }
        }
    }

    #[test]
    fn sketches_merge_exactly(a in values(), b in values(), c in values()) {
        let [one, two, three] = [&a, &b, &c].map(|part| sketch(part));
        prop_assert_eq!(merged(&one, &Sketch::default()), one.clone());
        prop_assert_eq!(merged(&Sketch::default(), &one), one.clone());
        let all = sketch(&[a, b, c].concat());
        prop_assert_eq!(&merged(&merged(&one, &two), &three), &all);
        prop_assert_eq!(&merged(&three, &merged(&two, &one)), &all);
    }

    #[test]
    fn quantiles_of_a_sketch_are_within_their_bound(mut a in values(), q in 0.0..1.0_f64) {
        let quantile = sketch(&a).quantile(q);
        a.sort_by(f64::total_cmp);
        let exact = a.get((q * a.len().saturating_sub(1) as f64) as usize);
        prop_assert_eq!(quantile.is_some(), exact.is_some());
        if let (Some(quantile), Some(exact)) = (quantile, exact) {
            let error = (quantile.0 as f64 - exact.floor()).abs();
            prop_assert!(error <= (exact + 100.0) / 128.0 + 1.0, "{} {}", quantile, exact);
        }
    }

    #[test]
    fn histograms_keep_totals_and_extremes(a in values(), b in values(), bins in 2..300_u16) {
        for make in [
            &(|values: &[f64]| Histogram::with_bins(values, bins)) as &dyn Fn(&[f64]) -> Histogram,
            &|values| Histogram::scott(values),
        ] {
            let (one, other) = (make(&a), make(&b));
            prop_assert_eq!(&merged(&one, &Histogram::default()), &one);
            let (both, swapped) = (merged(&one, &other), merged(&other, &one));
            prop_assert_eq!(both.total(), (a.len() + b.len()) as u64);
            prop_assert_eq!(both.counts(), swapped.counts());
            let all: Moments = a.iter().chain(&b).copied().collect();
            if let (Some(min), Some(max)) = (all.min(), all.max()) {
                prop_assert_eq!((both.min(), both.max()), (min, max));
                // Each value moves by at most one old bin and one new bin.
                let widest = both.bin_width() + one.bin_width().max(other.bin_width());
                let mean = both.counts().iter().enumerate().map(|(bin, count)| both.middle(bin) * *count as f64);
                let mean = mean.sum::<f64>() / both.total() as f64;
                prop_assert!((mean - all.mean()).abs() <= widest, "{mean} {}", all.mean());
            }
        }
    }

    #[test]
    fn models_come_back_from_bytes(values in values()) {
        for mut detector in detectors() {
            detector.learn(&samples(&values));
            let model = detector.snapshot();
            let decoded = Model::decode(&model.encode());
            prop_assert_eq!(decoded.as_ref().ok(), Some(&model));
            prop_assert_eq!(model.encode(), decoded.expect("it was written").encode());
        }
    }

    #[test]
    fn damaged_bytes_are_an_error_or_a_model(values in values(), at in 0.0..1.0_f64, to in any::<u8>()) {
        for mut detector in detectors() {
            detector.learn(&samples(&values));
            let mut bytes = detector.snapshot().encode();
            let at = (at * bytes.len() as f64) as usize;
            bytes.push(0);
            prop_assert!(Model::decode(&bytes).is_err());
            bytes.pop();
            prop_assert!(Model::decode(&bytes[..at]).is_err());
            bytes[at] = to;
            if let Ok(model) = Model::decode(&bytes) {
                // Accepted models work, and a changed kind is rejected.
                if let Err(error) = detector.restore(&model) {
                    prop_assert!(at < 8 && matches!(error, Error::OtherModel { .. }), "{at} {error}");
                    continue;
                }
                let mut judgements = Vec::new();
                detector.detect(&samples(&values), &mut judgements, &Job::default()).unwrap();
                prop_assert_eq!(judgements.len(), values.len());
            }
        }
    }
}

fn detectors() -> [Box<dyn Detector>; 4] {
    let strict = || StrictParams::default().check().expect("defaults");
    [
        Box::new(tail()),
        Box::new(Sstd::new(strict())),
        Box::new(Hbos::new(strict())),
        Box::new(Copod::new(strict())),
    ]
}

fn tail() -> Tail {
    Tail::default()
}

#[test]
fn models_of_other_detectors_are_refused() {
    let mut all = detectors();
    let models: Vec<_> = all.iter().map(|detector| detector.snapshot()).collect();
    for (at, detector) in all.iter_mut().enumerate() {
        for (of, model) in models.iter().enumerate() {
            assert_eq!(detector.adopt(model).is_ok(), at == of);
            assert_eq!(detector.restore(model).is_ok(), at == of);
        }
    }
    let mut model = models[0].clone();
    let error = model.merge(&models[1]).expect_err("another kind");
    assert!(matches!(
        error,
        Error::OtherModel {
            expected: "tail",
            found: "sstd"
        }
    ));
    let error = Model::decode(b"something").expect_err("no model");
    assert_eq!(
        error.to_string(),
        "byte 0: expected the signature of a model"
    );
}

#[test]
fn functions_of_a_server_have_other_numbers() {
    let mut detector = tail();
    detector.learn(&samples(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    let model = detector
        .snapshot()
        .renumbered(|function| Some(FunctionId(function.0 / 2 + 1_000_000_000)));
    let Model::Tail(sketches) = &model else {
        panic!("a model of the same kind")
    };
    let counts: Vec<_> = sketches
        .iter()
        .map(|(id, sketch)| (id.0, sketch.count()))
        .collect();
    assert_eq!(
        counts,
        [(1_000_000_000, 3), (1_000_000_001, 2), (1_000_000_002, 1)]
    );
}

#[test]
fn a_restored_detector_goes_on_and_its_delta_is_new() {
    let mut random = Random::new(8);
    let calls: Vec<_> = (0..3000)
        .map(|at| call(at % 3, 1e5 * (0.2 * random.normal()).exp()))
        .collect();
    for mut detector in detectors() {
        detector.learn(&calls[..2000]);
        let snapshot = detector.snapshot();
        let mut restored = detectors()
            .into_iter()
            .find(|other| other.name() == detector.name())
            .expect("the same");
        restored.restore(&snapshot).expect("of one kind");
        assert!(restored.take_delta().is_empty());
        // The first delta is the complete model, later ones only contain new knowledge.
        assert_eq!(detector.take_delta(), snapshot);
        detector.learn(&calls[2000..]);
        restored.learn(&calls[2000..]);
        assert_eq!(detector.snapshot(), restored.snapshot());
        let (delta, other) = (detector.take_delta(), restored.take_delta());
        assert_eq!(delta, other);
        let mut sum = snapshot;
        sum.merge(&delta).expect("of one kind");
        match (sum, detector.snapshot()) {
            // A merge of histograms depends on its parts.
            (Model::Hbos(_) | Model::Copod(_), _) => {}
            (Model::Sstd(sum), Model::Sstd(all)) => {
                for (id, moments) in sum.iter() {
                    assert_close(of(moments), of(all.get(id).expect("the same")), 1e-10);
                }
            }
            (sum, all) => assert_eq!(sum, all),
        }
        // A view replaces the model, but not unsent knowledge.
        detector.learn(&calls[..30]);
        let view = detectors()
            .into_iter()
            .find(|other| other.name() == detector.name())
            .expect("the same")
            .snapshot();
        detector.adopt(&view).expect("of one kind");
        assert_eq!(detector.snapshot(), detector.take_delta());
    }
}

/// Creates a detector with an empty model.
type Make<'a> = &'a dyn Fn() -> Box<dyn Detector>;

/// Returns the judgements of `shards` detectors that share their knowledge after each step, and the
/// server's model.
fn sharded(make: Make<'_>, steps: &[Vec<Sample>], shards: usize) -> (Vec<Judgement>, Model) {
    let mut detectors: Vec<_> = (0..shards).map(|_| make()).collect();
    let mut server = make().snapshot();
    let mut all = Vec::new();
    for step in steps {
        let mut judged = vec![Judgement::default(); step.len()];
        for (shard, detector) in detectors.iter_mut().enumerate() {
            let mine: Vec<_> = step.iter().copied().skip(shard).step_by(shards).collect();
            let mut judgements = Vec::new();
            detector
                .detect(&mine, &mut judgements, &Job::default())
                .expect("not cancelled");
            for (place, judgement) in judged
                .iter_mut()
                .skip(shard)
                .step_by(shards)
                .zip(judgements)
            {
                *place = judgement;
            }
            server.merge(&detector.take_delta()).expect("of one kind");
        }
        server.forget(1 << 16);
        for detector in &mut detectors {
            detector.adopt(&server).expect("of one kind");
        }
        all.extend(judged);
    }
    (all, server)
}

#[test]
fn many_shards_judge_like_one() {
    let mut random = Random::new(21);
    let steps: Vec<Vec<_>> = (0..12)
        .map(|_| {
            let mut runtime = |at: u32| {
                let usual = 1e5 * f64::from(1 + at % 10) * (0.3 * random.normal()).exp();
                if random.below(1000) == 0 {
                    30.0 * usual
                } else {
                    usual
                }
            };
            (0..8000).map(|at| call(at % 10, runtime(at))).collect()
        })
        .collect();
    let strict = || StrictParams::default().check().expect("defaults");
    let makes: [(Make<'_>, f64); 4] = [
        (&|| Box::new(tail()), 0.999),
        (&|| Box::new(Sstd::new(strict())), 0.999),
        (&|| Box::new(Hbos::new(strict())), 0.995),
        (&|| Box::new(Copod::new(strict())), 0.995),
    ];
    for (make, bound) in makes {
        let (one, alone) = sharded(make, &steps, 1);
        for shards in [4, 80] {
            let (many, together) = sharded(make, &steps, shards);
            // From the second step on all know as much; before, a single shard has seen more than
            // each of many.
            let labels = one.iter().zip(&many).skip(8000);
            let same = labels
                .clone()
                .filter(|(one, many)| one.label == many.label)
                .count();
            let share = same as f64 / labels.len() as f64;
            println!(
                "{} {shards} shards: {:.3} % of labels equal",
                alone.name(),
                100.0 * share
            );
            assert!(share >= bound, "{}: {share}", alone.name());
            match (&alone, &together) {
                (Model::Tail(_), _) => assert_eq!(alone, together),
                (Model::Sstd(one), Model::Sstd(many)) => {
                    for (id, moments) in one.iter() {
                        assert_close(of(moments), of(many.get(id).expect("the same")), 1e-9);
                    }
                }
                (Model::Hbos(one), Model::Hbos(many)) | (Model::Copod(one), Model::Copod(many)) => {
                    for (id, model) in one.iter() {
                        let other = many.get(id).expect("the same").histogram();
                        let model = model.histogram();
                        assert_eq!(
                            (model.total(), model.min(), model.max()),
                            (other.total(), other.min(), other.max())
                        );
                    }
                }
                _ => panic!("models of one kind"),
            }
        }
    }
}

#[test]
fn functions_without_a_model_take_no_space() {
    let functions: Functions<Moments> = [(FunctionId(7), [1.0].into_iter().collect())]
        .into_iter()
        .collect();
    assert_eq!((functions.len(), functions.get(FunctionId(6))), (1, None));
}
