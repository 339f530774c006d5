//! Subcommand `detect`: finds abnormal calls, ranks and functions in a stream or in a replayed
//! recording, also with default options for other commands.

mod options;
mod replayed;
mod report;
mod run_time;
mod server;
mod source;

use crate::clocks::{self, Clocks};
use crate::failure::{self, Failure, Outcome, input};
use crate::findings;
use crate::messages;
use crate::output;
use crate::pictures;
use crate::progress::Bar;
use crate::recording::{self, Recording};
use crate::suggest::hint;
use crate::table::grouped;
pub use options::Options;
use options::{Method, facts, means_something, spare_sources, title, usage};
use perfkit::anomaly::calls::{Calls, ModelBy, Repair, Runtime};
use perfkit::anomaly::provenance::{Lines, Memory, Recorder, Store, open};
use perfkit::anomaly::{
    self, Copod, Detector, Drift, FunctionId, Hbos, Monitor, Sstd, StrictParams, Tail,
};
use perfkit::core::{Diagnostics, EventSource, Job, Weight, fits};
use perfkit::formats::OpenOptions;
use perfkit::formats::adios::Adios;
use perfkit::formats::streams::{Follow, Streams};
use perfkit::view::Section;
use perfkit::view::anomaly::{Anomalies, Picture, View};
use replayed::Replayed;
pub(crate) use report::Detected;
use report::{Printed, Shown, changed};
use server::Server;
use source::Source;
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

/// Judges the calls of a source and prints ranks, functions and the worst calls.
///
/// # Errors
/// Returns [`Failure::Usage`] if the options do not apply to the recording, and [`Failure::Input`]
/// if the recording cannot be read.
pub fn run(options: &Options, out: &mut dyn Write) -> Outcome {
    options.general.apply()?;
    let files = &options.output;
    let title = title(options);
    let mut found = find(options.clone(), !files.is_empty(), out)?;
    output::csv(options.csv.as_ref(), || found.records())?;
    if options.general.json {
        output::json(out, &found.json())?
    } else {
        found.text(out)?
    }
    if let Some(anomalies) = found.drawn() {
        let scene = || Ok(Picture::new(anomalies).titled(&title).scene());
        files.write(&title, scene, || Ok(vec![section(anomalies, &title)?]))?;
    }
    found.outcome()
}

/// Returns the part of a page.
///
/// # Errors
/// Returns [`Failure::Input`] if drawing fails.
pub fn section(found: &Anomalies, heading: &str) -> Result<Section, Failure> {
    let view = View::new(found).named(heading, "anomalies");
    let section = view.section(&Bar::job());
    section.map_err(pictures::failed)
}

/// Returns the anomalies for drawing.
///
/// # Errors
/// Returns [`Failure::Usage`] if the options do not apply to the recording, and [`Failure::Input`]
/// if the recording cannot be read.
pub fn anomalies(options: &Options) -> Result<Anomalies, Failure> {
    let found = find(options.clone(), true, &mut std::io::sink())?;
    let drawn = found.drawn().cloned();
    found.outcome()?;
    drawn.ok_or_else(|| Failure::Input("nothing was recorded".into()))
}

