//! Tests with handwritten and random Paraver traces: grammar, instants, damage, writing.

mod order;
mod round_trip;

use crate::common::two_tasks;

use perf_core::{
    Diagnostics, Event, Job, Limits, LocationId, Members, MetricMode, Ticks, Trace, match_messages,
};
use perf_formats::paraver::{
    Batch, Communication, Object, OnCpu, Pair, Pcf, Reader, Record, Row, Writer, into_trace, rules,
};
use perf_formats::{Error, OpenOptions};
use perf_testdata::corpus::corpus;
use perf_testdata::damage;
use proptest::prelude::*;
use two_tasks::{HEADER, PCF};

fn read(body: &str, options: &OpenOptions) -> Result<(Trace, Diagnostics), Error> {
    let text = format!("{HEADER}{body}");
    let reader = Reader::new(text.as_bytes(), "x.prv", options, &Job::default())?;
    into_trace(reader, &Pcf::parse(PCF.as_bytes()), &Row::default())
}

/// Returns the events of a thread as lines, such as `5 +Running`.
fn events(trace: &Trace, location: u32) -> Vec<String> {
    let definitions = trace.definitions();
    let view = trace.location(LocationId(location)).unwrap();
    let line = |(at, event): (Ticks, Event<'_>)| {
        let what = match event {
            Event::Enter { region } => format!("+{}", definitions.region_name(region)),
            Event::Leave { region } => format!("-{}", definitions.region_name(region)),
            Event::Metric { values, .. } => format!("metric {values:?}"),
            Event::Sample { context } => {
                format!(
                    "@{}",
                    definitions.contexts.name(context, &definitions.regions)
                )
            }
            Event::Other { args, .. } => format!("{} {args:?}", definitions.event_name(event)),
            Event::Send(transfer) | Event::Recv(transfer) => {
                let name = definitions.event_name(event);
                format!("{name} {} {}", transfer.peer, transfer.bytes)
            }
            event => definitions.event_name(event).to_string(),
        };
        format!("{at} {what}")
    };
    view.iter().map(line).collect()
}

fn list(body: &str) -> Vec<String> {
    let (trace, found) = read(body, &OpenOptions::new()).unwrap();
    assert_eq!(found.repairs(), 0, "{found}");
    events(&trace, 0)
}

#[test]
fn an_instant_is_one_whatever_its_order() {
    let body = [
        "1:1:1:1:1:0:10:1\n",
        "2:1:1:1:1:0:60000019:1:60000119:1\n",
        "2:1:1:1:1:10:42000050:500:50000001:1:70000001:1:80000001:1:70000002:2:80000002:2\n",
        "1:1:1:1:1:10:15:4\n",
        "1:1:1:1:1:15:20:1\n",
        "2:1:1:1:1:15:50000001:0:42000050:7:77:-1\n",
        "2:1:1:1:1:20:40000033:3\n",
    ];
    let expected = [
        "0 +solve",
        "0 +Running",
        "10 metric [500]",
        "10 -Running",
        "10 @main > inner",
        "10 +MPI_Send",
        "15 metric [7, 18446744073709551615]",
        "15 -MPI_Send",
        "15 +Running",
        "20 -Running",
        "20 event (40000033) [3]",
    ];
    assert_eq!(list(&body.concat()), expected);
    let mut swapped = body;
    swapped.swap(0, 1);
    swapped.swap(2, 3);
    swapped.swap(4, 5);
    assert_eq!(list(&swapped.concat()), expected);
    let (trace, _) = read(&body.concat(), &OpenOptions::new()).unwrap();
    let metrics = &trace.definitions().metrics;
    assert_eq!(metrics[0].name, "PAPI_TOT_INS");
    assert_eq!(metrics[0].description, "Instr completed");
    assert_eq!(
        (metrics[0].mode, metrics[1].mode),
        (MetricMode::Relative, MetricMode::Relative)
    );
    assert_eq!(metrics[1].value_type, perf_core::ValueType::I64);
    let solve = &trace.definitions().regions;
    let solve = solve.iter().find(|region| region.name == "solve").unwrap();
    assert_eq!(
        (solve.file.as_deref(), solve.lines),
        (Some("solve.c"), Some((12, 12)))
    );
}

#[test]
fn states_that_touch_and_states_without_length_are_frames_of_their_own() {
    let body = "1:1:1:1:1:0:5:1\n1:1:1:1:1:5:9:1\n1:1:1:1:1:9:9:1\n1:1:1:1:1:9:12:0\n\
                1:1:1:1:1:20:30:1\n";
    let expected = [
        "0 +Running",
        "5 -Running",
        "5 +Running",
        "9 -Running",
        "9 +Running",
        "9 -Running",
        "9 +Idle",
        "12 -Idle",
        "20 +Running",
        "30 -Running",
    ];
    assert_eq!(list(body), expected);
}

