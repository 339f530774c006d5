//! Times of transforms and correlations: `cargo bench -p perfkit-benches --bench spectral`.

#![allow(missing_docs, reason = "the items are those of criterion's macros")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use perfkit::core::Job;
use perfkit::spectral::{
    AxisFilter, CheckedRelations, GridParams, Grids, Kinship, RankParams, Real, Spectra, Transform,
};
use perfkit_benches::inputs;
use std::hint::black_box;

/// Shapes of Table 1 of the paper that fit into a second-level cache, and a shape with odd lengths
/// that have prime factors above 7.
const SHAPES: [(&str, &[usize]); 3] = [
    ("Sweep3D", &[32, 32, 64]),
    ("psOpen", &[4, 4, 4, 8, 2, 16, 4]),
    ("13x22x26", &[13, 22, 26]),
];
const VIEWS: usize = 64;

fn kind<T: Real>(criterion: &mut Criterion, kind: &str, of: fn(f64) -> T) {
    let mut group = criterion.benchmark_group("spectral");
    for (name, dims) in SHAPES {
        let points: usize = dims.iter().product();
        group.throughput(Throughput::Elements(points as u64));
        let views = inputs::views(dims, VIEWS);
        let plan = Transform::<T>::new(dims).expect("a shape");
        let view: Vec<T> = views[1].iter().map(|value| of(*value)).collect();
        let (mut spectrum, mut scratch) = (view.clone(), plan.scratch());
        group.bench_function(format!("forward, {name}, {kind}"), |bench| {
            bench.iter(|| plan.forward(black_box(&view), &mut spectrum, &mut scratch));
        });
        let mut builder = Spectra::<T>::builder(dims).expect("a shape");
        builder
            .extend(&views, &Job::default())
            .expect("finite views");
        let spectra = builder.finish();
        let all = AxisFilter::all(dims.len());
        let reference = spectra.reference(0, &all, &Job::default()).expect("a view");
        let reference = reference.expect("it varies");
        group.bench_function(format!("correlate, {name}, {kind}"), |bench| {
            bench.iter(|| black_box(spectra.correlate(&reference, 1, &Job::default())));
        });
        for (how, prune) in [("pruned", true), ("whole", false)] {
            let params = RankParams::default().top(10).prune(prune).pearson(false);
            let params = params.check().expect("in range");
            group.throughput(Throughput::Elements(VIEWS as u64 - 1));
            group.bench_function(format!("top 10, {how}, {name}, {kind}"), |bench| {
                bench.iter(|| black_box(spectra.rank(0, &all, &params, &Job::default())));
            });
        }
    }
    group.finish();
}

/// Measures all pairs of 1,000 views on a grid of 512 points.
fn relations(criterion: &mut Criterion) {
    const COUNT: usize = 1000;
    let dims = [8, 8, 8];
    let mut builder = Spectra::<f64>::builder(&dims).expect("a shape");
    builder
        .extend(&inputs::views(&dims, COUNT), &Job::default())
        .expect("finite views");
    let spectra = builder.finish();
    let (all, kin) = (AxisFilter::all(dims.len()), Kinship::unrelated(COUNT));
    let params = CheckedRelations::default();
    let mut group = criterion.benchmark_group("spectral");
    group.throughput(Throughput::Elements((COUNT * (COUNT - 1) / 2) as u64));
    group.bench_function("relations, 8x8x8, f64", |bench| {
        bench.iter(|| black_box(spectra.relations(&all, &kin, &params, &Job::default())));
    });
    group.finish();
}

fn correlation(criterion: &mut Criterion) {
    kind::<f64>(criterion, "f64", |value| value);
    kind::<f32>(criterion, "f32", |value| value as f32);
}

fn grids(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("spectral");
    for processes in [64, 512] {
        let profile = inputs::profile(processes, 100);
        let params = GridParams::default().check().expect("defaults");
        group.throughput(Throughput::Elements(u64::from(processes)));
        group.bench_function(format!("grids, {processes} processes"), |bench| {
            bench.iter(|| black_box(Grids::of(&profile, &params, &Job::default())));
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = correlation, relations, grids
}
criterion_main!(benches);
