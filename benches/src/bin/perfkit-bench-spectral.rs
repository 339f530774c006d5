//! Measures the correlation of one view with many, as in Table 1 of the paper: transforms,
//! correlation, search for the best ten, and spectra in a file.
//!
//! `correlate SHAPE VIEWS f32|f64` runs product, inverse transform and extremes for each view.
//! `top10` runs the search with early termination, `top10-of-all` the complete search, and
//! `forward` the transforms of views. Views are synthetic: low modes, bands and noise, half of them
//! related to the first view. `--distinct D` of them (24) are used in rotation.
//!
//! `generate FILE SHAPE VIEWS` writes such views as doubles, which `--views FILE` reads, so that
//! other programs can correlate the same views. `store FILE SHAPE VIEWS f32|f64` stores their
//! spectra in a file, and `--file FILE` correlates or searches the spectra of an earlier run. With
//! `--memory MB` a run fails if it takes more memory.

use perfkit::core::Job;
use perfkit::spectral::{AxisFilter, RankParams, Real, Scratch, Spectra, Transform};
use perfkit_benches::inputs::synthetic;
use perfkit_benches::{Meter, peak_memory};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Error message for the user.
type Failure = Box<dyn std::error::Error + Send + Sync>;

struct Arguments {
    command: String,
    dims: Vec<usize>,
    views: usize,
    threads: usize,
    distinct: usize,
    file: Option<String>,
    given: Option<String>,
    /// Memory limit in MB.
    memory: Option<u64>,
}

