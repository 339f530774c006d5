//! Tests with synthetic Chrome traces: conversion of each phase.

use crate::common::chrome_text;
use crate::common::gpu;

use chrome_text::{A, call, calls, only, read, trace};
use perf_core::{Event, LinkKind, Value};
use perf_formats::chrome::rules;
use proptest::prelude::*;

#[test]
fn processes_and_threads_as_text_numbers_zero_and_negative() {
    let text = r#"[
        {"ph":"X","name":"a","pid":"Spans","tid":"PyTorch Profiler","ts":0,"dur":1},
        {"ph":"X","name":"b","pid":0,"tid":0,"ts":0,"dur":1},
        {"ph":"X","name":"c","pid":-1,"tid":-1,"ts":0,"dur":1},
        {"ph":"X","name":"d","pid":"7","tid":"8","ts":0,"dur":1},
        {"ph":"X","name":"e","pid":7,"tid":8,"ts":2,"dur":1},
        {"ph":"M","name":"process_name","pid":7,"args":{"name":"python"}},
        {"ph":"M","name":"thread_name","pid":7,"tid":8,"ts":"never","args":{"name":"main"}}]"#;
    let recording = read(text);
    assert!(
        recording.diagnostics.is_empty(),
        "{}",
        recording.diagnostics
    );
    let system = &trace(&recording).definitions().system;
    let labels: Vec<_> = system.location_ids().map(|id| system.label(id)).collect();
    let expected = [
        "process -1, thread -1",
        "process 0, thread 0",
        "python (7), main (8)",
        "process Spans, thread PyTorch Profiler",
    ];
    assert_eq!(labels, expected);
}

#[test]
fn the_ends_of_time_fit_into_one_trace() {
    let text = r#"[{"ph":"X","name":"a","pid":1,"tid":1,"ts":-9223372036854775.808,"dur":0},
        {"ph":"X","name":"b","pid":1,"tid":1,"ts":9223372036854775.807,"dur":0}]"#;
    let recording = read(text);
    let expected = [call("a", 0, 0), call("b", u64::MAX, u64::MAX)];
    assert_eq!(calls(trace(&recording)), expected);
}

#[test]
fn events_out_of_order_are_sorted() {
    let text = r#"[
        {"ph":"X","name":"inner","pid":1,"tid":1,"ts":5,"dur":1},
        {"ph":"X","cat":"kernel","name":"k2","pid":0,"tid":7,"ts":20,"dur":1},
        {"ph":"X","name":"outer","pid":1,"tid":1,"ts":1,"dur":9},
        {"ph":"X","cat":"kernel","name":"k1","pid":0,"tid":7,"ts":10,"dur":1}]"#;
    let recording = read(text);
    assert_eq!(recording.diagnostics.repairs(), 0);
    let expected = [
        call("inner", 4000, 5000),
        call("k1", 9000, 10_000),
        call("k2", 19_000, 20_000),
        call("outer", 0, 9000),
    ];
    assert_eq!(calls(trace(&recording)), expected);
}

#[test]
fn begins_and_ends_are_paired() {
    let text = r#"[
        {"ph":"B","name":"f","pid":1,"tid":1,"ts":1},
        {"ph":"B","name":"g","pid":1,"tid":1,"ts":2},
        {"ph":"E","pid":1,"tid":1,"ts":3},
        {"ph":"E","pid":1,"tid":1,"ts":4},
        {"ph":"E","pid":1,"tid":1,"ts":5},
        {"ph":"B","name":"h","pid":1,"tid":1,"ts":6},
        {"ph":"i","name":"note","pid":1,"tid":1,"ts":9,"s":"t"}]"#;
    let recording = read(text);
    let found = &recording.diagnostics;
    assert_eq!(
        (found.count(rules::NO_BEGIN), found.count(rules::NO_END)),
        (1, 1)
    );
    let expected = [
        call("f", 0, 3000),
        call("g", 1000, 2000),
        call("h", 5000, 8000),
    ];
    assert_eq!(calls(trace(&recording)), expected);
}

#[test]
fn a_device_that_is_null_is_none() {
    let text = r#"[{"ph":"X","cat":"kernel","name":"k","pid":3,"tid":"stream 7","ts":1,"dur":2,
        "args":{"device":null,"stream":null,"context":null,"correlation":null}}]"#;
    let recording = read(text);
    let location = &trace(&recording).definitions().system.locations()[0];
    for (key, value) in [
        ("device", Some("3")),
        ("stream", Some("7")),
        ("context", None),
    ] {
        assert_eq!(location.properties.get(key), value, "{key}");
    }
}

