//! Races of readers of Cube profiles: perfkit and pycubexr.
//!
//! perfkit writes all of the profiles, so that the races also show that another reader accepts them.
//! For uncompressed rows, a loop in C that only reads the bytes shows the part of the cost that no
//! reader can avoid.

use std::path::Path;
use std::process::Command;

use crate::compare::race::{Race, Runner};
use crate::compare::target::Target;
use crate::compare::{Options, compile_peer, missing, target_folder, workshop};
use crate::python::python;
use crate::{cargo, execute, root};

/// Program of `perfkit-benches` that generates profiles and runs perfkit.
const OURS: &str = "perfkit-bench-cube";

/// Builds the program, writes the profiles unless they exist, and lists the races.
pub(crate) fn races(_: &Options) -> Result<Vec<Race>, String> {
    let arguments = ["build", "--quiet", "--release"];
    execute(cargo(&arguments).args(["--package", "perfkit-benches", "--bin", OURS]))?;
    let ours = target_folder()?.join("release").join(OURS);
    // Name, locations, call paths, and `1` if rows are compressed.
    let profiles = [
        ("wide", "4096", "800", "0"),
        ("wide, packed", "4096", "800", "1"),
        ("many call paths", "64", "4000", "0"),
        ("many call paths, packed", "64", "4000", "1"),
    ];
    let bytes = match missing(&[("cc", "gcc")]) {
        Some(package) => Err(package),
        None => Ok(compile_peer("bytes", &[], &[])?),
    };
    let mut races = Vec::new();
    for (name, locations, paths, packed) in profiles {
        let file = format!("cube-{locations}x{paths}-{packed}.cubex");
        let file = workshop()?.join(file);
        if !file.exists() {
            // Write to a temporary name, so that an interrupted run leaves no incomplete file.
            let part = file.with_extension("part");
            let sizes = ["--locations", locations, "--paths", paths];
            execute(
                Command::new(&ours)
                    .arg("generate")
                    .arg(&part)
                    .args(sizes)
                    .args(["--packed", packed]),
            )?;
            std::fs::rename(&part, &file).map_err(|error| error.to_string())?;
        }
        let mut all = race(format!("all of it: {name}"), "read", &ours, &file);
        if packed == "0" {
            let bytes = bytes.as_ref().map_err(|package| *package);
            let words = bytes.map(|program| vec![text(program), text(&file)]);
            all.runners
                .push(Runner::new("its bytes alone, in C", words));
            let mut both = race(
                format!("all of it, on two cores: {name}"),
                "read",
                &ours,
                &file,
            );
            both.by = "wall_s";
            let words = [text(&ours), "read".into(), text(&file)];
            let words = words
                .into_iter()
                .chain(["--threads", "2"].map(String::from));
            both.runners[0] = Runner::new("perfkit, 2 threads", Ok(words.collect()));
            races.push(both);
        }
        races.push(all);
        races.push(race(format!("one view: {name}"), "view", &ours, &file));
    }
    Ok(races)
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn race(title: String, mode: &str, ours: &Path, file: &Path) -> Race {
    let we = vec![text(ours), mode.into(), text(file)];
    let theirs = python("pycubexr", "pycubexr (pip)").map(|python| {
        let peer = text(&root().join("data/peers/cube.py"));
        // The defaults of perfkit: metric 1, call path 77.
        let view = ["1", "77"].map(String::from);
        let words = [text(&python), peer, mode.into(), text(file)];
        words.into_iter().chain(view).collect()
    });
    Race {
        title,
        by: "cpu_s",
        work: "values",
        asked: vec![Target::Faster(1, 20.0)],
        runners: vec![
            Runner::new("perfkit", Ok(we)),
            Runner::new("pycubexr", theirs),
        ],
    }
}
