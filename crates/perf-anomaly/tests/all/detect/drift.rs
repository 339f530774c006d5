//! Change points: none without a change, one for each change, and the laws of merging.

use crate::common;

use common::{Random, call};
use perf_anomaly::{Change, Drift, DriftParams, FunctionId, Judgement, Sample};
use perf_core::Nanos;
use proptest::prelude::*;

fn drift(params: DriftParams) -> Drift {
    Drift::new(params.check().expect("values in range"))
}

/// Adds calls in steps of 1,000.
fn run(drift: &mut Drift, calls: impl Iterator<Item = f64>) {
    let mut step = Vec::new();
    let mut number = 0;
    let mut flush = |step: &mut Vec<Sample>, drift: &mut Drift| {
        let judgements = vec![Judgement::default(); step.len()];
        drift.add(number, step, &judgements, |_| 0);
        number += 1;
        step.clear();
    };
    for runtime in calls {
        step.push(call(0, runtime));
        if step.len() == 1000 {
            flush(&mut step, drift);
        }
    }
    flush(&mut step, drift);
}

type Draw = fn(&mut Random) -> f64;

/// Distributions of run times in nanoseconds, with one mode and more, short and long tails.
const NULLS: [(&str, Draw); 8] = [
    ("normal", |random| 1e5 + 1e4 * random.normal()),
    ("lognormal", |random| 1e5 * (0.5 * random.normal()).exp()),
    ("uniform", |random| 1e5 + 1e5 * random.unit()),
    ("two even modes", |random| {
        let mode = if random.below(2) == 0 { 1e5 } else { 3e5 };
        mode + 1e3 * random.normal()
    }),
    ("modes of 3 to 1", |random| {
        let mode = if random.below(4) == 0 { 1e6 } else { 1e5 };
        mode + 1e3 * random.normal()
    }),
    ("one in 50 takes 50 times as long", |random| {
        if random.below(50) == 0 { 5e6 } else { 1e5 }
    }),
    ("Pareto", |random| 1e5 * random.unit().powf(-1.0)),
    ("exponential", |random| -1e5 * random.unit().ln()),
];

#[test]
fn nothing_changes_where_nothing_changes() {
    const WINDOWS: u64 = 20_000;
    for (name, draw) in NULLS {
        let mut random = Random::new(11);
        let values: Vec<f64> = (0..WINDOWS * 128).map(|_| draw(&mut random)).collect();
        let mut found = [0; 2];
        // With defaults, and with a thousand times as many allowed alarms and no smallest change.
        let eager = Drift::params().false_alarms(1000.0).least(1e-6);
        for (params, found) in [Drift::params(), eager].into_iter().zip(&mut found) {
            let mut drift = drift(params);
            run(&mut drift, values.iter().copied());
            *found = drift.changes().len();
        }
        println!("{name}: {found:?} changes in {WINDOWS} windows");
        assert_eq!(found[0], 0, "{name}");
        // 20 are allowed.
        assert!(found[1] <= 20, "{name}: {found:?}");
    }
}

#[test]
fn a_change_is_told_once_with_its_step_and_times() {
    for (name, draw) in NULLS {
        for factor in [2.0, 0.5] {
            let mut random = Random::new(3);
            let mut drift = drift(Drift::params());
            let values = (0..40_000).map(|at| {
                let value = draw(&mut random);
                if at < 20_000 { value } else { value * factor }
            });
            run(&mut drift, values);
            let [change] = drift.changes() else {
                panic!("{name} times {factor}: {:?}", drift.changes())
            };
            assert_eq!(change.is_slower(), factor > 1.0, "{name}");
            assert!((19..=20).contains(&change.step), "{name}: {change:?}");
            let ratio = change.to.0 as f64 / change.from.0 as f64;
            // The usual time of few calls with a long tail is not known more accurately.
            assert!((ratio / factor - 1.0).abs() < 0.35, "{name}: {ratio}");
            let usual = drift.usual(FunctionId(0)).expect("many calls");
            assert!((usual.0 - change.to.0).abs() < change.to.0 / 3, "{name}");
        }
    }
}

#[test]
fn small_changes_short_disturbances_and_ignored_calls_are_none() {
    let jittered = |at: usize| 1e5 + (at * 37 % 1000) as f64;
    let found = |calls: &dyn Fn(usize) -> f64| {
        let mut drift = drift(Drift::params());
        run(&mut drift, (0..20_000).map(calls));
        drift.changes().len()
    };
    // 5 % is less than the smallest change; 100 calls are less than a window.
    assert_eq!(
        found(&|at| jittered(at) * if at < 9_000 { 1.0 } else { 1.05 }),
        0
    );
    let is_disturbed = |at: usize| (9_000..9_100).contains(&at);
    assert_eq!(
        found(&|at| jittered(at) * if is_disturbed(at) { 4.0 } else { 1.0 }),
        0
    );
    // There and back after a long time: two changes.
    let is_away = |at: usize| (9_000..14_000).contains(&at);
    assert_eq!(
        found(&|at| jittered(at) * if is_away(at) { 4.0 } else { 1.0 }),
        2
    );
    let mut left = drift(Drift::params());
    let ignored = Judgement {
        label: perf_anomaly::Label::Ignored,
        ..Judgement::default()
    };
    for step in 0..100 {
        let slow = if step < 50 { 1e5 } else { 9e5 };
        left.add(step, &[call(0, slow); 100], &[ignored; 100], |_| 0);
        let first = Sample {
            first: true,
            ..call(1, slow)
        };
        left.add(step, &[first; 100], &[Judgement::default(); 100], |_| 0);
    }
    assert!(left.changes().is_empty() && left.usual(FunctionId(0)).is_none());
}

