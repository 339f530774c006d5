//! Measures the costs of anomaly detection: events to labels, provenance, deltas at a server,
//! merges of models, watched spans, and ranks that share their models.
//!
//! `perfkit-bench-anomaly labels|provenance [EVENTS]` runs a synthetic stream of EVENTS (default
//! 2,000,000) events: 100 functions, nested three deep, on one rank. One call in 10,000 is slow.
//! Steps have 100,000 events, which are pushed one by one. The measurement includes everything from
//! a pushed event to its label. The events of a step are generated before the step, so that memory
//! does not depend on their number.
//!
//! `perfkit-bench-anomaly server [RANKS] [FUNCTIONS] [moments|tail] [TOUCHED]` passes the encoded
//! deltas of one step of RANKS (default 10,240) ranks to a server on one core, which answers each
//! with an encoded view. Each rank called TOUCHED (default: all) of FUNCTIONS (default 100)
//! functions 50 times each, different ones on each rank. A time below 1 s means that the server
//! keeps up with one step per second.
//!
//! `perfkit-bench-anomaly merge [FUNCTIONS] [moments|tail]` merges the model of FUNCTIONS functions
//! (default 1,000) into another of the same functions; the costs are those of one merge.
//! `perfkit-bench-anomaly spans` enters watched spans of `tracing`, and spans with a layer that
//! does nothing; the cost is the difference for each span.
//!
//! `perfkit-bench-anomaly ranks [RANKS] [FUNCTIONS] [STEPS]` runs RANKS (default 80) ranks of one
//! program, each with a detector of its own, which share their models for STEPS (default 12) steps.
//! A step has ten calls of each of FUNCTIONS (default 20) functions. It prints the CPU time for
//! each rank and step (calls to labels, delta to bytes, bytes to view, view to detector), that of
//! the server for each update, and the bytes, all measured in the second half of the steps.

use perf_testdata::xorshift::Xorshift;
use perfkit::anomaly::calls::Calls;
use perfkit::anomaly::provenance::{Lines, Recorder};
use perfkit::anomaly::server::{Client, Delta, Exchange, Server, View};
use perfkit::anomaly::spans::Spans;
use perfkit::anomaly::{Detector, Monitor, Sstd, Tail};
use perfkit::core::{EventSink, Job, Nanos, RegionId, StreamEvent, StreamId, StreamKey};
use perfkit_benches::stream::Synthetic;
use perfkit_benches::{Stretches, inputs};
use std::hint::black_box;
use std::time::{Duration, Instant};
use tracing::{Dispatch, dispatcher, info_span};
use tracing_subscriber::prelude::*;

#[path = "anomaly/ranks.rs"]
mod ranks;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: usize| {
        let word = words.get(at).and_then(|word| word.parse().ok());
        word.unwrap_or(default)
    };
    match words.first().map(String::as_str) {
        Some("server") => server(
            number(1, 10_240),
            number(2, 100),
            words.get(3).is_some_and(|word| word == "tail"),
            number(4, usize::MAX),
        ),
        Some(mode @ ("labels" | "provenance")) => {
            stream(mode, number(1, 2_000_000), number(2, 100));
        }
        Some("merge") => merge(
            number(1, 1_000),
            words.get(2).is_some_and(|word| word == "tail"),
        ),
        Some("spans") => spans(),
        Some("ranks") => ranks::measure(number(1, 80), number(2, 20), number(3, 12)),
        _ => eprintln!(
            "usage: perfkit-bench-anomaly labels|provenance [EVENTS] [FUNCTIONS]
       perfkit-bench-anomaly server [RANKS] [FUNCTIONS] [moments|tail] [TOUCHED]
       perfkit-bench-anomaly merge [FUNCTIONS] [moments|tail]
       perfkit-bench-anomaly spans
       perfkit-bench-anomaly ranks [RANKS] [FUNCTIONS] [STEPS]"
        ),
    }
}

fn detector(is_tail: bool) -> Box<dyn Detector> {
    if is_tail {
        Box::new(Tail::default())
    } else {
        Box::new(Sstd::default())
    }
}

