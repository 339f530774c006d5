//! `correlate` on each kind of profile and with each kind of topology, and what it says to input
//! that does not fit.

#![allow(dead_code, reason = "the example brings a `main` that no test calls")]

#[path = "../correlate.rs"]
mod correlate;

use perf_testdata::corpus::corpus;
use perfkit_examples::cli::Failure;
use perfkit_examples::recording::bundled;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

fn run(file: &Path, words: &[&str]) -> Result<String, Failure> {
    let mut all = vec![OsString::from(file)];
    all.extend(words.iter().map(OsString::from));
    let mut out = Vec::new();
    correlate::run(&all, &mut out)?;
    Ok(String::from_utf8(out).expect("examples print UTF-8"))
}

fn json(file: &Path, words: &[&str]) -> serde_json::Value {
    let words = [words, &["--json"]].concat();
    match run(file, &words) {
        Ok(text) => serde_json::from_str(&text).expect("it is JSON"),
        Err(failure) => panic!("{}: {failure:?}", file.display()),
    }
}

/// What is said about input that does not fit.
fn complaint(file: &Path, words: &[&str]) -> String {
    match run(file, words) {
        Err(Failure::Input(text) | Failure::Usage(text)) => text,
        other => panic!("{words:?}: {other:?}"),
    }
}

fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// A TAU profile of four processes with two metrics. `work` of process p has the values given,
/// `idle` what is left of 20.
fn multi(name: &str, values: [[u32; 4]; 2]) -> PathBuf {
    let folder = scratch(name);
    for (metric, values) in ["TIME", "PAPI_FP_OPS"].iter().zip(values) {
        let folder = folder.join(format!("MULTI__{metric}"));
        std::fs::create_dir_all(&folder).expect("tests may write here");
        for (process, work) in values.iter().enumerate() {
            let text = format!(
                "2 templated_functions_MULTI_{metric}\n# Name Calls Subrs Excl Incl ProfileCalls #\n\
                 \"work\" 1 0 {work} {work} 0 GROUP=\"TAU_USER\"\n\
                 \"idle\" 1 0 {0} {0} 0 GROUP=\"TAU_USER\"\n0 aggregates\n",
                20 - work
            );
            let file = folder.join(format!("profile.{process}.0.0"));
            std::fs::write(file, text).expect("tests may write here");
        }
    }
    folder
}

#[test]
fn a_folder_of_several_metrics() {
    let folder = multi("multi", [[1, 2, 3, 4], [2, 4, 6, 8]]);
    let words = ["--metric", "TIME", "--path", "work", "--topology", "2x2"];
    let list = json(&folder, &words);
    assert_eq!(list["dims"], serde_json::json!([2, 2]));
    let view = |metric: &str, path: &str| {
        let views = list["views"].as_array().expect("a list");
        let found = views
            .iter()
            .find(|view| view["metric"] == metric && view["path"] == path);
        found.expect("it is a view of the profile")["r"].as_f64()
    };
    // Twice as much work is the same pattern, what is left its opposite.
    let near = |r: Option<f64>, expected: f64| (r.expect("a number") - expected).abs() < 1e-12;
    assert!(near(view("PAPI_FP_OPS", "work"), 1.0));
    assert!(near(view("TIME", "idle").map(f64::abs), 1.0));
}

#[test]
fn each_rule_has_its_errors() {
    let folder = multi("rules", [[1, 2, 3, 4], [4, 2, 3, 1]]);
    let table = scratch("table.txt");
    let with = |text: &str| {
        std::fs::write(&table, text).expect("tests may write here");
        format!("table:{}", table.display())
    };
    let rule = with("0 0\n(1,0)\n\nx=0 y=1\n1 1\n");
    let list = json(&folder, &["--path", "work", "--topology", &rule]);
    assert_eq!(list["dims"], serde_json::json!([2, 2]));
    let said = |topology: &str| complaint(&folder, &["--path", "work", "--topology", topology]);
    for (text, expected) in [
        ("0 0\nnowhere\n", "line 2: no coordinates"),
        ("0 0\n1\n", "line 2: 1 coordinates, 2 in the lines before"),
        ("0\n1\n2\n3\n4\n", "5 lines, but 4 locations"),
    ] {
        let said = said(&with(text));
        assert!(
            said.contains(expected) && said.contains("table.txt"),
            "{said}"
        );
    }
    assert!(said("table:/nowhere").contains("/nowhere"));
    assert!(said("cube:torus").contains("no grid `torus`"));
    assert!(said("rack").contains("rack"));
    assert!(said("4x0").contains("axis 1"));
    let said = complaint(&folder, &["--path", "wor"]);
    assert!(said.contains("but `work`"), "{said}");
    let said = complaint(&folder, &["--path", "work", "--metric", "JOULES"]);
    assert!(said.contains("PAPI_FP_OPS"), "{said}");
    let said = complaint(Path::new("/nowhere"), &["--path", "0"]);
    assert!(said.contains("/nowhere"), "{said}");
}

#[test]
fn a_trace_on_its_machine() {
    let list = json(
        &bundled("jacobi-16"),
        &["--path", "1", "--topology", "node,process,thread"],
    );
    assert_eq!(list["locations_unplaced"], 0);
    assert!(
        list["views"]
            .as_array()
            .is_some_and(|views| !views.is_empty())
    );
}

#[test]
fn profiles_of_others() {
    for (file, words, dims) in [
        ("tau/cpi-mpi4", &["--path", "0"][..], vec![2, 2, 1]),
        (
            "tau/ppk/LoadImbalance-8.ppk",
            &["--path", "3", "--topology", "2x2x2"],
            vec![2, 2, 2],
        ),
        (
            "cube/lulesh/lulesh.p343.size25.r1.cubex",
            &["--path", "1", "--metric", "time", "--topology", "7x7x7"],
            vec![7, 7, 7],
        ),
        (
            "cube/cube3/experiment1.cube",
            &["--path", "2"],
            vec![16, 4, 2],
        ),
    ] {
        let Some(path) = corpus(file) else { return };
        let list = json(&path, words);
        assert_eq!(list["dims"], serde_json::json!(dims), "{file}");
        assert_eq!(list["locations_unplaced"], 0, "{file}");
        let views = list["views"].as_array().expect("a list");
        let r: Vec<f64> = views.iter().filter_map(|view| view["r"].as_f64()).collect();
        assert!(r.len() > 1, "{file}");
        assert!(r.is_sorted_by(|a, b| a.abs() >= b.abs()), "{file}: {r:?}");
    }
}
