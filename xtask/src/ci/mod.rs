//! `cargo xtask ci`: all checks that a change must pass, as one table of steps.
//!
//! `cargo xtask ci` runs all steps in order and stops at the first failure. `cargo xtask ci
//! STEP...` runs selected steps, and `--keep-going` continues after a failure. Tools that cargo can
//! install are installed at pinned versions; `.ci/run` installs system packages.

mod background;
mod counting;
mod features;
mod files;
mod golden;
mod instructions;
mod outside;
mod tools;

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use background::BackgroundChecks;
use counting::{TestCount, run_tests};
pub(crate) use features::serial;
pub(crate) use files::at;
use files::{bytes_below, contents, folders_of};
pub(crate) use golden::write as write_golden;
pub(crate) use tools::install;
use tools::version;

use crate::{Outcome, cargo, execute, is_installed, output_of, root, target_folder};

/// Name of the step, its description, and the function that runs it.
struct Step(&'static str, &'static str, fn(&mut Gate) -> Outcome);

const STEPS: &[Step] = &[
    Step("fmt", "every file is formatted", fmt),
    Step(
        "clippy",
        "all targets, all features, warnings denied",
        clippy,
    ),
    Step(
        "msrv",
        "no dependency asks for a newer Rust than we do",
        msrv,
    ),
    Step(
        "test",
        "cargo test of all packages, on the corpus where there is one",
        test,
    ),
    Step(
        "licences",
        "licences, sources and second versions of dependencies (deny.toml)",
        licences,
    ),
    Step(
        "optional",
        "what `cargo test` leaves out: results without threads, labels of 2,560 ranks",
        features::optional,
    ),
    Step(
        "mpi",
        "perf-mpi on 1, 2 and 4 ranks, which print what one process prints",
        mpi,
    ),
    Step(
        "mutate",
        "damaged recordings give values, counted repairs or errors with their places",
        mutate,
    ),
    Step(
        "pages",
        "every page in headless Chromium, used as people use it",
        pages,
    ),
    Step("docs", "documentation, warnings denied", docs),
    Step("api", "what each crate offers is what docs/api has", |_| {
        crate::api::check()
    }),
    Step("tour", "the tour, as the README runs it", tour),
    Step(
        "outside",
        "short examples and the crates of `perfkit new`, outside of the workspace",
        outside::outside,
    ),
    Step(
        "features",
        "each crate alone, without features and with each feature that has code, warnings denied",
        background::features,
    ),
    Step(
        "fuzz",
        "inputs that nobody thought of for every reader and decoder, some seconds each",
        fuzz,
    ),
    Step(
        "golden",
        "golden files are what the command and the examples print",
        golden::unchanged,
    ),
    Step(
        "instructions",
        "instruction counts of hot paths, each under its limit",
        instructions::count,
    ),
];

/// Runs the tests of distributed work, if an MPI library is installed.
fn mpi(_: &mut Gate) -> Outcome {
    if !crate::mpi::is_possible() {
        if std::env::var_os("CI").is_some() {
            return Err("no MPI: install openmpi-bin, libopenmpi-dev and libclang-dev".into());
        }
        println!("   many ranks are left out: there is no mpicc or no mpirun");
        return Ok(());
    }
    crate::mpi::run()
}

/// Fuzzes each target for 5 s. This finds regressions of a change, not rare errors.
fn fuzz(_: &mut Gate) -> Outcome {
    if !is_installed("c++") {
        if std::env::var_os("CI").is_some() {
            return Err("no C++ compiler: install g++".into());
        }
        println!("   fuzzers are left out: there is no C++ compiler");
        return Ok(());
    }
    let check = ["clippy", "--quiet", "--locked", "--manifest-path", FUZZ];
    let target = target_folder()?;
    let mut clippy = cargo(&check);
    execute(
        clippy
            .args(["--", "--deny", "warnings"])
            .env("CARGO_TARGET_DIR", target),
    )?;
    crate::fuzz::run(&["--seconds".into(), "5".into()])
}

/// Opens every page in a browser, if one is installed.
fn pages(_: &mut Gate) -> Outcome {
    if !crate::pages::is_possible() {
        if std::env::var_os("CI").is_some() {
            return Err("no Chromium: install the package chromium".into());
        }
        println!("   pages are left out: there is no Chromium");
        return Ok(());
    }
    crate::pages::run(&[])
}

/// Pinned version, so that a new release cannot make the gate fail.
const CARGO_DENY: &str = "0.20.2";

/// Manifest of the fuzzers, which are a separate workspace.
const FUZZ: &str = "fuzz/Cargo.toml";

/// Crates that need a system library, each with a program that shows that the library is installed.
const NEEDS: &[(&str, &str)] = &[("perf-mpi", "mpicc")];

