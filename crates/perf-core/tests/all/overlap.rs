//! Accelerator locations nest unless an overlap is found.

use crate::common;

use perf_core::{
    CallPathId, Event, Job, LocationId, LocationKind, LocationView, Paradigm, Profile, RegionId,
    Ticks, TimeRange, Trace, Value,
};

/// Returns a trace with enters (upper case) and leaves (lower case) of `a` to `d`, one tick apart.
fn trace(kind: LocationKind, paradigm: Paradigm, calls: &str) -> Trace {
    let call = |(at, call): (u64, u8)| {
        let region = call.to_ascii_lowercase() - b'a';
        (at, call.is_ascii_lowercase(), region.into())
    };
    let calls = (0..).zip(calls.bytes()).map(call);
    common::one_location(kind, paradigm, ["a", "b", "c", "d"], calls)
}

fn overlaps(kind: LocationKind, paradigm: Paradigm, calls: &str) -> bool {
    let trace = trace(kind, paradigm, calls);
    let job = Job::default();
    let location = trace.location(LocationId(0)).unwrap();
    let found = location.overlaps(trace.definitions(), &job).unwrap();
    // The result is cached, holds for each window, and does not need the trace.
    let window = TimeRange::new(Ticks(0), Ticks(1)).unwrap();
    let part = trace
        .view()
        .between(window)
        .location(LocationId(0))
        .unwrap();
    let alone = LocationView::whole(LocationId(0), &trace.events()[0]);
    for view in [location, part, alone] {
        assert_eq!(view.overlaps(trace.definitions(), &job).unwrap(), found);
    }
    found
}

#[test]
fn an_overlap_is_a_leave_that_comes_after_the_end_of_the_frame_around_it() {
    let stream = |calls| overlaps(LocationKind::AcceleratorStream, Paradigm::OpenMp, calls);
    for nested in [
        "", "A", "a", "AaBb", "ABba", "ABbCca", "AABbaa", "ABABbaba", "ABCcba",
    ] {
        assert!(!stream(nested), "{nested}");
    }
    for crossing in ["ABab", "CABabc", "ABCacb", "ABaCcb", "ABbaABab", "ABaBbb"] {
        assert!(stream(crossing), "{crossing}");
    }
    // A missing leave, a leave without its enter, and a frame that stays open are damage, not
    // overlap.
    for damaged in ["ABaCc", "ABaABba", "bABba", "ABb", "ADcBba"] {
        assert!(!stream(damaged), "{damaged}");
    }
}

#[test]
fn kernels_call_no_kernels() {
    let stream = |paradigm, calls| overlaps(LocationKind::AcceleratorStream, paradigm, calls);
    for paradigm in [Paradigm::Cuda, Paradigm::Hip, Paradigm::OpenCl] {
        assert!(!stream(paradigm, "AaBbAa"));
        for calls in ["ABba", "AAaa", "ABab"] {
            assert!(stream(paradigm, calls), "{calls}");
        }
    }
    assert!(!stream(Paradigm::Unknown, "AAaa"));
}

#[test]
fn threads_always_nest() {
    for kind in [LocationKind::CpuThread, LocationKind::Unknown] {
        assert!(!overlaps(kind, Paradigm::Cuda, "ABab"));
    }
}

/// Returns inclusive and exclusive time of each call path.
fn times(trace: &Trace) -> Vec<(String, u64, u64)> {
    let (profile, _) = Profile::from_trace(trace.view(), &Job::default()).unwrap();
    let value = |metric, path| {
        let metric = profile.metric(metric).unwrap();
        match profile.total(metric, path).unwrap() {
            Value::U64(value) => value,
            other => panic!("{other:?}"),
        }
    };
    let paths = (0..profile.calls().paths().len()).filter_map(CallPathId::from_index);
    let time = |path| {
        let name = profile.calls().name(path, profile.regions());
        (name, value("time", path), value("exclusive time", path))
    };
    paths.map(time).collect()
}

#[test]
fn exclusive_time_of_an_accelerator_that_nests_leaves_out_its_callees() {
    let stream = |calls| trace(LocationKind::AcceleratorStream, Paradigm::OpenMp, calls);
    let row = |name: &str, time, own| (name.to_string(), time, own);
    assert_eq!(
        times(&stream("ABCcba")),
        [row("a", 5, 2), row("a > b", 3, 2), row("a > b > c", 1, 1)]
    );
    assert_eq!(times(&stream("ABab")), [row("a", 2, 2), row("b", 2, 2)]);
}

#[test]
fn the_answer_is_no_part_of_the_trace() {
    let (one, other) = ["ABab"; 2]
        .map(|calls| trace(LocationKind::AcceleratorStream, Paradigm::OpenMp, calls))
        .into();
    let location = one.location(LocationId(0)).unwrap();
    let stop = Job::default();
    stop.cancel();
    assert!(location.overlaps(one.definitions(), &stop).is_err());
    let found = location.overlaps(one.definitions(), &Job::default());
    assert_eq!(found, Ok(true));
    assert_eq!(location.overlaps(one.definitions(), &stop), Ok(true));
    assert_eq!(one, other);
    assert_eq!(
        one.events()[0].event(0),
        Some(Event::Enter {
            region: RegionId(0)
        })
    );
}

#[test]
fn functions_of_one_name_and_two_files_have_call_paths_of_their_own() {
    let trace = trace(LocationKind::CpuThread, Paradigm::User, "AaBbCcDd");
    let (mut definitions, events, _) = trace.into_parts();
    for (region, file) in definitions
        .regions
        .iter_mut()
        .zip(["x.c", "y.c", "x.c", "x.c"])
    {
        region.name = "init".into();
        region.file = Some(file.into());
        region.lines = Some((7, 9));
    }
    definitions.regions[3].lines = Some((70, 90));
    let trace = Trace::new(definitions, events).unwrap();
    let paths = |unify| {
        let (profile, _) = Profile::from_trace_by(trace.view(), unify, &Job::default()).unwrap();
        let visits = profile.metric("visits").unwrap();
        let paths = (0..profile.calls().paths().len()).filter_map(CallPathId::from_index);
        paths
            .map(|path| profile.total(visits, path).unwrap())
            .collect::<Vec<_>>()
    };
    let visits = |counts: &[u64]| counts.iter().copied().map(Value::U64).collect::<Vec<_>>();
    assert_eq!(paths(perf_core::Unify::Location), visits(&[2, 1, 1]));
    assert_eq!(paths(perf_core::Unify::Name), visits(&[4]));
    assert_eq!(paths(perf_core::Unify::Never), visits(&[1, 1, 1, 1]));
}
