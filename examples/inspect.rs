//! What is in a recording: locations, regions, events, duration, repairs, the top call paths.
//!
//! `cargo run --release --example inspect -- data/recordings/jacobi-16`

use perfkit_examples::cli::{self, Failure, Outcome};
use perfkit_examples::recording;
use perfkit_examples::summary::Summary;
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "usage: inspect FILE [--top N] [--json]

Prints what is in a recording.

  FILE      an OTF2 archive: its anchor (.otf2) or its folder
  --top N   call paths to list, default 10
  --json    one JSON object instead of text";

fn main() -> ExitCode {
    cli::main(USAGE, run)
}

/// The work: arguments in, text out.
pub(crate) fn run(args: &[OsString], out: &mut dyn Write) -> Outcome {
    use lexopt::prelude::*;
    let (mut file, mut top, mut as_json) = (None, 10, false);
    let mut parser = lexopt::Parser::from_args(args);
    while let Some(arg) = parser.next()? {
        match arg {
            Long("top") => top = parser.value()?.parse()?,
            Long("json") => as_json = true,
            Short('h') | Long("help") => return Err(Failure::Help),
            Value(path) if file.is_none() => file = Some(PathBuf::from(path)),
            other => return Err(other.unexpected().into()),
        }
    }
    let file = file.ok_or_else(|| Failure::Usage("which file?".into()))?;
    let summary = Summary::of(&recording::open(&file)?)?;
    if as_json {
        writeln!(out, "{}", summary.json(top))?;
    } else {
        writeln!(out, "{}", file.display())?;
        summary.text(top, out)?;
    }
    Ok(())
}