/// State that the steps share.
struct Gate {
    /// Library crates that can be built: folders of `crates/`.
    libraries: Vec<String>,
    /// Other packages of the workspace.
    programs: Vec<String>,
    /// Members that are skipped because their system library is missing.
    left_out: Vec<String>,
    /// Number of tests; `None` until `cargo test` has run.
    tests: Option<TestCount>,
    /// Work that runs in the background of the steps.
    background: BackgroundChecks,
    /// Names of the steps of this run.
    chosen: Vec<&'static str>,
    /// Golden files before the step `test`, if the step `golden` follows it.
    golden: Option<golden::Files>,
}

impl Gate {
    fn new(chosen: Vec<&'static str>) -> Result<Self, String> {
        let (libraries, left_out) = libraries()?;
        for (name, program) in NEEDS {
            if left_out.iter().any(|it| it == name) {
                println!("{name} is left out: there is no {program}");
            }
        }
        Ok(Self {
            libraries,
            programs: [
                "perfkit-examples",
                "perfkit-benches",
                "perfkit-mutate",
                "xtask",
            ]
            .map(String::from)
            .into(),
            left_out,
            tests: None,
            background: BackgroundChecks::default(),
            chosen,
            golden: None,
        })
    }

    /// Returns `true` if this step is run.
    fn is_chosen(&self, step: &str) -> bool {
        self.chosen.contains(&step)
    }

    /// Returns all packages that can be built.
    fn packages(&self) -> Vec<String> {
        self.libraries
            .iter()
            .chain(&self.programs)
            .cloned()
            .collect()
    }
}

/// Returns the library crates that can be built, and the crates that are skipped because a system library is missing.
pub(crate) fn libraries() -> Result<(Vec<String>, Vec<String>), String> {
    let needed = |name: &String| NEEDS.iter().find(|need| need.0 == name);
    let can_be_built = |name: &String| needed(name).is_none_or(|need| is_installed(need.1));
    let names = folders_of(&root().join("crates"))?;
    Ok(names.into_iter().partition(can_be_built))
}

/// Runs the steps named in `arguments`, or all steps if none is named.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let mut keep_going = false;
    let mut named: Vec<&str> = Vec::new();
    for argument in arguments {
        match argument.as_str() {
            "--list" => {
                for Step(name, what, _) in STEPS {
                    println!("  {name:<13} {what}");
                }
                return Ok(());
            }
            "--keep-going" => keep_going = true,
            name if STEPS.iter().any(|step| step.0 == name) => named.push(name),
            other => return Err(format!("no step is called {other}: see --list")),
        }
    }
    let wanted = |step: &&Step| named.is_empty() || named.contains(&step.0);
    let chosen: Vec<&Step> = STEPS.iter().filter(wanted).collect();
    run_steps(&chosen, keep_going)
}

fn run_steps(steps: &[&Step], keep_going: bool) -> Outcome {
    let start = Instant::now();
    let target = target_folder()?;
    let mut gate = Gate::new(steps.iter().map(|step| step.0).collect())?;
    gate.background = BackgroundChecks::start(&gate);
    let mut ran = Vec::new();
    let mut failed = Vec::new();
    for Step(name, what, check) in steps {
        println!("\n== {name}: {what}");
        let (begin, cpu) = (Instant::now(), cpu_time_of_programs());
        let outcome = check(&mut gate);
        let took = begin.elapsed();
        ran.push(Ran {
            name,
            took,
            cpu: cpu_time_of_programs().saturating_sub(cpu),
            passed: outcome.is_ok(),
            disk: bytes_below(&target),
        });
        if let Err(message) = outcome {
            println!("== {name} FAILED after {}: {message}", seconds(took));
            failed.push(*name);
            if !keep_going {
                break;
            }
        }
    }
    gate.background.stop();
    print_summary(&ran, start.elapsed());
    if !failed.is_empty() {
        return Err(format!("the gate is shut: {}", failed.join(", ")));
    }
    // One line for all of `cargo test`, which counts each test program separately.
    if let Some(tests) = &gate.tests {
        println!("{tests}");
    }
    Ok(())
}

/// Result of a step.
struct Ran {
    name: &'static str,
    took: Duration,
    /// CPU time of the programs that ended during the step, also of those in the background. Zero if the system does
    /// not tell.
    cpu: Duration,
    passed: bool,
    /// Size of all build output at the end of the step in bytes. Small machines may run out of disk space.
    disk: u64,
}

fn print_summary(ran: &[Ran], total: Duration) {
    println!();
    for step in ran {
        let verdict = if step.passed { "ok" } else { "FAILED" };
        let (took, cpu, disk) = (seconds(step.took), seconds(step.cpu), step.disk >> 20);
        println!(
            "  {:<13} {took:>8} {cpu:>9} of CPUs {disk:>6} MB  {verdict}",
            step.name
        );
    }
    let cpu = ran.iter().map(|step| step.cpu).sum();
    println!(
        "  {:<13} {:>8} {:>9} of CPUs",
        "total",
        seconds(total),
        seconds(cpu)
    );
}

