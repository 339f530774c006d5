//! Tests with synthetic Chrome traces: matching by name, id and process.

use crate::common::chrome_text;

use chrome_text::{call, calls, only, read, trace, with};
use perf_core::{Limits, LinkKind, LocationId};
use perf_formats::OpenOptions;
use perf_formats::chrome::rules;

/// Events of one process and thread: phase, name, time in microseconds.
fn marks(all: &[(&str, &str, u32)]) -> String {
    let one = |(phase, name, ts): &(&str, &str, u32)| {
        let name = if name.is_empty() {
            String::new()
        } else {
            format!(r#""name":"{name}","#)
        };
        format!(r#"{{"ph":"{phase}",{name}"pid":1,"tid":1,"ts":{ts}}}"#)
    };
    format!("[{}]", all.iter().map(one).collect::<Vec<_>>().join(","))
}

#[test]
fn an_end_with_a_name_ends_the_call_of_that_name() {
    let nested = marks(&[("B", "f", 0), ("B", "g", 1), ("E", "g", 2), ("E", "f", 3)]);
    let expected = [call("f", 0, 3000), call("g", 1000, 2000)];
    let recording = read(&nested);
    assert!(recording.diagnostics.is_empty());
    assert_eq!(calls(trace(&recording)), expected);
    // The calls cross: both have the durations of the file.
    let crossed = marks(&[("B", "f", 0), ("B", "g", 1), ("E", "f", 3), ("E", "g", 4)]);
    let recording = read(&crossed);
    assert_eq!(recording.diagnostics.count(rules::MISMATCH), 1);
    let expected = [call("f", 0, 3000), call("g", 1000, 4000)];
    assert_eq!(calls(trace(&recording)), expected);
    // Recursion: the end closes the innermost call of the name.
    let recursive = marks(&[
        ("B", "f", 0),
        ("B", "f", 1),
        ("B", "g", 2),
        ("E", "", 3),
        ("E", "f", 4),
        ("E", "f", 5),
    ]);
    let recording = read(&recursive);
    assert!(recording.diagnostics.is_empty());
    let expected = [
        call("f", 0, 5000),
        call("f", 1000, 4000),
        call("g", 2000, 3000),
    ];
    assert_eq!(calls(trace(&recording)), expected);
}

#[test]
fn an_end_of_a_call_that_is_not_open_ends_no_other() {
    let text = marks(&[
        ("B", "f", 0),
        ("E", "g", 1),
        ("E", "", 2),
        // Reuses the slot of `f`.
        ("B", "h", 3),
        ("E", "f", 4),
        ("E", "h", 5),
    ]);
    let recording = read(&text);
    assert_eq!(only(&recording), ("end-without-begin", 2));
    let expected = [call("f", 0, 2000), call("h", 3000, 5000)];
    assert_eq!(calls(trace(&recording)), expected);
}

#[test]
fn many_calls_that_cross_take_no_longer_than_others() {
    let count = 50_000;
    let begins = (0..count).map(|at| ("B", format!("f{at}"), at));
    let ends = (0..count).map(|at| ("E", format!("f{at}"), count + at));
    let all: Vec<_> = begins.chain(ends).collect();
    let all: Vec<_> = all
        .iter()
        .map(|(ph, name, ts)| (*ph, name.as_str(), *ts))
        .collect();
    let recording = read(&marks(&all));
    assert_eq!(
        recording.diagnostics.count(rules::MISMATCH),
        u64::from(count) - 1
    );
    assert_eq!(recording.diagnostics.count(rules::NO_END), 0);
}

fn event(phase: &str, pid: u32, ts: u32, more: &str) -> String {
    format!(r#"{{"ph":"{phase}","cat":"net","name":"n","pid":{pid},"tid":1,"ts":{ts},{more}}}"#)
}

#[test]
fn ids_lead_from_process_to_process_unless_they_are_local() {
    let whole = |first: &str, second: &str| {
        let recording = read(&format!("[{first},{second}]"));
        let found = &recording.diagnostics;
        let odd = found.count(rules::NO_BEGIN) + found.count(rules::NO_END);
        (
            odd,
            calls(trace(&recording)),
            trace(&recording).definitions().system.groups().len(),
        )
    };
    for id in [
        r#""id":"0x1""#,
        r#""id2":{"global":"0x1"}"#,
        r#""id":1,"scope":"s""#,
    ] {
        let (odd, calls, _) = whole(&event("b", 1, 1, id), &event("e", 2, 5, id));
        assert_eq!((odd, calls), (0, vec![call("n", 0, 4000)]), "{id}");
    }
    let local = r#""id2":{"local":"0x1"}"#;
    let (odd, ..) = whole(&event("b", 1, 1, local), &event("e", 2, 5, local));
    assert_eq!(odd, 2);
    // Scopes distinguish equal ids.
    let (one, other) = (r#""id":1,"scope":"s""#, r#""id":1,"scope":"t""#);
    let (odd, ..) = whole(&event("b", 1, 1, one), &event("e", 1, 5, other));
    assert_eq!(odd, 2);
    // An end is first matched on its own process.
    let id = r#""id":7"#;
    let all = [
        event("b", 1, 1, id),
        event("b", 2, 2, id),
        event("e", 1, 5, id),
        event("e", 2, 7, id),
    ];
    let recording = read(&format!("[{}]", all.join(",")));
    let expected = [call("n", 0, 4000), call("n", 1000, 6000)];
    assert_eq!(calls(trace(&recording)), expected);
}

/// Two processes with the same ids, each with a device of its own.
#[test]
fn correlation_ids_are_those_of_a_process() {
    let mut all = Vec::new();
    let mut add = |cat: &str, pid: u32, ts: u32, id: u32| {
        let args = match cat {
            "kernel" => format!(r#""device":{},"stream":7,"correlation":{id}"#, pid % 10),
            _ => format!(r#""correlation":{id}"#),
        };
        all.push(format!(
            r#"{{"ph":"X","cat":"{cat}","name":"{cat}","pid":{pid},"tid":{pid},"ts":{ts},"dur":1,"args":{{{args}}}}}"#
        ));
    };
    for id in 1..=4 {
        // The second process launches after the first; its activities run before those of the
        // first.
        add("cuda_runtime", 100, 10 * id, id);
        add("cuda_runtime", 101, 10 * id + 1, id);
        add("kernel", 1, 10 * id + 3, id);
        add("kernel", 0, 10 * id + 5, id);
    }
    // One unique id of each process determines the device that it drives.
    add("cuda_runtime", 100, 60, 60);
    add("cuda_runtime", 101, 61, 61);
    add("kernel", 0, 62, 60);
    add("kernel", 1, 63, 61);
    let recording = read(&format!("[{}]", all.join(",")));
    assert_eq!(recording.diagnostics.count(rules::SHARED), 8);
    assert_eq!(recording.diagnostics.count(rules::UNLINKED), 0);
    let trace = trace(&recording);
    let links = trace.links();
    assert_eq!(links.len(), 10);
    let word = |id: LocationId, key: &str| {
        let location = trace.definitions().system.location(id).unwrap();
        location.properties.get(key).unwrap().to_owned()
    };
    for link in links {
        assert_eq!(link.kind, LinkKind::Launch);
        let (thread, device) = (
            word(link.from.location, "thread"),
            word(link.to.location, "device"),
        );
        assert_eq!(thread, format!("10{device}"));
    }
    // Without such ids, the last call before the activity is selected.
    let shared = &all[..16];
    let recording = read(&format!("[{}]", shared.join(",")));
    assert_eq!(recording.diagnostics.count(rules::SHARED), 8);
    assert_eq!(chrome_text::trace(&recording).links().len(), 8);
}

#[test]
fn a_flow_finds_the_call_around_it_however_many_went_before() {
    let short = (0..500u32).map(|at| {
        format!(
            r#"{{"ph":"X","name":"short","pid":1,"tid":1,"ts":{},"dur":1}}"#,
            10 + 2 * at
        )
    });
    let mut all: Vec<String> = short.collect();
    all.extend([
        r#"{"ph":"X","name":"long","pid":1,"tid":1,"ts":1,"dur":2000}"#.to_owned(),
        r#"{"ph":"X","name":"other","pid":1,"tid":2,"ts":1500,"dur":5}"#.to_owned(),
        r#"{"ph":"s","id":1,"cat":"c","name":"c","pid":1,"tid":1,"ts":1400.5}"#.to_owned(),
        r#"{"ph":"f","bp":"e","id":1,"cat":"c","name":"c","pid":1,"tid":2,"ts":1501}"#.to_owned(),
    ]);
    let recording = read(&format!("[{}]", all.join(",")));
    assert_eq!(recording.diagnostics.count(rules::FLOW), 0);
    let links = trace(&recording).links();
    assert_eq!(links.len(), 1);
    // The long call is the first enter of its thread.
    assert_eq!(links[0].from.index, 0);
}

#[test]
fn what_is_no_text_is_counted_wherever_it_stands() {
    let event = |phase: &str, more: &[u8]| {
        let mut text = format!("{{\"ph\":\"{phase}\",\"ts\":1,").into_bytes();
        text.extend(more);
        text.push(b'}');
        text
    };
    for (what, more) in [
        (
            "M",
            &b"\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"\xff\"}"[..],
        ),
        (
            "M",
            b"\"name\":\"thread_name\",\"pid\":1,\"tid\":1,\"args\":{\"name\":\"\xff\"}",
        ),
        ("X", b"\"name\":\"a\",\"dur\":1,\"pid\":\"\xff\",\"tid\":1"),
        ("C", b"\"name\":\"a\",\"pid\":1,\"args\":{\"\xff\":1}"),
        ("C", b"\"name\":\"\xff\",\"pid\":1,\"args\":{\"b\":1}"),
        ("i", b"\"name\":\"\\q\",\"pid\":1,\"tid\":1"),
    ] {
        let text = [b"[{\"ph\":\"M\"},", &event(what, more)[..], b"]"].concat();
        let recording = with(text, &OpenOptions::new()).unwrap();
        assert_eq!(only(&recording), ("invalid-text", 1), "{what}");
        let (_, finding) = recording.diagnostics.iter().next().unwrap();
        let place = finding.places[0].to_string();
        assert_eq!(place, "made, byte 12, event 1", "{what}");
    }
    let head = b"{\"deviceProperties\":[{\"id\":0,\"name\":\"\xff\"}],\"traceName\":\"\xfe\",\"traceEvents\":[]}";
    let recording = with(head.to_vec(), &OpenOptions::new()).unwrap();
    assert_eq!(only(&recording), ("invalid-text", 2));
}

/// Returns a recording of `count` events, each generated from its number.
fn many(count: u32, event: impl Fn(u32) -> String) -> String {
    let all: Vec<String> = (0..count).map(event).collect();
    format!("[{}]", all.join(","))
}

#[test]
fn counters_of_many_processes_take_no_longer_than_others() {
    let recording = read(&many(30_000, |at| {
        format!(r#"{{"ph":"C","name":"m","pid":{at},"ts":{at},"args":{{"v":{at}}}}}"#)
    }));
    let trace = trace(&recording);
    assert_eq!(trace.len(), 30_000);
    assert_eq!(trace.view().locations().count(), 30_000);
}

#[test]
fn work_that_shares_its_id_with_many_launches_takes_no_longer_than_others() {
    let count = 20_000;
    let recording = read(&many(2 * count, |at| {
        if at < count {
            format!(
                r#"{{"ph":"X","cat":"cuda_runtime","name":"l","pid":{at},"tid":1,"ts":{at},"dur":1,"args":{{"correlation":7}}}}"#
            )
        } else {
            format!(
                r#"{{"ph":"X","cat":"kernel","name":"k","pid":"d","tid":"s","ts":{at},"dur":1,"args":{{"device":0,"stream":1,"correlation":7}}}}"#
            )
        }
    }));
    assert_eq!(recording.diagnostics.count(rules::SHARED), u64::from(count));
    let links = trace(&recording).links();
    assert_eq!(links.len(), count as usize);
    // The last launch before the activity is that of the last process.
    let from = links[0].from;
    assert!(links.iter().all(|link| link.from == from));
    let name = &trace(&recording)
        .definitions()
        .system
        .location(from.location)
        .unwrap()
        .group;
    let groups = trace(&recording).definitions().system.groups();
    assert_eq!(
        groups[name.unwrap().index()].name,
        format!("process {}", count - 1)
    );
}

#[test]
fn flows_of_a_thread_are_looked_for_on_so_many_streams() {
    let count = 2_000;
    let recording = read(&many(3 * count, |at| {
        let (of, ts) = (at / 3, 10 * (at / 3));
        match at % 3 {
            0 => format!(
                r#"{{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":0,"ts":{ts},"dur":1,"args":{{"device":0,"stream":{of}}}}}"#
            ),
            1 => {
                format!(r#"{{"ph":"s","id":{of},"cat":"c","name":"c","pid":0,"tid":0,"ts":{ts}}}"#)
            }
            _ => format!(
                r#"{{"ph":"f","bp":"e","id":{of},"cat":"c","name":"c","pid":0,"tid":0,"ts":{ts}.5}}"#
            ),
        }
    }));
    assert_eq!(trace(&recording).links().len(), 256);
    assert_eq!(
        recording.diagnostics.count(rules::FLOW),
        u64::from(count) - 256
    );
}

#[test]
fn a_long_name_before_many_keys_takes_no_more_than_the_memory_budget() {
    let letter = |at: u8| char::from(b'a' + at);
    let keys: Vec<String> = (0..400_u16)
        .map(|at| {
            format!(
                r#""{}{}":1"#,
                letter((at / 26) as u8),
                letter((at % 26) as u8)
            )
        })
        .collect();
    let name = "x".repeat(1000);
    let event = format!(
        r#"[{{"ph":"C","name":"{name}","pid":1,"ts":1,"args":{{{}}}}}]"#,
        keys.join(",")
    );
    assert_eq!(read(&event).diagnostics.count(rules::DEFINITIONS), 0);
    let limits = Limits::default().with_string(1000);
    let recording = with(event, &OpenOptions::new().limits(limits)).unwrap();
    // The budget is 256 strings of 1,000 bytes, and each name has 1,004 bytes including its
    // separator.
    assert_eq!(only(&recording), ("too-many-definitions", 400 - 254));
    let limits = Limits::default().with_definitions(10);
    let names = many(20, |at| {
        format!(r#"{{"ph":"C","name":"n{at}","pid":1,"ts":1,"args":{{"v":1}}}}"#)
    });
    let recording = with(names, &OpenOptions::new().limits(limits)).unwrap();
    assert_eq!(only(&recording), ("too-many-definitions", 10));
}
