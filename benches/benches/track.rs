//! Times of tracking: series of experiments with many bursts, and with many clusters.

use criterion::{Criterion, criterion_group, criterion_main};
use perf_testdata::xorshift::Xorshift;
use perfkit::core::Job;
use perfkit::track::tracking::{Mode, Observation, Tracking};
use perfkit::track::{ClusterId, Points};

/// Experiment: coordinates, clusters, durations.
type Experiment = (Vec<f64>, Vec<ClusterId>, Vec<f64>);

/// Returns clusters on a grid that move a little from experiment to experiment.
fn series(experiments: u64, clusters: u32, bursts: u32) -> Vec<Experiment> {
    let side = f64::from(clusters).sqrt().ceil();
    let experiment = |experiment: u64| {
        let mut random = Xorshift::new(experiment + 1);
        let mut unit = || random.below(1 << 24) as f64 / f64::from(1 << 24);
        let (mut points, mut labels, mut time) = (Vec::new(), Vec::new(), Vec::new());
        for cluster in 0..clusters {
            let (x, y) = (
                f64::from(cluster) % side,
                (f64::from(cluster) / side).floor(),
            );
            for _ in 0..bursts {
                let drift = 0.05 * experiment as f64;
                points.extend([x + drift + 0.4 * unit(), y - drift + 0.4 * unit()]);
                labels.push(ClusterId(cluster + 1));
                time.push(1e6 * (1.0 + f64::from(cluster)) * (0.9 + 0.2 * unit()));
            }
        }
        (points, labels, time)
    };
    (0..experiments).map(experiment).collect()
}

fn track(experiments: &[Experiment], mode: Mode) -> usize {
    let params = Tracking::params().mode(mode).check().expect("defaults");
    let seen = experiments.iter().map(|(points, labels, time)| {
        let points = Points::new(points, 2).expect("points");
        Observation::new("", 16, points, labels, time).expect("one each")
    });
    let seen: Vec<_> = seen.collect();
    let tracking = Tracking::of(&seen, &params, &Job::default());
    tracking.expect("it tracks").regions.len()
}

fn bench(criterion: &mut Criterion) {
    for (name, experiments, clusters, bursts) in [
        (
            "3 experiments of 20 clusters, 100k bursts each",
            3,
            20,
            5_000,
        ),
        ("20 experiments of 30 clusters, 3k bursts each", 20, 30, 100),
        ("4 experiments of 400 clusters, 8k bursts each", 4, 400, 20),
    ] {
        let experiments = series(experiments, clusters, bursts);
        for (mode, of) in [("optimal", Mode::Optimal), ("published", Mode::Published)] {
            criterion.bench_function(&format!("track {mode}: {name}"), |bencher| {
                bencher.iter(|| track(&experiments, of));
            });
        }
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10);
    targets = bench
}
criterion_main!(benches);
