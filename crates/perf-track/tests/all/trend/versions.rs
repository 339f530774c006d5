//! Comparison of versions: power and false alarms on runs drawn from a recorded one.

use perf_core::{Job, Nanos};
use perf_formats::{OpenOptions, open};
use perf_testdata::clusters::unit;
use perf_testdata::xorshift::Xorshift;
use perf_track::cluster::{Clusterer, Dbscan};
use perf_track::tracking::{Observation, Tracking};
use perf_track::trend::{Measured, Sample, Trends, VersionParams};
use perf_track::{Bursts, ClusterId, Dimension, Experiment, Extract, Points, Scale};
use std::collections::BTreeMap;
use std::path::Path;

/// Durations of each thread by cluster.
type Recorded = BTreeMap<(u32, ClusterId), Vec<f64>>;

/// Returns the clusters of `jacobi-16` as in the documentation, and the durations of their bursts.
fn recorded() -> (Recorded, usize) {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../data/recordings/jacobi-16"
    );
    let job = Job::default();
    let trace = open(Path::new(path), &OpenOptions::new(), &job)
        .expect("it can be read")
        .into_trace()
        .expect("it is a trace");
    let extract = Extract::params()
        .metric("work")
        .min_duration(Nanos(20_000))
        .check()
        .expect("they are valid");
    let (mut bursts, _): (Bursts, _) = extract.extract(trace.view(), &job).expect("work is there");
    let scale = Scale::params().dimension(Dimension::new("work").log(true));
    let scale = scale.dimension(Dimension::new("duration").log(true));
    let scaled = scale
        .check()
        .expect("axes")
        .fit(&[&bursts], &job)
        .expect("a space");
    let [scaled] = scaled.experiments.as_slice() else {
        panic!("one experiment");
    };
    scaled.mark_left_out(&mut bursts).expect("rows");
    let dbscan = Dbscan::new(
        Dbscan::params()
            .eps(0.04)
            .min_points(4)
            .check()
            .expect("valid"),
    );
    let labels = dbscan
        .cluster(scaled.points().expect("points"), &job)
        .expect("clusters");
    let all = scaled
        .spread(labels.as_slice(), &bursts, ClusterId::NOISE)
        .expect("rows");
    let labels = perf_track::Labels::new(all)
        .by_weight(&bursts.durations())
        .expect("one each");
    let clusters = labels.clusters();
    let experiment = Experiment::new("", bursts, labels).expect("one label each");
    let mut recorded = Recorded::new();
    let durations = experiment.bursts().durations();
    for (row, label) in experiment.labels().as_slice().iter().enumerate() {
        if *label != ClusterId::NOISE {
            let thread = experiment.bursts().rows()[row].thread;
            recorded
                .entry((thread, *label))
                .or_default()
                .push(durations[row]);
        }
    }
    (recorded, clusters)
}

/// Returns a standard normal number.
fn normal(random: &mut Xorshift) -> f64 {
    (0..12).map(|_| unit(random)).sum::<f64>() - 6.0
}

/// Draws a run: bursts of each thread with replacement, noise of 0.7 % that all regions of the run share,
/// and 0.7 % of each region. Region 2 takes `factor` as long.
fn run(recorded: &Recorded, clusters: usize, factor: f64, random: &mut Xorshift) -> Measured {
    let common = 0.007 * normal(random);
    let own: Vec<f64> = (0..=clusters).map(|_| 0.007 * normal(random)).collect();
    let (mut labels, mut threads, mut times) = (Vec::new(), Vec::new(), Vec::new());
    for ((thread, label), durations) in recorded {
        for _ in durations {
            let drawn = durations[random.below(durations.len() as u64) as usize];
            let slower = if label.0 == 2 { factor } else { 1.0 };
            labels.push(*label);
            threads.push(*thread);
            times.push(drawn * slower * (common + own[label.0 as usize]).exp());
        }
    }
    let measured = Measured::new(&labels).threads(threads).expect("one each");
    measured.column("duration", "ns", times).expect("one each")
}

/// Tracks the clusters of equal numbers in `runs` experiments.
fn tracking(clusters: usize, runs: usize) -> Tracking {
    let points: Vec<f64> = (1..=clusters).map(|id| id as f64).collect();
    let ids: Vec<ClusterId> = (1..=clusters as u32).map(ClusterId).collect();
    let time = vec![1.0; clusters];
    let seen: Vec<_> = (0..runs)
        .map(|_| {
            let points = Points::new(&points, 1).expect("points");
            Observation::new("", 16, points, &ids, &time).expect("seen")
        })
        .collect();
    let tracking = Tracking::of(&seen, &Default::default(), &Job::default()).expect("it tracks");
    for (at, region) in tracking.regions.iter().enumerate() {
        assert!(
            region
                .members
                .iter()
                .all(|of| *of == [ClusterId(at as u32 + 1)])
        );
    }
    tracking
}

