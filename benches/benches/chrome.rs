//! Times of reading and writing Chrome traces: `cargo bench -p perfkit-benches --bench chrome`.

#![allow(missing_docs, reason = "the items are those of criterion's macros")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use perfkit::core::Job;
use perfkit::formats::{OpenOptions, chrome};
use std::hint::black_box;
use std::io::Cursor;

fn reading(criterion: &mut Criterion) {
    let mut text = Vec::new();
    perf_testdata::kineto::write(&mut text, 0, 60 << 20).expect("memory takes it");
    let options = OpenOptions::new().threads(1);
    let mut group = criterion.benchmark_group("chrome");
    group.sample_size(10);
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("read 60 MB", |bench| {
        bench.iter_batched(
            || Cursor::new(text.clone()),
            |text| {
                black_box(
                    chrome::read("made", text, &options, &Job::default())
                        .expect("it was just made"),
                )
            },
            criterion::BatchSize::PerIteration,
        );
    });
    let recording = chrome::read("made", Cursor::new(text), &options, &Job::default())
        .expect("it was just made");
    let trace = recording.into_trace().expect("it is one");
    group.bench_function("write the same", |bench| {
        bench.iter(|| {
            let mut sink = std::io::sink();
            chrome::write(trace.view(), &mut sink, &Job::default()).expect("a sink takes it")
        });
    });
    group.finish();
}

criterion_group!(benches, reading);
criterion_main!(benches);
