//! Subcommand `convert`: writes a recording in another format and reports the losses.

mod events;
mod format;

use crate::clocks::ClocksBy;
use crate::failure::{self, Failure, Outcome, input};
use crate::findings::{self, Found};
use crate::inspect::severity_table;
use crate::options::{General, TRACE, Window};
use crate::output;
use crate::progress::Bar;
use crate::recording::{self, Any, Profiled, Recording};
use crate::table::grouped;
use clap::Args;
use format::Format;
use perfkit::core::{Diagnostics, Profile};
use perfkit::formats::{chrome, cube, otf2, paraver};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Writes a recording in another format, and counts the parts that the format cannot represent
///
/// A trace becomes an OTF2 archive, a Paraver trace, Chrome JSON, a Perfetto trace, a table of its events, or a Cube
/// profile of its calls. A profile becomes a Cube profile or a table of its severities.
#[derive(Args, Clone, Debug)]
pub struct Options {
    #[doc = "Recording with events, or profile"]
    #[arg(value_name = "IN", long_help = format!("Recording with events: {TRACE}; or a profile: .cubex, .cube, a TAU folder, .ppk"))]
    input: PathBuf,
    /// File to write; of an OTF2 archive its anchor (.otf2) or its folder, which must be new
    #[arg(value_name = "OUT")]
    output: PathBuf,
    /// Format of OUT [default: that of its extension: .otf2 or none, .prv, .json, .pftrace, .cubex, .csv]
    #[arg(long, value_name = "FORMAT", value_parser = format::parser())]
    format: Option<Format>,
    #[command(flatten)]
    window: Window,
    #[command(flatten)]
    clocks: ClocksBy,
    #[command(flatten)]
    general: General,
}

