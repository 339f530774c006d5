//! Tests that the program that watches itself judges all of its calls. There is no golden text,
//! because the slow calls depend on the machine.

#[path = "../../instrument/main.rs"]
#[allow(dead_code, reason = "`main` is for the example itself")]
mod program;

use std::ffi::OsString;

#[test]
fn every_span_is_judged() {
    let page = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("instrument.html");
    let args = [
        "--html",
        &page.display().to_string(),
        "--threads",
        "1",
        "--steps",
        "600",
        "--slow",
        "200",
        "--json",
    ];
    let mut out = Vec::new();
    assert!(program::run(&args.map(OsString::from), &mut out).is_ok());
    let report: serde_json::Value = serde_json::from_slice(&out).expect("JSON");
    assert_eq!(report["calls"], 2400);
    let page = std::fs::read_to_string(page).expect("a page was written");
    assert!(page.contains("This program: its abnormal calls"));
    let found = report["anomalies"].as_array().expect("a list");
    // The slow calls depend on the machine, but the description of each does not.
    for one in found {
        let stack = one["stack"].as_str().expect("a call path");
        assert!(stack.contains("::step"), "{one}");
        assert!(one["us"].as_f64() > one["expected_us"].as_f64(), "{one}");
    }
}