fn find(mut options: Options, draws: bool, out: &mut dyn Write) -> Result<Detected, Failure> {
    let (kind, files) = source::find(&options.files, follow(&options))?;
    options.files = files;
    spare_sources(&options, kind)?;
    means_something(&options, kind)?;
    // Inputs are opened first, so that an unreadable one is reported before any output is written.
    let other = options.compare.as_ref().map(open).transpose();
    let mut other = other.map_err(input)?;
    let monitor = monitor(&options)?;
    let recording = match kind {
        Source::Trace => Some(open_trace(&options)?),
        _ => None,
    };
    let replayed = recording.as_ref();
    let replayed = replayed.map(|it| Replayed::new(&it.trace, &options));
    let replayed = replayed.transpose()?;
    let (monitor, diagnostics) = match (&recording, &replayed) {
        (Some(opened), Some(replayed)) => {
            let regions = opened.trace.definitions().regions.iter();
            let names: Vec<&str> = regions.map(|region| region.name.as_str()).collect();
            if let Some(message) = unmatched(&options, &names) {
                return Err(Failure::Usage(message));
            }
            let monitor = replay(&options, (opened, replayed), monitor, out)?;
            let mut diagnostics = opened.diagnostics.clone();
            if let (Clocks::Keep, Some(file)) = (options.clocks.clocks, options.files.first()) {
                clocks::note_kept(&opened.trace, file, &mut diagnostics);
            }
            (monitor, diagnostics)
        }
        _ if kind == Source::Adios => watch_adios(&options, monitor, out)?,
        _ => watch_text(&options, monitor, out)?,
    };
    if kind != Source::Trace {
        let calls = monitor.calls();
        let regions = (0..calls.function_count()).map(|at| FunctionId(at as u32));
        let names: Vec<String> = regions.map(|id| calls.function_name(id)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        if let Some(message) = unmatched(&options, &names) {
            messages::say(&format!("warning: {message}"));
        }
    }
    let is_absent = !options.files.iter().any(|file| file.exists());
    if let (Some(idle), [first, ..], true) = (options.idle, &options.files[..], is_absent) {
        return Err(source::absent(first, idle));
    }
    let lost = diagnostics
        .iter()
        .find(|(rule, _)| rule.weight == Weight::Loss);
    let lost = lost.map(findings::Found::of);
    if let (0, Some(lost)) = (monitor.calls().health().events(), lost) {
        return Err(Failure::Input(format!("no event could be read: {lost}")));
    }
    let mut found = Detected::new(shown(&options, draws), monitor, diagnostics, replayed)?;
    if let (Some(path), Some(other)) = (&options.compare, &mut other) {
        found.compare(path, &mut **other)?;
    }
    Ok(found)
}

/// Returns a message about the first pattern of the options that matches no function; `None` if all match. The
/// functions of a recording are known at once, and those of streams at their end.
fn unmatched(options: &Options, names: &[&str]) -> Option<String> {
    if options.model != ModelBy::Function {
        return None;
    }
    let names = || names.iter().copied();
    let ignored = options.ignore.iter().map(|pattern| ("--ignore", pattern));
    let accepted = options.accept.iter().map(|it| ("--accept", &it.0));
    let judged = options.thresholds.iter().map(|it| ("--threshold", &it.0));
    for (option, pattern) in ignored.chain(accepted).chain(judged) {
        if !names().any(|name| fits(pattern, name)) {
            let hint = hint(pattern, names());
            return Some(format!(
                "{option} {pattern}: no function of the recording matches{hint}"
            ));
        }
    }
    None
}

fn shown(options: &Options, draws: bool) -> Shown {
    Shown {
        files: options.files.clone(),
        method: options.method.name(),
        ranking: options.ranking,
        provenance: options.provenance.clone(),
        prune: options.prune,
        top: options.top,
        draws,
        thresholds: options.thresholds.iter().map(|it| it.0.clone()).collect(),
        notes: notes(options),
    }
}

/// Describes options without which times would be others.
fn notes(options: &Options) -> Vec<String> {
    let mut notes = Vec::new();
    if options.runtime == Runtime::Inclusive {
        let note = "run times include callees (--runtime inclusive): a delay counts in each caller of the slow call too";
        notes.push(note.into());
    }
    if !options.ignore.is_empty() {
        let patterns = options.ignore.join(", ");
        notes.push(format!(
            "functions named {patterns} were not judged (--ignore)"
        ));
    }
    notes
}

/// Number of steps of a recording.
const RECORDED_STEPS: u64 = 100;

/// Largest number of steps of a recording.
const MOST_STEPS: u64 = 1_000_000;

/// Number of steps of a recording in which ranks are compared.
const COMPARED_STEPS: u64 = 5;

/// Number of worst calls that [`judge`] keeps.
const JUDGED_CALLS: &str = "50";

/// Judges the calls of an opened recording with the default options. `files` are the files of the
/// recording.
///
/// # Errors
/// Returns [`Failure::Input`] if the recording cannot be replayed.
pub(crate) fn judge(files: &[PathBuf], recording: &Recording) -> Result<Detected, Failure> {
    let words = files.iter().map(|file| file.clone().into_os_string());
    let listed = ["--top", JUDGED_CALLS, "--"].map(OsString::from);
    let options = failure::options(listed.into_iter().chain(words))?;
    let replayed = Replayed::new(&recording.trace, &options)?;
    let monitor = replay(
        &options,
        (recording, &replayed),
        monitor(&options)?,
        &mut std::io::sink(),
    )?;
    Detected::new(
        shown(&options, true),
        monitor,
        recording.diagnostics.clone(),
        Some(replayed),
    )
}

fn monitor(options: &Options) -> Result<Monitor, Failure> {
    let strict = || StrictParams::default().check();
    let tail = || {
        let params = Tail::params();
        match options.false_alarms {
            Some(per_million) => params.false_positives(per_million).check(),
            None => params.check(),
        }
    };
    let detector: Box<dyn Detector> = match options.method {
        Method::Default => {
            let wrong = |error| Failure::Usage(format!("--false-alarms: {error}"));
            Box::new(Tail::new(tail().map_err(wrong)?))
        }
        Method::Sstd => Box::new(Sstd::new(strict().map_err(usage)?)),
        Method::Hbos => Box::new(Hbos::new(strict().map_err(usage)?)),
        Method::Copod => Box::new(Copod::new(strict().map_err(usage)?)),
    };
    // Methods for comparison with the labels of another tool see the same calls as that tool.
    let repair = match options.method {
        Method::Default => Repair::Mend,
        _ => Repair::Strict,
    };
    let params = Calls::params()
        .repair(repair)
        .model_by(options.model)
        .runtime(options.runtime);
    let calls = Calls::new(params.check().map_err(usage)?);
    let recorder = facts(options, repair).into_iter();
    let recorder = recorder.fold(Recorder::params(), |one, (name, value)| {
        one.fact(name, value)
    });
    let run = options.run.as_deref().unwrap_or_default();
    let (url, token) = (options.server.as_deref(), options.token.as_deref());
    let server = Server::open(url, token, run, &options.files)?;
    let store = server.keep(store(options)?);
    let recorder = Recorder::new(recorder.check().map_err(usage)?, store);
    let drift = Drift::default();
    let mut monitor = Monitor::new(calls, detector)
        .record(recorder)
        .watch_drift(drift)
        .start_over(options.restart);
    monitor = server.share(monitor);
    // Thresholds come last, so that `--ignore '*' --threshold solve=9` judges one function alone.
    for pattern in &options.ignore {
        monitor = monitor.ignore(pattern);
    }
    for (pattern, reason) in &options.accept {
        monitor = monitor.accept(pattern, reason);
    }
    for (pattern, threshold) in &options.thresholds {
        let with = monitor.threshold(pattern, *threshold);
        monitor = with.map_err(usage)?;
    }
    Ok(monitor)
}

fn store(options: &Options) -> Result<Box<dyn Store>, Failure> {
    let Some(path) = &options.provenance else {
        return Ok(Box::new(Memory::new()));
    };
    if fits("*.sqlite", &path.to_string_lossy()) || fits("*.db", &path.to_string_lossy()) {
        #[cfg(feature = "sqlite")]
        return Ok(Box::new(
            perfkit::anomaly::provenance::Sqlite::create(path).map_err(input)?,
        ));
        #[cfg(not(feature = "sqlite"))]
        return Err(Failure::Usage(
            "databases are written with `--features sqlite` of cargo".into(),
        ));
    }
    Ok(Box::new(Lines::create(path).map_err(input)?))
}

/// Returns the parameters for following a growing source; `None` without `--follow`.
fn follow(options: &Options) -> Option<Follow> {
    let idle = options.idle.map(|idle| {
        let nanos = u64::try_from(idle.0).unwrap_or_default();
        std::time::Duration::from_nanos(nanos)
    });
    options.follow.then(|| Follow::default().idle(idle))
}

/// Reads streams of text.
fn watch_text(
    options: &Options,
    mut monitor: Monitor,
    out: &mut dyn Write,
) -> Result<(Monitor, Diagnostics), Failure> {
    let read = OpenOptions::new();
    let streams = match follow(options) {
        Some(follow) => Streams::following(&options.files, follow, &read),
        None => Streams::open(&options.files, &read),
    };
    let mut streams = streams.map_err(input)?;
    if let Some(period) = options.period {
        streams = streams.period(period);
    }
    if let Some(origin) = options.origin {
        streams = streams.origin(origin);
    }
    let mut printed = Printed::default();
    loop {
        let next = streams
            .next_step(&mut monitor, &Job::default())
            .map_err(input);
        if !next.map_err(findings::explain(streams.diagnostics()))? {
            break;
        }
        if (options.period.is_some() || options.origin.is_some()) && !streams.used_period() {
            return Err(Failure::Usage(
                "--period and --origin are of no use: the streams say their steps".into(),
            ));
        }
        if !step(options, &mut monitor, &mut printed, out)? {
            break;
        }
    }
    Ok((monitor, streams.diagnostics().clone()))
}

/// Reads streams that TAU writes through ADIOS2.
fn watch_adios(
    options: &Options,
    mut monitor: Monitor,
    out: &mut dyn Write,
) -> Result<(Monitor, Diagnostics), Failure> {
    let read = OpenOptions::new();
    let files = match follow(options) {
        Some(follow) => Adios::following(&options.files, follow, &read),
        None => Adios::open(&options.files, &read),
    };
    let mut files = files.map_err(input)?;
    let mut printed = Printed::default();
    loop {
        let next = files
            .next_step(&mut monitor, &Job::default())
            .map_err(input);
        if !next.map_err(findings::explain(files.diagnostics()))? {
            break;
        }
        if !step(options, &mut monitor, &mut printed, out)? {
            break;
        }
    }
    Ok((monitor, files.diagnostics().clone()))
}

fn open_trace(options: &Options) -> Result<Recording, Failure> {
    let [file, ..] = &options.files[..] else {
        return Err(Failure::Usage("which source?".into()));
    };
    recording::open_by(file, (options.clocks.clocks, options.window))
}

/// Replays a recording.
fn replay(
    options: &Options,
    (recording, replayed): (&Recording, &Replayed<'_>),
    monitor: Monitor,
    out: &mut dyn Write,
) -> Result<Monitor, Failure> {
    let (mut replay, mut monitor) = replayed.source(monitor);
    if replay.steps() > MOST_STEPS {
        return Err(Failure::Usage(format!(
            "{} steps of the recording, but at most {} are possible: choose a longer --period, or another function for --step-at",
            grouped(replay.steps()),
            grouped(MOST_STEPS)
        )));
    }
    if let Some(pace) = options.pace {
        replay = replay.pace(pace);
    }
    let mut printed = Printed::default();
    let job = Bar::job();
    let explain = findings::explain(&recording.diagnostics);
    while replay
        .next_step(&mut monitor, &job)
        .map_err(input)
        .map_err(&explain)?
    {
        job.advance("replaying", 1, replay.steps());
        if !step(options, &mut monitor, &mut printed, out)? {
            break;
        }
    }
    Ok(monitor)
}

/// Prints the worst anomalies and the changed functions of a step if the stream is followed.
/// Returns `false` if the analysis has to stop because of an error.
fn step(
    options: &Options,
    monitor: &mut Monitor,
    printed: &mut Printed,
    out: &mut dyn Write,
) -> Result<bool, Failure> {
    // A store error loses records, which are counted, but does not stop the analysis.
    let goes_on = |error: &anomaly::Error| matches!(error, anomaly::Error::Store { .. });
    if monitor.error().is_some_and(|error| !goes_on(error)) {
        return Ok(false);
    }
    if !options.follow || options.general.json {
        return Ok(true);
    }
    let calls = monitor.calls();
    let batch = monitor.batch();
    let all = batch.calls().iter().zip(batch.samples());
    let mut found: Vec<_> = all
        .zip(monitor.judgements())
        .filter(|(_, judgement)| judgement.label.is_anomaly())
        .collect();
    found.sort_by_key(|((_, sample), judgement)| std::cmp::Reverse(judgement.severity(sample)));
    let more = found.len().saturating_sub(options.top);
    let of_stream = |id| Some(calls.stream_key(id)?.program);
    let mut programs = calls.streams().iter().filter_map(|id| of_stream(*id));
    let first = programs.next();
    // The program is named if there are several, or if its number is not 0.
    let many = programs.any(|program| Some(program) != first);
    let of = |program| {
        if many || program != 0 {
            format!(" of program {program}")
        } else {
            String::new()
        }
    };
    for ((call, sample), judgement) in found.into_iter().take(options.top) {
        let key = calls.stream_key(call.stream).unwrap_or_default();
        let names = calls.path(call.path).into_iter();
        let names: Vec<_> = names
            .filter_map(|region| calls.region_name(region))
            .map(|(_, name)| name)
            .collect();
        writeln!(
            out,
            "step {}, rank {}{}, thread {}: {} took {}, {}: {}",
            batch.step(),
            key.rank,
            of(key.program),
            key.thread,
            names.last().unwrap_or(&"(unknown)"),
            sample.runtime,
            judgement.label,
            names.join(" > ")
        )?;
    }
    if more > 0 {
        writeln!(out, "step {}: {more} more", batch.step())?;
    }
    for change in monitor.changes() {
        let program = calls.function_program(change.function).unwrap_or_default();
        let (step, of) = (batch.step(), of(program));
        writeln!(out, "step {step}{of}: {}", changed(calls, change))?;
    }
    for news in printed.news(monitor) {
        writeln!(out, "step {}: {news}", batch.step())?;
    }
    out.flush()?;
    Ok(true)
}
