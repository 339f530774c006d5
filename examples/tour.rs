//! The main job on the bundled recordings: what is in them, their folded timelines, and what each
//! analysis finds.
//!
//! `cargo run --release --example tour`

use perfkit_examples::cli::{self, Failure, Outcome, input};
use perfkit_examples::recording;
use perfkit_examples::summary::Summary;
use report::Report;
use serde_json::json;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[allow(dead_code, reason = "its `main` is for itself")]
#[path = "correlate.rs"]
pub(crate) mod correlate;
#[allow(dead_code, reason = "its `main` is for itself")]
#[path = "detect.rs"]
pub(crate) mod detect;
#[path = "tour/report.rs"]
mod report;
#[allow(dead_code, reason = "its `main` is for itself")]
#[path = "track.rs"]
pub(crate) mod track;
#[allow(dead_code, reason = "its `main` is for itself")]
#[path = "utilisation.rs"]
pub(crate) mod utilisation;

const USAGE: &str = "usage: tour [--out FOLDER] [--json]

Opens the bundled recordings, prints what is in them and what each analysis finds, and writes a report
of it: one page with all views, and a picture of each.

  --out FOLDER   where they go, default target/tour
  --json         one JSON object instead of text";

/// Name, and the title of its picture if it has one.
const RECORDINGS: [(&str, Option<&str>); 5] = [
    (
        "nwchem-md-4",
        Some("NWChem, molecular dynamics of water on 4 ranks"),
    ),
    ("jacobi-4", None),
    ("jacobi-9", None),
    (
        "jacobi-16",
        Some("Jacobi on 16 ranks with a growing imbalance under a cloud"),
    ),
    ("jacobi-64", None),
];

fn main() -> ExitCode {
    cli::main(USAGE, run)
}

/// The work: arguments in, text out.
pub(crate) fn run(args: &[OsString], out: &mut dyn Write) -> Outcome {
    use lexopt::prelude::*;
    let (mut folder, mut as_json) = (None, false);
    let mut parser = lexopt::Parser::from_args(args);
    while let Some(arg) = parser.next()? {
        match arg {
            Long("out") => folder = Some(PathBuf::from(parser.value()?)),
            Long("json") => as_json = true,
            Short('h') | Long("help") => return Err(Failure::Help),
            other => return Err(other.unexpected().into()),
        }
    }
    // Written in full, read from the folder of the workspace.
    let shown = folder
        .clone()
        .unwrap_or_else(|| PathBuf::from("target/tour"));
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = folder.unwrap_or_else(|| workspace.join("target/tour"));
    let failed = |error| Failure::Input(format!("{}: {error}", folder.display()));
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let mut all = Vec::new();
    let mut report = Report::default();
    for (name, title) in RECORDINGS {
        let recording = recording::open(&recording::bundled(name))?;
        let summary = Summary::of(&recording)?;
        let picture = format!("{name}.png");
        report.recording(name, &recording, &summary, title, &folder.join(&picture))?;
        let picture = title.map(|_| shown.join(picture).display().to_string());
        if as_json {
            let summary = summary.json(5);
            all.push(json!({ "name": name, "summary": summary, "picture": picture }));
            continue;
        }
        writeln!(out, "{name}")?;
        summary.text(5, out)?;
        if let Some(picture) = picture {
            writeln!(out, "  picture     {picture}")?;
        }
        writeln!(out)?;
    }
    report.rest(&folder)?;
    report.write(&folder.join("index.html"))?;
    let page = shown.join("index.html").display().to_string();
    if as_json {
        let correlations = [
            hidden(&["--json"])?,
            hidden(&["--json", "--axes", "1,0,0"])?,
        ];
        let parsed = correlations.iter().map(|text| serde_json::from_str(text));
        let parsed: Result<Vec<serde_json::Value>, _> = parsed.collect();
        let correlations = parsed.map_err(input)?;
        let text = tracked(&["--json".into()])?;
        let tracking: serde_json::Value = serde_json::from_str(&text).map_err(input)?;
        let text = detected(&["--json"])?;
        let detection: serde_json::Value = serde_json::from_str(&text).map_err(input)?;
        let text = devices(&["--json"])?;
        let devices: serde_json::Value = serde_json::from_str(&text).map_err(input)?;
        let all = json!({
            "recordings": all, "correlations": correlations, "tracking": tracking,
            "detection": detection, "devices": devices, "report": page,
        });
        writeln!(out, "{all}")?;
        return Ok(());
    }
    writeln!(
        out,
        "Which phases of jacobi-64 vary over its 4 x 4 x 4 ranks as radiation does?"
    )?;
    writeln!(
        out,
        "All of the variation: the known imbalance under the cloud hides the rest."
    )?;
    writeln!(out, "{}", hidden(&[])?)?;
    writeln!(
        out,
        "Along the first axis alone, without that imbalance: surface appears."
    )?;
    writeln!(out, "{}", hidden(&["--axes", "1,0,0"])?)?;
    writeln!(
        out,
        "How do the phases of jacobi change from 4 to 9 to 16 ranks? Bursts of at least 20 us."
    )?;
    write!(out, "{}", tracked(&[])?)?;
    writeln!(out, "  picture     {}", shown.join("track.png").display())?;
    writeln!(out)?;
    writeln!(out, "Which calls of nwchem-md-4 are abnormal?")?;
    write!(out, "{}", detected(&["--top", "3"])?)?;
    writeln!(out)?;
    writeln!(
        out,
        "How busy are six GPUs of 14 streams each, for which 15, 30, 45, 60, 75 and 90 % are planted?"
    )?;
    write!(out, "{}", devices(&[])?)?;
    writeln!(out)?;
    writeln!(out, "All of it as a report: {page}")?;
    Ok(())
}

