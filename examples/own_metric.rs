//! Correlates call paths with a metric of your own.

use perfkit::core::{CallPathId, Metric, ProfileMetric, Severities};
use perfkit::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let job = Job::default();
    let trace = open_trace("data/recordings/jacobi-16")?;
    let (profile, _) = Profile::from_trace(trace.view(), &job)?;
    // Particles of each rank, from a log of the program: many on four of them.
    let particles = (0..16).map(|rank| {
        if [5, 6, 9, 10].contains(&rank) {
            9e6
        } else {
            1e6
        }
    });
    let row = Severities::F64(particles.collect());
    let metric = Metric {
        name: "particles".into(),
        unit: "#".into(),
        ..Metric::default()
    };
    let metric = ProfileMetric {
        metric,
        ..ProfileMetric::default()
    };
    let (profile, own) = profile.with_metric(metric, [(CallPathId(0), row)])?;

    let time = profile.metric("exclusive time").ok_or("no times")?;
    let rows = stored_rows(&profile, &[own, time]);
    let grid = Topology::by_order(Shape::of(&[4, 4])?, AxisOrder::LastFastest, 16);
    let mut builder = Spectra::<f64>::builder(&[4, 4])?;
    builder.add_rows(&profile, &grid, &rows, Missing::Refuse, &job)?;
    let params = RankParams::default().top(3).check()?;
    let list = builder
        .finish()
        .rank(0, &AxisFilter::all(2), &params, &job)?;
    for found in &list.matches {
        let path = profile.calls().name(rows[found.view].1, profile.regions());
        println!("{:+.2} {path}", found.r());
    }
    Ok(())
}
