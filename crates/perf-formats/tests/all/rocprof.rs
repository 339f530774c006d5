//! Tests of rocprofv3 recordings: that of the corpus, and small synthetic ones.

#![cfg(feature = "rocprof")]

use crate::common::gpu;

use perf_core::{GroupKind, Job, LinkKind, LocationKind, Paradigm};
use perf_formats::rocprof::{self, rules};
use perf_formats::{Error, OpenOptions, Recording, open};

#[test]
fn the_recording_of_the_corpus_is_as_its_facts_say() {
    let Some((folder, facts)) = gpu::facts() else {
        return;
    };
    let facts = facts
        .iter()
        .find(|it| it["format"] == "rocprofv3-json")
        .unwrap();
    let path = folder.join(facts["local"].as_str().unwrap());
    let recording = open(&path, &OpenOptions::new(), &Job::default()).unwrap();
    assert_eq!(recording.format, "rocprof");
    assert_eq!(
        recording.diagnostics.repairs(),
        0,
        "{}",
        recording.diagnostics
    );
    let trace = recording.trace().unwrap();
    let devices = gpu::devices(trace);
    assert_eq!(devices.len(), 1);
    let device = &devices["0"];
    let own = &facts["device"]["agent 37946"];
    assert_eq!(device.events, facts["gpu_events"].as_u64().unwrap());
    assert_eq!(device.kernels, facts["kernels"].as_u64().unwrap());
    assert_eq!(
        device.streams.len() as u64,
        facts["streams"].as_u64().unwrap()
    );
    assert_eq!(device.busy(), own["busy_union_ns"].as_u64().unwrap());
    assert_eq!(device.span(), own["span_ns"].as_u64().unwrap());
    let locations = trace.definitions().system.locations();
    let pairs = facts["queue_stream_pairs"].as_u64().unwrap();
    assert_eq!(locations.len() as u64, pairs);
    for (pair, facts) in own["top_queue_stream"].as_object().unwrap() {
        let (queue, stream) = pair.split_once('/').unwrap();
        let is_it = |location: &&perf_core::Location| {
            location.properties.get("queue") == Some(queue)
                && location.properties.get("stream") == Some(stream)
        };
        let key = locations.iter().find(is_it).unwrap().key;
        let view = trace.location(perf_core::LocationId(key as u32)).unwrap();
        let mut spans = Vec::new();
        perf_core::intervals(
            view,
            |call| spans.push((call.start.0, call.end.0)),
            &Job::default(),
        )
        .unwrap();
        spans.sort_unstable();
        assert_eq!(
            spans.len() as u64,
            facts["events"].as_u64().unwrap(),
            "{pair}"
        );
        assert_eq!(
            gpu::union(&spans),
            facts["busy_ns"].as_u64().unwrap(),
            "{pair}"
        );
    }
    let group = &trace.definitions().system.groups()[0];
    assert_eq!(
        (group.name.as_str(), group.kind),
        ("GPU 0", GroupKind::Accelerator)
    );
    assert_eq!(group.properties.get("name"), Some("AMD Instinct MI350X"));
}

