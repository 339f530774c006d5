//! Tables agree with the results that they are built from.

use perf_core::{Cell, Job, Nanos, Table};
use perf_fold::{
    Cause, DeviceParams, Devices, Folder, GroupBy, Groups, Line, Op, RegionMap, Timelines, Value,
    Work, WorkRules, device_copies,
};

fn folder(op: Op) -> (Folder, Timelines) {
    let trace = perf_core::samples::cosmo::trace();
    let map = RegionMap::by_name(trace.definitions()).expect("a trace that folds");
    let timelines =
        Timelines::new(trace.view(), &map, &Job::default()).expect("a trace that folds");
    let groups = Groups::by(&timelines, GroupBy::Node);
    let params = Folder::params()
        .columns(60)
        .op(op)
        .check()
        .expect("a trace that folds");
    (
        Folder::new(&timelines, groups, params).expect("a trace that folds"),
        timelines,
    )
}

/// Returns the sum of a column of times.
fn sum(table: &Table, column: &str) -> Nanos {
    let cells = (0..table.rows()).map(|row| table.cell(row, column));
    cells
        .map(|cell| match cell {
            Some(Cell::Time(time)) => time,
            other => panic!("{other:?} in {column}"),
        })
        .sum()
}

#[test]
fn cells_of_folds() {
    for op in [Op::Max, Op::Diff, Op::Entropy] {
        let (folder, timelines) = folder(op);
        let fold = folder.fold(timelines.range(), &Job::default()).unwrap();
        let table = fold.table(&Job::default()).unwrap();
        assert_eq!(table.rows(), fold.cells().len());
        let mut shown = std::collections::BTreeSet::new();
        for (at, cell) in fold.cells().iter().enumerate() {
            let (row, column) = (at / fold.columns(), at % fold.columns());
            assert_eq!(table.text_of(at, "row"), fold.row(row).unwrap().label());
            let time = fold.time(column).unwrap();
            assert_eq!(table.cell(at, "time"), Some(Cell::Time(time)));
            let (kind, state) = match cell.value {
                Value::Idle => ("idle", Some("idle")),
                Value::Class(class) => ("class", Some(fold.classes().name(class))),
                Value::Uniform => ("uniform", None),
                Value::Differs(class) => ("differs", Some(fold.classes().name(class))),
                Value::DiffersIdle => ("differs", Some("idle")),
                _ => ("number", None),
            };
            shown.insert(kind);
            assert_eq!(table.cell(at, "shown"), Some(Cell::Text(kind)));
            let state = state.map_or(Cell::Missing, Cell::Text);
            assert_eq!(table.cell(at, "state"), Some(state));
            let number = cell.value.number();
            let number = number.map_or(Cell::Missing, |number| Cell::Float(number.into()));
            assert_eq!(table.cell(at, "value"), Some(number));
            let agreement = 100.0 * cell.winning as f64 / cell.total as f64;
            assert_eq!(table.cell(at, "agreement"), Some(Cell::Float(agreement)));
        }
        assert!(!shown.is_empty());
    }
}

#[test]
fn shares_of_rows() {
    let (folder, timelines) = folder(Op::Max);
    let usage = folder.usage(timelines.range(), &Job::default()).unwrap();
    let [utilisation, states] = folder.usage_tables(&usage);
    for (row, usage) in usage.iter().enumerate() {
        let label = utilisation.text_of(row, "row");
        let share = 100.0 * usage.utilisation.utilisation();
        assert_eq!(
            utilisation.cell(row, "utilisation"),
            Some(Cell::Float(share))
        );
        let own: Vec<usize> = (0..states.rows())
            .filter(|row| states.text_of(*row, "row") == label)
            .collect();
        let own = states.pick(&own);
        assert_eq!(own.rows(), usage.times.len());
        let streams = 10 * timelines.range().len() as i64;
        assert_eq!(sum(&own, "time"), Nanos(streams));
        for (row, (state, share)) in usage.shares().enumerate() {
            let name = timelines.classes().state_name(state);
            assert_eq!(own.cell(row, "state"), Some(Cell::Text(name)));
            assert_eq!(own.cell(row, "share"), Some(Cell::Float(100.0 * share)));
        }
    }
}

