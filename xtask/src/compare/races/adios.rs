//! Races of readers of BP4 files of TAU's trace plug-in: perfkit, and the Python binding of ADIOS2.

use std::path::Path;
use std::process::Command;

use crate::compare::race::{Race, Runner};
use crate::compare::{Options, target_folder, workshop};
use crate::python::python;
use crate::{cargo, execute, root};

/// Program of `perfkit-benches` that runs perfkit.
const OURS: &str = "perfkit-bench-adios";

/// Builds the program, writes the files unless they exist, and lists the races.
pub(crate) fn races(_: &Options) -> Result<Vec<Race>, String> {
    let arguments = ["build", "--quiet", "--release"];
    execute(cargo(&arguments).args(["--package", "perfkit-benches", "--bin", OURS]))?;
    let ours = target_folder()?.join("release").join(OURS);
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let bundled = root().join("data/streams");
    let python = python("adios2, numpy", "adios2 numpy (pip)");
    // A large file can only be generated with ADIOS2.
    let mut folders = vec![("bundled", bundled)];
    if let Ok(python) = &python {
        let large = workshop()?.join("adios-4x20x5000");
        if !large.exists() {
            // Write to a temporary name, so that an interrupted run leaves no incomplete file.
            let part = large.with_extension("part");
            let sizes = ["--ranks", "4", "--steps", "20", "--calls", "5000"];
            let script = root().join("data/programs/streams.py");
            execute(Command::new(python).arg(script).arg(&part).args(sizes))?;
            std::fs::rename(&part, &large).map_err(|error| error.to_string())?;
        }
        folders.push(("4 ranks, 20 steps of 5,000 calls", large));
    }
    let race = |(name, folder): (&str, std::path::PathBuf)| {
        let peer = python.clone().map(|python| {
            let peer = root().join("data/peers/adios.py");
            vec![text(&python), text(&peer), text(&folder)]
        });
        Race {
            title: format!("every event: {name}"),
            by: "cpu_s",
            work: "events",
            asked: Vec::new(),
            runners: vec![
                Runner::new("perfkit", Ok(vec![text(&ours), text(&folder)])),
                Runner::new("adios2, tables only", peer),
            ],
        }
    };
    Ok(folders.into_iter().map(race).collect())
}
