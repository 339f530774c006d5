//! Groups, plans, nested folds, and errors.

use perf_core::{
    Definitions, Event, Events, GroupKind, Job, Location, LocationGroup, LocationGroupId,
    LocationKind, Region, RegionId, SystemNode, SystemNodeId, SystemTree, Ticks, TimeRange, Trace,
};
use perf_fold::{
    AbsentRule, Cell, ClassId, Error, Folder, GroupBy, Groups, Nesting, Op, RegionMap, Selection,
    State, Ties, Timelines, Value,
};

fn group(name: &str, kind: GroupKind, node: u32, creator: Option<u32>) -> LocationGroup {
    LocationGroup {
        name: name.into(),
        kind,
        parent: Some(SystemNodeId(node)),
        creator: creator.map(LocationGroupId),
        ..LocationGroup::default()
    }
}

fn location(name: &str, kind: LocationKind, group: u32) -> Location {
    Location {
        name: name.into(),
        kind,
        group: Some(LocationGroupId(group)),
        key: 0,
        ..Location::default()
    }
}

/// Returns two ranks on two nodes: rank 0 with two threads and an accelerator in a group of its
/// own, rank 1 with one thread, a metric source, and streams in the group of the process. Location
/// i enters region `i % 2` at tick i and leaves it at tick 100.
pub(crate) fn timelines() -> Timelines {
    use LocationKind::{AcceleratorStream, CpuThread, Metric};
    let node = |name: &str| SystemNode {
        name: name.into(),
        ..Default::default()
    };
    let groups = vec![
        group("MPI Rank 0", GroupKind::Process, 0, None),
        group("MPI Rank 1", GroupKind::Process, 1, None),
        group("GPU 0", GroupKind::Accelerator, 0, Some(0)),
    ];
    let mut locations = vec![
        location("Master thread", CpuThread, 0),
        location("OMP thread 1", CpuThread, 0),
        location("Master thread", CpuThread, 1),
        location("CUDA[0:7]", AcceleratorStream, 2),
        location("CUDA[0:8]", AcceleratorStream, 2),
        location("CUDA[0:7]", AcceleratorStream, 1),
        location("power", Metric, 1),
    ];
    for (location, key) in locations.iter_mut().zip(0..) {
        location.key = key;
    }
    let events = (0..7u32).map(|index| {
        let mut events = Events::default();
        let region = RegionId(index % 2);
        events
            .push(Ticks(index.into()), Event::Enter { region })
            .unwrap();
        events.push(Ticks(100), Event::Leave { region }).unwrap();
        events
    });
    let nodes = vec![node("node a"), node("node b")];
    let mut definitions = Definitions::default();
    definitions.system = SystemTree::new(nodes, groups, locations, &Default::default()).unwrap();
    definitions.regions = vec![Region::named("even"), Region::named("odd")];
    let trace = Trace::new(definitions, events.collect()).unwrap();
    let map = RegionMap::by_name(trace.definitions()).unwrap();
    Timelines::new(trace.view(), &map, &Job::default()).unwrap()
}

fn rows(groups: &Groups) -> Vec<(&str, &[u32])> {
    let rows = groups.rows().iter().map(|id| groups.get(*id).unwrap());
    rows.map(|group| (group.label.as_str(), group.streams.as_slice()))
        .collect()
}

#[test]
fn groups_of_each_level() {
    let timelines = timelines();
    let by = |by| Groups::by(&timelines, by);
    assert_eq!(
        rows(&by(GroupBy::All)),
        [("All threads", &[0, 1, 2][..]), ("All streams", &[3, 4, 5])]
    );
    assert_eq!(
        rows(&by(GroupBy::Node)),
        [
            ("node a, threads", &[0, 1][..]),
            ("node a, streams", &[3, 4]),
            ("node b, threads", &[2]),
            ("node b, streams", &[5]),
        ]
    );
    let processes = by(GroupBy::Process);
    assert_eq!(
        rows(&processes),
        [
            ("MPI Rank 0, threads", &[0, 1][..]),
            ("MPI Rank 0, streams", &[3, 4]),
            ("MPI Rank 1, threads", &[2]),
            ("MPI Rank 1, streams", &[5]),
        ]
    );
    assert_eq!(
        rows(&by(GroupBy::Device))[1],
        ("MPI Rank 0, GPU 0", &[3, 4][..])
    );
    assert_eq!(
        rows(&by(GroupBy::Device))[3],
        ("MPI Rank 1, streams", &[5][..])
    );
    assert_eq!(rows(&by(GroupBy::Location)).len(), 6);
    assert_eq!(processes.left_out(), [6]);

    // Unfolds down to single streams.
    let unfolded = by(GroupBy::Node).unfold(1).unwrap();
    assert_eq!(rows(&unfolded)[1], ("MPI Rank 0, streams", &[3, 4][..]));
    let unfolded = unfolded.unfold(1).unwrap();
    assert_eq!(rows(&unfolded)[1], ("MPI Rank 0, GPU 0", &[3, 4][..]));
    let unfolded = unfolded.unfold(1).unwrap();
    assert_eq!(rows(&unfolded)[2], ("GPU 0, CUDA[0:8]", &[4][..]));
    assert_eq!(unfolded.unfold(2).unwrap(), unfolded);
    assert!(matches!(
        unfolded.unfold(9),
        Err(Error::UnknownGroup { id: 9, .. })
    ));
}

