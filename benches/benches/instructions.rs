//! Instruction counts of hot paths, with limits. `cargo xtask ci` runs them under valgrind.
//!
//! The counts are the same in each run, regardless of the load of the machine. A limit is the count
//! of the last accepted measurement plus 5 %, or plus 2 % for the path from events to labels and
//! records. A change that exceeds a limit must be improved, or the limit is raised with a comment
//! that gives the reason. Default features are disabled, because the work of a second thread is not
//! counted reliably: `cargo bench -p perfkit-benches --no-default-features --bench instructions`.

#![allow(missing_docs, reason = "the items are those of gungraun's macros")]

use gungraun::{
    Callgrind, EventKind, LibraryBenchmarkConfig, library_benchmark, library_benchmark_group, main,
};
use perfkit::anomaly::calls::Calls;
use perfkit::anomaly::provenance::{Memory, Recorder};
use perfkit::anomaly::server::{Client, Delta, Exchange, Server, View};
use perfkit::anomaly::spans::{Spans, Watching};
use perfkit::anomaly::{Detector, Drift, Judgement, Model, Monitor, Sample, Sstd, Tail};
use perfkit::core::{
    CallPathId, EventSink, EventSource, Job, Messages, MetricId, Nanos, Profile, StreamEvent,
    StreamId, Ticks, TimeRange, Trace, match_messages,
};
use perfkit::wait::activity::Activities;
use perfkit::wait::delay::DelayCosts;
use perfkit::wait::waits::WaitStates;

use perfkit::fold::{DeviceParams, Devices, Fold, Folder, RegionMap, Scratch, Timelines};
use perfkit::formats::adios::Adios;
use perfkit::formats::cube::Cube;
use perfkit::formats::otf2::{MemoryArchive, Reader, WriteOptions, write};
use perfkit::formats::paraver;
use perfkit::formats::streams::{Streams, TraceBuilder};
use perfkit::formats::tau::Tau;
use perfkit::formats::{OpenOptions, chrome, rocprof};
use perfkit::spectral::{
    AxisFilter, CheckedRelations, Correlation, Kinship, Reference, Relations, Spectra,
};
use perfkit::track::cluster::{Clusterer, Dbscan, Hdbscan, k_distances};
use perfkit::track::tracking::{Observation, Tracking};
use perfkit::track::{Align, ClusterId, Extract, Labels, Points, Sequences};
use perfkit_benches::{inputs, stream};
use std::hint::black_box;
use std::path::Path;
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

/// Returns 2 MB of text in the format of Kineto.
fn kineto() -> std::io::Cursor<Vec<u8>> {
    let mut text = Vec::new();
    perf_testdata::kineto::write(&mut text, 0, 2 << 20).expect("memory takes it");
    std::io::Cursor::new(text)
}

