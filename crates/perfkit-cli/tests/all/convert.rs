//! `convert`: a recording read back from each format has the content that the format can represent,
//! and the rest is counted.

use perf_testdata::bundled::recording;
use perfkit_cli::command::output;
use perfkit_cli::failure::Failure;
use serde_json::Value;
use std::path::PathBuf;

/// Creates a new folder for the files of a test.
fn scratch(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("convert-{name}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("tests may write here");
    folder
}

fn json(words: &[&str]) -> Value {
    let printed = output([words, &["--json"]].concat()).expect("it works");
    serde_json::from_str(&printed).expect("it is JSON")
}

#[test]
fn traces_come_back() {
    let (folder, from) = (
        scratch("traces"),
        recording("jacobi-4").display().to_string(),
    );
    let before = json(&["inspect", &from]);
    for (name, is_whole) in [
        ("archive", true),
        ("named/other.otf2", true),
        ("a.prv", true),
        ("a.prv.gz", true),
        ("a.json", false),
    ] {
        let to = folder.join(name).display().to_string();
        let written = json(&["convert", &from, &to]);
        let after = json(&["inspect", &to]);
        // Times of Chrome JSON are relative to the first written event.
        let length = |of: &Value| {
            of["end_ns"].as_i64().expect("a time") - of["start_ns"].as_i64().expect("a time")
        };
        let allowed = if is_whole { 1 } else { 1_000 };
        assert!(
            (length(&after) - length(&before)).abs() <= allowed,
            "{name}"
        );
        assert_eq!(written["events_lossy"], 0, "{name}: {written}");
        if is_whole {
            assert_eq!(after["messages"]["matched"], 800, "{name}");
            assert_eq!(after["messages"]["collectives"], 51, "{name}");
        } else {
            // Messages are arrows, and collectives are arguments of their calls.
            assert_eq!(
                after["event_kinds"]["Enter"],
                before["event_kinds"]["Enter"]
            );
        }
    }
    assert!(folder.join("named/other.evt").exists() || folder.join("named/other").is_dir());
}

#[test]
fn profiles_of_traces_come_back() {
    let (folder, from) = (
        scratch("profiles"),
        recording("jacobi-4").display().to_string(),
    );
    let cube = folder.join("a.cubex").display().to_string();
    let written = json(&["convert", &from, &cube]);
    assert_eq!(written["events_lossy"], 11_256);
    let table = |path: &str| {
        let to = folder.join("severities.csv").display().to_string();
        output(["inspect", path, "--csv", &to]).expect("it is read");
        std::fs::read_to_string(to).expect("it was written")
    };
    assert_eq!(table(&from).lines().count(), table(&cube).lines().count());
    let csv = folder.join("b.csv").display().to_string();
    let written = json(&["convert", &cube, &csv]);
    assert_eq!(written["record_kind"], "rows of severities");
}

#[test]
fn events_as_a_table_are_complete() {
    let (folder, from) = (
        scratch("events"),
        recording("jacobi-4").display().to_string(),
    );
    let to = folder.join("events.txt").display().to_string();
    let written = json(&["convert", &from, &to, "--format", "csv"]);
    let rows = std::fs::read_to_string(&to).expect("it was written");
    assert_eq!(rows.lines().count(), 1 + 11_256);
    assert_eq!(
        rows.lines().next(),
        Some("location,time [ns],event,region,peer,tag,size [B]")
    );
    let sends = rows.lines().filter(|row| row.contains(",Send,"));
    assert!(sends.clone().all(|row| !row.ends_with(",,")));
    assert_eq!(sends.count(), 800);
    // Samples of metrics, ends of collectives, starts and ends of threads.
    assert_eq!(written["events_lossy"], 2_000 + 204 + 8);
}

#[test]
fn inputs_are_kept_and_formats_refused() {
    let (folder, from) = (
        scratch("refused"),
        recording("jacobi-4").display().to_string(),
    );
    let at = |name: &str| folder.join(name).display().to_string();
    output(["convert", &from, &at("a.prv")]).expect("it is written");
    output(["convert", &from, &at("a.cubex")]).expect("it is written");
    output(["convert", &from, &at("archive")]).expect("it is written");
    let before = std::fs::read(folder.join("a.pcf")).expect("it is there");
    for (from, to, is_usage) in [
        ("a.prv", "a.prv", true),
        // Both names have the same files of names and objects.
        ("a.prv", "a.prv.gz", true),
        ("archive", "archive", true),
        ("a.prv", "archive", false),
        ("a.prv", "a.tar", true),
        ("a.cubex", "b.prv", true),
        ("nothing.prv", "b.json", false),
    ] {
        let outcome = output(["convert", &at(from), &at(to)]);
        if is_usage {
            assert!(
                matches!(outcome, Err(Failure::Usage(_))),
                "{from} {to}: {outcome:?}"
            )
        } else {
            assert!(
                matches!(outcome, Err(Failure::Input(_))),
                "{from} {to}: {outcome:?}"
            )
        }
    }
    assert_eq!(
        std::fs::read(folder.join("a.pcf")).expect("it is there"),
        before
    );
    assert!(!folder.join("b.prv").exists() && !folder.join("b.json").exists());
}
