//! Scopes of values in `inspect` and `correlate`, and labels of call sites of equal names.

use perf_testdata::corpus::corpus;
use perfkit::core::{
    CallPath, CallTree, Job, Limits, Location, Metric, MetricId, Profile, ProfileMetric, Region,
    RegionId, Rows, Scope, Severities, SystemTree,
};
use perfkit::formats::cube;
use perfkit_cli::command;
use perfkit_cli::failure::Failure;
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn print(command: &str, file: &Path, words: &[&str]) -> Result<String, Failure> {
    let mut all = vec![command.into(), OsString::from(file)];
    all.extend(words.iter().map(OsString::from));
    command::output(all)
}

fn text(command: &str, file: &Path, words: &[&str]) -> String {
    print(command, file, words).unwrap_or_else(|error| panic!("{}: {error:?}", file.display()))
}

fn complaint(command: &str, file: &Path, words: &[&str]) -> String {
    match print(command, file, words) {
        Err(Failure::Input(text) | Failure::Usage(text)) => text,
        other => panic!("{words:?}: {other:?}"),
    }
}

fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Returns the sum of a column over rows of a table in JSON.
fn column_sum<'a>(rows: impl Iterator<Item = &'a Value>, column: &str) -> f64 {
    rows.filter_map(|row| row[column].as_f64()).sum()
}

/// Returns the sum of a column of a CSV file. Call paths may contain commas, values do not.
fn csv_sum(file: &Path, column: &str) -> f64 {
    let text = std::fs::read_to_string(file).expect("it was written");
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().expect("a head").split(',').collect();
    let from_end = head.iter().rev().position(|name| name.starts_with(column));
    let from_end = from_end.unwrap_or_else(|| panic!("no column {column} in {head:?}"));
    let cells = lines.filter_map(|line| line.rsplit(',').nth(from_end)?.parse::<f64>().ok());
    cells.sum()
}

#[test]
fn exclusive_values_of_tau_add_up_to_those_of_the_files() {
    let Some(facts) = corpus("cube/facts.json") else {
        return;
    };
    let facts = std::fs::read_to_string(facts).expect("facts");
    // Some correlations of the facts are NaN, which is not valid JSON.
    let facts: Value = serde_json::from_str(&facts.replace("NaN", "null")).expect("JSON");
    let mut checked = 0;
    for profile in facts["tau"].as_array().expect("profiles of TAU") {
        let name = profile["file"].as_str().expect("a name");
        let file = corpus(name.trim_end_matches("/profile.*")).expect("the facts are about it");
        let sums: Vec<(String, f64)> = match profile["per_file"].as_array() {
            Some(files) => {
                let sums = files.iter().filter_map(|it| it["sum_exclusive"].as_f64());
                let metric = profile["metric"].as_str().expect("a metric");
                vec![(metric.into(), sums.sum())]
            }
            None => {
                let names = profile["metrics"].as_array().expect("metrics").iter();
                let sums = profile["sum_exclusive_non_callpath"].as_array();
                let sums = sums.expect("sums").iter().filter_map(Value::as_f64);
                let names = names.map(|it| it.as_str().expect("a name").to_string());
                names.zip(sums).collect()
            }
        };
        for (metric, sum) in sums {
            let csv = scratch("tau-exclusive.csv");
            let csv_path = csv.to_str().expect("text");
            let name = format!("exclusive {metric}");
            for words in [
                &["--metric", &metric, "--csv", csv_path][..],
                &["--metric", &name, "--csv", csv_path],
                &[
                    "--metric",
                    &metric,
                    "--scope",
                    "exclusive",
                    "--csv",
                    csv_path,
                ],
            ] {
                let words = [words, &["--json", "--top", "1000000"]].concat();
                let found: Value =
                    serde_json::from_str(&text("inspect", &file, &words)).expect("JSON");
                let near = |found: f64, what: &str| {
                    // CSV and JSON print all digits; the sums of facts are in another order.
                    let error = (found - sum).abs() / sum.abs().max(1.0);
                    assert!(
                        error < 1e-9,
                        "{}: {what} of {metric}: {found}, not {sum}",
                        file.display()
                    );
                };
                assert_eq!(found["scope"], "exclusive");
                let is_time = metric.to_lowercase().contains("time");
                // Times are in nanoseconds in the list of call paths, microseconds in the file.
                let factor = if is_time { 1e-3 } else { 1.0 };
                let rows = |table: &str| found[table]["rows"].as_array().expect("rows").clone();
                let paths = rows("call_paths");
                let listed = factor * column_sum(paths.iter(), "exclusive");
                let rounding = 1e-3 * paths.len() as f64;
                assert!(
                    (listed - sum).abs() <= sum.abs() * 1e-9 + rounding,
                    "{}: {listed} {sum}",
                    file.display()
                );
                near(csv_sum(&csv, &name), "CSV");
                let metrics = rows("metrics");
                let own = metrics.iter().filter(|row| row["metric"] == name.as_str());
                near(column_sum(own, "total"), "metric");
            }
            checked += 1;
        }
    }
    assert!(checked >= 17, "{checked}");
}

