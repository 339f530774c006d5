//! Breakdown of the CPU time, and the minimum duration derived from it.

use perf_core::{Job, Merge, Nanos};
use perf_testdata::xorshift::Xorshift;
use perf_track::tracking::{Observation, Tracking, Windows, windows};
use perf_track::{
    Amount, Burst, Bursts, ClusterId, Dimension, DurationCut, Error, Experiment, Kind, Labels,
    Scale, Thread, TimeBalance,
};

/// Returns two phases, and bursts of every kind, with random durations.
fn experiment(tasks: u32, seed: u64) -> (Bursts, Labels) {
    let mut random = Xorshift::new(seed);
    let mut bursts = Bursts::new(["instructions"]);
    let (mut kinds, mut labels) = (Vec::new(), Vec::new());
    for process in 0..tasks {
        let thread = Thread {
            process,
            ..Thread::default()
        };
        let thread = bursts.add_thread(thread).expect("few threads");
        let mut begin = 0;
        for step in 0..60_usize {
            let phase = step % 2;
            let length = [9_000_017, 700_003][phase] + random.below(1_000) as i64;
            let end = begin + length;
            let burst = Burst {
                thread,
                begin: Nanos(begin),
                end: Nanos(end),
                ..Burst::default()
            };
            let work = [1e9, 5e7][phase] / f64::from(tasks) * (1.0 + 1e-3 * step as f64);
            bursts.push(burst, &[work]).expect("in order");
            let kind = match random.below(12) {
                0 => Kind::Missing,
                1 => Kind::Duration,
                2 => Kind::Range,
                3 => Kind::Share,
                _ => Kind::Complete,
            };
            let noise = kind != Kind::Complete || random.below(8) == 0;
            labels.push(ClusterId(if noise { 0 } else { phase as u32 + 1 }));
            kinds.push(kind);
            begin = end + 1_000;
        }
    }
    bursts.set_kinds(kinds).expect("one a burst");
    (bursts, Labels::new(labels))
}

fn sum(balance: &TimeBalance) -> Amount {
    let mut sum = Amount::default();
    balance.parts().iter().for_each(|(_, part)| sum.merge(part));
    sum
}

fn total(bursts: &Bursts) -> Amount {
    let mut sum = Amount::default();
    let rows = bursts.rows().iter();
    rows.for_each(|burst| sum.add(Nanos(burst.end.0 - burst.begin.0)));
    sum
}

#[test]
fn all_of_the_time_is_somewhere() {
    for seed in 1..=10 {
        let all = [experiment(2, seed), experiment(4, 100 + seed)];
        let scale = Scale::params().dimension(Dimension::new("instructions").log(true));
        let scale = scale.check().expect("one axis");
        let scaled = scale
            .fit(&[&all[0].0, &all[1].0], &Job::default())
            .expect("they fit");
        let mut seen = Vec::new();
        for ((bursts, labels), scaled) in all.iter().zip(&scaled.experiments) {
            let experiment =
                Experiment::new("", bursts.clone(), labels.clone()).expect("one a burst");
            let points = scaled.points().expect("finite");
            let one = Observation::of(&experiment, points, scaled.rows()).expect("they fit");
            // Replacing the labels keeps the balance.
            let labels = Labels::new(one.labels().to_vec());
            seen.push(one.with_labels(&labels).expect("one a point"));
        }
        let params = Tracking::params().check().expect("defaults");
        let tracking = Tracking::of(&seen, &params, &Job::default());
        let tracking = tracking.expect("not cancelled");
        let mut together = Amount::default();
        for (experiment, (bursts, labels)) in tracking.experiments.iter().zip(&all) {
            let balance = experiment.balance.expect("made of bursts");
            assert_eq!(balance.total, total(bursts));
            assert_eq!(sum(&balance), balance.total);
            let tracked = |id: ClusterId| {
                let regions = tracking.regions.iter();
                regions
                    .filter(|region| region.experiments() > 1)
                    .any(|region| region.members.iter().flatten().any(|member| *member == id))
            };
            let naive = TimeBalance::of(bursts, labels, tracked).expect("one a burst");
            assert_eq!(balance, naive);
            assert!(balance.noise.bursts > 0 && balance.tracked.bursts > 0);
            // The share of noise belongs to the untracked time.
            let points = balance.clustered().time.0 + balance.noise.time.0;
            let share = balance.tracked.time.0 as f64 / points as f64;
            assert!((experiment.coverage - share).abs() < 1e-12);
            together.merge(&balance.total);
        }
        for (at, experiment) in tracking.experiments.iter().enumerate() {
            let balance = experiment.balance.expect("made of bursts");
            let shares: f64 = tracking.regions.iter().map(|region| region.share[at]).sum();
            assert!((shares - balance.share(balance.clustered())).abs() < 1e-12);
        }
        let balance = tracking.balance().expect("of all experiments");
        assert_eq!((balance.total, sum(&balance)), (together, together));
    }
}

