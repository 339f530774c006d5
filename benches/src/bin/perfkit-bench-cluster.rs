//! Generates points, or clusters them by DBSCAN, linfa or HDBSCAN, and prints one line: numbers of
//! clusters and noise points, then time and memory.
//!
//! `cargo xtask compare cluster` runs it together with other libraries; `data/peers/README.md`
//! describes the line.

use perfkit::core::Job;
use perfkit::track::cluster::linfa::LinfaDbscan;
use perfkit::track::cluster::{Clusterer, Dbscan, EpsSearch, Hdbscan};
use perfkit::track::{Labels, Points};
use perfkit_benches::Meter;
use std::io::{BufReader, BufWriter, Read, Write};
use std::process::ExitCode;
use std::str::FromStr;

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

const USAGE: &str = "usage: perfkit-bench-cluster generate FILE [--points N]
       perfkit-bench-cluster dbscan FILE [--eps E] [--min-points M] [--threads T]
       perfkit-bench-cluster linfa FILE [--eps E] [--min-points M]
       perfkit-bench-cluster hdbscan FILE [--min-points M] [--min-size S] [--threads T]
       perfkit-bench-cluster eps FILE [--min-points M] [--threads T]

generate  writes phases of N points as x, y pairs of little-endian f64
dbscan    finds clusters of a radius
linfa     does so with the DBSCAN of that library
hdbscan   finds clusters without one
eps       finds a radius";

fn main() -> ExitCode {
    perfkit_benches::main(USAGE, run)
}

/// Returns the number after an option.
fn option<T: FromStr>(words: &[String], name: &str, otherwise: T) -> Outcome<T>
where
    T::Err: std::error::Error + Send + Sync + 'static,
{
    let at = words.iter().position(|word| word == name);
    let word = at.and_then(|at| words.get(at + 1));
    word.map_or(Ok(otherwise), |word| Ok(word.parse()?))
}

fn run(args: &[String]) -> Outcome<String> {
    let [task, file, rest @ ..] = args else {
        return Err("a task and a file, please".into());
    };
    if task == "generate" {
        let points = option(rest, "--points", 100_000)?;
        generate(file, points)?;
        return Ok(format!("points={points}"));
    }
    let values = read(file)?;
    let points = Points::new(&values, 2)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(option(rest, "--threads", 1)?);
    pool.build()?.install(|| one(task, points, rest))
}

/// Runs one task.
fn one(task: &str, points: Points<'_>, rest: &[String]) -> Outcome<String> {
    let eps = option(rest, "--eps", 0.01)?;
    let least = option(rest, "--min-points", 10)?;
    match task {
        "linfa" => measure(&LinfaDbscan::new(eps, least)?, points),
        "hdbscan" => {
            let size = option(rest, "--min-size", 100)?;
            let params = Hdbscan::params().min_points(least).min_cluster_size(size);
            measure(&Hdbscan::new(params.check()?), points)
        }
        "eps" => {
            let search = EpsSearch::new(EpsSearch::params().min_points(least).check()?);
            let meter = Meter::start();
            let choice = search.choose(points, &Job::default())?;
            let costs = meter.costs();
            Ok(format!(
                "clusters={} eps={} {costs}",
                choice.clusters, choice.eps
            ))
        }
        "dbscan" => {
            let params = Dbscan::params().eps(eps).min_points(least).check()?;
            measure(&Dbscan::new(params), points)
        }
        other => Err(format!("{other} is no task").into()),
    }
}

fn measure(clusterer: &dyn Clusterer, points: Points<'_>) -> Outcome<String> {
    let meter = Meter::start();
    let labels = clusterer.cluster(points, &Job::default())?;
    let costs = meter.costs();
    Ok(format!("{} {costs}", answers(&labels)))
}

fn answers(labels: &Labels) -> String {
    let (points, clusters, noise) = (labels.len(), labels.clusters(), labels.noise());
    format!("points={points} clusters={clusters} noise={noise}")
}

fn generate(file: &str, points: usize) -> Outcome<()> {
    let mut out = BufWriter::new(std::fs::File::create(file)?);
    for value in perf_testdata::clusters::phases(points, 1).values {
        out.write_all(&value.to_le_bytes())?;
    }
    Ok(out.flush()?)
}

fn read(file: &str) -> Outcome<Vec<f64>> {
    let file = std::fs::File::open(file)?;
    let count = usize::try_from(file.metadata()?.len())? / 8;
    let (mut input, mut word) = (BufReader::new(file), [0; 8]);
    let mut values = Vec::with_capacity(count);
    for _ in 0..count {
        input.read_exact(&mut word)?;
        values.push(f64::from_le_bytes(word));
    }
    Ok(values)
}