/// How busy the devices of the planted run are.
fn devices(more: &[&str]) -> Result<String, Failure> {
    let file = recording::planted().into_os_string();
    let more = more.iter().map(OsString::from);
    let args: Vec<OsString> = std::iter::once(file).chain(more).collect();
    let mut text = Vec::new();
    utilisation::run(&args, &mut text)?;
    let text = String::from_utf8_lossy(&text).into_owned();
    // The first line of a text names the file.
    let rest = text.split_once('\n').map(|(_, rest)| rest.to_string());
    Ok(match text.starts_with('{') {
        true => text,
        false => rest.unwrap_or_default(),
    })
}

/// What is asked of the 64-rank recording: what correlates with its radiation phase.
fn hidden_words(more: &[&str]) -> Vec<OsString> {
    let file = recording::bundled("jacobi-64").into_os_string();
    let words = [
        "--metric",
        "exclusive time",
        "--same-metric",
        "--path",
        "Working > radiation",
    ];
    let words = words
        .iter()
        .chain(&["--topology", "4x4x4", "--top", "3"])
        .chain(more);
    let words = words.map(OsString::from);
    std::iter::once(file).chain(words).collect()
}

/// The views of the 64-rank recording by their correlation with its radiation phase.
fn hidden(more: &[&str]) -> Result<String, Failure> {
    let args = hidden_words(more);
    let mut text = Vec::new();
    correlate::run(&args, &mut text)?;
    let text = String::from_utf8_lossy(&text).into_owned();
    // The first line of a text names the file.
    let rest = text.split_once('\n').map(|(_, rest)| rest.to_string());
    Ok(if more.contains(&"--json") {
        text
    } else {
        rest.unwrap_or_default()
    })
}

/// What is asked of the three runs that share one grid: their phases by duration and work.
fn tracked_words(more: &[OsString]) -> Vec<OsString> {
    let files = ["jacobi-4", "jacobi-9", "jacobi-16"].map(|name| recording::bundled(name).into());
    let words = [
        "--metrics",
        "duration,work",
        "--min-duration",
        "20us",
        "--eps",
        "0.04",
        "--top",
        "4",
    ];
    let args = files
        .into_iter()
        .chain(words.map(OsString::from))
        .chain(more.iter().cloned());
    args.collect()
}

/// The phases of the three runs.
fn tracked(more: &[OsString]) -> Result<String, Failure> {
    let mut text = Vec::new();
    track::run(&tracked_words(more), &mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Abnormal calls of the molecular dynamics.
fn detected(more: &[&str]) -> Result<String, Failure> {
    let file = recording::bundled("nwchem-md-4").into_os_string();
    let more = more.iter().map(OsString::from);
    let args: Vec<OsString> = std::iter::once(file).chain(more).collect();
    let mut text = Vec::new();
    detect::run(&args, &mut text)?;
    let text = String::from_utf8_lossy(&text).into_owned();
    // The first line of a text names the file.
    match text.starts_with('{') {
        true => Ok(text),
        false => Ok(text
            .split_once('\n')
            .map_or(String::new(), |(_, rest)| rest.into())),
    }
}
