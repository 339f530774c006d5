//! Programs that monitor themselves through spans of `tracing`.
#![cfg(feature = "tracing")]

use perf_anomaly::calls::Calls;
use perf_anomaly::spans::Spans;
use perf_anomaly::{Monitor, Report, Tail};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tracing::{Dispatch, dispatcher, info_span};
use tracing_subscriber::prelude::*;

fn monitor() -> Monitor {
    let calls = Calls::default();
    Monitor::new(calls, Box::new(Tail::default()))
}

/// Returns calls by path, such as `main > solve`, without the targets.
fn by_path(report: &Report) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for (path, loss) in report.losses.worst_paths() {
        let names = report.calls.path(path).into_iter();
        let names = names.map(|region| {
            let (_, name) = report.calls.region_name(region).unwrap();
            name.rsplit("::").next().unwrap().to_string()
        });
        let names: Vec<String> = names.collect();
        *counts.entry(names.join(" > ")).or_insert(0) += loss.calls;
    }
    counts
}

#[test]
fn spans_are_calls_with_their_callers() {
    let (layer, watching) = Spans::new(monitor()).rank(2, 5).start().unwrap();
    let subscriber = Dispatch::new(tracing_subscriber::registry().with(layer));
    let work = |name: &str| {
        dispatcher::with_default(&subscriber, || {
            info_span!("step").in_scope(|| {
                for _ in 0..3 {
                    info_span!("solve", name).in_scope(|| ());
                }
                tracing::info!(counter.cells = 7, monotonic_counter.bytes = 1.5, "fields");
            });
        });
    };
    std::thread::scope(|scope| {
        for name in ["one", "two"] {
            let thread = std::thread::Builder::new().name(name.into());
            thread.spawn_scoped(scope, || work("x")).unwrap();
        }
    });
    work("y");
    let report = watching.finish().unwrap();
    let expected = [("step", 3), ("step > solve", 9)];
    let expected: BTreeMap<_, _> = expected.map(|(path, n)| (path.to_string(), n)).into();
    assert_eq!(by_path(&report), expected);
    let health = report.calls.health();
    assert_eq!(health.counters, 6);
    assert!(health.is_sound(), "{health:?}");
    let streams = report.calls.streams();
    let ranks = streams
        .iter()
        .map(|stream| report.calls.stream_key(*stream).unwrap());
    assert!(ranks.clone().all(|key| (key.program, key.rank) == (2, 5)));
    assert!(
        streams.len() <= 3,
        "threads that ended at once may share a number"
    );
}

#[test]
fn slow_spans_are_found_while_the_program_runs() {
    let found = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&found);
    let spans = Spans::new(monitor())
        .period(Duration::from_millis(20))
        .each_step(move |monitor, step| {
            for (call, judgement) in monitor.batch().calls().iter().zip(monitor.judgements()) {
                if judgement.label.is_anomaly() {
                    let (_, name) = monitor.calls().region_name(call.region).unwrap();
                    seen.lock().unwrap().push((step, name.to_string()));
                }
            }
            // Spans of the layer's own thread are not recorded.
            info_span!("mine").in_scope(|| ());
        });
    let (layer, watching) = spans.start().unwrap();
    let subscriber = Dispatch::new(tracing_subscriber::registry().with(layer));
    dispatcher::with_default(&subscriber, || {
        for k in 0..400 {
            info_span!("exchange").in_scope(|| {
                // So long that scheduling cannot delay as much by chance.
                let time = if k == 300 { 1_000_000 } else { 40 };
                std::thread::sleep(Duration::from_micros(time));
            });
        }
    });
    let report = watching.finish().unwrap();
    assert_eq!(by_path(&report).get("exchange"), Some(&400));
    let found = found.lock().unwrap();
    // The system may delay other calls too; this one is found in any case.
    assert!(
        found
            .iter()
            .any(|(step, name)| *step > 0 && name.ends_with("exchange"))
    );
}

#[test]
fn guards_that_are_dropped_in_another_order_are_repaired() {
    let (layer, watching) = Spans::new(monitor()).start().unwrap();
    let subscriber = Dispatch::new(tracing_subscriber::registry().with(layer));
    dispatcher::with_default(&subscriber, || {
        let (outer, inner) = (info_span!("outer"), info_span!("inner"));
        let (first, second) = (outer.enter(), inner.enter());
        drop(first);
        drop(second);
        // Open at the end.
        let _open = info_span!("open").entered();
        let report = watching.finish().unwrap();
        assert_eq!(by_path(&report).len(), 3);
    });
}

#[test]
fn spans_beyond_the_limit_are_dropped_as_a_whole() {
    let spans = Spans::new(monitor())
        .limit(64)
        .period(Duration::from_secs(3600));
    let blocked = Arc::new(AtomicU64::new(0));
    let (layer, watching) = spans.start().unwrap();
    let subscriber = Dispatch::new(tracing_subscriber::registry().with(layer));
    dispatcher::with_default(&subscriber, || {
        for _ in 0..10_000 {
            info_span!("outer").in_scope(|| {
                info_span!("inner").in_scope(|| blocked.fetch_add(1, Ordering::Relaxed));
            });
        }
    });
    let left_out = watching.left_out();
    let report = watching.finish().unwrap();
    let calls: u64 = by_path(&report).values().sum();
    assert_eq!(calls + left_out, 20_000);
    assert!(
        report.calls.health().is_sound(),
        "{:?}",
        report.calls.health()
    );
}
