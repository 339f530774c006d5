//! Device utilisation and idle causes, compared tick by tick with a reference implementation.

mod gpu_corpus;
mod planted;
mod streams;
mod work;

use perf_core::samples::device::{PIECES, Piece, build, build_with_calls, trace};
use perf_core::{Events, Job, Region, RegionId, Ticks, TimeRange, Trace};
use perf_fold::{
    Cause, Device, DeviceParams, Devices, Folder, GroupBy, Groups, Hta, HtaParams, Op, Span,
    Timelines, Usage, Work, WorkRules, device_copies,
};
use proptest::prelude::*;

fn range(start: u64, end: u64) -> TimeRange {
    TimeRange::new(Ticks(start), Ticks(end)).unwrap()
}

fn one(trace: &Trace, params: &DeviceParams) -> Device {
    let devices = Devices::new(trace.view(), params, &Job::default()).unwrap();
    assert_eq!(devices.repairs().repairs(), 0);
    devices.into_devices().remove(0)
}

#[test]
fn idle_time_has_causes() {
    let device = one(&trace(), &DeviceParams::new().keep_gaps(true));
    let gaps: Vec<_> = device
        .gaps
        .iter()
        .map(|it| (it.range, it.parts().collect::<Vec<_>>()))
        .collect();
    let late = vec![
        (Cause::HostLate, range(60, 75)),
        (Cause::Launch, range(75, 80)),
    ];
    let expected = [
        (range(20, 30), vec![(Cause::Kernel, range(20, 30))]),
        (range(60, 80), late),
    ];
    assert_eq!(gaps, expected);
    assert_eq!(device.all_idle(), 30);
    assert_eq!((device.rank, device.name.as_str()), (Some(0), "0"));
    assert_eq!((device.instants, device.unlinked), (1, 0));
    assert_eq!(Work::ALL.map(|work| device.count(work)), [3, 1, 1, 1]);
    assert_eq!(device.utilisation.overlap, 20);
    assert_eq!(device.both(Work::Communication, Work::Compute), 10);
    let streams: Vec<_> = device
        .streams
        .iter()
        .map(|it| (it.location.0, it.events, it.busy))
        .collect();
    assert_eq!(streams, [(1, 3, 60), (2, 3, 30)]);
}

#[test]
fn a_window_wider_than_the_span_shows_an_empty_queue() {
    let wide = Span::Window(range(0, 200));
    let late: Vec<Piece> = PIECES
        .iter()
        .map(|it| (it.0.map(|at| at + 10), it.1, it.2, it.3 + 50, it.4 + 50))
        .collect();
    let device = one(&build(&late), &DeviceParams::new().span(wide));
    assert_eq!(device.idle(Cause::QueueEmpty), 10 + 50);
    assert_eq!(device.utilisation.utilisation(), 0.35);
    let causes: u64 = Cause::ALL.map(|cause| device.idle(cause)).iter().sum();
    assert_eq!(causes, device.all_idle());
    // Windows without work: after the work, and in a gap of it.
    for (start, end, cause) in [(190, 200, Cause::QueueEmpty), (112, 120, Cause::Unknown)] {
        let unlinked: Vec<Piece> = late
            .iter()
            .map(|it| (None, it.1, it.2, it.3, it.4))
            .collect();
        let window = Span::Window(range(start, end));
        let device = one(&build(&unlinked), &DeviceParams::new().span(window));
        assert_eq!((device.events, device.utilisation.busy), (0, 0));
        assert_eq!(device.idle(cause), end - start);
        assert_eq!(device.unlinked, 0);
    }
}

