//! Tests of Chrome traces with other device naming than CUDA and HIP, and with invalid times.

use crate::common::chrome_text;

use chrome_text::{read, trace};
use perf_core::{Job, LocationKind, Trace, intervals};
use perf_formats::chrome::{self, rules};
use perf_formats::{OpenOptions, Recording, open};

/// Returns the busy time and the number of activities of each device, by group name. The busy time
/// is the union of the activities on its streams.
fn busy(trace: &Trace) -> Vec<(String, u64, usize)> {
    let system = &trace.definitions().system;
    let mut found = Vec::new();
    for (number, group) in (0..).zip(system.groups()) {
        let mut work = Vec::new();
        for id in system.location_ids() {
            let location = system.location(id).unwrap();
            let is_own = location.group == Some(perf_core::LocationGroupId(number));
            if is_own && location.kind == LocationKind::AcceleratorStream {
                let view = trace.location(id).unwrap();
                intervals(
                    view,
                    |call| work.push((call.start.0, call.end.0)),
                    &Job::default(),
                )
                .unwrap();
            }
        }
        if work.is_empty() {
            continue;
        }
        work.sort_unstable();
        let (mut sum, mut until) = (0, 0);
        for (start, end) in &work {
            sum += end.saturating_sub((*start).max(until));
            until = until.max(*end);
        }
        found.push((group.name.clone(), sum, work.len()));
    }
    found
}

#[test]
fn lines_of_xla_are_work_or_derived_from_it() {
    let text = r#"{"displayTimeUnit":"ns","traceEvents":[
        {"ph":"X","pid":1,"tid":1,"ts":10.5,"dur":5,"name":"fusion_1","args":{"correlation_id":"7"}},
        {"ph":"X","pid":1,"tid":8,"ts":13,"dur":4,"name":"MemcpyD2D","args":{"memcpy_details":"kind:Unknown"}},
        {"ph":"X","pid":1,"tid":4,"ts":0,"dur":90,"name":"jit_f"},
        {"ph":"X","pid":1,"tid":5,"ts":0,"dur":90,"name":"Step 1"},
        {"ph":"X","pid":3,"tid":3,"ts":20,"dur":2,"name":"all-reduce.17"},
        {"ph":"i","pid":3,"tid":3,"ts":22,"name":"bitcast.1"},
        {"ph":"X","pid":3,"tid":2,"ts":0,"dur":50,"name":"jit_f"},
        {"ph":"X","pid":701,"tid":9,"ts":1,"dur":1,"name":"launch","args":{"correlation_id":"7"}},
        {"ph":"M","pid":1,"name":"process_name","args":{"name":"/device:GPU:0"}},
        {"ph":"M","pid":1,"tid":1,"name":"thread_name","args":{"name":"Stream #16(Kernel)"}},
        {"ph":"M","pid":1,"tid":8,"name":"thread_name","args":{"name":"Stream #17(MemcpyD2D)"}},
        {"ph":"M","pid":1,"tid":4,"name":"thread_name","args":{"name":"XLA Modules - from #16"}},
        {"ph":"M","pid":1,"tid":5,"name":"thread_name","args":{"name":"Steps"}},
        {"ph":"M","pid":3,"name":"process_name","args":{"name":"/device:GPU:1"}},
        {"ph":"M","pid":3,"tid":3,"name":"thread_name","args":{"name":"XLA Ops"}},
        {"ph":"M","pid":3,"tid":2,"name":"thread_name","args":{"name":"XLA Modules"}},
        {"ph":"M","pid":701,"name":"process_name","args":{"name":"/host:CPU"}},
        {}]}"#;
    let recording = read(text);
    let trace = trace(&recording);
    let expected = [
        ("GPU 0".to_owned(), 6_500, 2),
        ("GPU 1".to_owned(), 2_000, 1),
    ];
    assert_eq!(busy(trace), expected);
    let system = &trace.definitions().system;
    let rows: Vec<_> = system
        .locations()
        .iter()
        .filter(|it| it.kind != LocationKind::CpuThread)
        .map(|it| it.name.as_str())
        .collect();
    let expected = [
        "stream 16",
        "stream 17",
        "Steps",
        "XLA Modules - from #16",
        "XLA Ops",
        "XLA Modules",
        "XLA Ops",
    ];
    assert_eq!(rows, expected);
    // The launch of the fusion.
    assert_eq!(trace.links().len(), 1);
    let copy = trace
        .definitions()
        .regions
        .iter()
        .find(|it| it.name == "MemcpyD2D");
    assert_eq!(copy.unwrap().role, perf_core::RegionRole::DataTransfer);
}

#[test]
fn devices_of_xla_are_busy_as_their_facts_say() {
    let Some(corpus) = std::env::var_os("PERFKIT_CORPUS").map(std::path::PathBuf::from) else {
        return;
    };
    let folder = corpus.join("gpu/xplane");
    let Ok(facts) = std::fs::read_to_string(folder.join("facts.json")) else {
        return;
    };
    let facts: serde_json::Value = serde_json::from_str(&facts).unwrap();
    let mut seen = 0;
    for (name, facts) in facts["files"].as_object().unwrap() {
        let path = folder.join(name);
        if !name.ends_with(".trace.json.gz") || !path.exists() {
            continue;
        }
        let recording = open(&path, &OpenOptions::new(), &Job::default()).unwrap();
        let found = busy(trace(&recording));
        let devices = facts["devices"].as_object().unwrap();
        assert_eq!(found.len(), devices.len(), "{name}");
        for (device, facts) in devices {
            let device = device.trim_start_matches("/device:").replace(':', " ");
            let own = found.iter().find(|(own, ..)| *own == device);
            let (_, busy, events) = own.unwrap();
            assert_eq!(*events as u64, facts["work_events"].as_u64().unwrap());
            // Times of the file are picoseconds, those of a trace integer nanoseconds.
            let picos = facts["busy_union_ps"].as_u64().unwrap();
            let off = (busy * 1_000).abs_diff(picos);
            assert!(
                off <= 2_000 * *events as u64,
                "{name}, {device}: {busy} ns, {picos} ps"
            );
        }
        seen += 1;
    }
    assert_eq!(seen, 4);
}

