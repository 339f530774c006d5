//! Cancellation of all long work, at each of its checks.

use crate::common::{corpus, trace};
use perf_core::{Job, Nanos, Trace};
use perf_wait::Error;
use perf_wait::activity::Activities;
use perf_wait::clocks::{ClockEstimate, ClockModel, Repair};
use perf_wait::critical::{CriticalPath, Extent};
use perf_wait::delay::DelayCosts;
use perf_wait::device_collectives::DeviceCollectives;
use perf_wait::efficiency::{Efficiencies, HybridEfficiencies, IdealNetwork};
use perf_wait::findings::FindingsPlan;
use perf_wait::stragglers::{PeerSums, Stragglers};
use perf_wait::training::{Operation, OperationKind, TrainingJob};
use perf_wait::waits::WaitStates;
use perf_wait::whatif::{Dependency, WhatIf};

/// Runs work to the end, counts its checks, and cancels it at some of them.
fn stops(what: &str, work: impl Fn(&Job) -> Result<(), Error>) {
    // Traces keep some answers: only the first run looks for them.
    work(&Job::default()).expect("it runs to the end");
    let counting = Job::stopping_after(u64::MAX);
    work(&counting).expect("it runs to the end");
    let checks = counting.checks_made().expect("it counts");
    assert!(checks > 0, "{what} never checks");
    for allowed in [0, checks / 3, checks / 2, checks - 1] {
        let found = work(&Job::stopping_after(allowed));
        assert!(
            matches!(found, Err(Error::Cancelled(_))),
            "{what} after {allowed}: {found:?}"
        );
    }
}

fn recording() -> Trace {
    trace(&perf_testdata::bundled::recording("jacobi-4"))
}

#[test]
fn analyses_of_traces_stop() {
    let trace = recording();
    let view = trace.view();
    let activities = Activities::of(view, &Job::default()).expect("it can be read");
    let waits = WaitStates::of_activities(&activities, &Job::default()).expect("likewise");
    stops("activities", |job| Activities::of(view, job).map(|_| ()));
    stops("waits", |job| {
        WaitStates::of_activities(&activities, job).map(|_| ())
    });
    stops("delays", |job| {
        DelayCosts::of(view, &activities, &waits, job).map(|_| ())
    });
    stops("critical path", |job| {
        CriticalPath::of(view, &activities, &waits, Extent::Run, job).map(|_| ())
    });
    stops("efficiencies", |job| {
        Efficiencies::of(view, &IdealNetwork::default(), job).map(|_| ())
    });
    let none: &[Dependency] = &[];
    stops("what-if", |job| {
        let whatif = WhatIf::of(view, &activities, none, job)?;
        whatif.ask(&[], job)?;
        whatif.imbalance(job).map(|_| ())
    });
    stops("stragglers", |job| {
        let mut sums = PeerSums::default();
        sums.add_trace(view, job)?;
        Stragglers::of(&sums, job).map(|_| ())
    });
}

#[test]
fn analyses_of_threads_and_accelerators_stop() {
    let path = "gpu/hta/tests/data/nccl_parser_config/nccl_data.json.gz";
    for path in ["otf2/casita-2_cuda_simple/traces.otf2", path] {
        let Some(trace) = corpus(path) else { return };
        let view = trace.view();
        let activities = Activities::of(view, &Job::default()).expect("it can be read");
        let waits = WaitStates::of_activities(&activities, &Job::default()).expect("likewise");
        stops("activities", |job| Activities::of(view, job).map(|_| ()));
        stops("waits", |job| {
            WaitStates::of_activities(&activities, job).map(|_| ())
        });
        stops("hybrid efficiencies", |job| {
            HybridEfficiencies::of_activities(view, &activities, job).map(|_| ())
        });
        stops("device collectives", |job| {
            DeviceCollectives::of(view, &activities, &waits, job).map(|_| ())
        });
        let delays = DelayCosts::of(view, &activities, &waits, &Job::default()).expect("likewise");
        stops("findings", |job| {
            let plan = FindingsPlan::default();
            plan.find(view, &activities, &waits, &delays, job)
                .map(|_| ())
        });
    }
}

#[test]
fn training_jobs_of_traces_stop() {
    let Some(trace) = corpus("stragglers/timeline-ST.json.gz") else {
        return;
    };
    stops("training job of a trace", |job| {
        TrainingJob::of_trace(trace.view(), job).map(|_| ())
    });
}

#[test]
fn clock_correction_stops() {
    let trace = recording();
    for model in [ClockModel::Offset, ClockModel::Drift] {
        stops("clocks", |job| {
            let estimate = ClockEstimate::of(trace.view(), model, job)?;
            estimate.correct(&trace, Repair::Logical, job).map(|_| ())
        });
    }
}

#[test]
fn training_jobs_stop() {
    let operation = |step: u64, data_rank: u32| Operation {
        kind: OperationKind::ForwardCompute,
        step,
        data_rank,
        stage: 0,
        sequence: 0,
        chunk: None,
        start: Nanos(0),
        duration: Nanos(5),
    };
    let all = (0..9_000).flat_map(|step| (0..20).map(move |rank| operation(step, rank)));
    let operations: Vec<Operation> = all.collect();
    stops("training", |job| {
        TrainingJob::of(operations.clone(), job)?
            .slowdowns(job)
            .map(|_| ())
    });
}