#[test]
fn args_come_in_any_order_and_before_the_name() {
    let text = r#"[{"args":{"x":[1,{"device":9}],"correlation":5,"stream":3,"bytes":64,"device":1,"context":2},
        "dur":2.5,"ts":1,"tid":"stream 7","pid":0,"name":"Memcpy HtoD","cat":"gpu_memcpy","ph":"X"}]"#;
    let recording = read(text);
    assert_eq!(recording.diagnostics.count(rules::ARGUMENTS), 1);
    let trace = trace(&recording);
    let location = &trace.definitions().system.locations()[0];
    for (key, value) in [("device", "1"), ("stream", "3"), ("context", "2")] {
        assert_eq!(location.properties.get(key), Some(value));
    }
    let values: Vec<_> = trace.events()[0].attributes(0).map(|it| it.value).collect();
    assert_eq!(values, [Value::U64(5), Value::U64(64)]);
}

#[test]
fn ids_that_are_local_global_or_neither_are_kept_apart() {
    let event = |phase: &str, id: &str, pid: u32, ts: u32| {
        format!(r#"{{"ph":"{phase}","cat":"net","name":"n","pid":{pid},"tid":1,"ts":{ts},{id}}}"#)
    };
    let (local, global, plain) = (
        r#""id2":{"local":"0x1"}"#,
        r#""id2":{"global":"0x1"}"#,
        r#""id":"0x1""#,
    );
    let all = [
        event("b", local, 1, 1),
        event("b", local, 2, 2),
        event("b", global, 1, 3),
        event("b", plain, 1, 4),
        event("e", local, 1, 5),
        event("e", local, 2, 6),
        event("e", global, 1, 7),
        event("e", plain, 1, 8),
        event("n", plain, 1, 9),
    ];
    let recording = read(&format!("[{}]", all.join(",")));
    let found = &recording.diagnostics;
    assert_eq!(
        (found.count(rules::NO_BEGIN), found.count(rules::NO_END)),
        (0, 0),
        "{found}"
    );
    let lengths: Vec<_> = calls(trace(&recording))
        .iter()
        .map(|it| it.2 - it.1)
        .collect();
    assert_eq!(lengths, [4000; 4]);
    assert_eq!(
        trace(&recording).definitions().kinds.len(),
        1,
        "the instant"
    );
}

#[test]
fn calls_of_one_thread_that_overlap_are_all_kept() {
    let text = r#"[
        {"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":10},
        {"ph":"X","name":"b","pid":1,"tid":1,"ts":5,"dur":10},
        {"ph":"X","name":"c","pid":1,"tid":1,"ts":6,"dur":1}]"#;
    let recording = read(text);
    assert_eq!(only(&recording), ("overlapping-calls", 1));
    let expected = [
        call("a", 0, 10_000),
        call("b", 5000, 15_000),
        call("c", 6000, 7000),
    ];
    assert_eq!(calls(trace(&recording)), expected);
    let locations = trace(&recording).definitions().system.locations();
    assert_eq!(locations[1].properties.get("lane"), Some("1"));

    // More overlapping calls than lanes: trimmed and counted, and none lost.
    let many =
        (0..400).map(|at| A.replace("\"ts\":1,\"dur\":2", &format!("\"ts\":{at},\"dur\":1000")));
    let recording = read(&format!("[{}]", many.collect::<Vec<_>>().join(",")));
    assert_eq!(recording.diagnostics.count(rules::TRIMMED), 400 - 256);
    assert_eq!(trace(&recording).len(), 800);
}

#[test]
fn work_of_one_stream_may_overlap_lie_within_and_take_no_time() {
    let kernel = |name: &str, ts: u32, dur: u32| {
        format!(
            r#"{{"ph":"X","cat":"kernel","name":"{name}","pid":0,"tid":7,"ts":{ts},"dur":{dur}}}"#
        )
    };
    let all = [
        kernel("a", 0, 10),
        kernel("b", 5, 10),
        kernel("a", 2, 3),
        kernel("a", 4, 9),
        kernel("c", 20, 0),
        kernel("c", 20, 5),
        kernel("a", 30, 1),
    ];
    let recording = read(&format!("[{}]", all.join(",")));
    assert!(
        recording
            .diagnostics
            .iter()
            .all(|(rule, _)| rule == rules::UNLINKED)
    );
    let expected = [
        call("a", 0, 10_000),
        call("a", 2000, 5000),
        call("a", 4000, 13_000),
        call("a", 30_000, 31_000),
        call("b", 5000, 15_000),
        call("c", 20_000, 20_000),
        call("c", 20_000, 25_000),
    ];
    assert_eq!(calls(trace(&recording)), {
        let mut sorted = expected.to_vec();
        sorted.sort();
        sorted
    });
    let device = &gpu::devices(trace(&recording))["0"];
    assert_eq!((device.events, device.empty, device.busy()), (7, 1, 21_000));
}

