//! Relations between all views: equality with the textbook, error rates, and kin.

use super::smooth_views::{Random, counts, relations, smooth};
use perf_core::{
    CallPathId, CallTree, Job, Limits, Location, Metric, MetricId, Profile, ProfileMetric, Region,
    RegionId, Rows, Scope, Severities, SystemTree,
};
use perf_spectral::{AxisFilter, Error, Kinship, RelationParams, Spectra};
use std::sync::Arc;

fn spectra(views: &[Vec<f64>], dims: &[usize]) -> Spectra<f64> {
    let mut builder = Spectra::<f64>::builder(dims).expect("a shape");
    builder.extend(views, &Job::default()).expect("finite");
    builder.finish()
}

fn pearson(a: &[f64], b: &[f64]) -> f64 {
    let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
    let (ma, mb) = (mean(a), mean(b));
    let sum = |f: &dyn Fn(f64, f64) -> f64| -> f64 {
        a.iter().zip(b).map(|(x, y)| f(x - ma, y - mb)).sum()
    };
    sum(&|x, y| x * y) / (sum(&|x, _| x * x) * sum(&|_, y| y * y)).sqrt()
}

#[test]
fn found_pairs_are_those_of_the_textbook() {
    for dims in [vec![256], vec![15, 17], vec![4, 8, 8]] {
        let cells: usize = dims.iter().product();
        let mut random = Random::new(cells as u64);
        let mut views: Vec<Vec<f64>> = (0..40)
            .map(|_| (0..cells).map(|_| random.unit()).collect())
            .collect();
        for (from, to, sign) in [(0, 7, 2.0), (3, 20, -1.0), (20, 31, 1.0)] {
            let near = |value: &f64| sign * value + 0.3 * random.unit();
            views[to] = views[from].iter().map(near).collect();
        }
        // A scaled, an equal, a constant and a skipped view.
        views.push(views[0].iter().map(|value| 3.0 * value + 1.0).collect());
        views.push(views[5].clone());
        views.push(vec![2.0; cells]);
        let count = views.len();
        let spectra = spectra(&views, &dims);
        let params = RelationParams::default().least(0.5).check().expect("valid");
        let (all, job) = (AxisFilter::all(dims.len()), Job::default());
        let kin = Kinship::unrelated(count);
        let found = spectra
            .relations(&all, &kin, &params, &job)
            .expect("it runs");
        assert_eq!(
            (found.distinct, found.identical, found.constant),
            (40, 2, 1)
        );
        assert_eq!(
            (found.tested, found.kin, found.skipped),
            (40 * 39 / 2, 0, 0)
        );
        let mut pairs: Vec<_> = found.found.iter().map(|it| (it.one, it.other)).collect();
        pairs.sort_unstable();
        let mut expected = Vec::new();
        for one in 0..40 {
            let strong =
                (one + 1..40).filter(|other| pearson(&views[one], &views[*other]).abs() > 0.5);
            expected.extend(strong.map(|other| (one, other)));
        }
        assert_eq!(pairs, expected, "{dims:?}");
        for it in &found.found {
            let r = pearson(&views[it.one], &views[it.other]);
            assert!((it.r - r).abs() < 1e-12, "{} {r}", it.r);
            assert!((it.along.iter().sum::<f64>() - r).abs() < 1e-12);
            assert!(it.p <= found.threshold && it.share <= 1.0);
        }
        // View 3 is the opposite of views 20 and 31, which show the same. One of the two pairs of opposites stands
        // for both, and not for that of equals.
        let is_chain = |view: usize| [3, 20, 31].contains(&view);
        for it in &found.found {
            let first = it.repeats.map(|at| &found.found[at]);
            assert!(first.is_none_or(|one| is_chain(one.one) && is_chain(one.other)));
            assert!(first.is_none_or(|one| one.r < 0.0 && it.r < 0.0));
        }
        let repeats = found.found.iter().filter(|it| it.repeats.is_some());
        assert_eq!((repeats.count(), found.found.len()), (1, 4), "{dims:?}");
        let few = spectra.relations(&all, &Kinship::unrelated(3), &params, &job);
        assert!(matches!(
            few,
            Err(Error::Length {
                expected: 43,
                got: 3,
                ..
            })
        ));
    }
}

