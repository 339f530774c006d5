//! The subcommand `utilisation` and folds of devices: planted numbers, and malformed files.

use crate::golden::golden;
use perf_testdata::bundled::{devices as planted, recording as bundled};
use perfkit_cli::command;
use perfkit_cli::failure::Failure;
use std::path::Path;

fn print(command: &str, words: &[&str]) -> Result<String, Failure> {
    command::output([&[command], words].concat())
}

fn json(words: &[&str]) -> serde_json::Value {
    let printed = print("utilisation", words).expect("it has devices");
    serde_json::from_str(&printed).expect("it is JSON")
}

/// Returns the busy share that the characters of each row of `fold` show, and the printed one.
///
/// The first share is that of the strip `busy` if there is one, else the share of characters that
/// show a state.
fn inked(text: &str) -> Vec<(f64, f64)> {
    let mut rows: Vec<(f64, f64)> = Vec::new();
    for line in text.lines() {
        let mut parts = line.split('|');
        let (Some(label), Some(strip)) = (parts.next(), parts.next()) else {
            continue;
        };
        let count = strip.chars().count() as f64;
        match (parts.next(), rows.last_mut()) {
            (Some(rest), last) if label.trim() == "busy" && rest.is_empty() => {
                let shades = strip.chars().filter_map(|shade| " .:-=+*#%@".find(shade));
                let mean = shades.map(|step| step as f64 / 9.0).sum::<f64>() / count;
                last.expect("a row above it").0 = mean;
            }
            (Some(rest), _) => {
                let printed = rest.trim().trim_end_matches(" % busy");
                let printed = printed.parse::<f64>().expect("a number") / 100.0;
                let shown = strip.chars().filter(|sign| *sign != '.').count() as f64;
                rows.push((shown / count, printed));
            }
            (None, _) => {}
        }
    }
    rows
}

#[test]
fn the_characters_of_a_fold_agree_with_its_busy_shares() {
    let file = planted().display().to_string();
    // The kernels recur 240 times, so that 80 and 240 columns are in phase with them.
    for columns in ["7", "80", "240", "1000", "1200"] {
        for by in ["device", "location"] {
            let words = [file.as_str(), "--by", by, "--op", "idle"];
            let words = [words.as_slice(), &["--columns", columns]].concat();
            let text = print("fold", &words).expect("it folds");
            let rows = inked(&text);
            assert!(rows.len() >= 7, "{text}");
            for (shown, printed) in rows {
                // The tolerance is half a shade and the rounding of the number.
                assert!((shown - printed).abs() < 0.5 / 9.0 + 0.001, "{text}");
            }
        }
    }
}

#[test]
fn planted_numbers_come_out() {
    let file = planted().display().to_string();
    let file = file.as_str();
    golden("utilisation.txt", "utilisation", &[file]);
    let words = [
        file, "--from", "10ms", "--to", "20ms", "--gaps", "2", "--json",
    ];
    golden("utilisation.json", "utilisation", &words);
    golden(
        "utilisation-hta.txt",
        "utilisation",
        &[file, "--hta", "--job"],
    );
    golden("fold-device.txt", "fold", &[file, "--by", "device"]);

    let result = json(&[file, "--json"]);
    let devices = result["devices"]["rows"].as_array().expect("a list");
    assert_eq!(devices.len(), 6);
    let causes = result["idle"]["rows"].as_array().expect("a list");
    for (number, device) in (1..).zip(devices) {
        assert_eq!(device["utilisation"].as_f64(), Some(f64::from(15 * number)));
        assert_eq!(device["busy"], 60_000_000 / 100 * 15 * number);
        assert_eq!(device["span"], 60_000_000);
        let idle = causes
            .iter()
            .filter(|cause| cause["device"] == device["device"]);
        let idle: u64 = idle.filter_map(|cause| cause["time"].as_u64()).sum();
        assert_eq!(device["idle"], idle);
        let busy = device["busy"].as_u64().expect("a number");
        assert_eq!(idle + busy, 60_000_000);
    }
    // The rule makes all work of one kind, against the default rules.
    let result = json(&[file, "--work", "communication=*", "--json"]);
    let work = &result["work"]["rows"];
    assert_eq!(
        (&work[0]["work"], &work[0]["events"]),
        (&"communication".into(), &480.into())
    );
    // Two files are two ranks.
    let result = json(&[file, file, "--json"]);
    assert_eq!(result["devices"]["rows"].as_array().map(Vec::len), Some(6));
    assert_eq!(finding(&result, "same-file"), Some(1));
    // Shares refer to the requested window, even if little of it was recorded.
    let result = json(&[file, "--to", "600ms", "--json"]);
    let device = &result["devices"]["rows"][5];
    assert_eq!(
        (device["busy"].as_u64(), device["utilisation"].as_f64()),
        (Some(54_000_000), Some(9.0))
    );
}

