//! Times of the correlation of one view with many, as in Table 1 of the paper.
//!
//! `correlate SHAPE VIEWS f32|f64` runs product, inverse transform and extremes for each view;
//! `top10` the pruned search and the whole one, `forward` the transforms of views. Views are synthetic: low
//! modes, bands and noise, half of them related to the first. `--distinct D` of them (24) are cycled.
//!
//! `generate FILE SHAPE VIEWS` writes such views as doubles, which `--views FILE` reads: what another
//! program correlates, too. `store FILE SHAPE VIEWS f32|f64` keeps their spectra in a file, and `--file FILE`
//! correlates or searches what a run before has kept.

use perfkit::spectral::{AxisFilter, RankParams, Real, Spectra, Transform};
use perfkit_benches::Meter;
use perfkit_benches::inputs::synthetic;
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What went wrong, for people.
type Failure = Box<dyn std::error::Error + Send + Sync>;

struct Arguments {
    command: String,
    dims: Vec<usize>,
    views: usize,
    threads: usize,
    distinct: usize,
    file: Option<String>,
    given: Option<String>,
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
    if let [command, path, shape, views] = words.as_slice()
        && command == "generate"
    {
        return generate(path, &lengths(shape)?, views.parse()?);
    }
    if words.len() == 5 && words[0] == "store" {
        file = Some(words.remove(1));
    }
    let [command, shape, views, kind] = words.as_slice() else {
        return Err("usage: correlate|top10|forward SHAPE VIEWS f32|f64 [--threads T] [--distinct D] [--views FILE] [--file FILE]
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

/// Views as doubles, little-endian, one after the other.
fn generate(path: &str, dims: &[usize], views: usize) -> Result<(), Failure> {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
    for number in 0..views as u64 {
        for value in synthetic(dims, number) {
            file.write_all(&value.to_le_bytes())?;
        }
    }
    Ok(file.flush()?)
}

/// Views of a file, or synthetic ones.
fn views(arguments: &Arguments, count: usize) -> Result<Vec<Vec<f64>>, Failure> {
    let dims = &arguments.dims;
    let points: usize = dims.iter().product();
    let Some(path) = &arguments.given else {
        return Ok((0..count as u64)
            .map(|number| synthetic(dims, number))
            .collect());
    };
    let bytes = std::fs::read(path)?;
    let numbers = bytes.as_chunks::<8>().0.iter();
    let values: Vec<f64> = numbers.map(|bytes| f64::from_le_bytes(*bytes)).collect();
    Ok(values.chunks_exact(points).map(<[f64]>::to_vec).collect())
}

/// The spectra of views, or those that a run before has kept.
fn spectra<T: Real>(arguments: &Arguments, distinct: usize) -> Result<Spectra<T>, Failure> {
    let dims = &arguments.dims;
    match &arguments.file {
        None => {
            let mut builder = Spectra::<T>::builder(dims)?;
            builder.extend(&views(arguments, distinct)?)?;
            Ok(builder.finish())
        }
        Some(path) if arguments.command == "store" => {
            let mut open = std::fs::OpenOptions::new();
            let open = open.read(true).write(true).create(true).truncate(true);
            let mut builder = Spectra::<T>::builder_in(dims, open.open(path)?)?;
            // As many at a time as there are threads: memory is what is looked at here.
            for start in (0..distinct).step_by(arguments.threads) {
                let numbers = start..distinct.min(start + arguments.threads);
                let some: Vec<Vec<f64>> = std::thread::scope(|scope| {
                    let work = |at| move || synthetic(dims, at as u64);
                    let some: Vec<_> = numbers.map(|at| scope.spawn(work(at))).collect();
                    some.into_iter().filter_map(|one| one.join().ok()).collect()
                });
                builder.extend(&some)?;
            }
            Ok(builder.save::<&str>(&[])?)
        }
        Some(path) => Ok(Spectra::open(std::fs::File::open(path)?)?),
    }
}

fn run<T: Real>(arguments: &Arguments, of: fn(f64) -> T) -> Result<(), Failure> {
    let dims = &arguments.dims;
    let filter = AxisFilter::new(&vec![1.0; dims.len()])?;
    if arguments.command == "forward" {
        let plan = Transform::<T>::new(dims)?;
        let views = views(arguments, 2)?;
        // As FFTW's: on a cache line.
        let mut space = vec![T::default(); plan.len() + LINE];
        let view = on_line(&mut space, plan.len());
        for (to, value) in view.iter_mut().zip(&views[1]) {
            *to = of(*value);
        }
        let view = &*view;
        let timer = Meter::start();
        each(arguments, |_, (scratch, out)| {
            let out = out.get_or_insert_with(|| vec![T::default(); view.len() + LINE]);
            let scratch = scratch.get_or_insert_with(|| plan.scratch());
            Ok(plan.forward(view, on_line(out, view.len()), scratch)?)
        })?;
        return print(&timer, arguments.views, "");
    }
    let timer = Meter::start();
    let distinct = match arguments.command.as_str() {
        "correlate" => arguments.distinct.min(arguments.views) + 1,
        _ => arguments.views + 1,
    };
    let spectra = spectra::<T>(arguments, distinct)?;
    if arguments.command == "store" {
        return print(&timer, arguments.views, "");
    }
    let distinct = spectra.views().len();
    let reference = spectra
        .reference(0, &filter)?
        .ok_or("the reference does not vary")?;
    let timer = Meter::start();
    if arguments.command == "top10" {
        let params = RankParams::default().top(10).pearson(false).check()?;
        let list = spectra.rank(0, &filter, &params)?;
        let full = Meter::start();
        let extra = format!(
            " transforms={} best={:.6}",
            list.transforms,
            list.matches[0].r()
        );
        print(&timer, arguments.views, &extra)?;
        let params = RankParams::default()
            .top(10)
            .pearson(false)
            .prune(false)
            .check()?;
        let all = spectra.rank(0, &filter, &params)?;
        print(
            &full,
            arguments.views,
            &format!(" exhaustive equal={}", all.matches == list.matches),
        )?;
        return Ok(());
    }
    let best = std::sync::Mutex::new(0.0f64);
    each(arguments, |at, _: &mut (Option<()>, Option<()>)| {
        let result = spectra.correlate(&reference, 1 + at % (distinct - 1))?;
        let mut best = best.lock().map_err(|_| "a thread panicked")?;
        *best = best.max(result.best().r.abs());
        Ok(())
    })?;
    let best = best.into_inner().map_err(|_| "a thread panicked")?;
    print(&timer, arguments.views, &format!(" best={best:.3}"))
}

/// More than there is in a cache line.
const LINE: usize = 16;

/// Numbers of a longer slice from where a cache line starts.
fn on_line<T: Real>(space: &mut [T], len: usize) -> &mut [T] {
    let start = space.as_ptr().align_offset(64).min(LINE);
    &mut space[start..start + len]
}

/// `work` on each view, on all threads.
fn each<A, B>(
    arguments: &Arguments,
    work: impl Fn(usize, &mut (Option<A>, Option<B>)) -> Result<(), Failure> + Sync,
) -> Result<(), Failure> {
    let next = AtomicUsize::new(0);
    let lane = || {
        let mut space = (None, None);
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= arguments.views {
                return Ok(());
            }
            work(at, &mut space)?;
        }
    };
    std::thread::scope(|scope| {
        let lanes: Vec<_> = (0..arguments.threads).map(|_| scope.spawn(lane)).collect();
        lanes.into_iter().try_for_each(|lane| match lane.join() {
            Ok(result) => result,
            Err(_) => Err("a thread panicked".into()),
        })
    })
}

fn print(meter: &Meter, views: usize, extra: &str) -> Result<(), Failure> {
    println!("views={views}{extra} {}", meter.costs());
    Ok(())
}
