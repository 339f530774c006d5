//! Overhead of a watched span: `cargo bench -p perfkit-benches --bench spans`.
//!
//! `registry` is the overhead of any layer, and the difference is the overhead of perfkit.
//! `docs/benchmarks.md` lists this difference as measured by `perfkit-bench-anomaly spans`: 86 ns
//! for each span.

#![allow(missing_docs, reason = "the items are those of criterion's macros")]

use criterion::{Criterion, criterion_group, criterion_main};
use perfkit::anomaly::calls::Calls;
use perfkit::anomaly::spans::Spans;
use perfkit::anomaly::{Monitor, Tail};
use std::hint::black_box;
use tracing::{Dispatch, dispatcher, info_span};
use tracing_subscriber::prelude::*;

fn work(subscriber: &Dispatch, name: &str, criterion: &mut Criterion) {
    dispatcher::with_default(subscriber, || {
        criterion.bench_function(name, |bench| {
            bench.iter(|| info_span!("work").in_scope(|| black_box(1)));
        });
    });
}

fn spans(criterion: &mut Criterion) {
    work(&Dispatch::none(), "span/nobody listens", criterion);
    let registry = Dispatch::new(tracing_subscriber::registry());
    work(&registry, "span/registry", criterion);
    let calls = Calls::default();
    let detector = Box::new(Tail::default());
    let (layer, watching) = Spans::new(Monitor::new(calls, detector))
        .start()
        .expect("a thread");
    let watched = Dispatch::new(tracing_subscriber::registry().with(layer));
    work(&watched, "span/watched", criterion);
    let left_out = watching.left_out();
    let report = watching.finish().expect("no store and no server");
    let judged = report.losses.total().calls;
    println!("{judged} calls judged, {left_out} left out");
}

criterion_group!(benches, spans);
criterion_main!(benches);
