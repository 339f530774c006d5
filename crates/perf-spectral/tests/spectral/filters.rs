//! Other filters and the score of the paper's text, compared with their defining sums.

use crate::common::{self, correlated, correlation, cosine, noise, weighted};
use perf_core::Job;
use perf_spectral::{
    AxisFilter, Band, Both, Correlation, Error, Filter, Frequencies, Harmonics, NullParams,
    RankParams, Score, Spectra, Wave, Without,
};

const DIMS: &[usize] = &[12, 5, 4];

fn views(count: usize) -> Vec<Vec<f64>> {
    let points = DIMS.iter().product();
    (0..count as u64).map(|seed| noise(points, seed)).collect()
}

fn spectra(views: &[Vec<f64>]) -> Spectra<f64> {
    let mut builder = Spectra::<f64>::builder(DIMS).expect("a shape");
    builder
        .extend(views, &Job::default())
        .expect("finite views");
    builder.finish()
}

fn found(views: &[Vec<f64>], filter: &dyn Filter) -> Correlation {
    let spectra = spectra(views);
    let reference = spectra
        .reference(0, filter, &Job::default())
        .expect("a view");
    let reference = reference.expect("it varies");
    spectra
        .correlate(&reference, 1, &Job::default())
        .expect("a view")
}

/// Returns the maximum, the minimum and the unshifted value of the sum over all x.
fn defined(views: &[Vec<f64>], weight: &dyn Fn(&[f64]) -> f64) -> [f64; 3] {
    let [a, b] = [0, 1].map(|at: usize| weighted(&views[at], DIMS, weight));
    let all = correlated(&a, &b, DIMS);
    let high = all.iter().copied().fold(f64::MIN, f64::max);
    let low = all.iter().copied().fold(f64::MAX, f64::min);
    [high, low, all[0]]
}

fn agree(found: Correlation, defined: [f64; 3], about: &str) {
    let off = [
        found.max.r - defined[0],
        found.min.r - defined[1],
        found.zero - defined[2],
    ];
    assert!(
        off.iter().all(|off| off.abs() < 2e-9),
        "{about}: {found:?}, not {defined:?}"
    );
}

#[test]
fn one_wave_vector_and_its_harmonics() {
    let views = views(2);
    for (k, count) in [
        (vec![1, 0, 0], 1),
        (vec![1, 0, 0], 4),
        (vec![2, -1, 1], 3),
        (vec![-5, 2, -2], 2),
        // Along an axis of length 12 this wave is its own opposite, and so are its harmonics.
        (vec![6, 0, 0], 2),
    ] {
        let weight = |at: &[f64]| -> f64 {
            let same = |times: i32| {
                at.iter()
                    .zip(&k)
                    .zip(DIMS)
                    .all(|((at, k), len)| (*at as i32 - times * k).rem_euclid(*len as i32) == 0)
            };
            let mean = at.iter().all(|k| *k == 0.0);
            let hit = (1..=count).any(|times| same(times) || same(-times));
            f64::from(u8::from(hit && !mean))
        };
        let filter = Harmonics {
            k: k.clone(),
            count: count as u32,
        };
        let about = format!("{count} times {k:?}");
        agree(found(&views, &filter), defined(&views, &weight), &about);
        let rest = |at: &[f64]| {
            if at.iter().all(|k| *k == 0.0) {
                0.0
            } else {
                1.0 - weight(at)
            }
        };
        let about = format!("without {about}");
        agree(
            found(&views, &Without(filter)),
            defined(&views, &rest),
            &about,
        );
    }
}

#[test]
fn a_wave_alone_leaves_a_wave() {
    // One wave remains of each view. R is then a wave too, and reaches both 1 and -1 if half a
    // period is a whole number of steps.
    let filter = Harmonics {
        k: vec![1, 0, 0],
        count: 1,
    };
    let found = found(&views(2), &filter);
    assert!(found.max.r <= 1.0 && found.max.r > (std::f64::consts::TAU / 24.0).cos() - 1e-9);
    assert!((found.max.r + found.min.r).abs() < 1e-9, "{found:?}");
}

