//! Tests of streams of events as text: tables, JSON, compressed, growing, damaged.
#![cfg(feature = "streams")]

mod steps;

use crate::common::event_log;

use event_log::Seen;
use flate2::{Compression, write::GzEncoder};
use perf_core::{EventSink, EventSource, Job, Nanos, RegionId, StreamEvent, StreamId, StreamKey};
use perf_formats::streams::{Follow, Streams, TraceBuilder, rules};
use perf_formats::{Error, OpenOptions, open};
use perf_testdata::corpus;
use std::io::{Cursor, Write};
use std::time::Duration;

fn all(streams: Streams) -> (Vec<String>, perf_core::Diagnostics) {
    all_in(streams, &Job::default())
}

fn all_in(mut streams: Streams, job: &Job) -> (Vec<String>, perf_core::Diagnostics) {
    let mut seen = Seen::default();
    while streams.next_step(&mut seen, job).unwrap() {}
    (seen.lines, streams.diagnostics().clone())
}

fn read(text: &[u8]) -> (Vec<String>, perf_core::Diagnostics) {
    let from = Cursor::new(text.to_vec());
    all(Streams::read("text", from, &OpenOptions::new()).unwrap())
}

const TABLE: &str = "\
step\tts_us\tprogram\trank\tthread\tkind\tname\ttag\tpartner\tbytes
0\t10\t0\t1\t2\tENTRY\tmain\t\t\t
0\t11\t0\t1\t2\tSEND\t\t5\t3\t64
0\t12\t0\t1\t2\tCOUNTER\theap\t\t\t7
2\t13\t0\t1\t2\tRECV\t\t6\t4\t65
2\t14.5\t0\t1\t2\tEXIT\tmain\t\t\t
";

const LINES: [&str; 7] = [
    "1.2 10000 enter 0:main",
    "1.2 11000 send 3 5 64",
    "1.2 12000 heap = 7",
    "end 0",
    "1.2 13000 recv 4 6 65",
    "1.2 14500 exit 0:main",
    "end 2",
];

#[test]
fn tables_and_json_say_the_same() {
    assert_eq!(read(TABLE.as_bytes()).0, LINES);
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(TABLE.as_bytes()).unwrap();
    assert_eq!(read(&packed.finish().unwrap()).0, LINES);
    let objects = r#"{"step":0,"ts_us":10,"rank":1,"thread":2,"kind":"ENTRY","name":"main"}
{"step":0,"ts_us":11,"rank":1,"thread":2,"kind":"SEND","tag":5,"partner":3,"bytes":64}
{"step":0,"ts_ns":12000,"rank":1,"thread":2,"kind":"COUNTER","name":"heap","value":7}

{"step":2,"ts_us":13,"rank":1,"thread":2,"kind":"RECV","tag":6,"partner":4,"bytes":65}
{"step":2,"ts_us":14.5,"rank":1,"thread":2,"kind":"EXIT","name":"main"}"#;
    let (lines, found) = read(objects.as_bytes());
    assert_eq!(lines, LINES);
    assert_eq!(found.repairs(), 0);
    assert_eq!(found.count(rules::UNFINISHED), 1);
    // The rows have no step number: a step is 1 s long.
    let rows = r#"{"event_type 0":"ENTRY","event_type 1":"EXIT","timer 4":"main"}
[0,1,2,0,4,"NA","NA",0,"NA","NA","NA",10]
[0,1,2,"SEND","NA","NA","NA",1,5,3,64,11]
[0,1,2,NaN,null,"heap",7,2,null,null,null,12]
[0,1,2,1,4,"NA","NA",4,"NA","NA","NA",1000010]
"#;
    let (lines, _) = read(rows.as_bytes());
    assert_eq!(lines[..4], LINES[..4]);
    assert_eq!(lines[4..], ["1.2 1000010000 exit 0:main", "end 1"]);
}

