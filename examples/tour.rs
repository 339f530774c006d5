//! The main job on the bundled recordings: what is in them, their folded timelines, and what each
//! analysis finds.
//!
//! `cargo run --release --example tour`

use perfkit::core::{CancelToken, Trace};
use perfkit::fold::{Folder, GroupBy, Groups, Op, RegionGroups, Timelines, Usage};
use perfkit_examples::cli::{self, Failure, Outcome, input};
use perfkit_examples::picture;
use perfkit_examples::progress::Bar;
use perfkit_examples::recording::{self, Recording};
use perfkit_examples::summary::Summary;
use perfkit_examples::timeline::{Paint, panel};
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
#[allow(dead_code, reason = "its `main` is for itself")]
#[path = "track.rs"]
pub(crate) mod track;
#[allow(dead_code, reason = "its `main` is for itself")]
#[path = "utilisation.rs"]
pub(crate) mod utilisation;

const USAGE: &str = "usage: tour [--out FOLDER] [--json]

Opens the bundled recordings, prints what is in them and what each analysis finds, and draws the
folded timelines of two.

  --out FOLDER   where the pictures go, default target/tour
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
    for (name, title) in RECORDINGS {
        let recording = recording::open(&recording::bundled(name))?;
        let summary = Summary::of(&recording)?;
        let picture = format!("{name}.png");
        if let Some(title) = title {
            draw(&recording, title, &folder.join(&picture))?;
        }
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
            "detection": detection, "devices": devices,
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
    let picture = ["--png".into(), folder.join("track.png").into_os_string()];
    write!(out, "{}", tracked(&picture)?)?;
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

/// The views of the 64-rank recording by their correlation with its radiation phase.
fn hidden(more: &[&str]) -> Result<String, Failure> {
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
    let args: Vec<OsString> = std::iter::once(file)
        .chain(words.map(OsString::from))
        .collect();
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

/// The phases of the three runs that share one grid, tracked by duration and work.
fn tracked(more: &[OsString]) -> Result<String, Failure> {
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
    let mut text = Vec::new();
    track::run(&args.collect::<Vec<_>>(), &mut text)?;
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

/// All ranks below one another, and under them the fold of all with max, min and diff.
fn draw(recording: &Recording, title: &str, file: &Path) -> Outcome {
    let trace: &Trace = &recording.trace;
    let (bar, cancel) = (Bar::new(), CancelToken::new());
    let map = RegionGroups::new()
        .plan(trace.definitions())
        .map_err(input)?;
    let timelines = Timelines::with(trace.view(), &map, &bar, &cancel).map_err(input)?;
    let window = timelines.range();
    let clock = timelines.clock();
    let nanos = |at| clock.nanos(at).unwrap_or_default();
    let span = (nanos(window.start), nanos(window.end));
    let fold = |by, op, columns| {
        let params = Folder::params()
            .op(op)
            .columns(columns)
            .check()
            .map_err(input)?;
        let folder = Folder::new(&timelines, Groups::by(&timelines, by), params).map_err(input)?;
        let (mut fold, mut scratch) = (folder.empty(), folder.scratch());
        folder
            .refold_with(window, &mut scratch, &mut fold, &bar, &cancel)
            .map_err(input)?;
        let usage: Vec<Usage> = folder.usage_with(window, &bar, &cancel).map_err(input)?;
        Ok::<_, Failure>((folder, fold, usage))
    };
    let mut folds = vec![("every rank", fold(GroupBy::Location, Op::Max, 1440)?)];
    for (title, op) in [
        ("max: what most ranks do", Op::Max),
        ("min: what the fewest do", Op::Min),
        ("diff: where ranks differ", Op::Diff),
    ] {
        folds.push((title, fold(GroupBy::All, op, 400)?));
    }
    let all: Vec<_> = folds
        .iter()
        .map(|(_, (folder, fold, _))| (folder, fold))
        .collect();
    let paint = Paint::plan(&all);
    let panels: Vec<_> = folds
        .iter()
        .map(|(title, (folder, fold, usage))| panel(folder, fold, usage, *title, span, &paint))
        .collect();
    let failed = |error: String| Failure::Input(format!("{}: {error}", file.display()));
    let canvas = picture::timeline(title, &panels, 3, &paint.legend);
    let canvas = canvas.map_err(|error| failed(error.to_string()))?;
    canvas.save(file).map_err(|error| failed(error.to_string()))
}
