//! Generates or rewrites a Cube profile, or reads all of it or one view, and prints one line: sums
//! of the values, then time and memory.
//!
//! `cargo xtask compare cube` runs it together with pycubexr; `data/peers/README.md` describes the
//! line.

use perfkit::core::parallel::Threads;
use perfkit::core::{CallPathId, Job, MetricId, Profile, Severities};
use perfkit::formats::OpenOptions;
use perfkit::formats::cube::{Cube, WriteOptions, write};
use perfkit_benches::{Meter, Outcome, inputs};
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str =
    "usage: perfkit-bench-cube generate FILE [--locations N] [--paths M] [--packed 1]
       perfkit-bench-cube rewrite FILE --to FILE
       perfkit-bench-cube read FILE [--threads N]
       perfkit-bench-cube view FILE [--metric I] [--path J]

generate  writes a profile of 4 metrics, M call paths and N locations
rewrite   reads a profile and writes it again
read      opens it and adds up every value of every metric
view      opens it and adds up one view";

/// Size of the blocks in which files are written. The system keeps a file in memory in pieces of the
/// size in which it was written or read ahead, and reading large pieces costs less: a file that was
/// read from a disk has large ones, too.
const BLOCK: usize = 1 << 20;

fn main() -> ExitCode {
    perfkit_benches::main(USAGE, run)
}

fn run(args: &[String]) -> Outcome<String> {
    let [mode, path, rest @ ..] = args else {
        return Err("a mode and a path, please".into());
    };
    let word = |name: &str| {
        let at = rest.iter().position(|word| word == name)?;
        rest.get(at + 1)
    };
    let number = |name: &str, otherwise: u32| -> Outcome<u32> {
        word(name).map_or(Ok(otherwise), |word| Ok(word.parse()?))
    };
    let path = Path::new(path);
    match mode.as_str() {
        "generate" => {
            let options = WriteOptions::new().compress(number("--packed", 0)? == 1);
            let profile = inputs::profile(number("--locations", 4096)?, number("--paths", 800)?);
            save(&profile, path, &options)
        }
        "rewrite" => {
            let to = word("--to").ok_or("where to?")?;
            let cube = Cube::open(path, &OpenOptions::new(), &Job::default())?;
            save(cube.profile(), Path::new(to), &WriteOptions::new())
        }
        "read" => read(path, number("--threads", 1)? as usize),
        "view" => view(path, number("--metric", 1)?, number("--path", 77)?),
        _ => Err(format!("unknown mode {mode}").into()),
    }
}

fn save(profile: &Profile, path: &Path, options: &WriteOptions) -> Outcome<String> {
    let meter = Meter::start();
    let lost = write(
        profile,
        BufWriter::with_capacity(BLOCK, File::create(path)?),
        options,
        &Job::default(),
    )?;
    let bytes = std::fs::metadata(path)?.len();
    Ok(format!(
        "lost={} bytes={bytes} {}",
        lost.repairs(),
        meter.costs()
    ))
}

fn sum(row: &Severities) -> (f64, usize) {
    let arch = pulp::Arch::new();
    let sum = match row {
        Severities::F64(values) => arch.dispatch(|| lanes(values)),
        Severities::U64(values) => arch.dispatch(|| values.iter().sum::<u64>()) as f64,
        other => other.to_f64().iter().sum(),
    };
    (sum, row.len())
}

/// Adds up numbers as numpy does: with the widest vectors of the processor, and several sums, because
/// with a single one each addition would wait for the previous one.
#[inline(always)]
fn lanes(values: &[f64]) -> f64 {
    let (groups, rest) = values.as_chunks::<32>();
    let mut sums = [0.0; 32];
    for group in groups {
        sums.iter_mut()
            .zip(group)
            .for_each(|(sum, value)| *sum += value);
    }
    sums.iter().chain(rest).sum()
}

/// Returns the answer and the costs. Sums are rounded, because other programs add in another order.
fn answer(values: usize, sum: f64, meter: &Meter) -> String {
    format!("values={values} sum={:.0} {}", sum / 1e3, meter.costs())
}

fn read(path: &Path, threads: usize) -> Outcome<String> {
    let meter = Meter::start();
    let cube = Cube::open(path, &OpenOptions::new(), &Job::default())?;
    let profile = cube.profile();
    let metrics = (0..profile.metrics().len() as u32).map(MetricId);
    let paths = |metric| {
        profile
            .paths(metric)
            .into_iter()
            .map(move |path| (metric, path))
    };
    let rows: Vec<_> = metrics.flat_map(paths).collect();
    let pieces: Vec<_> = rows.chunks(64).collect();
    let sum_of = |rows: &&[(MetricId, CallPathId)]| {
        let (mut total, mut values) = (0.0, 0);
        for (metric, path) in *rows {
            if let Some(row) = profile.row(*metric, *path)? {
                let (sum, count) = sum(&row);
                total += sum;
                values += count;
            }
        }
        Ok::<_, perfkit::core::Error>((total, values))
    };
    let work = || Threads::new(threads).try_map(&pieces, sum_of);
    let sums = match threads {
        // Starting threads costs half a millisecond.
        1 => work(),
        _ => Threads::new(threads).install(work),
    }?;
    let total = sums.iter().map(|it| it.0).sum();
    let values = sums.iter().map(|it| it.1).sum();
    Ok(answer(values, total, &meter))
}

fn view(path: &Path, metric: u32, call: u32) -> Outcome<String> {
    let meter = Meter::start();
    let cube = Cube::open(path, &OpenOptions::new(), &Job::default())?;
    let row = cube.profile().row(MetricId(metric), CallPathId(call))?;
    let (total, values) = row.map_or((0.0, 0), |row| sum(&row));
    Ok(answer(values, total, &meter))
}
