//! Crates with their features in the combinations that matter, and tests of features that are no defaults.

use super::{Gate, install};
use crate::{Outcome, cargo, execute, output_of, target_folder};
use std::path::PathBuf;

/// Pinned, so that a new release cannot turn the gate red.
const CARGO_HACK: &str = "0.6.46";

/// Each feature of this crate re-exports another crate and is one of that crate: no two meet.
const UMBRELLA: &str = "perfkit";

/// All features at once are in the step `clippy`.
pub(super) fn combinations(gate: &mut Gate) -> Outcome {
    install("cargo-hack", CARGO_HACK)?;
    combine(&["--each-feature", "--exclude-all-features"], &[UMBRELLA])?;
    let libraries: Vec<&str> = gate.libraries.iter().map(String::as_str).collect();
    let programs = gate.programs.iter().map(String::as_str);
    let all = libraries.iter().copied().chain(programs);
    let rest: Vec<&str> = all.filter(|name| *name != UMBRELLA).collect();
    // What no two features use shows with one or two of them.
    combine(&["--feature-powerset", "--depth", "2"], &rest)?;
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

/// The features of `perfkit` with which the step `test` computes results, without `parallel`. The command, another
/// package of the workspace, enables `perfetto`.
const SERIAL: &str = "otf2,paraver,cube,tau,streams,adios,chrome,rocprof,perfetto,fold,topology,spectral,track,\
                      anomaly,view";

/// The file with results of the feature `parallel`.
pub(super) fn results() -> Result<PathBuf, String> {
    Ok(target_folder()?.join("results.txt"))
}

pub(super) fn optional(gate: &mut Gate) -> Outcome {
    without_threads(gate)?;
    // So many ranks as only release can play in a minute.
    let arguments = ["test", "--quiet", "--locked", "--release", "--package"];
    execute(cargo(&arguments).args(["perf-live", "--test", "labels_many"]))
}

/// The same results with the feature `parallel` and without: the first program writes them, the other compares. The
/// step `test` has run the first one.
fn without_threads(gate: &Gate) -> Outcome {
    let file = results()?;
    let serial: &[&str] = &["--no-default-features", "--features", SERIAL];
    let parallel: &[&str] = &["--features", "perfetto"];
    let runs = match gate.tests {
        Some(_) => vec![serial],
        None => {
            // Those of an earlier run, if there was one.
            let _ = std::fs::remove_file(&file);
            vec![parallel, serial]
        }
    };
    for features in runs {
        let arguments = ["test", "--quiet", "--locked", "--package", "perfkit"];
        let mut command = cargo(&arguments);
        command.args(features).args(["--test", "all", "serial::"]);
        execute(command.env("PERFKIT_RESULTS", &file))?;
    }
    match file.exists() {
        true => Ok(()),
        false => Err("no results were compared".into()),
    }
}
