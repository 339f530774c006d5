//! Program of `cargo xtask mutate`: damages recordings in thousands of ways, and reads each damaged
//! recording in a child process. Each case must give a value, a counted repair, or an error with
//! its location, within a memory budget and without a panic.

mod cases;
mod child;
mod report;

use perf_testdata::memory;
use perfkit_mutate::recordings::{self, Recording};
use report::{Report, Watched};
use std::path::PathBuf;
use std::process::ExitCode;

#[global_allocator]
static COUNTED: memory::Counted = memory::Counted::up_to(MEMORY_LIMIT);

/// Memory limit of the process in bytes. An allocation beyond it ends the process.
const MEMORY_LIMIT: usize = 4 << 30;

const USAGE: &str = "usage: cargo xtask mutate [OPTIONS]

Damages recordings and reads them: those of the corpus (PERFKIT_CORPUS), those that are bundled, and
small ones of each format that are made for it.

  --format F     recordings of this format only
  --only TEXT    recordings whose path has TEXT in it only
  --seed S       seed of what is random, default 1
  --random N     random places of each kind a recording, default 200
  --boundaries N most places a recording where structures begin, each of which it is cut at, default 300
  --files N      recordings of each format, the smallest ones, default 12
  --most MB      largest recording, default 8
  --budget MB    most that is read a recording; large ones get fewer cases, default 96
  --seeds DIR    writes what fuzzers start from, and does nothing else";

/// Options of the command line.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) format: Option<String>,
    pub(crate) only: Option<String>,
    pub(crate) seed: u64,
    pub(crate) random: usize,
    pub(crate) boundaries: usize,
    pub(crate) files: usize,
    pub(crate) most: u64,
    pub(crate) budget: u64,
    seeds: Option<PathBuf>,
    /// Folder of the recordings that were generated for this run.
    made: Option<PathBuf>,
    /// For a child process: the path of its recording, and its first case.
    child: Option<(PathBuf, usize)>,
}

fn main() -> ExitCode {
    let outcome = parse().and_then(|options| run(&options));
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn parse() -> Result<Options, String> {
    let mut options = Options {
        format: None,
        only: None,
        seed: 1,
        random: 200,
        boundaries: 300,
        files: 12,
        most: 8,
        budget: 96,
        seeds: None,
        made: None,
        child: None,
    };
    fn number<T: std::str::FromStr>(option: &str, text: String) -> Result<T, String> {
        let wrong = |_| format!("{option} {text}: not a number");
        text.parse().map_err(wrong)
    }
    let mut words = std::env::args().skip(1);
    while let Some(option) = words.next() {
        let mut value = || words.next().ok_or(format!("{option}: what?\n\n{USAGE}"));
        match option.as_str() {
            "--format" => options.format = Some(value()?),
            "--only" => options.only = Some(value()?),
            "--seed" => options.seed = number(&option, value()?)?,
            "--random" => options.random = number(&option, value()?)?,
            "--boundaries" => options.boundaries = number(&option, value()?)?,
            "--files" => options.files = number(&option, value()?)?,
            "--most" => options.most = number(&option, value()?)?,
            "--budget" => options.budget = number(&option, value()?)?,
            "--seeds" => options.seeds = Some(value()?.into()),
            "--made" => options.made = Some(value()?.into()),
            "--child" => options.child = Some((value()?.into(), number(&option, value()?)?)),
            _ => return Err(USAGE.into()),
        }
    }
    Ok(options)
}

/// Runs the command and returns `true` if there was no fault.
fn run(options: &Options) -> Result<bool, String> {
    let failed = |error: std::io::Error| error.to_string();
    if let Some((path, from)) = &options.child {
        let (all, _) = find(options)?;
        let own = all.iter().find(|one| one.root.join(&one.open) == *path);
        let own = own.ok_or_else(|| format!("{}: no recording", path.display()))?;
        child::run(own, options, *from).map_err(failed)?;
        return Ok(true);
    }
    if let Some(folder) = &options.seeds {
        perfkit_mutate::seeds::write(folder).map_err(|error| error.to_string())?;
        return Ok(true);
    }
    let made = std::env::temp_dir().join(format!("perfkit-made-{}", std::process::id()));
    perfkit_mutate::generated::write(&made).map_err(|error| error.to_string())?;
    let mut options = options.clone();
    options.made = Some(made.clone());
    let (all, left_out) = find(&options)?;
    let mut report = Report::new(left_out);
    for recording in &all {
        Watched::run(recording, &options, &mut report).map_err(failed)?;
    }
    std::fs::remove_dir_all(made).map_err(failed)?;
    print!("{report}");
    Ok(report.faults() == 0)
}

/// Returns the selected recordings, and the number of recordings that were skipped for their size
/// or number.
fn find(options: &Options) -> Result<(Vec<Recording>, usize), String> {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let bundled = ["data/recordings", "data/streams", "data/gpu"].map(|name| Some(root.join(name)));
    let corpus = std::env::var_os("PERFKIT_CORPUS").map(PathBuf::from);
    let mut all = Vec::new();
    for folder in bundled.into_iter().chain([options.made.clone(), corpus]) {
        let Some(folder) = folder else {
            continue;
        };
        let found = recordings::below(&folder);
        all.extend(found.map_err(|error| format!("{}: {error}", folder.display()))?);
    }
    all.retain(|one| {
        let path = one.root.join(&one.open);
        let is_named = |text: &String| path.to_string_lossy().contains(text.as_str());
        options
            .format
            .as_ref()
            .is_none_or(|name| *name == one.format)
            && options.only.as_ref().is_none_or(is_named)
    });
    all.sort_by(|a, b| (&a.format, a.size, &a.open).cmp(&(&b.format, b.size, &b.open)));
    let count = all.len();
    let mut taken = std::collections::BTreeMap::<String, usize>::new();
    all.retain(|one| {
        let taken = taken.entry(one.format.clone()).or_default();
        *taken += 1;
        one.size <= options.most << 20 && *taken <= options.files
    });
    let left_out = count - all.len();
    Ok((all, left_out))
}
