//! Steps `features` and `optional` of `cargo xtask ci`: check each crate alone with each of its
//! features, and compare results with and without threads.

use super::{Gate, TEST, at, contents, libraries};
use crate::{Outcome, cargo, execute, output_of, target_folder};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// Checks one crate at a time. A workspace build unifies features and would therefore hide a crate that
/// builds only with a feature that another crate enables.
///
/// The compiler warns about an import that only one feature uses. Clippy, which takes 1.4 times as long, checks each
/// crate without features here and with all features in the step `clippy`: code for one feature is in the latter, code
/// for its absence in the former. Tests are not compiled, so that their dependencies enable no features.
///
/// The builds have a target folder of their own, so that they can run while other steps build. `stop` ends
/// the check after the current build.
pub(super) fn combinations(packages: &[String], stop: &AtomicBool) -> Outcome {
    let folder = target_folder()?.join("features");
    let mut count = 0;
    for package in dependencies_first(packages)? {
        for (index, chosen) in package.selections().iter().enumerate() {
            if stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let is_without_features = index == 0;
            let tool = if is_without_features {
                "clippy"
            } else {
                "check"
            };
            let mut command = cargo(&[tool, "--quiet", "--locked", "--package", &package.name]);
            command.args(chosen);
            if is_without_features {
                // The lints of a crate are those of its own builds. Its dependencies come before it.
                command.args(["--", "--no-deps"]);
            }
            command.env("RUSTFLAGS", "--deny warnings");
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
    /// Features that the sources of the package name. Each is checked alone.
    own: Vec<String>,
    /// Other features except `default`. They only enable features of dependencies, which are checked there, so that
    /// the package compiles with all of them if it compiles at all. They are checked together.
    passed_on: Vec<String>,
    /// Dependencies within the workspace, without those of tests.
    below: Vec<String>,
}

impl Package {
    fn parse(package: &Value) -> Result<Self, String> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let features = package["features"].as_object().into_iter().flatten();
        let features = features.map(|(name, _)| name.clone());
        let folder = PathBuf::from(text(&package["manifest_path"])).with_file_name("src");
        // A package of examples alone has no such folder.
        let sources = if folder.is_dir() {
            contents(&folder)?
        } else {
            BTreeMap::new()
        };
        let sources: Vec<_> = sources
            .values()
            .map(|bytes| String::from_utf8_lossy(bytes))
            .collect();
        let is_named = |name: &String| {
            let condition = format!("feature = \"{name}\"");
            sources.iter().any(|text| text.contains(&condition))
        };
        let features = features.filter(|name| name != "default");
        let (own, passed_on) = features.partition(is_named);
        let listed = package["dependencies"].as_array().into_iter().flatten();
        let built = listed.filter(|it| it["kind"].is_null() && it["path"].is_string());
        Ok(Self {
            name: text(&package["name"]),
            own,
            passed_on,
            below: built.map(|it| text(&it["name"])).collect(),
        })
    }

    /// Returns the arguments of each build: no feature, each feature of its own, and those that are passed on. The step
    /// `clippy` checks all features together.
    fn selections(&self) -> Vec<Vec<String>> {
        let none = || vec!["--no-default-features".to_owned()];
        let with = |names: String| [none(), vec!["--features".to_owned(), names]].concat();
        let mut selections = vec![none()];
        selections.extend(self.own.iter().cloned().map(with));
        if !self.passed_on.is_empty() {
            selections.push(with(self.passed_on.join(",")));
        }
        selections
    }
}

/// Returns the named packages, each after the packages that it depends on.
fn dependencies_first(names: &[String]) -> Result<Vec<Package>, String> {
    let arguments = ["metadata", "--format-version=1", "--no-deps", "--locked"];
    let metadata: Value = serde_json::from_str(&output_of(&mut cargo(&arguments))?)
        .map_err(|error| format!("cargo metadata is not JSON: {error}"))?;
    let listed = metadata["packages"].as_array().into_iter().flatten();
    let is_wanted = |it: &&Value| {
        it["name"]
            .as_str()
            .is_some_and(|it| names.iter().any(|name| name == it))
    };
    let packages = listed.filter(is_wanted).map(Package::parse);
    let mut open: BTreeMap<String, Package> = packages
        .map(|package| package.map(|package| (package.name.clone(), package)))
        .collect::<Result<_, _>>()?;
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
///
/// The libraries are not optimised: they compile in 71 instead of 270 CPU seconds, and the tests take 15 CPU seconds
/// longer.
pub(crate) fn serial(with_mpi: bool) -> Result<Vec<String>, String> {
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
    let mut arguments: Vec<String> = arguments.into_iter().map(String::from).collect();
    for library in libraries()?.0 {
        let setting = format!("profile.dev.package.{library}.opt-level=0");
        arguments.extend(["--config".to_owned(), setting]);
    }
    Ok(arguments)
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
    compute(&serial(crate::mpi::is_possible())?)?;
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
    fn features_with_code_are_enabled_alone_and_others_together() {
        let words = |own: &[&str], passed_on: &[&str]| {
            let names = |list: &[&str]| list.iter().copied().map(String::from).collect();
            let package = Package {
                name: "one".into(),
                own: names(own),
                passed_on: names(passed_on),
                below: Vec::new(),
            };
            let selections = package.selections();
            let joined = selections.iter().map(|words| words.join(" "));
            joined.collect::<Vec<_>>()
        };
        let none = "--no-default-features";
        let with = |names| format!("{none} --features {names}");
        assert_eq!(words(&[], &[]), [none]);
        assert_eq!(words(&["a", "b"], &[]), [none, &with("a"), &with("b")]);
        assert_eq!(words(&["a"], &["c", "d"]), [none, &with("a"), &with("c,d")]);
    }

    #[test]
    fn the_sources_tell_which_features_have_code() {
        let sorted = dependencies_first(&["perf-formats".into()]).expect("cargo lists it");
        assert!(sorted[0].own.contains(&"otf2".into()));
        assert_eq!(sorted[0].passed_on, ["parallel"]);
    }
}
