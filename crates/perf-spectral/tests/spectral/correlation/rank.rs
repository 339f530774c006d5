//! Rankings: pruned and exhaustive, in memory and in a file, on one thread and on several.

use crate::common::noise;
use perf_core::{Job, Progress};
use perf_spectral::{
    AxisFilter, CheckedRank, Error, NullParams, RankParams, Ranking, Real, Score, Spectra,
};
use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Returns some views that share a wave with the first and some that do not, constants, and copies.
fn views(dims: &[usize], count: usize, seed: u64) -> Vec<Vec<f64>> {
    let points: usize = dims.iter().product();
    let base = noise(points, seed);
    (0..count)
        .map(|number| {
            let own = noise(points, seed + 100 + number as u64);
            match number % 7 {
                3 => vec![number as f64; points],
                5 => base.clone(),
                _ => {
                    let share = 1.0 / (1.0 + number as f64);
                    let sign = if number % 2 == 0 { 1.0 } else { -1.0 };
                    let pairs = base.iter().zip(&own);
                    pairs
                        .map(|(b, o)| sign * b * share * 3.0 + o * 0.3)
                        .collect()
                }
            }
        })
        .collect()
}

/// Returns waves along the first axis with all phases and 1 % of noise, which decides between
/// maximum and minimum.
fn noisy_waves(dims: &[usize], count: usize, seed: u64) -> Vec<Vec<f64>> {
    let points: usize = dims.iter().product();
    let below = points / dims[0];
    (0..count)
        .map(|number| {
            let own = noise(points, seed + number as u64);
            let turn = |cell: usize| (cell / below + number) as f64 / dims[0] as f64;
            let cells = own.iter().enumerate();
            cells
                .map(|(cell, noise)| (std::f64::consts::TAU * turn(cell)).cos() + 0.01 * noise)
                .collect()
        })
        .collect()
}

fn built<T: Real>(dims: &[usize], views: &[Vec<f64>]) -> Spectra<T> {
    let mut builder = Spectra::<T>::builder(dims).expect("a shape");
    builder
        .extend(views, &Job::default())
        .expect("finite views");
    builder.finish()
}

fn rank<T: Real>(spectra: &Spectra<T>, params: RankParams, f: &[f64]) -> Ranking {
    let filter = AxisFilter::new(f).expect("weights");
    let params = params.pearson(false).check().expect("in range");
    spectra
        .rank(0, &filter, &params, &Job::default())
        .expect("a view")
}

/// Returns `true` if two rankings are equal except for parts that were not requested.
fn same(a: &Ranking, b: &Ranking) -> bool {
    let key = |list: &Ranking| -> Vec<_> {
        let all = list.matches.iter();
        all.map(|found| (found.view, found.correlation, found.peak))
            .collect()
    };
    key(a) == key(b)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn pruned_lists_are_exhaustive_ones(
        dims in prop::collection::vec(1usize..7, 1..4), seed in 0u64..1000, top in 0usize..25, least in 0.0f64..1.0,
        paper: bool, waves: bool, tolerance in prop::sample::select(vec![0.0, 0.01, 0.3]),
    ) {
        let views = if waves { noisy_waves(&dims, 30, seed) } else { views(&dims, 30, seed) };
        let score = if paper { Score::Paper } else { Score::Magnitude };
        let f = vec![1.0; dims.len()];
        for params in [
            RankParams::default().top(top),
            RankParams::default().least(least),
            RankParams::default().top(top).least(least),
        ] {
            let params = params.score(score).tolerance(tolerance);
            let spectra = built::<f64>(&dims, &views);
            let (pruned, all) = (rank(&spectra, params.clone(), &f), rank(&spectra, params.clone().prune(false), &f));
            prop_assert!(same(&pruned, &all));
            prop_assert!(pruned.transforms <= all.transforms);
            let spectra = built::<f32>(&dims, &views);
            prop_assert!(same(&rank(&spectra, params.clone(), &f), &rank(&spectra, params.prune(false), &f)));
        }
    }
}

#[test]
fn lists_are_ordered_and_whole() {
    let dims = &[6, 5];
    let spectra = built::<f64>(dims, &views(dims, 40, 1));
    let list = rank(&spectra, RankParams::default(), &[1.0, 1.0]);
    assert_eq!(list.matches.len(), 39);
    assert!(list.matches.windows(2).all(|two| {
        let (a, b) = (two[0], two[1]);
        a.r().abs() > b.r().abs() || (a.r().abs() == b.r().abs() && a.view < b.view)
    }));
    // Constant views, and copies of another view, need no transform.
    assert_eq!(spectra.views()[12].same_as, Some(5));
    assert_eq!(list.transforms, 39 - 6 - 4);
    let paper = rank(
        &spectra,
        RankParams::default().score(Score::Paper),
        &[1.0, 1.0],
    );
    assert!(paper.matches.iter().all(|found| found.r() >= 0.0));
    // With all weights 0 no variation passes.
    let none = rank(&spectra, RankParams::default(), &[0.0, 0.0]);
    assert!(none.matches.iter().all(|found| found.r() == 0.0) && none.matches.len() == 39);
}

