//! Generated small recordings of each format, for runs without other recordings.

use flate2::Compression;
use flate2::write::GzEncoder;
use perf_testdata::random;
use perfkit::anomaly::calls::Calls;
use perfkit::anomaly::provenance::{Lines, Recorder, Sqlite, Store};
use perfkit::anomaly::server::{Client, Delta, Exchange, Server, View};
use perfkit::anomaly::{Copod, Detector, Hbos, Monitor, Replay, Sstd, StrictParams, Tail};
use perfkit::core::samples::cosmo;
use perfkit::core::{EventSource, Job, MetricId, Nanos, Profile};
use perfkit::formats::otf2::{self, NewArchive};
use perfkit::formats::{chrome, cube, paraver};
use perfkit::spectral::{Missing, Spectra, stored_rows};
use perfkit::topology::{AxisOrder, Shape, Topology, balanced};
use std::error::Error;
use std::fs::{self, File};
use std::path::Path;
use std::sync::{Arc, Mutex};

type Done = Result<(), Box<dyn Error>>;

/// Writes small recordings of all kinds into a folder.
///
/// # Errors
///
/// Returns the errors of the writers and of the file system.
pub fn write(folder: &Path) -> Done {
    fs::create_dir_all(folder)?;
    let trace = random::trace(7, 3, 60);
    let job = Job::default();
    let options = otf2::WriteOptions::default().with_chunks(2048, 1 << 12);
    let mut archive = NewArchive::new(folder.join("otf2"))?;
    otf2::write(trace.view(), &mut archive, &options, &job)?;
    paraver::write_files(trace.view(), folder.join("random.prv"), &job)?;
    let (profile, _) = Profile::from_trace(trace.view(), &job)?;
    for (name, options) in [
        ("sparse.cubex", cube::WriteOptions::new()),
        (
            "dense.cubex",
            cube::WriteOptions::new().layout(cube::Layout::Dense),
        ),
        ("packed.cubex", cube::WriteOptions::new().compress(true)),
    ] {
        cube::write(
            &profile,
            File::create(folder.join(name))?,
            &options,
            &Job::default(),
        )?;
    }
    spectra(&profile, &folder.join("views.spectra"))?;
    fs::write(folder.join("rows.ndjson"), NDJSON)?;
    fs::write(folder.join("rows.tsv"), TSV)?;
    fs::write(
        folder.join("threads.prv"),
        perf_testdata::paraver::text(3, 8),
    )?;
    let tau = folder.join("tau");
    fs::create_dir_all(&tau)?;
    fs::write(tau.join("profile.0.0.0"), TAU)?;
    fs::write(folder.join("document.cube"), CUBE3)?;
    for version in [1, 2] {
        fs::write(folder.join(format!("version{version}.ppk")), ppk(version))?;
    }
    fs::write(folder.join("x.DATA.csv"), CLUSTERS)?;
    fs::write(folder.join("clustering.xml"), CLUSTERING)?;
    gpu(folder)?;
    wire(folder)
}

/// Writes recordings of devices: events of every phase, overlapping work, and output of other
/// profilers.
fn gpu(folder: &Path) -> Done {
    let job = Job::default();
    let written = File::create(folder.join("written.json"))?;
    let mut packed = GzEncoder::new(written, Compression::fast());
    let trace = perfkit::core::samples::device::trace();
    chrome::write(trace.view(), &mut packed, &job)?;
    packed.finish()?;
    fs::rename(folder.join("written.json"), folder.join("written.json.gz"))?;
    fs::write(folder.join("phases.json"), PHASES)?;
    fs::write(folder.join("tool.json"), ROCPROF)?;
    #[cfg(feature = "nsys")]
    rusqlite::Connection::open(folder.join("report.sqlite"))?.execute_batch(NSYS)?;
    Ok(())
}

