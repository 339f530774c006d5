//! Results do not depend on the number of threads.

use crate::common::{corpus, trace};
use perf_core::parallel::Threads;
use perf_core::{Job, Trace};
use perf_wait::activity::Activities;
use perf_wait::critical::{CriticalPath, Extent};
use perf_wait::delay::DelayCosts;
use perf_wait::findings::FindingsPlan;
use perf_wait::waits::WaitStates;

/// Returns all results of a trace as text, with all digits of their numbers.
fn results(trace: &Trace) -> String {
    let job = Job::default();
    let view = trace.view();
    let activities = Activities::of(view, &job).expect("it can be read");
    let waits = WaitStates::of_activities(&activities, &job).expect("likewise");
    let delays = DelayCosts::of(view, &activities, &waits, &job).expect("likewise");
    let path = CriticalPath::of(view, &activities, &waits, Extent::Run, &job).expect("likewise");
    let plan = FindingsPlan::default();
    let findings = plan.find(view, &activities, &waits, &delays, &job);
    format!(
        "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
        activities.locations(),
        activities.collectives(),
        activities.links(),
        activities.paths().paths(),
        waits.states(),
        delays.costs(),
        path.segments(),
        findings.expect("it can be replayed")
    )
}

#[test]
fn results_are_the_same_on_any_number_of_threads() {
    let bundled = ["jacobi-16", "nwchem-md-4"];
    let bundled = bundled.map(|name| Some(trace(&perf_testdata::bundled::recording(name))));
    let others = [
        corpus("otf2/casita-2_jacobi_blame_cpu_015/traces.otf2"),
        corpus("gpu/hta/tests/data/nccl_parser_config/nccl_data.json.gz"),
    ];
    for trace in bundled.into_iter().chain(others).flatten() {
        let one = results(&trace);
        for threads in [2, 8] {
            let several = Threads::new(threads).install(|| results(&trace));
            assert!(one == several, "{threads} threads");
        }
    }
}
