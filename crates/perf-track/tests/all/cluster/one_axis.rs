//! The radius on one axis: modes of durations, ticks of a clock, equal points.

use perf_core::{Job, Nanos};
use perf_testdata::clusters::{normal, unit};
use perf_testdata::repeats;
use perf_testdata::xorshift::Xorshift;
use perf_track::cluster::{Dbscan, EpsChoice, EpsSearch, EpsWhy};
use perf_track::{Burst, Bursts, Dimension, Error, Points, Scale, Thread};

/// Returns consecutive bursts with the given durations in ticks.
fn bursts(durations: &[i64], tick: i64) -> Bursts {
    let mut bursts = Bursts::default();
    let thread = bursts.add_thread(Thread::default()).expect("one thread");
    let mut begin = 0;
    for duration in durations {
        let end = begin + tick * duration;
        let burst = Burst {
            thread,
            begin: Nanos(begin),
            end: Nanos(end),
            ..Burst::default()
        };
        bursts.push(burst, &[]).expect("in order");
        begin = end + tick;
    }
    bursts
}

fn choose(bursts: &Bursts) -> EpsChoice {
    let scale = Scale::params().dimension(Dimension::new("duration").log(true));
    let scaled = scale
        .check()
        .expect("one axis")
        .fit(&[bursts], &Job::default());
    let scaled = scaled.expect("durations");
    let points = scaled.experiments[0].points().expect("finite");
    let search = EpsSearch::params()
        .min_points(Dbscan::min_points_for(points.len()))
        .floor(scaled.resolution(0, bursts));
    let search = EpsSearch::new(search.check().expect("in range"));
    let job = Job::default();
    let choice = search.choose_weighted(points, &bursts.durations(), &job);
    choice.expect("there are points")
}

/// Returns modes of log-normal durations from 20 us on, each 1.8 to 3.8 times as long as the
/// previous one and 2 to 8 % wide, with different numbers of bursts.
fn modes(count: usize, points: usize, tick: f64, random: &mut Xorshift) -> Vec<i64> {
    let mut centre = 20_000_f64.ln();
    let mut all = Vec::new();
    for _ in 0..count {
        let own = points as f64 / count as f64 * (0.4 + 1.2 * unit(random));
        let width = 0.02 + 0.06 * unit(random);
        for _ in 0..own as usize {
            let duration = (centre + width * normal(random).0).exp();
            all.push((duration / tick).round().max(1.0) as i64);
        }
        centre += (1.8 + 2.0 * unit(random)).ln();
    }
    all
}

/// Several seeds of 2 to 6 modes, with few and many bursts and clocks of 1 ns to 1 us.
#[test]
fn modes_of_durations_are_counted() {
    let seeds = repeats(10, 3);
    let series = 5 * seeds as usize;
    for points in [300, 3_000] {
        for tick in [1, 100, 1_000] {
            let mut right = 0;
            let mut wrong = Vec::new();
            for count in 2..=6 {
                for seed in 1..=seeds {
                    let mut random = Xorshift::new(1_000 * count as u64 + seed);
                    let durations = modes(count, points, tick as f64, &mut random);
                    let choice = choose(&bursts(&durations, tick));
                    right += usize::from(choice.clusters == count);
                    if choice.clusters != count {
                        wrong.push((count, seed, choice.clusters));
                    }
                    assert!(choice.clusters <= 3 * count, "{count} {seed} {choice:?}");
                }
            }
            println!("{points} points, tick {tick}: {right} of {series} {wrong:?}");
            // The tails of wide and near modes touch, so two of them may be one cluster.
            assert!(right + repeats(5, 2) >= series, "{points} {tick}: {right}");
        }
    }
}

#[test]
fn a_coarse_clock_makes_no_clusters() {
    // Two modes of eleven ticks each: by nearest neighbours alone each tick would be a cluster.
    let durations: Vec<i64> = (0..2_000)
        .map(|at| {
            if at % 2 == 0 {
                40 + at / 2 % 11
            } else {
                160 + at / 2 % 11
            }
        })
        .collect();
    let coarse = bursts(&durations, 1_000);
    assert_eq!(coarse.tick(), Nanos(1_000));
    assert_eq!(choose(&coarse).clusters, 2);
    assert_eq!(bursts(&[3, 5], 1).tick(), Nanos(1));
    assert_eq!(Bursts::default().tick(), Nanos(1));
}

#[test]
fn equal_points_are_one_cluster() {
    let search = |least: usize| {
        EpsSearch::new(
            EpsSearch::params()
                .min_points(least)
                .check()
                .expect("in range"),
        )
    };
    let choose = |values: &[f64], least: usize| {
        let points = Points::new(values, 1).expect("finite");
        search(least).choose(points, &Job::default())
    };
    let same = choose(&[0.25; 400], 4).expect("enough points");
    assert_eq!((same.clusters, same.noise), (1, 0.0));
    assert_eq!(same.why, EpsWhy::Resolution);
    // It is compatible with any radius that another experiment needs.
    let other = EpsChoice {
        eps: 0.02,
        least: 0.01,
        ..same.clone()
    };
    assert_eq!(EpsChoice::shared(&[same, other]), Some(0.02));
    // Two distinct values without any in between.
    let mut two = vec![0.25; 400];
    two.extend([0.75; 300]);
    let two = choose(&two, 4).expect("enough points");
    assert_eq!((two.clusters, two.noise), (2, 0.0));
    // A single separate point is noise.
    let mut apart = vec![0.25; 400];
    apart.push(9.0);
    let apart = choose(&apart, 4).expect("enough points");
    assert_eq!(apart.clusters, 1);
    assert!(apart.noise < 0.01);
    for few in [&[][..], &[0.5; 3]] {
        assert_eq!(choose(few, 4).err(), Some(Error::NoScale));
    }
    for wrong in [-0.1, 1.0, f64::NAN] {
        assert!(EpsSearch::params().resolution(wrong).check().is_err());
    }
    assert!(EpsSearch::params().floor(f64::INFINITY).check().is_err());
}
