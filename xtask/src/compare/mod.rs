//! `cargo xtask compare`: compares the costs of perfkit and established tools on the same input.
//!
//! A comparison is a list of races. In a race every runner answers the same question. Runners take
//! turns, so that changes in the load of the machine affect all runners. A runner prints one line of
//! `key=value` pairs: costs (`cpu_s`, `wall_s`, `rss_kb`) and answers. The answers of all runners must
//! agree.
//!
//! A tool that is not installed is reported with its package and skipped. Measurements are stored
//! in `docs/benchmarks`, one line for each race, and `docs/benchmarks.md` is generated from all
//! stored lines. Limits that other commands check are lines of `docs/benchmarks/elsewhere.jsonl`,
//! which is written by hand.

mod document;
mod machine_load;
mod race;
mod races;
mod results;
mod target;

use std::path::PathBuf;
use std::process::Command;

use crate::machine::{machine, today};
use crate::{Outcome, execute, is_installed, output_of, root, target_folder};
use race::Race;
use races::{adios, anomaly, cluster, cube, gpu, live, otf2, paraver, spectral};
use results::Occasion;

/// Name of a comparison, its description, and the function that prepares its races.
struct Comparison(
    &'static str,
    &'static str,
    fn(&Options) -> Result<Vec<Race>, String>,
);

const COMPARISONS: &[Comparison] = &[
    Comparison(
        "otf2",
        "reading OTF2 archives, with libotf2 and otf2-print",
        otf2::races,
    ),
    Comparison(
        "cube",
        "reading Cube profiles that perfkit wrote, with pycubexr",
        cube::races,
    ),
    Comparison(
        "spectral",
        "correlation of views in the frequency domain, with FFTW and SciPy",
        spectral::races,
    ),
    Comparison(
        "cluster",
        "clustering points, with linfa, scikit-learn and hdbscan",
        cluster::races,
    ),
    Comparison(
        "paraver",
        "reading Paraver traces, with a script in Python",
        paraver::races,
    ),
    Comparison(
        "adios",
        "reading BP4 files of TAU's trace plug-in, with ADIOS2",
        adios::races,
    ),
    Comparison(
        "gpu",
        "utilisation of devices, with Holistic Trace Analysis",
        gpu::races,
    ),
    Comparison(
        "anomaly",
        "detection of abnormal calls, on streams that are made up",
        anomaly::races,
    ),
    Comparison(
        "live",
        "a parameter server with updates of many ranks",
        live::races,
    ),
];

const USAGE: &str = "usage: cargo xtask compare [NAME...] [--repeats N] [--once] [--only WORDS] [--prepare] [--page]
    --once: runs beside other work are not made again;
    --only: races whose title has these words in it; --prepare: programs and inputs alone; --page: the page alone
    otf2: [--locations N] [--events N] [--archive ANCHOR]
    spectral: [--shape NEKBONE|psOpen|Sweep3D] [--full]: 9 GB each of views, of memory and of spectra in a file";

/// Options of the command line.
struct Options {
    /// Number of turns of each runner, default 5.
    repeats: usize,
    /// `true` if turns that were disturbed by other processes are not repeated.
    once: bool,
    /// Part of the title of the races to run; `None` for all races.
    only: Option<String>,
    /// `true` if everything is built and generated but no race is run.
    prepare: bool,
    /// Number of locations of generated input.
    locations: u32,
    /// Number of events of each location of generated input.
    events: u32,
    archive: Option<PathBuf>,
    /// Shape to compare; `None` for all shapes, which takes long.
    shape: Option<String>,
    /// `true` to use all views of each shape, instead of as many as fit on most machines.
    full: bool,
}

impl Options {
    /// Returns `true` if a race with this title is to be run or prepared.
    fn wants(&self, title: &str) -> bool {
        match &self.only {
            Some(words) => title.contains(words.as_str()),
            None => true,
        }
    }
}

/// Runs the named comparisons, or all comparisons if none is named.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let mut options = Options {
        repeats: 5,
        once: false,
        only: None,
        prepare: false,
        locations: 1024,
        events: 20_000,
        archive: None,
        shape: None,
        full: false,
    };
    let mut named = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().map(String::as_str).ok_or(USAGE);
        match argument.as_str() {
            "--repeats" => options.repeats = number::<usize>(value()?)?.max(1),
            "--locations" => options.locations = number(value()?)?,
            "--events" => options.events = number(value()?)?,
            "--once" => options.once = true,
            "--full" => options.full = true,
            "--prepare" => options.prepare = true,
            "--page" => return document::write(),
            "--only" => options.only = Some(value()?.into()),
            "--shape" => options.shape = Some(value()?.to_lowercase()),
            "--archive" => options.archive = Some(absolute(value()?)?),
            name if COMPARISONS.iter().any(|entry| entry.0 == name) => named.push(name),
            _ => return Err(USAGE.into()),
        }
    }
    let (machine, date) = (machine(), today());
    println!("{machine}");
    let occasion = Occasion {
        date: &date,
        machine: &machine,
    };
    for Comparison(name, what, races) in COMPARISONS {
        if !named.is_empty() && !named.contains(name) {
            continue;
        }
        println!("\n== {name}: {what}; {} runs each", options.repeats);
        let races = races(&options)?;
        let wanted = |race: &&Race| options.wants(&race.title) && !options.prepare;
        for race in races.iter().filter(wanted) {
            let measured = race.run(options.repeats, !options.once)?;
            print!("\n{measured}");
            results::keep(name, race, &measured, &occasion)?;
        }
    }
    document::write()
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse()
        .map_err(|_| format!("{text} is no number that fits here\n{USAGE}"))
}

/// Makes a path absolute, because runners start in the root of the workspace.
fn absolute(path: &str) -> Result<PathBuf, String> {
    std::fs::canonicalize(path).map_err(|error| format!("{path}: {error}"))
}

/// Returns the folder for programs and input of comparisons, below the target folder of cargo.
fn workshop() -> Result<PathBuf, String> {
    let folder = target_folder()?.join("compare");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder)
}

/// Compiles `data/peers/NAME.c`.
fn compile_peer(name: &str, flags: &[&str], libraries: &[&str]) -> Result<PathBuf, String> {
    let source = root().join("data/peers").join(name).with_extension("c");
    let program = workshop()?.join(name);
    execute(
        Command::new("cc")
            .args(["-O2", "-std=gnu11"])
            .args(flags)
            .arg(&source)
            .arg("-o")
            .arg(&program)
            .args(libraries),
    )?;
    Ok(program)
}

/// Returns the Debian package of the first program that is not installed.
fn missing(programs: &[(&str, &'static str)]) -> Option<&'static str> {
    let absent = programs.iter().find(|(program, _)| !is_installed(program));
    absent.map(|(_, package)| *package)
}

/// Returns the flags that a configuration program prints.
fn flags_of(program: &str, arguments: &[&str]) -> Result<Vec<String>, String> {
    let text = output_of(Command::new(program).args(arguments))?;
    Ok(text.split_whitespace().map(String::from).collect())
}
