//! Tests of Nsight Systems exports: facts of the corpus, both generations of the schema, and
//! invalid files.

#![cfg(feature = "nsys")]
mod damage;
mod memory_budget;

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
