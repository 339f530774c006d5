//! Power of the detectors: false alarms of calls of stationary and changing functions, and recall
//! of single planted calls by their size.

use crate::common;

use common::{Random, call};
use perf_anomaly::{Copod, Detector, Hbos, Judgement, Sstd, Tail};
use perf_core::Job;

/// Numbers of calls before the planted one.
const CALLS: [usize; 3] = [200, 2_000, 20_000];
/// Runs of each shape.
const SEEDS: u64 = 10;

/// State of a generator of run times.
struct Source {
    random: Random,
    /// Number of calls so far.
    at: usize,
    /// Number of calls in all.
    of: usize,
    /// Previous value of an autoregressive process.
    level: f64,
}

impl Source {
    fn new(seed: u64, of: usize) -> Self {
        let mut random = Random::new(seed);
        let level = random.normal();
        Source {
            random,
            at: 0,
            of,
            level,
        }
    }

    /// Returns a standard normal number with the given correlation to the previous one.
    fn correlated(&mut self, correlation: f64) -> f64 {
        let new = self.random.normal() * (1.0 - correlation * correlation).sqrt();
        self.level = correlation * self.level + new;
        self.level
    }

    fn part(&self) -> f64 {
        self.at as f64 / self.of as f64
    }
}

/// Planted calls of a shape.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Planted {
    /// A number of deviations above the mean: 10, 7 and 6 for the numbers of [`CALLS`].
    Deviations { mean: f64, deviation: f64 },
    /// A run time in nanoseconds.
    At(f64),
    /// None: the shape changes, or its calls depend on each other.
    Nothing,
}

