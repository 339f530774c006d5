//! The main job on the bundled recordings: what is in them, their folded timelines, and what each
//! analysis finds.
//!
//! `cargo run --release --example tour`

use clap::{CommandFactory, Parser};
use perf_testdata::bundled;
use perfkit_cli::command;
use perfkit_cli::failure::{self, Failure, Outcome, input};
use perfkit_cli::inspect::trace::Summary;
use perfkit_cli::recording;
use report::Report;
use serde_json::json;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[path = "tour/report.rs"]
mod report;

/// Opens the bundled recordings, prints what is in them and what each analysis finds, and writes a report
///
/// The report is one page with all views, and a picture of each.
#[derive(Debug, Parser)]
#[command(name = "tour")]
struct Options {
    /// Folder of the report [default: target/tour]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

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
    failure::main(Options::command(), run)
}

/// The work: arguments in, text out.
pub(crate) fn run(args: &[OsString], out: &mut dyn Write) -> Outcome {
    let Options {
        out: folder,
        json: as_json,
    } = failure::parse(args)?;
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
        let recording = recording::open(&bundled::recording(name))?;
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
            hidden(&["--json", "--axes", "0,0,1"])?,
        ];
        let parsed = correlations.iter().map(|text| serde_json::from_str(text));
        let parsed: Result<Vec<serde_json::Value>, _> = parsed.collect();
        let correlations = parsed.map_err(input)?;
        let text = tracked(&["--json"])?;
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
        "Along the last axis alone, without that imbalance: surface appears."
    )?;
    writeln!(out, "{}", hidden(&["--axes", "0,0,1"])?)?;
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

/// Text of a subcommand without its first line, which names the file; whole if it is JSON.
fn output(subcommand: &str, words: Vec<OsString>) -> Result<String, Failure> {
    let words = std::iter::once(subcommand.into()).chain(words);
    let text = command::output::<OsString>(words)?;
    let rest = text.split_once('\n').map(|(_, rest)| rest.to_string());
    Ok(match text.starts_with('{') {
        true => text,
        false => rest.unwrap_or_default(),
    })
}

fn words(files: impl IntoIterator<Item = PathBuf>, options: &[&str]) -> Vec<OsString> {
    let files = files.into_iter().map(PathBuf::into_os_string);
    files.chain(options.iter().map(OsString::from)).collect()
}

/// Utilisation of the devices of the planted run.
fn devices(more: &[&str]) -> Result<String, Failure> {
    output("utilisation", words([bundled::devices()], more))
}

/// Arguments of the correlation of the 64-rank recording with its radiation phase.
fn hidden_words(more: &[&str]) -> Vec<OsString> {
    let options = [
        "--metric",
        "exclusive time",
        "--same-metric",
        "--path",
        "Working > radiation",
        "--topology",
        "4x4x4",
        "--top",
        "3",
    ];
    words(
        [bundled::recording("jacobi-64")],
        &[&options, more].concat(),
    )
}

/// Views of the 64-rank recording by their correlation with its radiation phase.
fn hidden(more: &[&str]) -> Result<String, Failure> {
    output("correlate", hidden_words(more))
}

/// Arguments of the tracking of three runs that share one grid, by duration and work.
fn tracked_words(more: &[&str]) -> Vec<OsString> {
    let files = ["jacobi-4", "jacobi-9", "jacobi-16"].map(bundled::recording);
    let options = [
        "--metrics",
        "duration,work",
        "--min-duration",
        "20us",
        "--eps",
        "0.04",
        "--top",
        "4",
    ];
    words(files, &[&options, more].concat())
}

/// Phases of the three runs.
fn tracked(more: &[&str]) -> Result<String, Failure> {
    let words = std::iter::once("track".into()).chain(tracked_words(more));
    command::output::<OsString>(words)
}

/// Abnormal calls of the molecular dynamics.
fn detected(more: &[&str]) -> Result<String, Failure> {
    output("detect", words([bundled::recording("nwchem-md-4")], more))
}
