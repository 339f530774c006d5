//! Races of readers of OTF2 archives: perfkit, libotf2's local and global readers, and otf2-print.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::compare::race::{Race, Runner};
use crate::compare::target::Target;
use crate::compare::{Options, compile_peer, flags_of, missing, target_folder, workshop};
use crate::{cargo, execute};

/// Program of `perfkit-benches` that generates the archive and runs perfkit.
const OURS: &str = "perfkit-bench-otf2";

/// Builds every program, generates the archive unless it exists, and lists the races.
pub(crate) fn races(options: &Options) -> Result<Vec<Race>, String> {
    let arguments = ["build", "--quiet", "--release"];
    execute(cargo(&arguments).args(["--package", "perfkit-benches", "--bin", OURS]))?;
    let ours = target_folder()?.join("release").join(OURS);
    let anchor = match &options.archive {
        Some(anchor) => anchor.clone(),
        None => generated(&ours, options.locations, options.events)?,
    };
    println!("{}", anchor.display());
    let words = |program: &Path, before: &[&str], after: &[&str]| -> Vec<String> {
        let program = program.to_string_lossy().into_owned();
        let anchor = anchor.to_string_lossy().into_owned();
        let before = before.iter().map(|word| (*word).to_string());
        let after = after.iter().map(|word| (*word).to_string());
        let tail = before.chain([anchor]).chain(after);
        [program].into_iter().chain(tail).collect()
    };
    let we = |mode: &str, more: &[&str]| Ok(words(&ours, &[mode], more));
    let library = library_peer()?;
    let theirs = |mode: &str| {
        let library = library.as_ref().map_err(|package| *package);
        library.map(|program| words(program, &[mode], &[]))
    };
    let print = printing_peer()?;
    let print = print.map(|program| words(&program, &["otf2-print", "--silent"], &[]));
    let one = ["--threads", "1"];
    let two = ["--threads", "2"];
    Ok(vec![
        race(
            "every location, decoded one by one on one core",
            "cpu_s",
            vec![Target::Rate(60.0)],
            vec![
                Runner::new("perfkit decode, 1 thread", we("decode", &one)),
                Runner::new("libotf2, local readers", theirs("local")),
            ],
        ),
        race(
            "all locations merged in time",
            "cpu_s",
            vec![Target::Rate(10.0), Target::Memory(200.0)],
            vec![
                Runner::new("perfkit merge", we("merge", &[])),
                Runner::new("libotf2, global reader", theirs("merge")),
                Runner::new("otf2-print --silent", print),
            ],
        ),
        race(
            "what a second core is worth: OTF2, decoded",
            "wall_s",
            vec![Target::Faster(1, 1.7)],
            vec![
                Runner::new("perfkit decode, 2 threads", we("decode", &two)),
                Runner::new("perfkit decode, 1 thread", we("decode", &one)),
            ],
        ),
        race(
            "from the archive to the first folded timeline, 1920 columns",
            "wall_s",
            vec![Target::Seconds(1.5)],
            vec![
                Runner::new("perfkit fold, 2 threads", we("fold", &two)),
                Runner::new("perfkit fold, 1 thread", we("fold", &one)),
            ],
        ),
        race(
            "folding another window of timelines that are there",
            "wall_s",
            vec![Target::Seconds(0.05)],
            vec![
                Runner::new("perfkit refold, 2 threads", we("refold", &two)),
                Runner::new("perfkit refold, 1 thread", we("refold", &one)),
            ],
        ),
    ])
}

fn race(title: &str, by: &'static str, asked: Vec<Target>, runners: Vec<Runner>) -> Race {
    Race {
        title: title.into(),
        by,
        work: "events",
        asked,
        runners,
    }
}

/// Returns the program that reads with libotf2, or the missing package.
fn library_peer() -> Result<Result<PathBuf, &'static str>, String> {
    if let Some(package) = missing(&[("cc", "gcc"), ("otf2-config", "libotf2-trace-dev")]) {
        return Ok(Err(package));
    }
    let compiler = flags_of("otf2-config", &["--cflags"])?;
    let linker = flags_of("otf2-config", &["--ldflags", "--libs"])?;
    let compiler: Vec<&str> = compiler.iter().map(String::as_str).collect();
    let linker: Vec<&str> = linker.iter().map(String::as_str).collect();
    compile_peer("otf2", &compiler, &linker).map(Ok)
}

/// Returns the program that measures otf2-print, or the missing package.
fn printing_peer() -> Result<Result<PathBuf, &'static str>, String> {
    match missing(&[("cc", "gcc"), ("otf2-print", "otf2-tools")]) {
        Some(package) => Ok(Err(package)),
        None => compile_peer("measure", &[], &[]).map(Ok),
    }
}

/// Returns the anchor of an archive with this many locations and this many events for each location. The archive is
/// generated unless it exists.
fn generated(ours: &Path, locations: u32, events: u32) -> Result<PathBuf, String> {
    let folder = workshop()?.join(format!("otf2-{locations}x{events}"));
    if let Some(anchor) = anchor_in(&folder) {
        return Ok(anchor);
    }
    // Write to a temporary name, so that an interrupted run leaves no incomplete archive.
    let unfinished = folder.with_extension("part");
    if unfinished.exists() {
        std::fs::remove_dir_all(&unfinished).map_err(|error| error.to_string())?;
    }
    let (locations, events) = (locations.to_string(), events.to_string());
    execute(Command::new(ours).arg("generate").arg(&unfinished).args([
        "--locations",
        &locations,
        "--events",
        &events,
    ]))?;
    std::fs::rename(&unfinished, &folder).map_err(|error| error.to_string())?;
    anchor_in(&folder).ok_or_else(|| format!("{OURS} generate made no .otf2 file"))
}

fn anchor_in(folder: &Path) -> Option<PathBuf> {
    let mut paths = std::fs::read_dir(folder).ok()?.flatten();
    let anchor = paths.find(|entry| entry.path().extension().is_some_and(|end| end == "otf2"));
    anchor.map(|entry| entry.path())
}