#[test]
fn gaps_run_from_the_end_of_work_to_the_begin_of_the_next() {
    let trace = perf_testdata::planted::trace();
    let devices = Devices::new(
        trace.view(),
        &DeviceParams::new().keep_gaps(true),
        &Job::default(),
    )
    .unwrap();
    let mut found = 0;
    for device in devices.devices() {
        let mut work = Vec::new();
        for stream in &device.streams {
            let location = trace.location(stream.location).unwrap();
            perf_core::intervals(
                location,
                |call| work.push((call.start, call.end)),
                &Job::default(),
            )
            .unwrap();
        }
        work.sort();
        // Reference implementation: the union of the work and its gaps.
        let mut holes = Vec::new();
        let mut until = work[0].0;
        for (start, end) in work {
            if until < start {
                holes.push(TimeRange {
                    start: until,
                    end: start,
                });
            }
            until = until.max(end);
        }
        let gaps: Vec<_> = device.gaps.iter().map(|gap| gap.range).collect();
        assert_eq!(gaps, holes, "{}", device.name);
        let mut idle = [0; Cause::ALL.len()];
        for gap in &device.gaps {
            let mut at = gap.range.start;
            for (cause, part) in gap.parts() {
                assert_eq!(part.start, at);
                idle[cause as usize] += part.len();
                at = part.end;
            }
            assert_eq!(at, gap.range.end);
        }
        assert_eq!(idle, Cause::ALL.map(|cause| device.idle(cause)));
        found += gaps.len();
    }
    assert!(found > 100, "{found}");
}

#[test]
fn a_launch_of_another_clock_is_cut_to_the_gap() {
    let pieces = [(Some(0), 0, "a", 0, 10), (Some(99), 0, "a", 30, 40)];
    let device = one(&build(&pieces), &DeviceParams::new());
    assert_eq!((device.idle(Cause::HostLate), device.all_idle()), (20, 20));
}

#[test]
fn adjacent_work_decides_the_cause_of_a_gap() {
    let gap = |before: &'static str, after: &'static str| {
        let pieces = [(Some(0), 0, before, 0, 10), (Some(1), 0, after, 15, 20)];
        let device = one(&build(&pieces), &DeviceParams::new());
        *Cause::ALL
            .iter()
            .find(|cause| device.idle(**cause) == 5)
            .unwrap()
    };
    assert_eq!(gap("a", "b"), Cause::Kernel);
    assert_eq!(gap("a", "ncclDevKernel_SendRecv"), Cause::Communication);
    assert_eq!(gap("Memcpy DtoH", "ncclDevKernel_SendRecv"), Cause::Copy);
    assert_eq!(gap("Memset (Device)", "b"), Cause::Set);
    assert_eq!(gap("Memset (Device)", "Memcpy DtoH"), Cause::Copy);
    assert_eq!(gap("Memset (Device)", "ncclDevKernel_SendRecv"), Cause::Set);
    assert_eq!(gap("__amd_rocclr_copyBuffer.kd", "b"), Cause::Copy);
}

#[test]
fn a_gap_during_the_launch_call_waits_for_the_launch() {
    let parts = |next: &'static str, length: u64| {
        let pieces = [(Some(0), 0, "a", 1, 10), (Some(8), 0, next, 30, 40)];
        let trace = build_with_calls(&pieces, length);
        let device = one(&trace, &DeviceParams::new().keep_gaps(true));
        assert_eq!(device.gaps.len(), 1);
        device.gaps[0].parts().collect::<Vec<_>>()
    };
    let whole = |cause| vec![(cause, range(10, 30))];
    // The call ends before the gap, at its begin, within it, at its end, and after it.
    assert_eq!(parts("b", 1), whole(Cause::Kernel));
    assert_eq!(parts("b", 2), whole(Cause::Kernel));
    let both = [
        (Cause::Launch, range(10, 15)),
        (Cause::Kernel, range(15, 30)),
    ];
    assert_eq!(parts("b", 7), both);
    assert_eq!(parts("b", 22), whole(Cause::Launch));
    assert_eq!(parts("b", 90), whole(Cause::Launch));
    assert_eq!(parts("ncclDevKernel_SendRecv", 90), whole(Cause::Launch));
    // Calls that copy or set may wait for their work.
    assert_eq!(parts("Memcpy DtoH", 90), whole(Cause::Copy));
    assert_eq!(parts("Memset (Device)", 90), whole(Cause::Set));
}

