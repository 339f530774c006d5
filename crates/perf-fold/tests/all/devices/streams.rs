//! Accelerator streams, whose regions may overlap: a stream is busy during the union of its open
//! regions.

use perf_core::{
    Definitions, Event, Events, Job, Location, LocationKind, Paradigm, Region, RegionId,
    SystemTree, Ticks, TimeRange, Trace,
};
use perf_fold::{RegionMap, State, Timelines, Usage, Utilisation};
use proptest::prelude::*;

const A: RegionId = RegionId(0);
const B: RegionId = RegionId(1);
const C: RegionId = RegionId(2);

fn enter(at: u64, region: RegionId) -> (u64, Event<'static>) {
    (at, Event::Enter { region })
}

fn leave(at: u64, region: RegionId) -> (u64, Event<'static>) {
    (at, Event::Leave { region })
}

fn range(start: u64, end: u64) -> TimeRange {
    TimeRange::new(Ticks(start), Ticks(end)).unwrap()
}

fn trace(kind: LocationKind, events: &[(u64, Event<'_>)]) -> Trace {
    let mut definitions = Definitions::default();
    let kernel = |name| Region {
        paradigm: Paradigm::Cuda,
        ..Region::named(name)
    };
    definitions.regions = ["a", "b", "c"].map(kernel).to_vec();
    let location = Location {
        kind,
        ..Location::default()
    };
    definitions.system =
        SystemTree::new(vec![], vec![], vec![location], &Default::default()).unwrap();
    let mut column = Events::default();
    for (at, event) in events {
        column.push(Ticks(*at), *event).unwrap();
    }
    Trace::new(definitions, vec![column]).unwrap()
}

fn stream(events: &[(u64, Event<'_>)]) -> Timelines {
    of(&trace(LocationKind::AcceleratorStream, events))
}

fn of(trace: &Trace) -> Timelines {
    let map = RegionMap::by_name(trace.definitions()).unwrap();
    Timelines::new(trace.view(), &map, &Job::default()).unwrap()
}

/// Returns begin, end and state name of each interval; `None` for idle.
fn segments(timelines: &Timelines) -> Vec<(u64, u64, Option<&str>)> {
    let classes = timelines.classes();
    let name = |state: State| state.class().map(|class| classes.name(class));
    let all = timelines.segments(0, TimeRange::ALL);
    all.map(|(range, state)| (range.start.0, range.end.0, name(state)))
        .collect()
}

#[test]
fn kernels_that_overlap_are_not_stacked() {
    let events = [enter(0, A), enter(5, B), leave(10, A), leave(15, B)];
    let timelines = stream(&events);
    let usage = Usage::of(&timelines, &[0], range(0, 20), &Job::default())
        .unwrap()
        .utilisation;
    assert_eq!((usage.busy, usage.intervals), (15, 1));
    assert_eq!(
        segments(&timelines),
        [(0, 5, Some("a")), (5, 15, Some("b"))]
    );
    let counts = timelines.repairs();
    assert_eq!((counts.top, counts.repairs()), (2, 0));

    // On a thread regions nest: the leave of `a` closes `b` too.
    let thread = of(&trace(LocationKind::CpuThread, &events));
    assert_eq!(
        Usage::of(&thread, &[0], range(0, 20), &Job::default())
            .unwrap()
            .utilisation
            .busy,
        10
    );
    assert_eq!((thread.repairs().nearest, thread.repairs().orphan), (1, 1));
}

#[test]
fn the_last_one_still_open_is_shown() {
    let c = RegionId(2);
    let timelines = stream(&[
        enter(0, A),
        enter(2, B),
        enter(4, c),
        leave(6, B),
        leave(8, c),
        enter(9, A),
        leave(10, A),
        leave(12, A),
        enter(14, c),
        leave(16, c),
    ]);
    assert_eq!(
        segments(&timelines),
        [
            (0, 2, Some("a")),
            (2, 4, Some("b")),
            (4, 8, Some("c")),
            (8, 12, Some("a")),
            (12, 14, None),
            (14, 16, Some("c")),
        ]
    );
}

#[test]
fn leaves_of_regions_that_are_not_open_follow_the_rules_of_replay() {
    let timelines = stream(&[
        leave(0, A),
        enter(2, A),
        leave(4, B),
        enter(6, B),
        enter(8, A),
    ]);
    assert_eq!(
        segments(&timelines),
        [
            (0, 2, None),
            (2, 4, Some("a")),
            (4, 6, None),
            (6, 8, Some("b"))
        ]
    );
    let counts = timelines.repairs();
    assert_eq!((counts.orphan, counts.renamed), (1, 1));
    assert_eq!((counts.open_at_end, counts.top, counts.nearest), (2, 0, 0));
}

#[test]
fn regions_open_before_a_window_show_in_it() {
    let trace = trace(
        LocationKind::AcceleratorStream,
        &[enter(0, A), enter(5, B), leave(10, A), leave(15, B)],
    );
    let map = RegionMap::by_name(trace.definitions()).unwrap();
    let part = |start, end| {
        let view = trace.view().between(range(start, end));
        let timelines = Timelines::new(view, &map, &Job::default()).unwrap();
        let usage = Usage::of(&timelines, &[0], range(0, 20), &Job::default())
            .unwrap()
            .utilisation;
        (usage.busy, timelines.repairs().repairs())
    };
    assert_eq!(part(7, 13), (6, 0));
    assert_eq!(part(11, 20), (4, 0));
    assert_eq!(part(16, 20), (0, 0));
}

#[test]
fn many_open_at_once_and_left_in_any_order() {
    const MANY: u64 = 1 << 17;
    let enters = |region: fn(u64) -> u32| (0..MANY).map(move |at| enter(at, RegionId(region(at))));
    let leaves =
        |region: fn(u64) -> u32| (0..MANY).map(move |at| leave(MANY + at, RegionId(region(at))));
    // Leaves in the order of the enters, from the middle outwards, and of regions that were never
    // entered.
    let orders: [fn(u64) -> u32; 3] = [
        |at| at as u32,
        |at| match at % 2 {
            0 => (MANY / 2 + at / 2) as u32,
            _ => (MANY / 2 - 1 - at / 2) as u32,
        },
        |at| (MANY + at) as u32,
    ];
    for order in orders {
        let events: Vec<_> = enters(|at| at as u32).chain(leaves(order)).collect();
        let timelines = stream(&events);
        let usage = Usage::of(&timelines, &[0], TimeRange::ALL, &Job::default()).unwrap();
        assert_eq!(usage.utilisation.busy, 2 * MANY - 1);
        assert_eq!(timelines.repairs().orphan, 0);
    }
}

#[test]
fn work_of_no_length_is_seen_by_zooming_and_adds_no_time() {
    use perf_fold::{Cell, Folder, GroupBy, Groups, Op, Selection};
    let events = [
        enter(0, A),
        leave(100, A),
        enter(500, B),
        leave(500, B),
        enter(800, A),
        enter(850, C),
        leave(850, C),
        leave(900, A),
        enter(1000, A),
        leave(1000, A),
        enter(1000, B),
        leave(1000, B),
    ];
    let timelines = stream(&events);
    let class = |name| timelines.classes().id(name).unwrap();
    let all: Vec<_> = timelines.instants(0, TimeRange::ALL).collect();
    let at = |tick, name| (Ticks(tick), State::Class(class(name)));
    assert_eq!(
        all,
        [at(500, "b"), at(850, "c"), at(1000, "a"), at(1000, "b")]
    );
    assert_eq!(timelines.instants(0, range(501, 1000)).count(), 1);
    let usage = Usage::of(&timelines, &[0], range(0, 1000), &Job::default())
        .unwrap()
        .utilisation;
    assert_eq!((usage.busy, usage.intervals), (200, 2));
    for selection in [Selection::Sampled, Selection::Exact] {
        let shown = |from, to, columns| -> Vec<Option<&str>> {
            let params = Folder::params().columns(columns).op(Op::Idle);
            let params = params.selection(selection).instants(true).check().unwrap();
            let groups = Groups::by(&timelines, GroupBy::Device);
            let folder = Folder::new(&timelines, groups, params).unwrap();
            let fold = folder.fold(range(from, to), &Job::default()).unwrap();
            let name = |cell: &Cell| {
                cell.picture()
                    .map(|it| timelines.classes().names()[it.index()].as_str())
            };
            fold.cells().iter().map(name).collect()
        };
        // Two ticks per pixel: not visible.
        assert_eq!(shown(498, 504, 3), [None; 3]);
        // One tick per pixel or less: visible over the whole tick.
        assert_eq!(shown(499, 502, 3), [None, Some("b"), None]);
        let fine = shown(499, 502, 9);
        assert_eq!(
            fine.iter().filter(|it| **it == Some("b")).count(),
            3,
            "{fine:?}"
        );
        // Visible within other work too; of several, the last one.
        assert_eq!(shown(849, 852, 3), [Some("a"), Some("c"), Some("a")]);
        assert_eq!(shown(999, 1002, 3), [None, Some("b"), None]);
    }
    // Threads nest: their zero-length states vanish, as published.
    let thread = of(&trace(LocationKind::CpuThread, &events));
    assert_eq!(thread.instants(0, TimeRange::ALL).count(), 0);
}

#[test]
fn a_kernel_called_idle_is_not_idle() {
    let (mut definitions, events, _) = trace(
        LocationKind::AcceleratorStream,
        &[enter(0, A), leave(10, A), enter(30, B), leave(40, B)],
    )
    .into_parts();
    definitions.regions[0] = Region::named("idle");
    let timelines = of(&Trace::new(definitions, events).unwrap());
    let usage = Usage::of(&timelines, &[0], range(0, 80), &Job::default()).unwrap();
    let classes: Vec<_> = usage.named_classes(timelines.classes()).collect();
    assert_eq!(classes, [("idle", 0.125), ("b", 0.125)]);
    assert_eq!(usage.share_of(State::Idle), 0.25);
    assert_eq!(usage.share_of(State::Absent), 0.5);
    let nothing = Usage::of(&timelines, &[], range(0, 80), &Job::default()).unwrap();
    assert_eq!(nothing.share_of(State::Idle), 0.0);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn busy_is_the_union_of_the_intervals(
        kernels in prop::collection::vec((0u64..300, 0u64..40, 0u32..3), 0..60),
        start in 0u64..350, length in 0u64..350,
    ) {
        // At equal times enters come first, so that no leave precedes its enter.
        let mut events: Vec<(u64, bool, u32)> = Vec::new();
        for (start, length, region) in &kernels {
            events.push((*start, false, *region));
            events.push((start + length, true, *region));
        }
        events.sort_unstable();
        let events: Vec<_> = events
            .into_iter()
            .map(|(at, leaves, region)| if leaves { leave(at, RegionId(region)) } else { enter(at, RegionId(region)) })
            .collect();
        let timelines = stream(&events);
        let window = range(start, start + length);
        let found = Usage::of(&timelines, &[0], window, &Job::default()).unwrap().utilisation;
        let kernels = kernels.iter().map(|(start, length, _)| range(*start, start + length));
        let union = Utilisation::of(kernels, window);
        prop_assert_eq!((found.busy, found.intervals), (union.busy, union.intervals));
        prop_assert_eq!(timelines.repairs().repairs(), 0);
    }
}