/// Name of a shape, its planted calls, and a run time in nanoseconds.
type Shape = (&'static str, Planted, fn(&mut Source) -> f64);

/// Run times in nanoseconds; those of a clock with a tick of 1 us are multiples of it.
fn whole(nanos: f64) -> f64 {
    1000.0 * (nanos / 1000.0).round().max(0.0)
}

/// Returns a gamma distributed number with mean 4 and deviation 2.
fn gamma(random: &mut Random) -> f64 {
    -(0..4).map(|_| random.unit().ln()).sum::<f64>()
}

/// Shapes; planted calls of the heavy ones, and of gamma distributed times, have a probability of
/// 1e-7.
const SHAPES: [Shape; 18] = [
    ("normal, 10 %", deviations(1e6, 1e5), |s| {
        1e6 + 1e5 * s.random.normal()
    }),
    ("normal, 1 %", deviations(1e7, 1e5), |s| {
        1e7 + 1e5 * s.random.normal()
    }),
    ("lognormal, 0.1", deviations(1.005e6, 1.0076e5), |s| {
        1e6 * (0.1 * s.random.normal()).exp()
    }),
    ("two modes", deviations(2e6, 4e4), |s| {
        [1e6, 2e6][s.random.below(2) as usize] * (1.0 + 0.02 * s.random.normal())
    }),
    ("two modes, 1 in 20", Planted::At(2e7), |s| {
        let usual = if s.random.below(20) == 0 { 8e6 } else { 1e6 };
        usual * (1.0 + 0.02 * s.random.normal())
    }),
    ("constant, 10 to 6 ticks", deviations(1e5, 1e3), |_| 1e5),
    ("lognormal, 0.3", Planted::At(1e6 * 4.755), |s| {
        1e6 * (0.3 * s.random.normal()).exp()
    }),
    ("lognormal, 1", Planted::At(1e6 * 181.3), |s| {
        1e6 * s.random.normal().exp()
    }),
    ("Pareto, 1.5", Planted::At(1e6 * 46_416.0), |s| {
        1e6 * s.random.unit().powf(-1.0 / 1.5)
    }),
    ("gamma of 40 us, ticks", Planted::At(2.4e5), |s| {
        whole(1e4 * gamma(&mut s.random))
    }),
    ("gamma of 2 us, ticks", Planted::At(5e4), |s| {
        whole(500.0 * gamma(&mut s.random))
    }),
    ("0 or 1 us", Planted::At(5e4), |s| {
        1000.0 * s.random.below(2) as f64
    }),
    ("drift by 50 %", Planted::Nothing, |s| {
        1e6 * (1.0 + 0.5 * s.part() + 0.05 * s.random.normal())
    }),
    ("autocorrelated, 0.9", Planted::Nothing, |s| {
        1e6 * (1.0 + 0.05 * s.correlated(0.9))
    }),
    ("autocorrelated, 0.999", Planted::Nothing, |s| {
        1e6 * (1.0 + 0.05 * s.correlated(0.999))
    }),
    ("slow sine", Planted::Nothing, |s| {
        let wave = (std::f64::consts::TAU * s.part()).sin();
        1e6 * (1.0 + 0.3 * wave + 0.02 * s.random.normal())
    }),
    ("step by 30 %", Planted::Nothing, |s| {
        1e6 * ([1.0, 1.3][usize::from(s.part() > 0.5)] + 0.05 * s.random.normal())
    }),
    ("bursts of 50 in 500", Planted::Nothing, |s| {
        1e6 * ([1.0, 2.0][usize::from(s.at % 500 >= 450)] + 0.05 * s.random.normal())
    }),
];

const fn deviations(mean: f64, deviation: f64) -> Planted {
    Planted::Deviations { mean, deviation }
}

/// Judges the calls of a source, and returns the numbers of slow and of other alarms.
fn alarms(detector: &mut dyn Detector, source: &mut Source, shape: &Shape) -> usize {
    let (mut judgements, mut batch) = (Vec::new(), Vec::new());
    let mut alarms = 0;
    while source.at < source.of {
        batch.clear();
        judgements.clear();
        while source.at < source.of && batch.len() < 1000 {
            batch.push(call(0, shape.2(source)));
            source.at += 1;
        }
        detector
            .detect(&batch, &mut judgements, &Job::default())
            .expect("not cancelled");
        alarms += count(&judgements);
    }
    alarms
}

fn count(judgements: &[Judgement]) -> usize {
    judgements
        .iter()
        .filter(|one| one.label.is_anomaly())
        .count()
}

/// ECOD of one variable (Li et al., 2022) as a streaming detector: a call is abnormal if at most
/// one earlier call in a thousand is at least as far out.
#[derive(Debug, Default)]
struct Ecod(Vec<i64>);

impl Ecod {
    fn judge(&mut self, runtime: i64) -> bool {
        let (below, until) = (
            self.0.partition_point(|one| *one < runtime),
            self.0.partition_point(|one| *one <= runtime),
        );
        let outer = until.min(self.0.len() - below) + 1;
        self.0.insert(until, runtime);
        outer * 1000 <= self.0.len()
    }
}

/// Recall of a planted call in 10 runs, and alarms of the calls before.
#[derive(Clone, Copy, Debug, Default)]
struct Power {
    found: usize,
    alarms: usize,
}

fn power(shape: &Shape, calls: usize, size: f64, make: fn() -> Box<dyn Detector>) -> Power {
    let mut power = Power::default();
    for seed in 0..SEEDS {
        let mut detector = make();
        let mut source = Source::new(seed + 1 + 1000 * calls as u64, calls);
        power.alarms += alarms(&mut *detector, &mut source, shape);
        let mut one = Vec::new();
        detector
            .detect(&[call(0, size)], &mut one, &Job::default())
            .expect("not cancelled");
        power.found += count(&one);
    }
    power
}

fn power_of_ecod(shape: &Shape, calls: usize, size: f64) -> Power {
    let mut power = Power::default();
    for seed in 0..SEEDS {
        let mut ecod = Ecod::default();
        let mut source = Source::new(seed + 1 + 1000 * calls as u64, calls);
        while source.at < calls {
            let runtime = shape.2(&mut source);
            power.alarms += usize::from(ecod.judge(runtime as i64));
            source.at += 1;
        }
        power.found += usize::from(ecod.judge(size as i64));
    }
    power
}

/// Returns a number that a Poisson variable with this mean exceeds with a probability of about
/// 1/30,000.
fn most(expected: f64) -> f64 {
    expected + 4.0 * expected.sqrt() + 3.0
}

/// Prints the table of `docs/methods.md`.
#[test]
fn single_calls_are_found_and_false_alarms_are_few() {
    let detectors: [fn() -> Box<dyn Detector>; 4] = [
        || Box::new(Tail::default()),
        || Box::new(Sstd::new(Sstd::params().check().expect("defaults"))),
        || Box::new(Hbos::new(Sstd::params().check().expect("defaults"))),
        || Box::new(Copod::new(Sstd::params().check().expect("defaults"))),
    ];
    println!("| run times | calls | default | SSTD | HBOS | COPOD | ECOD |");
    println!("|---|---|---|---|---|---|---|");
    for shape in &SHAPES {
        let mut all = 0;
        for (calls, size) in CALLS.into_iter().zip([10.0, 7.0, 6.0]) {
            let planted = match shape.1 {
                Planted::Deviations { mean, deviation } => mean + size * deviation,
                Planted::At(runtime) => runtime,
                Planted::Nothing => 0.0,
            };
            let mut each: Vec<_> = detectors
                .iter()
                .map(|make| power(shape, calls, planted, *make))
                .collect();
            each.push(power_of_ecod(shape, calls, planted));
            let cells = each.iter().map(|one| match shape.1 {
                Planted::Nothing => format!("{}", one.alarms),
                _ => format!("{} ({})", one.found, one.alarms),
            });
            println!(
                "| {} | {calls} | {} |",
                shape.0,
                cells.collect::<Vec<_>>().join(" | ")
            );
            let one = each[0];
            all += one.alarms;
            let is_enough = match shape.1 {
                Planted::Deviations { .. } => one.found == SEEDS as usize,
                // 50 us after 200 calls of 0 or 1 us may be the first interrupt.
                Planted::At(5e4) if calls > 200 => one.found == SEEDS as usize,
                Planted::At(_) => calls < 20_000 || one.found == SEEDS as usize,
                Planted::Nothing => true,
            };
            assert!(is_enough, "{} after {calls} calls: {one:?}", shape.0);
        }
        // Sums over the three numbers of calls.
        let rate = 1e-5 * (SEEDS as usize * CALLS.iter().sum::<usize>()) as f64;
        let allowed = match shape.0 {
            // Two calls of each change are reported before it is known.
            "step by 30 %" | "bursts of 50 in 500" => rate + 5.0 * SEEDS as f64,
            _ if shape.1 == Planted::Nothing => 3.0 * rate,
            _ => rate,
        };
        assert!(all as f64 <= most(allowed), "{}: {all} alarms", shape.0);
    }
}

#[test]
fn the_rate_of_false_alarms_is_used() {
    // Ties at the tick of the clock have no rate, those of 0 or 1 us none at all.
    let is_continuous = |shape: &&Shape| match shape.1 {
        Planted::Nothing => false,
        _ => !shape.0.contains("tick") && !shape.0.contains("0 or 1"),
    };
    const CALLS: usize = 1_000_000;
    for shape in SHAPES.iter().filter(is_continuous) {
        let params = Tail::params().false_positives(100.0).check();
        let mut tail = Tail::new(params.expect("in range"));
        let alarms = alarms(&mut tail, &mut Source::new(77, CALLS), shape);
        println!("{}: {alarms} of 100 allowed", shape.0);
        assert!((24..=140).contains(&alarms), "{}: {alarms}", shape.0);
    }
}
