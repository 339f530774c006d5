//! Overlapping calls, such as work on one accelerator stream.

use crate::common;

use perf_core::{
    Close, Interval, Job, LocationId, LocationKind, LocationView, Paradigm, Profile, ReplayCounts,
    Ticks, TimeRange, Trace, Value, intervals,
};
use proptest::prelude::*;

fn trace(kind: LocationKind, calls: &[(u64, bool, u32)]) -> Trace {
    let calls = calls.iter().copied();
    common::one_location(kind, Paradigm::Cuda, ["a", "b", "c"], calls)
}

fn found(location: LocationView<'_>) -> (Vec<Interval>, ReplayCounts) {
    let mut all = Vec::new();
    let counts = intervals(location, |call| all.push(call), &Job::default()).unwrap();
    (all, counts)
}

/// Reference implementation: one list that is searched.
fn naive(calls: &[(u64, bool, u32)]) -> Vec<(u32, u64, u64, usize, Close)> {
    let mut open: Vec<(u32, u64, usize)> = Vec::new();
    let mut all = Vec::new();
    for (index, (at, is_leave, region)) in calls.iter().copied().enumerate() {
        if !is_leave {
            open.push((region, at, index));
            continue;
        }
        let first = open.iter().position(|call| call.0 == region);
        let why = first.map_or(Close::Renamed, |_| Close::Top);
        let Some(place) = first.or(open.len().checked_sub(1)) else {
            continue;
        };
        let (region, start, enter) = open.remove(place);
        all.push((region, start, at, enter, why));
    }
    let end = calls.last().map_or(0, |call| call.0);
    let rest = open.into_iter();
    all.extend(rest.map(|(region, start, enter)| (region, start, end, enter, Close::End)));
    all
}

fn union(mut spans: Vec<(u64, u64)>) -> u64 {
    spans.sort_unstable();
    let (mut busy, mut until) = (0, 0);
    for (start, end) in spans {
        busy += end.max(until) - start.max(until);
        until = until.max(end);
    }
    busy
}

#[test]
fn first_in_is_first_out() {
    let calls = [
        (0, false, 0),
        (2, false, 1),
        (4, false, 0),
        (5, true, 0),
        (9, true, 1),
        (12, true, 0),
    ];
    let trace = trace(LocationKind::AcceleratorStream, &calls);
    let (all, counts) = found(trace.location(LocationId(0)).unwrap());
    let spans: Vec<_> = all
        .iter()
        .map(|it| (it.start.0, it.end.0, it.enter))
        .collect();
    assert_eq!(spans, [(0, 5, 0), (2, 9, 1), (4, 12, 2)]);
    assert_eq!((counts.top, counts.repairs()), (3, 0));
}

#[test]
fn the_profile_of_a_stream_sums_lengths() {
    let calls = [
        (0, false, 0),
        (5, false, 1),
        (10, true, 0),
        (15, true, 1),
        (15, false, 0),
        (15, true, 0),
    ];
    let profile = |kind| {
        let trace = trace(kind, &calls);
        let (profile, counts) = Profile::from_trace(trace.view(), &Job::default()).unwrap();
        let rows = ["time", "exclusive time", "visits"].map(|name| {
            let metric = profile.metric(name).unwrap();
            let paths = profile.calls().paths().iter().enumerate();
            let paths = paths.map(|(path, _)| perf_core::CallPathId(path as u32));
            paths
                .map(|path| profile.total(metric, path).unwrap())
                .collect::<Vec<_>>()
        });
        (rows, counts.repairs())
    };
    let (rows, repairs) = profile(LocationKind::AcceleratorStream);
    assert_eq!(rows[0], [Value::U64(10), Value::U64(10)]);
    assert_eq!(rows[1], rows[0], "no kernel calls another");
    assert_eq!(rows[2], [Value::U64(2), Value::U64(1)]);
    assert_eq!(repairs, 0);
    // On a thread calls nest: the leave of `a` closes `b` too.
    assert_eq!(profile(LocationKind::CpuThread).1, 2);
}

fn any_calls() -> impl Strategy<Value = Vec<(u64, bool, u32)>> {
    let step = (0u64..4, any::<bool>(), 0u32..3);
    prop::collection::vec(step, 0..60).prop_map(|steps| {
        let mut now = 0;
        let later = |(gap, is_leave, region)| {
            now += gap;
            (now, is_leave, region)
        };
        steps.into_iter().map(later).collect()
    })
}

#[test]
fn sums_of_long_work_that_overlaps_end_at_the_largest_number() {
    let long = [
        (0, false, 0),
        (0, false, 0),
        (u64::MAX, true, 0),
        (u64::MAX, true, 0),
    ];
    let trace = trace(LocationKind::AcceleratorStream, &long);
    let (profile, _) = Profile::from_trace(trace.view(), &Job::default()).unwrap();
    let time = profile.metric("time").unwrap();
    let path = profile.paths(time)[0];
    let row = profile.row(time, path).unwrap().unwrap();
    assert!(row.to_f64()[0] > 9e18, "{row:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn is_one_list(calls in any_calls()) {
        let trace = trace(LocationKind::AcceleratorStream, &calls);
        let (all, counts) = found(trace.location(LocationId(0)).unwrap());
        let reported: Vec<_> = all
            .iter()
            .map(|it| (it.region.0, it.start.0, it.end.0, it.enter, it.why))
            .collect();
        prop_assert_eq!(reported, naive(&calls));
        let leaves = calls.iter().filter(|call| call.1).count() as u64;
        prop_assert_eq!(counts.top + counts.renamed + counts.orphan, leaves);
    }

    #[test]
    fn windows_add_up(calls in any_calls(), cut in 0u64..100) {
        let trace = trace(LocationKind::AcceleratorStream, &calls);
        let busy = |start, end| {
            let window = TimeRange::new(Ticks(start), Ticks(end)).unwrap();
            let view = trace.view().between(window);
            let (all, _) = found(view.location(LocationId(0)).unwrap());
            union(all.iter().map(|it| (it.start.0, it.end.0)).collect())
        };
        let cut = cut.min(1000);
        prop_assert_eq!(busy(0, cut) + busy(cut, 1000), busy(0, 1000));
    }
}