#[test]
fn calls_that_touch_and_calls_without_length_are_frames_of_their_own() {
    let body = "2:1:1:1:1:0:50000001:1\n2:1:1:1:1:5:50000001:0:50000001:1\n\
                2:1:1:1:1:8:50000001:0\n2:1:1:1:1:9:50000001:2:50000001:0\n\
                2:1:1:1:1:9:60000019:1\n2:1:1:1:1:10:60000019:2\n2:1:1:1:1:12:60000019:0\n\
                2:1:1:1:1:13:60000019:0\n";
    let expected = [
        "0 +MPI_Send",
        "5 -MPI_Send",
        "5 +MPI_Send",
        "8 -MPI_Send",
        "9 +MPI_Recv",
        "9 -MPI_Recv",
        "9 +solve",
        "10 +stencil_long",
        "12 -stencil_long",
        "13 -solve",
    ];
    assert_eq!(list(body), expected);
}

#[test]
fn messages_have_both_ends_whatever_the_order_of_their_times() {
    // The second message was received before its receive was called; threads of a task share its
    // rank.
    let body = "c:1:1:2:1:2\n3:1:1:1:2:10:12:3:1:2:1:20:30:800:7\n\
                3:3:1:2:1:40:40:1:1:1:1:5:50:8:-1\n1:1:1:1:1:0:60:1\n";
    let (trace, found) = read(body, &OpenOptions::new()).unwrap();
    assert_eq!(found.count(rules::TAG), 1, "{found}");
    assert_eq!(events(&trace, 1), ["10 Send 1 800", "12 SendComplete"]);
    assert_eq!(
        events(&trace, 2),
        ["20 RecvPost", "30 Recv 0 800", "40 Send 0 8"]
    );
    let met = match_messages(trace.view(), &Job::default()).unwrap();
    assert_eq!((met.messages.len(), met.unmatched.len()), (2, 0));
    let world = Members::Ranks(vec![Some(LocationId(0)), Some(LocationId(2))]);
    assert_eq!(trace.definitions().comms.len(), 1);
    assert_eq!(trace.definitions().comms[0].members, world);
}

#[test]
fn errors_say_line_column_expected_and_found() {
    let bad = "1:1:1:1:1:0:5:1\n# fine\n2:1:1:1:1:5:42000050\n1:1:1:1:1:5:9:1\n";
    let strict = OpenOptions::new().strict(true);
    let error = read(bad, &strict).unwrap_err().to_string();
    let at = HEADER.len() + 23 + 20;
    let text =
        format!("x.prv, byte {at}, line 4, column 21: expected `:`, got the end of the line");
    assert_eq!(error, text);
    let (trace, found) = read(bad, &OpenOptions::new()).unwrap();
    assert_eq!(found.count(rules::BAD_LINE), 1);
    let (_, finding) = found
        .iter()
        .find(|(rule, _)| *rule == rules::BAD_LINE)
        .unwrap();
    assert_eq!(finding.places[0].offset, Some(at as u64));
    assert_eq!(events(&trace, 0).len(), 4);
}

#[test]
fn cut_traces_are_errors_with_line_and_byte() {
    let error = read("", &OpenOptions::new()).unwrap_err();
    assert!(matches!(error, Error::Truncated { .. }), "{error}");
    assert!(error.to_string().contains("line 2"), "{error}");
    assert!(read("c:1:1:2:1:2\n# nothing\n", &OpenOptions::new()).is_err());
    let error = read("1:1:1:1:1:0:5:1\n1:1:1:1:1:5", &OpenOptions::new()).unwrap_err();
    assert!(matches!(error, Error::Truncated { .. }), "{error}");
    let place = error.place().unwrap();
    assert_eq!(place.offset, Some(HEADER.len() as u64 + 27));
    assert_eq!(place.record.as_deref(), Some("line 3, column 12"));
    // Complete except for its newline: its last number may be truncated.
    let (_, found) = read("1:1:1:1:1:0:5:1", &OpenOptions::new()).unwrap();
    assert_eq!(found.count(rules::UNTERMINATED), 1);
    let strict = OpenOptions::new().strict(true);
    assert!(matches!(
        read("1:1:1:1:1:0:5:1", &strict),
        Err(Error::Strict { .. })
    ));
    for head in ["", "#Par", "#Paraver (1/1/20"] {
        let reader = Reader::new(
            head.as_bytes(),
            "x.prv",
            &OpenOptions::new(),
            &Job::default(),
        );
        assert!(reader.unwrap_err().place().unwrap().offset.is_some());
    }
}

