//! `cargo xtask mutate`: damaged recordings, by a program of its own, which xtask does not compile unless
//! it is asked for.

use crate::{Outcome, cargo, execute};

/// Runs it with these arguments.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let program = ["run", "--quiet", "--package", "perfkit-mutate"];
    execute(
        cargo(&program)
            .args(["--features", "nsys", "--"])
            .args(arguments),
    )
}
