//! Streams of events as text: tables, JSON, packed, growing, damaged.
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests say what they expect, as tests do"
)]
#![cfg(feature = "streams")]

#[path = "common/seen.rs"]
mod seen;

use flate2::{Compression, write::GzEncoder};
use perf_core::{CancelToken, EventSource, RegionId};
use perf_formats::streams::{Follow, Streams, rules};
use perf_formats::{Error, OpenOptions, open};
use perf_testdata::corpus;
use seen::Seen;
use std::io::{Cursor, Write};
use std::time::Duration;

fn all(mut streams: Streams) -> (Vec<String>, perf_core::Diagnostics) {
    let mut seen = Seen::default();
    while streams.next_step(&mut seen).unwrap() {}
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
    // Rows know no step: one is 1 s long.
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
    assert!(streams.next_step(&mut seen).unwrap());
    assert!(matches!(
        streams.next_step(&mut seen),
        Err(Error::Strict { .. })
    ));
}

#[test]
fn what_is_no_stream_is_told() {
    let mut streams = Streams::read("x", Cursor::new("hello\n"), &OpenOptions::new()).unwrap();
    let error = streams.next_step(&mut Seen::default()).unwrap_err();
    assert!(
        error.to_string().contains("x, byte 0: expected a header"),
        "{error}"
    );
    assert_eq!(read(b"").0.len(), 0);
    // A long line is skipped without being held.
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
        while let Ok(true) = streams.next_step(&mut seen) {}
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
    // A token ends it too.
    let token = CancelToken::new();
    token.cancel();
    let options = OpenOptions::new().cancel(token);
    let streams = Streams::open(&[&path], &options)
        .unwrap()
        .follow(Follow::default());
    assert_eq!(all(streams.unwrap()).0, LINES);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_stream_is_opened_as_a_trace() {
    let Some(path) = corpus::corpus("chimbuko/heat2d-3.tsv.gz") else {
        return println!("skipped: corpus absent");
    };
    let recording = open(&path, &OpenOptions::new()).unwrap();
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
    );
    assert_eq!(counts.repairs(), 0);
    // Other lines of JSON are no stream.
    if let Some(path) = corpus::corpus("chimbuko/xgc_summit_metadata.jsonl.gz") {
        assert!(matches!(
            open(path, &OpenOptions::new()),
            Err(Error::UnknownFormat { .. })
        ));
    }
}

struct Quiet;

impl perf_core::Visitor for Quiet {
    fn enter(&mut self, _: perf_core::Ticks, _: RegionId, _: usize) {}
    fn leave(&mut self, _: perf_core::Ticks, _: RegionId, _: usize, _: perf_core::Close) {}
}
