//! Which calls of a program are abnormal, on which rank, and what they cost: from a stream of events
//! that may still grow, or from a recording that is replayed.
//!
//! `cargo run --release --example detect -- data/recordings/nwchem-md-4`

#[path = "detect/asked.rs"]
mod asked;

use asked::{Asked, Method, USAGE, facts, means_something, parse, spare_sources, title, usage};
use perfkit::anomaly::calls::{Calls, Repair};
use perfkit::anomaly::provenance::{Lines, Memory, Recorder, Store, open};
use perfkit::anomaly::{
    self, Copod, Detector, Drift, Hbos, Monitor, Replay, Sstd, StrictParams, Tail,
};
use perfkit::core::{Diagnostics, EventSource, Job, fits};
use perfkit::formats::OpenOptions;
use perfkit::formats::adios::Adios;
use perfkit::formats::streams::{Follow, Streams};
use perfkit::view::Section;
use perfkit::view::anomaly::{Anomalies, Picture, View};
use perfkit_examples::cli::{self, Failure, Outcome, input};
use perfkit_examples::detected::source::{self, Source};
use perfkit_examples::detected::{Detected, Shown, changed};
use perfkit_examples::drawn;
use perfkit_examples::findings;
use perfkit_examples::live::Server;
use perfkit_examples::progress::Bar;
use perfkit_examples::recording;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main(USAGE, run)
}

/// The work: arguments in, text out.
pub(crate) fn run(args: &[OsString], out: &mut dyn Write) -> Outcome {
    let mut asked = parse(args)?;
    asked.draws = !asked.drawn.is_empty();
    let (as_json, files) = (asked.as_json, asked.drawn.clone());
    let title = title(&asked);
    let found = find(asked, out)?;
    match as_json {
        true => writeln!(out, "{}", found.json())?,
        false => found.text(out)?,
    }
    if let Some(anomalies) = found.drawn() {
        let scene = || Ok(Picture::new(anomalies).titled(&title).scene());
        files.write(&title, scene, || Ok(vec![section(anomalies, &title)?]))?;
    }
    found.outcome()
}

/// The part of a page.
pub(crate) fn section(found: &Anomalies, heading: &str) -> Result<Section, Failure> {
    let view = View::new(found).named(heading, "anomalies");
    let section = view.section(&Bar::job());
    section.map_err(drawn::failed)
}

/// What is to be drawn, and nothing else.
#[allow(dead_code, reason = "for the report of the tour")]
pub(crate) fn anomalies(args: &[OsString]) -> Result<Anomalies, Failure> {
    let mut asked = parse(args)?;
    asked.draws = true;
    let found = find(asked, &mut std::io::sink())?;
    let drawn = found.drawn().cloned();
    found.outcome()?;
    drawn.ok_or_else(|| Failure::Input("nothing was recorded".into()))
}

fn find(mut asked: Asked, out: &mut dyn Write) -> Result<Detected, Failure> {
    let (kind, files) = source::find(&asked.files, asked.follow)?;
    asked.files = files;
    spare_sources(&asked, kind)?;
    means_something(&asked, kind)?;
    // What cannot be read is said before anything is written.
    let other = asked.compare.as_ref().map(open).transpose();
    let mut other = other.map_err(input)?;
    let monitor = monitor(&asked)?;
    let ((monitor, steps), diagnostics) = match kind {
        Source::Text => watch_text(&asked, monitor, out)?,
        Source::Adios => watch_adios(&asked, monitor, out)?,
        Source::Trace => replay(&asked, monitor, out)?,
    };
    let shown = Shown {
        files: asked.files.clone(),
        method: asked.method.name(),
        ranking: asked.ranking,
        provenance: asked.provenance.clone(),
        prune: asked.prune,
        top: asked.top,
        draws: asked.draws,
    };
    let mut found = Detected::new(shown, monitor, steps, diagnostics)?;
    if let (Some(path), Some(other)) = (&asked.compare, &mut other) {
        found.compare(path, &mut **other)?;
    }
    Ok(found)
}

fn monitor(asked: &Asked) -> Result<Monitor, Failure> {
    let strict = || StrictParams::default().check();
    let tail = || {
        let params = Tail::params();
        match asked.false_alarms {
            Some(per_million) => params.false_positives(per_million).check(),
            None => params.check(),
        }
    };
    let detector: Box<dyn Detector> = match asked.method {
        Method::Default => {
            let wrong = |error| Failure::Usage(format!("--false-alarms: {error}"));
            Box::new(Tail::new(tail().map_err(wrong)?))
        }
        Method::Sstd => Box::new(Sstd::new(strict().map_err(usage)?)),
        Method::Hbos => Box::new(Hbos::new(strict().map_err(usage)?)),
        Method::Copod => Box::new(Copod::new(strict().map_err(usage)?)),
    };
    // What is to be compared with another tool's labels sees the calls which that tool sees.
    let repair = match asked.method {
        Method::Default => Repair::Mend,
        _ => Repair::Strict,
    };
    let params = Calls::params()
        .repair(repair)
        .model_by(asked.model)
        .runtime(asked.runtime);
    let calls = Calls::new(params.check().map_err(usage)?);
    let recorder = facts(asked, repair).into_iter();
    let recorder = recorder.fold(Recorder::params(), |one, (name, value)| {
        one.fact(name, value)
    });
    let run = asked.run.as_deref().unwrap_or_default();
    let (url, job) = (asked.server.as_deref(), asked.token.as_deref());
    let server = Server::open(url, job, run, &asked.files)?;
    let store = server.keep(store(asked)?);
    let recorder = Recorder::new(recorder.check().map_err(usage)?, store);
    let drift = Drift::new(Drift::params().check().map_err(usage)?);
    let mut monitor = Monitor::new(calls, detector)
        .record(recorder)
        .watch_drift(drift)
        .start_over(asked.restart);
    monitor = server.share(monitor);
    // Thresholds last, so that `--ignore '*' --threshold solve=9` asks for one function alone.
    for pattern in &asked.ignore {
        monitor = monitor.ignore(pattern);
    }
    for (pattern, threshold) in &asked.thresholds {
        let with = monitor.threshold(pattern, *threshold);
        monitor = with.map_err(usage)?;
    }
    Ok(monitor)
}

