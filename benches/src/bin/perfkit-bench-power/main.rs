//! Measures the power of anomaly detectors: recall of planted calls and false alarms, by shape of
//! the run times, number of calls and size of the planted call. Writes `docs/power.md` and its
//! pictures.
//!
//! The isolation forest of a library draws its random numbers without a seed, so that its columns
//! change a little from run to run.

mod detectors;
mod page;
mod picture;
mod programs;

use detectors::{DETECTORS, Peer};
use perf_testdata::run_times::{HEAVY_SHAPES, Planted, SHAPES, Shape, Source};
use perfkit::anomaly::{Detector, FunctionId, Sample, Tail};
use perfkit::core::{Job, Nanos};
use perfkit_benches::Outcome;
use rayon::prelude::*;
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "usage: perfkit-bench-power RUNS DOCS";

/// Numbers of calls that a detector learns.
const CALLS: [usize; 3] = [200, 2_000, 20_000];
/// Number of normal calls that are judged in each run.
const JUDGED: usize = 2_000;

/// Results of one detector for a shape and a number of calls.
#[derive(Clone, Debug, Default)]
struct Measured {
    /// Scores of normal calls, in descending order.
    normal: Vec<f64>,
    /// Number of normal calls that are labelled abnormal.
    alarms: usize,
    /// Scores of planted calls, and labels, for each size.
    planted: Vec<Vec<(f64, bool)>>,
}

impl Measured {
    fn merge(mut self, other: Measured) -> Measured {
        self.normal.extend(other.normal);
        self.alarms += other.alarms;
        self.planted
            .resize(self.planted.len().max(other.planted.len()), Vec::new());
        for (own, theirs) in self.planted.iter_mut().zip(other.planted) {
            own.extend(theirs);
        }
        self
    }

    /// Returns the false alarms per million calls at the threshold of the detector.
    fn false_alarms(&self) -> f64 {
        1e6 * self.alarms as f64 / self.normal.len().max(1) as f64
    }

    /// Returns the share of planted calls of a size that are labelled abnormal.
    fn recall(&self, size: usize) -> f64 {
        let planted = &self.planted[size];
        let found = planted.iter().filter(|(_, is_abnormal)| *is_abnormal);
        found.count() as f64 / planted.len().max(1) as f64
    }

    /// Returns the share of planted calls of a size that are found with a threshold of the score that
    /// at most `alarms` normal calls exceed.
    fn recall_at(&self, size: usize, alarms: usize) -> f64 {
        let planted = &self.planted[size];
        let threshold = self.normal.get(alarms).copied();
        let threshold = threshold.unwrap_or(f64::NEG_INFINITY);
        let found = planted.iter().filter(|(score, _)| *score > threshold);
        found.count() as f64 / planted.len().max(1) as f64
    }
}

/// Results of all detectors for a shape and a number of calls.
#[derive(Debug)]
struct Row {
    shape: &'static Shape,
    calls: usize,
    /// Sizes of planted calls.
    sizes: Vec<f64>,
    /// Results in the order of [`DETECTORS`].
    each: Vec<Measured>,
}

impl Row {
    /// Returns the number of the usual size of a planted call.
    fn usual(&self) -> usize {
        let usual = self.shape.usual(self.calls);
        self.sizes
            .iter()
            .position(|size| *size == usual)
            .unwrap_or(0)
    }
}

/// Returns the sizes of planted calls in ascending order.
fn sizes(shape: &Shape) -> Vec<f64> {
    match shape.planted {
        Planted::Deviations { .. } => vec![3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 14.0, 20.0],
        Planted::Probability(_) => (4..=12).map(f64::from).collect(),
        Planted::Micros { usual } => [0.5, 0.6, 0.8, 1.0, 1.4, 2.0, 4.0, 8.0]
            .map(|factor| factor * usual)
            .to_vec(),
        Planted::Nothing => Vec::new(),
    }
}

fn call(runtime: f64) -> Sample {
    call_of(0, runtime)
}

