//! Options of `fold` for counters, states, call stacks and messages.

use perf_testdata::bundled::{devices as planted, recording as bundled};
use perfkit_cli::command;
use perfkit_cli::failure::Failure;
use serde_json::Value;
use std::path::Path;

fn jacobi() -> String {
    bundled("jacobi-16").display().to_string()
}

fn json(words: &[&str]) -> Value {
    let file = jacobi();
    let text = command::output([&["fold", &file, "--json", "--quiet"], words].concat());
    serde_json::from_str(&text.expect("it is folded")).expect("it is JSON")
}

fn refused(words: &[&str]) -> String {
    let file = jacobi();
    match command::output([&["fold", &file, "--quiet"], words].concat()) {
        Err(Failure::Usage(text)) => text,
        other => panic!("{other:?}"),
    }
}

/// Returns the values of a column of a table.
fn column<'a>(table: &'a Value, name: &str) -> Vec<&'a Value> {
    let rows = table["rows"].as_array().or(table.as_array());
    let rows = rows.unwrap_or_else(|| panic!("no rows: {table}"));
    rows.iter().map(|row| &row[name]).collect()
}

#[test]
fn counters_and_their_ratios_are_of_each_location() {
    let found = json(&["--counter", "work", "--counter", "one=work/work"]);
    let means = column(&found["counters"], "mean");
    assert_eq!(means.len(), 32, "{found}");
    let is_one = |value: &&Value| value.as_f64().is_some_and(|it| (it - 1.0).abs() < 1e-12);
    assert!(means.iter().skip(16).all(is_one));
    assert!(
        means
            .iter()
            .take(16)
            .all(|it| it.as_f64().is_some_and(|it| it > 1.0))
    );
    let text = refused(&["--counter", "wrok"]);
    assert!(text.contains("did you mean `work`?"), "{text}");
}

#[test]
fn ranges_of_a_counter_are_states() {
    let found = json(&["--states", "counter=work:1e6,1e8", "--by", "process"]);
    let states = column(&found["states"], "state");
    let named: Vec<&str> = states.iter().filter_map(|it| it.as_str()).collect();
    assert!(
        named.iter().any(|it| it.starts_with("work >= 1e8 cells/s")),
        "{named:?}"
    );
    assert!(
        named
            .iter()
            .all(|it| it.contains("work") || ["idle", "absent"].contains(it))
    );
    let text = refused(&["--states", "counter=play:1"]);
    assert!(text.contains("no such counter `play`"), "{text}");
    let text = refused(&["--states", "event=Iteration"]);
    assert!(text.contains("no such event type `Iteration`"), "{text}");
}

#[test]
fn a_stack_has_a_row_for_each_depth() {
    let found = json(&["--stack", "P#3"]);
    assert_eq!(
        column(&found["rows"], "row"),
        ["depth 0", "depth 1", "depth 2"]
    );
    let text = refused(&["--stack", "P#99"]);
    assert!(text.contains("--stack: no such location `P#99`"), "{text}");
}

#[test]
fn a_matrix_of_messages_is_a_picture_and_a_table() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (svg, csv) = (folder.join("matrix.svg"), folder.join("matrix.csv"));
    let [svg_name, csv_name] = [&svg, &csv].map(|it| it.display().to_string());
    let words = ["--matrix", "count", "--svg", &svg_name, "--csv", &csv_name];
    let found = json(&words);
    // A grid of 4 x 4 ranks has 24 pairs of neighbours.
    let counts = column(&found["messages"], "messages");
    assert_eq!(counts.len(), 48);
    let sum: u64 = counts.iter().filter_map(|it| it.as_u64()).sum();
    let by_length = column(&found["message_sizes"], "messages");
    assert_eq!(
        by_length.iter().filter_map(|it| it.as_u64()).sum::<u64>(),
        sum
    );
    let text = std::fs::read_to_string(csv).expect("it was written");
    assert_eq!(text.lines().count(), 49);
    let picture = std::fs::read_to_string(svg).expect("it was drawn");
    assert!(picture.contains("messages between 16 rows"));
    let devices = planted().display().to_string();
    let silent = command::output(["fold", &devices, "--matrix", "bytes", "--svg", &svg_name]);
    assert!(matches!(silent, Err(Failure::Usage(text)) if text.contains("no messages")));
}

#[test]
fn recordings_with_accelerators_begin_with_their_devices() {
    let devices = planted().display().to_string();
    let text = command::output(["fold", &devices, "--quiet"]).expect("it is folded");
    let row = text.lines().nth(2).expect("a row");
    assert!(row.trim_start().starts_with("solver (1), GPU 0 |"), "{row}");
}
