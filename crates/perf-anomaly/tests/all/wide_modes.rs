//! Slow calls of different run times, far above the usual ones of their function, with planted truths.

use crate::common;
use crate::several_causes::{Call, SEEDS, Size, USUAL, run};

use common::Random;
use perf_anomaly::lost_time::{Beginning, NewMode};
use perf_anomaly::{Monitor, Report};
use perf_core::{EventSink, Nanos, StreamEvent, StreamKey};

/// Shape of the factors of slow calls.
#[derive(Clone, Copy, Debug)]
enum Shape {
    /// Between two factors.
    Uniform(f64, f64),
    /// Median, and about the standard deviation of the logarithm.
    Log(f64, f64),
}

impl Shape {
    /// Returns the factor of a call, given a uniform random number.
    fn factor(self, chance: f64) -> f64 {
        match self {
            Shape::Uniform(from, to) => from + (to - from) * chance,
            Shape::Log(median, deviation) => {
                let logit = (chance.max(1e-9) / (1.0 - chance)).ln();
                median * (0.55 * deviation * logit).exp()
            }
        }
    }
}

/// Returns the sentences about the modes of a report.
fn sentences(report: &Report) -> Vec<String> {
    let (calls, ranks) = (&report.calls, &report.ranks);
    let causes = report
        .lasting
        .with_found(calls, ranks, |found| found.lasting());
    causes.into_iter().map(|cause| cause.sentence).collect()
}

/// Nine tenths of the time are found and no more than is planted, and a cause names the function, whatever the shape of
/// the slow calls, their share, and the steps and ranks in which they are.
#[test]
fn slow_calls_of_different_run_times_are_found_with_their_time() {
    use Shape::{Log, Uniform};
    let shapes = [
        Uniform(2.0, 6.0),
        Log(2.0, 0.5),
        Log(3.0, 0.3),
        Log(3.0, 0.5),
        Log(6.0, 0.5),
    ];
    let places = [(0, 8, 40, 8), (5, 8, 40, 8), (5, 64, 8, 64), (5, 8, 100, 1)];
    for shape in shapes {
        for (from, ranks, calls, of) in places {
            for share in [0.01, 0.03, 0.1] {
                let (mut sums, mut named) = ([0.0; 2], 0);
                let seeds = if ranks > 8 { SEEDS / 4 } else { SEEDS };
                for seed in 0..seeds {
                    let size = Size {
                        ranks,
                        calls,
                        ..USUAL
                    };
                    let (report, planted) = run(seed, size, Monitor::default(), |call| {
                        let is_place = call.step >= from && call.rank < of;
                        let is_slow = call.function == "norm" && is_place && call.chance < share;
                        let factor = || shape.factor(call.chance / share);
                        (1.0, if is_slow { factor() } else { 1.0 })
                    });
                    let lost = report.lost_time();
                    let found = lost.total().0 as f64;
                    sums = [sums[0] + found, sums[1] + planted[1]];
                    let modes = report.lasting.modes().found();
                    let names = modes.map(|mode| report.calls.function_name(mode.function));
                    let names: Vec<_> = names.collect();
                    assert!(names.iter().all(|name| name == "norm"), "{seed}: {names:?}");
                    named += u64::from(!names.is_empty());
                }
                let part = sums[0] / sums[1];
                println!("{shape:?} from {from} on {of} of {ranks}, {share}: {part:.3} {named}");
                assert!((0.9..1.05).contains(&part), "{shape:?} {from} {of} {share}");
                // On one rank, few of the calls are single calls.
                let is_few = of == 1 && share < 0.1;
                let is_named = 10 * named >= 8 * seeds && (share < 0.03 || named == seeds);
                assert!(is_named || is_few, "{shape:?} {from} {of} {share}");
            }
        }
    }
}