fn store(asked: &Asked) -> Result<Box<dyn Store>, Failure> {
    let Some(path) = &asked.provenance else {
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

/// The monitor after the last step, and how many steps there were.
type Done = (Monitor, u64);

/// How a source that grows is followed.
fn follow(asked: &Asked) -> Option<Follow> {
    let idle = asked.idle.map(|idle| {
        let nanos = u64::try_from(idle.0).unwrap_or_default();
        std::time::Duration::from_nanos(nanos)
    });
    asked.follow.then(|| Follow::default().idle(idle))
}

/// Reads streams of text.
fn watch_text(
    asked: &Asked,
    monitor: Monitor,
    out: &mut dyn Write,
) -> Result<(Done, Diagnostics), Failure> {
    let mut streams = Streams::open(&asked.files, &OpenOptions::new()).map_err(input)?;
    if let Some(period) = asked.period {
        streams = streams.period(period);
    }
    if let Some(origin) = asked.origin {
        streams = streams.origin(origin);
    }
    if let Some(follow) = follow(asked) {
        streams = streams.follow(follow).map_err(input)?;
    }
    let mut done = (monitor, 0);
    loop {
        let next = streams
            .next_step(&mut done.0, &Job::default())
            .map_err(input);
        if !next.map_err(findings::explain(streams.diagnostics()))? {
            break;
        }
        if (asked.period.is_some() || asked.origin.is_some()) && !streams.used_period() {
            return Err(Failure::Usage(
                "--period and --origin are of no use: the streams say their steps".into(),
            ));
        }
        done.1 += 1;
        if !step(asked, &mut done.0, out)? {
            break;
        }
    }
    Ok((done, streams.diagnostics().clone()))
}

/// Reads what TAU writes through ADIOS2.
fn watch_adios(
    asked: &Asked,
    monitor: Monitor,
    out: &mut dyn Write,
) -> Result<(Done, Diagnostics), Failure> {
    let options = OpenOptions::new();
    let files = match follow(asked) {
        Some(follow) => Adios::following(&asked.files, follow, &options),
        None => Adios::open(&asked.files, &options),
    };
    let mut files = files.map_err(input)?;
    let mut done = (monitor, 0);
    loop {
        let next = files.next_step(&mut done.0, &Job::default()).map_err(input);
        if !next.map_err(findings::explain(files.diagnostics()))? {
            break;
        }
        done.1 += 1;
        if !step(asked, &mut done.0, out)? {
            break;
        }
    }
    Ok((done, files.diagnostics().clone()))
}

/// Replays a recording.
fn replay(
    asked: &Asked,
    mut monitor: Monitor,
    out: &mut dyn Write,
) -> Result<(Done, Diagnostics), Failure> {
    let [file, ..] = &asked.files[..] else {
        return Err(Failure::Usage("which source?".into()));
    };
    let recording = recording::open(file)?;
    let view = recording.trace.view();
    let mut replay = match asked.period {
        Some(period) => Replay::new(view, period),
        None => Replay::in_steps(view, 100),
    };
    if let Some(pace) = asked.pace {
        replay = replay.pace(pace);
    }
    let job = Bar::job();
    let mut steps = 0;
    let explain = findings::explain(&recording.diagnostics);
    while replay
        .next_step(&mut monitor, &job)
        .map_err(input)
        .map_err(&explain)?
    {
        steps += 1;
        job.advance("replaying", 1, replay.steps());
        if !step(asked, &mut monitor, out)? {
            break;
        }
    }
    Ok(((monitor, steps), recording.diagnostics))
}

/// What is to be said after a step where one follows a stream: its worst anomalies, and functions that
/// changed. Whether one goes on: where the store fails one does not.
fn step(asked: &Asked, monitor: &mut Monitor, out: &mut dyn Write) -> Result<bool, Failure> {
    // A store that fails costs its records, which are counted, and not the analysis.
    let goes_on = |error: &anomaly::Error| matches!(error, anomaly::Error::Store { .. });
    if monitor.error().is_some_and(|error| !goes_on(error)) {
        return Ok(false);
    }
    if !asked.follow || asked.as_json {
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
    let more = found.len().saturating_sub(asked.top);
    let of_stream = |id| Some(calls.stream_key(id)?.program);
    let mut programs = calls.streams().iter().filter_map(|id| of_stream(*id));
    let first = programs.next();
    // Whose something is, where there are several, or one that has a number.
    let many = programs.any(|program| Some(program) != first);
    let of = |program| match many || program != 0 {
        true => format!(" of program {program}"),
        false => String::new(),
    };
    for ((call, sample), judgement) in found.into_iter().take(asked.top) {
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
    out.flush()?;
    Ok(true)
}
