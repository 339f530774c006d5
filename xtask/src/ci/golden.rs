//! Golden files: `cargo xtask golden` writes them, and the step `golden` checks that writing changes nothing.

use super::{Gate, TEST, contents, run_tests};
use crate::{Outcome, cargo, execute, root};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

/// Name of the test modules that compare with golden files, in the tests of the command, the examples and `perf-view`.
const GOLDEN: &str = "golden::";

/// Folders that contain golden files.
const FOLDERS: [&str; 4] = [
    "docs",
    "examples",
    "crates/perfkit-cli/tests",
    "crates/perf-view/tests",
];

/// Golden files and their neighbours, by path.
pub(super) type Files = BTreeMap<PathBuf, Vec<u8>>;

/// Returns the content of all folders with golden files.
pub(super) fn files() -> Result<Files, String> {
    let mut all = Files::new();
    for folder in FOLDERS {
        all.extend(contents(&root().join(folder))?);
    }
    Ok(all)
}

/// Checks that writing golden files changes nothing. The step `test` has already run the golden tests in writing mode,
/// and has kept the files of before.
pub(super) fn unchanged(gate: &mut Gate) -> Outcome {
    let before = match gate.golden.take() {
        Some(files) => files,
        None => {
            let files = files()?;
            write(&[])?;
            files
        }
    };
    let after = files()?;
    let mut paths: Vec<&PathBuf> = before.keys().chain(after.keys()).collect();
    paths.sort();
    paths.dedup();
    paths.retain(|path| before.get(*path) != after.get(*path));
    if paths.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = paths.iter().map(|path| path.to_string_lossy()).collect();
    let changed = names.join(", ");
    Err(format!("these were stale and are now rewritten: {changed}"))
}

/// Lets the golden tests of a test command write their files.
pub(super) fn writing(command: &mut Command) -> &mut Command {
    command.env("PERFKIT_GOLDEN", "overwrite")
}

/// `cargo xtask golden`: runs the golden tests in writing mode. The tests of the whole workspace are selected, so that
/// the programs compiled by the step `test` are used again.
pub(crate) fn write(arguments: &[String]) -> Outcome {
    // The cookbook shows the output of the examples, which `cargo test --test` does not build.
    let packages = &TEST[1..];
    execute(cargo(&["build", "--quiet", "--examples"]).args(packages))?;
    let mut command = cargo(&TEST);
    command.args(["--quiet", "--test", "all"]).args(arguments);
    let count = run_tests(writing(command.arg(GOLDEN)))?;
    if count.passed == 0 {
        return Err("no test with golden files ran, so nothing was written".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ci::folders_of;

    /// Checks that the filter of `cargo xtask golden` selects exactly the modules that can write
    /// golden files.
    #[test]
    fn modules_with_golden_files_have_their_name() {
        let mut count = 0;
        let names = folders_of(&root().join("crates")).expect("it can be read");
        let crates = names.iter().map(|name| format!("crates/{name}"));
        for package in crates.chain(["examples".into()]) {
            let folder = root().join(package).join("tests/all");
            for entry in std::fs::read_dir(folder).into_iter().flatten() {
                let path = entry.expect("it can be read").path();
                let Ok(text) = std::fs::read_to_string(&path) else {
                    continue;
                };
                let stem = path.file_stem().unwrap_or_default().to_string_lossy();
                let is_run = format!("{stem}::").ends_with(GOLDEN);
                assert_eq!(
                    (text.contains("PERFKIT_GOLDEN") || text.contains("golden::")),
                    is_run,
                    "{path:?}"
                );
                count += usize::from(is_run);
            }
        }
        assert!(count >= 4);
    }
}