const PHASES: &str = r#"{"schemaVersion": 1, "baseTimeNanoseconds": 1700000000000000000,
"deviceProperties": [{"id": 0, "name": "NVIDIA A100"}], "distributedInfo": {"rank": 3, "world_size": 8}, "traceEvents": [
{"ph": "M", "name": "process_name", "pid": 9, "args": {"name": "python"}},
{"ph": "M", "name": "thread_name", "pid": 9, "tid": 9, "args": {"name": "main \u00e9"}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": 1.5, "dur": 2, "args": {"correlation": 5}},
{"ph": "X", "cat": "kernel", "name": "axpy", "pid": 0, "tid": 7, "ts": 4.125, "dur": 10, "args": {"device": 0, "stream": 7, "context": 1, "correlation": 5}},
{"ph": "X", "cat": "kernel", "name": "axpy", "pid": 0, "tid": "stream 7", "ts": "6", "dur": "20.5", "args": {"device": 0, "stream": 7, "context": 1, "correlation": 6}},
{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD", "pid": 0, "tid": 8, "ts": 7, "dur": 0, "args": {"bytes": 4096}},
{"ph": "s", "id": 5, "cat": "ac2g", "name": "ac2g", "pid": 9, "tid": 9, "ts": 1.5},
{"ph": "f", "id": 5, "cat": "ac2g", "name": "ac2g", "pid": 0, "tid": 7, "ts": 4.125, "bp": "e"},
{"ph": "B", "name": "step", "pid": 9, "tid": 9, "ts": 1}, {"ph": "B", "name": "inner", "pid": 9, "tid": 9, "ts": 2},
{"ph": "E", "name": "step", "pid": 9, "tid": 9, "ts": 3}, {"ph": "E", "pid": 9, "tid": 9, "ts": 40},
{"ph": "b", "cat": "net", "name": "get", "id": "0x1f", "scope": "s", "pid": 9, "tid": 9, "ts": 2},
{"ph": "e", "cat": "net", "name": "get", "id": "0x1f", "scope": "s", "pid": 8, "tid": 9, "ts": 12},
{"ph": "n", "cat": "net", "name": "note", "id2": {"local": 3}, "pid": 9, "tid": 9, "ts": 3},
{"ph": "C", "name": "memory", "pid": 9, "ts": 5, "args": {"used": 17, "free": 2.5e3}},
{"ph": "i", "name": "mark", "pid": 9, "tid": 9, "ts": 6, "s": "t"}
], "traceName": "phases"}
"#;

const ROCPROF: &str = r#"{"rocprofiler-sdk-tool": [{"metadata": {"pid": 12, "node": {"hostname": "n1"}},
"agents": [{"id": {"handle": 1}, "type": 1, "name": "cpu"}, {"id": {"handle": 2}, "type": 2, "logical_node_type_id": 3, "name": "gfx90a"}],
"kernel_symbols": [{"kernel_id": 4, "formatted_kernel_name": "axpy", "demangled_kernel_name": "axpy(int)"}],
"strings": {"buffer_records": [{"kind": "HIP", "operations": ["hipLaunchKernel", "hipMemcpy"]}], "marker_api": [{"key": 6, "value": "step"}]},
"buffer_records": {"kernel_dispatch": [
{"correlation_id": {"internal": 3}, "start_timestamp": 15, "end_timestamp": 30, "stream_id": {"handle": 0},
"dispatch_info": {"agent_id": {"handle": 2}, "queue_id": {"handle": 7}, "kernel_id": 4}},
{"correlation_id": {"internal": 9}, "start_timestamp": 25, "end_timestamp": 35, "stream_id": {"handle": 0},
"dispatch_info": {"agent_id": {"handle": 2}, "queue_id": {"handle": 7}, "kernel_id": 77}}],
"memory_copy": [{"kind": 0, "operation": 1, "correlation_id": {"internal": 2}, "start_timestamp": 10, "end_timestamp": 20,
"src_agent_id": {"handle": 1}, "dst_agent_id": {"handle": 2}, "bytes": 4096}],
"hip_api": [{"kind": 0, "operation": 0, "thread_id": 12, "correlation_id": {"internal": 3}, "start_timestamp": 5, "end_timestamp": 9}],
"marker_api": [{"kind": 0, "operation": 0, "thread_id": 12, "correlation_id": {"internal": 6}, "start_timestamp": 1, "end_timestamp": 50}],
"pc_sample_host_trap": [{"a": 1}]}}, {"metadata": {"pid": 13}, "buffer_records": {}}]}
"#;