/// The sentence has the share of the calls, the range of their run times, and their steps.
#[test]
fn a_wide_mode_is_described_by_its_share_and_range() {
    let mut alone = 0;
    for seed in 0..SEEDS {
        let size = Size { calls: 40, ..USUAL };
        let (report, _) = run(seed, size, Monitor::default(), |call: Call| {
            let is_slow = call.function == "norm" && call.step >= 5 && call.chance < 0.03;
            let factor = Shape::Uniform(2.0, 6.0).factor(call.chance / 0.03);
            (1.0, if is_slow { factor } else { 1.0 })
        });
        let modes: Vec<&NewMode> = report.lasting.modes().found().collect();
        let [mode] = modes[..] else {
            // By chance, parts of the range look like modes of their own.
            continue;
        };
        alone += 1;
        assert_eq!(mode.beginning(), Beginning::Appeared, "{seed}");
        assert_eq!((mode.first, mode.last, mode.ranks), (5, 19, 8), "{seed}");
        assert!((1_950_000..2_050_000).contains(&mode.usual.0), "{seed}");
        let (from, to) = (mode.from.0 as f64 / 2e6, mode.to.0 as f64 / 2e6);
        assert!((1.7..2.3).contains(&from), "{seed}: {from}");
        assert!((5.6..7.0).contains(&to), "{seed}: {to}");
        let sentences = sentences(&report);
        let [sentence] = &sentences[..] else {
            panic!("{seed}: {sentences:?}")
        };
        let words = " % of the calls of norm took ";
        assert!(sentence.contains(words), "{sentence}");
        let rest = format!(
            " times as long as usual in steps 5 to 19: {} calls on 8 ranks, {} lost so far",
            mode.calls, mode.lost
        );
        assert!(sentence.ends_with(&rest), "{sentence}");
    }
    println!("{alone}");
    assert!(alone >= SEEDS - 2, "{alone}");
}

/// A mode of one run time keeps its factor if a few other calls take a little longer or shorter.
#[test]
fn a_mode_of_one_run_time_stays_apart_from_a_wide_one() {
    let (mut sums, mut apart) = ([0.0; 2], 0);
    for seed in 0..SEEDS {
        let size = Size { calls: 60, ..USUAL };
        let (report, planted) = run(seed, size, Monitor::default(), |call| {
            let factor = match call.chance {
                mode if mode < 0.03 => 2.0,
                wide if wide < 0.034 => Shape::Uniform(4.0, 20.0).factor((wide - 0.03) / 0.004),
                _ => 1.0,
            };
            (1.0, if call.function == "norm" { factor } else { 1.0 })
        });
        let mut modes = report.lasting.modes().found();
        let is_apart = |mode: &NewMode| (mode.factor() / 2.0 - 1.0).abs() < 0.06;
        apart += u64::from(modes.any(is_apart));
        let lost = report.lost_time();
        sums = [sums[0] + lost.total().0 as f64, sums[1] + planted[1]];
    }
    println!("{apart} {sums:?}");
    assert!(apart >= SEEDS - 1, "{apart}");
    assert!((0.93..1.05).contains(&(sums[0] / sums[1])), "{sums:?}");
}

/// Functions whose run times vary by a lot from the beginning have no mode: their long calls are usual. The same holds for
/// times of one or two ticks of the clock.
#[test]
fn run_times_that_vary_from_the_beginning_are_no_mode() {
    type Time = fn(&mut Random) -> f64;
    let shapes: [(&str, Time); 8] = [
        ("lognormal 0.3", |random| {
            1e6 * (0.3 * random.normal()).exp()
        }),
        ("lognormal 1", |random| 1e6 * random.normal().exp()),
        ("Pareto 1.5", |random| {
            1e5 * (1.0 - random.unit()).powf(-1.0 / 1.5)
        }),
        ("Pareto 4", |random| 1e5 * (1.0 - random.unit()).powf(-0.25)),
        ("Pareto 8", |random| {
            1e5 * (1.0 - random.unit()).powf(-0.125)
        }),
        ("two modes", |random| {
            let time = if random.unit() < 0.5 { 1e6 } else { 4e6 };
            time * (0.05 * random.normal()).exp()
        }),
        ("no or one tick", |random| {
            if random.unit() < 0.3 { 1e3 } else { 0.0 }
        }),
        ("one or two ticks", |random| {
            if random.unit() < 0.05 { 2e3 } else { 1e3 }
        }),
    ];
    for (name, time) in shapes {
        for seed in 0..SEEDS {
            let (mut random, mut monitor) = (Random::new(seed + 1), Monitor::default());
            let solve = monitor.region(0, "solve");
            for step in 0..20 {
                for rank in 0..8 {
                    let stream = monitor.stream(StreamKey {
                        program: 0,
                        rank,
                        thread: 0,
                    });
                    let mut at = Nanos(100_000_000_000 * step as i64);
                    for _ in 0..40 {
                        monitor.push(stream, at, StreamEvent::Enter(solve));
                        at.0 += (time(&mut random) / 1e3).round() as i64 * 1000;
                        monitor.push(stream, at, StreamEvent::Exit(solve));
                        at.0 += 3000;
                    }
                }
                monitor.end_step(step);
            }
            let report = monitor.finish().expect("no store");
            let modes: Vec<_> = report.lasting.modes().all().collect();
            assert!(modes.is_empty(), "{name}, {seed}: {modes:?}");
        }
    }
}
