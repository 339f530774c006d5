//! Tests with synthetic Chrome traces: each kind of damage.

use crate::common::chrome_text;

use chrome_text::{A, call, calls, only, read, trace, with, with_job};
use perf_core::Limits;
use perf_formats::chrome::rules;
use perf_formats::{Error, OpenOptions};
use proptest::prelude::*;
use std::io::Write;

#[test]
fn a_file_cut_within_an_event_gives_those_before() {
    let text = format!("{{\"traceEvents\":[{A},{{\"ph\":\"X\",\"na");
    let recording = read(&text);
    assert_eq!(only(&recording), ("truncated", 1));
    let (_, finding) = recording.diagnostics.iter().next().unwrap();
    let begin = text.rfind('{').unwrap() as u64;
    assert_eq!(finding.places[0].offset, Some(begin));
    assert_eq!(calls(trace(&recording)), [call("a", 0, 2000)]);
    // The closing bracket of a bare array is optional.
    assert_eq!(only(&read(&format!("[{A}"))), ("unclosed-array", 1));
    assert_eq!(only(&read(&format!("[{A},\n"))), ("unclosed-array", 1));
}

#[test]
fn commas_and_empty_events_are_counted() {
    let recording = read(&format!("[{A},{A},]"));
    assert_eq!(only(&recording), ("comma", 1));
    assert_eq!(only(&read(&format!("[{A},{{}}]"))), ("empty-event", 1));
    assert_eq!(only(&read(&format!("[{A} {A}]"))), ("comma", 1));
    assert_eq!(
        only(&read(&format!("[{}]", A.replace(":2}", ":2,}")))),
        ("comma", 1)
    );
    assert_eq!(trace(&recording).len(), 4);
}

