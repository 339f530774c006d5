//! Tests of views that are distributed over ranks.

use crate::{Outcome, Test, equal};
use perf_core::Job;
use perf_mpi::{Error, Ranks, Shard, Wire};
use perf_spectral::{AxisFilter, Match, PairMatch, RankParams, Real, Spectra};
use perf_testdata::xorshift::Xorshift;

pub(crate) const TESTS: &[(&str, Test)] = &[
    ("rankings_are_those_of_one_process", rankings),
    ("pairs_are_those_of_one_process", pairs),
    ("a_view_that_nobody_has_is_an_error", nobody),
    ("who_stops_stops_all", stopped),
];

const DIMS: [usize; 3] = [4, 6, 5];
const VIEWS: usize = 23;

/// Returns views, some of which are similar, some equal, and some constant.
fn views() -> Vec<Vec<f64>> {
    let mut random = Xorshift::new(7);
    let cells: usize = DIMS.iter().product();
    let mut all: Vec<Vec<f64>> = Vec::new();
    for view in 0..VIEWS {
        let other = all.get(view / 2).cloned();
        let mut noise = || random.below(1000) as f64 / 1000.0;
        all.push(match (view % 5, other) {
            (2, Some(other)) => other.iter().map(|x| 3.0 - x + 0.2 * noise()).collect(),
            (3, Some(other)) if view % 2 == 0 => other,
            (4, _) if view < 10 => vec![2.5; cells],
            _ => (0..cells).map(|_| noise()).collect(),
        });
    }
    all
}

fn spectra<T: Real>(numbers: &[usize]) -> Result<Spectra<T>, perf_spectral::Error> {
    let all = views();
    let some: Vec<&[f64]> = numbers.iter().map(|at| &all[*at][..]).collect();
    let mut builder = Spectra::<T>::builder(&DIMS)?;
    builder.extend(&some, &Job::default())?;
    Ok(builder.finish())
}

/// Returns the numbers of the own views, in blocks or round-robin.
fn numbers(ranks: &Ranks, is_dealt: bool) -> Vec<usize> {
    if is_dealt {
        (ranks.rank()..VIEWS).step_by(ranks.size()).collect()
    } else {
        ranks.block(VIEWS).collect()
    }
}

fn rankings(ranks: &Ranks) -> Outcome {
    rankings_of::<f64>(ranks)?;
    rankings_of::<f32>(ranks)
}

fn rankings_of<T: Real + Wire>(ranks: &Ranks) -> Outcome {
    let all: Vec<usize> = (0..VIEWS).collect();
    let whole = spectra::<T>(&all)?;
    for is_dealt in [false, true] {
        let numbers = numbers(ranks, is_dealt);
        let own = spectra::<T>(&numbers)?;
        let shard = Shard::new(ranks, &own, numbers)?;
        for filter in [AxisFilter::all(3), AxisFilter::new(&[1.0, 0.0, 0.5])?] {
            for params in [
                RankParams::default(),
                RankParams::default().top(4),
                RankParams::default().least(0.4).pearson(false),
            ] {
                let params = params.check()?;
                for reference in [0, 2, 4, 7, VIEWS - 1] {
                    let job = Job::default();
                    let found = shard.rank(ranks, reference, &filter, &params, &job)?;
                    let expected = whole.rank(reference, &filter, &params, &Job::default())?;
                    same_matches(&found.matches, &expected.matches)?;
                    equal("skipped", &found.skipped, &expected.skipped)?;
                }
            }
        }
    }
    Ok(())
}

/// Compares the debug output, so that NaN equals NaN.
fn same_matches(found: &[Match], expected: &[Match]) -> Outcome {
    equal("how many", &found.len(), &expected.len())?;
    for (one, other) in found.iter().zip(expected) {
        equal("a match", &one.to_bytes(), &other.to_bytes())?;
    }
    Ok(())
}

fn pairs(ranks: &Ranks) -> Outcome {
    let all: Vec<usize> = (0..VIEWS).collect();
    let whole = spectra::<f64>(&all)?;
    for is_dealt in [false, true] {
        let numbers = numbers(ranks, is_dealt);
        let own = spectra::<f64>(&numbers)?;
        let shard = Shard::new(ranks, &own, numbers)?;
        for filter in [AxisFilter::all(3), AxisFilter::new(&[0.0, 1.0, 1.0])?] {
            for params in [
                RankParams::default(),
                RankParams::default().top(9),
                RankParams::default().top(0),
                RankParams::default().least(0.5),
            ] {
                let (params, job) = (params.check()?, Job::default());
                let found = shard.pairs(ranks, &filter, &params, &job)?;
                let expected = whole.pairs(&filter, &params, &job)?;
                let matches = |all: &[PairMatch]| -> Vec<Match> {
                    all.iter().map(|pair| pair.found).collect()
                };
                same_matches(&matches(&found), &matches(&expected))?;
                let references = |all: &[PairMatch]| -> Vec<usize> {
                    all.iter().map(|pair| pair.reference).collect()
                };
                equal("references", &references(&found), &references(&expected))?;
            }
        }
    }
    Ok(())
}

fn nobody(ranks: &Ranks) -> Outcome {
    let numbers = numbers(ranks, true);
    let own = spectra::<f64>(&numbers)?;
    let (params, job) = (RankParams::default().check()?, Job::default());
    let shard = Shard::new(ranks, &own, numbers.clone())?;
    let found = shard.rank(ranks, VIEWS, &AxisFilter::all(3), &params, &job);
    equal(
        "nobody has it",
        &matches!(found, Err(Error::View { ranks: 0, .. })),
        &true,
    )?;
    // A filter with another number of axes is an error, regardless of the rank with the reference.
    let found = shard.rank(ranks, 1, &AxisFilter::all(2), &params, &job);
    equal("axes", &found.is_err(), &true)?;
    // The numbers do not ascend, but only on the last rank.
    let mut wrong = numbers.clone();
    if ranks.rank() + 1 == ranks.size() {
        wrong.reverse();
    }
    let shard = Shard::new(ranks, &own, wrong);
    equal("an order", &shard.is_err(), &true)?;
    // Views that all ranks have.
    let all: Vec<usize> = (0..numbers.len().min(2)).collect();
    let few = spectra::<f64>(&all)?;
    let shard = Shard::new(ranks, &few, all);
    equal("twice", &shard.is_err(), &(ranks.size() > 1))
}

fn stopped(ranks: &Ranks) -> Outcome {
    let numbers = numbers(ranks, true);
    let own = spectra::<f64>(&numbers)?;
    let shard = Shard::new(ranks, &own, numbers)?;
    let params = RankParams::default().check()?;
    let job = Job::default();
    if ranks.is_root() {
        job.cancel();
    }
    let filter = AxisFilter::all(3);
    let found = shard.pairs(ranks, &filter, &params, &job);
    equal("pairs", &found.is_err(), &true)?;
    let found = shard.rank(ranks, 1, &filter, &params, &job);
    equal("a ranking", &found.is_err(), &true)
}