#[cfg(feature = "nsys")]
const NSYS: &str = "
CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.13.2');
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
INSERT INTO StringIds VALUES (1, 'axpy'), (2, 'cudaLaunchKernel'), (3, 'axpy<float>(int)'), (4, 'step');
CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
INSERT INTO PROCESSES VALUES (16777216 * 77, 77, 'solver');
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);
INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000);
CREATE TABLE TARGET_INFO_GPU (id INTEGER, cuDevice INTEGER, name TEXT);
INSERT INTO TARGET_INFO_GPU VALUES (0, 0, 'NVIDIA A100');
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
    greenContextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER,
    shortName INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100, 150, 0, 1, NULL, 7, 11, 16777216 * 77, 3, 1),
    (140, 180, 0, 1, 4, 7, 12, 16777216 * 77, 3, 1), (200, 200, 0, 2, NULL, 7, NULL, NULL, 1, 1);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
    streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (20, 25, 0, 1, 8, 2, 16777216 * 77, 64, 2);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER,
    nameId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (90, 95, 16777216 * 77 + 5, 11, 2), (96, 99, 16777216 * 77 + 5, 12, 2);
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, textId INTEGER, globalTid INTEGER);
INSERT INTO NVTX_EVENTS VALUES (80, 320, 59, NULL, 4, 16777216 * 77 + 5), (86, NULL, 34, 'here', NULL, 16777216 * 77 + 5),
    (87, NULL, 59, 'open', NULL, 16777216 * 77 + 5);
";

const NDJSON: &str = r#"{"event_type 0": "ENTRY", "event_type 1": "EXIT", "timer 7": "main"}
[0, 0, 0, 0, 7, "NA", "NaN", 0, 0, 0, 0, 12.5]
{"step": 0, "ts_us": 12.5, "rank": 3, "kind": "ENTRY", "name": "main"}
{"step": 0, "ts_us": 13.5, "rank": 3, "kind": "SEND", "tag": 4, "partner": 0, "bytes": 800}
{"step": 0, "ts_us": 14, "rank": 3, "kind": "COUNTER", "name": "memory", "value": 2.5e3}
{"step": 1, "ts_us": 19, "rank": 3, "kind": "EXIT", "name": "main"}
[0, 0, 0, 1, 7, null, null, 0, 0, 0, 0, 20.5]
"#;

const TSV: &str = "step\tts_us\tprogram\trank\tthread\tkind\tname\ttag\tpartner\tbytes\tvalue
0\t1.5\t0\t0\t0\tENTRY\tmain\t\t\t\t
0\t2\t0\t0\t0\tSEND\t\t3\t1\t800\t
0\t3\t0\t1\t0\tRECV\t\t3\t0\t800\t
0\t3.5\t0\t1\t0\tCOUNTER\tmemory\t\t\t\t17
0\t4\t0\t0\t0\tMETADATA\tHostname\t\t\t\tnode0
1\t9\t0\t0\t0\tEXIT\tmain\t\t\t\t
";

const CLUSTERS: &str =
    "# Instance,TaskId,ThreadId,Begin_Time,End_Time,Duration, Line, d_IPC, n_IPC,ClusterID
0,1,0,10,30,20,9,1.5, 0.25,6
1,2,0,40,70,30,11,0.5, 1.0,5
";

const CLUSTERING: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<clustering_definition use_duration="yes" apply_log="yes" normalize_data="yes" duration_filter="1000" threshold_filter="1.5">
  <clustering_algorithm name="DBSCAN"><epsilon>0.04</epsilon><min_points>4</min_points></clustering_algorithm>
  <clustering_parameters>
    <single_event apply_log="yes" name="Instructions"><event_type>42000050</event_type></single_event>
    <mixed_events operation="/" apply_log="no" name="IPC">
      <event_type_a>42000050</event_type_a><event_type_b>42000059</event_type_b>
    </mixed_events>
  </clustering_parameters>
  <extrapolation_parameters><single_event name="L1"><event_type>42000000</event_type></single_event></extrapolation_parameters>
</clustering_definition>
"#;

