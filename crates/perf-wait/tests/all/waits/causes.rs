//! Critical path and delay costs against those of Scalasca, and their laws.

use crate::common::{corpus, facts, shifted, trace};
use perf_core::{Job, LocationId, Profile, Trace};
use perf_wait::activity::Activities;
use perf_wait::critical::{CriticalPath, Extent};
use perf_wait::delay::DelayCosts;
use perf_wait::waits::{Pattern, WaitStates};
use serde_json::Value;

const NAMES: [&str; 7] = [
    "casita-10_scorep_mpi_tags",
    "casita-2_cuda_simple",
    "casita-2_jacobi_blame_cpu_015",
    "casita-4_mpi_ls_barr",
    "pipit-pingpong",
    "sstmacro-otf2",
    "tracer-stencil4d-32",
];

/// Bundled recordings that are compared after moving their clocks.
const BUNDLED: [&str; 4] = ["jacobi-4", "jacobi-9", "jacobi-16", "nwchem-md-4"];

/// Traces with the results of Scalasca for them. Those of EZTrace have their clocks moved.
fn published(facts: &Value) -> Vec<(&'static str, Trace, Value)> {
    let plain = |name: &str| facts["traces"][name]["plain"].clone();
    let others = NAMES.map(|name| Some((name, corpus(&format!("otf2/{name}"))?, plain(name))));
    let bundled = BUNDLED.map(|name| {
        let trace = trace(&perf_testdata::bundled::recording(name));
        Some((
            name,
            shifted(&trace, facts, name),
            plain(&format!("{name}@shift")),
        ))
    });
    others.into_iter().chain(bundled).flatten().collect()
}

fn read(trace: &Trace) -> (Activities, WaitStates) {
    let activities = Activities::of_mpi(trace.view(), &Job::default()).expect("it can be read");
    let waits = WaitStates::of_activities(&activities, &Job::default()).expect("likewise");
    (activities, waits)
}

fn ranks(activities: &Activities) -> Vec<LocationId> {
    let all = (0..).map(LocationId).zip(activities.locations());
    all.filter(|(_, own)| !own.calls.is_empty())
        .map(|it| it.0)
        .collect()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_default()
}

/// Sums of a metric over all call paths, by location.
fn sums(profile: &Profile, name: &str) -> Vec<f64> {
    let metric = profile.metric(name).expect("it has the metric");
    let mut sums = vec![0.0; profile.system().locations().len()];
    for path in profile.paths(metric) {
        let row = profile
            .row(metric, path)
            .expect("rows are in memory")
            .expect("it has one");
        for (sum, value) in sums.iter_mut().zip(row.to_f64()) {
            *sum += value;
        }
    }
    sums
}

#[test]
fn critical_path_is_that_of_scalasca() {
    let Some(facts) = facts("waits/facts.json") else {
        return;
    };
    for (name, trace, facts) in published(&facts) {
        let (activities, waits) = read(&trace);
        let per_tick = 1.0 / trace.definitions().clock.ticks_per_second() as f64;
        let path = CriticalPath::of(
            trace.view(),
            &activities,
            &waits,
            Extent::Program,
            &Job::default(),
        )
        .expect("it has calls");
        let published = &facts["critical_path"];
        // Scalasca does not count time outside of all regions. It was given some traces with a root
        // region around all.
        let has_root = name == "tracer-stencil4d-32" || BUNDLED.contains(&name);
        let outside = path
            .times()
            .iter()
            .filter(|it| it.path.is_none() && !has_root);
        let outside: u64 = outside.map(|it| it.critical).sum();
        let seconds = (path.ticks() - outside) as f64 * per_tick;
        let mut most = (seconds - number(&published["total"])).abs();
        let sums = sums(path.profile(), "critical path");
        for (rank, location) in ranks(&activities).into_iter().enumerate() {
            let seconds = if has_root {
                path.ticks_on(location) as f64 * per_tick
            } else {
                sums[location.index()] / 1e9
            };
            most = most.max((seconds - number(&published["per_rank"][rank])).abs());
        }
        println!("{name}: {seconds:.9} s, largest difference {most:.1e} s");
        // Begin and end of the moved recordings are not exactly those that were added for Scalasca.
        let tolerance = if BUNDLED.contains(&name) {
            seconds * 5e-3
        } else {
            1e-6
        };
        assert!(most < tolerance, "{name}: {most}");
    }
}