#[test]
fn times_as_text_and_times_that_are_none() {
    let event = |ts: &str, dur: &str| {
        format!(r#"[{{"ph":"X","name":"a","pid":1,"tid":1,"ts":{ts},"dur":{dur}}}]"#)
    };
    let recording = read(&event("\"1365627862757.064\"", "\"87.5\""));
    assert!(recording.diagnostics.is_empty());
    assert_eq!(calls(trace(&recording)), [call("a", 0, 87_500)]);
    for (ts, dur) in [
        ("\"12x\"", "1"),
        ("NaN", "1"),
        ("Infinity", "1"),
        ("1e999", "1"),
        ("1", "-Infinity"),
        ("1", "\"1 2\""),
        ("null", "1"),
        ("{}", "1"),
        ("9223372036854775807", "1"),
        ("9223372036854775", "9223372036854775"),
    ] {
        let recording = read(&format!("[{A},{}", &event(ts, dur)[1..]));
        assert_eq!(only(&recording), ("invalid-time", 1), "{ts} {dur}");
        let (_, finding) = recording.diagnostics.iter().next().unwrap();
        let place = finding.places[0].to_string();
        assert_eq!(place, format!("made, byte {}, event 1", A.len() + 2));
        assert_eq!(trace(&recording).len(), 2, "the other event is kept");
    }
    assert_eq!(only(&read(&event("1", "-3"))), ("negative-duration", 1));
    let without = r#"[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1}]"#;
    assert_eq!(only(&read(without)), ("no-duration", 1));
}

#[test]
fn names_with_control_characters_escapes_and_no_text() {
    let mut text = b"[{\"ph\":\"X\",\"name\":\"a\x07\\n\\u00e9".to_vec();
    text.extend(b"\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2},");
    text.extend(b"{\"ph\":\"X\",\"name\":\"b\xff\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2}]");
    let recording = with(text, &OpenOptions::new()).unwrap();
    assert_eq!(only(&recording), ("invalid-text", 1));
    let names: Vec<_> = calls(trace(&recording))
        .into_iter()
        .map(|it| it.0)
        .collect();
    assert_eq!(names, ["a\\u0007\\u000a\u{e9}", "b\u{fffd}"]);
}

fn packed(text: &[u8]) -> Vec<u8> {
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    writer.write_all(text).unwrap();
    writer.finish().unwrap()
}

#[test]
fn gzip_of_several_members_is_read_to_its_end_and_one_cut_as_far_as_it_goes() {
    let text = format!("[{}{A}]", format!("{A},").repeat(2000));
    let (first, second) = text.as_bytes().split_at(text.len() / 2);
    let members = [packed(first), packed(second)].concat();
    let recording = with(members.clone(), &OpenOptions::new()).unwrap();
    assert!(recording.diagnostics.is_empty());
    assert_eq!(trace(&recording).len(), 2 * 2001);
    let cut = with(&members[..members.len() - 20], &OpenOptions::new()).unwrap();
    assert_eq!(cut.diagnostics.count(rules::DAMAGED), 1);
    assert!(trace(&cut).len() > 2 * 900);
    let error = with(&members[..5], &OpenOptions::new()).unwrap_err();
    assert!(
        error.place().is_some_and(|place| place.offset == Some(0)),
        "{error}"
    );
}

#[test]
fn what_is_broken_costs_itself() {
    let text = format!(
        "[{A},\n{{\"ph\":\"X\",\"name\":\"b, \"pid\":1}},\n{A},\n{{\"ph\" \"X\"}},\n5,\nnull,\n}},\n{A}]"
    );
    let recording = read(&text);
    let found = &recording.diagnostics;
    // Invalid elements are attributed to the broken one before them.
    assert_eq!(found.count(rules::MALFORMED), 2, "{found}");
    assert_eq!(trace(&recording).len(), 6, "three events");
    let (_, finding) = found
        .iter()
        .find(|(rule, _)| *rule == rules::MALFORMED)
        .unwrap();
    let first = finding.places[0].to_string();
    assert!(first.contains("event 1, expected"), "{first}");
}

#[test]
fn long_events_and_names_are_left_out() {
    let limits = Limits::default().with_string(2000);
    let options = OpenOptions::new().limits(limits);
    let huge = A.replace("\"a\"", &format!("\"{}\"", "x".repeat(1 << 22)));
    let deep = A.replace(
        "\"dur\"",
        &format!(
            "\"d\":{}{},\"dur\"",
            "[".repeat(1 << 20),
            "]".repeat(1 << 20)
        ),
    );
    let recording = with(format!("[{huge},{A},{deep},{A}]"), &options).unwrap();
    assert_eq!(only(&recording), ("long-event", 2));
    assert_eq!(trace(&recording).len(), 4);
    let long = A.replace("\"a\"", &format!("\"{}\"", "x".repeat(3000)));
    let recording = with(format!("[{long}]"), &options).unwrap();
    assert_eq!(only(&recording), ("long-name", 1));
    // The maximum nesting that the memory allows.
    assert_eq!(trace(&read(&format!("[{deep}]"))).len(), 2);
    let key = format!("{{\"{}\":1,\"traceEvents\":[{A}]}}", "k".repeat(1 << 15));
    assert_eq!(only(&with(key, &options).unwrap()), ("malformed-event", 1));
}

#[test]
fn many_broken_events_are_not_looked_at_for_ever() {
    // A superfluous quote inverts strings and text, and unterminated nesting follows. Only the line
    // feed at the end reveals it.
    let broken = r#"{"a" {{{{ "},"#.repeat(40_000);
    let recording = read(&format!("[{A},{broken}\n\"\n,{A}]"));
    assert_eq!(recording.diagnostics.count(rules::MALFORMED), 1);
    assert_eq!(trace(&recording).len(), 4);
    // Each element lacks its bracket and swallows the following ones, up to the search limit.
    let broken = r#"{"ph":"X","a":{"b":[{"c":1},"#.repeat(40_000);
    let recording = read(&format!("[{A},{broken}{A}]"));
    assert!(recording.diagnostics.count(rules::MALFORMED) > 0);
    assert!(trace(&recording).len() >= 2);
}

/// Text without a possible begin of an element is searched once for each window, not once for each
/// quote in it.
#[test]
fn what_is_broken_and_has_no_end_is_passed_over_once() {
    let broken = r#""9" 9"#.repeat(2_000_000);
    let recording = read(&format!("[{A},{broken},{A}]"));
    assert_eq!(recording.diagnostics.count(rules::MALFORMED), 1);
    assert_eq!(trace(&recording).len(), 4);
    // A line feed in a string, with no object after it.
    let broken = "{\"a\nb\" \"c\"} ".repeat(300_000);
    let recording = read(&format!("[{A},{broken}"));
    assert!(recording.diagnostics.count(rules::MALFORMED) > 0);
    assert!(trace(&recording).len() >= 2);
}

#[test]
fn memory_and_names_have_limits() {
    let text = format!("[{}{A}]", format!("{A},").repeat(100_000));
    let limits = Limits::default().with_memory(1 << 20);
    let error = with(text, &OpenOptions::new().limits(limits)).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Limit {
                limit: 0x10_0000,
                ..
            }
        ),
        "{error}"
    );
    let names: Vec<_> = ["p", "q", "r"]
        .map(|name| A.replace("\"a\"", &format!("\"{name}\"")))
        .into();
    let limits = Limits::default().with_definitions(2);
    let recording = with(
        format!("[{}]", names.join(",")),
        &OpenOptions::new().limits(limits),
    )
    .unwrap();
    assert_eq!(only(&recording), ("too-many-definitions", 1));
}