const TAU: &str = "3 templated_functions_MULTI_TIME
# Name Calls Subrs Excl Incl ProfileCalls # <metadata><attribute><name>Hostname</name><value>node0</value></attribute></metadata>
\"main\" 1 2 10 100 0 GROUP=\"TAU_DEFAULT\"
\"main => MPI_Send()\" 2 0 40 40 0 GROUP=\"TAU_CALLPATH\"
\"MPI_Send()\" 2 0 40 40 0 GROUP=\"MPI\"
0 aggregates
1 userevents
# eventname numevents max min mean sumsqr
\"Message size\" 2 800 400 600 800000
";

const CUBE3: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<cube version="3.0">
  <metrics><metric id="0"><disp_name>Time</disp_name><uniq_name>time</uniq_name><dtype>FLOAT</dtype><uom>sec</uom></metric></metrics>
  <program>
    <region id="0" mod="a.c" begin="1" end="9"><name>main</name></region>
    <region id="1" mod="a.c" begin="2" end="3"><name>f</name></region>
    <cnode id="0" line="1" mod="a.c" calleeId="0"><cnode id="1" line="2" mod="a.c" calleeId="1"></cnode></cnode>
  </program>
  <system>
    <machine Id="0"><name>m</name><node Id="0"><name>n</name>
      <process Id="0"><name>p</name><rank>0</rank>
        <thread Id="0"><name>t</name><rank>0</rank></thread><thread Id="1"><name>u</name><rank>1</rank></thread>
      </process></node></machine>
    <topologies><cart ndims="1"><dim size="2" periodic="true"/><coord thrdId="0">0</coord><coord thrdId="1">1</coord></cart></topologies>
  </system>
  <severity><matrix metricId="0"><row cnodeId="0">1.5 2
</row><row cnodeId="1">3 4
</row></matrix></severity>
</cube>
"#;

/// Encoder of integers, floating-point numbers and texts in the format of Java.
#[derive(Default)]
struct Packed(Vec<u8>);

impl Packed {
    fn integers(mut self, numbers: &[i32]) -> Self {
        for number in numbers {
            self.0.extend(number.to_be_bytes());
        }
        self
    }

    fn floats(mut self, numbers: &[f64]) -> Self {
        for number in numbers {
            self.0.extend(number.to_be_bytes());
        }
        self
    }

    fn texts(mut self, texts: &[&str]) -> Self {
        for text in texts {
            self.0.extend((text.len() as u16).to_be_bytes());
            self.0.extend(text.as_bytes());
        }
        self
    }
}

/// Returns a packed profile of a thread with a metric, a call path and a user event.
fn ppk(version: i32) -> Vec<u8> {
    let mut all = Packed(b"\0P\0P\0K".to_vec()).integers(&[version, 1]);
    if version >= 2 {
        all = all.integers(&[0, 0, 1]).texts(&["Host", "h"]);
        all = all.integers(&[1, 0, 0, 0, 1]);
        all = all.texts(&["BGP Coords", "(1,2,3)"]);
    }
    all = all.integers(&[1]).texts(&["TIME"]);
    all = all.integers(&[1]).texts(&["TAU_USER"]);
    all = all.integers(&[3]).texts(&["main"]).integers(&[1, 0]);
    all = all.texts(&["f"]).integers(&[0]);
    all = all.texts(&["main => f"]).integers(&[1, 0]);
    all = all.integers(&[1]).texts(&["size"]);
    all = all.integers(&[1]).integers(&[0, 0, 0, 2]);
    all = all.integers(&[0]).floats(&[1.0, 3.0, 10.0, 15.0]);
    all = all.integers(&[2]).floats(&[3.0, 0.0, 5.0, 5.0]);
    all = all.integers(&[1]).integers(&[0]);
    all.floats(&[4.0, 1.0, 9.0, 4.0, 80.0]).0
}

/// Server with the deltas and views that were exchanged.
type Passed = (Server, Vec<Delta>, Vec<View>);

/// Exchange that stores deltas and views.
#[derive(Clone, Debug)]
struct Kept {
    inner: Arc<Mutex<Passed>>,
    answer: Option<View>,
}

impl Kept {
    fn with<T>(&self, ask: impl FnOnce(&mut Passed) -> T) -> perfkit::anomaly::Result<T> {
        let failed = |_| perfkit::anomaly::Error::Exchange("a thread failed".into());
        Ok(ask(&mut *self.inner.lock().map_err(failed)?))
    }
}