#[test]
fn a_slowdown_of_five_per_cent_is_found_and_equal_versions_raise_no_alarm() {
    let (recorded, clusters) = recorded();
    assert!(clusters >= 3, "{clusters}");
    let tracking = tracking(clusters, 10);
    let mut random = Xorshift::new(2_026);
    let (mut found, mut wrong, mut alarms) = (0, 0, 0);
    for factor in [1.05, 1.0] {
        for _ in 0..100 {
            // Interleaved: the runs of both versions alternate, and noise does not depend on the version.
            let mut versions = [Vec::new(), Vec::new()];
            for _ in 0..5 {
                versions[0].push(run(&recorded, clusters, 1.0, &mut random));
                versions[1].push(run(&recorded, clusters, factor, &mut random));
            }
            let trends = Trends::of(&tracking, versions.concat()).expect("ten runs");
            let changes = trends.versions(5, "duration", &VersionParams::default());
            let changes = changes.expect("two versions");
            assert!(
                changes
                    .iter()
                    .all(|of| of.sample == Sample::Runs && of.samples == [5, 5])
            );
            let slower = changes.iter().filter(|of| of.is_slower);
            let slower: Vec<u32> = slower.map(|of| of.region.0).collect();
            if factor > 1.0 {
                found += usize::from(slower.contains(&2));
                wrong += usize::from(slower.iter().any(|id| *id != 2));
            } else {
                alarms += usize::from(!slower.is_empty());
            }
        }
    }
    println!("found {found} of 100, wrong regions in {wrong}, alarms in {alarms} of 100");
    assert!(
        found >= 95 && wrong <= 1 && alarms <= 1,
        "{found} {wrong} {alarms}"
    );
}

#[test]
fn one_run_of_each_version_is_compared_by_threads() {
    let ids = [ClusterId(1); 8];
    let threads: Vec<u32> = (0..8).map(|at| at / 2).collect();
    let measured = |factor: f64| {
        let time =
            (0..8).map(|at| factor * (1.0 + 0.1 * f64::from(at / 2) + 0.001 * f64::from(at % 3)));
        let measured = Measured::new(&ids)
            .threads(threads.clone())
            .expect("one each");
        measured
            .column("duration", "s", time.collect())
            .expect("one each")
    };
    let tracking = tracking(1, 2);
    let trends = Trends::of(&tracking, vec![measured(1.0), measured(1.08)]).expect("two runs");
    let changes = trends
        .versions(1, "duration", &VersionParams::default())
        .expect("two versions");
    let [change] = changes.as_slice() else {
        panic!("one region");
    };
    assert_eq!((change.sample, change.samples), (Sample::Threads, [4, 4]));
    // Differences between threads are larger than the slowdown, but pairs remove them.
    assert!(
        change.is_slower && (change.factor - 1.08).abs() < 1e-9,
        "{change:?}"
    );

    // A single thread has no noise to be compared with.
    let one = |factor: f64| Measured::new(&ids).column("duration", "s", vec![factor; 8]);
    let runs = vec![one(1.0).expect("one each"), one(2.0).expect("one each")];
    let trends = Trends::of(&tracking, runs).expect("two runs");
    let changes = trends
        .versions(1, "duration", &VersionParams::default())
        .expect("two versions");
    assert!(changes[0].probability.is_none() && !changes[0].is_slower);
    for old in [0, 2] {
        assert!(
            trends
                .versions(old, "duration", &VersionParams::default())
                .is_err()
        );
    }
}

#[test]
fn a_region_that_runs_more_often_is_found() {
    let measured = |bursts: usize, time: f64| {
        let measured = Measured::new(&vec![ClusterId(1); bursts]);
        measured
            .column("duration", "s", vec![time; bursts])
            .expect("one each")
    };
    let is_found = |bursts: [usize; 4], time: f64| {
        let runs = bursts.into_iter().enumerate();
        let runs = runs.map(|(run, bursts)| measured(bursts, if run < 2 { 1.0 } else { time }));
        let trends = Trends::of(&tracking(1, 4), runs.collect()).expect("four runs");
        let changes = trends.versions(2, "duration", &VersionParams::default());
        let change = changes.expect("two versions")[0];
        assert!(!change.is_slower, "{change:?}");
        change.is_more_often
    };
    assert!(is_found([8, 8, 16, 16], 0.9));
    // Half as long and twice as often is as long in total.
    assert!(!is_found([8, 8, 16, 16], 0.5));
    assert!(!is_found([16, 16, 8, 8], 1.0));
    // Numbers that differ between runs of a version depend on the clusters of the runs.
    assert!(!is_found([8, 8, 15, 16], 0.9));
}