fn main() -> Result<(), Failure> {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let mut option = |name: &str| -> Option<String> {
        let at = words.iter().position(|word| word == name)?;
        words.remove(at);
        (at < words.len()).then(|| words.remove(at))
    };
    let threads = option("--threads").map_or(Ok(2), |text| text.parse())?;
    let distinct = option("--distinct").map_or(Ok(24), |text| text.parse())?;
    let mut file = option("--file");
    let given = option("--views");
    let memory = option("--memory").map(|text| text.parse()).transpose()?;
    if let [command, path, shape, views] = words.as_slice()
        && command == "generate"
    {
        return generate(path, &lengths(shape)?, views.parse()?);
    }
    if words.len() == 5 && words[0] == "store" {
        file = Some(words.remove(1));
    }
    let [command, shape, views, kind] = words.as_slice() else {
        return Err("usage: correlate|top10|top10-of-all|forward SHAPE VIEWS f32|f64 [--threads T] [--distinct D] [--views FILE] [--file FILE] [--memory MB]
       generate FILE SHAPE VIEWS | store FILE SHAPE VIEWS f32|f64".into());
    };
    let arguments = Arguments {
        command: command.clone(),
        dims: lengths(shape)?,
        views: views.parse()?,
        threads,
        distinct,
        file,
        given,
        memory,
    };
    match kind.as_str() {
        "f32" => run::<f32>(&arguments, |value| value as f32),
        "f64" => run::<f64>(&arguments, |value| value),
        other => Err(format!("{other} is neither f32 nor f64").into()),
    }
}

fn lengths(shape: &str) -> Result<Vec<usize>, Failure> {
    let lengths: Result<Vec<usize>, _> = shape.split('x').map(str::parse).collect();
    Ok(lengths?)
}

/// Writes views as little-endian doubles, one after the other.
fn generate(path: &str, dims: &[usize], views: usize) -> Result<(), Failure> {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
    for number in 0..views as u64 {
        for value in synthetic(dims, number) {
            file.write_all(&value.to_le_bytes())?;
        }
    }
    Ok(file.flush()?)
}

/// Calls `each` with views of a file, or with synthetic ones, a few at a time.
fn views(
    arguments: &Arguments,
    count: usize,
    mut each: impl FnMut(&[Vec<f64>]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let dims = &arguments.dims;
    let points: usize = dims.iter().product();
    let mut file = match &arguments.given {
        Some(path) => Some(std::io::BufReader::new(std::fs::File::open(path)?)),
        None => None,
    };
    let mut bytes = vec![0; points * 8];
    // One view for each thread at a time, because memory is measured as well.
    for start in (0..count).step_by(arguments.threads) {
        let numbers = start..count.min(start + arguments.threads);
        let some: Vec<Vec<f64>> = match &mut file {
            Some(file) => numbers
                .map(|_| {
                    file.read_exact(&mut bytes)?;
                    let numbers = bytes.as_chunks::<8>().0.iter();
                    Ok(numbers.map(|bytes| f64::from_le_bytes(*bytes)).collect())
                })
                .collect::<Result<_, std::io::Error>>()?,
            None => std::thread::scope(|scope| {
                let work = |at| move || synthetic(dims, at as u64);
                let some: Vec<_> = numbers.map(|at| scope.spawn(work(at))).collect();
                some.into_iter().filter_map(|one| one.join().ok()).collect()
            }),
        };
        each(&some)?;
    }
    Ok(())
}

/// Computes the spectra of views, or opens those that an earlier run has stored.
fn spectra<T: Real>(arguments: &Arguments, distinct: usize) -> Result<Spectra<T>, Failure> {
    let dims = &arguments.dims;
    let is_store = arguments.command == "store";
    let mut builder = match &arguments.file {
        None => Spectra::<T>::builder(dims)?,
        Some(path) if is_store => {
            let mut open = std::fs::OpenOptions::new();
            let open = open.read(true).write(true).create(true).truncate(true);
            Spectra::<T>::builder_in(dims, open.open(path)?)?
        }
        Some(path) => return Ok(Spectra::open(std::fs::File::open(path)?)?),
    };
    views(arguments, distinct, |some| {
        Ok(builder.extend(some, &Job::default())?)
    })?;
    Ok(if is_store {
        builder.save::<&str>(&[])?
    } else {
        builder.finish()
    })
}

fn run<T: Real>(arguments: &Arguments, of: fn(f64) -> T) -> Result<(), Failure> {
    let dims = &arguments.dims;
    let filter = AxisFilter::new(&vec![1.0; dims.len()])?;
    if arguments.command == "forward" {
        let plan = Transform::<T>::new(dims)?;
        let mut typed = Vec::new();
        views(arguments, 2, |some| {
            typed.extend(
                some.iter()
                    .map(|view| view.iter().map(|value| of(*value)).collect()),
            );
            Ok(())
        })?;
        let second: &Vec<T> = typed.get(1).ok_or("there is one view")?;
        // As for FFTW: aligned to a cache line, and in arrays that were used before.
        let mut space = vec![T::default(); plan.len() + LINE];
        let view = on_line(&mut space, plan.len());
        view.copy_from_slice(second);
        let view = &*view;
        let mut lanes: Vec<_> = (0..arguments.threads)
            .map(|_| (vec![T::default(); plan.len() + LINE], plan.scratch()))
            .collect();
        let forward = |(out, scratch): &mut (Vec<T>, Scratch<T>)| -> Result<(), Failure> {
            Ok(plan.forward(view, on_line(out, view.len()), scratch)?)
        };
        lanes.iter_mut().try_for_each(forward)?;
        let timer = Meter::start();
        each(arguments, &mut lanes, |_, lane| forward(lane))?;
        return print(&timer, arguments, "");
    }
    let timer = Meter::start();
    let distinct = match arguments.command.as_str() {
        "correlate" => arguments.distinct.min(arguments.views) + 1,
        _ => arguments.views + 1,
    };
    let spectra = spectra::<T>(arguments, distinct)?;
    if arguments.command == "store" {
        return print(&timer, arguments, "");
    }
    let distinct = spectra.views().len();
    let reference = spectra
        .reference(0, &filter, &Job::default())?
        .ok_or("the reference does not vary")?;
    let timer = Meter::start();
    if arguments.command.starts_with("top10") {
        let prune = arguments.command == "top10";
        let params = RankParams::default().top(10).pearson(false).prune(prune);
        let list = spectra.rank(0, &filter, &params.check()?, &Job::default())?;
        // The hash differs unless the results are equal to the last bit.
        let mut hash = DefaultHasher::new();
        for found in &list.matches {
            let peaks = [found.peak, found.correlation.max, found.correlation.min];
            let bits = peaks.map(|peak| (peak.r.to_bits(), peak.at));
            (found.view, bits).hash(&mut hash);
        }
        let first = list.matches.first().ok_or("nothing was found")?;
        eprintln!("{} of {} transforms", list.transforms, arguments.views);
        let answer = format!(
            " best={}:{:.6} list={:016x}",
            first.view,
            first.r(),
            hash.finish()
        );
        return print(&timer, arguments, &answer);
    }
    let best = std::sync::Mutex::new(0.0f64);
    let mut lanes = vec![(); arguments.threads];
    each(arguments, &mut lanes, |at, ()| {
        let result = spectra.correlate(&reference, 1 + at % (distinct - 1), &Job::default())?;
        let mut best = best.lock().map_err(|_| "a thread panicked")?;
        *best = best.max(result.best().r.abs());
        Ok(())
    })?;
    let best = best.into_inner().map_err(|_| "a thread panicked")?;
    print(&timer, arguments, &format!(" best={best:.3}"))
}

/// More numbers than fit into a cache line.
const LINE: usize = 16;

/// Returns `len` numbers of a longer slice, starting at a cache line.
fn on_line<T: Real>(space: &mut [T], len: usize) -> &mut [T] {
    let start = space.as_ptr().align_offset(64).min(LINE);
    &mut space[start..start + len]
}

/// Runs `work` on each view, on one thread for each lane.
fn each<L: Send>(
    arguments: &Arguments,
    lanes: &mut [L],
    work: impl Fn(usize, &mut L) -> Result<(), Failure> + Sync,
) -> Result<(), Failure> {
    let next = AtomicUsize::new(0);
    let run = |lane: &mut L| {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= arguments.views {
                return Ok(());
            }
            work(at, lane)?;
        }
    };
    std::thread::scope(|scope| {
        let run = &run;
        let lanes = lanes.iter_mut();
        let lanes: Vec<_> = lanes.map(|lane| scope.spawn(move || run(lane))).collect();
        lanes.into_iter().try_for_each(|lane| match lane.join() {
            Ok(result) => result,
            Err(_) => Err("a thread panicked".into()),
        })
    })
}

fn print(meter: &Meter, arguments: &Arguments, extra: &str) -> Result<(), Failure> {
    println!("views={}{extra} {}", arguments.views, meter.costs());
    match (arguments.memory, peak_memory()) {
        (Some(most), Some(peak)) if peak > most * 1000 => {
            Err(format!("{peak} KiB of memory, where {most} MB should do").into())
        }
        _ => Ok(()),
    }
}
