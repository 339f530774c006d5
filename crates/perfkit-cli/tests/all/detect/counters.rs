//! Counters of a stream in the text, JSON and page of `detect`.

use super::{HEAD, json, run, scratch, text};

const SIZE: &str = "Message size <b>";

#[test]
fn counters_are_listed_below_the_functions() {
    let stream = scratch("detect-counters.tsv");
    let mut rows = HEAD.to_string();
    for call in 0..200 {
        for rank in 0..2 {
            let (step, at) = (call / 50, 1000 * call);
            let mut row = |kind, name, after, value: String| {
                let at = at + after;
                rows += &format!("{step}\t{at}\t0\t{rank}\t0\t{kind}\t{name}\t\t\t{value}\n");
            };
            row("ENTRY", "solve", 0, String::new());
            row("COUNTER", SIZE, 1, (1000 * rank + call % 2).to_string());
            row("COUNTER", "Correlation ID", 1, call.to_string());
            row(
                "COUNTER",
                "cycles",
                2,
                (7000 * call * (rank + 1)).to_string(),
            );
            row("COUNTER", "constant", 2, "8".into());
            row("COUNTER", "accesses", 2, (call % 5).to_string());
            row("EXIT", "solve", 100, String::new());
        }
    }
    std::fs::write(&stream, rows).expect("it can be written");
    let page = scratch("detect-counters.html");
    let shown = run(&[text(&stream), "--html", text(&page)]).expect("a stream");
    let (_, counters) = shown
        .split_once("\ncounters\n")
        .expect("there are counters");
    let lines: Vec<_> = counters
        .lines()
        .take_while(|line| !line.is_empty())
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    let expected = [
        "counter ranks values mean deviation smallest largest increase highest rank on it",
        "Message size <b> 2 400 500 501 0 1 001 - 1 1 000",
        "cycles 2 400 - - 0 2 786 000 4 179 000 1 2 786 000",
        "accesses 2 400 2.00 1.42 0 4 - - -",
        "constant 2 400 8.00 0 8 8 - - -",
    ];
    assert_eq!(lines, expected);
    let found = json(&[text(&stream)]);
    let rows = found["counters"]["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 4);
    assert_eq!(
        (&rows[0]["counter"], &rows[0]["sum"]),
        (&SIZE.into(), &200_200.0.into())
    );
    assert_eq!(
        (&rows[1]["mean"], &rows[1]["increase"]),
        (&serde_json::Value::Null, &4_179_000.0.into())
    );
    let page = std::fs::read_to_string(page).expect("it was written");
    assert!(page.contains("Counters, all values of all ranks (4)"));
    assert!(page.contains("Message size &lt;b&gt;") && page.contains("rank 1: 2 786 000"));
    let one = run(&[text(&stream), "--top", "1"]).expect("a stream");
    assert!(one.contains("  and 3 further counters: --top\n"), "{one}");
}

/// The ranks that are twice as slow count twice the work, and all ranks have other cycles: the cause says so, and its JSON
/// has the ranks, the function and the steps of the sentence.
#[test]
fn a_counter_of_work_explains_slow_ranks() {
    let stream = scratch("detect-work.tsv");
    let mut rows = HEAD.to_string();
    for rank in 0..8 {
        let slow = if rank % 2 == 0 { 2 } else { 1 };
        let mut at = 1000;
        for call in 0..400 {
            let step = call / 20;
            let mut row = |kind, name, at, value: String| {
                rows += &format!("{step}\t{at}\t0\t{rank}\t0\t{kind}\t{name}\t\t\t{value}\n");
            };
            let end = at + slow * (1000 + call * 37 % 11);
            row("ENTRY", "solve", at, String::new());
            row("COUNTER", "work", at, (slow * 500 + call % 3).to_string());
            row("COUNTER", "cycles", at, (slow * 900 + call % 3).to_string());
            row("EXIT", "solve", end, String::new());
            at = end + 100;
        }
    }
    std::fs::write(&stream, rows).expect("it can be written");
    let printed = run(&[text(&stream)]).expect("a stream");
    let cause = "\n  1. 4 ranks (all even ones) are 2.0 times as slow as their peers since step 0, nearly all of it in solve: ";
    assert!(printed.contains(cause), "{printed}");
    let counter =
        " lost; they also have 2.0 times the work of other ranks, which may explain that\n";
    assert!(printed.contains(counter), "{printed}");
    let found = json(&[text(&stream)]);
    let cause = &found["causes"][0];
    assert_eq!(cause["ranks"], serde_json::json!([0, 2, 4, 6]));
    let place = [
        "kind",
        "program",
        "function",
        "functions",
        "steps",
        "lasts",
        "always",
        "usual",
        "longest",
    ];
    let place = place.map(|name| cause[name].clone());
    let expected = serde_json::json!([
        "slow ranks",
        0,
        "solve",
        ["solve"],
        [0, 19],
        true,
        true,
        null,
        null
    ]);
    assert_eq!(serde_json::Value::from(place.to_vec()), expected);
    assert_eq!(cause["counter"]["name"], "work");
    for ratio in [&cause["factor"], &cause["counter"]["ratio"]] {
        let ratio = ratio.as_f64().expect("a number");
        assert!((ratio - 2.0).abs() < 0.02, "{cause}");
    }
}

/// Values of counters that failed are in no mean, and a sentence says so. Levels may be negative.
#[test]
fn invalid_values_of_counters_are_not_counted() {
    let stream = scratch("detect-invalid.tsv");
    let mut rows = HEAD.to_string();
    for call in 0..40 {
        let at = 1000 * call;
        let mut row = |kind, name, after, value: &str| {
            let at = at + after;
            rows += &format!("0\t{at}\t0\t0\t0\t{kind}\t{name}\t\t\t{value}\n");
        };
        row("ENTRY", "solve", 0, "");
        let misses = match call {
            7 => "-1",
            8 => "18446744073709551615",
            9 => "9223372036854775808",
            _ => "50",
        };
        row("COUNTER", "PAPI_L2_TCM", 1, misses);
        row("COUNTER", "temperature", 1, "-20");
        row("EXIT", "solve", 100, "");
    }
    std::fs::write(&stream, rows).expect("it can be written");
    let page = scratch("detect-invalid.html");
    let printed = run(&[text(&stream), "--html", text(&page)]).expect("a stream");
    let page = std::fs::read_to_string(page).expect("it was written");
    assert!(page.contains("or of too many counters (3)."));
    let sentence = "\n  not counted: 3 values, which are invalid (";
    assert!(printed.contains(sentence), "{printed}");
    let found = json(&[text(&stream)]);
    assert_eq!(found["left_out"]["counter_values"], 3);
    let rows = found["counters"]["rows"].as_array().expect("rows");
    let of = |name: &str| {
        let row = rows.iter().find(|row| row["counter"] == name);
        let row = row.expect("it is listed");
        (row["values"].as_u64(), row["mean"].as_f64())
    };
    assert_eq!(of("PAPI_L2_TCM"), (Some(37), Some(50.0)));
    assert_eq!(of("temperature"), (Some(40), Some(-20.0)));
}
