//! Tests of Nsight Systems exports: facts of the corpus, both generations of the schema, and
//! invalid files.

#![cfg(feature = "nsys")]
use crate::common::gpu;

use perf_core::{Job, Limits, LinkKind, LocationKind, Trace, intervals};
use perf_formats::{Error, OpenOptions, Recording, nsys};
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("nsys");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    let _ = std::fs::remove_file(&path);
    path
}

/// Writes a database by SQL statements.
fn database(name: &str, sql: &str) -> PathBuf {
    let path = scratch(name);
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(sql).unwrap();
    path
}

fn read(path: &Path) -> Recording {
    nsys::open(&[path], &OpenOptions::new(), &Job::default()).unwrap()
}

/// Returns number and total duration of the activities on streams, by name.
fn by_name(trace: &Trace) -> BTreeMap<String, (u64, u64)> {
    let mut found: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for location in trace.view().locations() {
        let kind = trace
            .definitions()
            .system
            .location(location.id())
            .unwrap()
            .kind;
        if !kind.may_overlap() {
            continue;
        }
        intervals(
            location,
            |call| {
                let name = trace.definitions().region_name(call.region).into_owned();
                let of = found.entry(name).or_default();
                *of = (of.0 + 1, of.1 + call.end.0 - call.start.0);
            },
            &Job::default(),
        )
        .unwrap();
    }
    found
}

#[test]
fn cloverleaf_is_what_its_database_says() {
    let Some((folder, facts)) = gpu::facts() else {
        return;
    };
    let facts = facts
        .iter()
        .find(|it| it["id"] == "cloverleaf-nsys")
        .unwrap();
    let number = |value: &serde_json::Value| value.as_u64().unwrap();
    let path = folder.join(facts["local"].as_str().unwrap());
    // Opened through format detection.
    let recording = perf_formats::open(&path, &OpenOptions::new(), &Job::default()).unwrap();
    assert_eq!(recording.format, "nsys");
    let found = &recording.diagnostics;
    assert_eq!(found.repairs(), 0, "{found}");
    assert!(found.count(nsys::rules::TABLE) > 1_000);
    let trace = recording.trace().unwrap();
    let names = by_name(trace);
    for (name, expected) in facts["top_kernels_ns"].as_object().unwrap() {
        assert_eq!(
            names[name],
            (number(&expected[0]), number(&expected[1])),
            "{name}"
        );
    }
    let devices = gpu::devices(trace);
    assert_eq!(devices.len() as u64, number(&facts["devices"]));
    let (device, own) = (&devices["0"], &facts["device"]["0"]);
    assert_eq!(device.events, number(&facts["gpu_events"]));
    assert_eq!(device.kernels, number(&facts["kernels"]));
    assert_eq!(
        (device.copies, device.fills),
        (number(&facts["memcpy"]), number(&facts["memset"]))
    );
    assert_eq!(device.streams.len() as u64, number(&facts["streams"]));
    assert_eq!(device.busy(), number(&own["busy_union_ns"]));
    assert_eq!(device.span(), number(&own["span_ns"]));
    for (stream, own) in own["streams"].as_object().unwrap() {
        let mut spans = device.streams[stream].clone();
        spans.sort_unstable();
        assert_eq!(spans.len() as u64, number(&own["events"]));
        assert_eq!(gpu::union(&spans), number(&own["busy_ns"]));
    }
    // Calls of the runtime are on threads.
    let runtime = |region: perf_core::RegionId| {
        let region = &trace.definitions().regions[region.index()];
        region.role == perf_core::RegionRole::Wrapper
    };
    let events = trace
        .events()
        .iter()
        .flat_map(|events| (0..events.len()).filter_map(|index| events.event(index)));
    let calls = events
        .filter(|event| matches!(event, perf_core::Event::Enter { region } if runtime(*region)));
    let waits = trace.view().locations().filter(|it| {
        let location = trace.definitions().system.location(it.id()).unwrap();
        location.kind == LocationKind::Unknown
    });
    let waits: usize = waits.map(|it| it.len() / 2).sum();
    assert_eq!(
        (calls.count() - waits) as u64,
        number(&facts["runtime_calls"])
    );
    assert_eq!(names["Memcpy HtoD (Pageable -> Device)"].0, 254);
    assert_eq!(names["Memcpy DtoH (Device -> Pageable)"].0, 25);
    // Each instance of a template is a separate region with its demangled name.
    let regions = trace.definitions().regions.iter();
    let kernels: Vec<_> = regions.filter(|it| it.name.ends_with("_kernel")).collect();
    assert_eq!(kernels.len(), 102);
    let mut forms: Vec<_> = kernels.iter().map(|it| it.canonical.as_str()).collect();
    assert!(
        forms.iter().all(|form| form.contains("clover::par_")),
        "{forms:?}"
    );
    forms.sort_unstable();
    forms.dedup();
    assert_eq!(forms.len(), 102);
    // Each activity was launched by one of the 3,048 calls of the runtime.
    let launches = trace
        .links()
        .iter()
        .filter(|link| link.kind == LinkKind::Launch);
    assert_eq!(launches.count(), 1_591);
    let system = &trace.definitions().system;
    let devices: Vec<_> = system
        .groups()
        .iter()
        .map(|group| group.name.as_str())
        .collect();
    assert!(
        devices.iter().any(|name| name.contains("cuda-cloverleaf")),
        "{devices:?}"
    );
    let properties = system.groups().iter().flat_map(|group| &group.properties);
    assert!(
        properties
            .clone()
            .any(|(_, value)| value == "NVIDIA A100-SXM4-80GB")
    );
    assert_eq!(
        trace
            .definitions()
            .clock
            .realtime
            .map(|it| it / 1_000_000_000),
        Some(1_696_392_839)
    );
    // No file was created next to it.
    let folder = std::fs::read_dir(path.parent().unwrap()).unwrap();
    assert_eq!(folder.count(), 1);
}

