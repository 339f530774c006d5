//! Tests of the clustering of points that are distributed over ranks.

use crate::{Outcome, Test, equal};
use perf_core::{Job, Nanos};
use perf_mpi::{Axis, Ranks, cluster, durations_first, fit};
use perf_testdata::xorshift::Xorshift;
use perf_track::cluster::{Border, Clusterer, Dbscan};
use perf_track::{Burst, Bursts, Dimension, Points, Scale, Thread};

pub(crate) const TESTS: &[(&str, Test)] = &[
    ("clusters_are_those_of_one_process", clusters),
    ("clusters_on_all_slabs_are_one", across),
    ("border_points_between_slabs_have_one_owner", borders),
    ("numbers_by_time_are_those_of_one_process", by_time),
    ("spaces_are_those_of_one_process", spaces),
    ("what_depends_on_an_order_is_refused", refused),
];

/// Returns blobs and noise. Some of the points lie on a lattice, on which many distances are equal.
fn points(seed: u64, count: usize, dimensions: usize) -> Vec<f64> {
    let mut random = Xorshift::new(seed);
    let mut unit = || random.below(1 << 20) as f64 / (1 << 20) as f64;
    let mut values = Vec::new();
    for point in 0..count {
        for axis in 0..dimensions {
            values.push(match point % 4 {
                0 => unit(),
                1 => (unit() * 40.0).floor() / 40.0,
                blob => 0.3 * blob as f64 + 0.05 * axis as f64 + 0.06 * (unit() + unit() - 1.0),
            });
        }
    }
    values
}

/// Compares the clustering of all points on each rank with the distributed one, in which each rank
/// has a block.
fn check(ranks: &Ranks, values: &[f64], dimensions: usize, eps: f64, least: usize) -> Outcome {
    let job = Job::default();
    let params = Dbscan::params().eps(eps).min_points(least).check()?;
    let whole = Dbscan::new(params.clone()).scan(Points::new(values, dimensions)?, &job)?;
    let block = ranks.block(values.len() / dimensions);
    let own = &values[block.start * dimensions..block.end * dimensions];
    let found = cluster(ranks, Points::new(own, dimensions)?, &params, &job)?;
    let what = format!("labels, eps {eps}, {least} points");
    equal(
        &what,
        &found.labels.as_slice(),
        &&whole.labels().as_slice()[block.clone()],
    )?;
    equal("core", &&found.core[..], &&whole.core()[block.clone()])?;
    equal(
        "clusters",
        &(found.clusters as usize),
        &whole.labels().clusters(),
    )?;
    equal("noise", &(found.noise as usize), &whole.noise_points())?;
    equal(
        "core points",
        &(found.core_points as usize),
        &whole.core_points(),
    )?;
    equal("the first", &(found.first as usize), &block.start)
}

fn clusters(ranks: &Ranks) -> Outcome {
    for dimensions in [1, 2, 3, 5] {
        for seed in 1..4 {
            let values = points(seed, 900, dimensions);
            for eps in [0.002, 0.01, 0.025, 0.1, 0.6, 3.0] {
                for least in [1, 2, 4, 10] {
                    check(ranks, &values, dimensions, eps, least)?;
                }
            }
        }
    }
    // Fewer points than ranks, no points, and all points at one position.
    for count in 0..3 {
        check(ranks, &points(9, count, 2), 2, 0.1, 1)?;
    }
    check(ranks, &[0.25; 400], 2, 0.1, 4)?;
    check(ranks, &[-1e150, 1e150, -1e150, 1e150], 1, 1.0, 1)
}

/// Tests a chain through all slabs, whose links are as long as eps permits.
fn across(ranks: &Ranks) -> Outcome {
    let chain: Vec<f64> = (0..500).flat_map(|at| [f64::from(at), 0.0]).collect();
    check(ranks, &chain, 2, 1.0, 2)?;
    check(ranks, &chain, 2, 1.0, 3)?;
    check(ranks, &chain, 2, 0.999_999, 2)?;
    // In the opposite direction the lowest core point is in the last slab.
    let back: Vec<f64> = (0..500).flat_map(|at| [-f64::from(at), 0.0]).collect();
    check(ranks, &back, 2, 1.0, 2)
}

