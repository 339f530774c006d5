//! DBSCAN compared with that of linfa, and linfa's algorithms behind the trait.
#![cfg(feature = "linfa")]

use crate::common;

use common::{neighbours, random};
use perf_core::Job;
use perf_testdata::clusters;
use perf_track::cluster::linfa::{LinfaDbscan, LinfaKMeans, LinfaMixture, LinfaOptics};
use perf_track::cluster::{Agreement, Clusterer, Dbscan, same_core_partition};
use perf_track::{Error, Labels, Points};
use proptest::prelude::*;

fn labels(clusterer: &dyn Clusterer, values: &[f64], d: usize) -> Labels {
    let points = Points::new(values, d).expect("finite");
    let labels = clusterer.cluster(points, &Job::default());
    labels.expect("not cancelled")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn labels_equal_those_of_linfa(
        seed in any::<u64>(),
        count in 0_usize..200,
        d in 1_usize..=5,
        least in 2_usize..10,
    ) {
        let eps = 0.25;
        let values = random(seed, count, d, eps);
        let points = Points::new(&values, d).expect("finite");
        let params = Dbscan::params().eps(eps).min_points(least).check().expect("in range");
        let ours = Dbscan::new(params).scan(points, &Job::default()).expect("not cancelled");
        let theirs = labels(&LinfaDbscan::new(eps, least).expect("in range"), &values, d);
        prop_assert!(same_core_partition(ours.labels(), &theirs, ours.core()).expect("as many"));
        let around = neighbours(&values, d, eps);
        for (at, near) in around.iter().enumerate() {
            let (mine, other) = (ours.labels().as_slice()[at], theirs.as_slice()[at]);
            prop_assert_eq!(mine.is_noise(), other.is_noise());
            // A border point is with some core point near it in both.
            if !ours.core()[at] && !mine.is_noise() {
                let with = |labels: &Labels, id| near.iter().any(|&near| {
                    ours.core()[near] && labels.as_slice()[near] == id
                });
                prop_assert!(with(ours.labels(), mine) && with(&theirs, other));
            }
        }
    }
}

#[test]
fn each_algorithm_finds_the_phases() {
    let phases = clusters::phases(2_000, 7);
    let truth = common::labels(&phases.truth);
    let dbscan = Dbscan::params()
        .eps(0.02)
        .min_points(10)
        .check()
        .expect("in range");
    let backends: [(&dyn Clusterer, f64); 5] = [
        (&Dbscan::new(dbscan), 0.95),
        (&LinfaDbscan::new(0.02, 10).expect("in range"), 0.95),
        (&LinfaOptics::new(0.05, 10, 0.02).expect("in range"), 0.95),
        (&LinfaKMeans::new(12).expect("in range"), 0.8),
        (&LinfaMixture::new(12).expect("in range"), 0.5),
    ];
    for (at, (backend, alike)) in backends.into_iter().enumerate() {
        let found = labels(backend, &phases.values, 2);
        assert_eq!(found, labels(backend, &phases.values, 2));
        assert_eq!(found.clusters(), clusters::PHASES, "{at}");
        let agreement = Agreement::new(&found, &truth).expect("as many");
        assert!(
            agreement.adjusted_rand() > alike,
            "{at}: {}",
            agreement.adjusted_rand()
        );
    }
}

#[test]
fn wrong_use_is_told() {
    let points = Points::new(&[0.0, 1.0], 1).expect("finite");
    for backend in [
        &LinfaKMeans::new(3).expect("in range") as &dyn Clusterer,
        &LinfaMixture::new(3).expect("in range"),
    ] {
        let found = backend.cluster(points, &Job::default());
        assert!(matches!(found, Err(Error::Backend { .. })));
    }
    assert!(LinfaDbscan::new(0.0, 4).is_err());
    assert!(LinfaDbscan::new(0.1, 1).is_err());
    assert!(LinfaOptics::new(0.1, 4, 0.2).is_err());
    assert!(LinfaKMeans::new(0).is_err());
    let job = Job::default();
    job.cancel();
    let stopped = LinfaDbscan::new(0.1, 4)
        .expect("in range")
        .cluster(points, &job);
    assert!(matches!(stopped, Err(Error::Cancelled(_))));
}
