//! Compares the clusters of CPU bursts of two runs.

use perfkit::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let job = Job::default();
    let extract = Extract::params()
        .metric("work")
        .min_duration(Nanos(20_000))
        .check()?;
    let names = ["jacobi-9", "jacobi-16"];
    let mut runs = Vec::new();
    for name in names {
        let trace = open_trace(format!("data/recordings/{name}"))?;
        runs.push(extract.extract(trace.view(), &job)?.0);
    }

    // One space for both runs, so that a radius means the same in both.
    let axis = |metric: &str| Dimension::new(metric).log(true);
    let space = Scale::params()
        .dimension(axis("duration"))
        .dimension(axis("work"))
        .check()?;
    let scaled = space.fit(&runs.iter().collect::<Vec<_>>(), &job)?;
    let dbscan = Dbscan::new(Dbscan::params().eps(0.04).min_points(4).check()?);
    let mut seen = Vec::new();
    for ((name, bursts), points) in names.into_iter().zip(runs).zip(&scaled.experiments) {
        let labels = dbscan.cluster(points.points()?, &job)?;
        let experiment = points.experiment(name, bursts, &labels)?;
        seen.push(Observation::of(
            &experiment,
            points.points()?,
            points.rows(),
        )?);
    }

    let tracking = Tracking::of(&seen, &Default::default(), &job)?;
    for phase in &tracking.regions {
        let clusters = |run: usize| {
            let numbers: Vec<String> = phase.members[run]
                .iter()
                .map(|id| id.0.to_string())
                .collect();
            if numbers.is_empty() {
                "none".to_owned()
            } else {
                numbers.join(" and ")
            }
        };
        let (id, sure) = (phase.id, 100.0 * phase.confidence);
        println!(
            "phase {id}: {} -> {}, confidence {sure:.0} %",
            clusters(0),
            clusters(1)
        );
    }
    Ok(())
}
