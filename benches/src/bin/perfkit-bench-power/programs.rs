//! Programs of many functions: recall and false alarms of the default detector, which learns the
//! shapes of tails from all functions of a program.

use crate::{JUDGED, call_of};
use perf_testdata::run_times::{HEAVY_SHAPES, Planted, SHAPES, Shape, Source};
use perfkit::anomaly::{Detector, Judgement, Sample, Tail};
use perfkit::core::Job;
use rayon::prelude::*;
use std::fmt::Write as _;

/// Numbers of functions of a program.
const FUNCTIONS: [usize; 3] = [1, 10, 50];
/// Numbers of calls of each function.
const CALLS: [usize; 2] = [200, 2_000];
/// Number of calls of each function in a step.
const STEP: usize = 20;
/// Number of functions that are measured for each run of the benchmark.
const MEASURED: u64 = 20;
/// Sizes between which the threshold of a detector lies: negative decimal logarithms of probabilities.
const SIZES: (f64, f64) = (2.0, 12.0);
/// Number of functions of the other kind in a program with one function of a different kind.
const OTHERS: usize = 30;
/// Shapes of programs whose functions are all alike.
const ALIKE: [&str; 10] = [
    "normal, 10 %",
    "normal, 1 %",
    "lognormal, 0.1",
    "two modes",
    "lognormal, 0.3",
    "lognormal, 1",
    "Pareto, 1.5",
    "gamma of 40 us, ticks",
    "Student's t, 3 degrees, 5 %",
    "interrupts, 1 in 100",
];
/// Shapes of a function, and of the other functions of its program.
const DIFFERENT: [(&str, &str); 9] = [
    ("normal, 10 %", "Pareto, 1.5"),
    ("normal, 10 %", "Student's t, 3 degrees, 5 %"),
    ("lognormal, 0.1", "lognormal, 1"),
    ("lognormal, 0.1", "Student's t, 3 degrees, 5 %"),
    ("lognormal, 0.1", "interrupts, 1 in 100"),
    ("lognormal, 0.3", "Pareto, 1.5"),
    ("lognormal, 1", "normal, 10 %"),
    ("Pareto, 1.5", "gamma of 40 us, ticks"),
    ("Student's t, 3 degrees, 5 %", "normal, 10 %"),
];

/// Counts of calls and alarms.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// Planted calls, and those that are found.
    planted: [usize; 2],
    /// Normal calls, and those that are labelled abnormal, counted or expected.
    normal: [f64; 2],
}

impl Counts {
    fn merge(self, other: Counts) -> Counts {
        let (planted, normal) = (self.planted, self.normal);
        Counts {
            planted: [0, 1].map(|at| planted[at] + other.planted[at]),
            normal: [0, 1].map(|at| normal[at] + other.normal[at]),
        }
    }

    /// Returns recall and false alarms in a million calls, as text.
    fn text(&self) -> String {
        let alarms = 1e6 * self.normal[1] / self.normal[0].max(1.0);
        match self.planted {
            [0, _] => format!("- ({alarms:.0})"),
            [all, found] => format!("{:.2} ({alarms:.0})", found as f64 / all as f64),
        }
    }
}

fn shape(name: &str) -> &'static Shape {
    let mut all = SHAPES.iter().chain(&HEAVY_SHAPES);
    all.find(|shape| shape.name == name).expect("a known shape")
}

fn detect(tail: &mut Tail, samples: &[Sample]) -> [usize; 2] {
    let mut judgements = Vec::new();
    tail.detect(samples, &mut judgements, &Job::default())
        .expect("not cancelled");
    let is_alarm = |one: &&Judgement| one.label.is_anomaly();
    [samples.len(), judgements.iter().filter(is_alarm).count()]
}

/// Returns the probability of a slow call that is abnormal, for a shape whose quantiles are known.
fn rate(tail: &Tail, function: usize, shape: &Shape) -> f64 {
    let (mut low, mut high) = SIZES;
    for _ in 0..30 {
        let middle = f64::midpoint(low, high);
        let mut judgements = Vec::new();
        let call = call_of(function as u32, shape.runtime(middle));
        tail.rejudge(&[call], &mut judgements);
        if judgements.iter().any(|one| one.label.is_anomaly()) {
            high = middle;
        } else {
            low = middle;
        }
    }
    10_f64.powf(-high)
}