/// Returns a call of a function.
fn call_of(function: u32, runtime: f64) -> Sample {
    Sample {
        function: FunctionId(function),
        runtime: Nanos(runtime.max(0.0) as i64),
        first: false,
    }
}

/// Returns the false alarms of the default detector in a million calls of functions with this number of
/// calls each: among all calls from the first one on, and among a tenth as many calls that follow.
fn heavy(shape: &Shape, calls: usize, runs: u64) -> [f64; 2] {
    // As many calls for each number of calls.
    let runs = runs * (CALLS[2] / calls) as u64;
    let following = calls / 10;
    let alarms = (0..runs).into_par_iter().map(|seed| {
        let mut source = Source::new(seed + 1, calls + following);
        let mut tail = Tail::default();
        [calls, following].map(|calls| {
            let samples: Vec<_> = (0..calls).map(|_| call(source.next(shape))).collect();
            let mut judgements = Vec::new();
            tail.detect(&samples, &mut judgements, &Job::default())
                .expect("not cancelled");
            let alarms = judgements.iter().filter(|one| one.label.is_anomaly());
            alarms.count()
        })
    });
    let [first, next] = alarms.reduce(
        || [0; 2],
        |one, other| [one[0] + other[0], one[1] + other[1]],
    );
    let rate = |alarms: usize, calls: usize| 1e6 * alarms as f64 / (runs * calls as u64) as f64;
    [rate(first, calls), rate(next, following)]
}

/// Lets a detector learn calls and judge normal and planted ones.
fn measure(shape: &Shape, calls: usize, seed: u64, make: fn() -> Box<dyn Peer>) -> Measured {
    let mut peer = make();
    let mut source = Source::new(seed + 1, calls);
    let learned: Vec<_> = (0..calls).map(|_| call(source.next(shape))).collect();
    peer.learn(&learned);
    let mut measured = Measured::default();
    // The knowledge stays about the same: a tenth of the calls is judged at a time.
    let at_a_time = (calls / 10).min(JUDGED);
    for _ in 0..JUDGED / at_a_time {
        let calls: Vec<_> = (0..at_a_time).map(|_| call(source.next(shape))).collect();
        for (score, is_abnormal) in peer.judge(&calls) {
            measured.normal.push(score);
            measured.alarms += usize::from(is_abnormal);
        }
    }
    for size in sizes(shape) {
        let planted = peer.judge(&[call(shape.runtime(size))]);
        measured.planted.push(planted);
    }
    measured
}

fn main() -> ExitCode {
    perfkit_benches::main(USAGE, run)
}

fn run(args: &[String]) -> Outcome<String> {
    let [runs, docs] = args else {
        return Err("a number of runs and a folder, please".into());
    };
    let runs: u64 = runs.parse()?;
    let mut rows = Vec::new();
    for shape in &SHAPES {
        if matches!(shape.planted, Planted::Nothing) {
            continue;
        }
        for calls in CALLS {
            let each = DETECTORS.map(|(_, make)| {
                let all = (0..runs).into_par_iter();
                let all = all.map(|seed| measure(shape, calls, seed, make));
                let mut measured = all.reduce(Measured::default, Measured::merge);
                measured.normal.sort_unstable_by(|a, b| b.total_cmp(a));
                measured
            });
            rows.push(Row {
                shape,
                calls,
                sizes: sizes(shape),
                each: each.into(),
            });
        }
    }
    let docs = Path::new(docs);
    let heavy = HEAVY_SHAPES.iter().map(|shape| {
        let rates = CALLS.map(|calls| heavy(shape, calls, runs));
        (shape.name, rates)
    });
    let programs = programs::section(runs);
    let text = page::text(&rows, &heavy.collect::<Vec<_>>(), &programs, runs);
    std::fs::write(docs.join("power.md"), &text)?;
    for (name, scene) in [
        ("power-alarms.svg", picture::by_alarms(&rows)),
        ("power-sizes.svg", picture::by_size(&rows)),
    ] {
        std::fs::write(docs.join("pictures").join(name), scene.svg())?;
    }
    Ok(text)
}