const SMALL: &str = r#"{"rocprofiler-sdk-tool": [{
 "metadata": {"pid": 12, "node": {"hostname": "n1"}, "init_time": 5, "command": ["a", "b"]},
 "buffer_records": {
  "memory_copy": [{"kind": 1, "operation": 1, "correlation_id": {"internal": 2, "external": 0},
    "start_timestamp": 10, "end_timestamp": 20, "src_agent_id": {"handle": 1}, "dst_agent_id": {"handle": 2}, "bytes": 4096}],
  "kernel_dispatch": [
   {"correlation_id": {"internal": 3}, "start_timestamp": 15, "end_timestamp": 30, "stream_id": {"handle": 0},
    "dispatch_info": {"agent_id": {"handle": 2}, "queue_id": {"handle": 7}, "kernel_id": 4}},
   {"correlation_id": {"internal": 99}, "start_timestamp": 25, "end_timestamp": 35, "stream_id": {"handle": 0},
    "dispatch_info": {"agent_id": {"handle": 2}, "queue_id": {"handle": 7}, "kernel_id": 77}}],
  "hip_api": [{"kind": 0, "operation": 0, "thread_id": 12, "correlation_id": {"internal": 3}, "start_timestamp": 5, "end_timestamp": 9}],
  "hsa_api": [{"kind": 0, "operation": 1, "thread_id": 12, "correlation_id": {"internal": 2}, "start_timestamp": 9, "end_timestamp": 10}],
  "marker_api": [{"kind": 2, "operation": 0, "thread_id": 12, "correlation_id": {"internal": 6}, "start_timestamp": 1, "end_timestamp": 50},
                 {"kind": 2, "operation": 0, "thread_id": 12, "correlation_id": {"internal": 7}, "start_timestamp": 2, "end_timestamp": 2}],
  "scratch_memory": [{"kind": 1, "operation": 0, "agent_id": {"handle": 2}, "queue_id": {"handle": 7}, "start_timestamp": 14, "end_timestamp": 15}],
  "pc_sample_host_trap": [{"a": 1}],
  "rccl_api": []
 },
 "agents": [{"id": {"handle": 1}, "type": 1, "name": "cpu"},
            {"id": {"handle": 2}, "type": 2, "logical_node_type_id": 3, "name": "gfx90a", "product_name": ""}],
 "kernel_symbols": [{"kernel_id": 4, "formatted_kernel_name": "void axpy<float>(float*)", "kernel_name": "_Z4axpy"}],
 "strings": {"buffer_records": [{"kind": "HIP", "operations": ["hipLaunchKernel", "hsa_copy"]},
   {"kind": "MEMORY_COPY", "operations": ["NONE", "HOST_TO_DEVICE"]}, {"kind": "MARKER", "operations": ["roctxRangePushA"]}],
  "marker_api": [{"key": 6, "value": "step 1"}, {"key": 7, "value": "here"}]}
}]}"#;

fn read(text: &str) -> Recording {
    let bytes = std::io::Cursor::new(text.as_bytes().to_vec());
    rocprof::read("small", bytes, &OpenOptions::new(), &Job::default()).unwrap()
}

#[test]
fn each_section_in_whatever_order() {
    let recording = read(SMALL);
    let found = &recording.diagnostics;
    assert_eq!(found.count(rules::SECTION), 1);
    assert_eq!(found.count(rules::NO_NAME), 1, "kernel 77");
    assert_eq!(found.count(rules::UNLINKED), 1);
    // The agents come after the copies, which wait until the GPUs are known.
    assert_eq!(found.count(rules::NO_AGENT), 0);
    let trace = recording.trace().unwrap();
    let system = &trace.definitions().system;
    let names: Vec<_> = system.location_ids().map(|id| system.label(id)).collect();
    assert_eq!(
        names,
        [
            "process 12, thread 12",
            "GPU 3, stream -1",
            "GPU 3, stream 0",
            "GPU 3, stream 7, annotations"
        ]
    );
    assert_eq!(system.nodes()[0].name, "n1");
    let names: Vec<_> = trace
        .definitions()
        .regions
        .iter()
        .map(|it| it.name.as_str())
        .collect();
    assert!(names.contains(&"void axpy<float>(float*)") && names.contains(&"kernel 77"));
    let regions = &trace.definitions().regions;
    let axpy = regions
        .iter()
        .find(|it| it.name.starts_with("void"))
        .unwrap();
    assert_eq!(axpy.canonical, "_Z4axpy");
    assert!(names.contains(&"step 1") && trace.definitions().kinds == ["here"]);
    let kernel = trace
        .definitions()
        .regions
        .iter()
        .find(|it| it.name == "kernel 77")
        .unwrap();
    assert_eq!(kernel.paradigm, Paradigm::Hip);
    let launches = trace
        .links()
        .iter()
        .filter(|link| link.kind == LinkKind::Launch);
    assert_eq!(launches.count(), 2, "the kernel and the copy");
    let kinds: Vec<_> = system.locations().iter().map(|it| it.kind).collect();
    assert_eq!(kinds[1], LocationKind::AcceleratorStream);
    assert_eq!(kinds[3], LocationKind::Unknown);
    // From the marker at 1 to its end at 50.
    assert_eq!(trace.range().map(|range| range.len()), Some(50));
}