#[test]
fn a_line_with_more_counters_than_an_event_holds_is_told_with_its_place() {
    let line = format!("2:1:1:2:1:5{}\n", ":42000050:1".repeat(70_000));
    // Records of an instant are kept until the next one, or the end.
    for body in [line.clone(), format!("{line}2:1:1:2:1:9:42000050:1\n")] {
        let error = read(&body, &OpenOptions::new()).map(|_| ()).unwrap_err();
        let place = error.place().unwrap();
        assert!(!place.file.is_empty() && place.record.is_some(), "{error}");
    }
}

#[test]
fn functions_nested_too_deep_are_told_with_their_file_and_thread() {
    let body = "2:1:1:2:1:0:60000019:1\n2:1:1:2:1:5:60000019:2\n";
    let limits = Limits::default().with_depth(1);
    let options = OpenOptions::new().limits(limits).strict(true);
    let error = read(body, &options).map(|_| ()).unwrap_err();
    let place = error.place().unwrap();
    assert!(!place.file.is_empty(), "{error}");
    let record = place.record.as_deref();
    assert_eq!(record, Some("application 1, task 2, thread 1"), "{error}");
}

#[test]
fn strange_records_are_counted() {
    let cases = [
        ("1:1:1:1:1:9:5:1\n", rules::NEGATIVE_STATE),
        (
            "1:1:1:1:1:0:9:1\n1:1:1:1:1:5:12:1\n",
            rules::OVERLAPPING_STATE,
        ),
        ("1:1:1:1:1:5:9:1\n2:1:1:1:1:4:7:7\n", rules::OUT_OF_ORDER),
        ("1:1:1:3:1:5:9:1\n2:1:1:1:1:4:7:7\n", rules::UNKNOWN_OBJECT),
        ("1:1:1:1:3:5:9:1\n2:1:1:1:1:4:7:7\n", rules::UNKNOWN_OBJECT),
        ("1:1:0:1:1:5:9:1\n2:1:1:1:1:4:7:7\n", rules::UNKNOWN_OBJECT),
        ("4:1:1\n2:1:1:1:1:4:7:7\n", rules::GLOBAL),
        ("2:1:1:1:1:4:7:7\n2:2:1:1:1:4:7:7\n", rules::CPU_CHANGED),
        ("2:1:1:1:1:4:7:7\n", rules::ENDS_EARLY),
    ];
    for (body, rule) in cases {
        let (_, found) = read(body, &OpenOptions::new()).unwrap();
        assert_eq!(found.count(rule), 1, "{body}: {found}");
        let is_strict = !rule.weight.is_repair();
        let strict = read(body, &OpenOptions::new().strict(true));
        assert_eq!(strict.is_ok(), is_strict, "{body}");
    }
}

#[test]
fn a_header_allocates_nothing_for_threads_that_cannot_be() {
    let text = "#Paraver (x):1_ns:0:1:1(4000000000:1)\n1:0:1:1:1:0:1:1\n";
    let reader = Reader::new(
        text.as_bytes(),
        "x.prv",
        &OpenOptions::new(),
        &Job::default(),
    )
    .unwrap();
    let error = into_trace(reader, &Pcf::default(), &Row::default()).unwrap_err();
    assert!(matches!(error, Error::Limit { .. }), "{error}");
    // More threads than a short trace or one of unknown length may have, and the memory of few
    // threads.
    let size = |threads: u32, bytes: u64| {
        let text = format!("#Paraver (x):1_ns:0:1:1({threads}:1)\n1:1:1:1:1:0:1:1\n");
        let path = std::env::temp_dir().join(format!("perfkit-threads-{}.prv", std::process::id()));
        let mut all = text.clone().into_bytes();
        all.resize(bytes as usize, b'#');
        std::fs::write(&path, all).unwrap();
        let known = perf_formats::paraver::read_trace(&path, &OpenOptions::new(), &Job::default())
            .map(drop);
        std::fs::remove_file(path).unwrap();
        let reader = Reader::new(
            text.as_bytes(),
            "x.prv",
            &OpenOptions::new(),
            &Job::default(),
        )
        .unwrap();
        let unknown = into_trace(reader, &Pcf::default(), &Row::default()).map(drop);
        (known.is_ok(), unknown.is_ok())
    };
    assert_eq!(size(65_536, 100), (true, true));
    assert_eq!(size(65_537, 100), (false, true));
    assert_eq!(size(65_537, 16 * 65_537), (true, true));
    assert_eq!(size(2_000_000, 100), (false, false));
    for (memory, expected) in [
        (10, "memory for threads in bytes"),
        (4 << 10, "bytes of events in memory"),
    ] {
        let limits = Limits::default().with_memory(memory);
        let options = OpenOptions::new().limits(limits);
        let line = |at: u32| format!("1:1:1:1:1:{at}:{}:1\n", at + 1);
        let body: String = (0..500).map(line).collect();
        let error = read(&body, &options).unwrap_err();
        assert!(
            matches!(error, Error::Limit { what, .. } if what == expected),
            "{error}"
        );
    }
}

