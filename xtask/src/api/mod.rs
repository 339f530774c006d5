//! `cargo xtask api`: writes the public items of each crate to `docs/api`, and checks that they are
//! unchanged, so that changes of the API show in reviews.
//!
//! rustdoc can list public items as JSON, but the format is unstable. `RUSTC_BOOTSTRAP` is
//! therefore set for rustdoc alone; the dependencies are compiled without it. cargo-public-api
//! turns the JSON into lines, and [`tidy`] keeps the lines of interest to readers. All features are
//! enabled.

mod tidy;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::ci::{at, install, libraries};
use crate::{Outcome, cargo, execute, output_of, root, target_folder};

/// Pinned version, because each version reads one format of rustdoc.
pub(crate) const CARGO_PUBLIC_API: &str = "0.52.0";

/// Rust version whose rustdoc writes that format, number 57.
const RUST: &str = "1.95";

/// Types that are not thread-safe, with the reason. All others are `Send`, `Sync` and `Unpin`, as
/// far as their type parameters are.
const TIED: &[(&str, &str)] = &[
    ("perf_anomaly::Monitor", "has a detector and a store"),
    ("perf_anomaly::Report", "has a detector and a store"),
    ("perf_anomaly::Unfinished", "has a report"),
    (
        "perf_anomaly::lost_time::Found",
        "borrows functions, which need not be shared",
    ),
    ("perf_anomaly::provenance::Recorder", "has a store"),
    (
        "perf_anomaly::provenance::Sqlite",
        "has a connection to a database",
    ),
    ("perf_anomaly::spans::Spans", "has a monitor"),
    (
        "perf_formats::otf2::Writer",
        "borrows a sink, which may be anything",
    ),
    (
        "perf_formats::paraver::Reader",
        "has a source, which need not be shared",
    ),
    (
        "perf_formats::streams::Streams",
        "has sources, which need not be shared",
    ),
    ("perf_live::client::Kept", "has a store"),
    (
        "perf_mpi::Lockstep",
        "speaks MPI, on the thread that began it",
    ),
    (
        "perf_mpi::Polled",
        "speaks MPI, on the thread that began it",
    ),
    ("perf_mpi::Ranks", "speaks MPI, on the thread that began it"),
];

/// Returns `true` if the installed rustdoc writes the format that cargo-public-api reads.
fn is_possible() -> Result<bool, String> {
    let version = output_of(Command::new("rustdoc").arg("--version"))?;
    Ok(version.starts_with(&format!("rustdoc {RUST}.")))
}

/// Writes the public items of all crates, except for crates with a missing system library.
pub(crate) fn run(_: &[String]) -> Outcome {
    let folder = folder();
    std::fs::create_dir_all(&folder).map_err(|error| at(&folder, &error))?;
    for (name, text) in listings()? {
        let path = folder.join(format!("{name}.txt"));
        std::fs::write(&path, text).map_err(|error| at(&path, &error))?;
    }
    Ok(())
}

/// Compares the public items of the crates with the files in `docs/api`.
pub(crate) fn check() -> Outcome {
    // The gate must also pass with other Rust versions. Skipping the check is safe, because the list
    // of items does not depend on the version.
    if !is_possible()? {
        println!(
            "   left out: cargo-public-api {CARGO_PUBLIC_API} reads what rustdoc {RUST} writes"
        );
        return Ok(());
    }
    let mut changed = Vec::new();
    for (name, text) in listings()? {
        let path = folder().join(format!("{name}.txt"));
        let known = std::fs::read_to_string(&path).unwrap_or_default();
        let items = text.lines().filter(|line| !line.is_empty()).count();
        println!("   {name}: {items} lines");
        if known != text {
            print_difference(&known, &text);
            changed.push(name);
        }
    }
    if changed.is_empty() {
        return Ok(());
    }
    let changed = changed.join(", ");
    Err(format!(
        "what these offer is not what docs/api has: {changed}; if it is meant to change, `cargo xtask api` \
         writes it down"
    ))
}

fn folder() -> PathBuf {
    root().join("docs/api")
}

/// Prints the lines that only one of two texts has. Lines of the old text come first.
fn print_difference(old: &str, new: &str) {
    let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
    for line in old.lines() {
        *counts.entry(line).or_default() -= 1;
    }
    for line in new.lines() {
        *counts.entry(line).or_default() += 1;
    }
    for (sign, way) in [('-', -1), ('+', 1)] {
        let of_one = counts.iter().filter(|(_, count)| count.signum() == way);
        for (line, _) in of_one.filter(|(line, _)| !line.is_empty()) {
            println!("   {sign} {line}");
        }
    }
}

/// Packages that are only used within this workspace.
const INTERNAL: [&str; 2] = ["perf-testdata", "perfkit-cli"];

/// Returns the name and the public items of each published library.
fn listings() -> Result<Vec<(String, String)>, String> {
    install("cargo-public-api", CARGO_PUBLIC_API)?;
    let (libraries, left_out) = libraries()?;
    let published = libraries
        .into_iter()
        .filter(|name| !INTERNAL.contains(&name.as_str()));
    // The packages and features of the step `docs`, which has already checked the dependencies.
    let mut command = cargo(&["doc", "--quiet", "--locked", "--no-deps", "--lib"]);
    command.args(["--workspace", "--all-features"]);
    for name in &left_out {
        command.args(["--exclude", name]);
    }
    command.env("RUSTDOC", rustdoc()?);
    command.env("RUSTDOCFLAGS", "-Z unstable-options --output-format json");
    execute(&mut command)?;
    let list = |name: String| listing(&name).map(|text| (name, text));
    published.map(list).collect()
}

/// Returns a rustdoc that accepts unstable options. Setting the variable for all of cargo would
/// recompile everything.
fn rustdoc() -> Result<PathBuf, String> {
    let folder = target_folder()?.join("api");
    std::fs::create_dir_all(&folder).map_err(|error| at(&folder, &error))?;
    let path = folder.join("rustdoc");
    let script = "#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc \"$@\"\n";
    std::fs::write(&path, script).map_err(|error| at(&path, &error))?;
    make_executable(&path)?;
    Ok(path)
}

#[cfg(unix)]
fn make_executable(path: &Path) -> Outcome {
    use std::os::unix::fs::PermissionsExt;
    let permissions = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(path, permissions).map_err(|error| at(path, &error))
}

#[cfg(not(unix))]
fn make_executable(path: &Path) -> Outcome {
    Err(format!("{}: only Unix runs this script", path.display()))
}

/// Returns the public items of a crate from the output of rustdoc.
fn listing(name: &str) -> Result<String, String> {
    let path = target_folder()?.join(format!("doc/{}.json", name.replace('-', "_")));
    let mut command = cargo(&["public-api", "--omit", "blanket-impls", "--rustdoc-json"]);
    let lines = output_of(command.arg(&path))?;
    let listing = tidy::tidy(&name.replace('-', "_"), &lines);
    let known = |of: &&String| TIED.iter().any(|(name, _)| name == of);
    match listing.tied.iter().find(|of| !known(of)) {
        Some(of) => Err(format!("{of} is not Send, not Sync or not Unpin: see TIED")),
        None => Ok(listing.text),
    }
}