const NEW: &str = "
    CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);
    INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.13.2');
    CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
    INSERT INTO StringIds VALUES (1, 'axpy'), (2, 'cudaLaunchKernel'), (3, 'main \"thread\"'), (4, 'step');
    CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
    INSERT INTO PROCESSES VALUES (16777216 * 77, 77, 'solver');
    CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);
    INSERT INTO ThreadNames VALUES (3, 0, 16777216 * 77 + 5);
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL,
        deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER,
        streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
        demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL);
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
        (100, 150, 0, 1, NULL, 7, 11, 16777216 * 77, 1, 1),
        (140, 180, 0, 1, 4, 7, 12, 16777216 * 77, 1, 1),
        (200, 200, 0, 2, NULL, 7, NULL, 16777216 * 78, 1, 1);
    CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL,
        eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL);
    INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES
        (90, 95, 1, 16777216 * 77 + 5, 11, 2), (96, 99, 1, 16777216 * 77 + 5, 12, 2);
    CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
        streamId INTEGER, correlationId INTEGER, globalPid INTEGER, value INTEGER, bytes INTEGER, memKind INTEGER);
    INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (300, 310, 0, 1, 7, 13, 16777216 * 77, 0, 4096, 2);
    CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER, deviceId INTEGER,
        contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, syncType INTEGER);
    INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (120, 180, 0, 1, 4294967295, 14, 16777216 * 77, 4);
    CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT,
        textId INTEGER, globalTid INTEGER);
    INSERT INTO NVTX_EVENTS VALUES (80, 320, 59, NULL, 4, 16777216 * 77 + 5),
        (85, 400, 60, 'crossing', NULL, 16777216 * 77 + 5), (86, NULL, 34, 'here', NULL, 16777216 * 77 + 5),
        (87, NULL, 59, 'open', NULL, 16777216 * 77 + 5), (0, NULL, 75, 'domain', NULL, NULL);
    CREATE TABLE OSRT_API (start INTEGER, end INTEGER);
    INSERT INTO OSRT_API VALUES (1, 2), (3, 4);
";

/// The earlier generation: other metadata, no green contexts, no short names.
const OLD: &str = "
    CREATE TABLE EXPORT_META_DATA (name TEXT, value TEXT);
    INSERT INTO EXPORT_META_DATA VALUES ('EXPORT_SCHEMA_VERSION', '2.5');
    CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
    INSERT INTO StringIds VALUES (1, 'axpy<float>(int)');
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
        streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER);
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 15, 2, 1, 7, 1, 16777216, 1);
    CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
        streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER);
    INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (20, 25, 2, 1, 8, 2, 16777216, 64, 2);
";

fn locations(trace: &Trace, kind: LocationKind) -> Vec<(String, usize)> {
    let system = &trace.definitions().system;
    let own = trace.view().locations();
    let own = own.filter(|it| system.location(it.id()).unwrap().kind == kind);
    own.map(|it| (system.label(it.id()), it.len())).collect()
}

#[test]
fn the_new_generation() {
    let path = database("new generation?#%.sqlite", NEW);
    let recording = read(&path);
    let trace = recording.trace().unwrap();
    let streams = locations(trace, LocationKind::AcceleratorStream);
    // There are three streams 7: with and without a green context, and of another process.
    assert_eq!(streams.len(), 3, "{streams:?}");
    assert_eq!(by_name(trace)["axpy"], (3, 90));
    assert_eq!(by_name(trace)["Memset (Device)"], (1, 10));
    assert_eq!(trace.links().len(), 2);
    let threads = locations(trace, LocationKind::CpuThread);
    assert_eq!(threads.len(), 1);
    assert!(
        threads[0].0.contains("main \"thread\"") && threads[0].0.contains("solver"),
        "{threads:?}"
    );
    let found = &recording.diagnostics;
    assert_eq!(found.count(nsys::rules::TABLE), 2, "OSRT_API");
    assert_eq!(found.count(nsys::rules::NO_END), 1, "the open range");
    assert_eq!(found.count(nsys::rules::UNLINKED), 2);
    assert_eq!(found.count(nsys::rules::VALUE), 0);
    let beside = locations(trace, LocationKind::Unknown);
    assert_eq!(beside.len(), 2, "waits, and ranges that cross: {beside:?}");
    // No file is created next to the database: no journal, no log.
    let name = path.file_name().unwrap().to_str().unwrap();
    let files = std::fs::read_dir(path.parent().unwrap()).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.filter(|it| it.starts_with(name)).count(), 1);
    let strict = OpenOptions::new().strict(true);
    assert!(matches!(
        nsys::open(&[&path], &strict, &Job::default()),
        Err(Error::Strict { .. })
    ));
}

