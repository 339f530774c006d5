//! Bursts of traces made by hand: what begins and ends them, counters, callers, filters.

use perf_core::{
    CallTree, CancelToken, Collective, CollectiveOp, CommId, Definitions, Event, Events, Location,
    LocationGroup, LocationGroupId, LocationKind, Metric, MetricId, MetricMode, MetricSet,
    MetricSetId, Nanos, Paradigm, Region, RegionId, RegionRole, SystemTree, Ticks, TimeRange,
    Trace, Transfer, ValueType,
};
use perf_track::{
    Bursts, ClusterId, Delimiter, Dropped, Error, Extract, ExtractParams, Formula, Kind, Labels,
    ZeroDivision, drop_small_clusters,
};

const MAIN: RegionId = RegionId(0);
const SOLVE: RegionId = RegionId(1);
const SEND: RegionId = RegionId(2);
const REDUCE: RegionId = RegionId(3);
const RUNNING: RegionId = RegionId(4);
const BARRIER: RegionId = RegionId(5);

const RELATIVE: usize = 0;
const CYCLES: usize = 1;
const ACCUMULATED: usize = 2;
const ABSOLUTE: usize = 3;

fn definitions(threads: u64) -> Definitions {
    let mut definitions = Definitions::default();
    let groups = (0..threads).map(|rank| LocationGroup {
        name: format!("rank {rank}"),
        ..LocationGroup::default()
    });
    let locations = (0..threads).map(|rank| Location {
        name: "master".into(),
        group: Some(LocationGroupId(rank as u32)),
        key: rank,
        ..Location::default()
    });
    let (groups, locations) = (groups.collect(), locations.collect());
    definitions.system =
        SystemTree::new(vec![], groups, locations, &Default::default()).expect("it is valid");
    let mut solve = Region::named("solve");
    (solve.file, solve.lines) = (Some("solver.f90".into()), Some((12, 80)));
    let mpi = |name: &str| Region {
        paradigm: Paradigm::Mpi,
        ..Region::named(name)
    };
    let barrier = Region {
        paradigm: Paradigm::OpenMp,
        role: RegionRole::Barrier,
        ..Region::named("implicit barrier")
    };
    let running = Region::named("Run");
    definitions.regions = vec![
        Region::named("main"),
        solve,
        mpi("MPI_Send"),
        mpi("MPI_Allreduce"),
        running,
        barrier,
    ];
    let metric = |name: &str, mode, unit: &str| Metric {
        name: name.into(),
        unit: unit.into(),
        mode,
        value_type: ValueType::U64,
        ..Metric::default()
    };
    definitions.metrics = vec![
        metric("PAPI_TOT_INS [Instr completed]", MetricMode::Relative, "#"),
        metric("PAPI_TOT_CYC", MetricMode::Relative, "#"),
        metric("sum", MetricMode::Accumulated, "#"),
        metric("level", MetricMode::Absolute, "bytes"),
    ];
    // Each metric in a set of its own.
    let set = |metric| MetricSet {
        members: vec![MetricId(metric)],
        scope: None,
    };
    definitions.metric_sets = (0..4).map(set).collect();
    let mut contexts = CallTree::default();
    let main = contexts.child(None, MAIN).expect("it is valid");
    contexts.child(Some(main), SOLVE).expect("it is valid");
    definitions.contexts = contexts;
    definitions
}

