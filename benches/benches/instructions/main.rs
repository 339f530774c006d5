//! Instruction counts of hot paths, with limits. `cargo xtask ci` runs them under valgrind.
//!
//! The counts are the same in each run, regardless of the load of the machine. A limit is the count
//! of the last accepted measurement plus 5 %, or plus 2 % for the path from events to labels and
//! records. A change that exceeds a limit must be improved, or the limit is raised with a comment
//! that gives the reason. Default features are disabled, because the work of a second thread is not
//! counted reliably: `cargo bench -p perfkit-benches --no-default-features --bench instructions`.

#![allow(missing_docs, reason = "the items are those of gungraun's macros")]

mod clusters;
mod readers;

use clusters::clustering;
use gungraun::{
    Callgrind, EventKind, LibraryBenchmarkConfig, library_benchmark, library_benchmark_group, main,
};
use perfkit::anomaly::calls::Calls;
use perfkit::anomaly::provenance::{Memory, Recorder};
use perfkit::anomaly::server::{Client, Delta, Exchange, Server, View};
use perfkit::anomaly::spans::{Spans, Watching};
use perfkit::anomaly::{Detector, Drift, Judgement, Model, Monitor, Sample, Sstd, Tail};
use perfkit::core::{
    EventSink, Job, Messages, MetricId, Nanos, Profile, StreamEvent, StreamId, Ticks, TimeRange,
    Trace, Value, match_messages,
};
use perfkit::fold::{DeviceParams, Devices, Fold, Folder, RegionMap, Scratch, Timelines};
use perfkit::formats::OpenOptions;
use perfkit::formats::otf2::{MemoryArchive, Reader, WriteOptions, write};
use perfkit::track::Extract;
use perfkit::wait::activity::Activities;
use perfkit::wait::delay::DelayCosts;
use perfkit::wait::waits::WaitStates;
use perfkit_benches::{inputs, stream};
use readers::reading;
use std::hint::black_box;
use std::time::Duration;
use tracing::{Dispatch, dispatcher, info_span};
use tracing_subscriber::prelude::*;

/// Returns a limit of 5 % above the measured count.
fn at_most(measured: u64) -> LibraryBenchmarkConfig {
    limit(measured + measured / 20)
}

/// Returns a limit of 2 % above the measured count.
fn near(measured: u64) -> LibraryBenchmarkConfig {
    limit(measured + measured / 50)
}

fn limit(instructions: u64) -> LibraryBenchmarkConfig {
    let mut config = LibraryBenchmarkConfig::default();
    config
        .tool(Callgrind::with_args(["cache-sim=no"]).hard_limits([(EventKind::Ir, instructions)]));
    config
}

/// Returns an archive of 16 ranks with 10,000 events each; the limits are for 160,000 events.
fn archive() -> MemoryArchive {
    inputs::archive(16, 10_000)
}

fn trace() -> Trace {
    inputs::trace(16, 10_000)
}

// Raised by 5.3 %, because each timestamp is checked for jumps.
#[library_benchmark]
#[bench::events(args = (), setup = archive, config = at_most(26_334_901))]
fn otf2_decode(archive: MemoryArchive) -> Trace {
    let reader = Reader::new(archive, &OpenOptions::new().threads(1), &Job::default())
        .expect("it was just written");
    black_box(reader.read().expect("it was just written").0)
}

#[library_benchmark]
#[bench::events(args = (), setup = archive, config = at_most(46_473_274))]
fn otf2_merge(archive: MemoryArchive) -> u64 {
    let reader = Reader::new(archive, &OpenOptions::new().threads(1), &Job::default())
        .expect("it was just written");
    let mut stream = reader.merged().expect("it was just written");
    let mut sum = 0_u64;
    while let Some((_, at, _)) = stream.next().expect("it was just written") {
        sum = sum.wrapping_add(at.0);
    }
    black_box(sum)
}

#[library_benchmark]
#[bench::events(args = (), setup = trace, config = at_most(142_409_447))]
fn otf2_write(trace: Trace) -> MemoryArchive {
    let mut archive = MemoryArchive::default();
    let options = WriteOptions::default();
    write(trace.view(), &mut archive, &options, &Job::default()).expect("memory takes it");
    black_box(archive)
}

#[library_benchmark]
#[bench::events(args = (), setup = trace, config = at_most(32_661_853))]
fn messages(trace: Trace) -> Messages {
    black_box(match_messages(trace.view(), &Job::default()).expect("not cancelled"))
}