#[test]
fn a_recording_without_devices_has_none() {
    let trace = perf_core::samples::cosmo::trace();
    let devices = Devices::new(trace.view(), &DeviceParams::new(), &Job::default()).unwrap();
    assert!(devices.devices().is_empty());
    assert_eq!((devices.events(), devices.utilisation()), (0, 0.0));
    assert_eq!(
        Hta::of(trace.view(), &HtaParams::default(), &Job::default()),
        Ok(vec![])
    );
    assert_eq!(
        device_copies(trace.view(), &WorkRules::default(), &Job::default()).unwrap(),
        Default::default()
    );
}

#[test]
fn copies_are_lines_from_and_to_the_host() {
    let pieces = [
        (Some(3), 0, "Memcpy HtoD (Pinned -> Device)", 10, 20),
        (Some(4), 0, "Memcpy DtoH (Device -> Pinned)", 30, 45),
        (Some(5), 0, "Memcpy DtoD (Device -> Device)", 50, 51),
        (None, 0, "Memcpy HtoD (Pageable -> Device)", 60, 61),
        (Some(6), 0, "Memcpy", 70, 71),
    ];
    let trace = build(&pieces);
    let copies = device_copies(trace.view(), &WorkRules::default(), &Job::default()).unwrap();
    let lines: Vec<_> = copies
        .lines
        .iter()
        .map(|it| (it.from.0, it.sent.0, it.to.0, it.received.0, it.bytes))
        .collect();
    assert_eq!(lines, [(0, 3, 1, 20, 4096), (1, 30, 0, 45, 4096)]);
    assert_eq!((copies.elsewhere, copies.unlinked), (1, 1));
    assert_eq!(copies.unknown, 1);

    let map = WorkRules::default().plan(trace.definitions()).unwrap();
    let timelines = Timelines::new(trace.view(), &map, &Job::default()).unwrap();
    let groups = Groups::by(&timelines, GroupBy::Process);
    let folder = Folder::new(
        &timelines,
        groups,
        Folder::params().columns(10).check().unwrap(),
    );
    let lines = folder.unwrap().lines(range(0, 100), copies.lines);
    assert_eq!(lines.bundles.len(), 2);
}

const NAMES: [&str; 5] = [
    "kernel a",
    "kernel b",
    "Memcpy HtoD",
    "Memset",
    "ncclDevKernel_AllReduce",
];

fn work(name: &str) -> Work {
    match name {
        "Memcpy HtoD" => Work::Copy,
        "Memset" => Work::Set,
        "ncclDevKernel_AllReduce" => Work::Communication,
        _ => Work::Compute,
    }
}

/// Returns the end of the call that launches a piece of work, if calls have this length or end with
/// the begin of the next one.
fn launched(pieces: &[Piece], piece: usize, length: u64) -> Option<u64> {
    let launch = pieces[piece].0?;
    let others = pieces.iter().enumerate();
    let later = others.filter_map(|(index, it)| it.0.map(|at| (at, index)));
    let next = later.filter(|it| *it > (launch, piece)).min();
    Some(next.map_or(launch + length, |next| next.0.min(launch + length)))
}