/// Graphs of kernels are recorded as a whole unless their nodes are requested.
#[test]
fn graphs_of_kernels_are_work() {
    let graphs = "
    CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER NOT NULL, end INTEGER NOT NULL,
        deviceId INTEGER NOT NULL, graphId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER,
        streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER);
    INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES
        (1000, 1700, 0, 3, 1, NULL, 7, 12, 16777216 * 77), (1800, 1900, 0, 3, 1, NULL, 7, 99, 16777216 * 77);
    ";
    let recording = read(&database("graphs.sqlite", &format!("{NEW}{graphs}")));
    let trace = recording.trace().unwrap();
    assert_eq!(by_name(trace)["CUDA graph 3"], (2, 800));
    assert_eq!(by_name(trace)["axpy"], (3, 90));
}

#[test]
fn the_old_generation() {
    let recording = read(&database("old.sqlite", OLD));
    let trace = recording.trace().unwrap();
    let names = by_name(trace);
    assert_eq!(names["axpy<float>(int)"], (1, 5));
    assert_eq!(names["Memcpy DtoH"], (1, 5));
    assert_eq!(locations(trace, LocationKind::AcceleratorStream).len(), 2);
    let properties = &trace.definitions().properties;
    assert!(
        properties
            .iter()
            .any(|it| it.0 == "EXPORT_SCHEMA_VERSION" && it.1 == "2.5")
    );
}

#[test]
fn two_processes_of_one_id_space_are_two_ranks() {
    let path = database("rank_4.sqlite", OLD);
    let other = database("rank_3.sqlite", OLD);
    let opened = nsys::open(&[path, other], &OpenOptions::new(), &Job::default()).unwrap();
    let trace = opened.trace().unwrap();
    let groups = trace.definitions().system.groups();
    let names: Vec<_> = groups.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["rank 3, GPU 2", "rank 4, GPU 2"]);
    assert_eq!(opened.diagnostics.count(nsys::rules::SAME_EVENTS), 1);
    assert_eq!(locations(trace, LocationKind::AcceleratorStream).len(), 4);
}

/// Returns SQL rows for the numbers from 0 to `count`, each named `i`.
fn many(count: u32, into: &str, values: &str) -> String {
    format!(
        "INSERT INTO {into} WITH RECURSIVE numbers(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM numbers
         WHERE i + 1 < {count}) SELECT {values} FROM numbers;"
    )
}

/// Returns one kernel for each of `count` processes, numbered from 10.
fn processes(count: u32, string: u32) -> String {
    let values = format!("i, i, 2, 1, 7, i, (i + 10) * 16777216, {string}");
    many(count, "CUPTI_ACTIVITY_KIND_KERNEL", &values)
}

/// Returns the number of device groups with a name of this length.
fn named_devices(trace: &Trace, length: usize) -> usize {
    let groups = trace.definitions().system.groups().iter();
    let names = groups.filter_map(|it| it.properties.get("name"));
    names.filter(|name| name.len() == length).count()
}

#[test]
fn names_of_devices_are_given_to_as_many_processes_as_there_is_room_for() {
    let name = "x".repeat(10_000);
    // In addition to the device that all use, there are unused ones.
    let sql = format!(
        "{OLD} CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT);
         INSERT INTO TARGET_INFO_GPU VALUES (2, '{name}'); {} {}",
        many(100, "TARGET_INFO_GPU", &format!("i + 10, '{name}'")),
        processes(40, 1),
    );
    let path = database("names.sqlite", &sql);
    let limits = perf_core::Limits::default().with_string(1_000);
    let options = OpenOptions::new().limits(limits);
    let recording = nsys::open(&[&path], &options, &Job::default()).unwrap();
    // The budget is 256 times the longest text, and there are 41 processes.
    let left_out = recording.diagnostics.count(nsys::rules::DEFINITIONS);
    assert_eq!(left_out, 16, "{}", recording.diagnostics);
    assert_eq!(named_devices(recording.trace().unwrap(), 10_000), 25);
    let all = nsys::open(&[&path], &OpenOptions::new(), &Job::default()).unwrap();
    assert_eq!(all.diagnostics.count(nsys::rules::DEFINITIONS), 0);
    assert_eq!(named_devices(all.trace().unwrap(), 10_000), 41);
}