#[library_benchmark]
#[bench::events(args = (), setup = inputs::recorded, config = at_most(21_680_588))]
fn profile(trace: Trace) -> Profile {
    let (profile, _) = Profile::from_trace(trace.view(), &Job::default()).expect("calls are few");
    black_box(profile)
}

/// 16 ranks and 900 steps: 160,000 events.
fn ring() -> Trace {
    perf_testdata::ring::trace(16, 900)
}

#[library_benchmark]
#[bench::events(args = (), setup = ring, config = at_most(216_704_417))]
fn wait_delays(trace: Trace) -> DelayCosts {
    let job = Job::default();
    let activities = Activities::of(trace.view(), &job).expect("it can be read");
    let waits = WaitStates::of_activities(&activities, &job).expect("likewise");
    let delays = DelayCosts::of(trace.view(), &activities, &waits, &job);
    black_box(delays.expect("likewise"))
}

fn with_map() -> (Trace, RegionMap) {
    let trace = trace();
    let map = RegionMap::by_name(trace.definitions()).expect("there are few regions");
    (trace, map)
}

#[library_benchmark]
#[bench::events(args = (), setup = with_map, config = at_most(19_561_794))]
fn fold_timelines((trace, map): (Trace, RegionMap)) -> Timelines {
    black_box(Timelines::new(trace.view(), &map, &Job::default()).expect("every class is known"))
}

fn folded() -> (Folder, Scratch, Fold) {
    let folder = inputs::folder(16, 10_000, 1_920);
    let (mut scratch, mut fold) = (folder.scratch(), folder.empty());
    let all = folder.timelines().range();
    folder
        .refold(all, &mut scratch, &mut fold, &Job::default())
        .expect("not cancelled");
    (folder, scratch, fold)
}

#[library_benchmark]
#[bench::cells(args = (), setup = folded, config = at_most(7_533_321))]
fn fold_zoom((folder, mut scratch, mut fold): (Folder, Scratch, Fold)) -> (Folder, Scratch, Fold) {
    let all = folder.timelines().range();
    let window = TimeRange {
        start: Ticks(all.start.0 + all.len() / 4),
        end: all.end,
    };
    folder
        .refold(window, &mut scratch, &mut fold, &Job::default())
        .expect("not cancelled");
    black_box((folder, scratch, fold))
}

/// Returns a detector that has learned 100 functions, and 100,000 further calls of them.
fn watching() -> (Tail, Vec<Sample>, Vec<Judgement>) {
    let samples = inputs::samples(100, 100_000);
    let mut detector = Tail::default();
    let mut judgements = Vec::new();
    detector
        .detect(&samples, &mut judgements, &Job::default())
        .expect("not cancelled");
    judgements.clear();
    (detector, samples, judgements)
}

// Only the calls are counted: the functions are known, and the judgements are already allocated. Raised by 127 %, because
// the probability of a slow call is an average over the shapes and scales of its tail, three of them for heavy tails, and
// tails are fitted again as calls are learned.
#[library_benchmark]
#[bench::calls(args = (), setup = watching, config = near(89_162_956))]
fn anomaly_detect(
    (mut detector, samples, mut judgements): (Tail, Vec<Sample>, Vec<Judgement>),
) -> (Tail, Vec<Sample>, Vec<Judgement>) {
    detector
        .detect(&samples, &mut judgements, &Job::default())
        .expect("not cancelled");
    black_box((detector, samples, judgements))
}

/// Step of 100,000 events of the synthetic stream, as a program pushes them.
type Step = (StreamId, Vec<(Nanos, StreamEvent)>);

fn pushing() -> (Calls, Step) {
    let params = Calls::params().check().expect("defaults");
    let mut calls = Calls::new(params);
    let step = stream::events(100_000, &mut calls);
    (calls, step)
}

// 2.9 % more since calls that communicate are counted here and no longer by each monitor and client, which take 0.5 % less.
// 0.5 % more by other inlining since clients send slow calls outside of modes, with which `anomaly_labels` takes 1.3 % less.
#[library_benchmark]
#[bench::events(args = (), setup = pushing, config = near(31_656_558))]
fn anomaly_calls((mut calls, (stream, events)): (Calls, Step)) -> (Calls, Step) {
    for (at, event) in &events {
        calls.push(stream, *at, *event);
    }
    calls.end_step(0);
    black_box((calls, (stream, events)))
}

