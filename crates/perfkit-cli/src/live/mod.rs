//! Subcommand `live`: runs the parameter server with its page, and with the feature `simulate` a load generator.

mod options;
#[cfg(feature = "simulate")]
mod simulate;

use crate::failure::{Failure, Outcome};
use crate::messages;
pub use options::Options;
use options::{Command, Replay};
use perf_live::program;
use std::io::Write;

/// Runs a server until the process ends, shows the database of a finished run, or plays a recording to a server.
///
/// # Errors
/// Returns [`Failure::Input`] if a database, recording or address cannot be opened, or a parameter
/// is out of range.
pub fn run(options: &Options, out: &mut dyn Write) -> Outcome {
    let done = match &options.command {
        Command::Serve(serve) => program::serve(&serve.file, &serve.options(), out, messages::say),
        Command::Replay(Replay { file, listen }) => program::replay(file, &listen.into(), out),
        #[cfg(feature = "simulate")]
        Command::Simulate(simulate) => program::simulate(&simulate.url, &simulate.options(), out),
    };
    done.map_err(|error| Failure::Input(error.to_string()))
}
