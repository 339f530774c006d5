//! Wait states against those that Scalasca found.

mod causes;
mod chrome;
mod extrae;
mod hybrid;

use crate::common::{corpus, facts, shifted, trace};
use perf_core::{Job, LocationId, Profile, Trace};
use perf_wait::activity::Activities;
use perf_wait::waits::{Pattern, WaitStates};
use serde_json::Value;

/// Sum of each kind in seconds by rank. Ranks are the locations with MPI calls.
fn by_rank(
    trace: &Trace,
    activities: &Activities,
    states: &WaitStates,
    pattern: Pattern,
) -> Vec<f64> {
    let per_tick = 1.0 / trace.definitions().clock.ticks_per_second() as f64;
    let with_calls = (0..).map(LocationId).zip(activities.locations());
    let ranks = with_calls
        .filter(|(_, own)| !own.calls.is_empty())
        .map(|it| it.0);
    let sum = |rank: LocationId| {
        let own = states.states().iter().filter(|it| it.call.location == rank);
        let ticks: u64 = own
            .filter(|it| it.pattern == pattern)
            .map(|it| it.ticks)
            .sum();
        ticks as f64 * per_tick
    };
    ranks.map(sum).collect()
}

/// Sum of a metric of a profile over all call paths, in seconds by location.
fn sums_of_profile(profile: &Profile, name: &str) -> Vec<f64> {
    let metric = profile.metric(name).expect("each kind has a metric");
    let mut sums = vec![0.0; profile.system().locations().len()];
    for path in profile.paths(metric) {
        let row = profile
            .row(metric, path)
            .expect("rows are in memory")
            .expect("it has one");
        for (sum, value) in sums.iter_mut().zip(row.to_f64()) {
            *sum += value / 1e9;
        }
    }
    sums
}

/// Compares all kinds with a result of Scalasca, and returns the largest difference of each in seconds.
fn differences(trace: &Trace, published: &Value) -> Vec<(Pattern, f64, String)> {
    let activities = Activities::of_mpi(trace.view(), &Job::default()).expect("it can be read");
    let states = WaitStates::of_activities(&activities, &Job::default()).expect("likewise");
    let mut all = Vec::new();
    for pattern in Pattern::ALL {
        let found = by_rank(trace, &activities, &states, pattern);
        let Some(name) = pattern.scalasca_name() else {
            assert_eq!(states.total(pattern), 0);
            continue;
        };
        let metric = &published[name];
        let own = sums_of_profile(states.profile(), pattern.name());
        assert!(
            own.iter().zip(&found).all(|(a, b)| (a - b).abs() < 1e-6),
            "{own:?} {found:?}"
        );
        let number = |value: &Value| value.as_f64().unwrap_or_default();
        let total: f64 = found.iter().sum();
        let mut most = (total - number(&metric["total"])).abs();
        let ranks = metric["per_rank"].as_array();
        for (rank, value) in found.iter().enumerate() {
            let published = ranks.map_or(0.0, |ranks| number(&ranks[rank]));
            most = most.max((value - published).abs());
        }
        all.push((
            pattern,
            most,
            format!("{total:.9} {}", number(&metric["total"])),
        ));
    }
    all
}

#[test]
fn wait_states_are_those_of_scalasca() {
    let Some(facts) = facts("waits/facts.json") else {
        return;
    };
    let mut failed = Vec::new();
    for name in [
        "casita-10_scorep_mpi_tags",
        "casita-2_cuda_simple",
        "casita-2_jacobi_blame_cpu_015",
        "casita-4_mpi_ls_barr",
        "pipit-pingpong",
        "sstmacro-otf2",
        "tracer-stencil4d-32",
    ] {
        let Some(trace) = corpus(&format!("otf2/{name}")) else {
            return;
        };
        for (pattern, most, text) in differences(&trace, &facts["traces"][name]["plain"]) {
            println!("{name} {}: {most:.1e} s ({text})", pattern.name());
            // The trace has no MPI_Finalize; one was added for Scalasca.
            let is_added = (name, pattern) == ("tracer-stencil4d-32", Pattern::FinalizeWait);
            if most > 1e-6 && !is_added {
                failed.push(format!("{name} {}: {text}", pattern.name()));
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn wait_states_of_eztrace_are_those_of_scalasca() {
    let Some(facts) = facts("waits/facts.json") else {
        return;
    };
    let mut failed = Vec::new();
    let bundled = ["jacobi-4", "jacobi-9", "jacobi-16", "nwchem-md-4"];
    for name in bundled
        .into_iter()
        .chain(["eztrace-heat4", "eztrace-hpcc4"])
    {
        let trace = if !bundled.contains(&name) {
            corpus(&format!("otf2/{name}"))
        } else {
            Some(trace(&perf_testdata::bundled::recording(name)))
        };
        let Some(trace) = trace else {
            return;
        };
        for (entry, trace) in [
            (format!("{name}@shift"), shifted(&trace, &facts, name)),
            (name.to_owned(), trace),
        ] {
            for (pattern, most, text) in differences(&trace, &facts["traces"][&entry]["plain"]) {
                // Recordings of EZTrace have no MPI_Init and MPI_Finalize; Scalasca was given some. Nor did it get
                // the messages of hpcc. The receives of heat are never completed, so that they are no messages here.
                use Pattern::{FinalizeWait, InitCompletion, LateReceiver, LateSender, WrongOrder};
                let is_other = match pattern {
                    FinalizeWait | InitCompletion => true,
                    LateSender | WrongOrder | LateReceiver => name.starts_with("eztrace"),
                    _ => false,
                };
                println!("{entry} {}: {most:.1e} s ({text})", pattern.name());
                if most > 1e-6 && !is_other {
                    failed.push(format!("{entry} {}: {text}", pattern.name()));
                }
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}