/// Returns the user and system time of all programs that this program and its children started and that have ended, as
/// Linux reports it. Zero on other systems.
fn cpu_time_of_programs() -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program in parentheses may contain spaces. After it, numbers 14 and 15 are the times in ticks of
    // 10 ms.
    let after = text.rsplit(')').next().unwrap_or_default();
    let numbers = after.split_whitespace().skip(13).take(2);
    let ticks: u64 = numbers.filter_map(|it| it.parse::<u64>().ok()).sum();
    Duration::from_millis(10 * ticks)
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

fn fmt(_: &mut Gate) -> Outcome {
    execute(&mut cargo(&["fmt", "--all", "--check"]))?;
    execute(&mut cargo(&["fmt", "--manifest-path", FUZZ, "--check"]))
}

/// Runs clippy on all targets with all features. The step `features` checks the crates one by one.
///
/// The lint `incompatible_msrv` is on by default and restricts standard library calls to the
/// `rust-version` of the workspace.
fn clippy(gate: &mut Gate) -> Outcome {
    let mut all = cargo(&[
        "clippy",
        "--quiet",
        "--locked",
        "--workspace",
        "--all-features",
    ]);
    for name in &gate.left_out {
        all.args(["--exclude", name]);
    }
    // `--all-targets` skips test targets that `cargo test` does not run by default.
    let targets = ["--all-targets", "--test", "labels_many"];
    execute(all.args(targets).args(["--", "--deny", "warnings"]))
}

/// Compares the `rust-version` of each package in the lock file with the `rust-version` of the workspace.
///
/// Together with clippy's `incompatible_msrv` this finds all incompatibilities that one compiler
/// can find. A build with the oldest supported compiler is a separate, manual check.
fn msrv(_: &mut Gate) -> Outcome {
    let arguments = ["metadata", "--format-version=1", "--locked"];
    let text = output_of(cargo(&arguments).arg("--all-features"))?;
    let metadata: serde_json::Value = serde_json::from_str(&text)
        .map_err(|error| format!("cargo metadata is not JSON: {error}"))?;
    let packages = metadata["packages"].as_array();
    let packages = packages.ok_or("cargo metadata lists no packages")?;
    let asked = |package: &serde_json::Value| package["rust_version"].as_str().map(version);
    let ours = packages.iter().find(|package| package["name"] == "xtask");
    let ours = ours.and_then(asked).ok_or("xtask has no rust-version")?;
    let mut newer = Vec::new();
    let mut silent = 0;
    for package in packages {
        match asked(package) {
            Some(theirs) if theirs > ours => {
                newer.push(format!("{} {}", package["name"], package["rust_version"]));
            }
            Some(_) => {}
            None => silent += 1,
        }
    }
    if !newer.is_empty() {
        return Err(format!("these need a newer Rust: {}", newer.join(", ")));
    }
    println!(
        "   {} packages, {silent} of them do not say",
        packages.len()
    );
    Ok(())
}

/// Checks licences with cargo-deny. Building cargo-deny takes 75 s of CPU time once. Writing a correct
/// licence checker with expressions, exceptions and files that disagree with the manifest would be more
/// work.
fn licences(_: &mut Gate) -> Outcome {
    install("cargo-deny", CARGO_DENY)?;
    for manifest in ["Cargo.toml", FUZZ] {
        let arguments = [
            "deny",
            "--manifest-path",
            manifest,
            "--workspace",
            "--locked",
        ];
        // Exceptions for one of the two workspaces do not occur in the other.
        let check = ["--config", "deny.toml", "--log-level", "error", "check"];
        let what = ["licenses", "bans", "sources"];
        execute(cargo(&arguments).args(check).args(what))?;
    }
    Ok(())
}

/// Test command of the README for all packages, with features that no other package enables. A plain
/// `cargo test` skips these features, because they compile C code, the 40 packages of another
/// clustering library or the load generator of the parameter server.
const TEST: [&str; 6] = [
    "test",
    "--workspace",
    "--exclude",
    "perf-mpi",
    "--features",
    "perf-track/linfa,perfkit/linfa,perfkit-mutate/nsys,perf-live/simulate",
];