#[test]
fn streams_are_told_apart_by_device_context_and_number() {
    let kernel = |device: i32, context: i32, stream: i32| {
        format!(
            r#"{{"ph":"X","cat":"Kernel","name":"k","pid":5,"tid":"stream 7","ts":1,"dur":1,
                "args":{{"device":{device},"context":{context},"stream":{stream}}}}}"#
        )
    };
    let all = [
        kernel(0, 1, 0),
        kernel(1, 1, 0),
        kernel(1, 2, 0),
        kernel(1, 1, -1),
    ];
    let recording = read(&format!("[{}]", all.join(",")));
    let system = &trace(&recording).definitions().system;
    let labels: Vec<_> = system.location_ids().map(|id| system.label(id)).collect();
    let expected = [
        "GPU 0, stream 0",
        "GPU 1, stream -1",
        "GPU 1, stream 0, context 1",
        "GPU 1, stream 0, context 2",
    ];
    assert_eq!(labels, expected);
}

#[test]
fn launches_and_flows_become_links() {
    let text = r#"[
        {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":1,"dur":2,"args":{"correlation":4}},
        {"ph":"X","cat":"cuda_driver","name":"cuLaunchKernel","pid":9,"tid":9,"ts":2,"dur":1,"args":{"correlation":4}},
        {"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":5,"dur":2,"args":{"correlation":4,"device":0,"stream":7}},
        {"ph":"X","cat":"kernel","name":"l","pid":0,"tid":7,"ts":8,"dur":2,"args":{"correlation":44,"device":0,"stream":7}},
        {"ph":"s","cat":"ac2g","name":"ac2g","id":4,"pid":9,"tid":9,"ts":1},
        {"ph":"f","cat":"ac2g","name":"ac2g","id":4,"pid":0,"tid":7,"ts":5,"bp":"e"},
        {"ph":"X","cat":"cpu_op","name":"fwd","pid":9,"tid":9,"ts":20,"dur":4},
        {"ph":"X","cat":"cpu_op","name":"bwd","pid":9,"tid":10,"ts":30,"dur":4},
        {"ph":"s","cat":"fwdbwd","name":"fwdbwd","id":1,"pid":9,"tid":9,"ts":21},
        {"ph":"f","cat":"fwdbwd","name":"fwdbwd","id":1,"pid":9,"tid":10,"ts":29},
        {"ph":"f","cat":"fwdbwd","name":"fwdbwd","id":2,"pid":9,"tid":10,"ts":29}]"#;
    let recording = read(text);
    let found = &recording.diagnostics;
    assert_eq!(
        (found.count(rules::UNLINKED), found.count(rules::FLOW)),
        (1, 1),
        "{found}"
    );
    let trace = trace(&recording);
    let name = |end: perf_core::EventId| {
        let event = trace.events()[end.location.index()].event(end.index as usize);
        match event {
            Some(Event::Enter { region }) => trace.definitions().region_name(region).into_owned(),
            other => panic!("{other:?}"),
        }
    };
    let links = trace.links().iter();
    let mut links: Vec<_> = links
        .map(|it| (it.kind, name(it.from), name(it.to)))
        .collect();
    links.sort();
    let link = |kind, from: &str, to: &str| (kind, from.to_owned(), to.to_owned());
    let expected = [
        link(LinkKind::Launch, "cudaLaunchKernel", "k"),
        link(LinkKind::Flow, "fwd", "bwd"),
    ];
    assert_eq!(links, expected);
}

