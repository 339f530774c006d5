//! Which calls of a program are abnormal, on which rank, and what they cost: from a stream of events
//! that may still grow, or from a recording that is replayed.
//!
//! `cargo run --release --example detect -- data/recordings/nwchem-md-4`

use perfkit::anomaly::calls::{Calls, ModelBy, Repair, Runtime};
use perfkit::anomaly::provenance::{Lines, Memory, Recorder, Store, open};
use perfkit::anomaly::server::Ranking;
use perfkit::anomaly::{Copod, Detector, Drift, Hbos, Monitor, Replay, Sstd, StrictParams, Tail};
use perfkit::core::{CancelToken, Diagnostics, EventSource, Nanos, Progress, fits};
use perfkit::formats::OpenOptions;
use perfkit::formats::adios::Adios;
use perfkit::formats::streams::{Follow, Streams};
use perfkit::view::Section;
use perfkit::view::anomaly::{Anomalies, Picture, View};
use perfkit_examples::cli::{self, Failure, Outcome, input};
use perfkit_examples::detected::source::{self, Source};
use perfkit_examples::detected::{Detected, Shown, changed};
use perfkit_examples::drawn::{self, Files};
use perfkit_examples::live::Server;
use perfkit_examples::progress::Bar;
use perfkit_examples::recording::{self, parse_time};
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "usage: detect SOURCE... [OPTIONS]

Finds abnormal calls, ranks and functions, and shows the worst calls with their call stacks.

  SOURCE              streams of events, one or one a rank, or a folder of them: .tsv, .ndjson, .jsonl,
                      also .gz; .bp files of TAU's ADIOS2 plug-in, or a folder of them; or one
                      recording: OTF2 archive, Paraver trace
  --method METHOD     default, or as Chimbuko does: sstd, hbos, copod
  --false-alarms N    default method: most alarms expected in a million calls when nothing is wrong,
                      default 10
  --by WHAT           what has a model of its own: function (default) or path
  --runtime WHAT      what is judged: exclusive time (default) or inclusive
  --ignore GLOB       neither judges nor learns these functions; may be repeated
  --threshold GLOB=X  another threshold for these functions, in the unit of the method: false alarms
                      in a million, deviations (sstd), part of the range of scores (hbos, copod)
  --period T          length of a step of streams that do not say it, default 1s, and of a recording,
                      default a hundredth of it
  --rank-by WHAT      order of the ranks: total (default), mean, deviation, minimum, maximum of their
                      anomalies a step, or time
  --provenance OUT    writes all that is known of each anomaly: JSON Lines, or a database if OUT ends
                      in .sqlite or .db (feature `sqlite`)
  --compare STORE     shows which functions lost more or less time than in another run, by what that
                      run wrote with --provenance
  --prune             judges what was written again, by the model at the end
  --server URL        tells all of it to a parameter server, and judges by what all that tell it know
                      (feature `live`)
  --token FILE        with --server: the file with the token of its writers
  --restart           starts over with a function that became slower or faster for good
  --follow            waits for more at the end of streams, and prints anomalies as they come; .bp files
                      and folders of them may come later
  --idle T            with --follow: ends when nothing came for so long
  --pace X            replays a recording X times as fast as it was made
  --top N             ranks, functions and calls to list, default 5
  --png OUT           also draws ranks, steps, the worst function and the worst call
  --html OUT          also writes a page: from rank to step to function to call stack
  --json              one JSON object instead of text";

fn main() -> ExitCode {
    cli::main(USAGE, run)
}

/// What is asked for.
#[derive(Debug)]
struct Asked {
    files: Vec<PathBuf>,
    method: Method,
    false_alarms: Option<f64>,
    model: ModelBy,
    runtime: Runtime,
    ignore: Vec<String>,
    thresholds: Vec<(String, f64)>,
    period: Option<Nanos>,
    ranking: Ranking,
    provenance: Option<PathBuf>,
    compare: Option<PathBuf>,
    prune: bool,
    server: Option<String>,
    token: Option<PathBuf>,
    restart: bool,
    follow: bool,
    idle: Option<Nanos>,
    pace: Option<f64>,
    top: usize,
    drawn: Files,
    draws: bool,
    as_json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Method {
    Default,
    Sstd,
    Hbos,
    Copod,
}

impl Method {
    const ALL: [(Method, &str); 4] = [
        (Method::Default, "default"),
        (Method::Sstd, "sstd"),
        (Method::Hbos, "hbos"),
        (Method::Copod, "copod"),
    ];

    fn name(self) -> &'static str {
        let found = Method::ALL.iter().find(|(one, _)| *one == self);
        found.map_or("default", |(_, name)| name)
    }
}