#[test]
fn physical_frequencies_weigh_by_length() {
    let views = views(2);
    for f in [[1.0, 0.0, 0.0], [0.0, 0.5, 1.0]] {
        let physical = |k: &[f64]| {
            let k: Vec<f64> = k.iter().zip(DIMS).map(|(k, len)| k / *len as f64).collect();
            cosine(&k, &f)
        };
        let index = AxisFilter::new(&f).expect("weights");
        let filter = index.clone().frequencies(Frequencies::Physical);
        let (one, other) = (found(&views, &filter), found(&views, &index));
        agree(one, defined(&views, &physical), "physical");
        agree(other, defined(&views, &|k| cosine(k, &f)), "index");
        assert!((one.zero - other.zero).abs() > 1e-3, "lengths differ");
    }
    // On axes of the same length both units agree.
    let views: Vec<_> = (0..2).map(|seed| noise(64, seed)).collect();
    let mut builder = Spectra::<f64>::builder(&[4, 4, 4]).expect("a shape");
    builder
        .extend(&views, &Job::default())
        .expect("finite views");
    let spectra = builder.finish();
    let r = |unit: Frequencies| {
        let filter = AxisFilter::new(&[1.0, 0.0, 0.0]).expect("weights");
        let reference = spectra.reference(0, &filter.frequencies(unit), &Job::default());
        let reference = reference.expect("a view").expect("it varies");
        spectra
            .correlate(&reference, 1, &Job::default())
            .expect("a view")
            .max
            .r
    };
    assert!((r(Frequencies::Index) - r(Frequencies::Physical)).abs() < 1e-12);
}

/// "The result is R at argmax R": this score ranks the perfect inverse low.
#[test]
fn the_score_of_the_paper_ranks_by_arg_max() {
    let mut views = views(6);
    views.push(views[0].iter().map(|value| -value).collect());
    let spectra = spectra(&views);
    let f = [1.0, 0.0, 0.5];
    let filter = AxisFilter::new(&f).expect("weights");
    let params = RankParams::default().score(Score::Paper);
    let list = spectra
        .rank(
            0,
            &filter,
            &params.check().expect("in range"),
            &Job::default(),
        )
        .expect("a view");
    let mut expected: Vec<(usize, f64, usize)> = (1..views.len())
        .map(|view| {
            let all = correlation(&views[0], &views[view], DIMS, &f);
            let high = all.iter().copied().fold(f64::MIN, f64::max);
            let at = all.iter().position(|r| *r == high).expect("the largest");
            (view, high, at)
        })
        .collect();
    expected.sort_by(|a, b| b.1.total_cmp(&a.1));
    assert_eq!(list.matches.len(), expected.len());
    for (found, (view, r, at)) in list.matches.iter().zip(&expected) {
        assert_eq!(found.view, *view);
        assert!((found.r() - r).abs() < 2e-9 && found.r() >= 0.0);
        let all = correlation(&views[0], &views[*view], DIMS, &f);
        assert!((all[found.peak.at] - all[*at]).abs() < 2e-9);
    }
    // The perfect inverse is not first here, but is by magnitude.
    assert_ne!(list.matches[0].view, 6);
    let params = RankParams::default().check().expect("in range");
    let best = spectra
        .rank(0, &filter, &params, &Job::default())
        .expect("a view")
        .matches[0];
    assert!(best.view == 6 && (best.r() + 1.0).abs() < 1e-9);
    assert!((common::pearson(&views[0], &views[6]) + 1.0).abs() < 1e-12);
}

/// Filters are checked for every kind of filter, and for constant views too.
#[test]
fn filters_for_other_axes_are_refused() {
    struct Own;
    impl Filter for Own {
        fn weight(&self, _: Wave<'_>) -> f64 {
            1.0
        }
        fn cosine(&self) -> Option<&[f64]> {
            Some(&[1.0])
        }
    }
    let mut views = views(2);
    views.push(vec![1.0; views[0].len()]);
    let spectra = spectra(&views);
    let axes = |axes| AxisFilter::all(axes);
    let physical = |axes| AxisFilter::all(axes).frequencies(Frequencies::Physical);
    let harmonics = |axes| Harmonics {
        k: vec![1; axes],
        count: 1,
    };
    let band = |axis| Band {
        axis: Some(axis),
        low: 0.0,
        high: 2.0,
        unit: Frequencies::Index,
    };
    let refused: [&dyn Filter; 11] = [
        &Own,
        &axes(2),
        &axes(4),
        &physical(1),
        &physical(4),
        &harmonics(2),
        &band(3),
        &band(usize::MAX),
        &Without(physical(2)),
        &Both(axes(3), physical(2)),
        &Both(harmonics(4), axes(3)),
    ];
    let taken: [&dyn Filter; 6] = [
        &axes(3),
        &physical(3),
        &harmonics(3),
        &band(2),
        &Without(harmonics(3)),
        &Both(physical(3), band(0)),
    ];
    let params = RankParams::default().check().expect("in range");
    let null = NullParams::default().count(1).check().expect("in range");
    let stop = Job::default();
    for (filter, is_fit) in refused
        .map(|filter| (filter, false))
        .into_iter()
        .chain(taken.map(|filter| (filter, true)))
    {
        for view in 0..3 {
            let found = [
                spectra.reference(view, filter, &Job::default()).map(|_| ()),
                spectra
                    .rank(view, filter, &params, &Job::default())
                    .map(|_| ()),
                spectra.pairs(filter, &params, &stop).map(|_| ()),
                spectra
                    .correlate_pairs(&[(view, 1)], filter, &params, &Job::default())
                    .map(|_| ()),
                spectra
                    .confidence(view, &[1], filter, &null, &stop)
                    .map(|_| ()),
            ];
            for found in found {
                if is_fit {
                    assert!(found.is_ok(), "{found:?}")
                } else {
                    assert!(matches!(found, Err(Error::Length { .. })), "{found:?}")
                }
            }
        }
        let plan = spectra.plan();
        let prepared = plan.reference(&vec![1.0; plan.len()], filter);
        assert_eq!(prepared.is_ok(), is_fit);
    }
}

