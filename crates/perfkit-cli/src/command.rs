//! [`Cli`]: command line of `perfkit` with all subcommands; [`run`] dispatches it, and [`output`]
//! returns the printed text.

use crate::failure::{self, Failure, Outcome};
use crate::{
    bursts, cluster, convert, correlate, detect, fold, inspect, new_crate, profile, report, track,
    utilisation, wait,
};
use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use std::ffi::OsString;
use std::io::Write;

/// Finds what is wrong with a parallel program from its recordings
#[derive(Debug, Parser)]
#[command(
    name = "perfkit",
    version,
    arg_required_else_help = true,
    max_term_width = 100
)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// Subcommand with its options.
#[derive(Debug, Subcommand)]
enum Command {
    Report(report::Options),
    #[command(visible_alias = "explain")]
    Wait(wait::Options),
    Inspect(inspect::Options),
    Fold(fold::Options),
    Correlate(correlate::Options),
    Bursts(bursts::Options),
    Cluster(cluster::Options),
    Track(track::Options),
    Detect(detect::Options),
    Utilisation(utilisation::Options),
    Convert(convert::Options),
    Profile(profile::Options),
    #[cfg(feature = "serve")]
    Serve(crate::serve::Options),
    #[cfg(feature = "live")]
    Live(crate::live::Options),
    New(new_crate::Options),
    /// Prints a script that completes subcommands, options and their values in a shell
    Completions {
        /// Shell that the script is for
        shell: Shell,
    },
}

impl Cli {
    /// Runs the subcommand. `words` is the command line without the name of the program.
    fn run(self, words: &[OsString], out: &mut dyn Write) -> Outcome {
        match self.command {
            Command::Report(options) => report::run(&options, out),
            Command::Wait(options) => wait::run(&options, out),
            Command::Inspect(options) => inspect::run(&options, out),
            Command::Fold(options) => fold::run(&options, &words[1..], out),
            Command::Correlate(options) => correlate::run(&options, out),
            Command::Bursts(options) => bursts::run(&options, out),
            Command::Cluster(options) => cluster::run(&options, out),
            Command::Track(options) => track::run(&options, out),
            Command::Detect(options) => detect::run(&options, out),
            Command::Utilisation(options) => utilisation::run(&options, out),
            Command::Convert(options) => convert::run(&options, out),
            Command::Profile(options) => profile::run(&options, out),
            #[cfg(feature = "serve")]
            Command::Serve(options) => crate::serve::run(&options, out),
            #[cfg(feature = "live")]
            Command::Live(options) => crate::live::run(&options, out),
            Command::New(options) => new_crate::run(&options, out),
            Command::Completions { shell } => completions(shell, out),
        }
    }
}

fn completions(shell: Shell, out: &mut dyn Write) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "perfkit", &mut script);
    Ok(out.write_all(&script)?)
}

/// Runs a command line without the name of the program, such as `["inspect", "traces.otf2"]`.
///
/// # Errors
/// Returns [`Failure::Usage`] for wrong arguments, [`Failure::Help`] with the text of `--help` or
/// `--version`, and the errors of the subcommand.
pub fn run(words: &[OsString], out: &mut dyn Write) -> Outcome {
    failure::parse::<Cli>(words)?.run(words, out)
}

/// Runs a command line like [`run`] and returns the printed text.
///
/// # Errors
/// Returns the errors of [`run`].
pub fn output<W: Into<OsString>>(words: impl IntoIterator<Item = W>) -> Result<String, Failure> {
    let words: Vec<OsString> = words.into_iter().map(Into::into).collect();
    let mut out = Vec::new();
    run(&words, &mut out)?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}