/// Runs all tests that need no system program.
fn test(gate: &mut Gate) -> Outcome {
    let mut command = cargo(&TEST);
    // One run reports the failures of all packages.
    command.arg("--no-fail-fast");
    match corpus() {
        Some(folder) => {
            println!("   corpus: {}", folder.display());
            // With this variable no test is skipped.
            command.env("CI", "true").env("PERFKIT_CORPUS", folder);
        }
        None if std::env::var_os("CI").is_some() => {
            return Err("no corpus: set PERFKIT_CORPUS to its folder".into());
        }
        None => println!("   no corpus: tests that read it pass by (set PERFKIT_CORPUS)"),
    }
    // Results that the step `optional` compares with.
    let results = features::results()?;
    let _ = std::fs::remove_file(&results);
    if gate.is_chosen("golden") {
        gate.golden = Some(golden::files()?);
        golden::writing(&mut command);
    }
    let count = run_tests(command.env("PERFKIT_RESULTS", results))?;
    if count.passed == 0 {
        return Err("no test ran".into());
    }
    gate.tests = Some(count);
    Ok(())
}

/// Builds a program with the features of the step `test`, which has already built it in a whole run, and returns its
/// path.
pub(crate) fn program(name: &str) -> Result<PathBuf, String> {
    // Examples are built like tests, with the features that the dependencies of tests enable. Without them cargo would
    // compile all libraries again with fewer features.
    let arguments = ["build", "--quiet", "--locked", "--examples", "--bin", name];
    execute(cargo(&arguments).args(&TEST[1..]))?;
    Ok(target_folder()?.join("debug").join(name))
}

/// Damages the smallest recordings of each format for a few seconds, with fixed seeds.
fn mutate(_: &mut Gate) -> Outcome {
    let mut command = Command::new(program("perfkit-mutate")?);
    command.args(["--files", "6", "--random", "60", "--budget", "16"]);
    if let Some(folder) = corpus() {
        command.env("PERFKIT_CORPUS", folder);
    }
    execute(&mut command)
}

fn docs(gate: &mut Gate) -> Outcome {
    let folder = target_folder()?.join("doc");
    // Links between crates depend on the order of documentation. A folder from an earlier run would
    // hide broken links.
    if folder.is_dir() {
        std::fs::remove_dir_all(&folder).map_err(|error| at(&folder, &error))?;
    }
    let mut command = cargo(&[
        "doc",
        "--quiet",
        "--locked",
        "--no-deps",
        "--workspace",
        "--all-features",
    ]);
    for name in &gate.left_out {
        command.args(["--exclude", name]);
    }
    execute(command.env("RUSTDOCFLAGS", "--deny warnings"))?;
    let mut broken = Vec::new();
    for library in &gate.libraries {
        for (path, bytes) in contents(&folder.join(library.replace('-', "_")))? {
            let text = String::from_utf8_lossy(&bytes);
            let links = text.split("href=\"").skip(1);
            let targets = links.filter_map(|link| link.split_once('"'));
            // An unresolved link keeps the path of the item as its target. Documentation of traits
            // from other packages may contain such links too, so that only paths of our crates count.
            let unresolved = targets.filter(|(to, _)| to.starts_with("perf") && to.contains("::"));
            broken.extend(unresolved.map(|(to, _)| format!("{}: {to}", path.display())));
        }
    }
    if broken.is_empty() {
        Ok(())
    } else {
        Err(format!("unresolved links:\n{}", broken.join("\n")))
    }
}

fn tour(_: &mut Gate) -> Outcome {
    execute(&mut cargo(&["run", "--release", "--example", "tour"]))
}

/// Returns the folder of recordings that are too large to be bundled: `PERFKIT_CORPUS`, by default
/// a folder next to the working copy. `None` if it does not exist.
pub(crate) fn corpus() -> Option<PathBuf> {
    let folder = std::env::var_os("PERFKIT_CORPUS")
        .map_or_else(|| root().join("../shared/corpus"), PathBuf::from);
    std::fs::canonicalize(folder).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the dependencies of `cargo run --example tour`, for which Cargo unifies the features
    /// of all default members.
    #[test]
    fn default_members_compile_no_c_and_no_server() {
        let arguments = [
            "tree",
            "--offline",
            "--prefix=none",
            "--format={p}",
            "--edges=all",
        ];
        let text = output_of(&mut cargo(&arguments)).expect("cargo is there");
        for heavy in ["libsqlite3-sys", "prost", "axum", "hyper"] {
            let found = text
                .lines()
                .find(|line| line.split(' ').next() == Some(heavy));
            assert_eq!(found, None, "of a default member");
        }
        assert!(text.lines().any(|line| line.starts_with("perfkit-cli ")));
    }

    /// Checks that members outside of the default members are tested as well.
    #[test]
    fn all_but_what_needs_a_program_are_tested() {
        let after = TEST.windows(2).filter(|pair| pair[0] == "--exclude");
        let needs = NEEDS.iter().map(|need| need.0);
        assert!(after.map(|pair| pair[1]).eq(needs));
    }

    #[test]
    fn every_step_is_named_once() {
        for (index, step) in STEPS.iter().enumerate() {
            assert!(STEPS[..index].iter().all(|other| other.0 != step.0));
        }
    }
}
