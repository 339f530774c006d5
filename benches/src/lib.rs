//! Costs of work ([`Meter`], [`Stretches`], [`peak_memory`]) and the [`main()`] function of
//! measuring programs; submodules hold generated inputs, fitted growth of costs and its pictures.

pub mod curves;
pub mod inputs;
pub mod scaling;
pub mod stream;

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Outcome of a measuring program.
pub type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Runs a measuring program with the words of its command line, and prints its line, or its error and its usage.
pub fn main<E: std::fmt::Display>(
    usage: &str,
    run: impl FnOnce(&[String]) -> Result<String, E>,
) -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}\n\n{usage}");
            ExitCode::FAILURE
        }
    }
}

/// Meter of the costs of work in this process.
#[derive(Debug)]
pub struct Meter {
    wall: Instant,
    cpu: cpu_time::ProcessTime,
}

impl Meter {
    /// Starts the measurement.
    pub fn start() -> Self {
        Meter {
            wall: Instant::now(),
            cpu: cpu_time::ProcessTime::now(),
        }
    }

    /// Returns `cpu_s=.. wall_s=.. rss_kb=..`: CPU time of all threads and wall time since the
    /// start in seconds, and the peak memory of the process in KiB (0 if the system does not report
    /// it).
    pub fn costs(&self) -> String {
        let (cpu, wall) = (self.cpu.elapsed(), self.wall.elapsed());
        let mut line = String::new();
        // Writing to a string does not fail.
        let _ = write!(
            line,
            "cpu_s={:.6} wall_s={:.6}",
            cpu.as_secs_f64(),
            wall.as_secs_f64()
        );
        let _ = write!(line, " rss_kb={}", peak_memory().unwrap_or_default());
        line
    }
}

/// Costs of several pieces of work, without the time between them.
///
/// ```
/// let mut stretches = perfkit_benches::Stretches::default();
/// assert_eq!(stretches.measure(|| 1 + 1), 2);
/// assert!(stretches.costs(1).starts_with("cpu_s=0.0"));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Stretches {
    cpu: Duration,
    wall: Duration,
}

impl Stretches {
    /// Runs and measures one more piece of work.
    pub fn measure<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let (wall, cpu) = (Instant::now(), cpu_time::ProcessTime::now());
        let done = work();
        self.cpu += cpu.elapsed();
        self.wall += wall.elapsed();
        done
    }

    /// Returns the costs in the format of [`Meter::costs`], divided by `times`, the number of
    /// repetitions of the same work.
    pub fn costs(&self, times: u32) -> String {
        let each = |all: Duration| all.as_secs_f64() / f64::from(times.max(1));
        format!(
            "cpu_s={:.9} wall_s={:.9} rss_kb={}",
            each(self.cpu),
            each(self.wall),
            peak_memory().unwrap_or_default()
        )
    }
}

/// Returns the peak memory of the process in KiB. Only Linux reports it without system calls, in
/// `/proc`.
pub fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}
