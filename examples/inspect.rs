//! What is in a recording. Of a trace: locations, regions, events, duration, repairs, the top call
//! paths. Of a profile: the machine, grids over it, metrics with their severities, the same.
//!
//! `cargo run --release --example inspect -- data/recordings/jacobi-16`

use perfkit::core::Unify;
use perfkit::fold::{GroupBy, Groups};
use perfkit::view::Section;
use perfkit_examples::cli::{self, Failure, Outcome};
use perfkit_examples::drawn::{self, Files};
use perfkit_examples::findings;
use perfkit_examples::profile_summary::ProfileSummary;
use perfkit_examples::recording::{self, Any};
use perfkit_examples::summary::Summary;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: inspect FILE [OPTIONS]

Prints what is in a recording.

  FILE        a recording with events: OTF2 (its anchor, .otf2, or its folder), Paraver (.prv),
              Chrome/Kineto JSON, rocprofv3 JSON, streams (.tsv, .ndjson, .bp); with the feature
              `nsys` an export of Nsight Systems; or a profile (.cubex, .cube, a TAU folder, .ppk)
  --top N     call paths to list, default 10
  --metric M  of a profile: what they are ordered by, default the first that is a time
  --unify R   functions of one name are one by `name`, by `location` (name, file and line; default)
              or `never`: each definition of the recording is one
  --png OUT   also draws the top call paths
  --html OUT  also writes a page: what is in it, the top call paths, of a trace its timeline
  --json      one JSON object instead of text";

fn main() -> ExitCode {
    cli::main(USAGE, run)
}

/// The work: arguments in, text out.
pub(crate) fn run(args: &[OsString], out: &mut dyn Write) -> Outcome {
    use lexopt::prelude::*;
    let (mut file, mut top, mut metric, mut as_json) = (None, 10, None, false);
    let mut unify = Unify::default();
    let mut files = Files::default();
    let mut parser = lexopt::Parser::from_args(args);
    while let Some(arg) = parser.next()? {
        match arg {
            Long("top") => top = cli::number("top", &mut parser)?,
            Long("metric") => metric = Some(parser.value()?.string()?),
            Long("unify") => unify = cli::unify(&mut parser)?,
            Long("png") => files.png = Some(parser.value()?.into()),
            Long("html") => files.html = Some(parser.value()?.into()),
            Long("json") => as_json = true,
            Short('h') | Long("help") => return Err(Failure::Help),
            Value(path) if file.is_none() => file = Some(PathBuf::from(path)),
            other => return Err(other.unexpected().into()),
        }
    }
    let file = file.ok_or_else(|| Failure::Usage("which file?".into()))?;
    let mut text = Vec::new();
    for written in files.all() {
        cli::spare(&file, written)?;
    }
    let name = drawn::name(&file);
    let title = format!("{name}: where the time goes");
    let object = match recording::any_by(&file, unify)? {
        Any::Trace(_) if metric.is_some() => {
            let what = "--metric is for profiles, call paths of a trace are ordered by time";
            return Err(Failure::Usage(what.into()));
        }
        Any::Trace(trace) => {
            let explain = findings::explain(&trace.diagnostics);
            let summary = Summary::by(&trace, unify).map_err(explain)?;
            summary.text(top, &mut text)?;
            files.write(
                &name,
                || Ok(summary.bars(top, &title)),
                || {
                    let mut sections = summary.sections(top);
                    sections.extend(timeline(&trace, &name, &file, unify)?);
                    Ok(sections)
                },
            )?;
            summary.json(top)
        }
        Any::Profile(profile) => {
            let explain = findings::explain(&profile.diagnostics);
            let summary = ProfileSummary::of(&profile, metric.as_deref(), top).map_err(explain)?;
            summary.text(&mut text)?;
            let scene = || Ok(summary.bars(&name));
            files.write(&name, scene, || Ok(summary.sections()))?;
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

/// A row a process, where anything was called.
fn timeline(
    trace: &recording::Recording,
    name: &str,
    file: &Path,
    unify: Unify,
) -> Result<Vec<Section>, Failure> {
    let timelines = drawn::timelines_by(&trace.trace, unify)?;
    let window = timelines.range();
    if window.is_empty() {
        return Ok(Vec::new());
    }
    let heading = format!("{name}: what processes do");
    let rows = (Groups::by(&timelines, GroupBy::Process), None);
    let of = (&trace.trace, &timelines);
    let command = drawn::fold_command([&*file.to_string_lossy(), "--by", "process"]);
    drawn::timeline(of, rows, (window, false), (&heading, "timeline"), &command)
}
