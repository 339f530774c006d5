//! Tracks the phases of a program from 4 to 16 ranks.

use perfkit::prelude::*;
use perfkit::track::trend::{Measured, Trends};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let job = Job::default();
    let extract = Extract::params()
        .metric("work")
        .min_duration(Nanos(20_000))
        .check()?;
    let mut runs = Vec::new();
    for name in ["jacobi-4", "jacobi-9", "jacobi-16"] {
        let trace = open_trace(format!("data/recordings/{name}"))?;
        let (bursts, dropped) = extract.extract(trace.view(), &job)?;
        let (complete, found) = (dropped.complete.bursts, dropped.found.bursts);
        println!("{name}: {complete} of {found} bursts last 20 us or more");
        runs.push((name, bursts));
    }

    // One space for all runs: both axes logarithmic.
    let axis = |metric: &str| Dimension::new(metric).log(true);
    let space = Scale::params()
        .dimension(axis("duration"))
        .dimension(axis("work"))
        .check()?;
    let scaled = space.fit(
        &runs.iter().map(|(_, bursts)| bursts).collect::<Vec<_>>(),
        &job,
    )?;
    let dbscan = Dbscan::new(Dbscan::params().eps(0.04).min_points(4).check()?);
    let (mut seen, mut measured) = (Vec::new(), Vec::new());
    for ((name, bursts), points) in runs.into_iter().zip(&scaled.experiments) {
        let labels = dbscan.cluster(points.points()?, &job)?;
        let experiment = points.experiment(name, bursts, &labels)?;
        seen.push(Observation::of(
            &experiment,
            points.points()?,
            points.rows(),
        )?);
        measured.push(Measured::of_experiment(&experiment)?);
    }

    let tracking = Tracking::of(&seen, &Default::default(), &job)?;
    let trends = Trends::of(&tracking, measured)?;
    for region in tracking
        .regions
        .iter()
        .filter(|region| region.experiments() == 3)
    {
        if let Some(model) = trends.fit(region.id, "work", 0.95, &job)? {
            println!(
                "phase {}: work of a rank goes as ranks^{:.2}",
                region.id.0,
                model.exponent(0)
            );
        }
    }
    Ok(())
}