fn stream(mode: &str, events: usize, functions: usize) {
    let calls = Calls::params().context(if mode == "labels" { 0 } else { 5 });
    let calls = Calls::new(calls.check().expect("values in range"));
    let mut monitor = Monitor::new(calls, detector(true));
    let file = std::env::temp_dir().join("perfkit-bench-anomaly.jsonl");
    if mode == "provenance" {
        let store = Lines::create(&file).expect("the temporary folder can be written");
        let params = Recorder::params().check().expect("defaults");
        monitor = monitor.record(Recorder::new(params, Box::new(store)));
    }
    let stream: StreamId = monitor.stream(StreamKey::default());
    let regions: Vec<RegionId> = (0..functions)
        .map(|at| monitor.region(0, &format!("function_{at}")))
        .collect();
    let mut source = Synthetic::default();
    let mut step: Vec<(Nanos, StreamEvent)> = Vec::with_capacity(100_016);
    let (mut done, mut number) = (0, 0);
    let mut stretches = Stretches::default();
    while done < events {
        step.clear();
        while step.len() < 100_000.min(events - done) {
            source.phase(&regions, &mut step);
        }
        stretches.measure(|| {
            for (at, event) in &step {
                monitor.push(stream, *at, *event);
            }
            monitor.end_step(number);
        });
        done += step.len();
        number += 1;
    }
    let report = stretches.measure(|| monitor.finish());
    let report = report.expect("the store can be written");
    let losses = report.losses.total();
    print!(
        "{mode} events={done} functions={functions} calls={} anomalies={}",
        losses.calls,
        losses.anomalies()
    );
    if let Some((_, reduction)) = report.store {
        print!(
            " raw_bytes={} kept_bytes={} reduction={:.0}",
            reduction.raw_bytes,
            reduction.kept_bytes,
            reduction.factor().unwrap_or_default()
        );
    }
    println!(" {}", stretches.costs(1));
    // The file is in the temporary folder, so a failure to remove it is harmless.
    let _ = std::fs::remove_file(file);
}

/// Exchange that stores the sent bytes, and answers on request.
#[derive(Debug, Default)]
struct Recorded {
    sent: Vec<u8>,
    answer: Vec<u8>,
}

impl Exchange for Recorded {
    fn send(&mut self, delta: &Delta) -> perfkit::anomaly::Result<()> {
        self.sent = delta.encode();
        Ok(())
    }

    fn receive(&mut self) -> perfkit::anomaly::Result<Option<View>> {
        let answer = std::mem::take(&mut self.answer);
        if answer.is_empty() {
            Ok(None)
        } else {
            View::decode(&answer).map(Some)
        }
    }
}

/// Returns the deltas of one step of a rank, from its second message on, in which the names are
/// known.
fn deltas(functions: usize, is_tail: bool, touched: usize, server: &mut Server) -> Vec<Vec<u8>> {
    let mut random = Xorshift::new(7);
    let mut deltas = Vec::new();
    // A few ranks represent all, because the work of a server depends on the size of a message
    // only.
    for rank in 0..16_u32 {
        let mut calls = Calls::default();
        let stream = calls.stream(StreamKey {
            rank,
            ..StreamKey::default()
        });
        let regions: Vec<RegionId> = (0..functions)
            .map(|at| calls.region(0, &format!("function_{at}")))
            .collect();
        let mut detector = detector(is_tail);
        let mut client = Client::new(u64::from(rank), Recorded::default());
        let mut at = 0;
        for step in 0..2 {
            for _ in 0..50 {
                // The first step calls all functions, so that all names are known.
                let (from, count) = match step {
                    0 => (0, functions),
                    _ => (rank as usize * functions / 16, touched.min(functions)),
                };
                for region in regions.iter().cycle().skip(from).take(count) {
                    at += 100;
                    calls.push(stream, Nanos(at), StreamEvent::Enter(*region));
                    at += 10_000 + random.below(3_000) as i64;
                    calls.push(stream, Nanos(at), StreamEvent::Exit(*region));
                }
            }
            calls.end_step(step);
            let mut judgements = Vec::new();
            detector
                .detect(calls.batch().samples(), &mut judgements, &Job::default())
                .expect("not cancelled");
            let synced = client.step(&calls, &judgements, &mut *detector);
            synced.expect("it is recorded");
            let sent = client.exchange().sent.clone();
            if step == 0 {
                let delta = Delta::decode(&sent).expect("it was just written");
                let view = server.take(&delta).expect("it is sound");
                client.exchange_mut().answer = view.encode();
            } else {
                deltas.push(sent);
            }
        }
    }
    deltas
}