/// Returns a process with one GPU, with its number, host and kernels.
fn process(pid: u32, host: &str, dispatches: &[(u64, u64)]) -> String {
    let dispatch = |(start, end): &(u64, u64)| {
        format!(
            r#"{{"correlation_id": {{"internal": 1}}, "start_timestamp": {start}, "end_timestamp": {end}, "stream_id": {{"handle": 0}},
            "dispatch_info": {{"agent_id": {{"handle": 2}}, "queue_id": {{"handle": 7}}, "kernel_id": 4}}}}"#
        )
    };
    let dispatches: Vec<_> = dispatches.iter().map(dispatch).collect();
    format!(
        r#"{{"metadata": {{"pid": {pid}, "node": {{"hostname": "{host}"}}}},
        "agents": [{{"id": {{"handle": 1}}, "type": 1, "name": "cpu"}},
            {{"id": {{"handle": 2}}, "type": 2, "logical_node_type_id": 0, "name": "gfx942"}}],
        "kernel_symbols": [{{"kernel_id": 4, "formatted_kernel_name": "axpy", "demangled_kernel_name": "axpy(int)"}}],
        "buffer_records": {{"kernel_dispatch": [{}],
            "hip_api": [{{"kind": 0, "operation": 0, "thread_id": {pid}, "correlation_id": {{"internal": 1}},
                "start_timestamp": 5, "end_timestamp": 9}}]}}}}"#,
        dispatches.join(",")
    )
}

fn file(processes: &[String]) -> String {
    format!("{{\"rocprofiler-sdk-tool\": [{}]}}", processes.join(","))
}

fn devices(recording: &Recording) -> Vec<String> {
    let groups = recording.trace().unwrap().definitions().system.groups();
    let own = groups.iter().filter(|it| it.kind == GroupKind::Accelerator);
    own.map(|it| it.name.clone()).collect()
}

#[test]
fn processes_of_a_file_are_ranks_but_for_those_without_work() {
    let all = [
        process(10, "n1", &[]),
        process(11, "n1", &[(10, 20)]),
        process(12, "n1", &[(15, 35)]),
    ];
    let recording = read(&file(&all));
    assert_eq!(devices(&recording), ["rank 0, GPU 0", "rank 1, GPU 0"]);
    let system = &recording.trace().unwrap().definitions().system;
    let labels: Vec<_> = system.location_ids().map(|id| system.label(id)).collect();
    assert!(
        labels.contains(&"process 10, thread 10".into()),
        "{labels:?}"
    );
    // Ids of different processes are unrelated.
    assert_eq!(recording.trace().unwrap().links().len(), 2);
    // A single process with activities has no rank.
    let recording = read(&file(&all[..2]));
    assert_eq!(devices(&recording), ["GPU 0"]);
}