/// Ten thousand processes and as many devices: each process has a name only for the device that it
/// uses.
#[test]
fn devices_that_a_process_does_not_use_have_no_names_in_it() {
    let sql = format!(
        "{OLD} CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT); {} {}",
        many(10_000, "TARGET_INFO_GPU", "i, ''"),
        processes(10_000, 1),
    );
    let recording = read(&database("devices.sqlite", &sql));
    assert_eq!(recording.diagnostics.count(nsys::rules::DEFINITIONS), 0);
    assert_eq!(named_devices(recording.trace().unwrap(), 0), 10_001);
}

#[test]
fn names_of_threads_are_kept_for_those_with_events_as_long_as_there_is_room() {
    let sql = format!(
        "{OLD} INSERT INTO StringIds VALUES (2, '{}'), (3, 'call');
         CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER,
            correlationId INTEGER, nameId INTEGER);
         CREATE TABLE ThreadNames (nameId INTEGER, globalTid INTEGER); {} {}",
        "x".repeat(10_000),
        many(
            40,
            "CUPTI_ACTIVITY_KIND_RUNTIME",
            "i, i, 16777216 + 5 + 100 * i, 0, 3"
        ),
        // 1,000 threads of the process, 40 of which have calls, and threads of a process without
        // calls.
        many(
            2_000,
            "ThreadNames",
            "2, 16777216 * (1 + i / 1000) + 5 + i % 1000 * 5"
        ),
    );
    let path = database("threads.sqlite", &sql);
    let named = |limits: Limits| {
        let recording = nsys::open(
            &[&path],
            &OpenOptions::new().limits(limits),
            &Job::default(),
        )
        .unwrap();
        let threads = locations(recording.trace().unwrap(), LocationKind::CpuThread);
        let named = threads.iter().filter(|it| it.0.len() > 10_000).count();
        let left_out = recording.diagnostics.count(nsys::rules::DEFINITIONS);
        (threads.len(), named, left_out)
    };
    assert_eq!(named(Limits::default()), (40, 40, 0));
    assert_eq!(named(Limits::default().with_string(1_000)), (40, 25, 15));
}

/// A text of 1 MiB that 100,000 rows of one process and 2,000 processes refer to. Processing it for
/// each of them would take minutes and 2,000 copies.
#[test]
fn a_long_name_of_many_rows_and_processes_is_looked_at_once() {
    let name = "x".repeat(1 << 20);
    let sql = format!(
        "{OLD} INSERT INTO StringIds VALUES (2, '{name}'), (3, '{name}'), (4, '{name}y'); {} {} {} {}",
        many(
            100_000,
            "CUPTI_ACTIVITY_KIND_KERNEL",
            "i, i, 2, 1, 7, i, 16777216, 2"
        ),
        // Too long for a name.
        many(
            100_000,
            "CUPTI_ACTIVITY_KIND_KERNEL",
            "i, i, 2, 1, 7, i, 16777216, 4"
        ),
        processes(2_000, 2),
        processes(2_000, 3),
    );
    let recording = read(&database("long.sqlite", &sql));
    let found = &recording.diagnostics;
    assert_eq!(found.count(nsys::rules::LONG_NAME), 100_000, "{found}");
    let trace = recording.trace().unwrap();
    let regions = &trace.definitions().regions;
    let long = regions.iter().filter(|it| it.name.len() == 1 << 20);
    assert_eq!(long.count(), 1);
    // An enter and a leave each, in addition to the existing ones.
    assert_eq!(trace.len(), 2 * (204_000 + 2));
}

/// Sets the begin of the recording, so that two files share a clock.
fn began(at: i64) -> String {
    format!(
        "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);
         INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES ({at});"
    )
}

#[test]
fn files_are_aligned_by_when_they_began_or_a_warning_says_so() {
    const T: i64 = 1_700_000_000_000_000_000;
    let first = database("rank_0.sqlite", &format!("{OLD}{}", began(T + 500)));
    let second = database("rank_1.sqlite", &format!("{OLD}{}", began(T)));
    let opened = nsys::open(&[&first, &second], &OpenOptions::new(), &Job::default()).unwrap();
    assert_eq!(opened.diagnostics.count(nsys::rules::CLOCKS), 0);
    let trace = opened.trace().unwrap();
    assert_eq!(trace.definitions().clock.realtime, Some(T as u64 + 10));
    // The same times in both files, half a microsecond apart.
    let range = trace.range().unwrap();
    assert_eq!((range.start.0, range.len()), (0, 500 + 15 + 1));
    let far = database(
        "rank_2.sqlite",
        &format!("{OLD}{}", began(T + 60_000_000_000)),
    );
    let none = database("rank_3.sqlite", OLD);
    for (other, what) in [(&far, "a minute later"), (&none, "no clock")] {
        let opened = nsys::open(&[&first, other], &OpenOptions::new(), &Job::default()).unwrap();
        assert_eq!(opened.diagnostics.count(nsys::rules::CLOCKS), 1, "{what}");
    }
}

