//! Times of reading Cube profiles: `cargo bench -p perfkit-benches --bench cube`.

#![allow(missing_docs, reason = "the items are those of criterion's macros")]

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use perfkit::core::{CallPathId, Job, MetricId};
use perfkit::formats::OpenOptions;
use perfkit::formats::cube::Cube;
use perfkit_benches::inputs;
use std::hint::black_box;

fn open(bytes: Vec<u8>) -> Cube {
    Cube::from_bytes(bytes, "bench.cubex", &OpenOptions::new(), &Job::default())
        .expect("it was just written")
}

/// Sums the lengths of all rows, so that each row is read.
fn all(cube: &Cube) -> usize {
    let profile = cube.profile();
    let mut values = 0;
    for metric in (0..profile.metrics().len() as u32).map(MetricId) {
        for path in profile.paths(metric) {
            let row = profile.row(metric, path).expect("it was just written");
            values += row.map_or(0, |row| row.len());
        }
    }
    values
}

fn reading(criterion: &mut Criterion) {
    for (name, locations, paths, packed) in [
        ("wide", 1024, 200, false),
        ("wide, packed", 1024, 200, true),
        ("many call paths", 16, 4000, false),
    ] {
        let bytes = inputs::cubex(locations, paths, packed);
        let mut group = criterion.benchmark_group(format!("cube, {name}"));
        group.bench_function("open", |bench| {
            bench.iter_batched(|| bytes.clone(), open, BatchSize::LargeInput);
        });
        group.bench_function("open, one view", |bench| {
            let work = |bytes| {
                let cube = open(bytes);
                let row = cube.profile().row(MetricId(1), CallPathId(77));
                black_box(row.expect("it was just written"))
            };
            bench.iter_batched(|| bytes.clone(), work, BatchSize::LargeInput);
        });
        let cube = open(bytes);
        group.throughput(Throughput::Elements(4 * u64::from(locations * paths)));
        group.bench_function("all rows", |bench| bench.iter(|| black_box(all(&cube))));
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = reading
}
criterion_main!(benches);