#[test]
fn all_kinds_of_work_have_columns_and_patterns_must_match() {
    let text = perf_testdata::corpus::corpus("gpu/tracelens/tests/traces/b200/eager_trace.json.gz");
    let Some(path) = text else {
        return;
    };
    let file = path.display().to_string();
    let text = print("utilisation", &[&file]).expect("it has a device");
    let kinds = ["compute", "communication", "copy", "set"];
    assert!(kinds.iter().all(|kind| text.contains(kind)), "{text}");
    // Arguments and flows of Kineto are ordinary findings: one line here, and one for each rule in
    // `inspect`.
    assert_eq!(text.matches("dropped-arguments").count(), 1, "{text}");
    let ordinary =
        "ordinary for the format, without effect on the result: dropped-arguments, loose-flow;";
    assert!(text.contains(ordinary), "{text}");
    // The rank is named once, although it is part of the names of process and device.
    let rows = print("fold", &[&file, "--by", "device"]).expect("it folds");
    let row = rows.lines().find(|line| line.contains("GPU 0"));
    assert_eq!(
        row.map(|row| row.matches("rank 0").count()),
        Some(1),
        "{rows}"
    );
    let rule = |rule: &str| rule.to_owned() + "=AllReduce*";
    let failure = print("utilisation", &[&file, "--work", &rule("copy")]);
    let Err(Failure::Usage(message)) = failure else {
        panic!("no name begins so: {failure:?}");
    };
    assert!(
        message.contains("no work on any device matches"),
        "{message}"
    );

    // A device that is busy during the whole window has no gap.
    let file = planted().display().to_string();
    let result = json(&[&file, "--json", "--gaps", "1"]);
    let gaps = result["gaps"]["rows"].as_array().expect("a list");
    let parts = gaps.iter().filter(|gap| gap["device"] == gaps[0]["device"]);
    let end = parts.filter_map(|gap| gap["end"].as_i64()).max();
    let end = end.expect("it has a gap");
    let words = [format!("{end}ns"), format!("{}ns", end + 1_000)];
    let words = [&file, "--from", &words[0], "--to", &words[1], "--gaps", "2"];
    let text = print("utilisation", &words).expect("it has devices");
    assert!(text.contains("\n  no gaps of device 0\n"), "{text}");
    assert!(!text.contains("longest gaps of device 0"), "{text}");
}

/// Returns the count of a finding of the reader.
fn finding(result: &serde_json::Value, rule: &str) -> Option<u64> {
    let findings = result["findings"].as_array().expect("a list");
    let found = findings.iter().find(|found| found["rule"] == rule);
    found.and_then(|found| found["count"].as_u64())
}

const ROCPROF: &str = r#"{"rocprofiler-sdk-tool": [{"metadata": {"pid": 7},
    "agents": [{"id": {"handle": 9}, "type": 2, "logical_node_type_id": 0, "name": "gfx90a"}],
    "kernel_symbols": [{"kernel_id": 3, "formatted_kernel_name": "axpy"}],
    "buffer_records": {"pc_sample_host_trap": [{}, {}], "kernel_dispatch": [{
        "start_timestamp": 100, "end_timestamp": 140, "stream_id": {"handle": 0},
        "dispatch_info": {"agent_id": {"handle": 9}, "queue_id": {"handle": 1}, "kernel_id": 3}}]}}]}"#;

#[test]
fn files_of_one_format_are_ranks_and_those_of_several_are_not() {
    let first = scratch("rank-0.json", ROCPROF);
    let second = scratch("rank-1.json", &ROCPROF.replace("140", "190"));
    let result = json(&[&first, &second, "--json"]);
    assert_eq!(result["format"], "rocprof");
    let busy = |at: usize| {
        (
            result["devices"]["rows"][at]["rank"].clone(),
            result["devices"]["rows"][at]["busy"].clone(),
        )
    };
    assert_eq!(
        [busy(0), busy(1)],
        [(0.into(), 40.into()), (1.into(), 90.into())]
    );
    // Skipped sections are reported with their place.
    let text = print("utilisation", &[&first]).expect("it has a device");
    assert!(
        text.contains("warning: 2 x other-section") && text.contains("(first: "),
        "{text}"
    );
    assert_eq!(result["findings"][0]["count"], 4);
    let text = print("fold", &[&first, &second, "--by", "device"]).expect("they are ranks");
    assert!(
        text.contains("rank 0, GPU 0") && text.contains("rank 1, GPU 0"),
        "{text}"
    );

    let chrome = planted().display().to_string();
    let otf2 = bundled("jacobi-4").display().to_string();
    for pair in [
        [first.as_str(), chrome.as_str()],
        [otf2.as_str(), otf2.as_str()],
    ] {
        for command in ["utilisation", "fold"] {
            let failure = print(command, &pair).expect_err("no ranks of one job");
            assert!(matches!(failure, Failure::Usage(_)), "{failure:?}");
        }
    }
}