#[test]
fn windows_divide_the_time_too() {
    let (bursts, labels) = experiment(3, 7);
    let mut sum = TimeBalance::default();
    for (part, rows) in windows(&bursts, Windows::Count(5)).expect("five") {
        let of = |row: &u32| labels.as_slice()[*row as usize];
        let labels = Labels::new(rows.iter().map(of).collect());
        sum.merge(&TimeBalance::of(&part, &labels, |_| true).expect("one a burst"));
    }
    assert_eq!(
        sum,
        TimeBalance::of(&bursts, &labels, |_| true).expect("one a burst")
    );
    assert!(matches!(
        TimeBalance::of(&bursts, &Labels::default(), |_| true),
        Err(Error::Length { .. })
    ));
    assert_eq!(TimeBalance::default().share(Amount::default()), 0.0);
}

#[test]
fn points_alone_have_no_balance() {
    let points = perf_track::Points::new(&[0.5, 0.6], 1).expect("finite");
    let labels = [ClusterId(1); 2];
    let seen = Observation::new("", 1, points, &labels, &[1.0, 2.0]).expect("two points");
    let params = Tracking::params().check().expect("defaults");
    let tracking = Tracking::of(&[seen], &params, &Job::default()).expect("one experiment");
    assert_eq!(
        (tracking.experiments[0].balance, tracking.balance()),
        (None, None)
    );
}

/// Finds the minimum duration by trying all.
fn naive(durations: &[i64], share: f64) -> i64 {
    let total: i64 = durations.iter().sum();
    let below = |min: i64| durations.iter().filter(|d| **d < min).sum::<i64>();
    let fits = |min: &i64| below(*min) <= (share * total as f64) as i64;
    let found = durations.iter().copied().filter(fits).max().unwrap_or(0);
    if durations.iter().any(|d| *d < found) {
        found
    } else {
        0
    }
}

#[test]
fn the_minimum_duration_drops_no_more_than_its_share() {
    let mut random = Xorshift::new(3);
    for round in 0..200 {
        let mut bursts = Bursts::default();
        let thread = bursts.add_thread(Thread::default()).expect("one thread");
        let mut durations = Vec::new();
        for _ in 0..random.below(60) {
            let duration = 1_i64 << random.below(20);
            let (begin, end) = (Nanos(0), Nanos(duration));
            let burst = Burst {
                thread,
                begin,
                end,
                ..Burst::default()
            };
            bursts.push(burst, &[]).expect("in order");
            durations.push(duration);
        }
        let share = [0.0, 0.01, 0.1, 0.5][round % 4];
        let cut = DurationCut::of(&bursts, share).expect("in range");
        assert_eq!(cut.min.0, naive(&durations, share), "{durations:?} {share}");
        let below: Vec<i64> = durations
            .iter()
            .copied()
            .filter(|d| *d < cut.min.0)
            .collect();
        assert_eq!(cut.below.bursts as usize, below.len());
        assert_eq!(cut.below.time.0, below.iter().sum::<i64>());
        assert!(cut.below.time.0 as f64 <= share * cut.total.time.0 as f64);
        assert_eq!(DurationCut::shared([&cut, &cut]), cut.min);
    }
    assert_eq!(DurationCut::shared([]), Nanos(0));
    for wrong in [-0.01, 1.01, f64::NAN] {
        assert!(DurationCut::of(&Bursts::default(), wrong).is_err());
    }
}
