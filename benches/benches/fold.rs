//! Times of folding: `cargo bench -p perfkit-benches --bench fold`.

#![allow(missing_docs, reason = "the items are those of criterion's macros")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use perfkit::core::{Job, Ticks, TimeRange};
use perfkit::fold::{Folder, GroupBy, Groups, Op, RegionMap, Selection, Timelines};
use perfkit_benches::inputs;
use std::hint::black_box;

const RANKS: u32 = 256;
const EVENTS: usize = 20_000;
const COLUMNS: usize = 1_920;

fn folding(criterion: &mut Criterion) {
    let trace = inputs::trace(RANKS, EVENTS);
    let map = RegionMap::by_name(trace.definitions()).expect("there are few regions");
    let mut group = criterion.benchmark_group("fold");
    group.throughput(Throughput::Elements(u64::from(RANKS) * EVENTS as u64));
    group.bench_function("timelines", |bench| {
        bench.iter(|| black_box(Timelines::new(trace.view(), &map, &Job::default())));
    });
    let timelines =
        Timelines::new(trace.view(), &map, &Job::default()).expect("every class is known");
    let all = timelines.range();
    let half = TimeRange {
        start: Ticks(all.start.0 + all.len() / 2),
        end: all.end,
    };
    let cases = [
        (
            "rows, sampled",
            GroupBy::Location,
            Op::Max,
            Selection::Sampled,
        ),
        (
            "max of all, sampled",
            GroupBy::All,
            Op::Max,
            Selection::Sampled,
        ),
        (
            "diff of all, sampled",
            GroupBy::All,
            Op::Diff,
            Selection::Sampled,
        ),
        ("max of all, exact", GroupBy::All, Op::Max, Selection::Exact),
    ];
    for (name, by, op, selection) in cases {
        let params = Folder::params()
            .columns(COLUMNS)
            .op(op)
            .selection(selection);
        let params = params.check().expect("there are columns");
        let groups = Groups::by(&timelines, by);
        let folder = Folder::new(&timelines, groups, params).expect("they fit the timelines");
        let (mut scratch, mut fold) = (folder.scratch(), folder.empty());
        group.throughput(Throughput::Elements(u64::from(RANKS) * COLUMNS as u64));
        group.bench_function(name, |bench| {
            bench.iter(|| folder.refold(half, &mut scratch, &mut fold, &Job::default()));
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = folding
}
criterion_main!(benches);
