//! Steps `features` and `optional`: check crates with single features, and test features that are not enabled by
//! default.

use super::{Gate, install};
use crate::{Outcome, cargo, execute, output_of, target_folder};
use std::path::PathBuf;

/// Pinned version, so that a new release cannot make the gate fail.
const CARGO_HACK: &str = "0.6.46";

/// Checks one crate at a time. A workspace build unifies features and would therefore hide a crate that
/// builds only with a feature that another crate enables.
///
/// Clippy is used instead of check, because it warns about an import that only one feature uses.
/// Tests are not compiled, so that their dependencies enable no features.
pub(super) fn combinations(gate: &mut Gate) -> Outcome {
    install("cargo-hack", CARGO_HACK)?;
    let mut command = cargo(&["hack", "clippy", "--quiet", "--locked", "--each-feature"]);
    command.args(["--exclude-features", "default"]);
    for name in gate.libraries.iter().chain(&gate.programs) {
        command.args(["--package", name]);
    }
    // The output is printed on failure only: there are 120 combinations.
    output_of(command.args(["--", "--deny", "warnings"])).map(drop)
}

/// Features of `perfkit` with which the step `test` computes results, without `parallel`. The list
/// contains `perfetto` because the command, another package of the workspace, enables it.
const SERIAL: &str = "otf2,paraver,cube,tau,streams,adios,chrome,rocprof,perfetto,fold,topology,spectral,track,\
                      anomaly,wait,view";

/// Returns the path of the file with the results that were computed with the feature `parallel`.
pub(super) fn results() -> Result<PathBuf, String> {
    Ok(target_folder()?.join("results.txt"))
}

pub(super) fn optional(gate: &mut Gate) -> Outcome {
    without_threads(gate)?;
    // The load generator of the parameter server, and the tests that need it.
    let arguments = ["test", "--quiet", "--locked", "--package", "perf-live"];
    execute(cargo(&arguments).args(["--features", "simulate", "--test", "all"]))?;
    // The number of ranks in this test needs a release build to finish within a minute.
    let arguments = ["test", "--quiet", "--locked", "--release", "--package"];
    execute(cargo(&arguments).args(["perf-live", "--test", "labels_many"]))
}

/// Checks that results are the same with and without the feature `parallel`. The program with the feature
/// writes the results, and the program without it compares them. If the step `test` has run, it has
/// already run the first program.
fn without_threads(gate: &Gate) -> Outcome {
    let file = results()?;
    let serial: &[&str] = &["--no-default-features", "--features", SERIAL];
    let parallel: &[&str] = &["--features", "perfetto"];
    let runs = match gate.tests {
        Some(_) => vec![serial],
        None => {
            // Remove the results of an earlier run.
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
    if file.exists() {
        Ok(())
    } else {
        Err("no results were compared".into())
    }
}