// Raised by 11 %, because categories of calls are counted, and implausible times and device names
// are detected.
#[library_benchmark]
#[bench::bytes(args = (), setup = kineto, config = at_most(65_425_024))]
fn chrome_read(text: std::io::Cursor<Vec<u8>>) -> Trace {
    let recording = chrome::read(
        "made",
        text,
        &OpenOptions::new().threads(1),
        &Job::default(),
    );
    let recording = recording.expect("it was just made");
    black_box(recording.into_trace().expect("it is one"))
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

// Only the calls are counted: the functions are known, and the judgements are already allocated. Raised by 101 %, because
// the probability of a slow call is an average over the shapes and scales of its tail, and tails are fitted again as
// calls are learned.
#[library_benchmark]
#[bench::calls(args = (), setup = watching, config = near(82_274_954))]
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

#[library_benchmark]
#[bench::events(args = (), setup = pushing, config = near(30_049_354))]
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

// Raised by 17 %, because the tails of the detector have a free shape, and by 22 %, because run times are also
// compared by rank and step.
#[library_benchmark]
#[bench::events(args = (), setup = monitoring, config = near(107_399_183))]
fn anomaly_labels((mut monitor, (stream, events)): (Monitor, Step)) -> (Monitor, Step) {
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

// Raised by 24 %, because the tails of the detector have a free shape, and by 20 %, because run times are also
// compared by rank and step.
#[library_benchmark]
#[bench::events(args = (), setup = recording, config = near(117_730_814))]
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
    drift.add(0, &samples, &judgements);
    (drift, samples, judgements)
}

#[library_benchmark]
#[bench::calls(args = (), setup = drifting, config = at_most(11_180_065))]
fn anomaly_drift(
    (mut drift, samples, judgements): (Drift, Vec<Sample>, Vec<Judgement>),
) -> (Drift, Vec<Sample>, Vec<Judgement>) {
    drift.add(1, &samples, &judgements);
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

#[library_benchmark]
#[bench::delta(args = (), setup = serving, config = at_most(398_866))]
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

// Bundled files of two ranks: 592 events in four steps. Raised by 15 %, because the reader also recognises BP3 and BP5.
#[library_benchmark]
#[bench::files(config = at_most(913_325))]
fn bp4_read() -> TraceBuilder {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/streams");
    let mut source = Adios::open(&[folder], &OpenOptions::new()).expect("they are bundled");
    let mut trace = TraceBuilder::default();
    while source
        .next_step(&mut trace, &Job::default())
        .expect("they are sound")
    {}
    black_box(trace)
}

/// Returns an uncompressed profile of 64 locations and 2,000 call paths.
fn cubex() -> Vec<u8> {
    inputs::cubex(64, 2_000, false)
}

#[library_benchmark]
#[bench::view(args = (), setup = cubex, config = at_most(12_633_018))]
fn cube_open(bytes: Vec<u8>) -> Cube {
    let cube = Cube::from_bytes(bytes, "bench.cubex", &OpenOptions::new(), &Job::default());
    let cube = cube.expect("it was just written");
    let row = cube.profile().row(MetricId(1), CallPathId(77));
    black_box(row.expect("it was just written"));
    cube
}

/// Returns a compressed profile of 64 locations and 200 call paths. The limit is for all its rows.
fn packed_cubex() -> Cube {
    let bytes = inputs::cubex(64, 200, true);
    Cube::from_bytes(bytes, "bench.cubex", &OpenOptions::new(), &Job::default())
        .expect("it was just written")
}

#[library_benchmark]
#[bench::packed(args = (), setup = packed_cubex, config = at_most(14_332_505))]
fn cube_rows(cube: Cube) -> Cube {
    let profile = cube.profile();
    for metric in (0..profile.metrics().len() as u32).map(MetricId) {
        for path in profile.paths(metric) {
            black_box(profile.row(metric, path).expect("it was just written"));
        }
    }
    cube
}

/// Returns the text of one thread with 2,000 functions, half of which are call paths.
fn tau_text() -> String {
    let mut text =
        "2000 templated_functions\n# Name Calls Subrs Excl Incl ProfileCalls #\n".to_string();
    for at in 0..1_000 {
        let line = format!("1 0 {at}.5 {at}.5 0 GROUP=\"TAU_USER\"\n");
        text +=
            &format!("\"f{at} [{{a.c}} {{{at},1}}-{{{at},9}}]\" {line}\"main => f{at}\" {line}");
    }
    text + "0 aggregates\n"
}

#[library_benchmark]
#[bench::functions(args = (), setup = tau_text, config = at_most(29_410_350))]
fn tau_read(text: String) -> (String, Tau) {
    let tau = Tau::from_text(
        text.as_bytes(),
        "bench",
        &OpenOptions::new(),
        &Job::default(),
    );
    let tau = tau.expect("it was just made");
    (text, black_box(tau))
}

/// Returns the text of 16 threads.
fn prv() -> String {
    perf_testdata::paraver::text(16, 1_000)
}

#[library_benchmark]
#[bench::records(args = (), setup = prv, config = at_most(103_694_411))]
fn paraver_read(text: String) -> (String, usize) {
    let options = OpenOptions::new().threads(1);
    let reader = paraver::Reader::new(text.as_bytes(), "bench.prv", &options, &Job::default());
    let mut reader = reader.expect("it was just made");
    let mut records = 0;
    while let Some(batch) = reader.next_batch().expect("it was just made") {
        records += batch.len();
    }
    drop(reader);
    (text, black_box(records))
}

/// Returns 50 rows of 64 values as text.
fn document() -> Vec<u8> {
    inputs::cube3(50, 64)
}

#[library_benchmark]
#[bench::rows(args = (), setup = document, config = at_most(1_942_579))]
fn cube3_rows(bytes: Vec<u8>) -> Cube {
    let cube = Cube::from_bytes(bytes, "bench.cube", &OpenOptions::new(), &Job::default());
    let cube = cube.expect("it was just made");
    for path in cube.profile().paths(MetricId(0)) {
        black_box(
            cube.profile()
                .row(MetricId(0), path)
                .expect("it was just made"),
        );
    }
    cube
}

/// Returns 2,000 kernels of two queues, and the calls that launched them.
fn rocprof_text() -> std::io::Cursor<Vec<u8>> {
    let mut kernels = Vec::new();
    let mut launches = Vec::new();
    for at in 0..2_000_u32 {
        let start = 1_000 * at;
        let (launch, end, queue) = (start + 90, start + 900, at % 2);
        kernels.push(format!(
            r#"{{"correlation_id": {{"internal": {at}}}, "start_timestamp": {launch}, "end_timestamp": {end}, "stream_id": {{"handle": 0}}, "dispatch_info": {{"agent_id": {{"handle": 2}}, "queue_id": {{"handle": {queue}}}, "kernel_id": 4}}}}"#
        ));
        launches.push(format!(
            r#"{{"kind": 0, "operation": 0, "thread_id": 1, "correlation_id": {{"internal": {at}}}, "start_timestamp": {start}, "end_timestamp": {launch}}}"#
        ));
    }
    let (kernels, launches) = (kernels.join(","), launches.join(","));
    let text = format!(
        r#"{{"rocprofiler-sdk-tool": [{{"agents": [{{"id": {{"handle": 2}}, "type": 2, "logical_node_type_id": 0, "name": "gfx942"}}], "kernel_symbols": [{{"kernel_id": 4, "formatted_kernel_name": "axpy"}}], "buffer_records": {{"kernel_dispatch": [{kernels}], "hip_api": [{launches}]}}}}]}}"#
    );
    std::io::Cursor::new(text.into_bytes())
}

#[library_benchmark]
#[bench::kernels(args = (), setup = rocprof_text, config = at_most(26_933_483))]
fn rocprof_read(text: std::io::Cursor<Vec<u8>>) -> Trace {
    let recording = rocprof::read(
        "made",
        text,
        &OpenOptions::new().threads(1),
        &Job::default(),
    );
    let recording = recording.expect("it was just made");
    black_box(recording.into_trace().expect("it is one"))
}

/// Returns 10,000 calls in ten steps.
fn table() -> std::io::Cursor<Vec<u8>> {
    let mut text = String::from("step\tts_us\tkind\tname\n");
    for at in 0..10_000 {
        let (step, from, to, name) = (at / 1_000, 10 * at, 10 * at + 7, at % 50);
        text += &format!("{step}\t{from}\tENTRY\tf{name}\n{step}\t{to}\tEXIT\tf{name}\n");
    }
    std::io::Cursor::new(text.into_bytes())
}

#[library_benchmark]
#[bench::calls(args = (), setup = table, config = at_most(43_795_632))]
fn streams_read(text: std::io::Cursor<Vec<u8>>) -> TraceBuilder {
    let streams = Streams::read("made", text, &OpenOptions::new());
    let mut streams = streams.expect("it was just made");
    let mut trace = TraceBuilder::default();
    while streams
        .next_step(&mut trace, &Job::default())
        .expect("it was just made")
    {}
    black_box(trace)
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

const SHAPE: [usize; 3] = [16, 16, 32];

/// Returns 9 views of noise.
fn views() -> Vec<Vec<f64>> {
    let mut random = perf_testdata::xorshift::Xorshift::new(1);
    let cells = SHAPE.iter().product();
    let mut view = || (0..cells).map(|_| random.below(1_000) as f64).collect();
    (0..9).map(|_| view()).collect()
}

#[library_benchmark]
#[bench::views(args = (), setup = views, config = at_most(25_091_120))]
fn spectra_forward(views: Vec<Vec<f64>>) -> Spectra<f64> {
    let mut builder = Spectra::builder(&SHAPE).expect("a shape");
    builder.extend(&views, &Job::default()).expect("finite");
    black_box(builder.finish())
}

fn spectra() -> (Spectra<f64>, Reference<f64>) {
    let mut builder = Spectra::builder(&SHAPE).expect("a shape");
    builder.extend(&views(), &Job::default()).expect("finite");
    let spectra = builder.finish();
    let filter = AxisFilter::new(&[1.0, 1.0, 0.0]).expect("weights");
    let reference = spectra
        .reference(0, &filter, &Job::default())
        .expect("it is there");
    (spectra, reference.expect("it varies"))
}

// Raised by 5.5 %, because the nearest of several shifts with equal magnitude is determined.
#[library_benchmark]
#[bench::eight(args = (), setup = spectra, config = at_most(1_664_674))]
fn spectra_correlate(
    (spectra, reference): (Spectra<f64>, Reference<f64>),
) -> (Spectra<f64>, Reference<f64>, Vec<Correlation>) {
    let each = (1..9).map(|view| {
        spectra
            .correlate(&reference, view, &Job::default())
            .expect("it is there")
    });
    let each = each.collect();
    (spectra, reference, black_box(each))
}

/// Returns 64 views on 8 x 8 x 8 cells.
fn many_spectra() -> Spectra<f64> {
    let dims = [8, 8, 8];
    let mut builder = Spectra::builder(&dims).expect("a shape");
    let views = inputs::views(&dims, 64);
    builder.extend(&views, &Job::default()).expect("finite");
    builder.finish()
}

#[library_benchmark]
#[bench::pairs(args = (), setup = many_spectra, config = at_most(36_868_278))]
fn spectra_relations(spectra: Spectra<f64>) -> (Spectra<f64>, Relations) {
    let (all, kin) = (AxisFilter::all(3), Kinship::unrelated(64));
    let params = CheckedRelations::default();
    let relations = spectra.relations(&all, &kin, &params, &Job::default());
    let relations = relations.expect("lengths agree");
    (spectra, black_box(relations))
}

/// Returns 20,000 points, the number that the limits are for.
fn phases() -> Vec<f64> {
    perf_testdata::clusters::phases(20_000, 1).values
}

fn with_eps(eps: f64) -> (Vec<f64>, Dbscan) {
    let params = Dbscan::params().eps(eps).min_points(10).check();
    (phases(), Dbscan::new(params.expect("in range")))
}

#[library_benchmark]
#[bench::dense(args = (0.01), setup = with_eps, config = at_most(6_533_763))]
#[bench::sparse(args = (0.002), setup = with_eps, config = at_most(30_883_354))]
fn dbscan((values, dbscan): (Vec<f64>, Dbscan)) -> Labels {
    let points = Points::new(&values, 2).expect("finite");
    let labels = dbscan.cluster(points, &Job::default());
    black_box(labels.expect("not cancelled"))
}

#[library_benchmark]
#[bench::ninth(args = (), setup = phases, config = at_most(162_751_797))]
fn k_distance(values: Vec<f64>) -> Vec<f64> {
    let points = Points::new(&values, 2).expect("finite");
    let distances = k_distances(points, 9, &Job::default());
    black_box(distances.expect("not cancelled"))
}

#[library_benchmark]
#[bench::phases(args = (), setup = phases, config = at_most(757_980_203))]
fn hdbscan(values: Vec<f64>) -> Labels {
    let points = Points::new(&values, 2).expect("finite");
    let params = Hdbscan::params().min_cluster_size(100).min_points(10);
    let hdbscan = Hdbscan::new(params.check().expect("in range"));
    let labels = hdbscan.cluster(points, &Job::default());
    black_box(labels.expect("not cancelled"))
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

/// Returns points of twelve phases, and the phase of each point.
fn clustered() -> (Vec<f64>, Vec<ClusterId>) {
    let phases = perf_testdata::clusters::phases(20_000, 1);
    let labels = phases.truth.iter().map(|phase| ClusterId(*phase));
    (phases.values, labels.collect())
}

#[library_benchmark]
#[bench::three(args = (), setup = clustered, config = at_most(595_916_939))]
fn tracking((values, labels): (Vec<f64>, Vec<ClusterId>)) -> Tracking {
    let times = vec![1.0; labels.len()];
    let experiment = |name: &str| {
        let points = Points::new(&values, 2).expect("finite");
        Observation::new(name, 16, points, &labels, &times).expect("of one length")
    };
    let experiments = [experiment("a"), experiment("b"), experiment("c")];
    let params = Tracking::params().check().expect("defaults");
    let tracking = Tracking::of(&experiments, &params, &Job::default());
    black_box(tracking.expect("not cancelled"))
}

/// Returns 64 sequences of 300 bursts, 5 % of which are edited.
fn sequences() -> (Sequences, Vec<f64>) {
    inputs::sequences(64, 300, 50)
}

#[library_benchmark]
#[bench::edited(args = (), setup = sequences, config = at_most(175_808_722))]
fn alignment((sequences, shares): (Sequences, Vec<f64>)) -> (Sequences, Vec<f64>) {
    let align = Align::default();
    let aligned = align.align(&sequences, &shares, &Job::default());
    black_box(aligned.expect("not cancelled"));
    (sequences, shares)
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
        anomaly_detect,
        anomaly_merge,
        anomaly_provenance,
        anomaly_drift,
        anomaly_serve,
        spans_write_down,
        bp4_read,
        cube_open,
        cube_rows,
        tau_read,
        cube3_rows,
        paraver_read,
        chrome_read,
        wait_delays,
        rocprof_read,
        streams_read,
        devices,
        spectra_forward,
        spectra_correlate,
        spectra_relations,
        dbscan,
        k_distance,
        hdbscan,
        bursts,
        alignment,
        tracking
    ]
);
main!(library_benchmark_groups = hot_paths);
