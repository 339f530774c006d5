//! Compares distributed anomaly detection with the results in Chimbuko's papers and code: labels of
//! many ranks against those of one instance, the labels of its three detectors, and data reduction.
//! With `--times` it also measures the time of detection for each rank, and the overhead on the
//! watched program.
//!
//! `cargo run --release --example chimbuko -- --times`

#[path = "chimbuko/accuracy.rs"]
mod accuracy;
#[path = "comparison.rs"]
mod comparison;
#[path = "chimbuko/program.rs"]
mod program;
#[path = "chimbuko/recorded.rs"]
mod recorded;
#[path = "chimbuko/times.rs"]
mod times;

use comparison::{Compared, Options};
use perf_testdata::bundled::recording as bundled;
use perfkit::anomaly::calls::{Calls, Repair};
use perfkit::anomaly::provenance::{Recorder, Reduction};
use perfkit::anomaly::server::{Client, Local, Schedule, Server};
use perfkit::anomaly::{
    Copod, Detector, Hbos, Monitor, Replay, Result as Detected, Sstd, StrictParams, Tail,
};
use perfkit::core::{EventSink, EventSource, Job};
use perfkit::view::anomaly::{Anomalies, Picture, View};
use perfkit_cli::failure::{self, Failure, Outcome, input};
use perfkit_cli::pictures::failed;
use perfkit_cli::recording;
use program::Program;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

const WHAT: &str =
    "Redoes what is published of Chimbuko: labels of many ranks against one instance, labels of its
detectors, data reduction, and with --times the time a rank takes and the overhead.";

fn main() -> ExitCode {
    failure::main(command(), run)
}

fn command() -> clap::Command {
    comparison::command("chimbuko", WHAT)
}

/// Runs the experiment with these arguments and writes its tables.
pub(crate) fn run(args: &[OsString], out: &mut dyn Write) -> Outcome {
    let options = Options::parse(command(), args)?;
    let mut tables = vec![
        Some(accuracy::accuracy().map_err(input)?),
        Some(recorded::server()?),
        Some(reduction()?),
        recorded::labels(&options)?,
    ];
    let skipped = tables[3].is_none().then(|| "corpus absent".to_string());
    if options.times {
        tables.push(Some(times::ranks().map_err(input)?));
        tables.push(Some(times::overhead().map_err(input)?));
    }
    draw(&options)?;
    comparison::write(&tables, skipped.as_slice(), options.json, out)
}

#[derive(Clone, Copy, PartialEq)]
enum Method {
    Tail,
    Sstd,
    Hbos,
    Copod,
}

/// Returns a monitor of one instance. Chimbuko's detectors get the same calls as Chimbuko passes to
/// them.
fn monitor(method: Method) -> Detected<Monitor> {
    let strict = || StrictParams::default().check();
    let detector: Box<dyn Detector> = match method {
        Method::Tail => Box::new(Tail::new(Tail::params().learn_first(true).check()?)),
        Method::Sstd => Box::new(Sstd::new(strict()?)),
        Method::Hbos => Box::new(Hbos::new(strict()?)),
        Method::Copod => Box::new(Copod::new(strict()?)),
    };
    let repair = match method {
        Method::Tail => Repair::Mend,
        _ => Repair::Strict,
    };
    let calls = Calls::params().repair(repair).check()?;
    Ok(Monitor::new(Calls::new(calls), detector))
}

/// Returns one monitor for each rank. They exchange their models through a parameter server after
/// each step.
fn shared(method: Method, ranks: u32) -> Detected<Vec<Monitor>> {
    let server = Local::new(Server::default());
    let one = |rank| {
        let schedule = Schedule::every(1)?.staggered(rank);
        let client = Client::new(rank.into(), server.clone()).schedule(schedule);
        Ok(monitor(method)?.share(client))
    };
    (0..ranks).map(one).collect()
}

const STEPS: u64 = 100;

/// Returns a recorder in memory with five calls on either side, like Chimbuko's provenance.
fn recorder() -> Detected<Recorder> {
    Ok(Recorder::default())
}

fn kept(monitor: Monitor) -> Result<Reduction, Failure> {
    let report = monitor.finish().map_err(input)?;
    Ok(report
        .store
        .map(|(_, reduction)| reduction)
        .unwrap_or_default())
}

fn reduction() -> Result<Compared, Failure> {
    const WHY: &str = "of their largest run of NWChem, without filters; it depends on how many calls are abnormal and on the length of the run";
    let mut table = Compared::new(
        "Data reduction: bytes of all events over bytes that are kept",
        "published",
    );
    for (method, name) in [(Method::Tail, "default detector"), (Method::Sstd, "SSTD")] {
        let trace = recording::open(&bundled("nwchem-md-4"))?.trace;
        let mut one = monitor(method)
            .map_err(input)?
            .record(recorder().map_err(input)?);
        let mut replay = Replay::in_steps(trace.view(), 100);
        while replay.next_step(&mut one, &Job::default()).map_err(input)? {}
        let factor = kept(one)?.factor().unwrap_or(f64::NAN);
        table.row(
            format!("NWChem on 4 ranks (nwchem-md-4), {name}"),
            "148",
            (factor, 1),
            WHY,
        );
        let mut program = Program::new(64);
        let mut one = monitor(method)
            .map_err(input)?
            .record(recorder().map_err(input)?);
        for step in 0..STEPS {
            (0..64).for_each(|rank| program.push(rank, &mut one));
            one.end_step(step);
        }
        let factor = kept(one)?.factor().unwrap_or(f64::NAN);
        table.row(
            format!("generated, 64 ranks, 1 of 500 calls slow, {name}"),
            "148",
            (factor, 1),
            WHY,
        );
    }
    Ok(table)
}

/// Draws the ranking of ranks, as Chimbuko's page shows it.
fn draw(options: &Options) -> Outcome {
    if options.files.is_empty() {
        return Ok(());
    }
    const TITLE: &str = "Abnormal calls of a generated program on 16 ranks";
    let mut program = Program::new(16);
    let mut one = monitor(Method::Tail)
        .map_err(input)?
        .record(recorder().map_err(input)?);
    for step in 0..STEPS {
        (0..16).for_each(|rank| program.push(rank, &mut one));
        one.end_step(step);
    }
    let found = Anomalies::of(&mut one.finish().map_err(input)?).map_err(failed)?;
    let section = || {
        View::new(&found)
            .named(TITLE, "anomalies")
            .section(&Job::default())
    };
    let scene = || Ok(Picture::new(&found).titled(TITLE).scene());
    options
        .files
        .write(TITLE, scene, || Ok(vec![section().map_err(failed)?]))
}
