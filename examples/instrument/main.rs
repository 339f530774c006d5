//! Program that watches itself: spans of `tracing` are judged while it runs.
//!
//! `cargo run --release --example instrument`
//!
//! Threads relax a hot plate until it is cold. Sometimes one of them sweeps over its part ten times
//! instead of once. The layer finds those calls, names their callers and sums the time they lost.
//! The three lines that watch the program are in [`run`]; a program that already has spans needs
//! nothing else.

use clap::builder::RangedU64ValueParser;
use clap::{Args, CommandFactory, Parser};
use perfkit::anomaly::calls::{Calls, Runtime};
use perfkit::anomaly::provenance::{Memory, Recorder};
use perfkit::anomaly::spans::Spans;
use perfkit::anomaly::{Monitor, Report, Tail};
use perfkit::core::{Job, Table};
use perfkit::view::anomaly::{Anomalies, Picture, View};
use perfkit_cli::failure::{self, Outcome, input};
use perfkit_cli::output;
use perfkit_cli::pictures::{self, Files};
use perfkit_cli::table::{self, grouped};
use serde::Serialize;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;
use tracing::info_span;
use tracing_subscriber::prelude::*;

/// Relaxes a plate on several threads, which watch themselves, and lists the abnormal calls
#[derive(Debug, Parser)]
#[command(name = "instrument")]
struct Options {
    #[command(flatten)]
    plan: Plan,
    #[command(flatten)]
    files: Files,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    failure::main(Options::command(), run)
}

/// Arguments of the solver.
#[derive(Args, Clone, Copy, Debug)]
struct Plan {
    /// Threads, 1 to 256
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = RangedU64ValueParser::<usize>::new().range(1..=256))]
    threads: usize,
    /// Steps of the solver
    #[arg(long, value_name = "N", default_value_t = 2000)]
    steps: usize,
    /// One thread is slow once in N steps, 0 for never
    #[arg(long, value_name = "N", default_value_t = 400)]
    slow: usize,
}

/// Abnormal call.
#[derive(Clone, Debug, Serialize)]
struct Found {
    /// Step in which the call ended.
    step: u64,
    thread: u32,
    stack: String,
    #[serde(rename = "us")]
    micros: f64,
    #[serde(rename = "expected_us")]
    expected: f64,
}

/// Runs the example with these arguments and writes its output.
pub(crate) fn run(args: &[OsString], out: &mut dyn Write) -> Outcome {
    let Options {
        plan,
        files,
        json: as_json,
    } = failure::parse(args)?;
    let calls = Calls::new(
        Calls::params()
            .runtime(Runtime::Exclusive)
            .check()
            .map_err(input)?,
    );
    let mut monitor = Monitor::new(calls, Box::new(Tail::default()));
    if !files.is_empty() {
        let params = Recorder::params().check().map_err(input)?;
        monitor = monitor.record(Recorder::new(params, Box::new(Memory::new())));
    }
    let found = Arc::new(Mutex::new(Vec::new()));
    let list = Arc::clone(&found);

    // These three lines watch the program.
    let spans = Spans::new(monitor).period(Duration::from_millis(100));
    let (layer, watching) = spans
        .each_step(move |monitor, step| note(monitor, step, &list))
        .start()
        .map_err(input)?;
    let watched = tracing::Dispatch::new(tracing_subscriber::registry().with(layer));

    // A program with a single registry calls `.init()` on it instead.
    relax(plan, &watched);
    let mut report = watching.finish().map_err(input)?;
    draw(&mut report, &files)?;
    let found = found.lock().map(|found| found.clone()).unwrap_or_default();
    if as_json {
        let calls = report.losses.total().calls;
        let anomalies = &found;
        output::json(out, &Document { calls, anomalies })
    } else {
        write_text(&report, &found, out)
    }
}

/// Draws the abnormal calls with their context, if pictures or a page were requested.
fn draw(report: &mut Report, files: &Files) -> Outcome {
    if files.is_empty() {
        return Ok(());
    }
    const TITLE: &str = "This program: its abnormal calls";
    let found = Anomalies::of(report).map_err(pictures::failed)?;
    let scene = || Ok(Picture::new(&found).titled(TITLE).scene());
    files.write(TITLE, scene, || {
        let view = View::new(&found).named(TITLE, "anomalies");
        let section = view.section(&Job::default());
        Ok(vec![section.map_err(pictures::failed)?])
    })
}