#[test]
fn bad_lines_are_counted_with_their_places() {
    let text = format!(
        "{TABLE}2\tx\t0\t1\t2\tENTRY\tmain\n3\t1\t0\t1\t2\tHALT\tx\n1\t15\t0\t1\t2\tENTRY\tlate\n"
    );
    let (lines, found) = read(text.as_bytes());
    assert_eq!(lines.len(), 8);
    assert_eq!(lines[6], "1.2 15000 enter 0:late");
    assert_eq!(found.count(rules::MALFORMED), 1);
    assert_eq!(found.count(rules::UNKNOWN_KIND), 1);
    assert_eq!(found.count(rules::STEP_BACK), 1);
    let said = found.to_string();
    let place = format!("byte {}, expected a time, got `x`", TABLE.len());
    assert!(said.contains(&place), "{said}");
    let strict = OpenOptions::new().strict(true);
    let mut streams = Streams::read("text", Cursor::new(text.into_bytes()), &strict).unwrap();
    let mut seen = Seen::default();
    assert!(streams.next_step(&mut seen, &Job::default()).unwrap());
    assert!(matches!(
        streams.next_step(&mut seen, &Job::default()),
        Err(Error::Strict { .. })
    ));
}

#[test]
fn what_is_no_stream_is_told() {
    let mut streams = Streams::read("x", Cursor::new("hello\n"), &OpenOptions::new()).unwrap();
    let error = streams
        .next_step(&mut Seen::default(), &Job::default())
        .unwrap_err();
    assert!(
        error.to_string().contains("x, byte 0: expected a header"),
        "{error}"
    );
    assert_eq!(read(b"").0.len(), 0);
    // A long line is skipped without being held in memory.
    let limits = perf_core::Limits::default().with_string(100);
    let text = format!("{TABLE}{}\n", "y".repeat(100_000));
    let options = OpenOptions::new().limits(limits);
    let (lines, found) = all(Streams::read("x", Cursor::new(text.into_bytes()), &options).unwrap());
    assert_eq!((lines.len(), found.count(rules::LONG_LINE)), (7, 1));
}