#[test]
fn a_launcher_without_work_is_no_rank() {
    let launcher = "
        INSERT INTO PROCESSES VALUES (16777216 * 5, 5, 'mpirun');
        INSERT INTO NVTX_EVENTS VALUES (1, 900, 59, 'launch', NULL, 16777216 * 5 + 5);";
    let other = "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE globalPid = 16777216 * 78;";
    let path = database("rank_6.sqlite", &format!("{NEW}{launcher}{other}"));
    let names = |recording: &Recording| -> Vec<String> {
        let groups = recording.trace().unwrap().definitions().system.groups();
        groups.iter().map(|it| it.name.clone()).collect()
    };
    let recording = read(&path);
    // The number in the file name belongs to the process with activities.
    assert_eq!(
        names(&recording),
        ["rank 6, solver (77)", "rank 6, GPU 0", "mpirun (5)"]
    );
    // With both, there are two ranks, and the launcher is neither.
    let recording = read(&database("both.sqlite", &format!("{NEW}{launcher}")));
    let all = names(&recording);
    assert_eq!(
        all[..3],
        ["rank 0, solver (77)", "rank 0, GPU 0", "rank 1, GPU 0"]
    );
    assert_eq!(all[3], "mpirun (5)");
}

/// Exports before the use of `NULL`: missing values are 0, -1 or empty text.
#[test]
fn what_old_exports_write_for_nothing_is_nothing() {
    let text = "
        CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, textId INTEGER,
            globalTid INTEGER);
        INSERT INTO NVTX_EVENTS VALUES (5, 0, 59, '', 1, 16777216 + 1), (6, -1, 59, 'b', 0, 16777216 + 1),
            (7, 30, 59, '', 1, 16777216 + 1), (9, 0, 34, 'mark', 0, 16777216 + 1);
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER,
            correlationId INTEGER, nameId INTEGER);
        INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 2, 16777216 + 1, 0, 1);
        ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN shortName INTEGER DEFAULT 0;
        ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN greenContextId INTEGER DEFAULT 0;
        UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET correlationId = 0;";
    let recording = read(&database("defaults.sqlite", &format!("{OLD}{text}")));
    let found = &recording.diagnostics;
    assert_eq!(found.count(nsys::rules::NO_END), 2, "{found}");
    assert_eq!(found.count(nsys::rules::NEGATIVE), 0);
    assert_eq!(found.count(nsys::rules::NAME), 0);
    let trace = recording.trace().unwrap();
    assert_eq!(by_name(trace)["axpy<float>(int)"], (1, 5));
    assert_eq!(trace.links().len(), 0, "0 is no correlation id");
    let streams = locations(trace, LocationKind::AcceleratorStream);
    assert!(
        streams.iter().all(|(name, _)| !name.contains("green")),
        "{streams:?}"
    );
    assert_eq!(trace.definitions().kinds, ["mark"]);
}

#[test]
fn work_without_a_process_and_events_that_nobody_knows_are_counted() {
    let more = "
        UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET globalPid = NULL;
        UPDATE CUPTI_ACTIVITY_KIND_MEMSET SET globalPid = NULL;
        INSERT INTO NVTX_EVENTS VALUES (1, 2, 99, 'what', NULL, 16777216 * 77 + 5),
            (1, NULL, 33, 'category', NULL, 16777216 * 77 + 5);
        CREATE TABLE GPU_METRICS (timestamp INTEGER, metricId INTEGER, value INTEGER);
        INSERT INTO GPU_METRICS VALUES (1, 1, 1), (2, 1, 1), (3, 1, 1);
        CREATE TABLE GENERIC_EVENTS (rawTimestamp INTEGER);
        INSERT INTO GENERIC_EVENTS VALUES (1);";
    let recording = read(&database("nobody.sqlite", &format!("{NEW}{more}")));
    let found = &recording.diagnostics;
    assert_eq!(found.count(nsys::rules::NO_PROCESS), 4, "{found}");
    assert_eq!(found.count(nsys::rules::NVTX), 1);
    assert_eq!(found.count(nsys::rules::TABLE), 2 + 3 + 1);
    // Only one process calls the runtime, so the activities belong to it and are linked with its
    // calls.
    let trace = recording.trace().unwrap();
    assert_eq!(trace.links().len(), 2);
    assert!(
        trace
            .definitions()
            .system
            .groups()
            .iter()
            .all(|it| !it.name.contains("rank"))
    );
    // The column may be missing as well.
    let bare = OLD
        .replace("globalPid INTEGER, ", "")
        .replace("1, 16777216, 1)", "1, 1)");
    let bare = bare.replace("2, 16777216, 64", "2, 64");
    let recording = read(&database("bare-pid.sqlite", &bare));
    assert_eq!(recording.diagnostics.count(nsys::rules::NO_PROCESS), 2);
    assert_eq!(by_name(recording.trace().unwrap()).len(), 2);
}