/// Tests border points midway between two clusters, on both sides of each cut.
fn borders(ranks: &Ranks) -> Outcome {
    let mut values = Vec::new();
    for group in 0..40 {
        let at = 10.0 * f64::from(group);
        // Four points around either end of a gap of two, and one in its middle.
        for x in [0.0, 0.1, 0.2, 0.3, 2.3, 2.4, 2.5, 2.6] {
            values.push(at + x);
        }
        values.push(at + 1.3);
    }
    // In reverse order the indices decrease along the axis.
    for values in [values.clone(), values.into_iter().rev().collect()] {
        check(ranks, &values, 1, 1.0, 4)?;
        check(ranks, &values, 1, 1.05, 4)?;
    }
    Ok(())
}

fn by_time(ranks: &Ranks) -> Outcome {
    let job = Job::default();
    let values = points(5, 1200, 2);
    let weights: Vec<f64> = (0..1200).map(|at| f64::from(at * 37 % 101)).collect();
    let params = Dbscan::params().eps(0.02).min_points(4).check()?;
    let whole = Dbscan::new(params.clone()).cluster(Points::new(&values, 2)?, &job)?;
    let whole = whole.by_weight(&weights)?;
    let block = ranks.block(1200);
    let own = Points::new(&values[2 * block.start..2 * block.end], 2)?;
    let found = cluster(ranks, own, &params, &job)?;
    let found = durations_first(ranks, &found, &weights[block.clone()])?;
    equal(
        "labels",
        &found.labels.as_slice(),
        &&whole.as_slice()[block.clone()],
    )?;
    // A missing weight on the last rank is an error on all ranks.
    let is_last = ranks.rank() + 1 == ranks.size();
    let few = &weights[block.start..block.end - usize::from(is_last)];
    equal(
        "weights",
        &durations_first(ranks, &found, few).is_err(),
        &true,
    )
}

fn bursts(range: std::ops::Range<usize>) -> Result<Bursts, perf_track::Error> {
    let mut bursts = Bursts::new(["instructions", "ipc"]);
    for number in range {
        let thread = bursts.add_thread(Thread {
            process: number as u32,
            ..Thread::default()
        })?;
        let mut random = Xorshift::new(number as u64 + 1);
        for step in 0..30 {
            let begin = Nanos(1_000_000 * step);
            let end = Nanos(begin.0 + 1000 + random.below(900_000) as i64);
            // Some values have no logarithm.
            let instructions = random.below(50) as f64 * 1e6 * 0.37;
            let ipc = random.below(1000) as f64 / 300.0 - 0.5;
            let burst = Burst {
                thread,
                begin,
                end,
                ..Burst::default()
            };
            bursts.push(burst, &[instructions, ipc])?;
        }
    }
    Ok(bursts)
}

fn spaces(ranks: &Ranks) -> Outcome {
    for threads in [1, 3, 10] {
        let whole = bursts(0..threads)?;
        let own = bursts(ranks.block(threads))?;
        for quantile in [0.0, 0.01, 0.1, 0.49] {
            let scale = Scale::params()
                .dimension(Dimension::new("instructions").log(true))
                .dimension(Dimension::new("ipc").factor(2.0))
                .dimension(Dimension::new("duration").log(true))
                .quantile(quantile)
                .check()?;
            let axes = [
                Axis::new("instructions").log(true),
                Axis::new("ipc").factor(2.0),
                Axis::new("duration").log(true),
            ];
            let expected = scale.fit(&[&whole], &Job::default())?;
            let found = fit(ranks, &own, &axes, quantile)?;
            equal("the space", &found.transform, &expected.transform)?;
            let all = ranks.all_gather(&found.values)?.concat();
            equal(
                "points",
                &all.as_slice(),
                &expected.experiments[0].points()?.values(),
            )?;
        }
    }
    let none = fit(ranks, &bursts(0..1)?, &[], 0.01);
    equal("no axes", &none.is_err(), &true)?;
    let none = fit(ranks, &bursts(0..1)?, &[Axis::new("no such")], 0.01);
    equal("no such metric", &none.is_err(), &true)
}

fn refused(ranks: &Ranks) -> Outcome {
    let params = Dbscan::params().border(Border::PeerCompatible).check()?;
    let job = Job::default();
    let found = cluster(ranks, Points::new(&[0.5], 1)?, &params, &job);
    equal("an order", &found.is_err(), &true)?;
    // The parameters differ between ranks.
    let eps = 0.1 * (ranks.rank() + 1) as f64;
    let params = Dbscan::params().eps(eps).check()?;
    let found = cluster(ranks, Points::new(&[0.5], 1)?, &params, &job);
    equal("parameters", &found.is_err(), &(ranks.size() > 1))
}