/// Writes a profile of 16 locations with a metric `time`, in which `main` calls `solve` from two
/// call sites and `wait`.
fn call_sites(name: &str, row: impl Fn(usize, usize) -> f64) -> PathBuf {
    let locations = (0..16).map(|at| Location {
        name: format!("rank {at}"),
        key: at,
        ..Location::default()
    });
    let system = SystemTree::new(vec![], vec![], locations.collect(), &Limits::default());
    let mut calls = CallTree::default();
    let main = calls.child(None, RegionId(0)).expect("a root");
    for region in [1, 1, 2] {
        let (region, parent) = (RegionId(region), Some(main));
        calls.push(CallPath { region, parent }).expect("a path");
    }
    let time = ProfileMetric {
        metric: Metric {
            name: "time".into(),
            unit: "sec".into(),
            value_type: perfkit::core::ValueType::F64,
            ..Metric::default()
        },
        scope: Scope::Inclusive,
        ..ProfileMetric::default()
    };
    let mut rows = Rows::default();
    for path in calls.paths().iter().enumerate().map(|(at, _)| at) {
        let values = (0..16).map(|location| row(path, location)).collect();
        let id = perfkit::core::CallPathId::from_index(path).expect("a path");
        rows.insert(MetricId(0), id, Severities::F64(values));
    }
    let regions = ["main", "solve", "wait"].map(Region::named).into();
    let system = system.expect("locations");
    let profile = Profile::new(system, regions, calls, vec![time], Arc::new(rows)).expect("valid");
    let file = scratch(name);
    let mut out = std::fs::File::create(&file).expect("tests may write here");
    let options = cube::WriteOptions::new();
    cube::write(&profile, &mut out, &options, &Job::default()).expect("it is written");
    file
}

/// Returns the inclusive times of [`call_sites`]: `main` has 100 s apart from its callees.
fn times(path: usize, location: usize) -> f64 {
    let at = location as f64;
    match path {
        0 => 100.0 + at + (at * 7.0) % 5.0 + (16.0 - at),
        1 => at,
        2 => (at * 7.0) % 5.0,
        _ => 16.0 - at,
    }
}

#[test]
fn call_sites_of_equal_names_and_scopes_are_told_apart() {
    let file = call_sites("call-sites.cubex", times);
    let csv = scratch("call-sites.csv");
    let csv_path = csv.to_str().expect("text");
    let list = text("inspect", &file, &["--csv", csv_path]);
    for name in [
        "main > solve (call path 1)",
        "main > solve (call path 2)",
        "main > wait",
    ] {
        assert!(list.contains(name), "{list}");
        assert!(
            std::fs::read_to_string(&csv)
                .expect("written")
                .contains(name)
        );
    }
    assert!(list.contains("top call paths by exclusive time"), "{list}");
    let list = text(
        "inspect",
        &file,
        &["--scope", "inclusive", "--csv", csv_path],
    );
    assert!(list.contains("top call paths by inclusive time"), "{list}");
    // The root contains the callees, which have rows of their own.
    let callees = sum_of_callees(times);
    assert!((csv_sum(&csv, "time (inclusive)") - (1600.0 + 2.0 * callees)).abs() < 1e-9);
    text(
        "inspect",
        &file,
        &[
            "--metric",
            "exclusive time",
            "--scope",
            "exclusive",
            "--csv",
            csv_path,
        ],
    );
    assert!((csv_sum(&csv, "time (exclusive)") - (1600.0 + callees)).abs() < 1e-9);

    let words = [
        "--topology",
        "thread",
        "--path",
        "main > solve (call path 2)",
    ];
    let list = text(
        "correlate",
        &file,
        &[&words[..], &["--metric", "exclusive time"]].concat(),
    );
    assert!(
        list.contains("time (exclusive) of main > solve (call path 2)"),
        "{list}"
    );
    assert!(list.contains("main > solve (call path 1)"), "{list}");
    let list = text(
        "correlate",
        &file,
        &[&words[..], &["--scope", "inclusive"]].concat(),
    );
    assert!(
        list.contains("time (inclusive) of main > solve (call path 2)"),
        "{list}"
    );
    let words = [
        "--metric",
        "exclusive time",
        "--scope",
        "inclusive",
        "--path",
        "0",
    ];
    let message = complaint("correlate", &file, &words);
    assert!(
        message.contains("contradicts --scope inclusive"),
        "{message}"
    );
    assert!(complaint("inspect", &file, &["--metric", "exclusive tim"]).contains("no such metric"));
}

