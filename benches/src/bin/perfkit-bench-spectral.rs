//! Times of the correlation of one view with many, as in Table 1 of the paper.
//!
//! `correlate SHAPE VIEWS f32|f64` runs product, inverse transform and extremes for each view;
//! `top10` the pruned search, `forward` the transforms of views, `disk` all of it from a file. Views are
//! synthetic: low modes, bands and noise. `--distinct D` of them (24) are cycled.

use perfkit::spectral::{AxisFilter, RankParams, Real, Spectra, Transform};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// What went wrong, for people.
type Failure = Box<dyn std::error::Error + Send + Sync>;

struct Arguments {
    command: String,
    dims: Vec<usize>,
    views: usize,
    threads: usize,
    distinct: usize,
    file: Option<String>,
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
    let file = option("--file");
    let [command, shape, views, kind] = words.as_slice() else {
        return Err("usage: correlate|top10|forward|disk SHAPE VIEWS f32|f64 [--threads T] [--distinct D] [--file F]".into());
    };
    let dims: Result<Vec<usize>, _> = shape.split('x').map(str::parse).collect();
    let arguments = Arguments {
        command: command.clone(),
        dims: dims?,
        views: views.parse()?,
        threads,
        distinct,
        file,
    };
    match kind.as_str() {
        "f32" => run::<f32>(&arguments, |value| value as f32),
        "f64" => run::<f64>(&arguments, |value| value),
        other => Err(format!("{other} is neither f32 nor f64").into()),
    }
}

fn run<T: Real>(arguments: &Arguments, of: fn(f64) -> T) -> Result<(), Failure> {
    let dims = &arguments.dims;
    let filter = AxisFilter::new(&vec![1.0; dims.len()])?;
    if arguments.command == "forward" {
        let plan = Transform::<T>::new(dims)?;
        let view: Vec<T> = synthetic(dims, 1).into_iter().map(of).collect();
        let timer = Timer::start();
        each(arguments, |_, (scratch, out)| {
            let out = out.get_or_insert_with(|| vec![T::default(); view.len()]);
            let scratch = scratch.get_or_insert_with(|| plan.scratch());
            Ok(plan.forward(&view, out, scratch)?)
        })?;
        return timer.print(arguments.views, "");
    }
    let distinct = match arguments.command.as_str() {
        "correlate" => arguments.distinct.min(arguments.views) + 1,
        _ => arguments.views + 1,
    };
    let mut builder = match &arguments.file {
        None => Spectra::<T>::builder(dims)?,
        Some(path) => {
            let mut open = std::fs::OpenOptions::new();
            let open = open.read(true).write(true).create(true).truncate(true);
            Spectra::<T>::builder_in(dims, open.open(path)?)?
        }
    };
    for number in 0..distinct {
        builder.extend(&[synthetic(dims, number as u64)])?;
    }
    let spectra = builder.finish();
    let reference = spectra
        .reference(0, &filter)?
        .ok_or("the reference does not vary")?;
    let timer = Timer::start();
    if arguments.command == "top10" {
        let params = RankParams::default().top(10).pearson(false).check()?;
        let list = spectra.rank(0, &filter, &params)?;
        let full = Timer::start();
        let extra = format!(
            " transforms={} best={:.6}",
            list.transforms,
            list.matches[0].r()
        );
        timer.print(arguments.views, &extra)?;
        let params = RankParams::default()
            .top(10)
            .pearson(false)
            .prune(false)
            .check()?;
        let all = spectra.rank(0, &filter, &params)?;
        full.print(
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
    timer.print(arguments.views, &format!(" best={best:.9}"))
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

/// Low modes, bands and noise, in parts that depend on the number.
fn synthetic(dims: &[usize], number: u64) -> Vec<f64> {
    let points: usize = dims.iter().product();
    let mut state = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let related = number.is_multiple_of(2);
    let noise = match number {
        0 => 0.3,
        _ if related => 0.2 + 4.0 * next(),
        _ => 1.0,
    };
    let (axis, phase) = (
        if related {
            0
        } else {
            number as usize % dims.len()
        },
        next(),
    );
    let below: usize = dims[axis + 1..].iter().product();
    let low = |x: usize| {
        let at = (x / below % dims[axis]) as f64 / dims[axis] as f64;
        ((at + phase) * std::f64::consts::TAU).sin()
    };
    (0..points)
        .map(|x| low(x) + noise * (next() - 0.5) + f64::from(u8::from(x % 64 < 8)) * 0.2)
        .collect()
}

struct Timer {
    wall: Instant,
    cpu: f64,
}

impl Timer {
    fn start() -> Self {
        Timer {
            wall: Instant::now(),
            cpu: cpu(),
        }
    }

    fn print(&self, views: usize, extra: &str) -> Result<(), Failure> {
        let (wall, cpu) = (self.wall.elapsed().as_secs_f64(), cpu() - self.cpu);
        println!(
            "views={views} cpu_s={cpu:.3} wall_s={wall:.3} rss_kb={}{extra}",
            most_memory()
        );
        Ok(())
    }
}

/// CPU seconds of this process (Linux).
fn cpu() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = text.rsplit(')').next().unwrap_or_default();
    let ticks = after.split_whitespace().skip(11).take(2);
    ticks
        .filter_map(|word| word.parse::<f64>().ok())
        .sum::<f64>()
        / 100.0
}

/// Most memory ever resident, in KiB (Linux).
fn most_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let word = line.and_then(|line| line.split_whitespace().next());
    word.and_then(|word| word.parse().ok()).unwrap_or(0)
}
