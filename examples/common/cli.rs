//! Arguments, errors and exit codes.

use lexopt::ValueExt;
use perfkit::core::Unify;
use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;
use std::str::FromStr;

/// Why an example stopped.
#[derive(Debug)]
pub enum Failure {
    /// The arguments make no sense: exit code 2.
    Usage(String),
    /// The input does: exit code 1.
    Input(String),
    /// Standard output is gone, as after `| head`: nothing to say.
    Output(io::Error),
    /// `--help`: print the usage and be content.
    Help,
}

/// What an example returns.
pub type Outcome = Result<(), Failure>;

impl From<lexopt::Error> for Failure {
    fn from(error: lexopt::Error) -> Self {
        Failure::Usage(error.to_string())
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Output(error)
    }
}

/// The value of an option that takes a number.
///
/// # Errors
/// [`Failure::Usage`] with the option, if there is none or it is no such number.
pub fn number<T: FromStr>(option: &str, parser: &mut lexopt::Parser) -> Result<T, Failure> {
    let text = parser.value()?.string()?;
    let wrong = |_| Failure::Usage(format!("--{option} `{text}`: not a number that it takes"));
    text.parse().map_err(wrong)
}

/// Any error of the libraries is about the input.
pub fn input(error: impl std::error::Error) -> Failure {
    Failure::Input(message(error))
}

/// An error with its causes, which follow after colons.
pub fn message(error: impl std::error::Error) -> String {
    let mut message = String::new();
    // Writing into a string cannot fail.
    let _ = perfkit::core::write_chain(&error, &mut message);
    message
}

/// The value of `--unify`.
///
/// # Errors
/// [`Failure::Usage`] for another word than `name`, `location` or `never`.
pub fn unify(parser: &mut lexopt::Parser) -> Result<Unify, Failure> {
    let word = parser.value()?.to_string_lossy().into_owned();
    match word.as_str() {
        "name" => Ok(Unify::Name),
        "location" => Ok(Unify::Location),
        "never" => Ok(Unify::Never),
        _ => Err(Failure::Usage(format!(
            "--unify {word}: not name, location or never"
        ))),
    }
}

/// Refuses to write a file over the one that is read.
///
/// # Errors
/// [`Failure::Usage`] if both paths are of one file.
pub fn spare(read: &Path, written: &Path) -> Outcome {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    match (real(read), real(written)) {
        (Some(one), Some(other)) if one == other => Err(Failure::Usage(format!(
            "{} would be written over while it is read",
            read.display()
        ))),
        _ => Ok(()),
    }
}

/// An example's work: arguments in, text out.
pub type Run = fn(&[OsString], &mut dyn Write) -> Outcome;

/// The `main` of an example: errors to standard error, exit code 1 for input and 2 for usage.
pub fn main(usage: &str, run: Run) -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    let mut out = BufWriter::new(io::stdout().lock());
    let outcome = match run(&args, &mut out) {
        Err(Failure::Help) => writeln!(out, "{usage}").map_err(Failure::Output),
        other => other,
    };
    let outcome = match outcome {
        // A report is shown although something else could not be written.
        Err(Failure::Input(message)) => out
            .flush()
            .map_err(Failure::Output)
            .and(Err(Failure::Input(message))),
        other => other.and_then(|()| Ok(out.flush()?)),
    };
    // What is left in the buffer after an error has nowhere to go.
    drop(out.into_parts());
    match outcome {
        Ok(()) | Err(Failure::Help) => ExitCode::SUCCESS,
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(Failure::Output(error)) => fail(1, &format!("writing the output failed: {error}")),
        Err(Failure::Input(message)) => fail(1, &message),
        // All of the usage would push the error off the screen.
        Err(Failure::Usage(message)) => {
            let first = usage.lines().next().unwrap_or_default();
            fail(2, &format!("{message}\n{first}; --help lists the options"))
        }
    }
}

fn fail(code: u8, message: &str) -> ExitCode {
    say(&format!("error: {message}"));
    ExitCode::from(code)
}

/// A line on standard error, or nothing where nobody listens any more.
pub fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}
