//! Step `mpi` of `cargo xtask ci`: runs the tests and examples of `perf-mpi` on 1, 2 and 4 ranks.
//! The output of an example must equal the output of a single process.

use crate::ci::serial;
use crate::{Outcome, cargo, execute, is_installed, output_of, root};
use std::path::PathBuf;
use std::process::Command;

/// Numbers of ranks.
const RANKS: [&str; 3] = ["1", "2", "4"];

/// Examples with the option `--alone`, and their arguments.
const EXAMPLES: &[(&str, &[&str])] = &[
    (
        "correlate_mpi",
        &["data/recordings/jacobi-16", "--metric", "time"],
    ),
    (
        "correlate_mpi",
        &["data/recordings/jacobi-64", "--top", "5", "--filter", "1,0"],
    ),
    ("fold_mpi", &["data/recordings/jacobi-16", "--op", "diff"]),
    ("fold_mpi", &["data/recordings/jacobi-4", "--by", "process"]),
    ("cluster_mpi", &["data/recordings/jacobi-16"]),
    (
        "cluster_mpi",
        &["data/recordings/jacobi-64", "--eps", "0.01"],
    ),
];

/// Returns `true` if an MPI library for building and running is installed.
pub(crate) fn is_possible() -> bool {
    is_installed("mpicc") && is_installed("mpirun")
}

/// Runs all tests and examples.
pub(crate) fn run() -> Outcome {
    // Cargo unifies the features of all selected packages, so the libraries are those of the step `optional`.
    let package = serial(true)?;
    let tests = |what: &[&str]| {
        let mut command = cargo(&["test", "--quiet", "--locked"]);
        execute(command.args(&package).args(what))
    };
    tests(&["--lib"])?;
    tests(&["--doc"])?;
    let launcher = Launcher::new()?;
    for ranks in RANKS {
        // Cargo starts the test with the launcher.
        let words: Vec<String> = launcher.words(ranks);
        let words: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
        let runner = format!("target.'cfg(all())'.runner = [{}]", words.join(", "));
        tests(&["--test", "ranks", "--config", &runner])?;
    }
    let arguments = ["build", "--quiet", "--locked", "--examples"];
    execute(cargo(&arguments).args(&package))?;
    for (name, arguments) in EXAMPLES {
        let expected = launcher.text("1", name, arguments, &["--alone"])?;
        if expected.trim().is_empty() {
            return Err(format!("{name} printed nothing"));
        }
        for ranks in RANKS {
            if launcher.text(ranks, name, arguments, &[])? != expected {
                let told = arguments.join(" ");
                return Err(format!("{name} {told}: {ranks} ranks print something else"));
            }
        }
        println!("   {name} {}: as one process", arguments.join(" "));
    }
    for ranks in RANKS {
        let short = ["--steps", "300", "--repeat", "1", "--rows", "64"];
        for exchange in [&[][..], &["--polled"]] {
            let text = launcher.text(ranks, "stencil_mpi", &short, exchange)?;
            if !text.contains("with detection") {
                return Err(format!("stencil_mpi on {ranks} ranks has no table"));
            }
        }
    }
    println!("   stencil_mpi: every call is known, by a thread and without one");
    // Fail if fewer than 99 % of the labels equal those of a single detector.
    let text = launcher.text("4", "scale_mpi", &["--ranks", "80"], &[])?;
    let labels = text.lines().find(|line| line.contains("labels"));
    let labels = labels.ok_or("scale_mpi compared no labels")?;
    println!("   scale_mpi, 80 ranks on 4 processes: {labels}");
    Ok(())
}

/// `mpirun` with the options for more ranks than cores, for containers, and with a time limit.
struct Launcher(Vec<&'static str>);

impl Launcher {
    fn new() -> Result<Self, String> {
        let version = output_of(Command::new("mpirun").arg("--version"))?;
        let mut words = vec!["mpirun"];
        if version.contains("Open MPI") || version.contains("OpenRTE") {
            words.extend(["--allow-run-as-root", "--oversubscribe", "--timeout", "240"]);
            words.extend(["--mca", "mpi_yield_when_idle", "1"]);
        }
        Ok(Launcher(words))
    }

    fn words(&self, ranks: &str) -> Vec<String> {
        let words = self.0.iter().copied().chain(["-n", ranks]);
        words.map(String::from).collect()
    }

    /// Returns the output of an example.
    fn text(
        &self,
        ranks: &str,
        name: &str,
        told: &[&str],
        more: &[&str],
    ) -> Result<String, String> {
        let target = std::env::var_os("CARGO_TARGET_DIR");
        let target = target.map_or_else(|| root().join("target"), PathBuf::from);
        let words = self.words(ranks);
        let (program, options) = words.split_first().ok_or("no launcher")?;
        let mut command = Command::new(program);
        command
            .args(options)
            .arg(target.join("debug/examples").join(name));
        output_of(command.args(told).args(more).current_dir(root()))
    }
}