#[test]
fn values_that_are_none_cost_their_row() {
    let path = database(
        "values.sqlite",
        "CREATE TABLE StringIds (id, value);
         INSERT INTO StringIds VALUES ('x', 'y'), (NULL, 'z'), (5, x'00ff'), (6, NULL), (7, 'k');
         CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId,
             globalPid, shortName);
         INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
             (1, 2, 0, 1, 7, 1, 0, 7), ('1', 2, 0, 1, 7, 1, 0, 7), (1, NULL, 0, 1, 7, 1, 0, 7),
             (1.5, 2, 0, 1, 7, 1, 0, 7), (1, 2, NULL, 1, 7, 1, 0, 7), (1, 2, 0, 1, x'07', 1, 0, 7),
             (5, 3, 0, 1, 7, 1, 0, 7), (-9223372036854775808, 9223372036854775807, 0, 1, 7, 1, 0, 99),
             (1, 2, -1, -1, -1, -1, -1, -1), (1, 2, 0, 1, 7, 1, 0, NULL);",
    );
    let recording = read(&path);
    let found = &recording.diagnostics;
    assert_eq!(found.count(nsys::rules::VALUE), 3 + 5, "{found}");
    assert_eq!(found.count(nsys::rules::NAME), 2);
    assert_eq!(found.count(nsys::rules::NEGATIVE), 1);
    // From the minimum to the maximum of 64-bit times.
    assert_eq!(found.count(nsys::rules::OUTLIER), 1);
    let text = found.to_string();
    let places: Vec<_> = found
        .iter()
        .flat_map(|(_, it)| it.places.iter().map(ToString::to_string))
        .collect();
    assert!(
        places
            .iter()
            .any(|it| it.contains("CUPTI_ACTIVITY_KIND_KERNEL.start, row 2")),
        "{places:?} {text}"
    );
    let calls: u64 = by_name(recording.trace().unwrap())
        .values()
        .map(|it| it.0)
        .sum();
    assert_eq!(calls, 4);
}

#[test]
fn what_is_no_export_is_an_error() {
    let text = scratch("text.sqlite");
    std::fs::write(&text, "SQLite format 3\0 and then not").unwrap();
    let empty = scratch("empty.sqlite");
    std::fs::write(&empty, "").unwrap();
    let other = database("other.sqlite", "CREATE TABLE animals (legs INTEGER);");
    let views = database(
        "views.sqlite",
        "CREATE TABLE animals (legs INTEGER); CREATE VIEW StringIds AS SELECT legs AS id, legs AS value FROM animals;",
    );
    for path in [&text, &empty, &other, &views] {
        let error = nsys::open(&[path], &OpenOptions::new(), &Job::default()).unwrap_err();
        assert!(matches!(error, Error::Malformed { .. }), "{error}");
        assert!(error.to_string().contains(".sqlite"), "{error}");
    }
    let missing = nsys::open(
        &[scratch("missing.sqlite")],
        &OpenOptions::new(),
        &Job::default(),
    );
    assert!(matches!(missing, Err(Error::Io { .. })));
    let none: [&Path; 0] = [];
    assert!(matches!(
        nsys::open(&none, &OpenOptions::new(), &Job::default()),
        Err(Error::Usage { .. })
    ));
    // Tables without rows, or without required columns.
    let bare = database(
        "bare.sqlite",
        "CREATE TABLE META_DATA_EXPORT (name, value);
         CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (begin INTEGER);
         INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1);",
    );
    let recording = read(&bare);
    assert_eq!(recording.diagnostics.count(nsys::rules::COLUMN), 1);
    assert!(recording.trace().unwrap().is_empty());
}

#[test]
fn what_is_left_of_a_database_that_was_cut_is_read() {
    let mut sql = String::from(NEW);
    for at in 0..2_000 {
        sql += &format!("INSERT INTO OSRT_API VALUES ({at}, {at});");
    }
    let path = database("cut.sqlite", &sql);
    let whole = std::fs::read(&path).unwrap();
    // The last pages belong to a table that is not read.
    std::fs::write(&path, &whole[..whole.len() - 2 * 4096]).unwrap();
    let recording = read(&path);
    let found = &recording.diagnostics;
    assert!(found.count(nsys::rules::DAMAGED_TABLE) >= 1, "{found}");
    assert_eq!(by_name(recording.trace().unwrap())["axpy"], (3, 90));
    // The head alone is not readable; the error contains its place.
    std::fs::write(&path, &whole[..2_000]).unwrap();
    let error = nsys::open(&[&path], &OpenOptions::new(), &Job::default()).unwrap_err();
    let place = error.place().unwrap();
    assert_eq!(place.record.as_deref(), Some("sqlite_master"), "{error}");
}

#[test]
fn damage_is_an_error_or_counted_and_never_a_panic() {
    let whole = std::fs::read(database("whole.sqlite", NEW)).unwrap();
    let path = scratch("damaged.sqlite");
    let mut damaged = 0;
    for seed in 0..300usize {
        let mut bytes = whole.clone();
        if seed % 3 == 0 {
            bytes.truncate(seed * whole.len() / 300);
        }
        for step in 0..1 + seed % 7 {
            let at = (seed * 7_919 + step * 104_729) % bytes.len().max(1);
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << (seed % 8);
            }
        }
        std::fs::write(&path, &bytes).unwrap();
        match nsys::open(&[&path], &OpenOptions::new(), &Job::default()) {
            Ok(recording) => damaged += u64::from(recording.diagnostics.repairs() > 2),
            Err(error) => {
                assert!(error.to_string().contains("damaged.sqlite"), "{error}");
                damaged += 1;
            }
        }
    }
    assert!(damaged > 50, "{damaged}");
}

