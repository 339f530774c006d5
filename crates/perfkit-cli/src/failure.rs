//! [`Failure`]: errors of commands with their exit codes; [`parse`] reads a command line, and
//! [`main`] runs a program and prints its error.

use crate::messages;
use crate::options::outputs;
use crate::output::Printable;
use crate::suggest::{did_you_mean, near};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Args, Command, Parser};
use std::ffi::OsString;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

/// Reason why a command stopped.
#[derive(Debug)]
pub enum Failure {
    /// Wrong arguments; exit code 2.
    Usage(String),
    /// Wrong input; exit code 1.
    Input(String),
    /// A check of the command found what it searches for, such as a slower region; exit code 3.
    Found(String),
    /// Failure to write to standard output, for example after `| head`.
    Output(io::Error),
    /// Text of `--help` or `--version`; exit code 0.
    Help(String),
    /// Text of `--help`, because the command line ends before a subcommand; exit code 2.
    MissingSubcommand(String),
}

/// Result of a command.
pub type Outcome = Result<(), Failure>;

impl From<clap::Error> for Failure {
    fn from(error: clap::Error) -> Self {
        let text = error.render().to_string();
        match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Failure::Help(text),
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => Failure::MissingSubcommand(text),
            // The usage line is removed here and added to all usage errors when they are printed.
            _ => {
                let text = text.strip_prefix("error: ").unwrap_or(&text);
                let end = text
                    .find("\n\nUsage:")
                    .or(text.find("\n\nFor more information"));
                let text = &text[..end.unwrap_or(text.len())];
                Failure::Usage(text.replace("invalid digit found in string", "not a whole number"))
            }
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Output(error)
    }
}

/// Converts an error of the libraries to an input error.
pub fn input(error: impl std::error::Error) -> Failure {
    Failure::Input(message(error))
}

/// Formats an error with its causes, separated by colons.
pub fn message(error: impl std::error::Error) -> String {
    let mut message = String::new();
    // Writing into a string cannot fail.
    let _ = perfkit::core::write_chain(&error, &mut message);
    message
}

/// Checks that an output file does not replace an input file.
///
/// # Errors
/// Returns [`Failure::Usage`] if both paths refer to the same file.
pub fn spare(read: &Path, written: &Path) -> Outcome {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    match (real(read), real(written)) {
        (Some(one), Some(other)) if one == other => Err(Failure::Usage(format!(
            "{} is both input and output: choose another output",
            read.display()
        ))),
        _ => Ok(()),
    }
}

/// Parses arguments without the name of the program.
///
/// # Errors
/// Returns [`Failure::Usage`] for wrong arguments, also if two outputs are one file or an output is an
/// input, and [`Failure::Help`] with the text of `--help` or `--version`.
pub fn parse<T: Parser>(words: &[OsString]) -> Result<T, Failure> {
    let program = OsString::from(T::command().get_name());
    let all = std::iter::once(program).chain(words.iter().cloned());
    let failed = |error: clap::Error| {
        let unknown = unknown_option(&T::command(), words, &error);
        unknown.unwrap_or_else(|| error.into())
    };
    let mut command = T::command();
    let matches = command.try_get_matches_from_mut(all).map_err(failed)?;
    outputs::check(&command, &matches)?;
    T::from_arg_matches(&matches).map_err(failed)
}

/// Returns the failure for an unknown long option, with the options of the subcommand that resemble it; `None` for
/// any other error.
fn unknown_option(command: &Command, words: &[OsString], error: &clap::Error) -> Option<Failure> {
    let Some(ContextValue::String(wanted)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let wanted = wanted.strip_prefix("--")?;
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let mut command = command;
    for word in words {
        command = match command.find_subcommand(word) {
            Some(subcommand) => subcommand,
            None => break,
        };
    }
    let known = command.get_arguments().filter_map(Arg::get_long);
    let near: Vec<String> = near(wanted, known, 3)
        .into_iter()
        .map(|name| format!("`--{name}`"))
        .collect();
    let hint = did_you_mean(&near);
    Some(Failure::Usage(format!("no option `--{wanted}`{hint}")))
}

/// Function that runs a program: takes the arguments without the name of the program, and writes
/// text.
pub type Run = fn(&[OsString], &mut dyn Write) -> Outcome;

/// Runs the `main` of a program: prints errors to standard error, with the usage of `command`, and returns the
/// exit code: 1 for wrong input, 2 for wrong usage, and 3 if a check found what it searches for.
pub fn main(command: Command, run: Run) -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let mut out = Printable {
        to: BufWriter::new(io::stdout().lock()),
        is_terminal: io::stdout().is_terminal(),
    };
    let outcome = match run(&words, &mut out) {
        Err(Failure::Help(text)) => write!(out, "{text}").map_err(Failure::Output),
        other => other,
    };
    let outcome = match outcome {
        // The text is printed even if another output could not be written.
        Err(failure @ (Failure::Input(_) | Failure::Found(_))) => {
            out.flush().map_err(Failure::Output).and(Err(failure))
        }
        other => other.and_then(|()| Ok(out.flush()?)),
    };
    // The rest of the buffer cannot be written after an error.
    drop(out.to.into_parts());
    match outcome {
        Ok(()) | Err(Failure::Help(_)) => ExitCode::SUCCESS,
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(Failure::Output(error)) => fail(1, &format!("writing the output failed: {error}")),
        Err(Failure::Input(message)) => fail(1, &message),
        Err(Failure::Found(message)) => {
            messages::error(&message);
            ExitCode::from(3)
        }
        Err(Failure::MissingSubcommand(message)) => {
            messages::error(message.trim_end());
            ExitCode::from(2)
        }
        Err(Failure::Usage(message)) => {
            fail(2, &format!("{message}\n\n{}", usage(command, &words)))
        }
    }
}

/// Returns the usage line of the subcommand, or of the program if there is no subcommand.
fn usage(mut command: Command, words: &[OsString]) -> String {
    command.build();
    let mut name = command.get_name().to_string();
    let first = words
        .first()
        .map(|word| word.to_string_lossy().into_owned());
    let usage = match first.and_then(|word| command.find_subcommand_mut(word)) {
        Some(subcommand) => {
            name = format!("{name} {}", subcommand.get_name());
            subcommand.render_usage()
        }
        None => command.render_usage(),
    };
    format!("{usage}\n\n`{name} --help` lists the options.")
}

fn fail(code: u8, message: &str) -> ExitCode {
    messages::error(&format!("error: {message}"));
    ExitCode::from(code)
}

/// Parses the options of a subcommand, without its name.
///
/// # Errors
/// Returns the errors of [`parse`].
pub fn options<T: Args, W: Into<OsString> + Clone>(
    words: impl IntoIterator<Item = W>,
) -> Result<T, Failure> {
    let command = T::augment_args(Command::new("perfkit").no_binary_name(true));
    Ok(T::from_arg_matches(&command.try_get_matches_from(words)?)?)
}
