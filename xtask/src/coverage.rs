//! `cargo xtask coverage`: measures the lines that the tests run, as the table in `docs/coverage.md`.
//!
//! The tests are those of `cargo test`, recompiled with counters in a separate folder below `target`.
//! Documentation tests are not counted, because compiling them with counters is unstable.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::ci::install;
use crate::{Outcome, cargo, is_installed, output_of, root};

/// Pinned version, as for the tools of the gate.
const CARGO_LLVM_COV: &str = "0.9.1";

/// LLVM programs to use if rustup provides none: the oldest version in Debian that reads the
/// counters of the compiler.
const LLVM: [(&str, &str); 2] = [
    ("LLVM_COV", "llvm-cov-19"),
    ("LLVM_PROFDATA", "llvm-profdata-19"),
];

/// Numbers of executable and executed lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Lines {
    /// Number of executable lines.
    all: u64,
    run: u64,
}

impl Lines {
    fn add(&mut self, other: Self) {
        self.all += other.all;
        self.run += other.run;
    }

    fn missed(self) -> u64 {
        self.all.saturating_sub(self.run)
    }

    fn percent(self) -> f64 {
        100.0 * self.run as f64 / self.all.max(1) as f64
    }
}

/// Runs the tests and prints a table of crates. With `--missed`, prints a table of files in descending
/// order of missed lines. Other arguments are passed to `cargo llvm-cov`, such as `--no-clean` or
/// `--package perf-core`.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    install("cargo-llvm-cov", CARGO_LLVM_COV)?;
    let of_files = arguments.iter().any(|it| it == "--missed");
    let others: Vec<&String> = arguments.iter().filter(|it| *it != "--missed").collect();
    let mut command = cargo(&[
        "llvm-cov",
        "--quiet",
        "--locked",
        "--json",
        "--summary-only",
    ]);
    if !others.iter().any(|it| *it == "--package" || *it == "-p") {
        // perf-mpi is excluded because mpirun starts its tests.
        command.args(["--workspace", "--exclude", "perf-mpi"]);
    }
    for (variable, program) in LLVM {
        if std::env::var_os(variable).is_none() && is_installed(program) {
            command.env(variable, program);
        }
    }
    let text = output_of(command.args(others))?;
    // The output of the tests precedes the JSON.
    let start = text
        .find("{\"data\":")
        .ok_or("cargo llvm-cov printed no JSON")?;
    let found: Value =
        serde_json::from_str(&text[start..]).map_err(|error| format!("llvm-cov: {error}"))?;
    let files = files(&found, &root());
    print_table(if of_files {
        by_missed(files)
    } else {
        by_crate(&files)
    });
    Ok(())
}

/// Returns the lines of each source file of a library, by its path in the workspace.
fn files(found: &Value, root: &Path) -> Vec<(String, Lines)> {
    let files = found["data"][0]["files"].as_array();
    let file = |file: &Value| {
        let path = Path::new(file["filename"].as_str()?);
        let path = path.strip_prefix(root).ok()?.to_str()?.to_string();
        let lines = &file["summary"]["lines"];
        let (all, run) = (lines["count"].as_u64()?, lines["covered"].as_u64()?);
        let is_counted = path.starts_with("crates/") && path.contains("/src/");
        is_counted.then_some((path, Lines { all, run }))
    };
    files.into_iter().flatten().filter_map(file).collect()
}

/// Sums the lines by crate, followed by a row for all crates.
fn by_crate(files: &[(String, Lines)]) -> Vec<(String, Lines)> {
    let mut crates: BTreeMap<&str, Lines> = BTreeMap::new();
    let mut all = Lines::default();
    for (path, lines) in files {
        let name = path.split('/').nth(1).unwrap_or_default();
        crates.entry(name).or_default().add(*lines);
        all.add(*lines);
    }
    let row = |(name, lines): (&str, Lines)| (format!("`{name}`"), lines);
    let mut rows: Vec<_> = crates.into_iter().map(row).collect();
    rows.push(("all".into(), all));
    rows
}

/// Returns the files with missed lines, most missed lines first.
fn by_missed(mut files: Vec<(String, Lines)>) -> Vec<(String, Lines)> {
    files.retain(|(_, lines)| lines.missed() > 0);
    files.sort_by_key(|(_, lines)| std::cmp::Reverse(lines.missed()));
    files
}

fn print_table(rows: Vec<(String, Lines)>) {
    println!("| | lines | not run | run |\n|---|---|---|---|");
    for (name, lines) in rows {
        let (all, missed, percent) = (lines.all, lines.missed(), lines.percent());
        println!("| {name} | {all} | {missed} | {percent:.1} % |");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_added_by_crate() {
        let file = |name: &str, count: u64, covered: u64| serde_json::json!({"filename": name, "summary": {"lines": {"count": count, "covered": covered}}});
        let found = serde_json::json!({"data": [{"files": [
            file("/w/crates/perf-core/src/a.rs", 10, 10),
            file("/w/crates/perf-core/src/b/c.rs", 30, 20),
            file("/w/crates/perf-fold/src/lib.rs", 5, 4),
            file("/w/crates/perf-fold/tests/laws.rs", 5, 4),
            file("/elsewhere/crates/x/src/lib.rs", 5, 4),
        ]}]});
        let files = files(&found, Path::new("/w"));
        let rows = by_crate(&files);
        let row = |name: &str, all, run| (name.to_string(), Lines { all, run });
        assert_eq!(
            rows,
            [
                row("`perf-core`", 40, 30),
                row("`perf-fold`", 5, 4),
                row("all", 45, 34)
            ]
        );
        assert_eq!(rows[0].1.percent(), 75.0);
        let missed: Vec<_> = by_missed(files).into_iter().map(|it| it.0).collect();
        assert_eq!(
            missed,
            ["crates/perf-core/src/b/c.rs", "crates/perf-fold/src/lib.rs"]
        );
    }
}