/// One of a list of words.
fn one_of<T: Copy>(option: &str, word: &str, all: &[(T, &str)]) -> Result<T, Failure> {
    let found = all.iter().find(|(_, name)| *name == word);
    found.map(|(one, _)| *one).ok_or_else(|| {
        let names: Vec<_> = all.iter().map(|(_, name)| *name).collect();
        Failure::Usage(format!("{option} `{word}`: expected {}", names.join(", ")))
    })
}

fn parse(args: &[OsString]) -> Result<Asked, Failure> {
    use lexopt::prelude::*;
    let mut asked = Asked {
        files: Vec::new(),
        method: Method::Default,
        false_alarms: None,
        model: ModelBy::Function,
        runtime: Runtime::Exclusive,
        ignore: Vec::new(),
        thresholds: Vec::new(),
        period: None,
        ranking: Ranking::Total,
        provenance: None,
        compare: None,
        prune: false,
        server: None,
        token: None,
        restart: false,
        follow: false,
        idle: None,
        pace: None,
        top: 5,
        drawn: Files::default(),
        draws: false,
        as_json: false,
    };
    let models = [(ModelBy::Function, "function"), (ModelBy::CallPath, "path")];
    let runtimes = [
        (Runtime::Exclusive, "exclusive"),
        (Runtime::Inclusive, "inclusive"),
    ];
    let mut parser = lexopt::Parser::from_args(args);
    let text = |parser: &mut lexopt::Parser| parser.value()?.string();
    while let Some(arg) = parser.next()? {
        match arg {
            Long("method") => {
                asked.method = one_of("--method", &text(&mut parser)?, &Method::ALL)?;
            }
            Long("false-alarms") => {
                asked.false_alarms = Some(parser.value()?.parse()?);
            }
            Long("by") => asked.model = one_of("--by", &text(&mut parser)?, &models)?,
            Long("runtime") => {
                asked.runtime = one_of("--runtime", &text(&mut parser)?, &runtimes)?;
            }
            Long("ignore") => asked.ignore.push(text(&mut parser)?),
            Long("threshold") => {
                let word = text(&mut parser)?;
                let rule = word.rsplit_once('=');
                let rule = rule.and_then(|(glob, x)| Some((glob.to_string(), x.parse().ok()?)));
                let wrong = || Failure::Usage(format!("--threshold `{word}`: expected GLOB=X"));
                asked.thresholds.push(rule.ok_or_else(wrong)?);
            }
            Long("period") => asked.period = Some(above_0(parse_time(&text(&mut parser)?)?)?),
            Long("rank-by") => {
                let parsed = text(&mut parser)?.parse();
                asked.ranking = parsed.map_err(usage)?;
            }
            Long("provenance") => asked.provenance = Some(PathBuf::from(parser.value()?)),
            Long("compare") => asked.compare = Some(PathBuf::from(parser.value()?)),
            Long("prune") => asked.prune = true,
            Long("server") => asked.server = Some(text(&mut parser)?),
            Long("token") => asked.token = Some(PathBuf::from(parser.value()?)),
            Long("restart") => asked.restart = true,
            Long("follow") => asked.follow = true,
            Long("idle") => asked.idle = Some(parse_time(&text(&mut parser)?)?),
            Long("pace") => asked.pace = Some(parser.value()?.parse()?),
            Long("top") => asked.top = parser.value()?.parse()?,
            Long("png") => asked.drawn.png = Some(parser.value()?.into()),
            Long("html") => asked.drawn.html = Some(parser.value()?.into()),
            Long("json") => asked.as_json = true,
            Short('h') | Long("help") => return Err(Failure::Help),
            Value(path) => asked.files.push(PathBuf::from(path)),
            other => return Err(other.unexpected().into()),
        }
    }
    if asked.files.is_empty() {
        return Err(Failure::Usage("which source?".into()));
    }
    if asked.token.is_some() && asked.server.is_none() {
        return Err(Failure::Usage("--token is for --server".into()));
    }
    if asked.idle.is_some() && !asked.follow {
        return Err(Failure::Usage("--idle is for --follow".into()));
    }
    if asked.false_alarms.is_some() && asked.method != Method::Default {
        return Err(Failure::Usage(
            "--false-alarms is for the default method".into(),
        ));
    }
    if asked
        .pace
        .is_some_and(|pace| !(pace > 0.0 && pace.is_finite()))
    {
        return Err(Failure::Usage("--pace must be above 0".into()));
    }
    Ok(asked)
}

