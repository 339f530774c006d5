//! Times of reading and writing OTF2: `cargo bench -p perfkit-benches --bench otf2`.

#![allow(missing_docs, reason = "the items are those of criterion's macros")]

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use perfkit::core::{Job, match_messages};
use perfkit::formats::OpenOptions;
use perfkit::formats::otf2::{MemoryArchive, Reader, WriteOptions, write};
use perfkit_benches::inputs;
use std::hint::black_box;

const RANKS: u32 = 64;
const EVENTS: usize = 20_000;

fn reading(criterion: &mut Criterion) {
    let archive = inputs::archive(RANKS, EVENTS);
    let mut group = criterion.benchmark_group("otf2");
    group.throughput(Throughput::Elements(u64::from(RANKS) * EVENTS as u64));
    for threads in [1, 2] {
        group.bench_function(format!("decode, {threads} threads"), |bench| {
            let options = OpenOptions::new().threads(threads);
            bench.iter(|| {
                let reader =
                    Reader::new(&archive, &options, &Job::default()).expect("it was just written");
                black_box(reader.read().expect("it was just written"))
            });
        });
    }
    group.bench_function("merge", |bench| {
        bench.iter(|| {
            let reader = Reader::new(&archive, &OpenOptions::new(), &Job::default())
                .expect("it was just written");
            let mut stream = reader.merged().expect("it was just written");
            let mut events = 0;
            while stream.next().expect("it was just written").is_some() {
                events += 1;
            }
            black_box(events)
        });
    });
    let trace = inputs::trace(RANKS, EVENTS);
    group.bench_function("write", |bench| {
        let work = |mut archive: MemoryArchive| {
            let options = WriteOptions::default();
            write(trace.view(), &mut archive, &options, &Job::default()).expect("memory takes it");
            archive
        };
        bench.iter_batched(MemoryArchive::default, work, BatchSize::PerIteration);
    });
    group.bench_function("match messages", |bench| {
        bench.iter(|| {
            black_box(match_messages(trace.view(), &Job::default()).expect("not cancelled"))
        });
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = reading
}
criterion_main!(benches);
