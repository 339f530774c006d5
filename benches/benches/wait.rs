//! Times of wait states, delays, critical path and efficiencies: `cargo bench -p perfkit-benches --bench wait`.

#![allow(missing_docs, reason = "the items are those of criterion's macros")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use perf_testdata::ring;
use perfkit::core::Job;
use perfkit::wait::activity::Activities;
use perfkit::wait::critical::{CriticalPath, Extent};
use perfkit::wait::delay::DelayCosts;
use perfkit::wait::efficiency::{Efficiencies, IdealNetwork};
use perfkit::wait::waits::WaitStates;
use std::hint::black_box;

fn wait(criterion: &mut Criterion) {
    let (trace, job) = (ring::trace(64, 1_500), Job::default());
    let view = trace.view();
    let activities = Activities::of(view, &job).expect("it can be read");
    let waits = WaitStates::of_activities(&activities, &job).expect("likewise");
    let mut group = criterion.benchmark_group("wait");
    group.sample_size(10);
    group.throughput(Throughput::Elements(trace.len() as u64));
    group.bench_function("activities", |bench| {
        bench.iter(|| black_box(Activities::of(view, &job).expect("it can be read")));
    });
    group.bench_function("states", |bench| {
        bench.iter(|| black_box(WaitStates::of_activities(&activities, &job).expect("likewise")));
    });
    group.bench_function("delays", |bench| {
        let delays = || DelayCosts::of(view, &activities, &waits, &job).expect("likewise");
        bench.iter(|| black_box(delays()));
    });
    group.bench_function("critical path", |bench| {
        let path = || CriticalPath::of(view, &activities, &waits, Extent::Run, &job);
        bench.iter(|| black_box(path().expect("likewise")));
    });
    group.bench_function("efficiencies", |bench| {
        let network = IdealNetwork::default();
        let found = || Efficiencies::of_activities(view, &activities, &network, &job);
        bench.iter(|| black_box(found().expect("likewise")));
    });
    group.finish();
}

criterion_group!(benches, wait);
criterion_main!(benches);