/// Lets a detector learn a program step by step, and then judge normal and planted calls of its first
/// `measured` functions.
fn measure(shapes: &[&Shape], measured: usize, calls: usize, seed: u64) -> Counts {
    let first = seed * shapes.len() as u64 + 1;
    let mut sources: Vec<_> = (0..shapes.len())
        .map(|at| Source::new(first + at as u64, calls))
        .collect();
    let mut tail = Tail::default();
    for _ in 0..calls / STEP {
        let functions = sources.iter_mut().zip(shapes).enumerate();
        let step = functions.flat_map(|(function, (source, shape))| {
            (0..STEP).map(move |_| call_of(function as u32, source.next(shape)))
        });
        let step: Vec<_> = step.collect();
        detect(&mut tail, &step);
    }
    let mut counts = Counts::default();
    let measured = || shapes.iter().enumerate().take(measured);
    let is_counted = |shape: &Shape| !matches!(shape.planted, Planted::Probability(_));
    // The knowledge stays about the same: a tenth of the calls is judged at a time.
    let at_a_time = (calls / 10).min(JUDGED);
    for _ in 0..JUDGED / at_a_time {
        let mut copy = tail.clone();
        for (function, shape) in measured().filter(|(_, shape)| is_counted(shape)) {
            let source = &mut sources[function];
            let next: Vec<_> = (0..at_a_time)
                .map(|_| call_of(function as u32, source.next(shape)))
                .collect();
            let normal = detect(&mut copy, &next).map(|count| count as f64);
            counts = counts.merge(Counts {
                normal,
                ..Counts::default()
            });
        }
    }
    for (function, shape) in measured() {
        if !is_counted(shape) {
            counts = counts.merge(Counts {
                normal: [1.0, rate(&tail, function, shape)],
                ..Counts::default()
            });
        }
        if !matches!(shape.planted, Planted::Nothing) {
            let runtime = shape.runtime(shape.usual(calls));
            let planted = detect(&mut tail.clone(), &[call_of(function as u32, runtime)]);
            counts = counts.merge(Counts {
                planted,
                ..Counts::default()
            });
        }
    }
    counts
}

/// Measures `programs` programs.
fn measure_all(shapes: &[&Shape], measured: usize, calls: usize, programs: u64) -> Counts {
    let all = (0..programs).into_par_iter();
    all.map(|seed| measure(shapes, measured, calls, seed))
        .reduce(Counts::default, Counts::merge)
}

/// Returns the section of the page.
pub(crate) fn section(runs: u64) -> String {
    let functions = runs * MEASURED;
    let mut page = format!(
        "
## Programs of many functions

The tables above have programs with one function. The detector learns the shapes of tails from all functions of a
program, so that it needs fewer calls of each. The next table has the recall of the default detector, and its false
alarms in a million calls, in programs of 1, 10 and 50 functions of the same shape. Calls are planted as above; each
cell has {functions} functions. Where planted calls have a probability of 1e-7, the probability of a call beyond the
threshold is known, and the table has its mean over the functions. The other numbers of false alarms are counted in
2,000 further normal calls of each function: where 10 in a million are expected, 7 to 13 are found.

| run times | calls | 1 function | 10 functions | 50 functions |
|---|---|---|---|---|
"
    );
    for name in ALIKE {
        for calls in CALLS {
            let _ = write!(page, "| {name} | {calls} |");
            for many in FUNCTIONS {
                let shapes = vec![shape(name); many];
                let counts = measure_all(&shapes, many, calls, functions / many as u64);
                let _ = write!(page, " {} |", counts.text());
            }
            page += "\n";
        }
    }
    let _ = write!(
        page,
        "
A function may differ from the others of its program. The next table has one function among {OTHERS} of another shape,
in {functions} programs. Functions learn only from those of about the same width. The weight of heavy tails falls to a
fifth at most, so that a heavy function among light ones has more false alarms than stated: Pareto times have three to
five times as many. Functions do not learn that tails are heavier than lognormal ones, so that Student's t and interrupts
do not become fewer alarms: otherwise calls of 10 deviations in a normal function of the same program would not be found.

| run times | {OTHERS} other functions | calls | alone | among the others |
|---|---|---|---|---|
"
    );
    for (own, others) in DIFFERENT {
        let mut shapes = vec![shape(own)];
        shapes.resize(1 + OTHERS, shape(others));
        let alone = measure_all(&shapes[..1], 1, CALLS[0], functions);
        let among = measure_all(&shapes, 1, CALLS[0], functions);
        let (alone, among) = (alone.text(), among.text());
        let _ = writeln!(
            page,
            "| {own} | {others} | {} | {alone} | {among} |",
            CALLS[0]
        );
    }
    page
}