#[cfg(feature = "nsys")]
#[test]
fn exports_of_nsight_systems_are_ranks_too() {
    let path = "gpu/pipit/pipit_tests_data_cloverleaf-nsys_perlmutter-cloverleaf-cuda.sqlite";
    let Some(path) = perf_testdata::corpus::corpus(path) else {
        return;
    };
    let file = path.display().to_string();
    let result = json(&[&file, &file, "--json"]);
    let devices = result["devices"]["rows"].as_array().expect("a list");
    let found: Vec<_> = devices
        .iter()
        .map(|it| (it["rank"].as_u64(), it["busy"].as_u64()))
        .collect();
    let busy = Some(303_795_463);
    assert_eq!(found, [(None, busy)]);
    assert_eq!(finding(&result, "same-file"), Some(1));
    assert_eq!(finding(&result, "clocks-disagree"), None);
}

#[test]
fn a_fold_is_written_for_other_viewers() {
    let file = planted().display().to_string();
    let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join("devices-fold.json");
    let to = to.display().to_string();
    print(
        "fold",
        &[&file, "--by", "device", "--columns", "300", "--chrome", &to],
    )
    .expect("it is written");
    let text = std::fs::read_to_string(&to).expect("it was written");
    let value: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    let events = value["traceEvents"].as_array().expect("a list");
    let named = |phase: &str, name: &str| {
        events
            .iter()
            .filter(|it| it["ph"] == phase && it["name"] == name)
            .count()
    };
    // One process for the threads and one for each device. The busiest device has a state in most
    // pixels.
    assert_eq!(named("M", "process_name"), 7);
    assert!(named("X", "compute") + named("X", "stencil") + events.len() > 300);
    assert!(named("C", "agreement") > 6);
}

fn scratch(name: &str, text: &str) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).expect("it can be written");
    path.display().to_string()
}

#[test]
fn hostile_names_are_names() {
    let text = r#"{"traceEvents":[{"ph":"X","cat":"kernel","name":"a\u001b[31m\n\"|%s\u202e","pid":0,
        "tid":"stream 7","ts":1,"dur":2}]}"#;
    let file = scratch("hostile.json", text);
    let file = file.as_str();
    for command in ["utilisation", "fold"] {
        let printed = print(command, &[file]).expect("a name is a name");
        assert!(!printed.contains('\u{1b}'), "{printed:?}");
    }
    // A device without a host.
    let result = json(&[file, "--json"]);
    let device = &result["devices"]["rows"][0];
    assert_eq!(device["unlinked"], 1);
    assert_eq!(device["utilisation"], 100.0);
    assert_eq!(device["rank"], serde_json::Value::Null);
}

#[test]
fn a_file_without_devices_says_so() {
    let host =
        r#"{"traceEvents":[{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":2}]}"#;
    let host = scratch("host.json", host);
    let empty = scratch("no-events.json", r#"{"traceEvents":[]}"#);
    let nothing = scratch("nothing.json", "");
    let mpi = bundled("jacobi-4").display().to_string();
    for file in [&host, &empty, &nothing, &mpi] {
        let failure = print("utilisation", &[file]).expect_err("there is no device");
        assert!(matches!(failure, Failure::Input(_)), "{failure:?}");
        if file == &host || file == &mpi {
            let text = format!("{failure:?}");
            assert!(text.contains("no work of any device"), "{text}");
        }
        if file == &host {
            let row = "process 1, thread 1: 1 call, of category cpu_op (1)";
            assert!(format!("{failure:?}").contains(row), "{failure:?}");
        }
    }
}

#[test]
fn pages_take_shares_of_the_span_that_the_text_names() {
    let text = r#"[{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":0,"dur":100},
        {"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":10,"dur":3},
        {"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":16,"dur":4}]"#;
    let file = scratch("spans.json", text);
    let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join("spans.html");
    let page = to.display().to_string();
    for (words, share, busy, named) in [
        (&[][..], "70.000 % busy", "\"busy\":0.7,", "of its span"),
        (
            &["--job"][..],
            "70.000 % busy",
            "\"busy\":0.7,",
            "\"busy\":\"busy\"",
        ),
        (
            &["--from", "0us", "--to", "20us"][..],
            "35.000 % busy",
            "\"busy\":0.35,",
            "\"busy\":\"busy\"",
        ),
    ] {
        let words = [&[file.as_str(), "--html", &page], words].concat();
        let text = print("utilisation", &words).expect("it has a device");
        assert!(
            text.contains(share) && text.contains("shares are of the"),
            "{text}"
        );
        let page = std::fs::read_to_string(&to).expect("it was written");
        assert!(page.contains(busy) && page.contains(named), "{words:?}");
    }
}

#[test]
fn pictures_of_devices_are_small() {
    let file = planted().display().to_string();
    let file = file.as_str();
    for (name, words) in [
        ("gpu-unfolded.png", &["--by", "location"][..]),
        ("gpu-max.png", &["--by", "device", "--op", "max"]),
        ("gpu-idle.png", &["--by", "device", "--op", "idle"]),
    ] {
        let picture = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let png = picture.display().to_string();
        let more = [file, "--columns", "900", "--png", png.as_str()];
        let words = [more.as_slice(), words].concat();
        print("fold", &words).expect("it draws");
        let bytes = std::fs::metadata(&picture).expect("it was drawn").len();
        assert!((1_000..100_000).contains(&bytes), "{name}: {bytes}");
    }
}