#[test]
fn a_file_is_as_good_as_memory() {
    let dims = &[4, 6, 3];
    let views = views(dims, 40, 2);
    let path = std::env::temp_dir().join(format!("perf-spectral-{}.spectra", std::process::id()));
    let open = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(&path);
    let mut builder = Spectra::<f32>::builder_in(dims, open.expect("a file")).expect("a shape");
    builder
        .extend(&views, &Job::default())
        .expect("finite views");
    let on_disk = builder.finish();
    let in_memory = built::<f32>(dims, &views);
    for params in [RankParams::default(), RankParams::default().top(4)] {
        let f = [1.0, 0.0, 0.5];
        assert_eq!(
            rank(&on_disk, params.clone(), &f).matches.len(),
            rank(&in_memory, params.clone(), &f).matches.len()
        );
        assert!(same(
            &rank(&on_disk, params.clone(), &f),
            &rank(&in_memory, params, &f)
        ));
    }
    // 40 views, 6 of them constant (3, 10, ..), 5 copies of view 5 (12, 19, ..).
    let spectra = views.len() - 6 - 4;
    let bytes = std::fs::metadata(&path).expect("a file").len();
    std::fs::remove_file(&path).expect("it is ours");
    // The header comes first.
    assert_eq!(bytes, 4096 + (spectra * 72 * 4) as u64);
}

#[cfg(feature = "parallel")]
#[test]
fn threads_change_nothing() {
    let dims = &[4, 6, 3];
    let views = views(dims, 40, 3);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .expect("threads");
        pool.install(|| {
            let spectra = built::<f64>(dims, &views);
            let params = RankParams::default().top(10).check().expect("in range");
            let filter = AxisFilter::all(3);
            let list = spectra
                .rank(0, &filter, &params, &Job::default())
                .expect("a view");
            let pairs = spectra
                .pairs(&filter, &params, &Job::default())
                .expect("views");
            let null = NullParams::default().count(19).check().expect("in range");
            let sure = spectra.confidence(0, &[1, 2, 4], &filter, &null, &Job::default());
            (
                list,
                pairs,
                sure.expect("views"),
                spectra.spectrum(1).expect("a view"),
            )
        })
    };
    let one = run(1);
    for threads in [2, 3, 8] {
        assert_eq!(run(threads), one);
    }
}

#[test]
fn all_pairs_are_the_best_of_all_lists() {
    let dims = &[5, 4];
    let spectra = built::<f64>(dims, &views(dims, 20, 4));
    let filter = AxisFilter::all(2);
    let check = |params: RankParams| -> CheckedRank { params.check().expect("in range") };
    let job = Job::default();
    let all = spectra
        .pairs(&filter, &check(RankParams::default()), &job)
        .expect("views");
    assert_eq!(all.len(), 20 * 19 / 2);
    let top = spectra
        .pairs(&filter, &check(RankParams::default().top(12)), &job)
        .expect("views");
    assert_eq!(top, all[..12]);
    let chosen: Vec<(usize, usize)> = all
        .iter()
        .map(|pair| (pair.reference, pair.found.view))
        .collect();
    let again = spectra
        .correlate_pairs(
            &chosen,
            &filter,
            &check(RankParams::default().top(1)),
            &Job::default(),
        )
        .expect("views");
    assert_eq!(again, all);
}

#[test]
fn related_views_have_small_p_values() {
    let dims = &[8, 6];
    let mut all = vec![noise(48, 1), noise(48, 2), noise(48, 3), noise(48, 4)];
    let related: Vec<f64> = all[0]
        .iter()
        .zip(&all[3])
        .map(|(a, b)| 2.0 * a + 0.5 * b)
        .collect();
    all.push(related);
    all.push(vec![1.0; 48]);
    let spectra = built::<f64>(dims, &all);
    let null = NullParams::default().check().expect("in range");
    let run = || {
        let filter = AxisFilter::all(2);
        spectra
            .confidence(0, &[1, 2, 3, 4, 5], &filter, &null, &Job::default())
            .expect("views")
    };
    let found = run();
    assert_eq!(found, run());
    assert!(found.p[3] == 0.01 && found.p_of_all[3] == 0.01, "{found:?}");
    assert!(found.p[..3].iter().all(|p| *p > 0.05), "{found:?}");
    assert_eq!(found.p[4], 1.0);
    assert!(found.band > 0.2 && found.band < 0.9, "{found:?}");
    assert!(NullParams::default().count(0).check().is_err());
    assert!(NullParams::default().level(1.0).check().is_err());
}