/// The name of a counter precedes each of its keys: a hundred keys of few bytes yield 10 MB of
/// names.
#[test]
fn names_of_counters_are_within_the_memory_budget() {
    let keys: Vec<_> = (0..100).map(|key| format!("\"{key}\":1")).collect();
    let text = format!(
        r#"[{A},{{"ph":"C","name":"{}","pid":1,"ts":1,"args":{{{}}}}}]"#,
        "x".repeat(100_000),
        keys.join(",")
    );
    let limits = |memory: u64| Limits::default().with_memory(memory);
    assert!(with(text.as_str(), &OpenOptions::new().limits(limits(30 << 20))).is_ok());
    let error = with(text, &OpenOptions::new().limits(limits(10 << 20))).unwrap_err();
    assert!(matches!(error, Error::Limit { .. }), "{error}");
}

#[test]
fn what_is_none_is_refused_with_its_place() {
    for (text, offset) in [
        ("", 0),
        ("   ", 3),
        ("hello", 0),
        ("\u{7f}ELF", 0),
        ("{}", 2),
        ("{\"a\":1}", 7),
        ("{\"a\":1", 6),
        ("{5:1}", 1),
        ("{\"schemaVersion\": 1, \"devi", 21),
    ] {
        let error = with(text, &OpenOptions::new()).unwrap_err();
        let place = error.place().cloned().unwrap();
        assert_eq!(place.offset, Some(offset), "{text}: {error}");
        let is_known = matches!(error, Error::Truncated { .. } | Error::Malformed { .. });
        assert!(is_known, "{error}");
    }
}

#[test]
fn windows_locations_and_strictness() {
    let text = format!(
        "[{A},{}]",
        A.replace("\"ts\":1", "\"ts\":11")
            .replace("\"tid\":1", "\"tid\":2")
    );
    let window = perf_core::TimeRange::new(perf_core::Ticks(0), perf_core::Ticks(3000));
    let part = with(text.as_str(), &OpenOptions::new().window(window)).unwrap();
    assert_eq!(trace(&part).len(), 2);
    let part = with(text.as_str(), &OpenOptions::new().locations(vec![1])).unwrap();
    assert!(trace(&part).events()[0].is_absent());
    assert_eq!(trace(&part).events()[1].len(), 2);
    let job = perf_core::Job::default();
    job.cancel();
    let cancelled = with_job(text.as_str(), &OpenOptions::new(), &job);
    assert!(matches!(cancelled, Err(Error::Cancelled(_))));
    let strict = OpenOptions::new().strict(true);
    assert!(with(text, &strict).is_ok());
    let broken = with(format!("[{A},{{\"ph\":1 2}}]"), &strict);
    assert!(matches!(broken, Err(Error::Strict { .. })));
}

/// Returns a valid file with all kinds of events.
fn valid() -> String {
    let mut events = vec![A.to_owned()];
    for (index, phase) in ["X", "B", "E", "i", "C", "M", "s", "f", "b", "e", "n"]
        .iter()
        .enumerate()
    {
        events.push(format!(
            r#" {{"ph": "{phase}", "cat": "cat", "name": "n\u00e9\"{index}", "pid": 1, "tid": "stream 7",
  "ts": {index}.25, "dur": 1, "id": {index}, "id2": {{"local": "0x1"}}, "args": {{"a": [1, {{}}], "correlation": 5}}}}"#
        ));
    }
    let list = events.join(",\n");
    format!(
        "{{\"deviceProperties\": [{{\"id\": 0, \"name\": \"x\"}}], \"a\": [[], {{\"b\": null}}], \"traceEvents\": [{list}], \"z\": 1}}"
    )
}