/// A callee whose inclusive value is larger than that of its caller.
#[test]
fn negative_exclusive_values_are_located() {
    let Some(file) = corpus("cube/pycubexr/L2_DCM_negative.cubex") else {
        return;
    };
    let out = text("inspect", &file, &[]);
    assert!(
        out.contains("negative    1 exclusive value below zero"),
        "{out}"
    );
    assert!(
        out.contains("PAPI_L2_DCM: 1 of 33 038, the lowest -1 on MPI Rank 33, Master thread in"),
        "{out}"
    );
    let out = text("inspect", &file, &["--json"]);
    let found: Value = serde_json::from_str(&out).expect("JSON");
    let negative = found["negative_exclusive"].as_array().expect("metrics");
    assert_eq!(negative.len(), 1, "{negative:?}");
    assert_eq!(negative[0]["lowest"], -1.0);
    assert_eq!(negative[0]["stated"], false);
    // Times of this file are sums of their parts up to rounding.
    if let Some(file) = corpus("cube/lulesh/lulesh.p27.size25.r1.cubex") {
        let out = text("inspect", &file, &[]);
        assert!(!out.contains("below zero"), "{out}");
    }
}

/// Returns the sum of all callees over all locations.
fn sum_of_callees(of: fn(usize, usize) -> f64) -> f64 {
    let cells = (1..4).flat_map(|path| (0..16).map(move |location| of(path, location)));
    cells.sum()
}

#[test]
fn exclusive_views_differ_from_inclusive_ones() {
    let file = call_sites("scoped-views.cubex", times);
    let r = |scope: &str| {
        let words = [
            "--topology",
            "thread",
            "--path",
            "2",
            "--scope",
            scope,
            "--json",
            "--kin",
        ];
        let found: Value = serde_json::from_str(&text("correlate", &file, &words)).expect("JSON");
        assert_eq!(found["reference"]["scope"], scope);
        let mut views = found["views"].as_array().expect("views").iter();
        let main = views.find(|it| it["path"] == "main");
        main.map_or(0.0, |it| it["pearson"].as_f64().expect("a number"))
    };
    // Without its callees, main takes 100 s everywhere.
    assert_eq!(r("exclusive"), 0.0);
    assert!(r("inclusive").abs() > 1e-3);
}

#[test]
fn a_reference_that_is_not_finite_is_located() {
    let file = call_sites("nan.cubex", |path, location| match (path, location) {
        (3, 5) => f64::NAN,
        _ => times(path, location),
    });
    let message = complaint("correlate", &file, &["--topology", "thread", "--path", "3"]);
    assert!(
        message.contains("time of main > wait is NaN at "),
        "{message}"
    );
    assert!(message.contains("rank 5"), "{message}");
}

#[test]
fn shifts_are_short_and_open_axes_are_named() {
    // `solve` of call path 2 lies one step before that of call path 1.
    let file = call_sites("shifted.cubex", |path, location| match path {
        1 => [0.0, 0.0, 1.0, 3.0, 9.0, 4.0, 0.0, 0.0][location % 8],
        2 => [0.0, 1.0, 3.0, 9.0, 4.0, 0.0, 0.0, 0.0][location % 8],
        _ => 20.0 + location as f64,
    });
    let words = ["--topology", "thread", "--path", "1"];
    let more = [&words[..], &["--json"]].concat();
    let found: Value = serde_json::from_str(&text("correlate", &file, &more)).expect("JSON");
    assert_eq!(found["views"][0]["shift"], serde_json::json!([-1]));
    let list = text("correlate", &file, &words);
    let line = list
        .lines()
        .find(|line| line.contains("(call path 2)"))
        .expect("it is listed");
    assert!(line.split_whitespace().any(|word| word == "-1"), "{list}");
    assert!(
        list.contains("axis 0 (thread) is open, but the transform wraps"),
        "{list}"
    );
}