#[test]
fn memory_is_limited() {
    let mut sql = String::from(
        "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
         CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId,
             globalPid, shortName);
         BEGIN;",
    );
    for at in 0..10_000 {
        sql += &format!(
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({at}, {at}, 0, 1, 7, {at}, 0, 1);"
        );
    }
    let path = database("many.sqlite", &(sql + "COMMIT;"));
    let options = OpenOptions::new().limits(Limits::default().with_memory(50_000));
    assert!(matches!(
        nsys::open(&[&path], &options, &Job::default()),
        Err(Error::Limit { .. })
    ));
    assert_eq!(read(&path).trace().unwrap().len(), 20_000);
}

#[test]
fn one_long_form_of_many_kernels_takes_no_more_than_the_memory_budget() {
    let mut sql = format!(
        "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
         INSERT INTO StringIds VALUES (0, '{}');
         CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId,
             globalPid, demangledName, shortName);
         BEGIN;",
        "x".repeat(1000)
    );
    for at in 1..=400 {
        sql += &format!(
            "INSERT INTO StringIds VALUES ({at}, 'k{at}');
             INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({at}, {at}, 0, 1, 7, {at}, 0, 0, {at});"
        );
    }
    let path = database("forms.sqlite", &(sql + "COMMIT;"));
    let forms = |limits: Limits| {
        let recording = nsys::open(
            &[&path],
            &OpenOptions::new().limits(limits),
            &Job::default(),
        )
        .unwrap();
        let regions = &recording.trace().unwrap().definitions().regions;
        let with_form = regions.iter().filter(|it| it.canonical.len() == 1000);
        (
            with_form.count(),
            recording.diagnostics.count(nsys::rules::DEFINITIONS),
        )
    };
    assert_eq!(forms(Limits::default()), (400, 0));
    assert_eq!(forms(Limits::default().with_string(1000)), (256, 144));
}

/// Returns a database of 400 kernels. The texts are numbered, and number 0 has 1,000 bytes. `names`
/// are the text numbers of long form and name of kernel `i`.
fn kernels(file: &str, texts: &str, names: &str) -> PathBuf {
    let sql = format!(
        "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
         INSERT INTO StringIds VALUES (0, '{}');
         CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId,
             globalPid, demangledName, shortName); {} {}",
        "x".repeat(1000),
        many(400, "StringIds", &format!("i + 1, {texts}")),
        many(
            400,
            "CUPTI_ACTIVITY_KIND_KERNEL",
            &format!("i, i, 0, 1, 7, i, 0, {names}")
        ),
    );
    database(file, &sql)
}

/// Returns kernels named by a letter and a number that share the long text as their long form.
fn forms(file: &str, letter: char) -> PathBuf {
    kernels(file, &format!("'{letter}' || i"), "0, i + 1")
}

#[test]
fn long_forms_of_several_databases_take_no_more_than_the_memory_budget_together() {
    let (first, other) = (
        forms("rank_0.forms.sqlite", 'k'),
        forms("rank_1.forms.sqlite", 'j'),
    );
    let again = forms("rank_2.forms.sqlite", 'k');
    let with_form = |paths: &[&PathBuf], threads: usize| {
        let limits = Limits::default().with_string(1000);
        let options = OpenOptions::new().limits(limits).threads(threads);
        let recording = nsys::open(paths, &options, &Job::default()).unwrap();
        let regions = &recording.trace().unwrap().definitions().regions;
        let with_form = regions.iter().filter(|it| it.canonical.len() == 1000);
        (
            with_form.count(),
            recording.diagnostics.count(nsys::rules::DEFINITIONS),
        )
    };
    for threads in [1, 2] {
        assert_eq!(with_form(&[&first, &other], threads), (256, 144 + 400));
        // Known kernels share their texts.
        assert_eq!(with_form(&[&first, &again], threads), (256, 2 * 144));
    }
}

/// The reverse case: the name is also copied for each region.
#[test]
fn one_name_of_many_long_forms_takes_no_more_than_the_memory_budget() {
    let path = kernels("one-name.sqlite", "1000 + i", "i + 1, 0");
    let options = OpenOptions::new().limits(Limits::default().with_string(1000));
    let recording = nsys::open(&[&path], &options, &Job::default()).unwrap();
    // The first takes 4 bytes, each further one 1,004 of 256,000; all others share one region.
    assert_eq!(
        recording.diagnostics.count(nsys::rules::DEFINITIONS),
        400 - 255
    );
    let regions = &recording.trace().unwrap().definitions().regions;
    assert_eq!(
        regions.iter().filter(|it| it.name.len() == 1000).count(),
        256
    );
}