#[test]
fn blocks_name_their_first_and_last_process() {
    let processes = |name: fn(u32) -> String| {
        let groups = (0..64).map(|at| LocationGroup {
            name: name(at),
            ..LocationGroup::default()
        });
        let locations = (0..64).map(|at| Location {
            key: at.into(),
            ..location("thread", LocationKind::CpuThread, at)
        });
        let mut definitions = Definitions::default();
        let (groups, locations) = (groups.collect(), locations.collect());
        definitions.system =
            SystemTree::new(Vec::new(), groups, locations, &Default::default()).unwrap();
        let trace = Trace::new(definitions, vec![Events::default(); 64]).unwrap();
        let map = RegionMap::by_name(trace.definitions()).unwrap();
        let timelines = Timelines::new(trace.view(), &map, &Job::default()).unwrap();
        let groups = Groups::by(&timelines, GroupBy::Process).in_blocks(16, 4);
        let last = rows(&groups).last().unwrap().0.to_string();
        (groups.rows().len(), last)
    };
    let named = processes(|at| format!("MPI Rank {at}"));
    assert_eq!(named, (4, "MPI Rank 48 to 63".to_string()));
    let with_ids = processes(|at| format!("MPI Rank {at} ({})", 9_000 + 7 * at));
    assert_eq!(with_ids, named);
    let others = processes(|at| format!("python ({})", 9_000 + 7 * at));
    assert_eq!(others, (4, "python (9336) and 15 more".to_string()));
}

#[test]
fn annotations_of_the_profiler_are_no_threads() {
    use LocationKind::{AcceleratorStream, CpuThread};
    let process = |name: &str, id: &str| LocationGroup {
        name: name.into(),
        properties: [("process", id)].into(),
        ..LocationGroup::default()
    };
    let groups = vec![
        process("python (81)", "81"),
        process("process Spans", "Spans"),
        LocationGroup {
            name: "GPU 0".into(),
            kind: GroupKind::Accelerator,
            creator: Some(LocationGroupId(0)),
            ..LocationGroup::default()
        },
    ];
    let rows_with = |kind: LocationKind| {
        let mut locations = vec![
            location("thread 81", CpuThread, 0),
            location("PyTorch Profiler", CpuThread, 1),
            location("stream 7", kind, 2),
        ];
        for (location, key) in locations.iter_mut().zip(0..) {
            location.key = key;
        }
        let mut definitions = Definitions::default();
        let (nodes, groups) = (Vec::new(), groups.clone());
        definitions.system =
            SystemTree::new(nodes, groups, locations, &Default::default()).unwrap();
        definitions.regions = vec![Region::named("work")];
        let events = (0..3).map(|_| {
            let mut events = Events::default();
            let region = RegionId(0);
            events.push(Ticks(0), Event::Enter { region }).unwrap();
            events.push(Ticks(9), Event::Leave { region }).unwrap();
            events
        });
        let trace = Trace::new(definitions, events.collect()).unwrap();
        let map = RegionMap::by_name(trace.definitions()).unwrap();
        let timelines = Timelines::new(trace.view(), &map, &Job::default()).unwrap();
        let groups = Groups::by(&timelines, GroupBy::Device);
        let groups = groups.devices_first().unwrap();
        rows(&groups)
            .into_iter()
            .map(|(label, streams)| (label.to_string(), streams.to_vec()))
            .collect::<Vec<_>>()
    };
    let row = |label: &str, stream: u32| (label.to_string(), vec![stream]);
    assert_eq!(
        rows_with(AcceleratorStream),
        [
            row("python (81), GPU 0", 2),
            row("All threads", 0),
            row("All annotations", 1),
        ]
    );
    // Without devices a process may have any identifier.
    assert!(
        rows_with(CpuThread)
            .iter()
            .all(|(label, _)| label != "All annotations")
    );
}

