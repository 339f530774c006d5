//! Times of detection, for people: `cargo bench -p perfkit-benches --bench anomaly`.

#![allow(missing_docs, reason = "the items are those of criterion's macros")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use perfkit::anomaly::{Copod, Detector, Hbos, Model, Sstd, StrictParams, Tail};
use perfkit_benches::inputs;
use std::hint::black_box;

/// Functions and calls of a step; each measurement is of one more step.
const FUNCTIONS: u32 = 100;
const CALLS: usize = 100_000;

fn detectors() -> [Box<dyn Detector>; 4] {
    let strict = || StrictParams::default().check().expect("defaults");
    [
        Box::new(Tail::new(Tail::params().check().expect("defaults"))),
        Box::new(Sstd::new(strict())),
        Box::new(Hbos::new(strict())),
        Box::new(Copod::new(strict())),
    ]
}

fn detecting(criterion: &mut Criterion) {
    let samples = inputs::samples(FUNCTIONS, CALLS);
    let mut group = criterion.benchmark_group("detect");
    group.throughput(Throughput::Elements(CALLS as u64));
    for mut detector in detectors() {
        let mut judgements = Vec::with_capacity(CALLS);
        group.bench_function(detector.name(), |bench| {
            bench.iter(|| {
                judgements.clear();
                detector.detect(black_box(&samples), &mut judgements);
            });
        });
    }
    group.finish();
}

fn merging(criterion: &mut Criterion) {
    let samples = inputs::samples(1000, CALLS);
    let mut group = criterion.benchmark_group("merge 1,000 functions");
    for mut detector in detectors() {
        detector.learn(&samples);
        let (name, delta) = (detector.name(), detector.take_delta());
        let mut server = delta.clone();
        group.bench_function(name, |bench| {
            bench.iter(|| server.merge(black_box(&delta)));
        });
        let bytes = delta.encode();
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        group.bench_function(format!("{name}, decode"), |bench| {
            bench.iter(|| black_box(Model::decode(&bytes)));
        });
    }
    group.finish();
}

criterion_group!(benches, detecting, merging);
criterion_main!(benches);