/// An activity inside another of the same name has a second region of that name.
#[test]
fn names_of_work_within_work_take_no_more_than_the_memory_budget() {
    let kernels = "i, 1000 - i, 2, 1, 7, i, 16777216, 2";
    let sql = format!(
        "{OLD} INSERT INTO StringIds VALUES (2, '{}'); {}",
        "x".repeat(1000),
        many(200, "CUPTI_ACTIVITY_KIND_KERNEL", kernels),
    );
    let path = database("within.sqlite", &sql);
    let named = |limits: Limits| {
        let recording = nsys::open(
            &[&path],
            &OpenOptions::new().limits(limits),
            &Job::default(),
        )
        .unwrap();
        let trace = recording.trace().unwrap();
        let regions = trace.definitions().regions.iter();
        let named = regions.filter(|it| it.name.len() == 1000).count();
        let left_out = recording.diagnostics.count(nsys::rules::DEFINITIONS);
        let calls: u64 = by_name(trace).values().map(|it| it.0).sum();
        (named, left_out, calls)
    };
    assert_eq!(named(Limits::default()), (200, 0, 202));
    // Name and long form of each copy: 128 times 2,000 bytes.
    assert_eq!(named(Limits::default().with_string(1000)), (129, 71, 202));
}

#[test]
fn databases_share_the_memory_budget_for_strings() {
    let paths = [0, 1, 2].map(|rank| {
        let sql = format!(
            "{OLD} INSERT INTO StringIds VALUES (2, '{}')",
            "x".repeat(10_000)
        );
        database(&format!("rank_{rank}.strings.sqlite"), &sql)
    });
    for threads in [1, 2] {
        let limits = Limits::default().with_memory(25_000);
        let options = OpenOptions::new().limits(limits).threads(threads);
        assert!(nsys::open(&paths[..2], &options, &Job::default()).is_ok());
        assert!(matches!(
            nsys::open(&paths, &options, &Job::default()),
            Err(Error::Limit { .. })
        ));
    }
}

/// Fills a page of 512 bytes with repeated references to a child page.
fn interior(page: &mut [u8], child: u32) {
    let (cells, size) = (40_usize, 5);
    let start = page.len() - cells * size;
    page.fill(0);
    page[0] = 5;
    page[3..5].copy_from_slice(&(cells as u16).to_be_bytes());
    page[5..7].copy_from_slice(&(start as u16).to_be_bytes());
    page[8..12].copy_from_slice(&child.to_be_bytes());
    for cell in 0..cells {
        let at = start + cell * size;
        page[12 + 2 * cell..14 + 2 * cell].copy_from_slice(&(at as u16).to_be_bytes());
        page[at..at + 4].copy_from_slice(&child.to_be_bytes());
        page[at + 4] = cell as u8;
    }
}

#[test]
fn pages_that_stand_for_many_rows_are_not_counted_for_ever() {
    let mut sql = String::from(
        "PRAGMA page_size = 512;
         CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
         CREATE TABLE OTHER (timestamp INTEGER, value TEXT);
         CREATE TABLE PROCESSES (globalPid INTEGER, name TEXT);
         BEGIN;",
    );
    let long = "x".repeat(400);
    for at in 0..40 {
        sql += &format!(
            "INSERT INTO OTHER VALUES ({at}, '{long}'); INSERT INTO PROCESSES VALUES ({at}, '{long}');"
        );
    }
    let path = database("pages.sqlite", &(sql + "COMMIT;"));
    let root = |name: &str| -> usize {
        let connection = Connection::open(&path).unwrap();
        let sql = "SELECT rootpage FROM sqlite_master WHERE name = ?";
        let page: i64 = connection.query_row(sql, [name], |row| row.get(0)).unwrap();
        usize::try_from(page).unwrap()
    };
    let roots = [root("OTHER"), root("PROCESSES")];
    let mut bytes = std::fs::read(&path).unwrap();
    for root in roots {
        // The pages below the root: 15 levels, each with 40 references to the next.
        let page = &bytes[(root - 1) * 512..root * 512];
        let mut children: Vec<usize> = (0..u16::from_be_bytes([page[3], page[4]]) as usize)
            .map(|cell| {
                let at = u16::from_be_bytes([page[12 + 2 * cell], page[13 + 2 * cell]]) as usize;
                u32::from_be_bytes(page[at..at + 4].try_into().unwrap()) as usize
            })
            .collect();
        children.truncate(16);
        assert!(children.len() == 16, "{}", children.len());
        children.insert(0, root);
        for pair in children.windows(2) {
            interior(
                &mut bytes[(pair[0] - 1) * 512..pair[0] * 512],
                pair[1] as u32,
            );
        }
    }
    std::fs::write(&path, &bytes).unwrap();
    let recording = read(&path);
    // As many as the file has bytes.
    assert_eq!(
        recording.diagnostics.count(nsys::rules::TABLE),
        bytes.len() as u64
    );
}
