//! `--from` and `--to`: a window of a recording is analysed like a recording of its own.

use perf_testdata::bundled::recording;
use perfkit_cli::command::output;
use perfkit_cli::failure::Failure;
use serde_json::Value;
use std::path::PathBuf;

const WINDOW: [&str; 4] = ["--from", "100ms", "--to", "300ms"];

fn json(words: &[&str]) -> Value {
    let printed = output([words, &["--json"]].concat()).expect("it works");
    serde_json::from_str(&printed).expect("it is JSON")
}

#[test]
fn a_window_equals_the_recording_that_convert_makes_of_it() {
    let file = recording("jacobi-16").display().to_string();
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("window");
    let _ = std::fs::remove_dir_all(&folder);
    let part = folder.display().to_string();
    json(&[&["convert", &file, &part][..], &WINDOW].concat());
    let window = json(&[&["inspect", &file][..], &WINDOW].concat());
    assert_eq!(
        (&window["start_ns"], &window["end_ns"]),
        (&100_000_000.into(), &300_000_000.into())
    );
    assert_eq!(window["messages"]["matched"], 2_920);
    assert_eq!(window["messages"]["unmatched"], serde_json::json!({}));
    let rules: Vec<_> = window["findings"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| it["rule"].clone())
        .collect();
    assert!(
        rules.contains(&"calls-cut".into()) && rules.contains(&"communication-cut".into()),
        "{rules:?}"
    );
    let alone = json(&["inspect", &part]);
    for key in ["events", "messages", "event_kinds", "call_paths"] {
        assert_eq!(window[key], alone[key], "{key}");
    }
    // Calls that the end of the window cuts are open to `detect`, and their partners at the edge are none.
    let detect = |words: &[&str]| {
        let found = json(&[&["detect"], words].concat());
        (
            found["calls"].clone(),
            found["health"]["open-at-end"].clone(),
        )
    };
    let window = detect(&[&[&file[..]][..], &WINDOW].concat());
    assert_eq!(window, (10_593.into(), 47.into()));
    assert_eq!(detect(&[&part]), (10_665.into(), 0.into()));
}

#[test]
fn a_window_has_the_findings_of_its_time_and_commands_with_the_window() {
    let file = recording("jacobi-4").display().to_string();
    let found = json(&[&["wait", &file][..], &WINDOW].concat());
    let first = &found["findings"][0];
    let sentence = first["sentence"].as_str().expect("a sentence");
    assert!(
        sentence.starts_with("rank 3 holds up 3 others"),
        "{sentence}"
    );
    for at in first["window_ns"].as_array().expect("a window") {
        assert!(
            (100_000_000..=300_000_000).contains(&at.as_i64().expect("a time")),
            "{at}"
        );
    }
    let page = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("window.html");
    let page = page.display().to_string();
    let found = json(&[&["report", &file, "--html", &page][..], &WINDOW].concat());
    let findings = found["findings"].as_array().expect("a list");
    for finding in findings {
        let command = finding["command"].as_str().unwrap_or_default();
        assert!(
            command.is_empty() || command.contains("--from"),
            "{command}"
        );
    }
}

#[test]
fn only_recordings_with_events_have_windows() {
    let trace = recording("jacobi-4").display().to_string();
    let profile = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("window.cubex");
    let profile = profile.display().to_string();
    output(["convert", &trace, &profile]).expect("it is written");
    for (words, expected) in [
        (vec!["inspect", &profile, "--from", "1s"], "is a profile"),
        (vec!["correlate", &profile, "--to", "1s"], "is a profile"),
        (
            vec!["inspect", &trace, "--from", "9s"],
            "nothing lies in that window",
        ),
        (
            vec!["wait", &trace, "--from", "2s", "--to", "1s"],
            "not before",
        ),
    ] {
        let failure = output(words.clone());
        assert!(
            matches!(&failure, Err(Failure::Usage(what)) if what.contains(expected)),
            "{words:?}: {failure:?}"
        );
    }
}