#[test]
fn critical_path_is_as_long_as_the_run() {
    let bundled = ["jacobi-4", "jacobi-9", "jacobi-16", "nwchem-md-4"];
    let bundled = bundled.map(|name| Some(trace(&perf_testdata::bundled::recording(name))));
    let corpus = NAMES.map(|name| corpus(&format!("otf2/{name}")));
    for trace in bundled.into_iter().chain(corpus).flatten() {
        let (activities, waits) = read(&trace);
        let found = CriticalPath::of(
            trace.view(),
            &activities,
            &waits,
            Extent::Run,
            &Job::default(),
        );
        let found = found.expect("it has calls");
        let (first, last) = activities.range().expect("it has events");
        assert_eq!(found.ticks(), last.0 - first.0);
        for pair in found.segments().windows(2) {
            assert_eq!(pair[0].end, pair[1].start);
        }
        let sum: u64 = found.times().iter().map(|it| it.critical).sum();
        assert_eq!(sum, found.ticks());
    }
}

#[test]
fn delay_costs_are_those_of_scalasca() {
    let Some(facts) = facts("waits/facts.json") else {
        return;
    };
    let kinds = [
        (Pattern::LateSender, "delay_latesender"),
        (Pattern::LateReceiver, "delay_latereceiver"),
        (Pattern::BarrierWait, "delay_barrier"),
        (Pattern::NxNWait, "delay_n2n"),
        (Pattern::LateBroadcast, "delay_12n"),
        (Pattern::EarlyReduce, "delay_n21"),
    ];
    for (name, trace, facts) in published(&facts) {
        let (activities, waits) = read(&trace);
        let per_tick = 1.0 / trace.definitions().clock.ticks_per_second() as f64;
        let found = DelayCosts::of(trace.view(), &activities, &waits, &Job::default());
        let found = found.expect("it can be computed");
        for (kind, base) in kinds {
            let all = waits.total(kind) as f64 * per_tick;
            for (term, metric) in [(0, base.to_owned()), (1, format!("{base}_longterm"))] {
                let published = &facts[&metric];
                let total = found.total(kind);
                let seconds = [total.0, total.1][term] * per_tick;
                let mut most: f64 = (seconds - number(&published["total"])).abs();
                for (rank, location) in ranks(&activities).into_iter().enumerate() {
                    let own = found
                        .costs()
                        .iter()
                        .filter(|it| it.location == location && it.pattern == kind);
                    let own: f64 = own.map(|it| [it.short, it.long][term] * per_tick).sum();
                    most = most.max((own - number(&published["per_rank"][rank])).abs());
                }
                // The costs of Scalasca do not sum to its waiting time where it drops some.
                let published = |term: &str| number(&facts[format!("{base}{term}")]["total"]);
                let dropped = all - published("") - published("_longterm");
                println!(
                    "{name} {metric}: {seconds:.9} s, of {all:.6} s: {most:.1e} off, {dropped:.1e} dropped"
                );
                assert!(
                    most <= all * 5e-3 + dropped.max(0.0),
                    "{name} {metric}: {most} of {all}"
                );
            }
        }
    }
}

#[test]
fn delay_costs_sum_to_the_waiting_time() {
    let bundled = ["jacobi-4", "jacobi-9", "jacobi-16", "nwchem-md-4"];
    let bundled = bundled.map(|name| Some(trace(&perf_testdata::bundled::recording(name))));
    let corpus = NAMES.map(|name| corpus(&format!("otf2/{name}")));
    for trace in bundled.into_iter().chain(corpus).flatten() {
        let (activities, waits) = read(&trace);
        let found = DelayCosts::of(trace.view(), &activities, &waits, &Job::default());
        let found = found.expect("it can be computed");
        for kind in Pattern::ALL.into_iter().filter(|kind| kind.is_waiting()) {
            let (short, long) = found.total(kind);
            let all = waits.total(kind) as f64;
            assert!(
                (short + long - all).abs() <= all * 1e-9,
                "{kind:?} {short} {long} {all}"
            );
        }
        assert!(
            found
                .costs()
                .iter()
                .all(|it| it.short >= 0.0 && it.long >= -1e-6)
        );
    }
}
