//! What is in a recording. Of a trace: locations, regions, events, duration, repairs, the top call
//! paths. Of a profile: the machine, grids over it, metrics with their severities, the same.
//!
//! `cargo run --release --example inspect -- data/recordings/jacobi-16`

use perfkit_examples::cli::{self, Failure, Outcome};
use perfkit_examples::profile_summary::ProfileSummary;
use perfkit_examples::recording::{self, Any};
use perfkit_examples::summary::Summary;
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "usage: inspect FILE [--top N] [--json]

Prints what is in a recording.

  FILE        a trace, such as an OTF2 archive: its anchor (.otf2) or its folder, or a profile
              (.cubex, .cube, a TAU folder, .ppk)
  --top N     call paths to list, default 10
  --metric M  of a profile: what they are ordered by, default the first that is a time
  --json      one JSON object instead of text";

fn main() -> ExitCode {
    cli::main(USAGE, run)
}

/// The work: arguments in, text out.
pub(crate) fn run(args: &[OsString], out: &mut dyn Write) -> Outcome {
    use lexopt::prelude::*;
    let (mut file, mut top, mut metric, mut as_json) = (None, 10, None, false);
    let mut parser = lexopt::Parser::from_args(args);
    while let Some(arg) = parser.next()? {
        match arg {
            Long("top") => top = parser.value()?.parse()?,
            Long("metric") => metric = Some(parser.value()?.string()?),
            Long("json") => as_json = true,
            Short('h') | Long("help") => return Err(Failure::Help),
            Value(path) if file.is_none() => file = Some(PathBuf::from(path)),
            other => return Err(other.unexpected().into()),
        }
    }
    let file = file.ok_or_else(|| Failure::Usage("which file?".into()))?;
    let mut text = Vec::new();
    let object = match recording::any(&file)? {
        Any::Trace(_) if metric.is_some() => {
            let what = "--metric is for profiles, call paths of a trace are ordered by time";
            return Err(Failure::Usage(what.into()));
        }
        Any::Trace(trace) => {
            let summary = Summary::of(&trace)?;
            summary.text(top, &mut text)?;
            summary.json(top)
        }
        Any::Profile(profile) => {
            let summary = ProfileSummary::of(&profile, metric.as_deref(), top)?;
            summary.text(&mut text)?;
            summary.json()
        }
    };
    if as_json {
        writeln!(out, "{object}")?;
    } else {
        writeln!(out, "{}", file.display())?;
        out.write_all(&text)?;
    }
    Ok(())
}
