//! Begin, end and callers of bursts, on constructed traces.

use crate::constructed;

use constructed::*;
use perf_core::{
    Collective, CollectiveOp, CommId, Event, Events, Job, LocationKind, Nanos, Region, RegionRole,
    SystemTree, Ticks, TimeRange, Trace,
};
use perf_track::{Delimiter, Error, Extract};

#[test]
fn calls_that_never_end_have_the_innermost_callers() {
    let mut list = Vec::new();
    for step in 0..1000 {
        list.extend([
            (10 * step + 1, In(SOLVE)),
            (10 * step + 2, In(SEND)),
            (10 * step + 4, Out(SEND)),
        ]);
    }
    let (bursts, _) = extract(talk(), &trace(vec![events(&list)]));
    assert_eq!(bursts.len(), 1000);
    let lengths: Vec<usize> = bursts.chains().map(Iterator::count).collect();
    // From the call itself and the first that was entered up to the limit, then one chain for all
    // others.
    assert_eq!(lengths, (2..=256).collect::<Vec<_>>());
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
    // The callers of this call were sampled.
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
    // No communication: computation outside of regions is unknown.
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
fn unrecorded_time_ends_a_burst() {
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
    // An interrupted call cannot be compared.
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
    // A kind of event without a variant.
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
    let unknown = unknown.extract(trace.view(), &Job::default());
    assert!(matches!(unknown, Err(Error::UnknownMetric { .. })));
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
    let (bursts, dropped) = extract.extract(part, &Job::default()).unwrap();
    assert_eq!(times(&bursts), [(40, 60)]);
    assert_eq!((dropped.cut.bursts, dropped.cut.time), (2, Nanos(40)));
    assert_eq!(bursts.rows()[0].before, bursts.rows()[0].after);
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
fn functions_do_not_divide_a_state() {
    let list = |functions: bool| {
        let mut all = vec![
            (0, In(RUNNING)),
            // A function begins within the state, which is left and entered again around it.
            (10, Count(RELATIVE, 3)),
            (10, Out(RUNNING)),
            (10, In(SOLVE)),
            (10, In(RUNNING)),
            (20, Count(RELATIVE, 4)),
            (20, Out(RUNNING)),
            (20, Out(SOLVE)),
            (20, In(RUNNING)),
            (30, Count(RELATIVE, 5)),
            (30, Out(RUNNING)),
            // A second state after the first one.
            (30, In(RUNNING)),
            (40, Out(RUNNING)),
            // A zero-length call between two states.
            (40, In(SEND)),
            (40, Out(SEND)),
            (40, In(RUNNING)),
            (50, Out(RUNNING)),
        ];
        if !functions {
            all.retain(|(_, event)| !matches!(event, In(SOLVE) | Out(SOLVE)));
        }
        all
    };
    let states = |functions| {
        let mut definitions = definitions(1);
        definitions.regions[RUNNING.index()] = Region::named("Running");
        definitions.regions[SOLVE.index()].role = RegionRole::Function;
        Trace::new(definitions, vec![events(&list(functions))]).expect("it is valid")
    };
    let params = || Extract::params().metric("instructions");
    let (bursts, _) = extract(params(), &states(true));
    assert_eq!(times(&bursts), [(0, 30), (30, 40), (40, 50)]);
    assert_eq!(bursts.columns()[0].values[0], 12.0);
    // Without the function each of them is a state of its own, like the requested pieces.
    let pieces = [(0, 10), (10, 20), (20, 30), (30, 40), (40, 50)];
    assert_eq!(times(&extract(params(), &states(false)).0), pieces);
    let calls = params().delimiter(Delimiter::Calls(vec!["Running".into()]));
    assert_eq!(times(&extract(calls, &states(true)).0), pieces);
}