#[test]
fn that_one_rank_is_slower_than_another_is_no_change() {
    let mut random = Random::new(8);
    let mut all = drift(Drift::params());
    for step in 0..100 {
        // One rank after the other, as in a batch; each has its own usual time.
        let samples: Vec<Sample> = (0..4000)
            .map(|at| {
                let rank = at / 500;
                call(0, 1e5 * f64::from(1 + rank) * (0.1 * random.normal()).exp())
            })
            .collect();
        all.add(step, &samples, &[Judgement::default(); 4000], |at| {
            at as u32 / 500
        });
    }
    assert_eq!(all.changes(), []);
}

/// Fast ranks end, or slow ones begin, and no rank changes.
#[test]
fn ranks_that_end_or_begin_are_no_change() {
    let run = |rank_has: fn(u32, u64) -> bool, factor: fn(u32, u64) -> f64| {
        let mut random = Random::new(5);
        let mut all = drift(Drift::params());
        for step in 0..120 {
            let ranks = (0..8).filter(|rank| rank_has(*rank, step));
            let ranks: Vec<u32> = ranks.flat_map(|rank| [rank; 40]).collect();
            let samples = ranks.iter().map(|rank| {
                let slow = if *rank == 5 { 1.3 } else { 1.0 };
                call(
                    0,
                    1e5 * slow * factor(*rank, step) * (0.1 * random.normal()).exp(),
                )
            });
            let samples: Vec<Sample> = samples.collect();
            let judgements = vec![Judgement::default(); samples.len()];
            all.add(step, &samples, &judgements, |at| ranks[at]);
        }
        all.changes().to_vec()
    };
    assert_eq!(run(|rank, step| rank == 5 || step < 80, |_, _| 1.0), []);
    assert_eq!(run(|rank, step| rank != 5 || step > 60, |_, _| 1.0), []);
    // A change of all ranks before the fast ones end, and of the last one after it.
    let before = |_, step: u64| if step < 60 { 1.0 } else { 1.2 };
    let after = |_, step: u64| if step < 100 { 1.0 } else { 1.2 };
    for (factor, step, from, ranks) in [
        (before as fn(u32, u64) -> f64, 60, 1.033e5, 8),
        (after, 100, 1.3e5, 8),
    ] {
        let found = run(|rank, step| rank == 5 || step < 80, factor);
        let [change] = &found[..] else {
            panic!("one change, not {found:?}")
        };
        assert!(
            step - change.step <= 1 && change.ranks == ranks,
            "{change:?}"
        );
        assert!(
            (change.from.0 as f64 / from - 1.0).abs() < 0.02,
            "{change:?}"
        );
        let ratio = change.to.0 as f64 / change.from.0 as f64;
        assert!((ratio - 1.2).abs() < 0.03, "{change:?}");
    }
}

#[test]
fn too_many_changes_are_counted() {
    let mut few = drift(Drift::params().most(3));
    run(
        &mut few,
        (0..50_000).map(|at| if at / 5_000 % 2 == 0 { 1e5 } else { 3e5 }),
    );
    assert_eq!((few.changes().len(), few.left_out()), (3, 6));
    assert!(few.changes().iter().all(|change| change.step <= 15));
    for params in [
        Drift::params().window(8),
        Drift::params().false_alarms(0.0),
        Drift::params().least(0.0),
        Drift::params().memory(128),
        Drift::params().resolution(Nanos(0)),
        Drift::params().most(0),
    ] {
        assert!(params.check().is_err());
    }
}

/// Returns a drift of three functions, some of which change.
fn seen(seed: u64, calls: usize) -> Drift {
    let mut random = Random::new(seed);
    let mut all = drift(Drift::params().window(32).memory(64).most(4));
    for step in 0..calls as u64 / 10 {
        let samples: Vec<Sample> = (0..10)
            .map(|_| {
                let function = random.below(3) as u32;
                let slow = if step / 20 % 2 == u64::from(function % 2) {
                    2.0
                } else {
                    1.0
                };
                call(function, 1e5 * slow * (0.1 * random.normal()).exp())
            })
            .collect();
        all.add(step, &samples, &[Judgement::default(); 10], |at| {
            at as u32 % 3
        });
    }
    all
}