#[test]
fn a_filter_selects_the_axis_of_a_relation() {
    let mut random = Random::new(1);
    let views: Vec<Vec<f64>> = (0..8).map(|_| smooth(&mut random)).collect();
    let wave = |cell: usize| ((cell / 16 * 7) % 16) as f64;
    // Views 0 and 1 share a strong variation along axis 0 and differ along axis 1.
    let mut views = views;
    for view in &mut views[..2] {
        let row: Vec<f64> = (0..16).map(|_| random.unit()).collect();
        *view = (0..256).map(|cell| wave(cell) + row[cell % 16]).collect();
    }
    let spectra = spectra(&views, &[16, 16]);
    let kin = Kinship::unrelated(8);
    let run = |f: &[f64]| {
        let filter = AxisFilter::new(f).expect("weights");
        let params = Default::default();
        let found = spectra.relations(&filter, &kin, &params, &Job::default());
        found.expect("it runs").found
    };
    let found = run(&[1.0, 1.0]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].along[0] > 0.95 && found[0].along[1].abs() < 0.05,
        "{found:?}"
    );
    assert!(run(&[0.0, 1.0]).is_empty());
}

#[test]
fn planted_pairs_are_found_and_few_others() {
    const SEEDS: u64 = 12;
    const PLANTED: usize = 10;
    let (mut right, mut shares) = (0, 0.0);
    for seed in 0..SEEDS {
        let found = relations(200, PLANTED, seed);
        assert_eq!((found.tested, found.distinct), (200 * 199 / 2, 200));
        let (planted, wrong) = counts(&found, PLANTED);
        right += planted;
        shares += wrong as f64 / (planted + wrong).max(1) as f64;
    }
    assert!(shares / SEEDS as f64 <= 0.05, "{shares}");
    assert!(right >= PLANTED * SEEDS as usize * 95 / 100, "{right}");
}

#[test]
fn nothing_is_found_in_noise() {
    let wrong = (100..130).filter(|seed| !relations(150, 0, *seed).found.is_empty());
    assert!(wrong.count() <= 1);
}

/// Returns a profile with the call tree `main > a > b` and `main > c`, with an inclusive metric, a
/// part of it, and an exclusive metric.
fn profile() -> Profile {
    let locations = (0..4).map(|key| Location {
        key,
        ..Location::default()
    });
    let system = SystemTree::new(vec![], vec![], locations.collect(), &Limits::default());
    let mut calls = CallTree::default();
    let main = calls.child(None, RegionId(0)).expect("a path");
    let c = calls.child(Some(main), RegionId(3)).expect("a path");
    let a = calls.child(Some(main), RegionId(1)).expect("a path");
    let b = calls.child(Some(a), RegionId(2)).expect("a path");
    let metric = |name: &str, scope, parent: Option<u32>| ProfileMetric {
        metric: Metric {
            name: name.into(),
            parent: parent.map(MetricId),
            ..Metric::default()
        },
        scope,
        ..ProfileMetric::default()
    };
    let metrics = vec![
        metric("time", Scope::Inclusive, None),
        metric("mpi", Scope::Inclusive, Some(0)),
        metric("visits", Scope::Exclusive, None),
    ];
    let mut rows = Rows::default();
    for metric in 0..3 {
        for path in [main, c, a, b] {
            rows.insert(MetricId(metric), path, Severities::F64(vec![0.0; 4]));
        }
    }
    let regions = ["main", "a", "b", "c"].map(Region::named).into();
    Profile::new(
        system.expect("valid"),
        regions,
        calls,
        metrics,
        Arc::new(rows),
    )
    .expect("valid")
}

