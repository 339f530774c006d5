//! Tests of traces written as Chrome JSON and read back.

#![cfg(feature = "rocprof")]

use crate::common::gpu;

use perf_core::{Event, Job, LinkKind, Trace, intervals};
use perf_formats::chrome::{self, Written, rules};
use perf_formats::{OpenOptions, open};
use std::collections::BTreeMap;

fn back(trace: &Trace) -> (Trace, Written) {
    let mut file = Vec::new();
    let written = chrome::write(trace.view(), &mut file, &Job::default()).unwrap();
    let text: serde_json::Value = serde_json::from_slice(&file).unwrap();
    assert!(text["traceEvents"].is_array(), "plain JSON");
    let recording = chrome::read(
        "back",
        std::io::Cursor::new(file),
        &OpenOptions::new(),
        &Job::default(),
    )
    .unwrap();
    let found = &recording.diagnostics;
    assert_eq!(found.repairs(), 0, "{found}");
    (recording.into_trace().unwrap(), written)
}

/// Returns the calls by name and nanoseconds from the first, regardless of their lanes.
fn calls(trace: &Trace) -> BTreeMap<(String, u64, u64), u32> {
    let definitions = trace.definitions();
    let mut all = BTreeMap::new();
    for view in trace.view().locations() {
        let mut add = |region, start: perf_core::Ticks, end: perf_core::Ticks| {
            let nanos = |at| definitions.clock.nanos(at).unwrap().0 as u64;
            let name = definitions.region_name(region).into_owned();
            *all.entry((name, nanos(start), nanos(end))).or_default() += 1;
        };
        if view.overlaps(definitions, &Job::default()).unwrap() {
            intervals(
                view,
                |call| add(call.region, call.start, call.end),
                &Job::default(),
            )
            .unwrap();
            continue;
        }
        let mut open = Vec::new();
        for (at, event) in view.iter() {
            match event {
                Event::Enter { region } => open.push((region, at)),
                Event::Leave { .. } => {
                    let (region, start) = open.pop().unwrap();
                    add(region, start, at);
                }
                _ => {}
            }
        }
    }
    let first = all.keys().map(|key| key.1).min().unwrap_or(0);
    all.into_iter()
        .map(|((name, start, end), count)| ((name, start - first, end - first), count))
        .collect()
}

fn launches(trace: &Trace) -> usize {
    let links = trace.links().iter();
    links.filter(|link| link.kind == LinkKind::Launch).count()
}

#[test]
fn recordings_of_the_corpus_come_back() {
    let Some((folder, facts)) = gpu::facts() else {
        return;
    };
    for facts in &facts {
        let format = facts["format"].as_str().unwrap();
        if !["kineto-chrome-json", "rocprofv3-json"].contains(&format) {
            continue;
        }
        let name = facts["id"].as_str().unwrap();
        let path = folder.join(facts["local"].as_str().unwrap());
        let trace = open(&path, &OpenOptions::new(), &Job::default())
            .unwrap()
            .into_trace()
            .unwrap();
        let (again, written) = back(&trace);
        assert_eq!(written.left_out, 0, "{name}");
        assert_eq!(again.len(), trace.len(), "{name}");
        assert_eq!(calls(&again), calls(&trace), "{name}");
        assert_eq!(launches(&again), launches(&trace), "{name}");
        let busy = |trace: &Trace| -> Vec<(String, u64)> {
            let devices = gpu::devices(trace);
            devices
                .into_iter()
                .map(|(number, it)| (number, it.busy()))
                .collect()
        };
        assert_eq!(busy(&again), busy(&trace), "{name}");
        let streams = |trace: &Trace| {
            let locations = trace.definitions().system.locations().iter();
            locations
                .filter(|location| location.kind.may_overlap())
                .count()
        };
        assert_eq!(streams(&again), streams(&trace), "{name}");
        let realtime = |trace: &Trace| trace.definitions().clock.realtime;
        assert_eq!(realtime(&again), realtime(&trace), "{name}");
    }
}

