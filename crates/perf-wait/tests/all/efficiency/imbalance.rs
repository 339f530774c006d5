//! Load imbalance of the call paths of profiles.

use perf_core::{
    CallPathId, CallTree, Combine, Job, Limits, Location, LocationGroup, LocationGroupId,
    LocationId, LocationKind, MetricId, Profile, ProfileMetric, Region, RegionId, Rows, Scope,
    Severities, SystemTree,
};
use perf_wait::Error;
use perf_wait::imbalance::{Compared, Imbalance, LoadImbalance};
use std::sync::Arc;

fn profile(kinds: &[LocationKind], rows: &[Vec<f64>], combine: Combine) -> Profile {
    let location = |(key, kind): (usize, &LocationKind)| Location {
        key: key as u64,
        kind: *kind,
        ..Default::default()
    };
    let locations = kinds.iter().enumerate().map(location).collect();
    let system = SystemTree::new(vec![], vec![], locations, &Limits::default()).expect("a system");
    let (mut calls, mut stored) = (CallTree::default(), Rows::default());
    let mut above = None;
    for (at, row) in rows.iter().enumerate() {
        let path = calls.child(above, RegionId(at as u32)).expect("a path");
        stored.insert(MetricId(0), path, Severities::F64(row.clone()));
        above = Some(path);
    }
    let regions = (0..rows.len())
        .map(|at| Region::named(format!("f{at}")))
        .collect();
    let metric = ProfileMetric {
        scope: Scope::Inclusive,
        combine,
        ..Default::default()
    };
    Profile::new(system, regions, calls, vec![metric], Arc::new(stored)).expect("a profile")
}

#[test]
fn values_are_those_of_the_definition() {
    let cpu = [LocationKind::CpuThread; 4];
    // Exclusive: 2 1 0 1, and 4 6 8 2.
    let rows = [vec![6.0, 7.0, 8.0, 3.0], vec![4.0, 6.0, 8.0, 2.0]];
    let profile = profile(&cpu, &rows, Combine::Sum);
    let of = |scope| {
        let of = (MetricId(0), scope);
        LoadImbalance::of(&profile, of, Compared::Ranks, &Job::default()).expect("it is measured")
    };
    let own = of(Scope::Exclusive);
    let order: Vec<CallPathId> = own.paths.iter().map(|it| it.path).collect();
    assert_eq!(order, [CallPathId(1), CallPathId(0)]);
    let [solve, main] = [0, 1].map(|at| own.paths[at].values);
    assert_eq!(
        (solve.total, solve.mean, solve.max, solve.at),
        (20.0, 5.0, 8.0, LocationId(2))
    );
    assert_eq!(
        (solve.factor(), solve.excess(), solve.active),
        (Some(1.6), 3.0, 4)
    );
    assert_eq!(
        (main.at, main.active, main.factor()),
        (LocationId(0), 3, Some(2.0))
    );
    // Inclusive values of the root contain those below.
    let all = of(Scope::Inclusive);
    assert_eq!(all.paths[1].values.total, 24.0);
    let table = own.table(&profile);
    assert_eq!(table.text_of(0, "call path"), "f0 > f1");
    assert_eq!(table.rows(), 2);
}

#[test]
fn threads_are_compared_without_devices() {
    use LocationKind::{AcceleratorStream, CpuThread, Metric};
    let rows = [vec![1.0, 3.0, 100.0, 7.0]];
    let mixed = profile(
        &[CpuThread, CpuThread, AcceleratorStream, Metric],
        &rows,
        Combine::Sum,
    );
    let of = |profile: &Profile| {
        let of = (MetricId(0), Scope::Inclusive);
        LoadImbalance::of(profile, of, Compared::Ranks, &Job::default())
    };
    let found = of(&mixed).expect("it is measured");
    assert_eq!(found.locations, [LocationId(0), LocationId(1)]);
    assert_eq!(found.paths[0].values.max, 3.0);
    let streams = profile(&[AcceleratorStream; 4], &rows, Combine::Sum);
    assert_eq!(of(&streams).expect("it is measured").locations.len(), 4);
}

#[test]
fn odd_values_are_no_imbalance() {
    let cpu = [LocationKind::CpuThread; 2];
    let rows = [vec![0.0, 0.0], vec![f64::NAN, 1.0], vec![-3.0, 1.0]];
    let of = |combine, job: &Job| {
        let of = (MetricId(0), Scope::Inclusive);
        LoadImbalance::of(&profile(&cpu, &rows, combine), of, Compared::Ranks, job)
    };
    let found = of(Combine::Sum, &Job::default()).expect("it is measured");
    assert_eq!(found.paths.len(), 2);
    let [negative, undefined] = [0, 1].map(|at| found.paths[at].values);
    assert_eq!((negative.factor(), negative.excess()), (None, 2.0));
    // The location whose value is not a number is not compared.
    assert_eq!((undefined.undefined, undefined.active), (1, 1));
    assert_eq!((undefined.mean, undefined.at), (1.0, LocationId(1)));
    assert_eq!(Imbalance::of(&[1.0], &[]), None);
    assert_eq!(Imbalance::of(&[f64::NAN], &[LocationId(0)]), None);
    let extreme = of(Combine::Maximum, &Job::default());
    assert!(matches!(extreme, Err(Error::Nothing { .. })));
    let job = Job::default();
    job.cancel();
    assert!(matches!(of(Combine::Sum, &job), Err(Error::Cancelled(_))));
}

/// The threads of a process are added up; elapsed time is that of its slowest thread.
#[test]
fn ranks_are_sums_over_their_threads_in_the_order_of_ranks() {
    let thread = |(key, process): (u64, u32)| Location {
        key,
        group: Some(LocationGroupId(process)),
        ..Default::default()
    };
    let process = |name: &str| LocationGroup {
        name: name.into(),
        ..Default::default()
    };
    let groups = vec![process("rank 2"), process("rank 1")];
    let threads = (0..).zip([0, 0, 1, 1]).map(thread).collect();
    let system = SystemTree::new(vec![], groups, threads, &Limits::default()).expect("a system");
    let mut calls = CallTree::default();
    let solve = calls.child(None, RegionId(0)).expect("a path");
    let mut rows = Rows::default();
    let values = Severities::F64(vec![3.0, 1.0, 5.0, 5.0]);
    rows.insert(MetricId(0), solve, values);
    let metrics = vec![ProfileMetric::default()];
    let regions = vec![Region::named("solve")];
    let profile = Profile::new(system, regions, calls, metrics, Arc::new(rows));
    let profile = profile.expect("a profile");
    let of = |compared| {
        let of = (MetricId(0), Scope::Inclusive);
        LoadImbalance::of(&profile, of, compared, &Job::default()).expect("it is measured")
    };
    let ranks = of(Compared::Ranks);
    assert_eq!(ranks.locations, [LocationId(2), LocationId(0)]);
    let values = ranks.values(&profile, solve).expect("rows");
    assert_eq!(values, [vec![10.0, 4.0], vec![5.0, 3.0]]);
    let path = ranks.paths[0];
    assert_eq!((path.values.mean, path.values.at), (7.0, LocationId(2)));
    assert_eq!((path.values.excess(), path.slowest.excess()), (3.0, 1.0));
    let threads = of(Compared::Threads);
    assert_eq!(threads.locations, [2, 3, 0, 1].map(LocationId));
    assert_eq!(threads.paths[0].values, threads.paths[0].slowest);
}
