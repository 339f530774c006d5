//! `cargo xtask TASK`: table of the development tasks of the project, and functions with which they
//! run cargo and other programs.

mod api;
mod ci;
mod compare;
mod coverage;
mod fuzz;
mod machine;
mod mpi;
mod mutate;
mod pages;
mod python;
mod record;
mod scaling;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Result of a task: nothing, or a message about the failure.
type Outcome = Result<(), String>;

/// Task of `cargo xtask`.
struct Task {
    /// Name on the command line.
    name: &'static str,
    /// Arguments in the notation of manual pages.
    arguments: &'static str,
    /// Description for the help text.
    what: &'static str,
    /// Function that runs the task.
    run: fn(&[String]) -> Outcome,
}

const TASKS: &[Task] = &[
    Task {
        name: "ci",
        arguments: "[STEP...] [--list] [--keep-going]",
        what: "the whole gate, or the steps named (--list, --keep-going)",
        run: ci::run,
    },
    Task {
        name: "golden",
        arguments: "",
        what: "write what the command and the examples print into their golden files",
        run: ci::write_golden,
    },
    Task {
        name: "api",
        arguments: "",
        what: "write down what each crate offers, in docs/api",
        run: api::run,
    },
    Task {
        name: "coverage",
        arguments: "[--missed] [ARGUMENTS of cargo llvm-cov]",
        what: "which lines the tests run, a line a crate, or with --missed a line a file",
        run: coverage::run,
    },
    Task {
        name: "compare",
        arguments: "[COMPARISON...] [--only TEXT] [--shape NAME] [--repeats N] [--once] [--full] [--prepare] [--page] ...",
        what: "run established tools beside perfkit, and write docs/benchmarks.md",
        run: compare::run,
    },
    Task {
        name: "fuzz",
        arguments: "[TARGET...] [--seconds N]",
        what: "invent inputs for every reader and decoder, or those named (--seconds N each)",
        run: fuzz::run,
    },
    Task {
        name: "mutate",
        arguments: "[--format NAME] [--files N] [--random N] [--boundaries N] [--seed N] ...",
        what: "damage recordings, and look that readers and analyses survive it",
        run: mutate::run,
    },
    Task {
        name: "pages",
        arguments: "[PART of a page's name...]",
        what: "open every page in headless Chromium and use it (or those named)",
        run: pages::run,
    },
    Task {
        name: "scaling",
        arguments: "[--repeats N] [--only WORD] [--draw]",
        what: "measure how costs grow with size, and write docs/scaling.md",
        run: scaling::run,
    },
    Task {
        name: "record",
        arguments: "[NAME...]",
        what: "record the bundled recordings anew (needs EZTrace, Open MPI, NWChem)",
        run: record::run,
    },
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let named = args.first();
    let Some(task) = named.and_then(|name| TASKS.iter().find(|task| task.name == name)) else {
        eprintln!("usage: cargo xtask TASK [ARGUMENTS]\n");
        for Task { name, what, .. } in TASKS {
            eprintln!("  {name:<10} {what}");
        }
        return ExitCode::from(2);
    };
    if args.iter().any(|it| it == "--help" || it == "-h") {
        let Task {
            name,
            arguments,
            what,
            ..
        } = task;
        println!("usage: cargo xtask {name} {arguments}\n\n  {what}");
        return ExitCode::SUCCESS;
    }
    match (task.run)(&args[1..]) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the root folder of the workspace. Cargo passes it to the program that it runs. The path
/// known at compile time may belong to another working copy that shares the target folder.
fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let here = here.unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    here.parent().unwrap_or(&here).to_path_buf()
}

/// Returns the target folder. This program is `<target>/<profile>/xtask`, so no environment
/// variable is needed.
fn target_folder() -> Result<PathBuf, String> {
    let program = std::env::current_exe().map_err(|error| format!("xtask: {error}"))?;
    let folder = program.parent().and_then(Path::parent);
    Ok(folder.ok_or("xtask is not in a target folder")?.into())
}

/// Returns a cargo command with these arguments, run in the root of the workspace.
fn cargo(arguments: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    command
}

/// Runs a command. Returns an error that names the command unless it succeeds.
fn execute(command: &mut Command) -> Outcome {
    let status = command
        .status()
        .map_err(|error| format!("{}: {error}", describe(command)))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{}: {status}", describe(command)))
    }
}

/// Returns the standard output of a command, if it succeeds.
fn output_of(command: &mut Command) -> Result<String, String> {
    let output = command
        .output()
        .map_err(|error| format!("{}: {error}", describe(command)))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.trim();
        return Err(format!("{}: {}\n{said}", describe(command), output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns a command as a user would type it, with programs by their bare name.
fn describe(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str());
    let mut text = name.to_string_lossy().into_owned();
    for argument in command.get_args() {
        text.push(' ');
        text.push_str(&argument.to_string_lossy());
    }
    text
}

/// Returns `true` if a program can be started with `--version`.
fn is_installed(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success())
}