fn above_0(time: Nanos) -> Result<Nanos, Failure> {
    match time.0 > 0 {
        true => Ok(time),
        false => Err(Failure::Usage("--period must be above 0".into())),
    }
}

/// Parameters that the library refuses come from the arguments.
fn usage(error: perfkit::anomaly::Error) -> Failure {
    Failure::Usage(error.to_string())
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

fn title(asked: &Asked) -> String {
    let names = asked.files.iter().map(|file| drawn::name(file));
    let names: Vec<String> = names.take(3).collect();
    format!("{}: abnormal calls", names.join(", "))
}

/// The part of a page.
pub(crate) fn section(found: &Anomalies, heading: &str) -> Result<Section, Failure> {
    let view = View::new(found).named(heading, "anomalies");
    let section = view.section(&Bar::new(), &CancelToken::new());
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

/// Options that the source has no use for are wrong.
fn means_something(asked: &Asked, kind: Source) -> Outcome {
    let wrong = |what: &str| Err(Failure::Usage(what.into()));
    match kind {
        Source::Trace if asked.follow => wrong("--follow is for streams, not for recordings"),
        Source::Text | Source::Adios if asked.pace.is_some() => {
            wrong("--pace is for recordings; streams are read as fast as they come")
        }
        Source::Adios if asked.period.is_some() => {
            wrong("--period is of no use: .bp files say their steps")
        }
        _ => Ok(()),
    }
}

/// Sources must be there before anything is written, unless one waits for them, and must not be what is
/// written.
fn spare_sources(asked: &Asked, kind: Source) -> Outcome {
    if let (Some(other), Some(written)) = (&asked.compare, &asked.provenance) {
        cli::spare(other, written)?;
    }
    for file in &asked.files {
        if !(asked.follow && kind == Source::Adios) {
            let found = std::fs::metadata(file);
            found.map_err(|error| Failure::Input(format!("{}: {error}", file.display())))?;
        }
        for written in asked.provenance.iter().chain(asked.drawn.all()) {
            cli::spare(file, written)?;
        }
    }
    Ok(())
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
        Method::Default => Box::new(Tail::new(tail().map_err(usage)?)),
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
    let server = Server::open(asked.server.as_deref(), asked.token.as_deref())?;
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

/// What was asked for, for whoever reads the records; thresholds and what is ignored the monitor adds.
fn facts(asked: &Asked, repair: Repair) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("program", "detect".to_string()),
        ("method", asked.method.name().into()),
        ("model by", format!("{:?}", asked.model)),
        ("run time", format!("{:?}", asked.runtime)),
        ("repair", format!("{repair:?}")),
    ];
    let period = asked.period.map(|period| period.to_string());
    let pace = asked.pace.map(|pace| pace.to_string());
    for (name, value) in [("period", period), ("pace", pace)] {
        facts.extend(value.map(|value| (name, value)));
    }
    for (name, is_so) in [
        ("prune", asked.prune),
        ("restart", asked.restart),
        ("follow", asked.follow),
    ] {
        facts.extend(is_so.then(|| (name, is_so.to_string())));
    }
    let files = asked.files.iter();
    facts.extend(files.map(|file| ("source", file.display().to_string())));
    facts
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
    if let Some(follow) = follow(asked) {
        streams = streams.follow(follow).map_err(input)?;
    }
    let mut done = (monitor, 0);
    while streams.next_step(&mut done.0).map_err(input)? {
        if asked.period.is_some() && !streams.used_period() {
            return Err(Failure::Usage(
                "--period is of no use: the streams say their steps".into(),
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
    while files.next_step(&mut done.0).map_err(input)? {
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
    let replay = match asked.period {
        Some(period) => Replay::new(view, period),
        None => Replay::in_steps(view, 100),
    };
    let mut replay = replay.cancel(CancelToken::new());
    if let Some(pace) = asked.pace {
        replay = replay.pace(pace);
    }
    let bar = Bar::new();
    let mut steps = 0;
    while replay.next_step(&mut monitor).map_err(input)? {
        steps += 1;
        bar.advance("replaying", 1, replay.steps());
        if !step(asked, &mut monitor, out)? {
            break;
        }
    }
    Ok(((monitor, steps), recording.diagnostics))
}

/// What is to be said after a step where one follows a stream: its worst anomalies, and functions that
/// changed. Whether one goes on: where the store fails one does not.
fn step(asked: &Asked, monitor: &mut Monitor, out: &mut dyn Write) -> Result<bool, Failure> {
    if monitor.error().is_some() {
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
    // Whose something is, where there are several.
    let many = programs.any(|program| Some(program) != first);
    let of = |program| match many {
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