#[test]
fn groups_of_ones_own_keep_kinds_apart() {
    let timelines = timelines();
    let mut groups = Groups::none(&timelines);
    let mixed = groups.add(&timelines, "mixed", &[0, 3]);
    assert!(matches!(mixed, Err(Error::MixedKinds { label }) if label == "mixed"));
    assert!(groups.add(&timelines, "metric", &[6]).is_err());
    let missing = groups.add(&timelines, "missing", &[0, 7]);
    assert!(matches!(
        missing,
        Err(Error::UnknownStream {
            stream: 7,
            count: 7
        })
    ));
    let threads = groups.add(&timelines, "threads", &[2, 0, 2]).unwrap();
    let streams = groups.add(&timelines, "streams", &[3]).unwrap();
    assert!(groups.join("both", &[threads, streams]).is_err());
    let mut nested = groups.join("all", &[threads]).unwrap();
    assert_eq!(rows(&groups), [("streams", &[3][..]), ("all", &[0, 2])]);
    let too_deep = loop {
        match groups.join("deeper", &[nested]) {
            Ok(id) => nested = id,
            Err(error) => break error,
        }
    };
    assert!(matches!(too_deep, Error::TooDeep { limit: 64, .. }));
}

#[test]
fn a_majority_of_majorities_differs() {
    let timelines = timelines();
    // At tick 50 the threads are even, odd, even.
    let mut groups = Groups::none(&timelines);
    let pair = groups.add(&timelines, "pair", &[0, 2]).unwrap();
    let odd = groups.add(&timelines, "odd", &[1]).unwrap();
    let other = groups.add(&timelines, "also odd", &[1]).unwrap();
    groups.join("all", &[pair, odd, other]).unwrap();
    let window = TimeRange::new(Ticks(50), Ticks(51)).unwrap();
    let show = |nesting| {
        let params = Folder::params()
            .columns(1)
            .op(Op::Max)
            .nesting(nesting)
            .check()
            .unwrap();
        let folder = Folder::new(&timelines, groups.clone(), params).unwrap();
        let fold = folder.fold(window, &Job::default()).unwrap();
        let cell = fold.cell(0, 0).unwrap();
        (cell.value, cell.winning, cell.total)
    };
    let class = |name| Value::Class(timelines.classes().id(name).unwrap());
    assert_eq!(show(Nesting::Flat), (class("even"), 2, 3));
    assert_eq!(show(Nesting::Nested), (class("odd"), 2, 3));
    let numbers = Folder::params()
        .op(Op::Entropy)
        .nesting(Nesting::Nested)
        .check();
    assert!(matches!(numbers, Err(Error::NestedNumbers)));
}

/// Returns one cell of a nested fold over groups of these streams.
fn nested(groups_of: &[&[u32]], op: Op, absent: AbsentRule, at: u64) -> Cell {
    let timelines = timelines();
    let mut groups = Groups::none(&timelines);
    let children: Vec<_> = groups_of
        .iter()
        .map(|streams| groups.add(&timelines, "child", streams).unwrap())
        .collect();
    groups.join("all", &children).unwrap();
    let params = Folder::params()
        .columns(1)
        .op(op)
        .absent(absent)
        .nesting(Nesting::Nested)
        .check()
        .unwrap();
    let folder = Folder::new(&timelines, groups, params).unwrap();
    let window = TimeRange::new(Ticks(at), Ticks(at + 1)).unwrap();
    let fold = folder.fold(window, &Job::default()).unwrap();
    *fold.cell(0, 0).unwrap()
}

#[test]
fn a_nested_diff_compares_the_children() {
    let (even, odd) = (ClassId(0), ClassId(1));
    let show = |groups: &[&[u32]], op| nested(groups, op, AbsentRule::AsIdle, 50).value;
    for (op, rarest) in [(Op::Diff, even), (Op::Outliers(1), odd)] {
        // Each child is uniform in itself, but the children differ from each other.
        assert_eq!(show(&[&[0, 2], &[1]], op), Value::Differs(rarest), "{op:?}");
        assert_eq!(show(&[&[0, 2], &[2]], op), Value::Uniform, "{op:?}");
        // Differences within a child do not show.
        assert_eq!(show(&[&[0, 1, 2], &[2]], op), Value::Uniform, "{op:?}");
    }
    // Children of accelerator streams are compared by their non-idle streams: at tick 4 streams 3
    // and 4 are active, and 5 has not begun.
    let streams: [&[u32]; 2] = [&[3, 5], &[3]];
    let cell = nested(&streams, Op::Diff, AbsentRule::AsIdle, 4);
    assert_eq!((cell.value, cell.total), (Value::Uniform, 2));
}

