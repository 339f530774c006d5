//! Comparison of versions: power and false alarms on runs drawn from a recorded one.

use perf_core::{Job, Nanos};
use perf_formats::{OpenOptions, open};
use perf_testdata::clusters::unit;
use perf_testdata::xorshift::Xorshift;
use perf_track::cluster::{Clusterer, Dbscan};
use perf_track::tracking::{Observation, Tracking};
use perf_track::trend::{Measured, Sample, Trends, VersionChange, VersionParams};
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

/// Variation of the numbers of bursts between runs of one version.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Counts {
    /// None.
    Fixed,
    /// A solver converges after 46 to 54 steps, where the recorded run has 50.
    Steps,
    /// Threads take bursts from each other; a region has as many in each run.
    Stealing,
    /// Threads take bursts from each other, and each region has up to 2 % more or fewer.
    Uneven,
    /// Each region has one burst more on each thread in half of the runs.
    TwoValues,
    /// The same, of all regions together.
    TwoValuesTogether,
}

const COUNTS: [Counts; 6] = [
    Counts::Fixed,
    Counts::Steps,
    Counts::Stealing,
    Counts::Uneven,
    Counts::TwoValues,
    Counts::TwoValuesTogether,
];

/// Change of region 2 in a version.
#[derive(Clone, Copy, Debug)]
struct Change {
    /// Factor of the time of a burst.
    time: f64,
    /// Factor of the number of bursts.
    bursts: f64,
}

const NONE: Change = Change {
    time: 1.0,
    bursts: 1.0,
};

/// Draws a run: bursts of each thread with replacement, noise of 0.7 % that all regions of the run share,
/// and 0.7 % of each region.
fn run(
    recorded: &Recorded,
    clusters: usize,
    (change, counts): (Change, Counts),
    random: &mut Xorshift,
) -> Measured {
    let common = 0.007 * normal(random);
    let own: Vec<f64> = (0..=clusters).map(|_| 0.007 * normal(random)).collect();
    let steps = 46 + random.below(9) as usize;
    let more: Vec<usize> = (0..=clusters).map(|_| random.below(2) as usize).collect();
    let (mut labels, mut threads, mut times) = (Vec::new(), Vec::new(), Vec::new());
    // Bursts that the previous thread of each region left to the next one.
    let mut left = vec![0; clusters + 1];
    let last: BTreeMap<ClusterId, u32> = recorded
        .keys()
        .map(|(thread, label)| (*label, *thread))
        .collect();
    for ((thread, label), durations) in recorded {
        let region = label.0 as usize;
        let is_changed = region == 2;
        let mut count = durations.len();
        match counts {
            Counts::Fixed => {}
            Counts::Steps => count = (count * steps).div_ceil(50),
            Counts::Stealing | Counts::Uneven => {
                count += left[region];
                let is_last = last.get(label) == Some(thread);
                left[region] = 0;
                if !is_last || counts == Counts::Uneven {
                    left[region] = random.below(count as u64 / 5 + 1) as usize;
                }
                count -= left[region];
            }
            Counts::TwoValues => count += more[region],
            Counts::TwoValuesTogether => count += more[0],
        }
        if is_changed {
            count = (count as f64 * change.bursts).round() as usize;
        }
        for _ in 0..count {
            let drawn = durations[random.below(durations.len() as u64) as usize];
            let slower = if is_changed { change.time } else { 1.0 };
            labels.push(*label);
            threads.push(*thread);
            times.push(drawn * slower * (common + own[region]).exp());
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

/// Repetitions with alarms.
#[derive(Debug, Default)]
struct Alarms {
    /// Slowdown of the changed region.
    slower: usize,
    /// Higher number of bursts of the changed region.
    more_often: usize,
    /// Alarm of any kind for another region.
    others: usize,
    /// Alarm of any kind.
    any: usize,
}

/// Compares five runs of each version in 100 repetitions. The runs are interleaved: those of both versions alternate,
/// and noise does not depend on the version.
fn repeated(change: Change, counts: Counts, seed: u64) -> Alarms {
    let (recorded, clusters) = recorded();
    assert!(clusters >= 3, "{clusters}");
    let tracking = tracking(clusters, 10);
    let mut random = Xorshift::new(seed);
    let mut alarms = Alarms::default();
    for _ in 0..100 {
        let mut versions = [Vec::new(), Vec::new()];
        for _ in 0..5 {
            for (runs, change) in versions.iter_mut().zip([NONE, change]) {
                runs.push(run(&recorded, clusters, (change, counts), &mut random));
            }
        }
        let trends = Trends::of(&tracking, versions.concat()).expect("ten runs");
        let changes = trends.versions(5, "duration", &VersionParams::default());
        let changes = changes.expect("two versions");
        assert!(
            changes
                .iter()
                .all(|of| of.sample == Sample::Runs && of.samples == [5, 5])
        );
        let is_any = |of: &VersionChange| of.is_slower || of.is_more_often;
        let own = changes.iter().find(|of| of.region.0 == 2);
        let own = own.expect("the region is tested");
        alarms.slower += usize::from(own.is_slower);
        alarms.more_often += usize::from(own.is_more_often);
        alarms.any += usize::from(changes.iter().any(is_any));
        let mut others = changes.iter().filter(|of| of.region.0 != 2);
        alarms.others += usize::from(others.any(is_any));
    }
    println!("{counts:?} {change:?}: {alarms:?}");
    alarms
}

#[test]
fn a_slowdown_of_five_per_cent_is_found_and_equal_versions_raise_no_alarm() {
    for (seed, counts) in (2_026..).zip(COUNTS) {
        let slower = Change { time: 1.05, ..NONE };
        let alarms = repeated(slower, counts, seed);
        assert!(
            alarms.slower >= 95 && alarms.others <= 1,
            "{counts:?} {alarms:?}"
        );
        let alarms = repeated(NONE, counts, seed + 100);
        assert!(alarms.any <= 1, "{counts:?} {alarms:?}");
    }
}

/// A region that each run executes a tenth more often is found if the numbers of the program are fixed, and one that
/// is executed twice as often also if those of other regions vary.
#[test]
fn more_bursts_are_found_beside_regions_whose_numbers_vary() {
    let more = Change {
        bursts: 1.1,
        ..NONE
    };
    let alarms = repeated(more, Counts::Fixed, 7);
    assert!(alarms.more_often == 100 && alarms.others <= 1, "{alarms:?}");
    let twice = Change {
        bursts: 2.0,
        ..NONE
    };
    let alarms = repeated(twice, Counts::Stealing, 8);
    assert!(alarms.more_often == 100 && alarms.others <= 1, "{alarms:?}");
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
