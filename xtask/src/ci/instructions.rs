//! Step `instructions`: counts the instructions of hot paths, if their sources changed since the last count.

use super::tools::{install, locked_version};
use super::{Gate, at};
use crate::{Outcome, cargo, execute, is_installed, output_of, root};
use std::path::PathBuf;
use std::process::Command;

/// File with the sources and the compiler of the last count within all limits.
const COUNTED: &str = "benches/counted.txt";

/// First line of that file.
const HEAD: &str = "Sources and compiler of the last instruction counts within all limits, written by `cargo xtask ci \
                    instructions`:\nGit's name of each content, and its path. Equal sources need no further count.";

/// Parts of a crate that are not compiled into its library.
const NOT_COMPILED: [&str; 5] = ["LICENSE", "README.md", "examples", "templates", "tests"];

/// Inputs of the counts and of their build that are not in the folder of a crate: versions of dependencies, profiles,
/// the counts themselves, and the recordings that they read.
const OTHERS: [&str; 7] = [
    ".cargo",
    "Cargo.lock",
    "Cargo.toml",
    "benches/Cargo.toml",
    "benches/benches/instructions",
    "benches/src",
    "data/recordings/jacobi-64",
];

/// Features of the counts. Without `parallel`, because the work of a second thread is not counted reliably.
const PACKAGE: [&str; 3] = ["--package", "perfkit-benches", "--no-default-features"];

/// Counts the instructions of hot paths. The limits are absolute, because a fresh clone has no earlier
/// run to compare with. Nothing is counted if sources and compiler are those of the last count.
pub(super) fn count(_: &mut Gate) -> Outcome {
    let path = root().join(COUNTED);
    let now = sources()?;
    let before = std::fs::read_to_string(&path).unwrap_or_default();
    if now.as_ref() == Some(&before) {
        println!("   no source of the counts changed since the last count ({COUNTED})");
        return Ok(());
    }
    if !is_installed("valgrind") {
        return Err("instruction counts need valgrind: install the package valgrind".into());
    }
    let runner = runner()?;
    let arguments = ["bench", "--quiet", "--locked", "--bench", "instructions"];
    let mut command = cargo(&arguments);
    execute(command.args(PACKAGE).env("GUNGRAUN_RUNNER", runner))?;
    match now {
        Some(text) => std::fs::write(&path, text).map_err(|error| at(&path, &error)),
        None => Ok(()),
    }
}

/// Installs the runner. Library and runner use a private protocol, so their versions must be equal.
fn runner() -> Result<PathBuf, String> {
    install("gungraun-runner", &locked_version("gungraun-runner")?)
}

/// Returns the text of [`COUNTED`] for the sources of this working copy. `None` if their content is unknown: without
/// a repository, or with sources that are not committed.
fn sources() -> Result<Option<String>, String> {
    let mut paths: Vec<String> = OTHERS.map(String::from).into();
    for folder in crates()? {
        let listing = std::fs::read_dir(root().join(&folder));
        for entry in listing.map_err(|error| at(&root().join(&folder), &error))? {
            let name = entry.map_err(|error| at(&root().join(&folder), &error))?;
            let name = name.file_name().to_string_lossy().into_owned();
            if !NOT_COMPILED.contains(&name.as_str()) {
                paths.push(format!("{folder}/{name}"));
            }
        }
    }
    paths.sort();
    paths.dedup();
    let git = |words: &[&str]| {
        let mut command = Command::new("git");
        output_of(
            command
                .args(words)
                .arg("--")
                .args(&paths)
                .current_dir(root()),
        )
    };
    // An error of git means that this is no working copy of a repository.
    let Ok(changed) = git(&["status", "--porcelain"]) else {
        return Ok(None);
    };
    let listed = git(&["ls-tree", "HEAD"])?;
    if !changed.is_empty() || listed.lines().count() != paths.len() {
        return Ok(None);
    }
    let compiler = output_of(Command::new("rustc").arg("--version"))?;
    let mut text = format!("{HEAD}\n\n{compiler}");
    for line in listed.lines() {
        // Mode, kind and name of the content, then the path after a tab.
        let (content, path) = line.split_once('\t').ok_or("git ls-tree lists no path")?;
        let name = content.split(' ').next_back().unwrap_or_default();
        text.push_str(&format!("{name} {path}\n"));
    }
    Ok(Some(text))
}

/// Returns the folders of the crates that the counts are built from.
fn crates() -> Result<Vec<String>, String> {
    let arguments = ["tree", "--locked", "--prefix=none", "--format={p}"];
    let edges = ["--edges", "normal,build"];
    let text = output_of(cargo(&arguments).args(edges).args(PACKAGE))?;
    let below = format!("({}/", root().display());
    // A line is `perf-core v0.1.0 (/path/of/the/working/copy/crates/perf-core)`, and a repeated one ends with ` (*)`.
    let folder = |line: &str| {
        let (folder, _) = line.split_once(&below)?.1.split_once(')')?;
        folder.starts_with("crates/").then(|| folder.to_owned())
    };
    let mut folders: Vec<String> = text.lines().filter_map(folder).collect();
    folders.sort();
    folders.dedup();
    if folders.is_empty() {
        return Err("cargo tree lists no crate of the counts".into());
    }
    Ok(folders)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_depend_on_the_crates_that_they_run() {
        let crates = crates().expect("cargo lists them");
        for name in [
            "core", "formats", "fold", "spectral", "track", "anomaly", "wait",
        ] {
            assert!(
                crates.contains(&format!("crates/perf-{name}")),
                "{crates:?}"
            );
        }
        assert!(!crates.contains(&"crates/perfkit-cli".to_owned()));
    }
}
