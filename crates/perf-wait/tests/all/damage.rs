//! Traces that are cut, lack events, or were never of MPI: results or errors with a place, and no panic.

use crate::common::{corpus, trace};
use perf_core::{Events, Job, Trace};
use perf_wait::Error;
use perf_wait::activity::Activities;
use perf_wait::clocks::{ClockEstimate, ClockModel, Repair};
use perf_wait::critical::{CriticalPath, Extent};
use perf_wait::delay::DelayCosts;
use perf_wait::efficiency::{Efficiencies, IdealNetwork};
use perf_wait::stragglers::{PeerSums, Stragglers};
use perf_wait::waits::{Pattern, WaitStates};
use perf_wait::whatif::{Change, Dependency, WhatIf};

/// Runs all analyses. Only a lack of MPI calls and calls that wait for each other are errors.
fn analyse(trace: &Trace, what: &str) {
    let (job, view) = (Job::default(), trace.view());
    let accept = |error: Error| match error {
        Error::Nothing { .. } | Error::Cycle { .. } => {}
        other => panic!("{what}: {other}"),
    };
    let activities = Activities::of(view, &job).expect("calls can be found");
    for (_, call) in activities.calls() {
        assert!(call.enter <= call.leave, "{what}");
    }
    let waits = WaitStates::of_activities(&activities, &job).expect("likewise");
    for state in waits.states() {
        let call = activities.call(state.call).expect("it exists");
        assert!(
            state.ticks <= call.leave.0 - call.enter.0,
            "{what}: {state:?} {call:?}"
        );
    }
    let delays = DelayCosts::of(view, &activities, &waits, &job).expect("likewise");
    for kind in Pattern::ALL.into_iter().filter(|kind| kind.is_waiting()) {
        let (short, long) = delays.total(kind);
        let all = waits.total(kind) as f64;
        assert!((short + long - all).abs() <= all * 1e-9, "{what}: {kind:?}");
    }
    match CriticalPath::of(view, &activities, &waits, Extent::Run, &job) {
        Ok(path) => {
            let (first, last) = activities.range().expect("it has events");
            assert_eq!(path.ticks(), last.0 - first.0, "{what}");
        }
        Err(error) => accept(error),
    }
    if let Err(error) = CriticalPath::of(view, &activities, &waits, Extent::Program, &job) {
        accept(error);
    }
    if let Err(error) = Efficiencies::of(view, &IdealNetwork::default(), &job) {
        accept(error);
    }
    let none: &[Dependency] = &[];
    match WhatIf::of(view, &activities, none, &job) {
        Ok(whatif) => {
            let changes = Change::ranks(&activities).into_iter().take(1);
            let changes: Vec<Change> = changes
                .map(|location| Change::LikePeers { location })
                .collect();
            whatif.ask(&changes, &job).expect("it can be replayed");
            whatif.imbalance(&job).expect("it can be replayed");
        }
        Err(error) => accept(error),
    }
    let mut sums = PeerSums::default();
    sums.add_trace(view, &job).expect("calls can be summed");
    Stragglers::of(&sums, &job).expect("they can be decomposed");
    for model in [ClockModel::Auto, ClockModel::Drift] {
        let estimate = ClockEstimate::of(view, model, &job).expect("clocks can be estimated");
        let corrected = estimate
            .correct(trace, Repair::Logical, &job)
            .expect("times stay in order");
        assert_eq!(corrected.trace.len(), trace.len(), "{what}");
    }
}

/// The same trace with the events that `keep` keeps, by location and number.
fn part(trace: &Trace, mut keep: impl FnMut(usize, usize) -> bool) -> Trace {
    let kept = trace.events().iter().enumerate().map(|(location, events)| {
        let mut kept = Events::default();
        for index in (0..events.len()).filter(|index| keep(location, *index)) {
            let (time, event) = (events.time(index), events.event(index));
            kept.push(time.expect("it exists"), event.expect("it exists"))
                .expect("in order");
        }
        kept
    });
    let kept = kept.collect();
    Trace::new(trace.definitions().clone(), kept).expect("one list a location")
}

#[test]
fn damaged_recordings_are_analysed() {
    let whole = trace(&perf_testdata::bundled::recording("jacobi-4"));
    let mut random = 1_u64;
    let mut next = move |below: u64| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below
    };
    for round in 0..24 {
        let cuts: Vec<usize> = whole
            .events()
            .iter()
            .map(|it| next(it.len() as u64 + 1) as usize)
            .collect();
        let share = [2, 5, 20, 200][round % 4];
        let damaged = match round % 3 {
            0 => part(&whole, |location, index| index < cuts[location]),
            1 => part(&whole, |location, index| index >= cuts[location]),
            _ => part(&whole, |_, _| next(share) > 0),
        };
        analyse(&damaged, &format!("round {round}"));
    }
}

#[test]
fn recordings_of_all_kinds_are_analysed() {
    for name in [
        "otf2/apex-vortex-3nice",
        "otf2/casita-10_scorep_mpi_tags",
        "otf2/casita-1_scorep-ompt-host-nested",
        "otf2/casita-2_cuda_simple",
        "otf2/casita-2_jacobi_blame_gpu_005",
        "otf2/eztrace-heat4",
        "otf2/eztrace-hpcc4",
        "otf2/pipit-pingpong",
        "otf2/sstmacro-otf2",
        "otf2/syn-cosmo",
        "otf2/tracer-stencil4d-32",
        "paraver/epoch/epoch_4proc.prv.gz",
    ] {
        let Some(trace) = corpus(name) else {
            return;
        };
        analyse(&trace, name);
    }
}

#[test]
fn traces_without_mpi_are_errors_or_have_no_waits() {
    let empty = Trace::default();
    analyse(&empty, "empty");
    let found = Efficiencies::of(empty.view(), &IdealNetwork::default(), &Job::default());
    assert!(matches!(found, Err(Error::Nothing { what: "MPI calls" })));
}
