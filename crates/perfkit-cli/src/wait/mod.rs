//! Subcommand `wait`: wait states with their causes, efficiencies of a run or a series, and what-if replay.

mod analysis;
mod cube;
mod output;
mod pictures;
mod series;
mod statement;
mod tables;
mod what_if;

use crate::clocks::{self, ClocksOfWaits};
use crate::failure::{Failure, Outcome};
use crate::findings;
use crate::options::{General, TRACE, Window, file_names, words};
use crate::output as files;
use crate::pictures::{self as drawn, Files};
use crate::recording::{self, Any, Recording};
pub(crate) use analysis::{Analysed, Analysis, NO_PARTNERS, Training};
use clap::Args;
use output::Document;
use perfkit::wait::efficiency::Scaling;
pub(crate) use pictures::{HALF_COLUMNS, sections, timeline_section};
pub(crate) use statement::{Command, LATE_LAUNCHES, Statement};
use std::io::Write;
use std::path::PathBuf;

/// Formats in which several files are the ranks of one job.
const RANK_FORMATS: [&str; 3] = ["chrome", "rocprof", "nsys"];

/// Prints the ranks and calls that delay a parallel run, and the run time that a fix would save
///
/// Wait states of messages and collectives with their causes, the critical path, and the efficiencies of the POP
/// methodology. Several recordings are the runs of a series, whose efficiencies are compared with those of the first.
#[derive(Args, Clone, Debug)]
pub struct Options {
    #[doc = "Recordings with events"]
    #[arg(required = true, value_name = "RECORDING", long_help = format!(
        "Recordings with events: {TRACE}. Several are the runs of a series, the smallest of them the reference (the first if sizes are equal); several files of \
        Chrome JSON, rocprofv3 or Nsight Systems are the ranks of one job"
    ))]
    files: Vec<PathBuf>,
    /// Largest number of findings, of root causes and of call paths on the critical path
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
    /// Run time with other durations: `rank 7 = median`, `rank 7 x 0.9`, `region solve* x 0.8`, `region solve* = mean`
    /// (of all ranks), `MPI_* x 0.5` (transfer times); several changes at once are separated by `;`; repeatable
    #[arg(long = "what-if", value_name = "CHANGE")]
    questions: Vec<String>,
    /// Work that the runs of a series do
    #[arg(long, value_name = "KIND", default_value = "strong", value_parser = words(&[
        ("strong", Scaling::Strong, "the same in all runs"),
        ("weak", Scaling::Weak, "in proportion to the number of processes"),
    ]))]
    scaling: Scaling,
    #[command(flatten)]
    clocks: ClocksOfWaits,
    #[command(flatten)]
    window: Window,
    /// Write all wait states as CSV, a row for each: begin, duration, call path, location, and the call that was waited
    /// for; of a series, the efficiencies
    #[arg(long, value_name = "OUT", help_heading = "Output files")]
    csv: Option<PathBuf>,
    /// Write times, wait states, delay costs and critical path by call path and location as a Cube profile, which
    /// `correlate` and `inspect` read
    #[arg(long, value_name = "OUT", help_heading = "Output files")]
    cube: Option<PathBuf>,
    #[command(flatten)]
    output: Files,
    #[command(flatten)]
    general: General,
}

/// Reads recordings and prints their wait states and efficiencies.
///
/// # Errors
/// Returns [`Failure::Usage`] if the options do not apply to the recording, and [`Failure::Input`]
/// if the recording cannot be read.
pub fn run(options: &Options, out: &mut dyn Write) -> Outcome {
    options.general.apply()?;
    if options.files.len() > 1 && !are_ranks(&options.files) {
        return series::run(options, out);
    }
    let recording = open(options)?;
    single(&recording, options, out).map_err(findings::explain(&recording.diagnostics))
}

/// Returns `true` if several files are the ranks of one job.
fn are_ranks(files: &[PathBuf]) -> bool {
    let format = |file: &PathBuf| perfkit::formats::probe(file).ok().map(|format| format.name);
    let mut formats = files.iter().map(format);
    let first = formats.next().flatten();
    first.is_some_and(|name| RANK_FORMATS.contains(&name)) && formats.all(|name| name == first)
}

/// Opens one recording, or several files as the ranks of one job. Returns an error for a profile, which has no events.
fn open(options: &Options) -> Result<Recording, Failure> {
    match &options.files[..] {
        [file] => trace_of(file, options),
        files => recording::open_ranks_by(files, (options.clocks.clocks, options.window)),
    }
}

/// Opens one file as a trace.
fn trace_of(file: &std::path::Path, options: &Options) -> Result<Recording, Failure> {
    match recording::any_by(file, (options.clocks.clocks, options.window))? {
        Any::Trace(recording) => Ok(*recording),
        Any::Profile(_) => Err(Failure::Input(format!(
            "{}: a profile has sums of time and no events, and wait states follow from the times of events: give a trace \
             of the run. `perfkit inspect` lists the metrics of the profile, wait states by Scalasca among them",
            file.display()
        ))),
    }
}

/// Prints and draws one recording.
fn single(recording: &Recording, options: &Options, out: &mut dyn Write) -> Outcome {
    let names = file_names(&options.files);
    let view = recording.trace.view();
    let violations = clocks::violations(&recording.trace)?;
    let files = options
        .files
        .iter()
        .map(|file| file.to_string_lossy().into_owned());
    let is_corrected = clocks::correction(&recording.diagnostics).is_some();
    let command = Command::new(files.collect(), is_corrected).within(options.window);
    let found = Analysis::of(view, options.top, is_corrected)?;
    let document = Document::new(recording, &found, &violations, &command, options.top);
    let document = match &found {
        Analysed::Found(analysis) => {
            let answers = what_if::ask(view, analysis, &options.questions)?;
            files::csv(options.csv.as_ref(), || Ok(tables::events(analysis)))?;
            if let Some(path) = &options.cube {
                cube::write(view, analysis, path)?;
            }
            if !options.output.is_empty() {
                let name = options
                    .files
                    .first()
                    .map_or_else(String::new, |it| drawn::name(it));
                pictures::write(&options.output, &name, view, analysis, &document)?;
            }
            document.with_answers(answers)
        }
        Analysed::Training(_) => {
            refuse(options, &names, "a training job has no wait states of MPI")?;
            document
        }
        Analysed::Nothing { reason, .. } => {
            refuse(options, &names, reason)?;
            document
        }
    };
    if options.general.json {
        return files::json(out, &document);
    }
    writeln!(out, "{names}")?;
    findings::print(&recording.diagnostics, &Default::default());
    document.text(out)
}

/// Returns an error if options select output files or what-if questions for a recording without wait states.
fn refuse(options: &Options, names: &str, reason: &str) -> Outcome {
    let written = options.output.all();
    let mut written = written.chain(&options.csv).chain(&options.cube);
    if let Some(file) = written.next() {
        let file = file.display();
        return Err(Failure::Input(format!(
            "{names}: {reason}; {file} is not written"
        )));
    }
    match options.questions.first() {
        Some(question) => Err(Failure::Input(format!(
            "{names}: {reason}; --what-if `{question}` has no answer"
        ))),
        None => Ok(()),
    }
}