#[test]
fn several_ranks_are_one_trace_on_one_clock() {
    let Some((folder, facts)) = gpu::facts() else {
        return;
    };
    let is_dlrm = |it: &&serde_json::Value| it["id"].as_str().unwrap().starts_with("dlrm");
    let facts: Vec<_> = facts.iter().filter(is_dlrm).collect();
    let path = |facts: &&serde_json::Value| folder.join(facts["local"].as_str().unwrap());
    let mut paths: Vec<_> = facts.iter().map(path).collect();
    paths.reverse();
    let recording = chrome::open(&paths, &OpenOptions::new(), &Job::default()).unwrap();
    let one = chrome::open(&paths, &OpenOptions::new().threads(1), &Job::default()).unwrap();
    assert_eq!(recording, one, "whatever the number of threads");
    let found = &recording.diagnostics;
    assert_eq!(
        (found.count(rules::CLOCKS), found.count(rules::RANK)),
        (0, 0),
        "{found}"
    );
    let trace = recording.trace().unwrap();
    let groups = trace.definitions().system.groups().iter();
    let devices: Vec<_> = groups
        .filter(|it| it.name.contains("GPU"))
        .map(|it| it.name.as_str())
        .collect();
    assert_eq!(
        devices,
        [
            "rank 0, GPU 0",
            "rank 2, GPU 2",
            "rank 4, GPU 4",
            "rank 6, GPU 6"
        ]
    );
    let all = gpu::devices(trace);
    for facts in facts {
        for (number, own) in facts["device"].as_object().unwrap() {
            let busy = (own["busy_union_us"].as_f64().unwrap() * 1000.0) as u64;
            assert_eq!(all[number].busy(), busy);
        }
    }
    // Correlation ids of ranks collide, but links stay within a rank.
    let rank = |end: perf_core::EventId| {
        let location = trace.definitions().system.location(end.location).unwrap();
        location.properties.get("rank").unwrap().to_owned()
    };
    assert!(
        trace
            .links()
            .iter()
            .all(|link| rank(link.from) == rank(link.to))
    );
    let (again, _) = back(trace);
    assert_eq!(launches(&again), launches(trace));
    assert_eq!(calls(&again), calls(trace));
}

