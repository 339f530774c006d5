//! Work for the cancellation bench: clustering of points, search for a radius, alignment of
//! sequences, and tracking.

use crate::Make;
use perf_testdata::clusters;
use perfkit::core::Nanos;
use perfkit::track::cluster::{Dbscan, EpsSearch, Hdbscan, Index, Refinement, k_distances};
use perfkit::track::tracking::{Observation, Tracking};
use perfkit::track::{Align, Burst, Bursts, ClusterId, Points, Sequences, SpmdScorer, Thread};
use perfkit_benches::inputs;
use std::error::Error;

pub(crate) const ALL: &[(&str, Make)] = &[
    ("dbscan", || dbscan(2_000_000, 0.01, Index::default())),
    ("dbscan, cells of few points", || {
        dbscan(1_000_000, 0.0004, Index::default())
    }),
    ("dbscan, tree", || dbscan(200_000, 0.01, Index::Tree)),
    ("hdbscan", || {
        let values = clusters::phases(150_000, 5).values;
        Ok(Box::new(move |job| {
            let scan = Hdbscan::default();
            scan.scan(Points::new(&values, 2)?, job)?;
            Ok(())
        }))
    }),
    ("k-distances", || {
        let values = clusters::phases(1_000_000, 5).values;
        Ok(Box::new(move |job| {
            k_distances(Points::new(&values, 2)?, 10, job)?;
            Ok(())
        }))
    }),
    ("eps", || {
        let values = clusters::phases(300_000, 5).values;
        Ok(Box::new(move |job| {
            let search = EpsSearch::default();
            search.choose(Points::new(&values, 2)?, job)?;
            Ok(())
        }))
    }),
    ("refinement", || {
        let planted = Planted::new(10_000)?;
        Ok(Box::new(move |job| {
            let refinement = Refinement::default();
            let align = Align::default();
            let scorer = SpmdScorer::new(&planted.bursts, &planted.rows, align);
            let weights = planted.bursts.durations();
            refinement.run(planted.points()?, &weights, &scorer, job)?;
            Ok(())
        }))
    }),
    ("alignment, few changes", || align(256, 4_000, 10)),
    ("alignment, many changes", || align(48, 4_000, 300)),
    ("tracking", || {
        let planted = Planted::new(200_000)?;
        Ok(Box::new(move |job| {
            let times = planted.bursts.durations();
            let experiment = |name: &str| {
                let points = planted.points()?;
                Observation::new(name, 16, points, &planted.labels, &times)
            };
            let experiments = [experiment("a")?, experiment("b")?, experiment("c")?];
            let params = Tracking::params().check()?;
            Tracking::of(&experiments, &params, job)?;
            Ok(())
        }))
    }),
];

fn dbscan(points: usize, eps: f64, index: Index) -> Result<crate::Work, Box<dyn Error>> {
    let values = clusters::phases(points, 5).values;
    Ok(Box::new(move |job| {
        let params = Dbscan::params().eps(eps).min_points(10).index(index);
        let scan = Dbscan::new(params.check()?);
        scan.scan(Points::new(&values, 2)?, job)?;
        Ok(())
    }))
}

fn align(threads: usize, length: usize, edits: usize) -> Result<crate::Work, Box<dyn Error>> {
    let (sequences, shares): (Sequences, Vec<f64>) = inputs::sequences(threads, length, edits);
    Ok(Box::new(move |job| {
        let align = Align::default();
        align.align(&sequences, &shares, job)?;
        Ok(())
    }))
}

/// Points of twelve phases that 16 threads execute one after the other.
struct Planted {
    values: Vec<f64>,
    bursts: Bursts,
    rows: Vec<u32>,
    labels: Vec<ClusterId>,
}

impl Planted {
    fn new(points: usize) -> Result<Self, Box<dyn Error>> {
        let phases = clusters::phases(points, 5);
        let mut bursts = Bursts::new(["x"]);
        for process in 0..clusters::THREADS {
            bursts.add_thread(Thread {
                process,
                ..Thread::default()
            })?;
        }
        for (thread, begin, end) in phases.bursts() {
            let burst = Burst {
                thread,
                begin: Nanos(begin),
                end: Nanos(end),
                ..Burst::default()
            };
            bursts.push(burst, &[1.0])?;
        }
        let labels = phases.truth.iter().map(|phase| ClusterId(*phase));
        Ok(Planted {
            labels: labels.collect(),
            rows: (0..points as u32).collect(),
            values: phases.values,
            bursts,
        })
    }

    fn points(&self) -> perfkit::track::Result<Points<'_>> {
        Points::new(&self.values, 2)
    }
}
