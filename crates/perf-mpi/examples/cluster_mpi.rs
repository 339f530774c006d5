//! Clusters the CPU bursts of a recording on many ranks.
//!
//! `mpirun --oversubscribe -n 4 target/release/examples/cluster_mpi data/recordings/jacobi-16`
//!
//! Each rank reads its locations of the archive and extracts their bursts. It then clusters a slab
//! of the common space. The output is the same for any number of ranks; `--alone` computes it
//! without this crate.

mod common;

use common::Outcome;
use mpi::environment::Universe;
use perf_core::{Job, Nanos};
use perf_formats::OpenOptions;
use perf_formats::otf2::Reader;
use perf_mpi::{Axis, Ranks, cluster, durations_first, fit, read};
use perf_track::cluster::{Checked, Clusterer, Dbscan};
use perf_track::{Bursts, Dimension, Extract, Labels, Scale};
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "usage: cluster_mpi ARCHIVE [OPTIONS]

Clusters the CPU bursts of an OTF2 archive by their duration, and by metrics where options for.

  ARCHIVE           an OTF2 archive
  --metric FORMULA  one axis more, on a logarithmic scale
  --eps E           radius of a dense neighbourhood, default 0.02
  --min-points N    points of a dense neighbourhood, default 4
  --min-duration N  leaves shorter bursts out, in microseconds, default 20
  --alone           by one process, without perf-mpi";

fn main() -> ExitCode {
    common::main(USAGE, mpi::Threading::Single, run)
}

struct Options {
    archive: PathBuf,
    metrics: Vec<String>,
    extract: Extract,
    dbscan: Checked,
    alone: bool,
}

fn parse(mut parser: lexopt::Parser) -> Result<Options, Box<dyn std::error::Error>> {
    use lexopt::prelude::*;
    let (mut archive, mut alone) = (PathBuf::new(), false);
    let mut metrics = vec!["duration".to_string()];
    let (mut dbscan, mut shortest) = (Dbscan::params().eps(0.02).min_points(4), 20_i64);
    let mut extract = Extract::params();
    while let Some(arg) = parser.next()? {
        match arg {
            Long("metric") => {
                let metric = parser.value()?.string()?;
                extract = extract.metric(metric.clone());
                metrics.push(metric);
            }
            Long("eps") => dbscan = dbscan.eps(parser.value()?.parse()?),
            Long("min-points") => dbscan = dbscan.min_points(parser.value()?.parse()?),
            Long("min-duration") => shortest = parser.value()?.parse()?,
            Long("alone") => alone = true,
            Value(path) => archive = path.into(),
            other => return Err(other.unexpected().into()),
        }
    }
    let shortest = Nanos(shortest.saturating_mul(1000));
    Ok(Options {
        archive,
        metrics,
        extract: extract.min_duration(shortest).check()?,
        dbscan: dbscan.check()?,
        alone,
    })
}

/// Sums of one cluster: bursts, time, shortest and longest burst.
type Sum = (u64, u64, u64, u64);

/// Returns the sums of clusters, noise first.
fn sums(labels: &Labels, durations: &[f64], clusters: usize) -> Vec<Sum> {
    let mut sums = vec![(0, 0, u64::MAX, 0); clusters + 1];
    for (label, duration) in labels.as_slice().iter().zip(durations) {
        if let Some(sum) = sums.get_mut(label.0 as usize) {
            let duration = *duration as u64;
            *sum = (
                sum.0 + 1,
                sum.1 + duration,
                sum.2.min(duration),
                sum.3.max(duration),
            );
        }
    }
    sums
}

/// Returns the durations of the bursts that are points.
fn durations(bursts: &Bursts, rows: &[u32]) -> Vec<f64> {
    let all = bursts.durations();
    let of = |row: &u32| all.get(*row as usize).copied();
    rows.iter().filter_map(of).collect()
}

fn run(ranks: &Ranks, _: &mut Universe, parser: lexopt::Parser) -> Outcome {
    let options = parse(parser)?;
    let job = Job::default();
    if options.alone {
        let (trace, _) =
            Reader::open(&options.archive, &OpenOptions::new(), &Job::default())?.read()?;
        let (bursts, _) = options.extract.extract(trace.view(), &job)?;
        let mut scale = Scale::params();
        for metric in &options.metrics {
            scale = scale.dimension(Dimension::new(metric.clone()).log(true));
        }
        let scaled = scale.check()?.fit(&[&bursts], &Job::default())?;
        let experiment = scaled.experiments.first().ok_or("one experiment")?;
        let labels = Dbscan::new(options.dbscan.clone()).cluster(experiment.points()?, &job)?;
        let durations = durations(&bursts, experiment.rows());
        let labels = labels.by_weight(&durations)?;
        return text(&sums(&labels, &durations, labels.clusters()));
    }
    let part = read(
        ranks,
        &options.archive,
        &OpenOptions::new(),
        &Job::default(),
    )?;
    let found = options.extract.extract(part.view(), &job);
    let (bursts, _) = ranks.agree(found.map_err(Into::into))?;
    let axes = options.metrics.iter();
    let axes: Vec<Axis> = axes
        .map(|metric| Axis::new(metric.clone()).log(true))
        .collect();
    let space = fit(ranks, &bursts, &axes, 0.01)?;
    let found = cluster(ranks, space.points()?, &options.dbscan, &job)?;
    let durations = durations(&bursts, &space.rows);
    let found = durations_first(ranks, &found, &durations)?;
    let own = sums(&found.labels, &durations, found.clusters as usize);
    let mut all = vec![(0, 0, u64::MAX, 0); own.len()];
    for of_rank in ranks.all_gather(&own)? {
        for (all, one) in all.iter_mut().zip(of_rank) {
            *all = (
                all.0 + one.0,
                all.1 + one.1,
                all.2.min(one.2),
                all.3.max(one.3),
            );
        }
    }
    text(&all)
}

fn text(sums: &[Sum]) -> Outcome {
    let mut text = String::new();
    let (bursts, time) = sums
        .iter()
        .fold((0, 0), |all, sum| (all.0 + sum.0, all.1 + sum.1));
    let clusters = sums.len().saturating_sub(1);
    writeln!(text, "{bursts} bursts, {clusters} clusters\n")?;
    writeln!(text, "cluster  bursts  time %  shortest us  longest us")?;
    let numbered = sums.iter().enumerate();
    for (number, (count, sum, least, most)) in numbered.clone().skip(1).chain(numbered.take(1)) {
        let name = if number == 0 {
            "noise".into()
        } else {
            number.to_string()
        };
        let share = 100.0 * *sum as f64 / time.max(1) as f64;
        let micros = |nanos: u64| nanos as f64 / 1e3;
        if *count > 0 {
            let (least, most) = (micros(*least), micros(*most));
            writeln!(
                text,
                "{name:>7} {count:7} {share:7.1} {least:12.1} {most:11.1}"
            )?;
        }
    }
    Ok(text)
}