impl Exchange for Kept {
    fn send(&mut self, delta: &Delta) -> perfkit::anomaly::Result<()> {
        let view = self.with(|(server, deltas, views)| {
            let view = server.take(delta)?;
            deltas.push(delta.clone());
            views.push(view.clone());
            Ok::<_, perfkit::anomaly::Error>(view)
        })??;
        self.answer = Some(view);
        Ok(())
    }

    fn receive(&mut self) -> perfkit::anomaly::Result<Option<View>> {
        Ok(self.answer.take())
    }
}

/// Maximum number of anomaly records in the messages to a server.
const ENTRIES: usize = 8;

/// Writes models, deltas, views and a server for each detector, and records of anomalies.
fn wire(folder: &Path) -> Done {
    let trace = cosmo::trace();
    let strict = || StrictParams::default().check();
    let detectors: [(&str, Box<dyn Detector>); 4] = [
        ("tail", Box::new(Tail::default())),
        ("sstd", Box::new(Sstd::new(strict()?))),
        ("hbos", Box::new(Hbos::new(strict()?))),
        ("copod", Box::new(Copod::new(strict()?))),
    ];
    for (name, detector) in detectors {
        let server = Server::default();
        let kept = Kept {
            inner: Arc::new(Mutex::new((server, Vec::new(), Vec::new()))),
            answer: None,
        };
        let lines = Lines::create(folder.join(format!("{name}.provenance")))?;
        let recorder = Recorder::params().per_function(2).fact("program", "cosmo");
        let recorder = Recorder::new(recorder.check()?, Box::new(lines));
        let client = Client::new(3, kept.clone());
        let calls = Calls::default();
        let mut monitor = Monitor::new(calls, detector).record(recorder).share(client);
        let mut replay = Replay::new(trace.view(), Nanos(100_000_000));
        while replay.next_step(&mut monitor, &Job::default())? {}
        monitor.finish()?;
        let file = |end: &str| folder.join(format!("{name}.{end}"));
        if name == "tail" {
            let mut entries = Vec::new();
            Lines::open(file("provenance"))?.each(&mut |entry| {
                entries.push(entry);
                Ok(())
            })?;
            let mut database = Sqlite::create(folder.join("database.provenance"))?;
            for entry in &entries {
                database.put(entry)?;
            }
            database.commit()?;
            entries.truncate(ENTRIES);
            let first = kept.with(|(_, deltas, _)| deltas.first().cloned())?;
            crate::live::write(folder, &first.ok_or("nothing was sent")?, entries)?;
        }
        kept.with(|(server, deltas, views)| -> std::io::Result<()> {
            fs::write(file("server"), server.encode())?;
            if let Some(model) = server.model() {
                fs::write(file("model"), model.encode())?;
            }
            // The first delta contains names, the last one numbers.
            for (at, delta) in deltas.iter().take(2).enumerate() {
                fs::write(file(&format!("{at}.delta")), delta.encode())?;
            }
            match views.last() {
                Some(view) => fs::write(file("view"), view.encode()),
                None => Ok(()),
            }
        })??;
    }
    Ok(())
}

/// Writes a file with the spectra of a profile.
fn spectra(profile: &Profile, path: &Path) -> Done {
    let metrics: Vec<MetricId> = (0..profile.metrics().len())
        .filter_map(MetricId::from_index)
        .collect();
    let mut rows = stored_rows(profile, &metrics);
    rows.truncate(8);
    let ranks = profile.system().locations().len();
    let shape = Shape::of(&balanced(ranks.max(1), 2))?;
    let grid = Topology::by_order(shape, AxisOrder::LastFastest, ranks);
    let mut open = fs::OpenOptions::new();
    let file = open.read(true).write(true).create(true).truncate(true);
    let mut builder = Spectra::<f64>::builder_in(&grid.shape().lens(), file.open(path)?)?;
    let job = Job::default();
    builder.add_rows(profile, &grid, &rows, Missing::Fill, &job)?;
    let names: Vec<String> = rows
        .iter()
        .map(|(_, path)| profile.calls().name(*path, profile.regions()))
        .collect();
    builder.save(&names)?;
    Ok(())
}
