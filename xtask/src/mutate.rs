//! `cargo xtask mutate`: builds and runs the program that checks readers and analyses on damaged
//! recordings. The program is separate, so that it is compiled only on demand.

use crate::{Outcome, cargo, execute};

/// Runs the program with these arguments.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let program = ["run", "--quiet", "--package", "perfkit-mutate"];
    let mut command = cargo(&program);
    if let Some(corpus) = crate::ci::corpus() {
        command.env("PERFKIT_CORPUS", corpus);
    }
    execute(command.args(["--features", "nsys", "--"]).args(arguments))
}