#[test]
fn counters_are_metrics() {
    let text = r#"[
        {"ph":"C","name":"mem","pid":1,"ts":1,"args":{"used":5,"free":2.5}},
        {"ph":"C","name":"mem","pid":1,"ts":2,"args":{"used":-6,"free":"1"}},
        {"ph":"C","name":"mem","pid":1,"ts":3,"args":{"used":NaN,"free":1}},
        {"ph":"C","name":"mem","pid":1,"ts":4}]"#;
    let recording = read(text);
    assert_eq!(only(&recording), ("invalid-value", 2));
    let trace = trace(&recording);
    let metrics = &trace.definitions().metrics;
    assert_eq!(
        (metrics[0].name.as_str(), metrics[1].name.as_str()),
        ("mem: used", "mem: free")
    );
    let mut values = Vec::new();
    for (_, event) in trace
        .view()
        .locations()
        .flat_map(|it| it.iter().collect::<Vec<_>>())
    {
        let Event::Metric { set, values: bits } = event else {
            continue;
        };
        let members = &trace.definitions().metric_sets[set.index()].members;
        let kinds = members.iter().map(|id| metrics[id.index()].value_type);
        values.extend(
            kinds
                .zip(bits)
                .map(|(kind, bits)| Value::from_bits(kind, *bits)),
        );
    }
    let expected = [
        Value::I64(5),
        Value::F64(2.5),
        Value::I64(-6),
        Value::F64(1.0),
        Value::F64(1.0),
    ];
    assert_eq!(values, expected);
}

#[test]
fn phases_without_a_noun_are_counted() {
    for phase in ["P", "N", "O", "D", "v", "V", "c", "?", ""] {
        let event = format!(r#"{{"ph":"{phase}","name":"x","pid":1,"tid":1,"ts":1}}"#);
        assert_eq!(
            only(&read(&format!("[{A},{event}]"))),
            ("other-phase", 1),
            "{phase}"
        );
    }
}

#[test]
fn properties_and_the_time_of_day() {
    let text = format!(
        r#"{{"schemaVersion":1,"baseTimeNanoseconds":1700000000000000000,"displayTimeUnit":"ns",
        "deviceProperties":[{{"id":0,"name":"AMD Instinct MI210"}}],"distributedInfo":{{"rank":3,"world_size":8}},
        "traceEvents":[{A},{{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":0,"ts":5,"dur":1}}],"traceName":"x"}} tail"#
    );
    let recording = read(&text);
    assert_eq!(recording.diagnostics.count(rules::TRAILING), 1);
    let definitions = trace(&recording).definitions();
    assert_eq!(definitions.clock.realtime, Some(1_700_000_000_000_001_000));
    assert_eq!(
        gpu::stated(&definitions.properties, "distributedInfo.world_size"),
        Some("8")
    );
    let device = &definitions.system.groups()[1];
    assert_eq!(device.name, "rank 3, GPU 0");
    assert_eq!(device.creator, Some(perf_core::LocationGroupId(0)));
    assert_eq!(device.properties.get("name"), Some("AMD Instinct MI210"));
    let kernel = definitions
        .regions
        .iter()
        .find(|it| it.name == "k")
        .unwrap();
    assert_eq!(kernel.paradigm, perf_core::Paradigm::Hip);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn busy_is_the_union_and_no_event_is_lost(
        spans in prop::collection::vec((0u64..200, 0u64..40, 0u8..3, 0u8..2), 1..60),
    ) {
        let event = |(start, length, name, stream): &(u64, u64, u8, u8)| format!(
            r#"{{"ph":"X","cat":"kernel","name":"k{name}","pid":0,"tid":{stream},"ts":0.{start:03},"dur":0.{length:03}}}"#
        );
        let list: Vec<_> = spans.iter().map(event).collect();
        let recording = read(&format!("[{}]", list.join(",")));
        let first = spans.iter().map(|it| it.0).min().unwrap();
        let mut expected: Vec<_> = spans
            .iter()
            .map(|it| (format!("k{}", it.2), it.0 - first, it.0 - first + it.1))
            .collect();
        expected.sort();
        prop_assert_eq!(calls(trace(&recording)), expected);
        let mut sorted: Vec<_> = spans.iter().map(|it| (it.0, it.0 + it.1)).collect();
        sorted.sort_unstable();
        prop_assert_eq!(gpu::devices(trace(&recording))["0"].busy(), gpu::union(&sorted));
    }

    #[test]
    fn calls_of_a_thread_come_back_whatever_overlaps(
        spans in prop::collection::vec((0u64..60, 0u64..40, 0u8..3), 1..40),
    ) {
        let event = |(start, length, name): &(u64, u64, u8)| format!(
            r#"{{"ph":"X","name":"f{name}","pid":1,"tid":1,"ts":0.{start:03},"dur":0.{length:03}}}"#
        );
        let list: Vec<_> = spans.iter().map(event).collect();
        let recording = read(&format!("[{}]", list.join(",")));
        let first = spans.iter().map(|it| it.0).min().unwrap();
        let mut expected: Vec<_> = spans
            .iter()
            .map(|it| (format!("f{}", it.2), it.0 - first, it.0 - first + it.1))
            .collect();
        expected.sort();
        prop_assert_eq!(calls(trace(&recording)), expected);
    }
}