fn server(ranks: usize, functions: usize, is_tail: bool, touched: usize) {
    let mut server = Server::default();
    let deltas = deltas(functions, is_tail, touched, &mut server);
    let mut decoded: Vec<Delta> = deltas
        .iter()
        .map(|bytes| Delta::decode(bytes).expect("it was just written"))
        .collect();
    // Each rank sends its first message before the measured step.
    for rank in 0..ranks {
        let delta = &mut decoded[rank % deltas.len()];
        (delta.client, delta.sequence) = (rank as u64, 1);
        delta
            .steps
            .iter_mut()
            .for_each(|step| step.rank = rank as u32);
        server.take(delta).expect("it is sound");
    }
    let messages: Vec<Vec<u8>> = (0..ranks.min(2048))
        .map(|rank| {
            let delta = &mut decoded[rank % deltas.len()];
            (delta.client, delta.sequence) = (rank as u64, 2);
            delta.encode()
        })
        .collect();
    let bytes: usize = messages.iter().map(Vec::len).sum::<usize>() / messages.len();
    let (mut stretches, mut answered) = (Stretches::default(), 0);
    for round in 0..ranks.div_ceil(messages.len()) {
        let count = messages.len().min(ranks - round * messages.len());
        stretches.measure(|| {
            for message in messages.iter().take(count) {
                let mut delta = Delta::decode(message).expect("it was just written");
                delta.client += (round * messages.len()) as u64;
                delta
                    .steps
                    .iter_mut()
                    .for_each(|step| step.rank = delta.client as u32);
                let view = server.take(&delta).expect("it is sound");
                answered += view.encode().len();
            }
        });
    }
    println!(
        "server ranks={ranks} functions={functions} touched={} model={} delta_bytes={bytes} view_bytes={} {}",
        touched.min(functions),
        if is_tail { "tail" } else { "moments" },
        answered / ranks,
        stretches.costs(1)
    );
}

fn merge(functions: usize, is_tail: bool) {
    const TIMES: u32 = 2_000;
    let functions = u32::try_from(functions).expect("a number of functions");
    let mut detector = detector(is_tail);
    detector.learn(&inputs::samples(functions, 100 * functions as usize));
    let delta = detector.take_delta();
    let mut server = delta.clone();
    let mut stretches = Stretches::default();
    stretches.measure(|| {
        for _ in 0..TIMES {
            server
                .merge(black_box(&delta))
                .expect("they are of one kind");
        }
    });
    println!("functions={functions} {}", stretches.costs(TIMES));
}

/// Measures the wall time of a span on the thread of the program, because the calls are judged on
/// another thread.
fn spans() {
    const SPANS: u32 = 4_000;
    const TURNS: u32 = 100;
    let registry = Dispatch::new(tracing_subscriber::registry());
    let calls = Calls::default();
    let (layer, watching) = Spans::new(Monitor::new(calls, detector(true)))
        .start()
        .expect("a thread can be started");
    let watched = Dispatch::new(tracing_subscriber::registry().with(layer));
    let each = |subscriber: &Dispatch| {
        dispatcher::with_default(subscriber, || {
            let started = Instant::now();
            for _ in 0..SPANS {
                info_span!("work").in_scope(|| black_box(1));
            }
            started.elapsed()
        })
    };
    // Use the minimum over many turns. Both variants alternate, and wait until the other thread has
    // judged the calls.
    let (mut least, mut base) = (Duration::MAX, Duration::MAX);
    for _ in 0..TURNS {
        base = base.min(each(&registry));
        least = least.min(each(&watched));
        std::thread::sleep(Duration::from_millis(5));
    }
    let left_out = watching.left_out();
    watching.finish().expect("no store and no server");
    let beyond = least.saturating_sub(base).as_secs_f64() / f64::from(SPANS);
    let peak = perfkit_benches::peak_memory().unwrap_or_default();
    println!("spans=1 left_out={left_out} cpu_s={beyond:.9} wall_s={beyond:.9} rss_kb={peak}");
}