#[test]
fn several_files_are_ranks_on_the_clock_of_their_host() {
    let folder = std::env::temp_dir().join(format!("perfkit-rocprof-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, text: String| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let first = write(
        "rank_1_results.json",
        file(&[process(11, "n1", &[(1000, 2000)])]),
    );
    let second = write(
        "rank_0_results.json",
        file(&[process(12, "n1", &[(1500, 3500)])]),
    );
    let other = write(
        "rank_2_results.json",
        file(&[process(12, "n2", &[(1500, 3500)])]),
    );
    let both = rocprof::open(&[&first, &second], &OpenOptions::new(), &Job::default()).unwrap();
    assert_eq!(devices(&both), ["rank 0, GPU 0", "rank 1, GPU 0"]);
    assert_eq!(both.diagnostics.count(rules::CLOCKS), 0);
    let found = gpu::devices(both.trace().unwrap());
    assert_eq!((found["0"].events, found["0"].busy()), (2, 2500));
    // The clocks of two hosts are unrelated.
    let hosts = rocprof::open(&[&first, &other], &OpenOptions::new(), &Job::default()).unwrap();
    assert_eq!(hosts.diagnostics.count(rules::CLOCKS), 2);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The memory is checked after each array. With as many rows as sections, a check that visits all
/// rows would take quadratic time.
#[test]
fn many_sections_beside_many_rows_take_no_longer_than_their_bytes() {
    let dispatch = |queue: u64| {
        format!(
            r#"{{"start_timestamp": 1, "end_timestamp": 2, "dispatch_info": {{"queue_id": {{"handle": {queue}}}}}}}"#
        )
    };
    let dispatches: Vec<_> = (0..100_000).map(dispatch).collect();
    let text = format!(
        r#"{{"rocprofiler-sdk-tool": [{{"buffer_records": {{"kernel_dispatch": [{}], {}"b": []}}}}]}}"#,
        dispatches.join(","),
        r#""a":[],"#.repeat(1_000_000)
    );
    let recording = read(&text);
    let locations = recording.trace().unwrap().definitions().system.locations();
    assert_eq!(locations.len(), 100_000);
}

/// 40,000 records of one marker, whose text would take 20 GB if it were copied.
#[test]
fn records_of_one_marker_share_its_text() {
    let marker = |operation: u64| {
        format!(
            r#"{{"kind": 2, "operation": {operation}, "thread_id": 1, "correlation_id": {{"internal": 6}}, "start_timestamp": {operation}, "end_timestamp": {}}}"#,
            operation + 1
        )
    };
    let markers: Vec<_> = (0..40_000).map(marker).collect();
    let text = format!(
        r#"{{"rocprofiler-sdk-tool": [{{"buffer_records": {{"marker_api": [{}]}},
            "strings": {{"marker_api": [{{"key": 6, "value": "{}"}}]}}}}]}}"#,
        markers.join(","),
        "long ".repeat(100_000)
    );
    let recording = read(&text);
    let definitions = recording.trace().unwrap().definitions();
    let named = definitions.regions.iter();
    assert_eq!(named.filter(|it| it.name.starts_with("long ")).count(), 1);
}

