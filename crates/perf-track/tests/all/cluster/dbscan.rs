//! DBSCAN compared with its definition.

use crate::common;

use common::{naive, random, visit};
use perf_core::Job;
use perf_testdata::cancel::checks;
use perf_testdata::clusters;
use perf_testdata::xorshift::Xorshift;
use perf_track::cluster::{Border, Clusterer, Dbscan, Index, Scan};
use perf_track::{Error, Points};
use proptest::prelude::*;
use std::sync::Arc;

fn dbscan(eps: f64, least: usize, border: Border, index: Index) -> Dbscan {
    let params = Dbscan::params().eps(eps).min_points(least);
    let params = params.border(border).index(index).check();
    Dbscan::new(params.expect("they are in range"))
}

fn scan(values: &[f64], d: usize, eps: f64, least: usize, border: Border, index: Index) -> Scan {
    let points = Points::new(values, d).expect("whole rows of finite numbers");
    let dbscan = dbscan(eps, least, border, index);
    let scan = dbscan.scan(points, &Job::default());
    scan.expect("not cancelled")
}

fn equals_the_definition(values: &[f64], d: usize, eps: f64, least: usize) {
    let (core, labels) = naive(values, d, eps, least);
    let visited = visit(values, d, eps, least);
    for index in [Index::Auto, Index::Tree] {
        let found = scan(values, d, eps, least, Border::LowestCore, index);
        assert_eq!(found.core(), core);
        assert_eq!(found.labels(), &labels);
        let counts = (
            found.core_points(),
            found.border_points(),
            found.noise_points(),
        );
        assert_eq!(counts.0 + counts.1 + counts.2, core.len());
        let found = scan(values, d, eps, least, Border::PeerCompatible, index);
        assert_eq!(found.core(), core);
        assert_eq!(found.labels(), &visited);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn equals_comparing_all_pairs(
        seed in any::<u64>(),
        count in 0_usize..160,
        d in 1_usize..=6,
        least in 1_usize..12,
        eps in prop::sample::select(vec![0.1, 0.25, 1.0, 3e-7, 1e9]),
    ) {
        equals_the_definition(&random(seed, count, d, eps), d, eps, least);
    }
}

/// Cells with many points each: whole cells, pairs of large cells, and their halves.
#[test]
fn equals_comparing_all_pairs_where_it_is_dense() {
    for (seed, (eps, least)) in [(0.02, 10), (0.01, 4), (0.05, 60), (0.2, 700)]
        .iter()
        .enumerate()
    {
        let phases = clusters::phases(1_500, seed as u64);
        equals_the_definition(&phases.values, 2, *eps, *least);
        equals_the_definition(&phases.values, 3, *eps, *least);
        equals_the_definition(&phases.values, 4, 2.0 * eps, *least);
    }
}

/// Two dense lines slightly farther apart than eps, and slightly nearer: the hard case of two cells
/// with many points each.
#[test]
fn parallel_lines_are_told_apart_by_the_last_bit() {
    let eps = 0.25_f64;
    let next = f64::from_bits(eps.to_bits() + 1);
    for (gap, clusters) in [(eps, 1), (next, 2)] {
        let line = |x: f64| (0..400).flat_map(move |step| [x, f64::from(step) * 0.001]);
        let values: Vec<f64> = line(0.0).chain(line(gap)).collect();
        equals_the_definition(&values, 2, eps, 10);
        let found = scan(&values, 2, eps, 10, Border::LowestCore, Index::Auto);
        assert_eq!(found.labels().clusters(), clusters);
    }
}

#[test]
fn thousands_of_points_at_one_place() {
    let mut values = [0.5, 0.25].repeat(20_000);
    values.extend([0.5, 0.35].repeat(7));
    for (index, eps, clusters, noise) in [
        (Index::Auto, 0.2, 1, 0),
        (Index::Tree, 0.2, 1, 0),
        (Index::Auto, 0.05, 1, 7),
        (Index::Tree, 0.05, 1, 7),
    ] {
        let found = scan(&values, 2, eps, 10, Border::LowestCore, index);
        assert_eq!(found.labels().clusters(), clusters);
        assert_eq!(found.noise_points(), noise);
    }
}

#[test]
fn none_one_and_all_equal() {
    for d in 1..=5 {
        for index in [Index::Auto, Index::Tree] {
            let none = scan(&[], d, 0.1, 1, Border::LowestCore, index);
            assert!(none.labels().is_empty() && none.core().is_empty());
            let one = vec![0.5; d];
            let noise = scan(&one, d, 0.1, 2, Border::LowestCore, index);
            assert_eq!((noise.core_points(), noise.noise_points()), (0, 1));
            let alone = scan(&one, d, 0.1, 1, Border::LowestCore, index);
            assert_eq!((alone.core_points(), alone.labels().clusters()), (1, 1));
            let equal = scan(
                &vec![-3.0; d * 50],
                d,
                1e-150,
                50,
                Border::LowestCore,
                index,
            );
            assert_eq!((equal.core_points(), equal.labels().clusters()), (50, 1));
        }
    }
}

/// Cell numbers beyond 64 bits, squares beyond the largest number, differences below the smallest
/// normal one.
#[test]
fn extremes_of_eps_and_of_coordinates() {
    let mut random = Xorshift::new(5);
    let small = f64::MIN_POSITIVE / 1024.0;
    for d in [1, 2, 3, 4] {
        let mut values = Vec::new();
        for _ in 0..60 {
            let scale = [small, 1e-160, 1e-3, 1.0, 1e20, 1e160, f64::MAX][random.below(7) as usize];
            let sign = if random.below(2) == 0 { -1.0 } else { 1.0 };
            values.extend((0..d).map(|_| sign * scale * (1.0 - random.below(3) as f64 / 8.0)));
        }
        for eps in [1e-150, 1e-9, 0.5, 1e19, 1e150] {
            equals_the_definition(&values, d, eps, 3);
        }
    }
    let parameters = |eps| Dbscan::params().eps(eps).check();
    for eps in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-200, 1e200] {
        assert!(matches!(
            parameters(eps),
            Err(Error::Parameter { name: "eps", .. })
        ));
    }
    assert!(Dbscan::params().min_points(0).check().is_err());
}