#[test]
fn any_prefix_of_packed_data_gives_what_came_before() {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(TABLE.repeat(50).as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    for cut in 20..packed.len() {
        let from = Cursor::new(packed[..cut].to_vec());
        let mut streams = Streams::read("cut", from, &OpenOptions::new()).unwrap();
        let mut seen = Seen::default();
        while let Ok(true) = streams.next_step(&mut seen, &Job::default()) {}
        assert!(streams.diagnostics().count(rules::TRUNCATED) <= 1);
    }
}

#[test]
fn a_growing_file_is_followed() {
    let path = std::env::temp_dir().join(format!("perfkit-follow-{}.tsv", std::process::id()));
    std::fs::write(&path, "").unwrap();
    let writer = {
        let path = path.clone();
        std::thread::spawn(move || {
            let mut file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
            // In pieces that end within lines.
            for piece in TABLE.as_bytes().chunks(37) {
                file.write_all(piece).unwrap();
                std::thread::sleep(Duration::from_millis(2));
            }
        })
    };
    let follow = Follow::default()
        .poll(Duration::from_millis(1))
        .idle(Duration::from_secs(2));
    let streams = Streams::open(&[&path], &OpenOptions::new()).unwrap();
    let (lines, found) = all(streams.follow(follow).unwrap());
    writer.join().unwrap();
    assert_eq!(lines, LINES);
    assert!(found.is_empty(), "{found}");
    // A cancelled job also ends the stream.
    let job = Job::default();
    job.cancel();
    let streams = Streams::open(&[&path], &OpenOptions::new())
        .unwrap()
        .follow(Follow::default());
    assert_eq!(all_in(streams.unwrap(), &job).0, LINES);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_stream_is_opened_as_a_trace() {
    let Some(path) = corpus::corpus("chimbuko/heat2d-3.tsv.gz") else {
        return;
    };
    let recording = open(&path, &OpenOptions::new(), &Job::default()).unwrap();
    assert_eq!(recording.format, "streams");
    let trace = recording.trace().unwrap();
    let rows = {
        let (lines, _) = all(Streams::open(&[&path], &OpenOptions::new()).unwrap());
        lines.iter().filter(|line| !line.starts_with("end")).count()
    };
    assert_eq!(trace.len(), rows);
    assert_eq!(trace.definitions().system.locations().len(), 2);
    assert_eq!(recording.diagnostics.count(rules::OUT_OF_ORDER), 1);
    let counts = perf_core::replay(
        trace.location(perf_core::LocationId(0)).unwrap(),
        &mut Quiet,
        &Job::default(),
    )
    .unwrap();
    assert_eq!(counts.repairs(), 0);
    // Other lines of JSON are not a stream.
    if let Some(path) = corpus::corpus("chimbuko/xgc_summit_metadata.jsonl.gz") {
        assert!(matches!(
            open(path, &OpenOptions::new(), &Job::default()),
            Err(Error::UnknownFormat { .. })
        ));
    }
}

struct Quiet;

impl perf_core::Visitor for Quiet {
    fn enter(&mut self, _: perf_core::Ticks, _: RegionId, _: usize) {}
    fn leave(&mut self, _: perf_core::Ticks, _: RegionId, _: usize, _: perf_core::Close) {}
}

#[test]
fn numbers_are_exact_in_any_notation() {
    let text = r#"{"step":0.0,"ts_us":1.5e9,"rank":3.0,"thread":2e0,"kind":"ENTRY","name":"main"}
{"step":0,"ts_ns":15e11,"rank":3,"thread":2,"kind":"SEND","tag":5.0,"partner":1e1,"bytes":6.4E1}
{"step":0,"ts_us":1559662194845602.0,"rank":3,"thread":2,"kind":"EXIT","name":"main"}
{"step":0,"ts_us":1,"rank":3.5,"kind":"EXIT","name":"main"}
{"step":0,"ts_us":1,"rank":5e9,"kind":"EXIT","name":"main"}
{"step":0,"ts_us":1e30,"rank":5,"kind":"EXIT","name":"main"}
{"step":-1,"ts_us":1,"rank":5,"kind":"EXIT","name":"main"}
"#;
    let (lines, found) = read(text.as_bytes());
    let expected = [
        "3.2 1500000000000 enter 0:main",
        "3.2 1500000000000 send 10 5 64",
        "3.2 1559662194845602000 exit 0:main",
        "end 0",
    ];
    assert_eq!(lines, expected);
    assert_eq!(found.count(rules::MALFORMED), 4);
    let said = found.to_string();
    assert!(said.contains("expected a rank, got `3.5`"), "{said}");
}

/// A truncated or damaged first line does not make a stream unreadable.
#[test]
fn damaged_headers_are_repaired() {
    let header = TABLE.lines().next().unwrap();
    let (_, rows) = TABLE.split_once('\n').unwrap();
    for damaged in [
        header.replace("ts_us", "ts?us"),
        header.replace("kind", "k\u{1}nd").replace("name", "nbme"),
        "#".repeat(30),
        format!("{{{}", &header[1..]),
    ] {
        let (lines, found) = read(format!("{damaged}\n{rows}").as_bytes());
        assert_eq!(lines, LINES, "{damaged}: {found}");
        assert!(!found.is_empty(), "{damaged}");
    }
    let mut bom = b"\xef\xbb\xbf".to_vec();
    bom.extend_from_slice(TABLE.as_bytes());
    let (lines, found) = read(&bom);
    assert_eq!(
        (lines, found.is_empty()),
        (LINES.map(String::from).to_vec(), true)
    );
    for cut in 0..header.len() {
        let (lines, _) = read(&TABLE.as_bytes()[..cut]);
        assert_eq!(lines.len(), 0, "{cut}");
    }
}

#[test]
fn counters_of_large_and_of_negative_values_keep_their_sizes() {
    use perf_core::Value;
    let large = Value::U64(u64::MAX);
    for values in [[large, Value::I64(-1)], [Value::I64(-1), large]] {
        let mut trace = perf_formats::streams::TraceBuilder::default();
        let stream = trace.stream(StreamKey::default());
        let counter = trace.counter("c");
        for (at, value) in (0..).zip(values) {
            trace.push(stream, Nanos(at), StreamEvent::Counter(counter, value));
        }
        let trace = trace.build().unwrap();
        let metrics = &trace.definitions().metrics;
        assert_eq!(metrics[0].value_type, perf_core::ValueType::F64);
        let read = trace.location(perf_core::LocationId(0)).unwrap().iter();
        let read = read.filter_map(|(_, event)| match event {
            perf_core::Event::Metric { values, .. } => Some(f64::from_bits(values[0])),
            _ => None,
        });
        let expected = values.map(Value::as_f64);
        assert_eq!(read.collect::<Vec<_>>(), expected);
    }
}

const HEAD: &str = "step\tts_us\tprogram\trank\tthread\tkind\tname\n";

/// Opens a table in a file as a trace.
fn opened(name: &str, text: &str, options: &OpenOptions) -> Result<perf_formats::Recording, Error> {
    let path = std::env::temp_dir().join(format!("perfkit-{name}-{}.tsv", std::process::id()));
    std::fs::write(&path, text).unwrap();
    let recording = open(&path, options, &Job::default());
    std::fs::remove_file(path).unwrap();
    recording
}

#[test]
fn events_are_kept_up_to_the_memory_budget() {
    let text = format!("{HEAD}{}", "0\t1\t0\t0\t0\tENTRY\tf\n".repeat(1000));
    let with = |bytes| {
        let limits = perf_core::Limits::default().with_memory(bytes);
        opened("memory", &text, &OpenOptions::new().limits(limits))
    };
    let error = with(10_000).unwrap_err();
    assert!(
        matches!(error, Error::Limit { limit: 10_000, got, .. } if got > 10_000),
        "{error}"
    );
    assert_eq!(with(1 << 20).unwrap().trace().unwrap().len(), 1000);
}

#[test]
fn streams_of_many_programs_take_no_longer_than_others() {
    let rows = (0..40_000).map(|at| format!("0\t{at}\t{at}\t0\t0\tENTRY\tf\n"));
    let text = format!("{HEAD}{}", rows.collect::<String>());
    let recording = opened("programs", &text, &OpenOptions::new()).unwrap();
    let trace = recording.trace().unwrap();
    assert_eq!(trace.definitions().comms.len(), 40_000);
    assert_eq!(trace.len(), 40_000);
}

#[test]
fn large_ranks_of_many_programs_make_no_large_communicators() {
    let rows = (0..3000).map(|at| format!("0\t{at}\t{at}\t65000\t0\tENTRY\tf\n"));
    let text = format!("{HEAD}{}", rows.collect::<String>());
    let recording = opened("ranks", &text, &OpenOptions::new()).unwrap();
    let comms = &recording.trace().unwrap().definitions().comms;
    let members = comms.iter().map(|comm| match &comm.members {
        perf_core::Members::Ranks(ranks) => ranks.len(),
        _ => 0,
    });
    assert_eq!(members.sum::<usize>(), 3 * 65_001);
}

/// A damaged timestamp in the middle of a thread, as its first and as its last. A pause is not
/// damage.
#[test]
fn a_lone_jump_in_time_does_not_stretch_a_trace() {
    let table = |damaged: &dyn Fn(u64) -> bool| {
        let mut text = TABLE.lines().next().unwrap().to_owned();
        for step in 0..60 {
            let days = if damaged(step) {
                167 * 86_400_000_000
            } else {
                0
            };
            let kind = if step % 2 == 0 { "ENTRY" } else { "EXIT" };
            text += &format!("\n0\t{}\t0\t1\t2\t{kind}\tmain\t\t\t", 1_000 * step + days);
        }
        let mut builder = TraceBuilder::default();
        let from = Cursor::new(text.into_bytes());
        let mut streams = Streams::read("text", from, &OpenOptions::new()).unwrap();
        while streams.next_step(&mut builder, &Job::default()).unwrap() {}
        builder.build().unwrap()
    };
    let end = |trace: &perf_core::Trace| trace.range().unwrap().end.0;
    let truth = table(&|_| false);
    assert_eq!(end(&truth), 59_000_001);
    for at in [0, 30, 31, 59] {
        let trace = table(&|step| step == at);
        assert_eq!(trace.len(), truth.len());
        assert!(end(&trace) <= end(&truth), "{at}");
    }
    let paused = table(&|step| step >= 30);
    assert!(end(&paused) > 167 * 86_400_000_000_000);
}