fn merged(parts: &[&Drift]) -> Drift {
    let mut all = drift(Drift::params().window(32).memory(64).most(4));
    parts.iter().for_each(|part| all.merge(part));
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn merges_obey_the_laws_and_bytes_come_back(seed in 0_u64..1000, sizes in [0_usize..3000, 0..3000, 0..3000]) {
        let [a, b, c] = [0, 1, 2].map(|at| seen(seed + at as u64, sizes[at]));
        let all = merged(&[&a, &b, &c]);
        prop_assert_eq!(&merged(&[&c, &a, &b]), &all);
        let right = merged(&[&b, &c]);
        prop_assert_eq!(&merged(&[&a, &right]), &all);
        prop_assert_eq!(&merged(&[&a]), &a);
        let params = Drift::params().window(32).memory(64).most(4).check().expect("in range");
        for one in [&a, &all] {
            let bytes = one.encode();
            let read = Drift::decode(params.clone(), &bytes).expect("it was just written");
            prop_assert_eq!(&read, one);
            prop_assert_eq!(read.encode(), bytes.clone());
            // No prefix is valid.
            let cut = seed as usize % bytes.len();
            prop_assert!(Drift::decode(params.clone(), &bytes[..cut]).is_err());
        }
    }
}

/// Impossible counts are rejected, and sums of counts stay decodable.
#[test]
fn counts_of_changes_have_an_end() {
    let params = || Drift::params().most(4).check().expect("in range");
    let bytes = |count: &[u8]| {
        let empty = Drift::new(params()).encode();
        [&empty[..6], count, &empty[7..]].concat()
    };
    let beyond = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
    let refused = Drift::decode(params(), &bytes(&beyond)).expect_err("nobody counted so far");
    assert!(refused.to_string().starts_with("byte 6: "), "{refused}");
    let most = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f];
    let mut all = Drift::decode(params(), &bytes(&most)).expect("it is less than 2^53");
    let other = seen(5, 5000);
    assert!(!other.changes().is_empty());
    all.merge(&other);
    all.merge(&all.clone());
    assert_eq!(all.left_out() + all.changes().len() as u64, (1 << 53) - 1);
    assert!(Drift::decode(params(), &all.encode()).is_ok());
}

#[test]
fn damage_makes_no_reader_panic() {
    let bytes = seen(5, 2000).encode();
    for damaged in perf_testdata::damage::all(&bytes, 500, 3) {
        let params = Drift::params().check().expect("defaults");
        if let Ok(mut drift) = Drift::decode(params, &damaged) {
            drift.add(
                9,
                &[call(0, 1e5); 300],
                &[Judgement::default(); 300],
                |at| at as u32 % 3,
            );
        }
    }
    let change = Change::default();
    assert!(!change.is_slower());
}

/// The calls of a step are in no order, so that several windows of the step of a change contain calls before and after
/// it: the first two of them confirmed a smaller change, and the next step another one.
#[test]
fn a_change_within_a_step_is_one_change() {
    for seed in 1..=20 {
        let mut random = Random::new(seed);
        let mut found = drift(Drift::params());
        // Steps have 1,000 calls.
        let usual = |at: u64| if at < 10_000 + 50 * seed { 1e6 } else { 1.5e6 };
        let calls = (0..20_000).map(|at| usual(at) * (0.05 * random.normal()).exp());
        run(&mut found, calls);
        let [change] = found.changes() else {
            panic!("{seed}: one change: {:?}", found.changes())
        };
        assert!((10..=11).contains(&change.step), "{seed}: {change:?}");
        let is_close = |time: Nanos, expected: f64| (time.0 as f64 / expected - 1.0).abs() < 0.02;
        assert!(
            is_close(change.from, 1e6) && is_close(change.to, 1.5e6),
            "{seed}: {change:?}"
        );
    }
}

/// No later step confirms a change in the last step: it is told at the end, once.
#[test]
fn a_change_in_the_last_step_is_told_at_the_end() {
    for seed in 1..=20 {
        let mut random = Random::new(seed);
        let mut found = drift(Drift::params());
        // Steps have 1,000 calls.
        let usual = |at: u64| if at < 4_500 { 1e6 } else { 1.5e6 };
        let calls = (0..6_000).map(|at| usual(at) * (0.05 * random.normal()).exp());
        run(&mut found, calls);
        found.end();
        let [change] = found.changes() else {
            panic!("{seed}: one change: {:?}", found.changes())
        };
        assert!(
            (4..=5).contains(&change.step) && change.is_slower(),
            "{seed}: {change:?}"
        );
        assert_eq!(found.end(), [], "{seed}");
        let mut healthy = drift(Drift::params());
        run(
            &mut healthy,
            (0..6_000).map(|_| 1e6 * (0.05 * random.normal()).exp()),
        );
        assert_eq!(healthy.end(), [], "{seed}");
    }
}
