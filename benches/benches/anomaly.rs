//! Times of anomaly detection: `cargo bench -p perfkit-benches --bench anomaly`.

#![allow(missing_docs, reason = "the items are those of criterion's macros")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use perfkit::anomaly::calls::Calls;
use perfkit::anomaly::{Copod, Detector, Hbos, Model, Monitor, Sstd, StrictParams, Tail};
use perfkit::core::{EventSink, Job, Nanos};
use perfkit_benches::{inputs, stream};
use std::hint::black_box;

/// Numbers of functions and calls of a step. Each measurement adds one step.
const FUNCTIONS: u32 = 100;
const CALLS: usize = 100_000;

fn detectors() -> [Box<dyn Detector>; 4] {
    let strict = || StrictParams::default().check().expect("defaults");
    [
        Box::new(Tail::default()),
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
                detector
                    .detect(black_box(&samples), &mut judgements, &Job::default())
                    .expect("not cancelled");
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

/// Measures 100,000 events for each step, from events to calls and from events to labels.
fn labelling(criterion: &mut Criterion) {
    const EVENTS: usize = 100_000;
    let mut group = criterion.benchmark_group("events to");
    group.throughput(Throughput::Elements(EVENTS as u64));
    let calls = || Calls::default();
    let mut sink = calls();
    let (id, events) = stream::events(EVENTS, &mut sink);
    // Each step continues at the end of the previous one.
    let span = events.last().map_or(0, |(at, _)| at.0);
    let mut step = 0;
    group.bench_function("calls", |bench| {
        bench.iter(|| {
            for (at, event) in &events {
                sink.push(id, Nanos(at.0 + span * step), *event);
            }
            sink.end_step(step as u64);
            step += 1;
        });
    });
    let tail = Tail::default();
    let mut monitor = Monitor::new(calls(), Box::new(tail));
    let (id, events) = stream::events(EVENTS, &mut monitor);
    let mut step = 0;
    group.bench_function("labels", |bench| {
        bench.iter(|| {
            for (at, event) in &events {
                monitor.push(id, Nanos(at.0 + span * step), *event);
            }
            monitor.end_step(step as u64);
            step += 1;
        });
    });
    group.finish();
}

criterion_group!(benches, labelling, detecting, merging);
criterion_main!(benches);