#[test]
fn axes_that_hold_more_than_their_share_are_suggested() {
    let dims = &[8, 8, 4];
    let view: Vec<f64> = noise(256, 1)
        .iter()
        .enumerate()
        .map(|(cell, noise)| (cell / 4 % 8) as f64 + 0.1 * noise)
        .collect();
    let spectra = built::<f64>(dims, &[view]);
    let power = spectra.axis_power(0).expect("a view");
    assert!(power.share[1] > 0.9 && (power.share.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    assert_eq!(power.main().f(), [0.0, 1.0, 0.0]);
    assert_eq!(power.rest().f(), [1.0, 0.0, 1.0]);
}

#[test]
fn missing_cells_count_as_the_mean() {
    let mut builder = Spectra::<f64>::builder(&[2, 3]).expect("a shape");
    let mask = [true, true, true, true, true, false];
    let job = Job::default();
    builder
        .extend_masked(&[[1.0, 2.0, 3.0, 4.0, 5.0, 99.0]], &mask, &job)
        .expect("finite");
    builder
        .extend(&[[1.0, 2.0, 3.0, 4.0, 5.0, 3.0]], &Job::default())
        .expect("finite");
    let spectra = builder.finish();
    assert_eq!(spectra.views()[0].missing, 1);
    assert_eq!(
        spectra.spectrum(0).expect("a view"),
        spectra.spectrum(1).expect("a view")
    );
}

#[test]
fn work_reports_and_stops() {
    #[derive(Default)]
    struct Count(AtomicU64);
    impl Progress for Count {
        fn advance(&self, _phase: &'static str, amount: u64, total: u64) {
            assert_eq!(total, 29);
            self.0.fetch_add(amount, Ordering::Relaxed);
        }
    }
    let dims = &[4, 4];
    let spectra = built::<f64>(dims, &views(dims, 30, 5));
    let filter = AxisFilter::all(2);
    let others: Vec<usize> = (1..30).collect();
    let params = RankParams::default().check().expect("in range");
    let count = Arc::new(Count::default());
    let job = Job::with_progress(count.clone());
    spectra
        .rank_among(0, &others, &filter, &params, &job)
        .expect("views");
    assert_eq!(count.0.load(Ordering::Relaxed), 29);
    job.cancel();
    let stopped = spectra.rank_among(0, &others, &filter, &params, &job);
    assert!(matches!(stopped, Err(Error::Cancelled(_))));
}

#[test]
fn wrong_use_is_an_error() {
    let spectra = built::<f64>(&[3], &[vec![1.0, 2.0, 4.0]]);
    let params = RankParams::default().check().expect("in range");
    assert!(matches!(
        spectra.rank(1, &AxisFilter::all(1), &params, &Job::default()),
        Err(Error::UnknownView { .. })
    ));
    assert!(matches!(
        spectra.rank(0, &AxisFilter::all(2), &params, &Job::default()),
        Err(Error::Length { .. })
    ));
    assert!(RankParams::default().least(1.5).check().is_err());
    assert!(AxisFilter::new(&[f64::NAN]).is_err());
    let mut builder = Spectra::<f64>::builder(&[3]).expect("a shape");
    assert!(matches!(
        builder.extend(&[[1.0, f64::NAN, 0.0]], &Job::default()),
        Err(Error::NotFinite { at: 1, .. })
    ));
    assert!(matches!(
        builder.extend(&[[1.0, 2.0]], &Job::default()),
        Err(Error::Length { .. })
    ));
    assert!(builder.is_empty());
    assert!(builder.extend(&[[1.0, 2.0, 3.0]], &Job::default()).is_ok());
    assert_eq!(builder.finish().views()[0].same_as, None);
}

#[test]
fn surrogates_are_no_more_than_can_be_kept() {
    for (count, is_fit) in [
        (0, false),
        (1, true),
        (1 << 20, true),
        ((1 << 20) + 1, false),
        (usize::MAX, false),
    ] {
        let checked = NullParams::default().count(count).check();
        if is_fit {
            assert!(checked.is_ok())
        } else {
            assert!(matches!(checked, Err(Error::Parameter { .. })), "{count}")
        }
    }
}