enum E {
    In(RegionId),
    Out(RegionId),
    Count(usize, u64),
    Sent(u64),
    Sampled,
    Other(Event<'static>),
}
use E::{Count, In, Other, Out, Sampled, Sent};

fn events(list: &[(u64, E)]) -> Events {
    let mut events = Events::default();
    for (at, event) in list {
        let values;
        let event = match event {
            In(region) => Event::Enter { region: *region },
            Out(region) => Event::Leave { region: *region },
            Count(set, value) => {
                values = [*value];
                let set = MetricSetId(*set as u32);
                Event::Metric {
                    set,
                    values: &values,
                }
            }
            Sent(bytes) => Event::Send(Transfer {
                peer: 0,
                comm: CommId(0),
                tag: 0,
                bytes: *bytes,
                request: None,
            }),
            Sampled => Event::Sample {
                context: perf_core::CallPathId(1),
            },
            Other(event) => *event,
        };
        events.push(Ticks(*at), event).expect("it is valid");
    }
    events
}

fn trace(threads: Vec<Events>) -> Trace {
    Trace::new(definitions(threads.len() as u64), threads).expect("it is valid")
}

fn extract(params: ExtractParams, trace: &Trace) -> (Bursts, Dropped) {
    let extract = params.check().expect("it is valid");
    extract
        .extract(trace.view(), &(), &CancelToken::new())
        .expect("it is valid")
}

fn calls(name: &str) -> ExtractParams {
    Extract::params().delimiter(Delimiter::Calls(vec![name.into()]))
}

fn talk() -> ExtractParams {
    Extract::params().delimiter(Delimiter::Communication)
}

fn times(bursts: &Bursts) -> Vec<(i64, i64)> {
    bursts
        .rows()
        .iter()
        .map(|row| (row.begin.0, row.end.0))
        .collect()
}

#[test]
fn samples_belong_to_the_burst_that_ends_there() {
    // At 10 one burst ends and the next begins; the order of events at one instant is any.
    let order_a = events(&[
        (0, In(RUNNING)),
        (4, Count(RELATIVE, 1)),
        (10, Out(RUNNING)),
        (10, In(RUNNING)),
        (10, Count(RELATIVE, 2)),
        (30, Count(RELATIVE, 4)),
        (30, Out(RUNNING)),
    ]);
    let order_b = events(&[
        (0, Count(RELATIVE, 100)),
        (0, In(RUNNING)),
        (4, Count(RELATIVE, 1)),
        (10, Count(RELATIVE, 2)),
        (10, Out(RUNNING)),
        (10, In(RUNNING)),
        (30, Out(RUNNING)),
        (30, Count(RELATIVE, 4)),
        (31, Count(RELATIVE, 8)),
    ]);
    let trace = trace(vec![order_a, order_b]);
    let (bursts, dropped) = extract(calls("Run").metric("PAPI_TOT_INS"), &trace);
    assert_eq!(times(&bursts), [(0, 10), (10, 30), (0, 10), (10, 30)]);
    assert_eq!(bursts.columns()[0].values, [3.0, 4.0, 3.0, 4.0]);
    assert_eq!(bursts.columns()[0].unit, "#");
    assert_eq!(dropped.complete, dropped.found);
    assert_eq!(dropped.found.time, Nanos(60));
}

#[test]
fn accumulated_counters_are_differences_and_absolute_ones_are_levels() {
    let list = events(&[
        (0, In(RUNNING)),
        (5, Count(ACCUMULATED, 100)),
        (5, Count(ABSOLUTE, 7)),
        (10, Out(RUNNING)),
        (20, In(RUNNING)),
        (20, Count(ACCUMULATED, 150)),
        (25, Count(ACCUMULATED, 180)),
        (25, Count(ABSOLUTE, 20)),
        (28, Count(ABSOLUTE, 30)),
        (30, Out(RUNNING)),
        (40, In(RUNNING)),
        (45, Count(ACCUMULATED, 20)),
        (50, Out(RUNNING)),
        (60, In(RUNNING)),
        (70, Out(RUNNING)),
    ]);
    let params = calls("Run")
        .metric("sum")
        .also("level")
        .also("mean = mean(level)");
    let (bursts, dropped) = extract(params, &trace(vec![list]));
    let column = |name: &str| {
        let values = bursts.column(name).unwrap().values.iter();
        values
            .map(|v| (!v.is_nan()).then_some(*v))
            .collect::<Vec<_>>()
    };
    // Nothing is known of the first begin; the third falls; the fourth has no sample.
    assert_eq!(column("sum"), [None, Some(30.0), None, None]);
    assert_eq!(
        column("level"),
        [Some(7.0), Some(30.0), Some(30.0), Some(30.0)]
    );
    assert_eq!(column("mean"), [Some(7.0), Some(25.0), None, None]);
    assert_eq!(dropped.resets, 1);
    assert_eq!(dropped.missing[&vec!["sum".to_string()]].bursts, 3);
    assert_eq!(bursts.kinds()[1], Kind::Complete);
    assert_eq!(bursts.complete(), [1]);
}

#[test]
fn a_change_of_counters_leaves_bursts_without_them() {
    // Cycles stop, instructions go on, then neither.
    let list = events(&[
        (0, In(RUNNING)),
        (10, Count(RELATIVE, 8)),
        (10, Count(CYCLES, 4)),
        (10, Out(RUNNING)),
        (20, In(RUNNING)),
        (35, Count(RELATIVE, 8)),
        (35, Out(RUNNING)),
        (40, In(RUNNING)),
        (47, Out(RUNNING)),
        (50, In(RUNNING)),
        (60, Count(RELATIVE, 8)),
        (60, Count(CYCLES, 0)),
        (60, Out(RUNNING)),
    ]);
    let trace = trace(vec![list]);
    let params = || {
        calls("Run")
            .metric("IPC = PAPI_TOT_INS / PAPI_TOT_CYC")
            .metric("ipc")
    };
    let (bursts, dropped) = extract(params(), &trace);
    assert_eq!(bursts.columns()[0].values[0], 2.0);
    assert_eq!(bursts.columns()[1].values[0], 2.0);
    let names = |names: &[&str]| {
        names
            .iter()
            .map(|name| name.to_string())
            .collect::<Vec<_>>()
    };
    let missing: Vec<_> = dropped
        .missing
        .iter()
        .map(|(k, v)| (k.clone(), v.time.0))
        .collect();
    // The alias names its counters as they were found.
    assert_eq!(
        missing,
        [
            (names(&["IPC", "ipc"]), 10),
            (names(&["PAPI_TOT_CYC"]), 15),
            (names(&["PAPI_TOT_CYC", "PAPI_TOT_INS"]), 7),
        ]
    );
    assert_eq!(dropped.divisions_by_zero, 1);
    // As the field's tools have it.
    let (bursts, dropped) = extract(params().zero_division(ZeroDivision::Zero), &trace);
    assert_eq!(bursts.columns()[0].values[3], 0.0);
    assert_eq!(bursts.columns()[1].values[3], 0.0);
    assert_eq!(dropped.complete.bursts, 2);
}

#[test]
fn between_calls_of_communication() {
    let list = events(&[
        (5, In(MAIN)),
        (10, In(SEND)),
        (12, Sent(64)),
        (15, Out(SEND)),
        (20, In(SOLVE)),
        (40, Sampled),
        (40, In(REDUCE)),
        (
            45,
            Other(Event::CollectiveEnd(Collective {
                op: CollectiveOp::Allreduce,
                comm: CommId(0),
                root: None,
                sent: 8,
                received: 16,
                request: None,
            })),
        ),
        (50, Out(REDUCE)),
        (50, In(SEND)),
        (55, Out(SEND)),
        (60, Out(SOLVE)),
        (70, Out(MAIN)),
    ]);
    let params = talk()
        .also("sent_before")
        .also("received_before")
        .also("sent_after");
    let (bursts, dropped) = extract(params.also("received_after"), &trace(vec![list]));
    assert_eq!(times(&bursts), [(5, 10), (15, 40), (55, 70)]);
    assert_eq!(dropped.empty, 0);
    let row = |row: usize| -> Vec<Option<f64>> {
        let columns = bursts.columns().iter().map(|column| column.values[row]);
        columns
            .map(|value| (!value.is_nan()).then_some(value))
            .collect()
    };
    assert_eq!(row(0), [None, None, Some(64.0), Some(0.0)]);
    assert_eq!(row(1), [Some(64.0), Some(0.0), Some(8.0), Some(16.0)]);
    assert_eq!(row(2), [Some(0.0), Some(0.0), None, None]);
    assert!(bursts.columns().iter().all(|column| column.unit == "bytes"));
    let chain = |id: Option<perf_track::ChainId>| id.map(|id| bursts.chain(id).join(" < "));
    let rows = bursts.rows();
    assert_eq!(chain(rows[0].before), None);
    assert_eq!(chain(rows[0].after).as_deref(), Some("MPI_Send < main"));
    assert_eq!(rows[1].before, rows[0].after);
    // The callers of this one were sampled.
    assert_eq!(
        chain(rows[1].after).as_deref(),
        Some("solve solver.f90:12 < main")
    );
    let last = "MPI_Send < solve solver.f90:12 < main";
    assert_eq!(chain(rows[2].before).as_deref(), Some(last));
    assert_eq!(chain(rows[2].after), None);
    assert_eq!(bursts.threads()[0].name, "rank 0, master");
}

#[test]
fn workers_compute_while_a_region_is_open() {
    // No communication: outside of regions nothing is known to be computed.
    let worker = events(&[
        (10, In(SOLVE)),
        (30, In(BARRIER)),
        (40, Out(BARRIER)),
        (40, Out(SOLVE)),
        (60, In(SOLVE)),
        (65, Out(SOLVE)),
    ]);
    let master = events(&[
        (0, In(SEND)),
        (10, Out(SEND)),
        (65, In(SEND)),
        (70, Out(SEND)),
    ]);
    let (bursts, _) = extract(talk(), &trace(vec![worker, master]));
    assert_eq!(times(&bursts), [(10, 30), (60, 65), (10, 65)]);
}

#[test]
fn what_is_not_recorded_ends_a_burst() {
    let list = || {
        events(&[
            (0, In(SEND)),
            (10, Out(SEND)),
            (20, Other(Event::Measuring { on: false })),
            (30, Other(Event::Measuring { on: true })),
            (40, Other(Event::Flush { until: Ticks(45) })),
            (60, In(SEND)),
            (70, Out(SEND)),
        ])
    };
    let (bursts, dropped) = extract(talk(), &trace(vec![list()]));
    assert_eq!(times(&bursts), [(10, 20), (30, 40), (45, 60)]);
    assert_eq!(dropped.interrupted.bursts, 0);
    // A call during which it happens is none that could be compared.
    let mut all = events(&[(0, In(SOLVE))]);
    all.append(&list()).unwrap();
    all.append(&events(&[
        (80, Out(SOLVE)),
        (90, In(SOLVE)),
        (95, Out(SOLVE)),
    ]))
    .unwrap();
    let (bursts, dropped) = extract(calls("s*"), &trace(vec![all]));
    assert_eq!(times(&bursts), [(90, 95)]);
    assert_eq!(dropped.interrupted.time, Nanos(80));
}

#[test]
fn calls_are_the_outermost_ones_and_must_end() {
    let list = events(&[
        (0, In(SOLVE)),
        (5, In(SOLVE)),
        (10, Out(SOLVE)),
        (20, Out(SOLVE)),
        (25, In(SOLVE)),
        (25, Out(SOLVE)),
        (30, In(SOLVE)),
        (50, In(MAIN)),
    ]);
    let (bursts, dropped) = extract(calls("solve"), &trace(vec![list]));
    assert_eq!(times(&bursts), [(0, 20)]);
    assert_eq!((dropped.empty, dropped.cut.time), (1, Nanos(20)));
    assert_eq!(dropped.repairs.open_at_end, 2);
}

#[test]
fn values_delimit_bursts() {
    let list = || {
        events(&[
            (0, Count(ABSOLUTE, 0)),
            (10, Count(ABSOLUTE, 3)),
            (20, Count(ABSOLUTE, 4)),
            (20, Count(RELATIVE, 9)),
            (35, Count(ABSOLUTE, 0)),
            (35, Count(RELATIVE, 1)),
            (50, Count(ABSOLUTE, 1)),
        ])
    };
    let by = |name: &str| Extract::params().delimiter(Delimiter::Value(name.into()));
    let params = by("level").also("PAPI_TOT_INS");
    let (bursts, dropped) = extract(params, &trace(vec![list()]));
    assert_eq!(times(&bursts), [(10, 20), (20, 35)]);
    assert_eq!(bursts.columns()[0].values, [9.0, 1.0]);
    assert_eq!(dropped.cut.bursts, 0, "it ends when it begins");
    // A kind of event without a noun.
    let mut definitions = definitions(1);
    definitions.kinds.push("phase".into());
    let kind = perf_core::KindId(0);
    let of = |value: &'static [u64]| Other(Event::Other { kind, args: value });
    let list = events(&[
        (1, of(&[5, 0])),
        (4, of(&[])),
        (9, of(&[1])),
        (11, In(MAIN)),
    ]);
    let trace = Trace::new(definitions, vec![list]).unwrap();
    let (bursts, dropped) = extract(by("phase"), &trace);
    assert_eq!((times(&bursts), dropped.cut.time), (vec![(1, 4)], Nanos(2)));
    let unknown = by("nothing").check().unwrap();
    let unknown = unknown.extract(trace.view(), &(), &CancelToken::new());
    assert!(matches!(unknown, Err(Error::UnknownMetric { .. })));
}

#[test]
fn filters_say_what_they_drop() {
    let mut list = Vec::new();
    for (at, duration, count) in [(0, 5, 1), (10, 20, 50), (40, 20, 500), (70, 30, 60)] {
        list.push((at, In(RUNNING)));
        list.push((at + duration, Count(RELATIVE, count)));
        list.push((at + duration, Out(RUNNING)));
    }
    let trace = trace(vec![events(&list)]);
    let params = calls("Run")
        .metric("x = PAPI_TOT_INS")
        .min_duration(Nanos(6));
    let params = params.max_duration(Nanos(25)).range("x", 10.0, 100.0);
    let (mut bursts, dropped) = extract(params, &trace);
    use Kind::{Complete, Duration, Range};
    assert_eq!(bursts.kinds(), [Duration, Complete, Range, Duration]);
    assert_eq!(
        (dropped.duration.bursts, dropped.duration.time),
        (2, Nanos(35))
    );
    assert_eq!(dropped.ranges["x"].time, Nanos(20));
    assert_eq!(
        (dropped.complete.time, dropped.found.time),
        (Nanos(20), Nanos(75))
    );

    // Of 75 ns cluster 1 has 50, cluster 2 has 25.
    let labels = Labels::new([2, 1, 2, 1].map(ClusterId).to_vec());
    let (kept, amount) = drop_small_clusters(&mut bursts, &labels, 0.4).unwrap();
    assert_eq!(kept, Labels::new([0, 1, 0, 1].map(ClusterId).to_vec()));
    assert_eq!((amount.bursts, amount.time), (2, Nanos(25)));
    assert_eq!(bursts.kinds()[2], Kind::Share);
    let few = Labels::new(vec![ClusterId(1)]);
    assert!(drop_small_clusters(&mut bursts, &few, 0.4).is_err());
    assert!(drop_small_clusters(&mut bursts, &labels, 1.5).is_err());
}

#[test]
fn windows_cut() {
    let list = events(&[
        (0, In(SEND)),
        (10, Out(SEND)),
        (30, In(SEND)),
        (40, Out(SEND)),
        (60, In(SEND)),
        (70, Out(SEND)),
        (90, In(SEND)),
    ]);
    let trace = trace(vec![list]);
    let part = trace
        .view()
        .between(TimeRange::new(Ticks(20), Ticks(85)).unwrap());
    let extract = talk().check().unwrap();
    let (bursts, dropped) = extract.extract(part, &(), &CancelToken::new()).unwrap();
    assert_eq!(times(&bursts), [(40, 60)]);
    assert_eq!((dropped.cut.bursts, dropped.cut.time), (2, Nanos(40)));
    assert_eq!(bursts.rows()[0].before, bursts.rows()[0].after);
}

#[test]
fn counters_are_asked_for_by_name_or_all() {
    let list = events(&[(0, In(RUNNING)), (9, Count(CYCLES, 3)), (9, Out(RUNNING))]);
    let trace = trace(vec![list]);
    let params = calls("Run")
        .metric("cycles")
        .all_counters(true)
        .range("sum", 0.0, 1.0);
    let (bursts, dropped) = extract(params, &trace);
    let names: Vec<&str> = bursts
        .columns()
        .iter()
        .map(|column| column.name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "cycles",
            "PAPI_TOT_INS [Instr completed]",
            "PAPI_TOT_CYC",
            "sum",
            "level"
        ]
    );
    assert_eq!(
        dropped.complete.bursts, 1,
        "what may be missing has no range"
    );
    let unknown = Extract::params().metric("TLB").check().unwrap();
    match unknown.extract(trace.view(), &(), &CancelToken::new()) {
        Err(Error::UnknownMetric { name, known }) => {
            assert_eq!(name, "TLB");
            assert!(
                known.contains("PAPI_TOT_CYC, sum, level, duration"),
                "{known}"
            );
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn only_threads_count_and_absent_ones_are_told() {
    let mut definitions = definitions(3);
    let mut locations = definitions.system.locations().to_vec();
    locations[1].kind = LocationKind::Metric;
    let groups = definitions.system.groups().to_vec();
    definitions.system = SystemTree::new(vec![], groups, locations, &Default::default()).unwrap();
    let list = || events(&[(0, In(SOLVE)), (9, Out(SOLVE))]);
    let trace = Trace::new(definitions, vec![Events::absent(), list(), list()]).unwrap();
    let (bursts, dropped) = extract(calls("solve"), &trace);
    assert_eq!(
        (bursts.len(), dropped.absent_threads, dropped.idle_threads),
        (1, 1, 0)
    );
    assert_eq!(
        bursts.threads()[0].process,
        1,
        "a metric source is no process"
    );
}

#[test]
fn wrong_parameters_are_errors() {
    let params = Extract::params;
    for wrong in [
        params().min_duration(Nanos(-1)),
        params().min_duration(Nanos(5)).max_duration(Nanos(4)),
        params().metric("x").metric("x"),
        params().metric("x").range("x", 2.0, 1.0),
        params().metric("x").range("x", f64::NAN, 1.0),
        params().delimiter(Delimiter::Calls(vec![])),
    ] {
        assert!(matches!(wrong.check(), Err(Error::Parameter { .. })));
    }
    let unknown = params().metric("x").range("y", 0.0, 1.0).check();
    assert!(matches!(unknown, Err(Error::UnknownMetric { .. })));
    let trace = trace(vec![events(&[])]);
    let nowhere = calls("nowhere").check().unwrap();
    let nowhere = nowhere.extract(trace.view(), &(), &CancelToken::new());
    assert!(matches!(nowhere, Err(Error::NoRegion { .. })));
    let token = CancelToken::new();
    token.cancel();
    let list = events(&[(0, In(SOLVE)), (9, Out(SOLVE))]);
    let cancelled = talk()
        .check()
        .unwrap()
        .extract(self::trace(vec![list]).view(), &(), &token);
    assert!(matches!(cancelled, Err(Error::Cancelled(_))));
}

#[test]
fn formulas_that_are_none_have_a_place() {
    for (text, at) in [
        ("", 0),
        ("x =", 3),
        ("a +", 3),
        ("a b", 2),
        ("(a", 2),
        ("a)", 1),
        ("1 / * 2", 4),
        ("\"a", 1),
        ("mean(a + b)", 7),
        ("mean(-a)", 5),
    ] {
        match Formula::parse(text) {
            Err(Error::Formula { at: found, .. }) => assert_eq!(found, at, "{text:?}"),
            other => panic!("{text:?}: {other:?}"),
        }
    }
    assert!(Formula::parse(&"(".repeat(100_000)).is_err());
    assert!(Formula::parse(&"-".repeat(100_000)).is_err());
}
