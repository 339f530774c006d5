//! The profile of a trace: times, visits and bytes by call path and location.

#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps fails where it should"
)]

mod common;

use common::{enter, events, leave, trace};
use perf_core::*;

fn value(profile: &Profile, metric: &str, path: &[u32], location: u32) -> u64 {
    let metric = profile.metric(metric).unwrap();
    let mut at = None;
    for region in path {
        at = Some(profile.calls().find(at, RegionId(*region)).unwrap());
    }
    let Some(row) = profile.row(metric, at.unwrap()).unwrap() else {
        return 0;
    };
    match row.get(LocationId(location)) {
        Some(Value::U64(value)) => value,
        other => panic!("{other:?}"),
    }
}

fn two_ranks() -> Trace {
    let sent = Transfer {
        peer: 1,
        comm: CommId(0),
        tag: 0,
        bytes: 64,
        request: None,
    };
    let first = events(&[
        (0, enter(0)),
        (10, enter(1)),
        (12, Event::Send(sent)),
        (30, leave(1)),
        (40, enter(1)),
        (45, leave(1)),
        (100, leave(0)),
    ]);
    // Recursion: region 0 within itself, and a frame left open.
    let second = events(&[
        (0, enter(0)),
        (10, enter(0)),
        (20, leave(0)),
        (50, enter(1)),
        (60, enter(2)),
    ]);
    trace(vec![first, second])
}

#[test]
fn times_visits_and_bytes() {
    let trace = two_ranks();
    let (profile, counts) = Profile::from_trace(trace.view(), &(), &CancelToken::new()).unwrap();
    assert_eq!(value(&profile, "time", &[0], 0), 100);
    assert_eq!(value(&profile, "exclusive time", &[0], 0), 75);
    assert_eq!(value(&profile, "time", &[0, 1], 0), 25);
    assert_eq!(value(&profile, "visits", &[0, 1], 0), 2);
    assert_eq!(value(&profile, "bytes sent", &[0, 1], 0), 64);
    assert_eq!(value(&profile, "bytes received", &[0, 1], 0), 0);
    assert_eq!(value(&profile, "time", &[0], 1), 60);
    assert_eq!(value(&profile, "time", &[0, 0], 1), 10);
    assert_eq!(value(&profile, "exclusive time", &[0], 1), 40);
    assert_eq!(value(&profile, "time", &[0, 1], 1), 10);
    assert_eq!(counts.open_at_end, 3);
    // No row where a view is zero everywhere.
    let received = profile.metric("bytes received").unwrap();
    assert!(profile.paths(received).is_empty());
    assert_eq!(profile.row(received, CallPathId(0)).unwrap(), None);
    assert!(profile.row(received, CallPathId(99)).is_err());
    assert!(profile.row(MetricId(9), CallPathId(0)).is_err());
}

#[test]
fn exclusive_times_sum_to_the_inclusive_time_of_the_roots() {
    let trace = two_ranks();
    let (profile, _) = Profile::from_trace(trace.view(), &(), &CancelToken::new()).unwrap();
    let sum = |metric: &str, roots_only: bool| -> f64 {
        let metric = profile.metric(metric).unwrap();
        let paths = profile
            .paths(metric)
            .into_iter()
            .filter(|path| !roots_only || profile.calls().get(*path).unwrap().parent.is_none());
        paths
            .map(|path| profile.total(metric, path).unwrap().as_f64())
            .sum()
    };
    assert_eq!(sum("exclusive time", false), sum("time", true));
}

#[test]
fn a_window_counts_what_lies_in_it() {
    let trace = two_ranks();
    let window = TimeRange::new(Ticks(15), Ticks(42)).unwrap();
    let view = trace.view().between(window);
    let (profile, _) = Profile::from_trace(view, &(), &CancelToken::new()).unwrap();
    assert_eq!(value(&profile, "time", &[0], 0), 27);
    assert_eq!(value(&profile, "time", &[0, 1], 0), 15 + 2);
    assert_eq!(value(&profile, "visits", &[0, 1], 0), 2);
    assert_eq!(value(&profile, "bytes sent", &[0], 0), 0);
}

#[test]
fn cancelling_stops() {
    let cancel = CancelToken::new();
    cancel.cancel();
    let trace = two_ranks();
    assert!(matches!(
        Profile::from_trace(trace.view(), &(), &cancel),
        Err(Error::Cancelled(_))
    ));
}
