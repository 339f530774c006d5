//! Bounds of the probability of chance for chosen pairs are those of all pairs.

use super::independent_views::{KINDS, view};
use super::smooth_views::Random;
use perf_core::Job;
use perf_spectral::{AxisFilter, Error, Kinship, RankParams, RelationParams, Spectra};

const DIMS: [usize; 2] = [12, 10];
const CELLS: usize = 120;

fn spectra(views: &[Vec<f64>]) -> Spectra<f64> {
    let mut builder = Spectra::<f64>::builder(&DIMS).expect("a shape");
    builder.extend(views, &Job::default()).expect("finite");
    builder.finish()
}

/// Returns a view whose cells are those 3 and 7 steps further along the axes.
fn moved(view: &[f64]) -> Vec<f64> {
    let cell = |at: usize| (at / 10 + 3) % 12 * 10 + (at % 10 + 7) % 10;
    (0..CELLS).map(|at| view[cell(at)]).collect()
}

#[test]
fn bounds_are_those_of_all_pairs_at_any_shift() {
    let (job, all) = (Job::default(), AxisFilter::all(2));
    let rank = RankParams::default().check().expect("valid");
    for kind in KINDS {
        let mut random = Random::new(3);
        let mut views = Vec::new();
        for _ in 0..6 {
            let one = view(kind, &DIMS, &mut random);
            let other = view(kind, &DIMS, &mut random);
            let near = one.iter().zip(&other).map(|(a, b)| a + 0.2 * b);
            views.extend([near.collect(), one]);
        }
        let here = spectra(&views);
        let params = RelationParams::default().rate(0.9).check().expect("valid");
        let kin = Kinship::unrelated(views.len());
        let related = here.relations(&all, &kin, &params, &job).expect("it runs");
        assert!(related.found.len() > 2, "{kind:?}: {related:?}");
        let there = spectra(&views.iter().map(|it| moved(it)).collect::<Vec<_>>());
        for it in &related.found {
            let list = here.rank_among(it.one, &[it.other], &all, &rank, &job);
            let list = list.expect("it runs").matches;
            let bounds = here.chance_bounds((&here, it.one), &list, &all, &job);
            let bound = bounds.expect("it runs")[0];
            assert_eq!(list[0].peak.at, 0, "{kind:?}");
            assert_eq!((bound.p, bound.at_shift), (it.p, it.p), "{kind:?}");
            assert_eq!(bound.at_any, (it.p * CELLS as f64).min(1.0));
            // The cells of the other view lie 3 and -3 steps further than those of the moved reference.
            let mut far = list[0];
            far.peak.at = 37;
            let bounds = here.chance_bounds((&there, it.one), &[far], &all, &job);
            let moved = bounds.expect("it runs")[0];
            let differ = moved.at_shift / it.p - 1.0;
            assert!(differ.abs() < 1e-9, "{kind:?}: {differ}");
            assert_eq!(moved.p, moved.at_any);
        }
    }
}

#[test]
fn views_without_variation_are_chance() {
    let (job, all) = (Job::default(), AxisFilter::all(2));
    let wave: Vec<f64> = (0..CELLS).map(|at| (at as f64).sin()).collect();
    let here = spectra(&[wave.clone(), vec![2.0; CELLS]]);
    let rank = RankParams::default().check().expect("valid");
    let list = here.rank(0, &all, &rank, &job).expect("it runs").matches;
    for (reference, found) in [(0, &list[..]), (1, &list[..]), (0, &[])] {
        let bounds = here.chance_bounds((&here, reference), found, &all, &job);
        let bounds = bounds.expect("it runs");
        assert!(bounds.len() == found.len() && bounds.iter().all(|it| it.p == 1.0));
    }
    let unknown = here.chance_bounds((&here, 2), &list, &all, &job);
    assert!(matches!(
        unknown,
        Err(Error::UnknownView { view: 2, count: 2 })
    ));
    let mut builder = Spectra::<f64>::builder(&[10, 12]).expect("a shape");
    builder.extend(&[wave], &job).expect("finite");
    let turned = here.chance_bounds((&builder.finish(), 0), &list, &all, &job);
    assert!(matches!(
        turned,
        Err(Error::Length {
            expected: 12,
            got: 10,
            ..
        })
    ));
    let one = AxisFilter::all(1);
    assert!(here.chance_bounds((&here, 0), &list, &one, &job).is_err());
}