/// Numbers may differ, but the partition of core points and the noise are the same.
#[test]
fn the_order_of_points_changes_nothing_but_numbers() {
    let phases = clusters::phases(4_000, 3);
    let count = phases.truth.len();
    let mut order: Vec<usize> = (0..count).collect();
    let mut random = Xorshift::new(11);
    for at in (1..count).rev() {
        order.swap(at, random.below(at as u64 + 1) as usize);
    }
    let shuffled: Vec<f64> = order
        .iter()
        .flat_map(|&at| [phases.values[2 * at], phases.values[2 * at + 1]])
        .collect();
    for (eps, index) in [(0.01, Index::Auto), (0.004, Index::Tree)] {
        let one = scan(&phases.values, 2, eps, 10, Border::LowestCore, index);
        let other = scan(&shuffled, 2, eps, 10, Border::LowestCore, index);
        assert_eq!(one.labels().clusters(), other.labels().clusters());
        let mut names = vec![None; one.labels().clusters() + 1];
        for (place, &at) in order.iter().enumerate() {
            assert_eq!(one.core()[at], other.core()[place]);
            let pair = (
                one.labels().as_slice()[at],
                other.labels().as_slice()[place],
            );
            assert_eq!(pair.0.is_noise(), pair.1.is_noise());
            if one.core()[at] {
                let name = names[pair.0.0 as usize].get_or_insert(pair.1);
                assert_eq!(*name, pair.1);
            }
        }
    }
}

#[cfg(feature = "parallel")]
#[test]
fn the_number_of_threads_changes_nothing() {
    let phases = clusters::phases(30_000, 8);
    for border in [Border::LowestCore, Border::PeerCompatible] {
        for index in [Index::Auto, Index::Tree] {
            let with = |threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
                let pool = pool.expect("threads start");
                pool.install(|| scan(&phases.values, 2, 0.003, 10, border, index))
            };
            let one = with(1);
            assert!(one.labels().clusters() > 5 && one.border_points() > 50);
            for threads in [2, 3, 8] {
                assert_eq!(one, with(threads));
            }
        }
    }
}

#[test]
fn work_stops_when_asked_and_reports_all_of_it() {
    #[derive(Default)]
    struct Seen(std::sync::Mutex<std::collections::BTreeMap<&'static str, (u64, u64)>>);
    impl perf_core::Progress for Seen {
        fn advance(&self, phase: &'static str, amount: u64, total: u64) {
            let mut seen = self.0.lock().expect("no test panics here");
            let entry = seen.entry(phase).or_default();
            *entry = (entry.0 + amount, total);
        }
    }
    let phases = clusters::phases(3_000, 2);
    let points = Points::new(&phases.values, 2).expect("finite");
    for index in [Index::Auto, Index::Tree] {
        let dbscan = dbscan(0.01, 10, Border::LowestCore, index);
        let seen = Arc::new(Seen::default());
        let job = Job::with_progress(seen.clone());
        let labels = dbscan.cluster(points, &job).expect("not cancelled");
        assert_eq!(labels.len(), 3_000);
        let seen = seen.0.lock().expect("no test panics here");
        assert!(seen.len() >= 3 && seen.values().all(|(done, total)| done == total));
        job.cancel();
        let stopped = dbscan.cluster(points, &job);
        assert!(matches!(stopped, Err(Error::Cancelled(_))));
    }
}

/// A few cells with many points each: one cell takes far more distances than the interval between
/// two checks.
#[test]
fn full_cells_are_checked_often() {
    const SIDE: usize = 64;
    const POINTS: usize = SIDE * SIDE;
    let place = |at: usize| [at % SIDE, at / SIDE].map(|x| x as f64);
    let values: Vec<f64> = (0..POINTS).flat_map(place).collect();
    let points = Points::new(&values, 2).expect("finite");
    // Only balls in the middle have enough points; the corners are in reach of these.
    for (index, least) in [(Index::Auto, 100), (Index::Tree, POINTS as u64)] {
        let least_points = POINTS * 2 / 3;
        let dbscan = dbscan(SIDE as f64 / 2.0, least_points, Border::LowestCore, index);
        let scan = |job: &Job| dbscan.scan(points, job);
        let (found, checks) = checks(format!("{index:?}"), scan);
        assert!(found.core_points() > 0 && found.border_points() > 0);
        assert!(checks >= least, "{checks} checks");
    }
}