fn monitoring() -> (Monitor, Step) {
    let (calls, step) = pushing();
    let detector = Tail::default();
    (Monitor::new(calls, Box::new(detector)), step)
}

// Raised by 20 %, because the tails of the detector have a free shape, and then by 110 %, because functions learn these
// shapes from each other: the step has 500 calls of each of 100 functions, whose tails are fitted after 50, 100, 200 and
// 400 calls.
// Raised by 14 % when size classes of messages and exact extremes of sketches were added.
#[library_benchmark]
#[bench::events(args = (), setup = monitoring, config = near(215_275_009))]
fn anomaly_labels((mut monitor, (stream, events)): (Monitor, Step)) -> (Monitor, Step) {
    for (at, event) in &events {
        monitor.push(stream, *at, *event);
    }
    monitor.end_step(0);
    black_box((monitor, (stream, events)))
}

/// Returns the input of `anomaly_labels` with a value of one of eight counters in each of the 50,000 calls.
fn counting() -> (Monitor, Step) {
    let (mut monitor, (stream, events)) = monitoring();
    let counters: Vec<MetricId> = (0..8)
        .map(|at| monitor.counter(&format!("counter {at}")))
        .collect();
    let mut values = 0_u64;
    let with_value = |(at, event): (Nanos, StreamEvent)| {
        let value = matches!(event, StreamEvent::Enter(_)).then(|| {
            values += 1;
            let counter = counters[values as usize % counters.len()];
            let value = Value::U64(values * 7919 % 10_007);
            (at, StreamEvent::Counter(counter, value))
        });
        [Some((at, event)), value]
    };
    let events = events.into_iter().flat_map(with_value).flatten().collect();
    (monitor, (stream, events))
}

#[library_benchmark]
#[bench::values(args = (), setup = counting, config = near(247_371_914))]
fn anomaly_counters((mut monitor, (stream, events)): (Monitor, Step)) -> (Monitor, Step) {
    for (at, event) in &events {
        monitor.push(stream, *at, *event);
    }
    monitor.end_step(0);
    black_box((monitor, (stream, events)))
}

/// Returns two models with the moments of 1,000 functions.
fn models() -> (Model, Model) {
    let params = Sstd::params().check().expect("defaults");
    let mut detector = Sstd::new(params);
    detector.learn(&inputs::samples(1000, 10_000));
    (detector.snapshot(), detector.snapshot())
}

// For each function: the check that its count stays below 2^53, and the merging of the moments.
#[library_benchmark]
#[bench::functions(args = (), setup = models, config = near(111_154))]
fn anomaly_merge((mut server, delta): (Model, Model)) -> (Model, Model) {
    server.merge(&delta).expect("models of one kind");
    black_box((server, delta))
}

/// Returns the input of `anomaly_labels` with a recorder for the anomalies.
fn recording() -> (Monitor, Step) {
    let (monitor, step) = monitoring();
    let params = Recorder::params().check().expect("defaults");
    let recorder = Recorder::new(params, Box::new(Memory::new()));
    (monitor.record(recorder), step)
}

// Raised by 40 %, because the tails of the detector have a free shape, with three further ones for heavy tails, and then
// by 90 % like `anomaly_labels`.
// Raised by 13 % with `anomaly_labels`.
#[library_benchmark]
#[bench::events(args = (), setup = recording, config = near(236_380_068))]
fn anomaly_provenance((mut monitor, (stream, events)): (Monitor, Step)) -> (Monitor, Step) {
    for (at, event) in &events {
        monitor.push(stream, *at, *event);
    }
    monitor.end_step(0);
    black_box((monitor, (stream, events)))
}

/// Returns 100,000 calls of 100 functions without drift.
fn drifting() -> (Drift, Vec<Sample>, Vec<Judgement>) {
    let samples = inputs::samples(100, 100_000);
    let judgements = vec![Judgement::default(); samples.len()];
    let mut drift = Drift::default();
    drift.add(0, &samples, &judgements, |_| 0);
    (drift, samples, judgements)
}

// Raised by 12 % when exact extremes of sketches were added; with extremes in windows, too, it was 40 %.
// Raised by 66 % when calls were compared within ranks.
#[library_benchmark]
#[bench::calls(args = (), setup = drifting, config = at_most(21_040_000))]
fn anomaly_drift(
    (mut drift, samples, judgements): (Drift, Vec<Sample>, Vec<Judgement>),
) -> (Drift, Vec<Sample>, Vec<Judgement>) {
    drift.add(1, &samples, &judgements, |_| 0);
    black_box((drift, samples, judgements))
}

