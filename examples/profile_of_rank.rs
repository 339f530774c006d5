//! Prints the profile of one rank as a table.

use perfkit::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let trace = open_trace("data/recordings/jacobi-16")?;
    let (profile, _) = Profile::from_trace(trace.view(), &Job::default())?;
    let rank = LocationId(5);
    let metric = |name: &str| profile.metric(name).ok_or("profiles of traces have it");
    let (time, visits) = (metric("exclusive time")?, metric("visits")?);
    let mut table = Vec::new();
    for path in profile.paths(time) {
        let at = |metric| -> Result<f64, perfkit::core::Error> {
            // A row that is not stored is a row of zeros.
            let value = profile.row(metric, path)?.and_then(|row| row.get(rank));
            Ok(value.map_or(0.0, |value| value.as_f64()))
        };
        let name = profile.calls().name(path, profile.regions());
        table.push((at(time)?, at(visits)?, name));
    }
    table.sort_by(|a, b| b.0.total_cmp(&a.0));
    println!("{}", profile.system().label(rank));
    for (spent, count, path) in table.iter().take(4) {
        println!(
            "{:>12} {count:>6}  {path}",
            Nanos(*spent as i64).to_string()
        );
    }
    Ok(())
}
