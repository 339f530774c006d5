//! Wait states as profiles: written as Cube archives, and correlated over a topology.

use crate::common::{corpus, trace};
use perf_core::{Job, Profile, Trace};
use perf_formats::{OpenOptions, cube};
use perf_spectral::{AxisFilter, Missing, RankParams, Spectra, stored_rows};
use perf_topology::{AxisOrder, Shape, Topology, balanced};
use perf_wait::activity::Activities;
use perf_wait::delay::DelayCosts;
use perf_wait::waits::WaitStates;

fn profiles(trace: &Trace) -> (WaitStates, DelayCosts) {
    let job = Job::default();
    let activities = Activities::of(trace.view(), &job).expect("it can be read");
    let waits = WaitStates::of_activities(&activities, &job).expect("likewise");
    let delays = DelayCosts::of(trace.view(), &activities, &waits, &job).expect("likewise");
    (waits, delays)
}

/// Returns all values by metric, call path and location.
fn values(profile: &Profile) -> Vec<(String, String, Vec<f64>)> {
    let mut all = Vec::new();
    for (number, metric) in profile.metrics().iter().enumerate() {
        let id = perf_core::MetricId(number as u32);
        for path in profile.paths(id) {
            let row = profile.row(id, path).expect("rows can be read");
            let row = row.map(|row| row.to_f64()).unwrap_or_default();
            // A sparse row and one of zeros say the same.
            if row.iter().any(|value| *value != 0.0) {
                let path = profile.calls().name(path, profile.regions());
                all.push((metric.metric.name.clone(), path, row));
            }
        }
    }
    all.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
    all
}

#[test]
fn cube_archives_keep_wait_states_and_delays() {
    let bundled = trace(&perf_testdata::bundled::recording("jacobi-16"));
    let hybrid = corpus("otf2/casita-2_cuda_simple/traces.otf2");
    for trace in [Some(bundled), hybrid].into_iter().flatten() {
        let (waits, delays) = profiles(&trace);
        for profile in [waits.profile(), delays.profile()] {
            let (mut bytes, job) = (Vec::new(), Job::default());
            let options = cube::WriteOptions::new();
            let lost = cube::write(profile, &mut bytes, &options, &job).expect("memory takes it");
            assert!(lost.is_empty(), "{lost:?}");
            let back = cube::Cube::from_bytes(bytes, "memory", &OpenOptions::new(), &job);
            let back = back.expect("it can be read");
            let (expected, found) = (values(profile), values(back.profile()));
            assert!(expected.len() > 4 && expected == found);
            let locations = back.profile().system().locations();
            assert_eq!(
                locations.len(),
                trace.definitions().system.locations().len()
            );
            let parents = |profile: &Profile| {
                let metrics = profile.metrics().iter();
                metrics.map(|it| it.metric.parent).collect::<Vec<_>>()
            };
            assert_eq!(parents(profile), parents(back.profile()));
        }
    }
}

#[test]
fn views_of_waiting_are_correlated_over_a_grid() {
    let trace = trace(&perf_testdata::bundled::recording("jacobi-16"));
    let (waits, _) = profiles(&trace);
    let (profile, job) = (waits.profile(), Job::default());
    let ranks = profile.system().locations().len();
    let shape = Shape::of(&balanced(ranks, 2)).expect("it is a grid");
    let grid = Topology::by_order(shape, AxisOrder::LastFastest, ranks);
    let metric = profile
        .metric("waiting")
        .expect("it has the sum of all kinds");
    let rows = stored_rows(profile, &[metric]);
    let mut builder = Spectra::<f64>::builder(&grid.shape().lens()).expect("it is a grid");
    builder
        .add_rows(profile, &grid, &rows, Missing::Fill, &job)
        .expect("rows can be read");
    let spectra = builder.finish();
    let params = RankParams::default().check().expect("they are valid");
    let list = spectra.rank(0, &AxisFilter::all(2), &params, &job);
    let list = list.expect("it can be correlated");
    assert!(rows.len() > 2 && !list.matches.is_empty());
    assert!(list.matches.iter().all(|it| it.r().abs() <= 1.0 + 1e-9));
}
