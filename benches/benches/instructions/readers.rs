//! Readers of formats other than OTF2.

use super::at_most;
use gungraun::{library_benchmark, library_benchmark_group};
use perfkit::core::{CallPathId, EventSource, Job, MetricId, Trace};
use perfkit::formats::adios::Adios;
use perfkit::formats::cube::Cube;
use perfkit::formats::streams::{Streams, TraceBuilder};
use perfkit::formats::tau::Tau;
use perfkit::formats::{OpenOptions, chrome, paraver, rocprof};
use perfkit_benches::inputs;
use std::hint::black_box;
use std::path::Path;

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
#[bench::kernels(args = (), setup = rocprof_text, config = at_most(28_993_680))]
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

library_benchmark_group!(
    name = reading,
    benchmarks = [
        bp4_read,
        cube_open,
        cube_rows,
        tau_read,
        cube3_rows,
        paraver_read,
        chrome_read,
        rocprof_read,
        streams_read
    ]
);
