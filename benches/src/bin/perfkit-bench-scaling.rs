//! Runs one analysis of one size and prints its cost; or, by module `scaling`, runs analyses of
//! increasing size in processes of their own and writes their costs as a page.
//!
//! `cargo xtask scaling` builds and runs it.

use perfkit::core::{Event, Events, Job, Profile, RegionId, Ticks, Trace};
use perfkit::fold::{Folder, GroupBy, Groups, RegionMap, Timelines};
use perfkit::spectral::{AxisFilter, Spectra};
use perfkit::track::cluster::{Clusterer, Dbscan};
use perfkit::track::tracking::{Observation, Tracking};
use perfkit::track::{ClusterId, Points};
use perfkit_benches::{Meter, Outcome, inputs};
use std::process::ExitCode;

#[path = "scaling/mod.rs"]
mod scaling;

const USAGE: &str = "usage: perfkit-bench-scaling --machine TEXT --date DATE --docs FOLDER [--only NAME]... [--draw] [--repeats N]
       perfkit-bench-scaling one nothing
       perfkit-bench-scaling one profile|fold LOCATIONS EVENTS
       perfkit-bench-scaling one correlate POINTS VIEWS
       perfkit-bench-scaling one dbscan POINTS
       perfkit-bench-scaling one track EXPERIMENTS CLUSTERS BURSTS";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let done = match args.as_slice() {
        [one, what, numbers @ ..] if one == "one" => {
            self::one(what, numbers).map(|line| println!("{line}"))
        }
        _ => scaling::run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}\n\n{USAGE}");
            ExitCode::FAILURE
        }
    }
}

/// Runs one analysis of one size and returns its cost without the generation of its input.
fn one(what: &str, numbers: &[String]) -> Outcome<String> {
    let numbers: Vec<usize> = numbers
        .iter()
        .map(|word| word.parse())
        .collect::<Result<_, _>>()?;
    match (what, numbers.as_slice()) {
        ("nothing", []) => Ok(Meter::start().costs()),
        ("profile", [locations, events]) => profile(u32::try_from(*locations)?, *events),
        ("fold", [locations, events]) => fold(u32::try_from(*locations)?, *events),
        ("correlate", [points, views]) => correlate(*points, *views),
        ("dbscan", [points]) => dbscan(*points),
        ("track", [experiments, clusters, bursts]) => track(*experiments, *clusters, *bursts),
        _ => Err("no such analysis".into()),
    }
}

/// Returns a trace with the same twenty call paths on all locations, similar to real programs:
/// phases that call four functions.
fn phases(locations: u32, events: usize) -> Outcome<Trace> {
    let location = |rank: u32| {
        let mut found = Events::default();
        let mut now = 1_000 + u64::from(rank % 97);
        let mut tell = |event: Event<'static>| {
            now += 500;
            found.push(Ticks(now), event)
        };
        for phase in 0..events / 10 {
            let outer = RegionId(phase as u32 % 4);
            tell(Event::Enter { region: outer })?;
            for inner in 4..8 {
                let region = RegionId(inner);
                tell(Event::Enter { region })?;
                tell(Event::Leave { region })?;
            }
            tell(Event::Leave { region: outer })?;
        }
        Ok::<Events, perfkit::core::Error>(found)
    };
    let all: Vec<Events> = (0..locations).map(location).collect::<Result<_, _>>()?;
    Ok(Trace::new(
        perf_testdata::many_ranks::definitions(locations),
        all,
    )?)
}

fn profile(locations: u32, events: usize) -> Outcome<String> {
    let trace = phases(locations, events)?;
    let meter = Meter::start();
    let (profile, _) = Profile::from_trace(trace.view(), &Job::default())?;
    let costs = meter.costs();
    Ok(format!("paths={} {costs}", profile.calls().paths().len()))
}

/// Folds all locations into one row of 1,920 columns.
fn fold(locations: u32, events: usize) -> Outcome<String> {
    let trace = inputs::trace(locations, events);
    let meter = Meter::start();
    let map = RegionMap::by_name(trace.definitions())?;
    let timelines = Timelines::new(trace.view(), &map, &Job::default())?;
    let groups = Groups::by(&timelines, GroupBy::All);
    let folder = Folder::new(&timelines, groups, Folder::params().columns(1_920).check()?)?;
    let fold = folder.fold(timelines.range(), &Job::default())?;
    let costs = meter.costs();
    Ok(format!("cells={} {costs}", fold.cells().len()))
}

/// Correlates one view with all others: product, inverse transform, extremes. The points are a
/// power of two on three axes.
fn correlate(points: usize, views: usize) -> Outcome<String> {
    let bits = points.checked_ilog2().ok_or("no points")?;
    let axis = |at: u32| 1_usize << ((bits + at) / 3);
    let dims = [axis(0), axis(1), axis(2)];
    let mut builder = Spectra::<f64>::builder(&dims)?;
    for number in 0..views as u64 {
        builder.extend(&[inputs::synthetic(&dims, number)], &Job::default())?;
    }
    let spectra = builder.finish();
    let reference = spectra.reference(0, &AxisFilter::all(3), &Job::default())?;
    let reference = reference.ok_or("the reference does not vary")?;
    let meter = Meter::start();
    let mut best = 0.0_f64;
    for at in 1..views {
        best = best.max(
            spectra
                .correlate(&reference, at, &Job::default())?
                .best()
                .r
                .abs(),
        );
    }
    let costs = meter.costs();
    Ok(format!("best={best:.3} {costs}"))
}

/// Clusters points. The radius shrinks with the number of points, so that each point keeps the same
/// number of neighbours.
fn dbscan(points: usize) -> Outcome<String> {
    let phases = perf_testdata::clusters::phases(points, 1);
    let eps = 0.002 * (100_000.0 / points as f64).sqrt();
    let points = Points::new(&phases.values, 2)?;
    let dbscan = Dbscan::new(Dbscan::params().eps(eps).min_points(10).check()?);
    let meter = Meter::start();
    let labels = dbscan.cluster(points, &Job::default())?;
    let costs = meter.costs();
    Ok(format!("clusters={} {costs}", labels.clusters()))
}

/// Tracks clusters on a grid that move a little from experiment to experiment.
fn track(experiments: usize, clusters: usize, bursts: usize) -> Outcome<String> {
    let side = (clusters as f64).sqrt().ceil();
    let mut random = perf_testdata::xorshift::Xorshift::new(1);
    let mut series = Vec::new();
    for experiment in 0..experiments {
        let (mut points, mut labels, mut time) = (Vec::new(), Vec::new(), Vec::new());
        let drift = 0.01 * experiment as f64;
        for cluster in 0..clusters {
            let (x, y) = (cluster as f64 % side, (cluster as f64 / side).floor());
            for _ in 0..bursts {
                let mut unit = || perf_testdata::clusters::unit(&mut random);
                points.extend([x + drift + 0.4 * unit(), y - drift + 0.4 * unit()]);
                labels.push(ClusterId(u32::try_from(cluster + 1)?));
                time.push(1e6 * (1.0 + cluster as f64) * (0.9 + 0.2 * unit()));
            }
        }
        series.push((points, labels, time));
    }
    let params = Tracking::params().check()?;
    let meter = Meter::start();
    let mut seen = Vec::new();
    for (points, labels, time) in &series {
        let points = Points::new(points, 2)?;
        seen.push(Observation::new("", 16, points, labels, time)?);
    }
    let tracking = Tracking::of(&seen, &params, &Job::default())?;
    let costs = meter.costs();
    Ok(format!("regions={} {costs}", tracking.regions.len()))
}
