//! The profile of a trace: times, visits and bytes by call path and location.

use crate::common;

use common::{enter, events, leave, trace};
use perf_core::Job;
use perf_core::*;
use std::sync::Arc;

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
    // Recursion: region 0 within itself, and a frame that stays open.
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
    let (profile, counts) = Profile::from_trace(trace.view(), &Job::default()).unwrap();
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
    // There is no row if a view is zero everywhere.
    let received = profile.metric("bytes received").unwrap();
    assert!(profile.paths(received).is_empty());
    assert_eq!(profile.row(received, CallPathId(0)).unwrap(), None);
    assert!(profile.row(received, CallPathId(99)).is_err());
    assert!(profile.row(MetricId(9), CallPathId(0)).is_err());
}

#[test]
fn exclusive_times_sum_to_the_inclusive_time_of_the_roots() {
    let trace = two_ranks();
    let (profile, _) = Profile::from_trace(trace.view(), &Job::default()).unwrap();
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
fn a_window_counts_only_time_inside_it() {
    let trace = two_ranks();
    let window = TimeRange::new(Ticks(15), Ticks(42)).unwrap();
    let view = trace.view().between(window);
    let (profile, _) = Profile::from_trace(view, &Job::default()).unwrap();
    assert_eq!(value(&profile, "time", &[0], 0), 27);
    assert_eq!(value(&profile, "time", &[0, 1], 0), 15 + 2);
    assert_eq!(value(&profile, "visits", &[0, 1], 0), 2);
    assert_eq!(value(&profile, "bytes sent", &[0], 0), 0);
}

#[test]
fn cancelling_stops() {
    let job = Job::default();
    job.cancel();
    let trace = two_ranks();
    assert!(matches!(
        Profile::from_trace(trace.view(), &job),
        Err(Error::Cancelled(_))
    ));
}

/// Returns all bytes of a profile, sent and received.
fn bytes(profile: &Profile) -> (u64, u64) {
    let sum = |metric: &str| {
        let metric = profile.metric(metric).unwrap();
        let totals = profile.paths(metric).into_iter();
        totals.fold(0, |sum, path| match profile.total(metric, path).unwrap() {
            Value::U64(total) => sum + total,
            other => panic!("{other:?}"),
        })
    };
    (sum("bytes sent"), sum("bytes received"))
}

/// Returns a host that copies within a region, and a stream that copies outside of any region.
fn copies() -> [Events; 2] {
    let access = |op, bytes| Event::Rma {
        op,
        window: WindowId(0),
        remote: 0,
        bytes,
        matching: 0,
    };
    let swap = RmaOp::Atomic {
        code: 5,
        received: 4,
    };
    let host = events(&[
        (0, enter(0)),
        (1, access(RmaOp::Put, 1)),
        (2, access(swap, 8)),
        (9, leave(0)),
        (10, access(RmaOp::Get, 16)),
    ]);
    let stream = events(&[
        (1, access(RmaOp::Put, 64)),
        (2, enter(3)),
        (3, leave(3)),
        (4, access(RmaOp::Put, 256)),
    ]);
    [host, stream]
}

#[test]
fn bytes_outside_any_frame_have_a_call_path_of_their_own() {
    let trace = trace(copies().into());
    let (profile, _) = Profile::from_trace(trace.view(), &Job::default()).unwrap();
    assert_eq!(bytes(&profile), (1 + 8 + 64 + 256, 4 + 16));
    let outside = trace.definitions().regions.len() as u32;
    assert_eq!(profile.regions()[8].name, "(outside regions)");
    assert_eq!(value(&profile, "bytes sent", &[0], 0), 9);
    assert_eq!(value(&profile, "bytes received", &[0], 0), 4);
    assert_eq!(value(&profile, "bytes sent", &[outside], 0), 0);
    assert_eq!(value(&profile, "bytes sent", &[outside], 1), 64 + 256);
    assert_eq!(value(&profile, "bytes received", &[outside], 0), 16);
    for metric in ["time", "exclusive time", "visits"] {
        assert_eq!(value(&profile, metric, &[outside], 0), 0);
    }
    // Some of the locations, and a window.
    let host = trace.view().only(&[LocationId(0)]);
    let (part, _) = Profile::from_trace(host, &Job::default()).unwrap();
    assert_eq!(bytes(&part), (9, 20));
    let late = TimeRange::new(Ticks(2), Ticks(10)).unwrap();
    let (part, _) = Profile::from_trace(trace.view().between(late), &Job::default()).unwrap();
    assert_eq!(bytes(&part), (8 + 256, 4));
}

#[test]
fn the_outside_region_exists_only_if_needed() {
    let trace = two_ranks();
    let (profile, _) = Profile::from_trace(trace.view(), &Job::default()).unwrap();
    assert_eq!(profile.regions(), trace.definitions().regions);
    // The new region must not take the number of an undefined region in an event.
    let [host, _] = copies();
    let lost = events(&[(0, enter(8)), (1, leave(8))]);
    let trace = common::trace(vec![host, lost]);
    assert!(matches!(
        Profile::from_trace(trace.view(), &Job::default()),
        Err(Error::Undefined {
            id: 8,
            count: 8,
            ..
        })
    ));
}

/// Store that computes totals, other scopes, and values over several locations itself.
#[derive(Debug)]
struct DerivingStore;

impl RowStore for DerivingStore {
    fn row(&self, _: MetricId, path: CallPathId) -> Result<Option<Arc<Severities>>> {
        // The row of a child lacks a location.
        let row = vec![1.0; 2 - path.index()];
        Ok(Some(Arc::new(Severities::F64(row))))
    }

    fn paths(&self, _: MetricId) -> Vec<CallPathId> {
        vec![CallPathId(0), CallPathId(1)]
    }

    fn total(&self, _: MetricId, _: CallPathId) -> Result<Option<Value>> {
        Ok(Some(Value::F64(9.0)))
    }

    fn scoped(&self, metric: MetricId, _: CallPathId, _: Scope) -> Option<Result<Severities>> {
        (metric == MetricId(0)).then(|| Ok(Severities::F64(vec![5.0, 6.0])))
    }

    fn over_parts(
        &self,
        _: MetricId,
        _: CallPathId,
        _: &[u32],
        _: usize,
    ) -> Option<Result<Vec<f64>>> {
        Some(Ok(vec![7.0]))
    }
}

/// Returns a profile with two metrics: one that the store re-evaluates, and one whose rows are
/// added.
fn derived_profile() -> Profile {
    let location = |key| Location {
        key,
        ..Location::default()
    };
    let locations = (0..2).map(location).collect();
    let system = SystemTree::new(vec![], vec![], locations, &Limits::default()).unwrap();
    let mut calls = CallTree::default();
    for parent in [None, Some(CallPathId(0))] {
        let region = RegionId(0);
        calls.push(CallPath { region, parent }).unwrap();
    }
    let metrics = ["ratio", "sum"].map(|name| ProfileMetric {
        metric: Metric {
            name: name.into(),
            value_type: ValueType::F64,
            ..Metric::default()
        },
        scope: Scope::Exclusive,
        ..ProfileMetric::default()
    });
    let regions = vec![Region::named("main")];
    Profile::new(
        system,
        regions,
        calls,
        metrics.into(),
        Arc::new(DerivingStore),
    )
    .unwrap()
}

#[test]
fn a_metric_that_is_added_leaves_the_others_to_their_store() {
    let row = Severities::U64(vec![3, 4]);
    let about = ProfileMetric::default();
    let (profile, added) = derived_profile()
        .with_metric(about, [(CallPathId(0), row.clone())])
        .unwrap();
    let (ratio, path, rows) = (MetricId(0), CallPathId(0), profile.rows());
    assert_eq!(rows.total(ratio, path).unwrap(), Some(Value::F64(9.0)));
    let scoped = rows.scoped(ratio, path, Scope::Inclusive).unwrap();
    assert_eq!(scoped.unwrap(), Severities::F64(vec![5.0, 6.0]));
    let parts = rows.over_parts(ratio, path, &[0, 0], 1).unwrap();
    assert_eq!(parts.unwrap(), [7.0]);
    // The store does not know added metrics.
    assert!(rows.scoped(added, path, Scope::Inclusive).is_none());
    assert!(rows.over_parts(added, path, &[0, 0], 1).is_none());
    assert_eq!(profile.row(added, path).unwrap().as_deref(), Some(&row));
    assert_eq!(profile.total(added, path).unwrap(), Value::U64(7));
    assert_eq!(profile.paths(added), [path]);
}

#[test]
fn rows_of_unequal_length_are_not_added_up() {
    let sum = derived_profile().scoped(MetricId(1), CallPathId(0), Scope::Inclusive);
    assert!(matches!(sum, Err(Error::Length { .. })), "{sum:?}");
}