#[test]
fn clocks_and_ranks_that_do_not_fit_are_counted() {
    let folder = std::env::temp_dir().join(format!("perfkit-chrome-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = |name: &str, head: &str, ts: u64| {
        let path = folder.join(name);
        let event = format!(r#"{{"ph":"X","name":"a","pid":1,"tid":1,"ts":{ts},"dur":1}}"#);
        std::fs::write(&path, format!("{{{head}\"traceEvents\":[{event}]}}")).unwrap();
        path
    };
    let count = |paths: &[std::path::PathBuf], rule| {
        let recording = chrome::open(paths, &OpenOptions::new(), &Job::default()).unwrap();
        recording.diagnostics.count(rule)
    };
    let base = |base: u64| format!("\"baseTimeNanoseconds\":{base},");
    let near = [file("a", "", 0), file("b", "", 9_000_000)];
    assert_eq!(count(&near, rules::CLOCKS), 0);
    let far = [file("c", "", 0), file("d", "", 11_000_000)];
    assert_eq!(count(&far, rules::CLOCKS), 1);
    let mixed = [file("e", &base(1_000), 0), file("f", "", 0)];
    assert_eq!(count(&mixed, rules::CLOCKS), 1);
    let (early, late) = (
        base(1_700_000_000_000_000_000),
        base(1_700_000_005_000_000_000),
    );
    let based = [file("g", &early, 5_000_000), file("h", &late, 0)];
    assert_eq!(count(&based, rules::CLOCKS), 0);
    let recording = chrome::open(&based, &OpenOptions::new(), &Job::default()).unwrap();
    let trace = recording.trace().unwrap();
    assert_eq!(
        trace.events()[0].times(),
        trace.events()[1].times(),
        "one instant"
    );
    let rank = "\"distributedInfo\":{\"rank\":2},";
    let twice = [file("i", rank, 0), file("j", rank, 1)];
    assert_eq!(count(&twice, rules::RANK), 1);
    let named = [file("rank-3.json", "", 0), file("rank-1.json", "", 0)];
    let recording = chrome::open(&named, &OpenOptions::new(), &Job::default()).unwrap();
    let groups = recording.trace().unwrap().definitions().system.groups();
    let names: Vec<_> = groups.iter().map(|group| group.name.as_str()).collect();
    assert_eq!(names, ["rank 1, process 1", "rank 3, process 1"]);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn the_bundled_run_is_what_the_writer_writes() {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../data/gpu/planted-6x14.json.gz"
    );
    let mut bundled = Vec::new();
    let packed = std::fs::File::open(file).unwrap();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(packed), &mut bundled).unwrap();
    let mut written = Vec::new();
    let trace = perf_testdata::planted::trace();
    chrome::write(trace.view(), &mut written, &Job::default()).unwrap();
    assert!(
        bundled == written,
        "`cargo xtask record gpu` writes it anew"
    );
}

/// Returns begin and end of the calls on each thread of a file.
fn threads(file: &[u8]) -> BTreeMap<(u64, u64), Vec<(u64, u64)>> {
    let text: serde_json::Value = serde_json::from_slice(file).unwrap();
    let mut threads: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for event in text["traceEvents"].as_array().unwrap() {
        if event["ph"] == "X" {
            let number = |key: &str| event[key].as_u64().unwrap();
            let nanos = |key: &str| (event[key].as_f64().unwrap() * 1000.0).round() as u64;
            let of = threads.entry((number("pid"), number("tid"))).or_default();
            of.push((nanos("ts"), nanos("ts") + nanos("dur")));
        }
    }
    threads
}

#[test]
fn work_that_overlaps_goes_to_lanes_and_comes_back_to_its_stream() {
    let work = |name: &str, start: u32, length: u32, id: u32| {
        format!(
            r#"{{"ph":"X","cat":"kernel","name":"{name}","pid":0,"tid":7,"ts":{start},"dur":{length},"args":{{"device":0,"stream":7,"context":"1, green 4","correlation":{id}}}}},
            {{"ph":"X","cat":"cuda_runtime","name":"launch","pid":9,"tid":9,"ts":{id},"dur":0,"args":{{"correlation":{id}}}}}"#
        )
    };
    let all = [
        work("a", 10, 10, 1),
        work("b", 15, 20, 2),
        work("c", 16, 2, 3),
        work("d", 20, 5, 4),
        work("e", 40, 0, 5),
    ];
    let text = format!("[{}]", all.join(","));
    let trace = chrome::read(
        "lanes",
        std::io::Cursor::new(text),
        &OpenOptions::new(),
        &Job::default(),
    );
    let trace = trace.unwrap().into_trace().unwrap();
    let mut file = Vec::new();
    chrome::write(trace.view(), &mut file, &Job::default()).unwrap();
    for (thread, spans) in threads(&file) {
        for pair in spans.windows(2) {
            assert!(pair[0].1 <= pair[1].0, "{thread:?}: {spans:?}");
        }
    }
    let text = String::from_utf8(file).unwrap();
    assert!(text.contains("stream 7, lane 2\""), "{text}");
    assert!(text.contains("thread_sort_index"), "{text}");
    let (again, _) = back(&trace);
    assert_eq!(calls(&again), calls(&trace));
    assert_eq!(launches(&again), 5);
    let stream = |trace: &Trace| {
        let locations = trace.definitions().system.locations().to_vec();
        let mut own = locations.into_iter().filter(|it| it.kind.may_overlap());
        let only = own.next().unwrap();
        assert!(own.next().is_none());
        only
    };
    // Includes the green context.
    assert_eq!(stream(&again).properties.get("context"), Some("1, green 4"));
    assert_eq!(stream(&again).name, stream(&trace).name);
}

#[test]
fn messages_and_other_traces_are_written_too() {
    let trace = perf_core::samples::cosmo::trace();
    let (again, written) = back(&trace);
    assert_eq!(written.calls * 2, trace.len() as u64);
    assert_eq!(calls(&again), calls(&trace));

    let trace = {
        use perf_core::{
            CommId, Communicator, Definitions, Events, Location, LocationId, Members, Region,
        };
        use perf_core::{RegionId, SystemTree, Ticks, Transfer};
        let mut definitions = Definitions::default();
        let rank = |key| Location {
            key,
            ..Location::default()
        };
        let locations = vec![rank(0), rank(1)];
        definitions.system =
            SystemTree::new(vec![], vec![], locations, &Default::default()).unwrap();
        definitions.regions = vec![Region::named("MPI_Send"), Region::named("MPI_Recv")];
        let world = Members::Ranks(vec![Some(LocationId(0)), Some(LocationId(1))]);
        definitions.comms.push(Communicator {
            members: world,
            ..Default::default()
        });
        let to = |peer| Transfer {
            peer,
            comm: CommId(0),
            tag: 0,
            bytes: 8,
            request: None,
        };
        let side = |region, event| {
            let mut events = Events::default();
            events
                .push(
                    Ticks(10),
                    Event::Enter {
                        region: RegionId(region),
                    },
                )
                .unwrap();
            events.push(Ticks(15), event).unwrap();
            events
                .push(
                    Ticks(20),
                    Event::Leave {
                        region: RegionId(region),
                    },
                )
                .unwrap();
            events
        };
        let columns = vec![side(0, Event::Send(to(1))), side(1, Event::Recv(to(0)))];
        Trace::new(definitions, columns).unwrap()
    };
    let (again, written) = back(&trace);
    assert_eq!((written.flows, written.calls, written.left_out), (1, 2, 0));
    assert_eq!(
        again.links().len(),
        1,
        "the message leads from one call to the other"
    );
    assert_eq!(again.links()[0].kind, LinkKind::Flow);
}
