//! Crates with their features in the combinations that matter, and tests of features that are no defaults.

use super::{Gate, install};
use crate::{Outcome, cargo, execute, output_of, target_folder};
use std::path::PathBuf;

/// Pinned, so that a new release cannot turn the gate red.
const CARGO_HACK: &str = "0.6.46";

/// One crate at a time: a workspace build unifies features, and so hides a crate that only builds with what another one
/// switched on. Clippy rather than check: an import that only one feature uses is a warning without it. Nothing of tests
/// is compiled here, so that their dependencies bring no feature.
pub(super) fn combinations(gate: &mut Gate) -> Outcome {
    install("cargo-hack", CARGO_HACK)?;
    let mut command = cargo(&["hack", "clippy", "--quiet", "--locked", "--each-feature"]);
    command.args(["--exclude-features", "default"]);
    for name in gate.libraries.iter().chain(&gate.programs) {
        command.args(["--package", name]);
    }
    // It describes its work only where it fails: there are 120 combinations.
    output_of(command.args(["--", "--deny", "warnings"])).map(drop)
}

/// The features of `perfkit` with which the step `test` computes results, without `parallel`. The command, another
/// package of the workspace, enables `perfetto`.
const SERIAL: &str = "otf2,paraver,cube,tau,streams,adios,chrome,rocprof,perfetto,fold,topology,spectral,track,\
                      anomaly,wait,view";

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
