//! A program that watches itself: spans of `tracing`, judged while it runs.
//!
//! `cargo run --release --example instrument`
//!
//! Threads relax a plate from hot to cold. Now and then one of them sweeps over its part ten times
//! instead of once: the layer finds those calls, names who called them and adds up the time they lost. The
//! three lines that do it are in [`run`]; a program that has spans already needs nothing else.

use clap::builder::RangedU64ValueParser;
use clap::{Args, CommandFactory, Parser};
use perfkit::anomaly::calls::{Calls, Runtime};
use perfkit::anomaly::provenance::{Memory, Recorder};
use perfkit::anomaly::spans::Spans;
use perfkit::anomaly::{Monitor, Report, Tail};
use perfkit::core::Job;
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

/// What the solver does.
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

/// A call that was found.
#[derive(Clone, Debug, Serialize)]
struct Found {
    step: u64,
    thread: u32,
    stack: String,
    #[serde(rename = "us")]
    micros: f64,
    #[serde(rename = "expected_us")]
    expected: f64,
}

/// The work: arguments in, text out.
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

    // Who has one program only calls `.init()` on the registry instead.
    relax(plan, &watched);
    let mut report = watching.finish().map_err(input)?;
    draw(&mut report, &files)?;
    let found = found.lock().map(|found| found.clone()).unwrap_or_default();
    match as_json {
        true => {
            let calls = report.losses.total().calls;
            let anomalies = &found;
            output::json(out, &Document { calls, anomalies })
        }
        false => write_text(&report, &found, out),
    }
}

/// Where pictures or a page were asked for, the calls with what is known around them.
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

/// Keeps the calls of a step that took too long.
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
    let rows = report
        .losses
        .worst_functions()
        .into_iter()
        .map(|(function, loss)| {
            vec![
                report.calls.function_name(function),
                grouped(loss.calls),
                grouped(loss.too_slow),
                format!("{:.3}", loss.time.0 as f64 / 1e6),
            ]
        });
    let rows: Vec<_> = rows.collect();
    table::write(out, &["function", "calls", "too slow", "ms lost"], &rows)?;
    let mut worst = found.to_vec();
    worst.sort_by(|one, other| {
        (other.micros - other.expected).total_cmp(&(one.micros - one.expected))
    });
    let rows = worst.iter().take(10).map(|found| {
        vec![
            found.stack.clone(),
            found.thread.to_string(),
            found.step.to_string(),
            format!("{:.1}", found.micros),
            format!("{:.1}", found.expected),
        ]
    });
    let rows: Vec<_> = rows.collect();
    if !rows.is_empty() {
        writeln!(out)?;
        table::write(
            out,
            &["worst calls", "thread", "step", "us", "expected"],
            &rows,
        )?;
    }
    Ok(())
}

/// The output with `--json`.
#[derive(Serialize)]
struct Document<'a> {
    /// Number of calls that were judged.
    calls: u64,
    anomalies: &'a [Found],
}

/// Side of a thread's part of the plate, in cells.
const SIDE: usize = 96;

/// The program that is watched: each thread relaxes its part, then all wait for each other.
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
