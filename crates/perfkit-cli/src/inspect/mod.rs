//! Subcommand `inspect`: opens a trace or profile and prints its summary; also the sections of a
//! page with it, which `report` shares.
//!
//! The summary of a trace has locations, regions, events, duration, repairs and the top call paths. The
//! summary of a profile has the machine, its grids, metrics with their severities and the top call paths.

mod by_rank;
mod negative_values;
pub(crate) mod profile;
mod severities;
mod severity_table;
pub mod trace;
mod undefined_values;

use crate::clocks::ClocksBy;
use crate::failure::{self, Failure, Outcome};
use crate::findings;
use crate::options::{General, TRACE, UnifyBy, Window, words};
use crate::output;
use crate::pictures::{self, Files};
use crate::recording::{self, Any, Profiled, Reading, Recording};
use crate::scope::ScopeBy;
use by_rank::ByRank;
use clap::Args;
use perfkit::core::Unify;
use perfkit::fold::{GroupBy, Groups};
use perfkit::view::{Section, Theme};
use perfkit::wait::imbalance::Compared;
use profile::ProfileSummary;
pub(crate) use severity_table::severity_table;
use std::io::Write;
use std::path::PathBuf;
use trace::Summary;

/// Prints a summary of a recording: its size, repairs, clocks and top call paths
///
/// For a profile, prints the machine, the grids over it, and the metrics with their severities.
#[derive(Args, Clone, Debug)]
pub struct Options {
    #[doc = "Recording with events, or profile"]
    #[arg(long_help = format!("Recording with events: {TRACE}; or a profile: .cubex, .cube, a TAU folder, .ppk"))]
    file: PathBuf,
    /// Call paths to list
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
    /// Metric of a profile by which call paths are ordered, such as "exclusive time" [default: the first that is a time]
    #[arg(long, value_name = "M")]
    metric: Option<String>,
    #[command(flatten)]
    scope: ScopeBy,
    /// Print the load imbalance of the call paths instead, and their values on each rank or thread. The profile of a
    /// recording with events is computed
    #[arg(long, value_name = "BY", value_parser = words(&[
        ("rank", Compared::Ranks, "a column for each rank, or group of ranks; values are sums over the threads"),
        ("thread", Compared::Threads, "a column for each thread, or group of threads"),
    ]))]
    by: Option<Compared>,
    #[command(flatten)]
    unify: UnifyBy,
    #[command(flatten)]
    clocks: ClocksBy,
    #[command(flatten)]
    window: Window,
    /// Write the severities of all metrics as CSV, a row for each call path and location; with --by the values of
    /// one metric, a column for each rank or thread
    #[arg(long, value_name = "OUT", help_heading = "Output files")]
    csv: Option<PathBuf>,
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    general: General,
}

