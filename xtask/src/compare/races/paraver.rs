//! Races of readers of Paraver traces: perfkit, and a typical Python script of an analyst. No tool
//! that reads whole traces is packaged.

use std::path::Path;
use std::process::Command;

use crate::compare::race::{Race, Runner};
use crate::compare::target::Target;
use crate::compare::{Options, target_folder, workshop};
use crate::{cargo, execute, root};

/// Program of `perfkit-benches` that generates traces and runs perfkit.
const OURS: &str = "perfkit-bench-paraver";

/// Builds the program, writes the trace unless it exists, and lists the races.
pub(crate) fn races(_: &Options) -> Result<Vec<Race>, String> {
    let arguments = ["build", "--quiet", "--release"];
    execute(cargo(&arguments).args(["--package", "perfkit-benches", "--bin", OURS]))?;
    let ours = target_folder()?.join("release").join(OURS);
    let file = workshop()?.join("paraver-16x20000.prv");
    if !file.exists() {
        // Write to a temporary name, so that an interrupted run leaves no incomplete file.
        let part = file.with_extension("part");
        execute(Command::new(&ours).arg("generate").arg(&part))?;
        std::fs::rename(&part, &file).map_err(|error| error.to_string())?;
    }
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let we = |mode: &str, threads: &str| {
        let words = [text(&ours), mode.into(), text(&file)];
        let more = ["--threads", threads].map(String::from);
        Ok(words.into_iter().chain(more).collect())
    };
    let peer = root().join("data/peers/paraver.py");
    let python = Ok(vec!["python3".into(), text(&peer), text(&file)]);
    Ok(vec![
        Race {
            title: "every record of a `.prv`, on one core".into(),
            by: "cpu_s",
            work: "bytes",
            asked: vec![Target::Rate(300.0)],
            runners: vec![
                Runner::new("perfkit", we("records", "1")),
                Runner::new("Python, split at colons", python),
            ],
        },
        Race {
            title: "what a second core is worth: a `.prv` as a trace".into(),
            by: "wall_s",
            work: "events",
            asked: Vec::new(),
            runners: vec![
                Runner::new("perfkit, 2 threads", we("trace", "2")),
                Runner::new("perfkit, 1 thread", we("trace", "1")),
            ],
        },
    ])
}
