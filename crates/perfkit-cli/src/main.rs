//! Entry point of the command `perfkit`.

use clap::CommandFactory;
use perfkit_cli::command::{self, Cli};
use std::process::ExitCode;

fn main() -> ExitCode {
    perfkit_cli::failure::main(Cli::command(), command::run)
}