#[test]
fn a_child_without_streams_that_exist_is_absent() {
    // At tick 1 stream 2 has not begun.
    let children: [&[u32]; 2] = [&[0], &[2]];
    let at = |op, absent| nested(&children, op, absent, 1);
    let as_idle = at(Op::Diff, AbsentRule::AsIdle);
    assert_eq!(as_idle.value, Value::Differs(ClassId(0)));
    assert_eq!((as_idle.total, as_idle.idle, as_idle.absent), (2, 0, 1));
    let left_out = at(Op::Diff, AbsentRule::LeaveOut);
    assert_eq!(left_out.value, Value::Uniform);
    assert_eq!((left_out.total, left_out.idle, left_out.absent), (1, 0, 1));
    let max = at(Op::Max, AbsentRule::LeaveOut);
    assert_eq!((max.value, max.total), (Value::Class(ClassId(0)), 1));
    assert_eq!(max.agreement(), 1.0);
}

#[test]
fn the_operation_goes_by_kind() {
    let timelines = timelines();
    let groups = Groups::by(&timelines, GroupBy::All);
    let folder = Folder::new(&timelines, groups, Default::default()).unwrap();
    let checked = folder.checked();
    assert_eq!(checked.op(LocationKind::CpuThread), Some(Op::Max));
    assert_eq!(checked.op(LocationKind::AcceleratorStream), Some(Op::Idle));
    // At tick 3 one of three streams has begun, which `max` would hide.
    let window = TimeRange::new(Ticks(3), Ticks(4)).unwrap();
    let fold = folder.fold(window, &Job::default()).unwrap();
    assert_eq!(
        fold.cell(1, 0).unwrap().picture(),
        timelines.classes().id("odd")
    );
}

#[test]
fn ties_keep_the_cell_before() {
    let timelines = timelines();
    let mut groups = Groups::none(&timelines);
    groups.add(&timelines, "two", &[0, 1]).unwrap();
    // Strictly before tick 1 the first stream is active alone; afterwards the states tie.
    let window = TimeRange::new(Ticks(0), Ticks(9)).unwrap();
    let params = Folder::params().columns(9).op(Op::Min);
    let show = |ties| {
        let params = params.clone().ties(ties).check().unwrap();
        let fold = Folder::new(&timelines, groups.clone(), params)
            .unwrap()
            .fold(window, &Job::default())
            .unwrap();
        fold.cells()
            .iter()
            .map(|cell| cell.value)
            .collect::<Vec<_>>()
    };
    let even = Value::Class(timelines.classes().id("even").unwrap());
    assert_eq!(show(Ties::StreamOrder), [even; 9]);
    // First even and idle tie without a previous cell; even wins and is kept.
    assert_eq!(show(Ties::KeepPrevious), [even; 9]);
    // The same from the other side: the state odd precedes a tie and is kept.
    let mut groups = Groups::none(&timelines);
    groups.add(&timelines, "two", &[1, 2]).unwrap();
    let window = TimeRange::new(Ticks(1), Ticks(9)).unwrap();
    let params = params
        .columns(8)
        .op(Op::Max)
        .ties(Ties::KeepPrevious)
        .check()
        .unwrap();
    let fold = Folder::new(&timelines, groups, params)
        .unwrap()
        .fold(window, &Job::default())
        .unwrap();
    assert_eq!(
        fold.cell(0, 7).unwrap().picture(),
        timelines.classes().id("odd")
    );
}