#[test]
fn every_prefix_gives_a_result_or_a_located_error() {
    let text = valid();
    let whole = trace(&read(&text)).len();
    for cut in 0..text.len() {
        match with(&text.as_bytes()[..cut], &OpenOptions::new()) {
            Ok(recording) => {
                assert_eq!(recording.diagnostics.count(rules::TRUNCATED), 1, "{cut}");
                assert!(trace(&recording).len() <= whole);
            }
            Err(error) => {
                assert!(matches!(error, Error::Truncated { .. }), "{cut}: {error}");
                assert!(error.place().and_then(|place| place.offset) <= Some(cut as u64));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damage_never_panics(at in prop::collection::vec((0usize..4000, any::<u8>()), 1..12), pack in any::<bool>()) {
        let mut bytes = valid().into_bytes();
        if pack {
            bytes = packed(&bytes);
        }
        for (at, byte) in at {
            let length = bytes.len();
            bytes[at % length] = byte;
        }
        if let Err(error) = with(bytes, &OpenOptions::new()) {
            prop_assert!(error.place().is_some_and(|place| place.offset.is_some()), "{}", error);
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[\\[\\]{}\",:0-9a-zX\\\\ \n]{0,200}") {
        let _ = with(text.as_str(), &OpenOptions::new());
        let _ = with(format!("[{{\"ph\":\"X\",{text}"), &OpenOptions::new());
    }
}

/// Outliers: a time far after or before all others, and a duration of months.
#[test]
fn a_time_far_from_all_others_does_not_stretch_a_trace() {
    let text = |damaged: usize, ts: &str, dur: &str| {
        let event = |index: usize| {
            let (ts, dur) = if index == damaged {
                (ts.to_owned(), dur)
            } else {
                ((1_000_000_000 + 100 * index).to_string(), "50")
            };
            format!(r#"{{"ph":"X","name":"a","pid":1,"tid":1,"ts":{ts},"dur":{dur}}}"#)
        };
        let events: Vec<_> = (0..60).map(event).collect();
        format!("[{}]", events.join(","))
    };
    let truth = trace(&read(&text(usize::MAX, "", ""))).range().unwrap();
    for (at, ts, dur) in [
        (30, "15000000000000", "50"),
        (59, "15000000000000", "50"),
        (0, "15000000000000", "50"),
        (30, "-15000000000000", "50"),
        (0, "-15000000000000", "50"),
        (30, "1000003000", "15000000000000"),
    ] {
        let recording = read(&text(at, ts, dur));
        assert_eq!(only(&recording), ("implausible-time", 1), "{at} {ts} {dur}");
        let range = trace(&recording).range().unwrap();
        assert!(range.len() <= truth.len(), "{at} {ts} {dur}");
        assert_eq!(trace(&recording).len(), 118);
    }
    // A call that encloses all others, and one that waits for ten minutes, are not outliers.
    for (at, ts, dur) in [(0, "1", "1000009000"), (59, "1600000000", "50")] {
        let recording = read(&text(at, ts, dur));
        assert!(
            recording.diagnostics.is_empty(),
            "{}",
            recording.diagnostics
        );
    }
}

/// Damages brackets, quotes and keys of the outer object.
#[test]
fn damage_before_the_events_costs_none_of_them() {
    let text = format!(
        r#"{{"schemaVersion": 1, "deviceProperties": [{{"id": 0, "name": "V100"}}], "distributedInfo": {{"rank": 3, "list": [1, 2]}}, "traceEvents": [{A}, {A}], "end": 1}}"#
    );
    let whole = trace(&read(&text)).clone();
    assert_eq!(whole.len(), 4);
    let key = text.find("\"traceEvents").unwrap();
    let all = (1..key - 2).flat_map(|at| b"){[}\"x:,".map(|byte| (at, byte)));
    let letters = (key + 1..key + 12).map(|at| (at, b'x'));
    for (at, byte) in all.chain(letters) {
        let mut damaged = text.clone().into_bytes();
        damaged[at] = byte;
        let recording = with(damaged, &OpenOptions::new());
        let recording = recording.unwrap_or_else(|error| panic!("{at} {byte}: {error}"));
        assert_eq!(trace(&recording).len(), 4, "{at} {}", char::from(byte));
    }
}