/// Reads the recording and prints the summary.
///
/// # Errors
/// Returns [`Failure::Usage`] if the options do not apply to the recording, and [`Failure::Input`]
/// if the recording cannot be read.
pub fn run(options: &Options, out: &mut dyn Write) -> Outcome {
    options.general.apply()?;
    let Options {
        file,
        top,
        metric,
        scope: ScopeBy { scope },
        by,
        unify,
        clocks,
        window,
        csv,
        files,
        general,
    } = options;
    let (top, unify) = (*top, unify.unify);
    let reading = Reading {
        unify,
        clocks: clocks.clocks,
        window: *window,
    };
    let mut text = Vec::new();
    for written in files.all().chain(csv) {
        failure::spare(file, written)?;
    }
    let name = pictures::name(file);
    let title = format!("{name}: where the time goes");
    let opened = recording::any_by(file, reading)?;
    if let Some(compared) = by {
        let profiled = recording::profiled(opened, unify)?;
        let explain = findings::explain(&profiled.diagnostics);
        let found = ByRank::of(&profiled, (metric.as_deref(), *scope), *compared);
        let found = found.map_err(explain)?;
        findings::print(&profiled.diagnostics, &profiled.counts);
        output::csv(csv.as_ref(), || found.table())?;
        let scene = || found.heat_map(top, Theme::light());
        let title = format!("{name}: load imbalance");
        files.write(&title, scene, || found.sections(top))?;
        if general.json {
            output::json(&mut text, &found.json(top)?)?;
        } else {
            writeln!(text, "{}", file.display())?;
            found.text(top, &mut text)?;
        }
        return Ok(out.write_all(&text)?);
    }
    match opened {
        Any::Trace(_) if metric.is_some() => {
            let what = "--metric is for profiles, call paths of a trace are ordered by time";
            return Err(Failure::Usage(what.into()));
        }
        Any::Trace(_) if scope.is_some() => {
            let what = "--scope is for profiles, a trace has a column for each scope";
            return Err(Failure::Usage(what.into()));
        }
        Any::Trace(trace) => {
            let explain = findings::explain(&trace.diagnostics);
            let summary = Summary::by(&trace, unify).map_err(explain)?;
            if general.json {
                output::json(&mut text, &summary.json(top))?;
            } else {
                writeln!(text, "{}", file.display())?;
                summary.text(top, &mut text)?;
            }
            files.write(
                &name,
                || Ok(summary.bars(top, &title)),
                || {
                    let mut sections = summary.sections(top);
                    let files = std::slice::from_ref(file);
                    sections.extend(timeline(&trace, &name, files, unify)?);
                    Ok(sections)
                },
            )?;
            output::csv(csv.as_ref(), || summary.table())?;
        }
        Any::Profile(profile) => {
            let explain = findings::explain(&profile.diagnostics);
            let summary = ProfileSummary::of(&profile, (metric.as_deref(), *scope), top);
            let summary = summary.map_err(explain)?;
            if general.json {
                output::json(&mut text, &summary.json())?;
            } else {
                writeln!(text, "{}", file.display())?;
                summary.text(&mut text)?;
            }
            let scene = || Ok(summary.bars(&name));
            files.write(&name, scene, || summary.sections())?;
            let regions = profile.profile.regions();
            let table = || match scope {
                Some(scope) => severity_table(&profile.profile.in_scope(*scope).0, regions),
                None => severity_table(&profile.profile, regions),
            };
            output::csv(csv.as_ref(), table)?;
        }
    }
    Ok(out.write_all(&text)?)
}

/// Returns the timeline, the summary and the `top` call paths of a trace as sections of a page.
///
/// # Errors
/// Returns [`Failure::Input`] if no profile of the trace can be computed, and the errors of folding
/// and drawing.
pub(crate) fn trace_sections(
    recording: &Recording,
    files: &[PathBuf],
    name: &str,
    top: usize,
) -> Result<Vec<Section>, Failure> {
    let mut sections = timeline(recording, name, files, Unify::default())?;
    sections.extend(Summary::of(recording)?.sections(top));
    Ok(sections)
}

/// Returns the metrics and the `top` call paths of a profile as sections of a page.
///
/// # Errors
/// Returns [`Failure::Input`] if a row cannot be read.
pub(crate) fn profile_sections(opened: &Profiled, top: usize) -> Result<Vec<Section>, Failure> {
    ProfileSummary::of(opened, (None, None), top)?.sections()
}

/// Returns the timeline with one row for each process as sections of a page; empty without events.
fn timeline(
    trace: &recording::Recording,
    name: &str,
    files: &[PathBuf],
    unify: Unify,
) -> Result<Vec<Section>, Failure> {
    let timelines = pictures::timelines_by(&trace.trace, unify)?;
    let window = timelines.range();
    if window.is_empty() {
        return Ok(Vec::new());
    }
    let heading = format!("{name}: timeline of the processes");
    let rows = (Groups::by(&timelines, GroupBy::Process), None);
    let of = (&trace.trace, &timelines);
    let words: Vec<_> = files.iter().map(|file| file.to_string_lossy()).collect();
    let words = words.iter().map(AsRef::as_ref);
    let command = pictures::fold_command(words.chain(["--by", "process"]));
    let more = pictures::More::command(&command);
    pictures::timeline(of, rows, (window, false), (&heading, "timeline"), more)
}