/// Returns the cause of the idle tick [at, at + 1), following the definition in the documentation.
fn cause(pieces: &[Piece], length: u64, at: u64) -> Cause {
    let begins = pieces.iter().map(|it| it.3).filter(|begin| *begin > at);
    let ended = pieces.iter().filter(|it| it.4 <= at);
    let Some(next) = begins.min() else {
        return Cause::QueueEmpty;
    };
    let nexts = pieces.iter().enumerate().filter(|(_, it)| it.3 == next);
    let nexts = nexts.map(|(index, it)| (launched(pieces, index, length), it));
    let (call_end, first) = nexts
        .min_by_key(|(end, it)| (it.0.is_none(), it.0, work(it.2), *end))
        .unwrap();
    let Some(dry) = ended.clone().map(|it| it.4).max() else {
        return match first.0 {
            Some(launch) if launch <= at => Cause::Launch,
            _ => Cause::QueueEmpty,
        };
    };
    let Some(launch) = first.0 else {
        return Cause::Unknown;
    };
    if launch > dry {
        return if at < launch {
            Cause::HostLate
        } else {
            Cause::Launch
        };
    }
    let is_kernel = matches!(work(first.2), Work::Compute | Work::Communication);
    if is_kernel && call_end.is_some_and(|end| at < end) {
        return Cause::Launch;
    }
    let sides: Vec<Work> = ended
        .filter(|it| it.4 == dry)
        .chain([first])
        .map(|it| work(it.2))
        .collect();
    if sides.contains(&Work::Copy) {
        Cause::Copy
    } else if sides.contains(&Work::Set) {
        Cause::Set
    } else if sides.contains(&Work::Communication) {
        Cause::Communication
    } else {
        Cause::Kernel
    }
}