/// Numbers of written and lost records of a conversion.
struct Written {
    /// Number of the records that were written.
    records: u64,
    /// Kind of the records that were written.
    what: &'static str,
    /// Losses and completions by rule.
    diagnostics: Diagnostics,
    /// Number of events that are dropped or written incompletely, and a description of these events.
    lost: (u64, &'static str),
}

impl Written {
    fn new(records: u64, what: &'static str, diagnostics: Diagnostics) -> Self {
        Written {
            records,
            what,
            diagnostics,
            lost: (0, ""),
        }
    }
}

/// Reads the recording and writes it in the other format.
///
/// # Errors
/// Returns [`Failure::Usage`] if the format is unknown or cannot represent the recording, or if the
/// output would replace the input. Returns [`Failure::Input`] if the recording cannot be read or
/// the output cannot be written.
pub fn run(options: &Options, out: &mut dyn Write) -> Outcome {
    options.general.apply()?;
    let (from, to) = (&options.input, &options.output);
    let format = match options.format {
        Some(format) => format,
        None => Format::of(to)?,
    };
    for written in format.files(to) {
        failure::spare(from, &written)?;
        for read in format::companions(from) {
            failure::spare(&read, &written)?;
        }
    }
    let opened = recording::any_by(from, (options.clocks.clocks, options.window))?;
    let (found, counts) = match &opened {
        Any::Trace(recording) => (&recording.diagnostics, Default::default()),
        Any::Profile(profiled) => (&profiled.diagnostics, profiled.counts),
    };
    findings::print(found, &counts);
    let written = match &opened {
        Any::Trace(recording) => trace(recording, format, to)?,
        Any::Profile(profiled) => profile(profiled, format, to)?,
    };
    if options.general.json {
        let (lost, what) = written.lost;
        #[derive(Serialize)]
        struct Document {
            format: &'static str,
            file: String,
            records: u64,
            record_kind: &'static str,
            findings: Vec<Found>,
            events_lossy: u64,
            events_lossy_why: Option<&'static str>,
        }
        let document = Document {
            format: format.name(),
            file: to.display().to_string(),
            records: written.records,
            record_kind: written.what,
            findings: findings::found(&written.diagnostics),
            events_lossy: lost,
            events_lossy_why: (lost > 0).then_some(what),
        };
        return output::json(out, &document);
    }
    writeln!(
        out,
        "{}: {}, {} {}",
        to.display(),
        format.name(),
        grouped(written.records),
        written.what
    )?;
    findings::write(&written.diagnostics, &Default::default(), out)?;
    let (lost, what) = written.lost;
    if lost > 0 {
        writeln!(
            out,
            "warning: {} events are not written, or not wholly: {what}",
            grouped(lost)
        )?;
    }
    Ok(())
}

/// Description of the events that Chrome JSON cannot represent.
const NOT_IN_CHROME: &str = "ends of messages and collectives without the other ends, remote access, requests, switches \
    of recording, samples of call paths";

/// Description of the events that Perfetto traces cannot represent.
#[cfg(feature = "perfetto")]
const NO_CALLS: &str = "ends of messages without the other end, collectives, remote access, requests, switches of \
    recording, samples of call paths";

fn trace(recording: &Recording, format: Format, to: &Path) -> Result<Written, Failure> {
    let job = Bar::job();
    let view = recording.trace.view();
    let events = view.len() as u64;
    let failed = |error: std::io::Error| Failure::Input(format!("{}: {error}", to.display()));
    Ok(match format {
        Format::Otf2 => {
            let (folder, options) = format::archive(to);
            let mut archive = otf2::NewArchive::new(folder).map_err(failed)?;
            let lost = otf2::write(view, &mut archive, &options, &job);
            Written::new(events, "events", lost.map_err(input)?)
        }
        Format::Paraver => {
            let lost = paraver::write_files(view, to, &job).map_err(input)?;
            Written::new(events, "events", lost)
        }
        Format::Chrome => {
            let mut written = None;
            output::whole(to, |to| {
                written = Some(chrome::write(view, to, &job).map_err(input)?);
                Ok(())
            })?;
            let written = written.unwrap_or_default();
            let lost = (written.left_out, NOT_IN_CHROME);
            Written {
                lost,
                ..Written::new(written.calls, "calls", Diagnostics::default())
            }
        }
        Format::Perfetto => perfetto(recording, to)?,
        Format::Cube => {
            let made = Profile::from_trace(view, &job);
            let (profile, counts) = made.map_err(input)?;
            findings::print(&Diagnostics::default(), &counts);
            let lost = (events, "a profile has sums of calls and no events");
            Written {
                lost,
                ..cube_of(&profile, to)?
            }
        }
        Format::Csv => {
            let (table, lost) = events::table(&recording.trace);
            output::csv(Some(&to.to_path_buf()), || Ok(table))?;
            let lost = (
                lost,
                "values and numbers of events that are neither calls nor messages",
            );
            Written {
                lost,
                ..Written::new(events, "events", Diagnostics::default())
            }
        }
    })
}

#[cfg(feature = "perfetto")]
fn perfetto(recording: &Recording, to: &Path) -> Result<Written, Failure> {
    let mut written = None;
    output::whole(to, |to| {
        let view = recording.trace.view();
        let done = perfkit::formats::perfetto::write(view, to, &Bar::job());
        written = Some(done.map_err(input)?);
        Ok(())
    })?;
    let written = written.unwrap_or_default();
    let lost = (written.left_out, NO_CALLS);
    Ok(Written {
        lost,
        ..Written::new(written.slices, "calls", Diagnostics::default())
    })
}

#[cfg(not(feature = "perfetto"))]
fn perfetto(_: &Recording, _: &Path) -> Result<Written, Failure> {
    Err(Failure::Usage(
        "this build of perfkit has no Perfetto: build it with the feature `perfetto`".into(),
    ))
}

fn profile(profiled: &Profiled, format: Format, to: &Path) -> Result<Written, Failure> {
    let profile = &profiled.profile;
    match format {
        Format::Cube => cube_of(profile, to),
        Format::Csv => {
            let table = severity_table(profile, profile.regions())?;
            let rows = table.rows() as u64;
            output::csv(Some(&to.to_path_buf()), || Ok(table))?;
            Ok(Written::new(
                rows,
                "rows of severities",
                Diagnostics::default(),
            ))
        }
        _ => Err(Failure::Usage(format!(
            "a profile has sums of calls and no events: {} cannot hold it; cube and csv can",
            format.name()
        ))),
    }
}

fn cube_of(profile: &Profile, to: &Path) -> Result<Written, Failure> {
    let (mut found, mut rows) = (None, 0);
    output::whole(to, |to| {
        let job = Bar::job();
        let options = cube::WriteOptions::new();
        let lost = cube::write(profile, to, &options, &job);
        found = Some(lost.map_err(input)?);
        Ok(())
    })?;
    for metric in (0..profile.metrics().len()).filter_map(perfkit::core::MetricId::from_index) {
        rows += profile.paths(metric).len() as u64;
    }
    Ok(Written::new(
        rows,
        "rows of severities",
        found.unwrap_or_default(),
    ))
}