#[test]
fn ties_do_not_flicker() {
    let (a, b) = (RegionId(0), RegionId(1));
    let enter = |region| Event::Enter { region };
    let leave = |region| Event::Leave { region };
    let mut columns = [Events::default(), Events::default()];
    for (at, event) in [
        (0, enter(b)),
        (50, leave(b)),
        (50, enter(a)),
        (100, leave(a)),
    ] {
        columns[0].push(Ticks(at), event).unwrap();
    }
    for (at, event) in [(0, enter(b)), (100, leave(b))] {
        columns[1].push(Ticks(at), event).unwrap();
    }
    let mut definitions = Definitions::default();
    definitions.regions = vec![Region::named("a"), Region::named("b")];
    let location = |key| Location {
        key,
        ..Location::default()
    };
    let locations = vec![location(0), location(1)];
    definitions.system = SystemTree::new(vec![], vec![], locations, &Default::default()).unwrap();
    let trace = Trace::new(definitions, columns.into()).unwrap();
    let map = RegionMap::by_name(trace.definitions()).unwrap();
    let timelines = Timelines::new(trace.view(), &map, &Job::default()).unwrap();
    // More columns than other rules fold in one piece.
    const COLUMNS: usize = 40_000;
    let show = |ties, selection| {
        let params = Folder::params().columns(COLUMNS).op(Op::Max).ties(ties);
        let params = params.selection(selection).check().unwrap();
        let groups = Groups::by(&timelines, GroupBy::All);
        let folder = Folder::new(&timelines, groups, params).unwrap();
        let fold = folder.fold(timelines.range(), &Job::default()).unwrap();
        let is_b = |cell: &&Cell| cell.picture() == Some(ClassId(1));
        fold.cells().iter().filter(is_b).count()
    };
    for selection in [Selection::Sampled, Selection::Exact] {
        // From tick 50 on `a` and `b` tie, and `a` is in the first stream.
        assert_eq!(show(Ties::StreamOrder, selection), COLUMNS / 2);
        assert_eq!(show(Ties::LowestStateId, selection), COLUMNS / 2);
        assert_eq!(show(Ties::KeepPrevious, selection), COLUMNS);
    }
}

#[test]
fn refolding_reuses_fold_and_scratch() {
    let timelines = timelines();
    let groups = Groups::by(&timelines, GroupBy::Location);
    let params = Folder::params().columns(100).check().unwrap();
    let folder = Folder::new(&timelines, groups, params).unwrap();
    let (mut scratch, mut fold) = (folder.scratch(), folder.empty());
    assert_eq!((fold.columns(), fold.rows().count()), (0, 6));
    folder
        .refold(timelines.range(), &mut scratch, &mut fold, &Job::default())
        .unwrap();
    let place = fold.cells().as_ptr();
    let window = TimeRange::new(Ticks(3), Ticks(50)).unwrap();
    folder
        .refold(window, &mut scratch, &mut fold, &Job::default())
        .unwrap();
    assert_eq!(fold.cells().as_ptr(), place);
    assert_eq!(
        fold.cells(),
        folder.fold(window, &Job::default()).unwrap().cells()
    );
    assert_eq!(fold.window(), window);
    assert_eq!(fold.time(0), timelines.clock().nanos(fold.centres()[0]));

    // Scratch and fold of another folder can be reused.
    let other = folder.with_rows(&folder.groups().rows()[1..3]).unwrap();
    other
        .refold(window, &mut scratch, &mut fold, &Job::default())
        .unwrap();
    assert_eq!(
        fold.cells(),
        other.fold(window, &Job::default()).unwrap().cells()
    );
    let tally = folder.tally(0, Ticks(50));
    let even = State::Class(timelines.classes().id("even").unwrap());
    assert_eq!(tally.entries()[0].state, even);
}

#[test]
fn invalid_folds_are_errors() {
    let timelines = timelines();
    assert!(matches!(
        Folder::params().columns(0).check(),
        Err(Error::NoColumns)
    ));
    for columns in [1 << 24, usize::MAX] {
        let params = Folder::params().columns(columns).check().unwrap();
        let groups = Groups::by(&timelines, GroupBy::Location);
        let folder = Folder::new(&timelines, groups, params);
        assert!(matches!(folder, Err(Error::TooManyCells { rows: 6, .. })));
    }
    let params = Folder::params().columns(1 << 25).check().unwrap();
    let groups = Groups::by(&timelines, GroupBy::All);
    let groups = groups.with_rows(&groups.rows()[..1]).unwrap();
    let error = Folder::new(&timelines, groups, params).unwrap_err();
    assert_eq!(
        error.to_string(),
        "too many cells: 1 rows of 33554432 columns, the limit is 16777216 cells"
    );
    let params = Folder::params().check().unwrap();
    let none = Folder::new(&timelines, Groups::default(), params);
    assert!(matches!(
        none,
        Err(Error::OtherTimelines {
            expected: 0,
            got: 7
        })
    ));

    let groups = Groups::by(&timelines, GroupBy::All);
    let folder = Folder::new(&timelines, groups, Default::default()).unwrap();
    let job = Job::default();
    job.cancel();
    let (mut scratch, mut fold) = (folder.scratch(), folder.empty());
    let range = timelines.range();
    let stopped = folder.refold(range, &mut scratch, &mut fold, &job);
    assert!(matches!(stopped, Err(Error::Cancelled(_))));
    assert!(matches!(
        folder.usage(range, &job),
        Err(Error::Cancelled(_))
    ));
}
