//! Constructed traces, and the extraction of their bursts.

#![allow(dead_code, unused_imports, reason = "each test uses its part")]
#![allow(missing_docs, reason = "tests only")]

use perf_core::{
    CallTree, Collective, CollectiveOp, CommId, Definitions, Event, Events, Job, Location,
    LocationGroup, LocationGroupId, LocationKind, Metric, MetricId, MetricMode, MetricSet,
    MetricSetId, Nanos, Paradigm, Region, RegionId, RegionRole, SystemTree, Ticks, TimeRange,
    Trace, Transfer, ValueType,
};
use perf_track::{
    Bursts, ClusterId, Delimiter, Dropped, Error, Extract, ExtractParams, Formula, Kind, Labels,
    ZeroDivision, drop_small_clusters,
};

pub(crate) const MAIN: RegionId = RegionId(0);
pub(crate) const SOLVE: RegionId = RegionId(1);
pub(crate) const SEND: RegionId = RegionId(2);
pub(crate) const REDUCE: RegionId = RegionId(3);
pub(crate) const RUNNING: RegionId = RegionId(4);
pub(crate) const BARRIER: RegionId = RegionId(5);

pub(crate) const RELATIVE: usize = 0;
pub(crate) const CYCLES: usize = 1;
pub(crate) const ACCUMULATED: usize = 2;
pub(crate) const ABSOLUTE: usize = 3;

pub(crate) fn definitions(threads: u64) -> Definitions {
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
        is_shared: false,
    };
    definitions.metric_sets = (0..4).map(set).collect();
    let mut contexts = CallTree::default();
    let main = contexts.child(None, MAIN).expect("it is valid");
    contexts.child(Some(main), SOLVE).expect("it is valid");
    definitions.contexts = contexts;
    definitions
}

pub(crate) enum E {
    In(RegionId),
    Out(RegionId),
    Count(usize, u64),
    Sent(u64),
    Sampled,
    Other(Event<'static>),
}
pub(crate) use E::{Count, In, Other, Out, Sampled, Sent};

pub(crate) fn events(list: &[(u64, E)]) -> Events {
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

pub(crate) fn trace(threads: Vec<Events>) -> Trace {
    Trace::new(definitions(threads.len() as u64), threads).expect("it is valid")
}

pub(crate) fn extract(params: ExtractParams, trace: &Trace) -> (Bursts, Dropped) {
    let extract = params.check().expect("it is valid");
    extract
        .extract(trace.view(), &Job::default())
        .expect("it is valid")
}

pub(crate) fn calls(name: &str) -> ExtractParams {
    Extract::params().delimiter(Delimiter::Calls(vec![name.into()]))
}

pub(crate) fn talk() -> ExtractParams {
    Extract::params().delimiter(Delimiter::Communication)
}

pub(crate) fn times(bursts: &Bursts) -> Vec<(i64, i64)> {
    bursts
        .rows()
        .iter()
        .map(|row| (row.begin.0, row.end.0))
        .collect()
}