#[test]
fn devices_of_other_makers() {
    let text = r#"[
        {"ph":"X","cat":"mtia_runtime","name":"launch","pid":9,"tid":9,"ts":1,"dur":1,"args":{"correlation":3}},
        {"ph":"X","cat":"mtia_ccp_events","name":"fc","pid":0,"tid":4,"ts":5,"dur":6,"args":{"correlation":3}},
        {"ph":"X","cat":"mtia_insight","name":"stall","pid":0,"tid":4,"ts":0,"dur":60}]"#;
    let recording = read(text);
    let trace = trace(&recording);
    assert_eq!(busy(trace), [("MTIA 0".to_owned(), 6_000, 1)]);
    assert_eq!(trace.links().len(), 1);
    for (category, name) in [("GCU_MEMCPY", "GCU 1"), ("mlu_memset", "MLU 1")] {
        let text = format!(
            r#"[{{"ph":"X","cat":"{category}","name":"a","pid":1,"tid":4,"ts":5,"dur":6}}]"#
        );
        let recording = read(&text);
        assert_eq!(
            busy(chrome_text::trace(&recording)),
            [(name.to_owned(), 6_000, 1)]
        );
    }
}

#[test]
fn rows_of_a_file_without_work_have_their_categories() {
    let text = r#"[
        {"ph":"X","cat":"npu_op","name":"a","pid":1,"tid":4,"ts":5,"dur":6},
        {"ph":"X","cat":"npu_op","name":"b","pid":1,"tid":4,"ts":15,"dur":6},
        {"ph":"X","cat":"wait","name":"c","pid":1,"tid":4,"ts":25,"dur":6},
        {"ph":"X","name":"d","pid":2,"tid":4,"ts":25,"dur":6}]"#;
    let recording = read(text);
    let locations = trace(&recording).definitions().system.locations().iter();
    let categories: Vec<_> = locations
        .map(|it| it.properties.get("categories"))
        .collect();
    assert_eq!(
        categories,
        [Some("npu_op (2), wait (1)"), Some("no category (1)")]
    );
}

fn kernels(times: &[(&str, &str)]) -> Recording {
    let event = |(ts, dur): &(&str, &str)| {
        format!(r#"{{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":{ts},"dur":{dur}}}"#)
    };
    let events: Vec<_> = times.iter().map(event).collect();
    read(&format!("[{}]", events.join(",")))
}

fn outliers(recording: &Recording) -> u64 {
    let mut found = recording.diagnostics.iter();
    let found = found.find(|(rule, _)| *rule == rules::OUTLIER);
    found.map_or(0, |(_, found)| found.count)
}

#[test]
fn times_that_were_never_set_do_not_decide_the_span() {
    // Time 0 on a clock that counts from 1970, and an end of 2^63 - 1 ns.
    let now = "1700000000000000.5";
    let recording = kernels(&[("0", "3"), (now, "2"), ("1700000000000010", "2")]);
    assert_eq!(outliers(&recording), 1);
    assert_eq!(trace(&recording).range().unwrap().len(), 11_501);
    let text = recording.diagnostics.to_string();
    assert!(text.contains("event 0, `k` from 0 ns to 3000 ns"), "{text}");

    let recording = kernels(&[("1", "9223372036854774.807"), ("5", "2"), ("9", "1")]);
    assert_eq!(outliers(&recording), 1);
    assert_eq!(trace(&recording).range().unwrap().len(), 5_001);

    // A clock that begins with the recording, and a device that is idle for days.
    let recording = kernels(&[("0", "3"), ("500000000000", "2"), ("500000000010", "2")]);
    assert_eq!(outliers(&recording), 0);
    assert_eq!(busy(trace(&recording)), [("GPU 0".to_owned(), 7_000, 3)]);
}

#[test]
fn a_file_that_is_given_twice_counts_once() {
    let folder = std::env::temp_dir().join(format!("perfkit-twice-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, ts: u32| {
        let path = folder.join(name);
        let text = format!(
            r#"[{{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":{ts},"dur":5}}]"#
        );
        std::fs::write(&path, text).unwrap();
        path
    };
    let paths = [write("a.json", 1), write("b.json", 1), write("c.json", 2)];
    let count = |paths: &[&std::path::PathBuf]| {
        let recording = chrome::open(paths, &OpenOptions::new(), &Job::default()).unwrap();
        let mut found = recording.diagnostics.iter();
        let found = found.find(|(rule, _)| rule.name.starts_with("same-"));
        let rule = found.map(|(rule, found)| (rule.name, found.count));
        (busy(trace(&recording)).len(), rule)
    };
    let [a, b, c] = &paths;
    assert_eq!(count(&[a, a]), (1, Some(("same-file", 1))));
    assert_eq!(count(&[a, b, c]), (2, Some(("same-file", 1))));
    assert_eq!(count(&[a, c]), (2, None));
    let ranks = [write("rank0.json", 1), write("rank1.json", 1)];
    let [first, second] = &ranks;
    assert_eq!(count(&[first, second]), (2, Some(("same-events", 1))));
    std::fs::remove_dir_all(&folder).unwrap();
}
