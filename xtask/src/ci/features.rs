//! Steps `features` and `optional` of `cargo xtask ci`: check each crate alone with each of its
//! features, and compare results with and without threads.

use super::{Gate, TEST, at};
use crate::{Outcome, cargo, execute, output_of, target_folder};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// Checks one crate at a time. A workspace build unifies features and would therefore hide a crate that
/// builds only with a feature that another crate enables.
///
/// Clippy is used instead of check, because it warns about an import that only one feature uses.
/// Tests are not compiled, so that their dependencies enable no features.
///
/// The builds have a target folder of their own, so that they can run while other steps build. `stop` ends
/// the check after the current build.
pub(super) fn combinations(packages: &[String], stop: &AtomicBool) -> Outcome {
    let folder = target_folder()?.join("features");
    let mut count = 0;
    for package in dependencies_first(packages)? {
        for chosen in package.selections() {
            if stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let arguments = ["clippy", "--quiet", "--locked", "--package", &package.name];
            let mut command = cargo(&arguments);
            // The lints of a crate are those of its own builds. Its dependencies come before it, and clippy has seen
            // them with each of their features.
            command.args(&chosen).args(["--", "--no-deps"]);
            command.args(["--deny", "warnings"]);
            // The output is printed on failure only.
            output_of(command.env("CARGO_TARGET_DIR", &folder))?;
            count += 1;
        }
    }
    println!("   {count} builds of {} packages", packages.len());
    Ok(())
}

/// Package with the features that can be enabled one by one.
#[derive(Debug, Clone)]
struct Package {
    name: String,
    /// All features except `default`.
    features: Vec<String>,
    /// Dependencies within the workspace, without those of tests.
    below: Vec<String>,
}

impl Package {
    fn parse(package: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let features = package["features"].as_object().into_iter().flatten();
        let features = features.map(|(name, _)| name.clone());
        let listed = package["dependencies"].as_array().into_iter().flatten();
        let built = listed.filter(|it| it["kind"].is_null() && it["path"].is_string());
        Self {
            name: text(&package["name"]),
            features: features.filter(|name| name != "default").collect(),
            below: built.map(|it| text(&it["name"])).collect(),
        }
    }

    /// Returns the arguments of each build: no feature, each feature alone. The step `clippy` checks all features together.
    fn selections(&self) -> Vec<Vec<String>> {
        let none = || vec!["--no-default-features".to_owned()];
        let one = |name: &String| [none(), vec!["--features".to_owned(), name.clone()]].concat();
        let mut selections = vec![none()];
        selections.extend(self.features.iter().map(one));
        selections
    }
}

/// Returns the named packages, each after the packages that it depends on.
fn dependencies_first(names: &[String]) -> Result<Vec<Package>, String> {
    let arguments = ["metadata", "--format-version=1", "--no-deps", "--locked"];
    let metadata: Value = serde_json::from_str(&output_of(&mut cargo(&arguments))?)
        .map_err(|error| format!("cargo metadata is not JSON: {error}"))?;
    let listed = metadata["packages"].as_array().into_iter().flatten();
    let packages = listed.map(Package::parse);
    let packages = packages.filter(|package| names.contains(&package.name));
    let mut open: BTreeMap<String, Package> = packages
        .map(|package| (package.name.clone(), package))
        .collect();
    if open.len() != names.len() {
        return Err(format!("cargo metadata does not list all of {names:?}"));
    }
    let mut sorted = Vec::new();
    // Cargo refuses cycles, so that a package without open dependencies is always left.
    while let Some(next) = open
        .values()
        .find(|package| package.below.iter().all(|name| !open.contains_key(name)))
        .cloned()
    {
        open.remove(&next.name);
        sorted.push(next);
    }
    Ok(sorted)
}

/// Features of `perfkit` with which the step `test` computes results, without `parallel`. The list
/// contains `perfetto` because the command, another package of the workspace, enables it.
const SERIAL: &str = "formats,perfetto,analyses";

/// Returns the path of the file with the results that were computed with the feature `parallel`.
pub(super) fn results() -> Result<PathBuf, String> {
    Ok(target_folder()?.join("results.txt"))
}

/// Returns the arguments that select `perfkit` without threads, and `perf-mpi` if it can be built. Both steps that
/// build without threads use this selection, because cargo unifies the features of all selected packages, and
/// equal features are compiled once.
pub(crate) fn serial(with_mpi: bool) -> Vec<String> {
    let features: Vec<String> = SERIAL
        .split(',')
        .map(|it| format!("perfkit/{it}"))
        .collect();
    let features = features.join(",");
    let mut arguments = vec!["--package", "perfkit", "--no-default-features"];
    arguments.extend(["--features", &features]);
    if with_mpi {
        arguments.extend(["--package", "perf-mpi"]);
    }
    arguments.into_iter().map(String::from).collect()
}

/// Checks that results are the same with and without the feature `parallel`. The program with the feature
/// writes the results, and the program without it compares them. If the step `test` has run, it has
/// already run the first program.
pub(super) fn optional(gate: &mut Gate) -> Outcome {
    let file = results()?;
    let compute = |features: &[String]| {
        let mut command = cargo(&["test", "--quiet", "--locked"]);
        command.args(features).args(["--test", "all", "serial::"]);
        execute(command.env("PERFKIT_RESULTS", &file))
    };
    if gate.tests.is_none() {
        // Remove the results of an earlier run.
        if file.exists() {
            std::fs::remove_file(&file).map_err(|error| at(&file, &error))?;
        }
        let parallel = ["--package", "perfkit", "--features", "perfetto"];
        compute(&parallel.map(String::from))?;
    }
    compute(&serial(crate::mpi::is_possible()))?;
    if !file.exists() {
        return Err("no results were compared".into());
    }
    // A test of many ranks, with the libraries of the step `test`.
    execute(cargo(&TEST).args(["--quiet", "--test", "labels_many"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_come_after_their_dependencies() {
        let names = ["perfkit", "perf-fold", "perf-core", "perf-view"].map(String::from);
        let sorted = dependencies_first(&names).expect("cargo lists them");
        let sorted: Vec<&str> = sorted.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(sorted, ["perf-core", "perf-fold", "perf-view", "perfkit"]);
        assert!(dependencies_first(&["no-such-crate".into()]).is_err());
    }

    #[test]
    fn each_feature_is_enabled_alone() {
        let package = |features: &[&str]| Package {
            name: "one".into(),
            features: features.iter().copied().map(String::from).collect(),
            below: Vec::new(),
        };
        let words = |features: &[&str]| {
            let selections = package(features).selections();
            let joined = selections.iter().map(|words| words.join(" "));
            joined.collect::<Vec<_>>()
        };
        assert_eq!(words(&[]), ["--no-default-features"]);
        let alone = |name| format!("--no-default-features --features {name}");
        assert_eq!(words(&["a"]), ["--no-default-features", &alone("a")]);
        let both = ["--no-default-features", &alone("a"), &alone("b")];
        assert_eq!(words(&["a", "b"]), both);
    }
}
