//! Measures the time from a cancellation to the end of the work, for analyses, readers and writers
//! on large generated input.
//!
//! `perfkit-bench-cancel [CANCELS] [WORD]...` runs each piece of work whose name contains one of
//! the words (all without words) on large generated input. It first runs to its end. Then it runs
//! CANCELS (20) times and is cancelled at a random point of one of as many equal parts of that
//! time. Prints one line for each: the time of the complete run, the number of runs that were
//! cancelled before their end, and the longest time from the cancellation to the return.

mod files;
mod points;
mod spectra;
mod traces;

use perf_testdata::xorshift::Xorshift;
use perfkit::core::Job;
use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Cancellable work with its input.
pub(crate) type Work = Box<dyn Fn(&Job) -> Result<(), Box<dyn Error>> + Send + Sync>;

/// Function that generates the input of a piece of work.
pub(crate) type Make = fn() -> Result<Work, Box<dyn Error>>;

/// Measurements of one piece of work.
struct Seen {
    whole: Duration,
    stopped: u32,
    worst: Duration,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}\n\nusage: perfkit-bench-job [CANCELS] [WORD]...");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let cancels = words.first().and_then(|word| word.parse().ok());
    if cancels.is_some() {
        words.remove(0);
    }
    let cancels = cancels.unwrap_or(20);
    let is_wanted =
        |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word.as_str()));
    let all = [traces::ALL, points::ALL, spectra::ALL, files::ALL];
    println!("| work | whole s | stopped | longest ms |\n|---|---|---|---|");
    for (name, make) in all.into_iter().flatten() {
        if !is_wanted(name) {
            continue;
        }
        let seen = measure(&make()?, cancels)?;
        println!(
            "| {name} | {:.2} | {} of {cancels} | {:.1} |",
            seen.whole.as_secs_f64(),
            seen.stopped,
            seen.worst.as_secs_f64() * 1e3
        );
    }
    Ok(())
}

fn measure(work: &Work, cancels: u32) -> Result<Seen, Box<dyn Error>> {
    let begun = Instant::now();
    work(&Job::default())?;
    let mut seen = Seen {
        whole: begun.elapsed(),
        stopped: 0,
        worst: Duration::ZERO,
    };
    let mut random = Xorshift::new(7);
    for part in 0..cancels {
        let place = f64::from(part) + random.below(1_000) as f64 / 1e3;
        let after = seen.whole.mul_f64(place / f64::from(cancels.max(1)));
        let (is_stopped, late) = cancelled(work, after)?;
        seen.stopped += u32::from(is_stopped);
        seen.worst = seen.worst.max(late);
    }
    Ok(seen)
}

/// Returns `true` if the work was cancelled, and the time from the cancellation to the return,
/// which is zero if the work returned before it.
fn cancelled(work: &Work, after: Duration) -> Result<(bool, Duration), Box<dyn Error>> {
    let job = Job::default();
    let own = job.clone();
    let (result, done, at) = std::thread::scope(|scope| {
        let canceller = scope.spawn(move || {
            std::thread::sleep(after);
            let at = Instant::now();
            own.cancel();
            at
        });
        let result = work(&job).map_err(|error| error.to_string());
        (result, Instant::now(), canceller.join())
    });
    let at = at.map_err(|_| "the thread that cancels is gone")?;
    let late = done.saturating_duration_since(at);
    match result {
        Ok(()) => Ok((false, late)),
        Err(error) if error == "cancelled" => Ok((true, late)),
        Err(error) => Err(error.into()),
    }
}