/// As in a trace that was cut or filtered: the header still lists all tasks.
#[test]
fn a_header_may_spell_more_tasks_than_the_trace_has_lines() {
    let count = 70_000;
    let read = |task: &str| {
        let tasks = vec![task; count].join(",");
        let text = format!("#Paraver (x):1_ns:0:1:{count}({tasks})\n1:1:1:1:1:0:1:1\n");
        assert!(text.len() < 16 * count);
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut packed, text.as_bytes()).unwrap();
        let packed = packed.finish().unwrap();
        [("prv", text.into_bytes()), ("prv.gz", packed)].map(|(ending, bytes)| {
            let name = format!("perfkit-tasks-{}.{ending}", std::process::id());
            let path = std::env::temp_dir().join(name);
            std::fs::write(&path, bytes).unwrap();
            let trace =
                perf_formats::paraver::read_trace(&path, &OpenOptions::new(), &Job::default());
            std::fs::remove_file(path).unwrap();
            trace.map(|(trace, _)| trace.definitions().system.locations().len())
        })
    };
    for one in read("1:1") {
        assert_eq!(one.unwrap(), count);
    }
    // Threads that the header only counts must have lines.
    let [plain, _] = read("2:1");
    let error = plain.unwrap_err();
    assert!(
        matches!(error, Error::Limit { limit: 70_000, .. }),
        "{error}"
    );
}

#[test]
fn windows_and_locations_are_chosen() {
    let body = "1:1:1:1:1:0:10:1\n1:2:1:1:2:0:10:1\n1:1:1:1:1:10:20:0\n1:1:1:1:1:20:30:1\n";
    let window = perf_core::TimeRange::new(Ticks(10), Ticks(20)).unwrap();
    let (trace, _) = read(body, &OpenOptions::new().window(window)).unwrap();
    assert_eq!(events(&trace, 0), ["10 -Running", "10 +Idle"]);
    let (trace, _) = read(body, &OpenOptions::new().locations(vec![1])).unwrap();
    assert!(trace.events()[0].is_absent() && trace.events()[1].len() == 2);
}

#[test]
fn a_part_of_a_trace_has_the_collectives_of_the_whole() {
    // Broadcasts with alternating roots, late on task 2; and barriers, which have no root.
    let mut lines = Vec::new();
    for step in 0..6_u64 {
        for task in [1, 2] {
            let begin = 20 * step + 3 * (task - 1);
            let is_root = step % 3 == task;
            let root = if is_root { ":50100003:1" } else { "" };
            let call = if step % 2 == 0 { 8 } else { 7 };
            let facts = format!("50000002:{call}:50100001:{step}:50100002:4{root}:50100004:1");
            lines.push((begin, format!("2:{task}:1:{task}:1:{begin}:{facts}\n")));
            let end = begin + 10;
            lines.push((end, format!("2:{task}:1:{task}:1:{end}:50000002:0\n")));
        }
    }
    lines.sort();
    let lines: String = lines.into_iter().map(|(_, line)| line).collect();
    let body = format!("c:1:1:2:1:2\n{lines}");
    let ends = |trace: &Trace, location: u32| -> Vec<(Ticks, perf_core::Collective)> {
        let view = trace.location(LocationId(location)).unwrap();
        let end = |(at, event): (Ticks, Event<'_>)| match event {
            Event::CollectiveEnd(end) => Some((at, end)),
            _ => None,
        };
        view.iter().filter_map(end).collect()
    };
    let (whole, _) = read(&body, &OpenOptions::new()).unwrap();
    let roots: Vec<_> = ends(&whole, 2).iter().map(|(_, end)| end.root).collect();
    let broadcasts = [roots[1], roots[3], roots[5]];
    assert_eq!(broadcasts, [Some(0), None, Some(1)], "{roots:?}");
    for start in 0..120 {
        for end in (start + 1..130).step_by(7) {
            let window = perf_core::TimeRange::new(Ticks(start), Ticks(end)).unwrap();
            let (part, found) = read(&body, &OpenOptions::new().window(window)).unwrap();
            assert_eq!(found.repairs(), 0, "{found}");
            for location in [0, 2] {
                let mut expected = ends(&whole, location);
                expected.retain(|(at, _)| window.contains(*at));
                assert_eq!(ends(&part, location), expected, "{window:?}");
            }
        }
    }
    for location in [0, 2] {
        let options = OpenOptions::new().locations(vec![u64::from(location)]);
        let (part, _) = read(&body, &options).unwrap();
        assert_eq!(ends(&part, location), ends(&whole, location));
        assert!(part.events()[2 - location as usize].is_absent());
    }
}
