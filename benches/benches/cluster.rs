//! Times of clustering: `cargo bench -p perfkit-benches --bench cluster`.

#![allow(missing_docs, reason = "the items are those of criterion's macros")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use perfkit::core::Job;
use perfkit::track::Points;
use perfkit::track::cluster::{Clusterer, Dbscan, Hdbscan, KdTree, k_distances};
use std::hint::black_box;

fn clustering(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("cluster");
    for (name, count, eps) in [
        ("100k, eps 0.01", 100_000, 0.01),
        ("100k, eps 0.002", 100_000, 0.002),
        ("1M, eps 0.01", 1_000_000, 0.01),
    ] {
        let phases = perf_testdata::clusters::phases(count, 1);
        let points = Points::new(&phases.values, 2).expect("finite");
        let params = Dbscan::params().eps(eps).min_points(10).check();
        let dbscan = Dbscan::new(params.expect("in range"));
        group.throughput(Throughput::Elements(count as u64));
        group.bench_function(format!("dbscan, {name}"), |bench| {
            bench.iter(|| black_box(dbscan.cluster(points, &Job::default())));
        });
    }
    let phases = perf_testdata::clusters::phases(100_000, 1);
    let points = Points::new(&phases.values, 2).expect("finite");
    group.throughput(Throughput::Elements(100_000));
    group.bench_function("k-d tree, 100k", |bench| {
        bench.iter(|| black_box(KdTree::new(points, &Job::default()).expect("not cancelled")));
    });
    group.bench_function("k-distances, 100k, k 9", |bench| {
        bench.iter(|| black_box(k_distances(points, 9, &Job::default())));
    });
    let params = Hdbscan::params()
        .min_cluster_size(100)
        .min_points(10)
        .check();
    let hdbscan = Hdbscan::new(params.expect("in range"));
    group.bench_function("hdbscan, 100k", |bench| {
        bench.iter(|| black_box(hdbscan.cluster(points, &Job::default())));
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10);
    targets = clustering
}
criterion_main!(benches);
