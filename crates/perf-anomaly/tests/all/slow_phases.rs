//! Slow phases of functions, with planted truths.

use crate::common;
use crate::several_causes::{Size, USUAL, close, run};

use common::Random;
use perf_anomaly::lost_time::{NewMode, Peers, SlowPhase};
use perf_anomaly::{FunctionId, Judgement, Monitor, Report, Sample};
use perf_core::Nanos;

const SEEDS: u64 = 10;
const RANKS: u32 = 8;
/// Length of a step in nanoseconds.
const STEP: f64 = 80e6;

/// Compares ranks of different speed that make 400 calls each, so that fast ones end earlier, in steps of equal time.
/// `factor` returns the factor of a call by step.
fn ranks_of_different_speed(
    seed: u64,
    slowest: f64,
    factor: impl Fn(u64) -> f64,
) -> Vec<SlowPhase> {
    let mut random = Random::new(seed + 1);
    let mut peers = Peers::default();
    let mut steps: Vec<Vec<(u32, Sample)>> = Vec::new();
    for rank in 0..RANKS {
        let speed = 1.0 + (slowest - 1.0) * f64::from(rank) / f64::from(RANKS - 1);
        let mut at = 0.0;
        for _ in 0..400 {
            let step = (at / STEP) as u64;
            let time = 5e6 * speed * factor(step) * (1.0 + 0.03 * random.normal());
            at += time;
            let sample = Sample {
                function: FunctionId(0),
                runtime: Nanos(time as i64),
                first: false,
            };
            steps.resize_with(steps.len().max(step as usize + 1), Vec::new);
            steps[step as usize].push((rank, sample));
        }
    }
    for (step, calls) in steps.iter().enumerate() {
        for own in calls.chunk_by(|one, other| one.0 == other.0) {
            let samples: Vec<Sample> = own.iter().map(|one| one.1).collect();
            let judgements = vec![Judgement::default(); samples.len()];
            let rank = (0, own[0].0);
            peers.add(rank, step as u64, (&samples, &judgements), &[], |_| true);
        }
        peers.end_step();
    }
    peers.slow_phases()
}

#[test]
fn fast_ranks_that_end_first_are_no_slow_phase() {
    for seed in 0..SEEDS {
        for slowest in [1.2, 1.4, 1.9, 3.0] {
            let found = ranks_of_different_speed(seed, slowest, |_| 1.0);
            assert_eq!(found, [], "{seed}: {slowest}");
            let slow = |step| if (10..13).contains(&step) { 1.3 } else { 1.0 };
            let found = ranks_of_different_speed(seed, slowest, slow);
            let [phase] = found[..] else {
                panic!("{seed}: {slowest}: one phase, {found:?}")
            };
            assert_eq!((phase.first, phase.last), (10, 12), "{seed}: {slowest}");
            assert!((phase.factor - 1.3).abs() < 0.03, "{seed}: {phase:?}");
        }
    }
}

/// Iterations that call each function once.
const ITERATIONS: Size = Size {
    steps: 200,
    calls: 1,
    ..USUAL
};

/// Runs iterations that are compared in groups of ten. `solve` has a factor in some of them, on all ranks.
fn iterations(seed: u64, factor: f64, slow: std::ops::Range<u64>) -> (Report, f64) {
    let monitor = Monitor::default().compare_steps(10);
    let (report, planted) = run(seed, ITERATIONS, monitor, |call| {
        let is_slow = call.function == "solve" && slow.contains(&call.step);
        (1.0, if is_slow { factor } else { 1.0 })
    });
    (report, planted[1])
}

/// Returns the modes of a run.
fn modes(report: &Report) -> Vec<NewMode> {
    report.lasting.modes().all().cloned().collect()
}

#[test]
fn a_phase_of_iterations_has_its_first_and_last_one_and_is_no_mode() {
    for (factor, from, until) in [
        (1.5, 61, 81),
        (1.5, 88, 100),
        (2.0, 123, 137),
        (5.0, 61, 81),
        (5.0, 104, 119),
    ] {
        for seed in 0..SEEDS {
            let (report, planted) = iterations(seed, factor, from..until);
            let what = format!("{factor} {from} {until} {seed}");
            let slowness = report.lasting.peers().slowness();
            let [phase] = slowness.phases[..] else {
                panic!("{what}: one phase, {slowness:?}")
            };
            assert_eq!((phase.first, phase.last), (from, until - 1), "{what}");
            assert!((phase.factor - factor).abs() < 0.04 * factor, "{what}");
            assert_eq!(modes(&report), [], "{what}");
            let lost = report.lost_time();
            assert_eq!(lost.modes, Nanos(0), "{what}");
            assert!(
                close(lost.total(), planted, 0.05),
                "{what}: {planted}, {lost:?}, {slowness:?}"
            );
        }
    }
}

#[test]
fn a_function_is_slow_for_most_of_the_run() {
    for factor in [1.5, 5.0] {
        for from in [30, 40, 60, 100, 160] {
            for seed in 0..SEEDS {
                let (report, planted) = iterations(seed, factor, from..200);
                let what = format!("{factor} {from} {seed}");
                let slowness = report.lasting.peers().slowness();
                let [phase] = slowness.phases[..] else {
                    panic!("{what}: one phase, {slowness:?}")
                };
                assert!(phase.lasts && phase.first == from, "{what}: {phase:?}");
                assert_eq!(modes(&report), [], "{what}");
                let lost = report.lost_time();
                assert!(
                    close(lost.total(), planted, 0.05),
                    "{what}: {planted}, {lost:?}, {slowness:?}"
                );
            }
        }
    }
}

#[test]
fn a_rank_that_is_slow_in_iterations_is_one_cause() {
    // Its functions have different factors, so that their first calls are modes of their own.
    let factor = |function| match function {
        "solve" => 1.5,
        "norm" => 2.0,
        _ => 1.1,
    };
    for (from, until) in [(0, 200), (61, 200), (61, 101)] {
        for seed in 0..SEEDS {
            let monitor = Monitor::default().compare_steps(10);
            let (report, planted) = run(seed, ITERATIONS, monitor, |call| {
                let is_slow = call.rank == 5 && (from..until).contains(&call.step);
                (if is_slow { factor(call.function) } else { 1.0 }, 1.0)
            });
            let what = format!("{from} {until} {seed}");
            let slowness = report.lasting.peers().slowness();
            let [slow] = slowness.ranks[..] else {
                panic!("{what}: one slow rank, {slowness:?}")
            };
            // The first call of a function is not compared.
            assert!(slow.first.abs_diff(from) <= 1, "{what}: {slow:?}");
            assert_eq!((slow.rank, slow.last), (5, until - 1), "{what}");
            assert_eq!(modes(&report), [], "{what}");
            assert_eq!(slowness.phases, [], "{what}");
            let lost = report.lost_time();
            assert!(close(lost.total(), planted[0], 0.05), "{what}: {lost:?}");
        }
    }
}

/// A mode that has many of the calls of a function remains one, although it has several in a row now and then.
#[test]
fn a_mode_of_many_calls_is_no_slow_phase() {
    for share in [0.1, 0.3] {
        for seed in 0..SEEDS {
            let monitor = Monitor::default().compare_steps(10);
            let (report, planted) = run(seed, ITERATIONS, monitor, |call| {
                let is_slow = call.function == "solve" && call.step >= 50 && call.chance < share;
                (1.0, if is_slow { 2.0 } else { 1.0 })
            });
            let lost = report.lost_time();
            assert!(
                close(lost.modes, planted[1], 0.1),
                "{share} {seed}: {lost:?}"
            );
        }
    }
}
