//! `cargo xtask TASK`: everything the project does to itself.

mod record;

use std::process::ExitCode;

/// What a task returns: nothing, or a sentence that says what failed.
type Outcome = Result<(), String>;

/// Name, what it does, and the function that does it.
const TASKS: &[(&str, &str, fn(&[String]) -> Outcome)] = &[(
    "record",
    "record the bundled recordings anew (needs EZTrace, Open MPI, NWChem)",
    record::run,
)];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let task = args
        .first()
        .and_then(|name| TASKS.iter().find(|task| task.0 == name));
    let Some((_, _, run)) = task else {
        eprintln!("usage: cargo xtask TASK [ARGUMENTS]\n");
        for (name, what, _) in TASKS {
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