#[test]
fn idle_time_of_devices() {
    let trace = perf_core::samples::device::trace();
    let found = Devices::new(
        trace.view(),
        &DeviceParams::new().keep_gaps(true),
        &Job::default(),
    )
    .unwrap();
    let device = &found.devices()[0];
    let [devices, work, overlap, causes, streams, gaps] = found.tables(trace.definitions());
    assert_eq!(sum(&causes, "time"), Nanos(device.all_idle() as i64));
    assert_eq!(sum(&gaps, "duration"), sum(&devices, "idle"));
    let mut at = 0;
    for cause in Cause::ALL {
        if device.idle(cause) > 0 {
            assert_eq!(causes.text_of(at, "cause"), cause.name());
            let time = Nanos(device.idle(cause) as i64);
            assert_eq!(causes.cell(at, "time"), Some(Cell::Time(time)));
            at += 1;
        }
    }
    assert_eq!(at, causes.rows());
    for row in 0..work.rows() {
        let name = work.text_of(row, "work");
        let kind = Work::ALL.into_iter().find(|kind| kind.name() == name);
        let busy = Nanos(device.busy(kind.unwrap()) as i64);
        assert_eq!(work.cell(row, "busy"), Some(Cell::Time(busy)));
    }
    // Each pair is listed in both orders.
    assert_eq!(overlap.rows() % 2, 0);
    let labels: Vec<String> = device
        .streams
        .iter()
        .map(|stream| trace.definitions().system.label(stream.location))
        .collect();
    let found = (0..streams.rows()).map(|row| streams.text_of(row, "stream"));
    assert_eq!(found.collect::<Vec<_>>(), labels);
}

#[test]
fn messages_and_copies() {
    let trace = perf_core::samples::device::trace();
    let copies = device_copies(trace.view(), &WorkRules::default(), &Job::default()).unwrap();
    let [lines, others] = copies.tables(trace.definitions());
    let (line, clock) = (copies.lines[0], trace.definitions().clock);
    assert_eq!(lines, Line::table(&copies.lines, trace.definitions()));
    let sent = clock.nanos(line.sent).unwrap();
    assert_eq!(lines.cell(0, "sent"), Some(Cell::Time(sent)));
    assert_eq!(lines.text_of(0, "bytes"), "4 096 B");
    assert_eq!(others.rows(), 3);
}

#[cfg(feature = "serde")]
#[test]
fn results_are_json() {
    use perf_core::{LocationId, Ticks};
    let trace = perf_core::samples::device::trace();
    let devices = Devices::new(
        trace.view(),
        &DeviceParams::new().keep_gaps(true),
        &Job::default(),
    )
    .unwrap();
    let json = serde_json::to_value(&devices).unwrap();
    assert_eq!(json["devices"][0]["idle"]["host_late"], 15);
    assert_eq!(json["devices"][0]["both"]["copy"]["compute"], 10);
    assert_eq!(json["devices"][0]["utilisation"]["busy"], 70);
    let (folder, timelines) = folder(Op::Max);
    let fold = folder.fold(timelines.range(), &Job::default()).unwrap();
    let json = serde_json::to_value(&fold).unwrap();
    assert_eq!(json["rows"][0]["cells"].as_array().unwrap().len(), 60);
    assert_eq!(json["rows"][0]["cells"][0]["total"], 10);
    let message = Line {
        from: LocationId(0),
        sent: Ticks(0),
        to: LocationId(39),
        received: Ticks(1),
        bytes: 8,
    };
    let lines = folder.lines(timelines.range(), [message]);
    let json = serde_json::to_value(&lines).unwrap();
    assert_eq!(json["bundles"][0]["bytes"], 8);
    assert_eq!(json["bundles"][0]["to_row"], 3);
    let usage = folder.usage(timelines.range(), &Job::default()).unwrap();
    assert!(serde_json::to_value(&usage).unwrap()[0]["times"].is_array());
}