fn any_pieces() -> impl Strategy<Value = Vec<Piece>> {
    let piece = (
        prop::option::of(0u64..90),
        0u32..3,
        0usize..NAMES.len(),
        0u64..90,
        0u64..12,
    );
    let piece = piece.prop_map(|(launch, stream, name, start, length)| {
        (launch, stream, NAMES[name], start, start + length)
    });
    prop::collection::vec(piece, 1..14)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn device_times_equal_a_count_of_ticks(pieces in any_pieces(), start in 0u64..110, length in 0u64..110) {
        let trace = build(&pieces);
        let window = range(start, start + length);
        let device = one(&trace, &DeviceParams::new().span(Span::Window(window)));
        // The pairing of ends with two open calls of one region can exchange their launches. Only
        // the launches are ambiguous; everything else is exact.
        let open = |at: u64| pieces.iter().filter(move |it| it.3 <= at && at < it.4);
        let count = |test: &dyn Fn(u64) -> bool| (start..start + length).filter(|at| test(*at)).count() as u64;
        prop_assert_eq!(device.utilisation.busy, count(&|at| open(at).next().is_some()));
        let streams = |at: u64| {
            let mut streams: Vec<u32> = open(at).map(|it| it.1).collect();
            streams.sort_unstable();
            streams.dedup();
            streams.len()
        };
        prop_assert_eq!(device.utilisation.overlap, count(&|at| streams(at) > 1));
        for one in Work::ALL {
            for other in Work::ALL {
                let both = |at: u64| [one, other].iter().all(|kind| open(at).any(|it| work(it.2) == *kind));
                prop_assert_eq!(device.both(one, other), count(&both));
            }
            prop_assert_eq!(device.busy(one), device.both(one, one));
        }
        for stream in &device.streams {
            let own = |at: u64| open(at).any(|it| it.1 + 1 == stream.location.0);
            prop_assert_eq!(stream.busy, count(&own));
        }
        let causes: u64 = Cause::ALL.iter().map(|cause| device.idle(*cause)).sum();
        prop_assert_eq!(causes, device.all_idle());
    }

    #[test]
    fn causes_equal_those_of_each_tick(pieces in any_pieces(), length in 0u64..40) {
        // Unique names for each piece, so that no two calls of one region overlap.
        let mut pieces = pieces;
        pieces.sort_by_key(|it| it.3);
        let mut until = 0;
        pieces.retain(|it| {
            let is_after = it.3 >= until;
            if is_after {
                until = it.4;
            }
            is_after
        });
        let trace = build_with_calls(&pieces, length);
        let device = one(&trace, &DeviceParams::new().span(Span::Window(range(0, 120))));
        for wanted in Cause::ALL {
            let idle = (0..120).filter(|at| !pieces.iter().any(|it| it.3 <= *at && *at < it.4));
            let found = idle.filter(|at| cause(&pieces, length, *at) == wanted).count() as u64;
            prop_assert_eq!(device.idle(wanted), found, "{:?}", wanted);
        }
    }

    #[test]
    fn timelines_and_folds_agree(pieces in any_pieces()) {
        let trace = build(&pieces);
        let window = Span::Window(range(0, 120));
        let device = one(&trace, &DeviceParams::new().span(window));
        let map = WorkRules::default().plan(trace.definitions()).unwrap();
        let timelines = Timelines::new(trace.view(), &map, &Job::default()).unwrap();
        let streams: Vec<u32> = (0..timelines.len() as u32).filter(|it| timelines.kind(*it).may_overlap()).collect();
        let usage = Usage::of(&timelines, &streams, range(0, 120), &Job::default()).unwrap();
        let own = Devices::new(trace.view(), &DeviceParams::new(), &Job::default()).unwrap();
        let own = own.devices()[0].utilisation;
        prop_assert_eq!((usage.own.busy, usage.own.span), (own.busy, own.span));
        let usage = usage.utilisation;
        prop_assert_eq!(usage.busy, device.utilisation.busy);
        prop_assert_eq!(usage.overlap, device.utilisation.overlap);
        prop_assert_eq!(usage.stream_time, device.utilisation.stream_time);
        // One pixel for each tick: the painted pixels are the union of the work and the ticks of
        // zero-length work.
        let is_idle = |at: &u64| !pieces.iter().any(|it| it.3 <= *at && *at < it.4);
        let empty = pieces.iter().filter(|it| it.3 == it.4 && it.3 < 120).map(|it| it.3);
        let empty: std::collections::BTreeSet<u64> = empty.filter(is_idle).collect();
        let groups = Groups::by(&timelines, GroupBy::Device);
        let params = Folder::params().columns(120).op(Op::Idle).instants(true).check().unwrap();
        let folder = Folder::new(&timelines, groups, params).unwrap();
        let fold = folder.fold(range(0, 120), &Job::default()).unwrap();
        let rows = fold.rows().filter(|row| row.group().kind.may_overlap());
        let painted: usize = rows.map(|row| row.cells().iter().filter(|it| it.picture().is_some()).count()).sum();
        prop_assert_eq!(painted as u64, device.utilisation.busy + empty.len() as u64);
    }

    #[test]
    fn hta_without_its_rules_is_the_union(pieces in any_pieces()) {
        let trace = build(&pieces);
        let device = one(&trace, &DeviceParams::new());
        let exact = HtaParams::default().round_inwards(false);
        let found = Hta::of(trace.view(), &exact, &Job::default()).unwrap()[0];
        prop_assert_eq!(found.busy(), device.utilisation.busy as i64);
        prop_assert_eq!(found.total, device.utilisation.span as i64);
        prop_assert_eq!(found.compute, device.busy(Work::Compute) as i64);
    }
}

#[test]
fn work_of_a_stream_that_nests_is_its_outermost_frames() {
    let trace = perf_core::samples::device::trace();
    let (mut definitions, mut events, _) = trace.into_parts();
    definitions.regions = ["offload", "loop"].map(Region::named).to_vec();
    let mut stream = Events::default();
    for (at, is_leave, region) in [
        (10, false, 0),
        (12, false, 1),
        (18, true, 1),
        (20, true, 0),
        (30, false, 0),
        (40, true, 0),
    ] {
        stream.push_call(Ticks(at), is_leave, RegionId(region));
    }
    for (at, events) in events.iter_mut().enumerate() {
        *events = if at == 1 {
            stream.clone()
        } else {
            Events::default()
        };
    }
    let trace = Trace::new(definitions, events).unwrap();
    let devices = Devices::new(trace.view(), &DeviceParams::new(), &Job::default()).unwrap();
    let device = &devices.devices()[0];
    assert_eq!((device.events, device.utilisation.busy), (2, 20));
    assert_eq!(device.busy(Work::Compute), 20);
}
