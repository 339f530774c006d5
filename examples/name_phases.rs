//! Finds the phases of a program and names them.

use perfkit::prelude::*;
use std::collections::BTreeMap;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let job = Job::default();
    let trace = open_trace("data/recordings/jacobi-16")?;
    let extract = Extract::params().metric("work").check()?;
    // The short bursts that take 1 % of the time in sum are dropped.
    let unfiltered = extract.unfiltered(trace.view(), &job)?;
    let min = unfiltered.cut(0.01)?.min;
    let (bursts, _) = unfiltered.above(min);
    let axis = |metric: &str| Dimension::new(metric).log(true);
    let space = Scale::params()
        .dimension(axis("duration"))
        .dimension(axis("work"))
        .check()?;
    let scaled = space.fit(&[&bursts], &job)?;
    let points = scaled.experiments[0].points()?;
    let search = EpsSearch::new(EpsSearch::params().min_points(4).check()?);
    let durations = bursts.durations();
    let rows = scaled.experiments[0].rows().iter();
    let time: Vec<f64> = rows.map(|row| durations[*row as usize]).collect();
    let choice = search.choose_weighted(points, &time, &job)?;
    let (clusters, sensitivity) = (choice.clusters, choice.sensitivity);
    println!(
        "radius {:.3}: {clusters} clusters, sensitivity {sensitivity:.2}",
        choice.eps
    );
    let dbscan = Dbscan::new(Dbscan::params().eps(choice.eps).min_points(4).check()?);
    let experiment =
        scaled.experiments[0].experiment("jacobi-16", bursts, &dbscan.cluster(points, &job)?)?;

    // Name a cluster by the pair of calls that most of its time lies between.
    let mut time: BTreeMap<u32, BTreeMap<String, i64>> = BTreeMap::new();
    for (burst, cluster) in experiment
        .bursts()
        .rows()
        .iter()
        .zip(experiment.labels().as_slice())
    {
        let call = |chain| experiment.bursts().chain(chain).next().unwrap_or("start");
        let (before, after) = (
            burst.before.map_or("start", call),
            burst.after.map_or("end", call),
        );
        let between = time
            .entry(cluster.0)
            .or_default()
            .entry(format!("{before} .. {after}"));
        *between.or_default() += burst.end.0 - burst.begin.0;
    }
    for (cluster, names) in time.iter().filter(|(cluster, _)| **cluster > 0).take(3) {
        let (name, most) = names.iter().max_by_key(|(_, time)| **time).ok_or("empty")?;
        println!("cluster {cluster}: {name}, {}", Nanos(*most));
    }
    Ok(())
}
