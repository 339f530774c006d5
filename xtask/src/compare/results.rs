//! Results of races on disk: a file a comparison, a line of JSON a race, so that a race that is run anew replaces
//! its line and nothing else.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use super::asked::Judged;
use super::race::{Measured, Race};
use crate::root;

/// Where lines are kept.
pub(crate) fn folder() -> PathBuf {
    root().join("docs/benchmarks")
}

fn file(comparison: &str) -> PathBuf {
    folder().join(comparison).with_extension("jsonl")
}

/// The lines of a comparison; none if it was never run.
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

/// When and on what.
pub(crate) struct Occasion<'a> {
    pub(crate) date: &'a str,
    pub(crate) machine: &'a str,
}

/// Puts a race among those of its comparison, in place of the one of its name.
pub(crate) fn keep(
    comparison: &str,
    race: &Race,
    measured: &Measured,
    occasion: &Occasion<'_>,
) -> Result<(), String> {
    let mut lines = read(comparison)?;
    let line = line(race, measured, occasion);
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

fn line(race: &Race, measured: &Measured, occasion: &Occasion<'_>) -> Value {
    let runners = measured.costs.iter().map(|cost| {
        let mut fields = Map::new();
        fields.insert("name".into(), json!(cost.name));
        if let Some(package) = &cost.missing {
            fields.insert("missing".into(), json!(package));
        }
        if let Some(figure) = &cost.figures {
            fields.insert("command".into(), json!(cost.command));
            fields.insert("least".into(), json!(figure.least));
            fields.insert("median".into(), json!(figure.median));
            fields.insert("cpu".into(), json!(figure.cpu));
            fields.insert("wall".into(), json!(figure.wall));
            fields.insert("mb".into(), json!(rounded(figure.megabytes)));
        }
        Value::Object(fields)
    });
    let runners: Vec<Value> = runners.collect();
    let asked = race.asked.iter().filter_map(|asked| asked.judge(measured));
    let asked: Vec<Value> = asked.map(|judged| of_judged(&judged)).collect();
    json!({
        "race": measured.title, "by": measured.by, "work": measured.work, "count": measured.count,
        "date": occasion.date, "machine": occasion.machine,
        "turns": measured.turns, "quiet": measured.quiet, "others": rounded(measured.others),
        "runners": runners, "asked": asked,
    })
}

fn of_judged(judged: &Judged) -> Value {
    let peer = judged.peer.as_ref();
    json!({
        "bar": judged.bar, "ours": judged.ours, "met": judged.met,
        "peer": peer.map(|(name, _)| name), "theirs": peer.map(|(_, figure)| figure),
        "ratio": judged.ratio.map(rounded),
    })
}

/// Three digits behind the point are more than anyone can measure.
fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}