/// Compares with a test of each multiple.
#[test]
fn many_harmonics_are_those_of_the_definition() {
    let shapes: [&[usize]; 6] = [
        &[12, 5, 4],
        &[1, 6, 9],
        &[16, 24],
        &[7, 35],
        &[64],
        &[30, 1, 2, 8],
    ];
    for (dims, seed) in shapes.iter().zip(0..) {
        let cells = dims.iter().product();
        let all: Vec<Vec<i32>> = (0..cells)
            .map(|cell| {
                let digits = common::digits(cell, dims).into_iter().zip(*dims);
                digits
                    .map(|(k, len)| common::signed(k, *len) as i32)
                    .collect()
            })
            .collect();
        // Frequencies beyond the axis are equivalent to their remainder.
        let random = noise(40 * dims.len(), seed);
        let random = random
            .chunks(dims.len())
            .zip([0_u32, 1, 2, 7, 8, 9, 10, 13, 29, 60, 500].iter().cycle());
        for (own, &count) in random {
            let own: Vec<i32> = own
                .iter()
                .map(|k| (k * 1.5).powi(3).mul_add(12.0, 0.4) as i32)
                .collect();
            let filter = Harmonics {
                k: own.clone(),
                count,
            };
            for k in &all {
                let same = |times: i64| {
                    let mut axes = k.iter().zip(&own).zip(*dims);
                    axes.all(|((k, own), len)| {
                        (i64::from(*k) - times * i64::from(*own)).rem_euclid(*len as i64) == 0
                    })
                };
                let hit = (1..=i64::from(count)).any(|times| same(times) || same(-times));
                let found = filter.weight(Wave { k, dims });
                assert_eq!(
                    found,
                    f64::from(u8::from(hit)),
                    "{count} times {own:?}: {k:?} of {dims:?}"
                );
            }
        }
    }
}

/// A large number of harmonics takes no more work than a few.
#[test]
fn harmonics_may_be_as_many_as_can_be_counted() {
    let all = Harmonics {
        k: vec![1, 0],
        count: u32::MAX,
    };
    let weight = |filter: &Harmonics, k: &[i32], dims: &[usize]| filter.weight(Wave { k, dims });
    for k in 0..512 {
        assert_eq!(weight(&all, &[k, 0], &[1024, 1024]), 1.0);
        assert_eq!(weight(&all, &[k, 1 + k], &[1024, 1024]), 0.0);
    }
    // Axes far longer than those of any grid, and numbers at the limits of their types.
    let far = Harmonics {
        k: vec![i32::MIN, i32::MAX, 3],
        count: u32::MAX,
    };
    let dims = [usize::MAX, 1 << 40, (1 << 62) + 1];
    assert_eq!(weight(&far, &[i32::MIN, i32::MAX, 3], &dims), 1.0);
    assert_eq!(weight(&far, &[i32::MAX, i32::MIN, 3], &dims), 0.0);
    let long = [(1 << 40) - 1, (1 << 40) + 1, (1 << 62) + 1];
    assert_eq!(weight(&far, &[i32::MIN, i32::MAX, 3], &long), 1.0);
    assert_eq!(weight(&far, &[i32::MIN, i32::MAX, 4], &long), 0.0);
}
