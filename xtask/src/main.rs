//! `cargo xtask TASK`: everything the project does to itself.

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

/// What a task returns: nothing, or a sentence that says what failed.
type Outcome = Result<(), String>;

/// Name, what it does, and the function that does it.
struct Task(&'static str, &'static str, fn(&[String]) -> Outcome);

const TASKS: &[Task] = &[
    Task(
        "ci",
        "the whole gate, or the steps named (--list, --keep-going)",
        ci::run,
    ),
    Task(
        "golden",
        "write what the examples print into their golden files",
        ci::golden,
    ),
    Task(
        "api",
        "write down what each crate offers, in docs/api",
        api::run,
    ),
    Task(
        "coverage",
        "which lines the tests run, a line a crate, or with --missed a line a file",
        coverage::run,
    ),
    Task(
        "compare",
        "run established tools beside perfkit, and write docs/benchmarks.md",
        compare::run,
    ),
    Task(
        "fuzz",
        "invent inputs for every reader and decoder, or those named (--seconds N each)",
        fuzz::run,
    ),
    Task(
        "mutate",
        "damage recordings, and look that readers and analyses survive it",
        mutate::run,
    ),
    Task(
        "pages",
        "open every page in headless Chromium and use it (or those named)",
        pages::run,
    ),
    Task(
        "scaling",
        "measure how costs grow with size, and write docs/scaling.md",
        scaling::run,
    ),
    Task(
        "record",
        "record the bundled recordings anew (needs EZTrace, Open MPI, NWChem)",
        record::run,
    ),
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let task = args
        .first()
        .and_then(|name| TASKS.iter().find(|task| task.0 == name));
    let Some(Task(_, _, run)) = task else {
        eprintln!("usage: cargo xtask TASK [ARGUMENTS]\n");
        for Task(name, what, _) in TASKS {
            eprintln!("  {name:<10} {what}");
        }
        return ExitCode::from(2);
    };
    match run(&args[1..]) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The folder of the workspace.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// This program is `<target>/<profile>/xtask`, wherever the target folder is.
fn target_folder() -> Result<PathBuf, String> {
    let program = std::env::current_exe().map_err(|error| format!("xtask: {error}"))?;
    let folder = program.parent().and_then(Path::parent);
    Ok(folder.ok_or("xtask is not in a target folder")?.into())
}

/// Cargo, run from the root of the workspace, with these arguments.
fn cargo(arguments: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    command
}

/// Runs a command to its end; anything but success is an error that names it.
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

/// What a command prints on standard output, if it ends well.
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

/// A command as a person would type it, programs by their bare name.
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

/// Whether a program can be started, asked for its version.
fn is_installed(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success())
}
