//! Crates with their features in the combinations that matter, and tests of features that are no defaults.

use super::{Gate, corpus, install};
use crate::{Outcome, cargo, execute, output_of, target_folder};

/// Pinned, so that a new release cannot turn the gate red.
const CARGO_HACK: &str = "0.6.46";

/// Crates with too many features for every combination, and how those are combined.
const MANY: &[(&str, &[&str])] = &[
    // Readers share code by twos and threes (`any(...)`): what nobody uses shows with one or two of them.
    ("perf-formats", &["--feature-powerset", "--depth", "2"]),
    // Each feature re-exports a crate and is one of theirs: no two meet.
    ("perfkit", &["--each-feature", "--exclude-all-features"]),
];

/// All features at once are in the step `clippy`.
pub(super) fn combinations(gate: &mut Gate) -> Outcome {
    install("cargo-hack", CARGO_HACK)?;
    for (name, how) in MANY {
        combine(how, &[name])?;
    }
    let libraries: Vec<&str> = gate.libraries.iter().map(String::as_str).collect();
    let programs = gate.programs.iter().map(String::as_str);
    let rest: Vec<&str> = libraries
        .iter()
        .copied()
        .chain(programs)
        .filter(|name| MANY.iter().all(|many| many.0 != *name))
        .collect();
    combine(&["--feature-powerset"], &rest)?;
    hack("check", &["--each-feature", "--tests"], &libraries, &[])
}

/// Clippy rather than check: an import that only one feature uses is a warning without it. Nothing of tests
/// is compiled here, so that their dependencies bring no feature.
fn combine(how: &[&str], packages: &[&str]) -> Outcome {
    hack("clippy", how, packages, &["--", "--deny", "warnings"])
}

/// Says what it did only where it fails: there are 200 combinations.
fn hack(check: &str, how: &[&str], packages: &[&str], last: &[&str]) -> Outcome {
    println!("   {check} {}: {}", packages.join(", "), how.join(" "));
    let mut command = cargo(&["hack", check, "--quiet", "--locked"]);
    command.args(how).args(["--exclude-features", "default"]);
    for name in packages {
        command.args(["--package", name]);
    }
    output_of(command.args(last)).map(drop)
}

/// Features that are no defaults, since they compile the C of SQLite, bring protobuf, or 50 crates of
/// another library that clusters, and the tests that need them. Built at once, so once.
const OPTIONAL: &[(&str, &[&str], &[&str])] = &[
    ("perf-core", &["serde"], &["serde"]),
    ("perf-formats", &["nsys", "perfetto"], &["nsys", "perfetto"]),
    ("perf-track", &["linfa"], &["cluster_linfa"]),
    ("perfkit", &["linfa", "nsys", "perfetto"], &["threads"]),
    ("perfkit-mutate", &["nsys"], &["limits"]),
];

/// The features of `perfkit` that are defaults, but `parallel`.
const SERIAL: &str =
    "otf2,paraver,cube,tau,streams,adios,chrome,rocprof,fold,topology,spectral,track,anomaly,view";

pub(super) fn optional(_: &mut Gate) -> Outcome {
    let mut command = cargo(&["test", "--quiet", "--locked"]);
    for (package, features, tests) in OPTIONAL {
        command.args(["--package", package]);
        for feature in *features {
            command.args(["--features", &format!("{package}/{feature}")]);
        }
        for test in *tests {
            command.args(["--test", test]);
        }
    }
    if let Some(folder) = corpus() {
        command.env("PERFKIT_CORPUS", folder);
    }
    execute(&mut command)?;
    without_threads()?;
    // So many ranks as only release can play in a minute.
    let arguments = ["test", "--quiet", "--locked", "--release", "--package"];
    execute(cargo(&arguments).args(["perf-live", "--test", "labels_many"]))
}

/// The same results with the feature `parallel` and without: the first program writes them, the other compares.
fn without_threads() -> Outcome {
    let file = target_folder()?.join("results.txt");
    // Those of an earlier run, if there was one.
    let _ = std::fs::remove_file(&file);
    let none = ["--no-default-features", "--features", SERIAL];
    for features in [&[][..], &none] {
        let arguments = ["test", "--quiet", "--locked", "--package", "perfkit"];
        let mut command = cargo(&arguments);
        command.args(features).args(["--test", "serial"]);
        execute(command.env("PERFKIT_RESULTS", &file))?;
    }
    match file.exists() {
        true => Ok(()),
        false => Err("no results were compared".into()),
    }
}