#[test]
fn kin_contain_each_other() {
    let profile = profile();
    let rows: Vec<(MetricId, CallPathId)> = (0..3)
        .flat_map(|metric| (0..4).map(move |path| (MetricId(metric), CallPathId(path))))
        .collect();
    let kin = Kinship::of(&profile, &rows);
    let [main, c, a, b] = [0, 1, 2, 3];
    let [time, mpi, visits] = [0, 4, 8];
    let related = [
        (time + main, time + b),
        (time + main, time + c),
        (time + a, time + b),
        (time + b, mpi + b),
        (time + a, mpi + b),
        // The time of b is not part of the MPI time of a, but both are part of its time.
        (mpi + a, time + b),
    ];
    let unrelated = [
        (time + a, time + c),
        (time + b, mpi + c),
        (time + main, visits + b),
        (visits + main, visits + b),
        (visits + b, time + b),
    ];
    for (one, other) in related {
        assert!(
            kin.are_kin(one, other) && kin.are_kin(other, one),
            "{one} {other}"
        );
    }
    for (one, other) in unrelated {
        assert!(
            !kin.are_kin(one, other) && !kin.are_kin(other, one),
            "{one} {other}"
        );
    }
}

/// Returns views of noise on 8 x 8 cells, of which each has outliers in the cells that `outliers`
/// returns for it.
fn spiked(
    views: usize,
    seed: u64,
    outliers: impl Fn(usize, &mut Random) -> Vec<usize>,
) -> Vec<Vec<f64>> {
    let mut random = Random::new(seed);
    (0..views)
        .map(|view| {
            let mut values: Vec<f64> = (0..64).map(|_| random.unit()).collect();
            for cell in outliers(view, &mut random) {
                values[cell] += 50.0 + 10.0 * random.unit();
            }
            values
        })
        .collect()
}

#[test]
fn outliers_in_one_cell_are_not_beyond_chance() {
    let (all, job) = (AxisFilter::all(2), Job::default());
    let run = |views: &[Vec<f64>]| {
        let kin = Kinship::unrelated(views.len());
        let found = spectra(views, &[8, 8]).relations(&all, &kin, &Default::default(), &job);
        found.expect("it runs")
    };
    // One to three outliers in random cells: some of 1,770 pairs have them in the same one.
    for count in 1..=3 {
        let random_cell = |random: &mut Random| (64.0 * random.unit()) as usize;
        let views = spiked(60, count, |_, random| {
            (0..count).map(|_| random_cell(random)).collect()
        });
        let found = run(&views);
        assert!(found.found.is_empty(), "{count}: {:?}", found.found);
        assert!(found.closest.is_none_or(|(.., p)| p > found.needed));
        if count == 1 {
            assert!(
                found.carried.values().sum::<usize>() > 10,
                "{:?}",
                found.carried
            );
        }
    }
    // The first rank differs in all views.
    let views = spiked(20, 5, |_, _| vec![0]);
    let found = run(&views);
    assert!(found.found.is_empty(), "{:?}", found.found);
    assert_eq!(found.carried.into_iter().collect::<Vec<_>>(), [(0, 190)]);
}

#[test]
fn relations_of_many_cells_are_found_beside_an_outlier() {
    let mut views = spiked(20, 3, |_, _| vec![9]);
    let mut random = Random::new(8);
    let near = |value: &f64| value + 0.1 * random.unit();
    views[13] = views[4].iter().map(near).collect();
    // Twelve outliers in the same cells are no coincidence.
    let many = |view: &mut Vec<f64>| (20..32).for_each(|cell| view[cell] += 30.0);
    views[7..9].iter_mut().for_each(many);
    let (all, job) = (AxisFilter::all(2), Job::default());
    let kin = Kinship::unrelated(views.len());
    let found = spectra(&views, &[8, 8]).relations(&all, &kin, &Default::default(), &job);
    let found = found.expect("it runs");
    let mut pairs: Vec<_> = found.found.iter().map(|it| (it.one, it.other)).collect();
    pairs.sort_unstable();
    assert_eq!(pairs, [(4, 13), (7, 8)]);
}