/// Stores the calls of a step that took too long.
fn note(monitor: &mut Monitor, step: u64, list: &Mutex<Vec<Found>>) {
    let Ok(mut list) = list.lock() else { return };
    let (batch, calls) = (monitor.batch(), monitor.calls());
    for (stream, rows) in batch.streams() {
        let thread = calls.stream_key(*stream).map_or(0, |key| key.thread);
        let judged = batch
            .calls()
            .iter()
            .zip(batch.samples())
            .zip(monitor.judgements());
        for ((call, sample), judgement) in judged.skip(rows.start).take(rows.len()) {
            if !judgement.label.is_slow() {
                continue;
            }
            let stack = calls.path(call.path).into_iter();
            let stack = stack.filter_map(|region| calls.region_name(region));
            let stack: Vec<&str> = stack.map(|(_, name)| name).collect();
            let micros = |nanos: i64| nanos as f64 / 1e3;
            list.push(Found {
                step,
                thread,
                stack: stack.join(" > "),
                micros: micros(sample.runtime.0),
                expected: micros(sample.runtime.0 - judgement.severity(sample).0),
            });
        }
    }
}

fn write_text(report: &Report, found: &[Found], out: &mut dyn Write) -> Outcome {
    let total = report.losses.total();
    writeln!(
        out,
        "{} calls, {} abnormal",
        grouped(total.calls),
        found.len()
    )?;
    writeln!(out)?;
    let functions = report.losses.worst_functions();
    let functions = || functions.iter();
    let name = |function| report.calls.function_name(function);
    let table = Table::new("functions", "Anomalies of each function.")
        .text("function", functions().map(|(function, _)| name(*function)))
        .unsigned("calls", "", functions().map(|(_, loss)| loss.calls))
        .unsigned("too slow", "", functions().map(|(_, loss)| loss.too_slow))
        .times("time lost", functions().map(|(_, loss)| loss.time));
    table::print(out, &table, 60)?;
    let mut worst = found.to_vec();
    worst.sort_by(|one, other| {
        (other.micros - other.expected).total_cmp(&(one.micros - one.expected))
    });
    worst.truncate(10);
    if !worst.is_empty() {
        let table = Table::new("worst calls", "Calls that lost most time.")
            .text("worst calls", worst.iter().map(|one| one.stack.as_str()))
            .unsigned("thread", "", worst.iter().map(|one| one.thread))
            .unsigned("step", "", worst.iter().map(|one| one.step))
            .floats("time", "us", worst.iter().map(|one| one.micros))
            .floats("expected", "us", worst.iter().map(|one| one.expected));
        writeln!(out)?;
        table::print(out, &table, 60)?;
    }
    Ok(())
}

/// Output with `--json`.
#[derive(Serialize)]
struct Document<'a> {
    /// Number of judged calls.
    calls: u64,
    anomalies: &'a [Found],
}

/// Side length of a thread's part of the plate, in cells.
const SIDE: usize = 96;

/// Program under observation: each thread relaxes its part, then all wait at a barrier.
fn relax(plan: Plan, watched: &tracing::Dispatch) {
    let barrier = Barrier::new(plan.threads);
    std::thread::scope(|scope| {
        for thread in 0..plan.threads {
            let barrier = &barrier;
            scope.spawn(move || {
                tracing::dispatcher::with_default(watched, || part(plan, thread, barrier));
            });
        }
    });
}

fn part(plan: Plan, thread: usize, barrier: &Barrier) {
    let mut cells = vec![0.0_f64; SIDE * SIDE];
    cells[..SIDE].fill(100.0);
    for step in 0..plan.steps {
        let _step = info_span!("step", step).entered();
        let is_slow = plan.slow > 0
            && step % plan.slow == plan.slow - 1
            && step / plan.slow % plan.threads == thread;
        info_span!("sweep").in_scope(|| {
            for _ in 0..if is_slow { 10 } else { 1 } {
                sweep(&mut cells);
            }
        });
        info_span!("residual").in_scope(|| std::hint::black_box(cells.iter().sum::<f64>()));
        info_span!("wait").in_scope(|| barrier.wait());
    }
}

fn sweep(cells: &mut [f64]) {
    for row in 1..SIDE - 1 {
        for at in row * SIDE + 1..row * SIDE + SIDE - 1 {
            let around = cells[at - 1] + cells[at + 1] + cells[at - SIDE] + cells[at + SIDE];
            cells[at] = 0.25 * around;
        }
    }
}
