//! Times of burst extraction and alignment: `cargo bench -p perfkit-benches --bench bursts`.

#![allow(missing_docs, reason = "the items are those of criterion's macros")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use perfkit::core::Job;
use perfkit::track::{Align, Extract};
use perfkit_benches::inputs;
use std::hint::black_box;

const RANKS: u32 = 256;
const EVENTS: usize = 20_000;

fn extracting(criterion: &mut Criterion) {
    let trace = inputs::trace(RANKS, EVENTS);
    let extract = Extract::params().metric("duration").check();
    let extract = extract.expect("they are valid");
    let mut group = criterion.benchmark_group("bursts");
    group.throughput(Throughput::Elements(u64::from(RANKS) * EVENTS as u64));
    group.bench_function("extract", |bench| {
        bench.iter(|| black_box(extract.extract(trace.view(), &Job::default())));
    });
    group.finish();
}

fn aligning(criterion: &mut Criterion) {
    let align = Align::default();
    let mut group = criterion.benchmark_group("align 256 x 500");
    for (name, edits) in [("1 % edited", 10), ("20 % edited", 200)] {
        let (sequences, shares) = inputs::sequences(256, 500, edits);
        group.bench_function(name, |bench| {
            bench.iter(|| black_box(align.align(&sequences, &shares, &Job::default())));
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10);
    targets = extracting, aligning
}
criterion_main!(benches);
