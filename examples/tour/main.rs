//! Writes the report on the bundled recordings: findings, and every analysis with its picture.
//!
//! `cargo run --release --example tour`

use clap::{CommandFactory, Parser};
use perf_testdata::bundled::{devices, recording};
use perfkit_cli::clocks::Clocks;
use perfkit_cli::failure::{self, Failure, Outcome};
use perfkit_cli::{command, pictures, report::Report};
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Writes the report on the bundled recordings with a picture of each analysis, and prints its findings
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

/// Recordings with a drawing of their ranks, and the titles of the pictures.
const RANKS: [&str; 2] = [
    "nwchem-md-4: NWChem, molecular dynamics of water on 4 ranks",
    "jacobi-16: Jacobi on 16 ranks with a growing imbalance under a cloud",
];

/// Command lines for the other pictures: words separated by `|`, recordings marked by `@`.
const PICTURES: [&str; 4] = [
    "correlate|@jacobi-64|--metric=exclusive time|--same-metric|--path=Working > radiation|--topology=4x4x4",
    "track|@jacobi-4|@jacobi-9|@jacobi-16|--metrics=duration,work|--min-duration=20us|--eps=0.04",
    "detect|@nwchem-md-4",
    "utilisation|@devices",
];

fn main() -> ExitCode {
    failure::main(Options::command(), run)
}

/// Runs the tour with these arguments and writes its output.
pub(crate) fn run(args: &[OsString], out: &mut dyn Write) -> Outcome {
    let Options { out: folder, json } = failure::parse(args)?;
    // The path as shown, and the path as used, which is relative to the folder of the workspace.
    let shown = folder.clone().unwrap_or_else(|| "target/tour".into());
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = folder.unwrap_or_else(|| workspace.join("target/tour"));
    let failed = |error| Failure::Input(format!("{}: {error}", folder.display()));
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let [md, four, nine, sixteen] =
        ["nwchem-md-4", "jacobi-4", "jacobi-9", "jacobi-16"].map(recording);
    let report = Report::of(&[md, four, nine, sixteen, devices()], None, Clocks::Keep);
    let report = report.and(Report::of(
        &[recording("jacobi-64")],
        Some("4x4x4"),
        Clocks::Keep,
    ));
    report.write(&folder.join("index.html"), Some("A tour of perfkit"))?;
    for (name, title) in RANKS.iter().filter_map(|line| line.split_once(": ")) {
        let opened = perfkit_cli::recording::open(&recording(name))?;
        let picture = pictures::ranks(&pictures::timelines(&opened.trace)?, title)?;
        pictures::png(&folder.join(name).with_extension("png"), &picture)?;
    }
    for line in PICTURES {
        let name = line.split('|').next().unwrap_or_default();
        let words = line.split('|').map(|word| match word.strip_prefix('@') {
            Some("devices") => devices().into_os_string(),
            Some(name) => recording(name).into_os_string(),
            None => word.into(),
        });
        let png = folder.join(name).with_extension("png").into_os_string();
        command::output::<OsString>(words.chain(["--png".into(), png]))?;
    }
    let page = shown.join("index.html").display().to_string();
    if json {
        Ok(writeln!(out, "{}", report.json(&page)?)?)
    } else {
        report
            .text(out)
            .and_then(|()| Ok(writeln!(out, "\npage written to {page}")?))
    }
}
