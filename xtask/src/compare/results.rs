//! Stored results of races: one file of JSON lines for each comparison, in which a new result
//! replaces the line of its race.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;

use super::race::{Measured, Race};
use crate::root;

/// Returns the folder of stored results.
pub(crate) fn folder() -> PathBuf {
    root().join("docs/benchmarks")
}

fn file(comparison: &str) -> PathBuf {
    folder().join(comparison).with_extension("jsonl")
}

/// Returns the lines of a comparison; empty if the comparison was never run.
pub(crate) fn read(comparison: &str) -> Result<Vec<Value>, String> {
    let path = file(comparison);
    let Ok(text) = std::fs::read_to_string(&path) else {
        return Ok(Vec::new());
    };
    let lines = text.lines().enumerate().map(|(at, line)| {
        serde_json::from_str(line)
            .map_err(|error| format!("{}:{}: {error}", path.display(), at + 1))
    });
    lines.collect()
}

/// Date and machine of a measurement.
pub(crate) struct Occasion<'a> {
    pub(crate) date: &'a str,
    pub(crate) machine: &'a str,
}

/// Stores the result of a race, in place of an earlier result with the same title.
pub(crate) fn keep(
    comparison: &str,
    race: &Race,
    measured: &Measured,
    occasion: &Occasion<'_>,
) -> Result<(), String> {
    let mut lines = read(comparison)?;
    let line = line(race, measured, occasion)?;
    match lines.iter_mut().find(|known| known["race"] == line["race"]) {
        Some(known) => *known = line,
        None => lines.push(line),
    }
    let mut text = String::new();
    for line in &lines {
        text += &line.to_string();
        text.push('\n');
    }
    let path = file(comparison);
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    std::fs::create_dir_all(folder()).map_err(failed)?;
    std::fs::write(&path, text).map_err(failed)
}

/// Result of a race in its stored form.
#[derive(Serialize)]
struct Line<'a> {
    race: &'a str,
    by: &'a str,
    work: &'a str,
    count: Option<f64>,
    date: &'a str,
    machine: &'a str,
    turns: usize,
    quiet: usize,
    others: f64,
    runners: Vec<Runner<'a>>,
    asked: Vec<Bar>,
}

#[derive(Serialize)]
struct Runner<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<&'a str>,
    #[serde(flatten)]
    costs: Option<Costs<'a>>,
}

#[derive(Serialize)]
struct Costs<'a> {
    command: &'a str,
    least: f64,
    median: f64,
    cpu: f64,
    wall: f64,
    mb: f64,
}

#[derive(Serialize)]
struct Bar {
    bar: String,
    ours: String,
    met: bool,
    peer: Option<String>,
    theirs: Option<String>,
    ratio: Option<f64>,
}

fn line(race: &Race, measured: &Measured, occasion: &Occasion<'_>) -> Result<Value, String> {
    let runners = measured.costs.iter().map(|cost| Runner {
        name: &cost.name,
        missing: cost.missing.as_deref(),
        costs: cost.figures.map(|figure| Costs {
            command: &cost.command,
            least: figure.least,
            median: figure.median,
            cpu: figure.cpu,
            wall: figure.wall,
            mb: rounded(figure.megabytes),
        }),
    });
    let asked = race.asked.iter().filter_map(|asked| asked.judge(measured));
    let asked = asked.map(|judged| {
        let (peer, theirs) = judged.peer.unzip();
        Bar {
            bar: judged.bar,
            ours: judged.ours,
            met: judged.met,
            peer,
            theirs,
            ratio: judged.ratio.map(rounded),
        }
    });
    let line = Line {
        race: &measured.title,
        by: &measured.by,
        work: &measured.work,
        count: measured.count,
        date: occasion.date,
        machine: occasion.machine,
        turns: measured.turns,
        quiet: measured.quiet,
        others: rounded(measured.others),
        runners: runners.collect(),
        asked: asked.collect(),
    };
    serde_json::to_value(&line).map_err(|error| error.to_string())
}

/// Rounds to three decimal places, which is more than the precision of the measurements.
fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}
