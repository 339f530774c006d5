//! Times of reading and writing Paraver traces: `cargo bench -p perfkit-benches --bench paraver`.

#![allow(missing_docs, reason = "the items are those of criterion's macros")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use perfkit::core::Job;
use perfkit::formats::OpenOptions;
use perfkit::formats::paraver::{Pcf, Reader, Row, Writer, into_trace};
use std::hint::black_box;

fn reading(criterion: &mut Criterion) {
    let text = perf_testdata::paraver::text(16, 4_000);
    let mut group = criterion.benchmark_group("paraver");
    group.throughput(Throughput::Bytes(text.len() as u64));
    for threads in [1, 2] {
        let options = OpenOptions::new().threads(threads);
        group.bench_function(format!("records, {threads} threads"), |bench| {
            bench.iter(|| {
                let mut reader = Reader::new(text.as_bytes(), "x", &options, &Job::default())
                    .expect("it was just made");
                let mut records = 0;
                while let Some(batch) = reader.next_batch().expect("it was just made") {
                    records += batch.len();
                }
                black_box(records)
            });
        });
        group.bench_function(format!("trace, {threads} threads"), |bench| {
            bench.iter(|| {
                let reader = Reader::new(text.as_bytes(), "x", &options, &Job::default())
                    .expect("it was just made");
                let (pcf, row) = (Pcf::default(), Row::default());
                black_box(into_trace(reader, &pcf, &row).expect("it was just made"))
            });
        });
    }
    group.bench_function("records there and back", |bench| {
        let options = OpenOptions::new().threads(1);
        bench.iter(|| {
            let mut reader = Reader::new(text.as_bytes(), "x", &options, &Job::default())
                .expect("it was just made");
            let mut writer = Writer::new(std::io::sink(), "y");
            while let Some(batch) = reader.next_batch().expect("it was just made") {
                writer.batch(batch).expect("a sink takes it");
            }
            writer.finish().expect("a sink takes it")
        });
    });
    group.finish();
}

criterion_group!(benches, reading);
criterion_main!(benches);