#[test]
fn processes_and_files_share_the_memory_budget() {
    let folder =
        std::env::temp_dir().join(format!("perfkit-rocprof-memory-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let dispatches: Vec<_> = (0..500).map(|at| (at * 10, at * 10 + 5)).collect();
    let text = |count| {
        file(
            &(0..count)
                .map(|pid| process(pid, "n", &dispatches))
                .collect::<Vec<_>>(),
        )
    };
    let paths: Vec<_> = [1, 4, 1]
        .into_iter()
        .enumerate()
        .map(|(at, processes)| {
            let path = folder.join(format!("rank_{at}_results.json"));
            std::fs::write(&path, text(processes)).unwrap();
            path
        })
        .collect();
    let opens = |paths: &[&std::path::PathBuf], memory: u64, threads: usize| {
        let limits = perf_core::Limits::default().with_memory(memory);
        let options = OpenOptions::new().limits(limits).threads(threads);
        match rocprof::open(paths, &options, &Job::default()) {
            Ok(recording) => Some(recording.trace().unwrap().len()),
            Err(Error::Limit {
                what, got, limit, ..
            }) => {
                assert_eq!((what, limit), ("memory for events in bytes", memory));
                assert!(got > limit);
                None
            }
            Err(error) => panic!("{error}"),
        }
    };
    let enough = |paths: &[&std::path::PathBuf]| {
        let (mut short, mut most) = (0, 1 << 24);
        while most - short > 1 {
            let middle = (short + most) / 2;
            match opens(paths, middle, 1) {
                Some(_) => most = middle,
                None => short = middle,
            }
        }
        most
    };
    let one = enough(&[&paths[0]]);
    // A kernel and the call around all of them take some bytes each.
    assert!(one > 500 * 16, "{one}");
    assert_eq!(enough(&[&paths[1]]), 4 * one);
    assert_eq!(enough(&[&paths[0], &paths[2]]), 2 * one);
    for threads in [1, 2, 8] {
        assert_eq!(
            opens(&[&paths[0], &paths[1], &paths[2]], 6 * one - 1, threads),
            None
        );
        assert!(opens(&[&paths[0], &paths[1], &paths[2]], 6 * one, threads).is_some());
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn copies_run_on_a_gpu_or_on_none() {
    let copy = |source: u32, target: u32, at: u32| {
        format!(
            r#"{{"kind": 1, "operation": 1, "correlation_id": {{"internal": {at}}}, "start_timestamp": {at}, "end_timestamp": {},
            "src_agent_id": {{"handle": {source}}}, "dst_agent_id": {{"handle": {target}}}, "bytes": 64}}"#,
            at + 5
        )
    };
    let copies = [
        copy(1, 2, 10),
        copy(2, 1, 20),
        copy(1, 1, 30),
        copy(1, 99, 40),
    ]
    .join(",");
    let agents = r#""agents": [{"id": {"handle": 1}, "type": 1}, {"id": {"handle": 2}, "type": 2, "logical_node_type_id": 0}]"#;
    let records = format!(r#""buffer_records": {{"memory_copy": [{copies}]}}"#);
    for members in [
        format!("{agents}, {records}"),
        format!("{records}, {agents}"),
    ] {
        let recording = read(&format!("{{\"rocprofiler-sdk-tool\": [{{{members}}}]}}"));
        assert_eq!(recording.diagnostics.count(rules::NO_AGENT), 2);
        assert_eq!(devices(&recording), ["GPU 0"]);
        let trace = recording.trace().unwrap();
        let found = gpu::devices(trace);
        assert_eq!((found.len(), found["0"].events), (1, 2));
        let system = &trace.definitions().system;
        let beside: Vec<_> = system.location_ids().map(|id| system.label(id)).collect();
        assert!(
            beside.contains(&"process, asynchronous, copies".into()),
            "{beside:?}"
        );
        assert_eq!(trace.len(), 8);
    }
}

#[test]
fn records_of_sections_without_a_noun_are_counted_one_by_one() {
    let text = r#"{"rocprofiler-sdk-tool": [{
        "callback_records": {"counter_collection": [{"a": 1}, {"a": [2, {}]}, {"a": 3}]},
        "buffer_records": {"pc_sample_stochastic": [{}, {}], "odd": {"a": 1}, "empty": {}, "none": [], "word": 5}}]}"#;
    assert_eq!(read(text).diagnostics.count(rules::SECTION), 3 + 2 + 1);
}

#[test]
fn a_stray_bracket_among_records_without_a_noun_costs_itself() {
    let text =
        r#"{"rocprofiler-sdk-tool": [{"buffer_records": {"odd": [{"a": 1}}, {"a": 2}, }]}}]}"#;
    let found = read(text).diagnostics;
    assert_eq!(found.count(rules::SECTION), 2, "{found}");
    assert_eq!(found.count(rules::MALFORMED), 2, "{found}");
}

#[test]
fn every_prefix_gives_a_result_or_a_located_error() {
    for cut in 0..SMALL.len() {
        let bytes = std::io::Cursor::new(SMALL.as_bytes()[..cut].to_vec());
        match rocprof::read("cut", bytes, &OpenOptions::new(), &Job::default()) {
            Ok(recording) => {
                let found = recording.diagnostics;
                let is_told = found.count(rules::TRUNCATED) == 1;
                assert!(is_told || cut >= SMALL.len() - 2, "{cut}: {found}");
            }
            Err(error) => {
                assert!(matches!(error, Error::Truncated { .. }), "{error}");
                let offset = error.place().and_then(|place| place.offset);
                assert!(offset.is_some_and(|offset| offset <= cut as u64), "{error}");
            }
        }
    }
}

#[test]
fn what_is_none_is_refused_with_its_place() {
    for text in [
        "[]",
        "hello",
        "{}",
        "{\"rocprofiler-sdk-tool\": 5}",
        "{\"a\" 1}",
    ] {
        let error = rocprof::read(
            "none",
            text.as_bytes(),
            &OpenOptions::new(),
            &Job::default(),
        )
        .unwrap_err();
        assert!(matches!(error, Error::Malformed { .. }), "{text}: {error}");
    }
}
