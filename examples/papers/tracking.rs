//! Compares with the tables of Llort et al., "On the usefulness of object tracking techniques in
//! performance analysis": WRF on 128 and 256 tasks, the number of phases that each evaluator
//! recognises, and two real series.
//!
//! `cargo run --release --example tracking -- --png tracking.png`

#[path = "comparison.rs"]
mod comparison;
#[path = "tracking/planted.rs"]
mod planted;
#[path = "tracking/series.rs"]
mod series;
#[path = "tracking/wrf.rs"]
mod wrf;

use comparison::Options;
use perfkit::track::tracking::{Callers, Observation};
use perfkit::track::{ClusterId, Points, Result as Tracked};
use perfkit_cli::failure::{self, Outcome, input};
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

const WHAT: &str =
    "Redoes the tables of the paper on object tracking: WRF on 128 and 256 tasks, a planted series
by evaluator, and real series of recordings.";

fn main() -> ExitCode {
    failure::main(command(), run)
}

fn command() -> clap::Command {
    comparison::command("tracking", WHAT)
}

/// Runs the experiment with these arguments and writes its tables.
pub(crate) fn run(args: &[OsString], out: &mut dyn Write) -> Outcome {
    let options = Options::parse(command(), args)?;
    let solver = series::solver()?;
    let mut tables = vec![
        Some(wrf::wrf().map_err(input)?),
        Some(planted::planted(options.times).map_err(input)?),
        Some(series::scaling(&solver)?),
        series::epoch(&options)?,
    ];
    let skipped = tables[3].is_none().then(|| "corpus absent".to_string());
    if tables[3].is_none() {
        tables.pop();
    }
    series::draw(&options.files, &solver)?;
    comparison::write(&tables, skipped.as_slice(), options.json, out)
}

/// Bursts of an experiment.
#[derive(Clone, Default)]
struct Bursts {
    /// Coordinates of the bursts.
    points: Vec<f64>,
    labels: Vec<ClusterId>,
    /// Callers of the bursts: names, and the index of each burst's caller.
    callers: Option<(Vec<&'static str>, Vec<Option<u32>>)>,
}

impl Bursts {
    /// Adds bursts at a position of an 8 x 8 grid, slightly apart from each other.
    fn at(&mut self, site: usize, count: usize, cluster: u32) {
        let (x, y) = ((site % 8) as f64 / 8.0, (site / 8) as f64 / 8.0);
        for k in 0..count {
            self.points
                .extend([x + (k % 100) as f64 * 1e-5, y + (k / 100) as f64 * 1e-5]);
            self.labels.push(ClusterId(cluster));
        }
    }

    /// Returns the bursts scaled to 0 to 1 along each axis.
    fn stretched(&self) -> Self {
        let along = |axis: usize| self.points.iter().skip(axis).step_by(2).copied();
        let ends = [0, 1].map(|axis| {
            (
                along(axis).fold(f64::MAX, f64::min),
                along(axis).fold(f64::MIN, f64::max),
            )
        });
        let points = self.points.iter().zip(ends.iter().cycle());
        Bursts {
            points: points
                .map(|(value, (low, high))| (value - low) / (high - low))
                .collect(),
            ..self.clone()
        }
    }

    fn seen(&self, tasks: u32) -> Tracked<Observation<'_>> {
        let (points, time) = (Points::new(&self.points, 2)?, vec![1.0; self.labels.len()]);
        let seen = Observation::new(format!("{tasks} tasks"), tasks, points, &self.labels, &time)?;
        match &self.callers {
            Some((names, of)) => {
                seen.with_callers(Some(Callers::new(names.iter().copied(), of.clone())?), None)
            }
            None => Ok(seen),
        }
    }
}
