//! `cargo xtask mutate`: damaged recordings, by a program of its own, which xtask does not compile unless
//! it is asked for.

use crate::{Outcome, cargo, execute};

/// Runs it with these arguments.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let program = ["run", "--quiet", "--package", "perfkit-mutate"];
    let mut command = cargo(&program);
    if let Some(corpus) = crate::ci::corpus() {
        command.env("PERFKIT_CORPUS", corpus);
    }
    execute(command.args(["--features", "nsys", "--"]).args(arguments))
}