/// Exchange that stores the sent bytes.
#[derive(Debug, Default)]
struct Kept(Vec<u8>);

impl Exchange for Kept {
    fn send(&mut self, delta: &Delta) -> perfkit::anomaly::Result<()> {
        self.0 = delta.encode();
        Ok(())
    }

    fn receive(&mut self) -> perfkit::anomaly::Result<Option<View>> {
        Ok(None)
    }
}

/// Returns a server that knows the moments of 100 functions, and an encoded delta with all of them.
fn serving() -> (Server, Vec<u8>) {
    let (mut calls, (stream, events)) = pushing();
    for (at, event) in &events {
        calls.push(stream, *at, *event);
    }
    calls.end_step(0);
    let mut detector = Sstd::default();
    let mut judgements = Vec::new();
    detector
        .detect(calls.batch().samples(), &mut judgements, &Job::default())
        .expect("not cancelled");
    let mut client = Client::new(0, Kept::default());
    let sent = client.step(&calls, &judgements, &mut detector);
    sent.expect("it is kept");
    let mut server = Server::default();
    let mut delta = Delta::decode(&client.exchange().0).expect("it was just written");
    server.take(&delta).expect("it is sound");
    delta.sequence += 1;
    (server, delta.encode())
}

// Was 553,346 before the server remembered the ranks of each function, so that ranks may arrive in any order: that is
// most of the 38,900 instructions of `Peers::add_times`.
#[library_benchmark]
#[bench::delta(args = (), setup = serving, config = at_most(591_570))]
fn anomaly_serve((mut server, bytes): (Server, Vec<u8>)) -> (Server, Vec<u8>) {
    let delta = Delta::decode(&bytes).expect("it was just written");
    let view = server.take(&delta).expect("it is sound");
    black_box(view.encode());
    (server, bytes)
}

/// Returns a watched program, whose judging thread sleeps during the measurement.
fn watched() -> (Dispatch, Watching) {
    let calls = Calls::default();
    let detector = Tail::default();
    let spans = Spans::new(Monitor::new(calls, Box::new(detector)));
    let spans = spans.period(Duration::from_secs(86_400));
    let (layer, watching) = spans.start().expect("a thread");
    (
        Dispatch::new(tracing_subscriber::registry().with(layer)),
        watching,
    )
}

#[library_benchmark]
#[bench::spans(args = (), setup = watched, config = at_most(15_030_971))]
fn spans_write_down((watched, watching): (Dispatch, Watching)) -> (Dispatch, Watching) {
    dispatcher::with_default(&watched, || {
        for at in 0..10_000 {
            info_span!("work").in_scope(|| black_box(at));
        }
    });
    black_box((watched, watching))
}

/// Returns a trace of six devices with fourteen streams each.
fn streams_of_devices() -> Trace {
    perf_testdata::planted::trace()
}

// Raised by 28 %, because the ends of launch calls are found by a second replay of the host
// threads.
#[library_benchmark]
#[bench::streams(args = (), setup = streams_of_devices, config = at_most(7_373_085))]
fn devices(trace: Trace) -> (Trace, Devices) {
    let devices = Devices::new(trace.view(), &DeviceParams::default(), &Job::default());
    let devices = devices.expect("not cancelled");
    (trace, black_box(devices))
}

#[library_benchmark]
#[bench::events(args = (), setup = trace, config = at_most(83_130_082))]
fn bursts(trace: Trace) -> Trace {
    let extract = Extract::params().metric("duration").check();
    let extract = extract.expect("they are valid");
    let bursts = extract.extract(trace.view(), &Job::default());
    black_box(bursts.expect("not cancelled"));
    trace
}

library_benchmark_group!(
    name = hot_paths,
    benchmarks = [
        otf2_decode,
        otf2_merge,
        otf2_write,
        messages,
        profile,
        fold_timelines,
        fold_zoom,
        anomaly_calls,
        anomaly_labels,
        anomaly_counters,
        anomaly_detect,
        anomaly_merge,
        anomaly_provenance,
        anomaly_drift,
        anomaly_serve,
        spans_write_down,
        wait_delays,
        devices,
        bursts
    ]
);
main!(library_benchmark_groups = [hot_paths, reading, clustering]);
