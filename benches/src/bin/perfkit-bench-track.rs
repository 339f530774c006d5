//! Tracks the clusters of recordings, from their files to tracked regions, and prints one line:
//! numbers of clusters and regions, then time and memory of the whole process.
//!
//! `perfkit-bench-track EPS TRACE...`: uses bursts of at least 1 ms in the space of IPC and
//! instructions, and clusters of at least 4 points within EPS.

use perfkit::core::{Job, Nanos};
use perfkit::formats::{OpenOptions, open};
use perfkit::track::cluster::{Clusterer, Dbscan};
use perfkit::track::tracking::{Observation, Tracking, regroup_by_position};
use perfkit::track::{
    Align, Bursts, ClusterId, Dimension, Experiment, Extract, Labels, Scale, ScaledExperiment,
};
use perfkit_benches::{Meter, Outcome};
use std::process::ExitCode;

fn main() -> ExitCode {
    perfkit_benches::main("usage: perfkit-bench-track EPS TRACE...", run)
}

fn run(words: &[String]) -> Outcome<String> {
    let meter = Meter::start();
    let (eps, files) = words.split_first().ok_or("a radius, please")?;
    let eps = eps.parse()?;
    let all = files.iter().map(|file| bursts(file));
    let all = all.collect::<Outcome<Vec<Bursts>>>()?;
    let scale = Scale::params().dimension(Dimension::new("ipc").log(false));
    let scale = scale.dimension(Dimension::new("instructions").log(true));
    let scaled = scale
        .check()?
        .fit(&all.iter().collect::<Vec<_>>(), &Job::default())?;
    let mut experiments = Vec::new();
    for ((file, bursts), scaled) in files.iter().zip(all).zip(&scaled.experiments) {
        experiments.push(experiment(file, bursts, scaled, eps)?);
    }
    let (align, job) = (Align::default(), Job::default());
    let mut seen = Vec::new();
    for (experiment, scaled) in experiments.iter().zip(&scaled.experiments) {
        let one = Observation::of(experiment, scaled.points()?, scaled.rows())?;
        seen.push(one.align(experiment.bursts(), scaled.rows(), &align, &job)?);
    }
    let parts = regroup_by_position(&seen)?;
    let split = seen.into_iter().zip(&parts);
    let split = split.map(|(one, parts)| one.with_labels(&parts.labels));
    let split = split.collect::<Result<Vec<_>, _>>()?;
    let tracking = Tracking::of(&split, &Default::default(), &job)?;
    let clusters: usize = tracking
        .experiments
        .iter()
        .map(|experiment| experiment.clusters)
        .sum();
    Ok(format!(
        "experiments={} clusters={clusters} regions={} {}",
        tracking.experiments.len(),
        tracking.regions.len(),
        meter.costs()
    ))
}

fn bursts(file: &str) -> Outcome<Bursts> {
    let trace = open(file, &OpenOptions::new(), &Job::default())?
        .into_trace()
        .ok_or("this is a profile, not a trace")?;
    let extract = Extract::params().min_duration(Nanos(1_000_000));
    let extract = extract.metric("ipc").metric("instructions").check()?;
    let (bursts, _) = extract.extract(trace.view(), &Job::default())?;
    Ok(bursts)
}

/// Returns the clusters of bursts, numbered by time.
fn experiment(
    name: &str,
    mut bursts: Bursts,
    scaled: &ScaledExperiment,
    eps: f64,
) -> Outcome<Experiment> {
    scaled.mark_left_out(&mut bursts)?;
    let dbscan = Dbscan::new(Dbscan::params().eps(eps).min_points(4).check()?);
    let labels = dbscan.cluster(scaled.points()?, &Job::default())?;
    let all = scaled.spread(labels.as_slice(), &bursts, ClusterId::NOISE)?;
    let labels = Labels::new(all).by_weight(&bursts.durations())?;
    Ok(Experiment::new(name.to_owned(), bursts, labels)?)
}
