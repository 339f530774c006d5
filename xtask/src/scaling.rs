//! `cargo xtask scaling`: builds and runs the benches that measure the growth of costs with the
//! size of the input.

use std::process::Command;

use crate::machine::{machine, today};
use crate::{Outcome, cargo, execute, root};

/// Programs of `perfkit-benches` that measure. The last program calls the others.
const PROGRAMS: [&str; 3] = [
    "perfkit-bench-otf2",
    "perfkit-bench-anomaly",
    "perfkit-bench-scaling",
];

/// Builds the programs and runs the selected measurements, by default all. Then draws the page and its
/// pictures from all stored results. With `--draw` nothing is measured.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let mut build = cargo(&[
        "build",
        "--quiet",
        "--release",
        "--package",
        "perfkit-benches",
    ]);
    for program in PROGRAMS {
        build.args(["--bin", program]);
    }
    execute(&mut build)?;
    let release = crate::target_folder()?.join("release");
    execute(
        Command::new(release.join(PROGRAMS[2]))
            .current_dir(root())
            .env("RAYON_NUM_THREADS", "1")
            .args([
                "--machine",
                &machine(),
                "--date",
                &today(),
                "--docs",
                "docs",
            ])
            .args(arguments),
    )
}
