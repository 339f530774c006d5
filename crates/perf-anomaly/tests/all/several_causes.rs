//! Causes of lost time that occur together, with planted truths: each is found with its own time, and no call
//! counts twice.

use crate::common;

use common::Random;
use perf_anomaly::lost_time::{NewMode, SlowRank};
use perf_anomaly::{Monitor, Report};
use perf_core::{EventSink, Nanos, StreamEvent, StreamKey};

pub(crate) const SEEDS: u64 = 20;
const HEALTHY_SEEDS: u64 = 50;
/// Functions with their median run times in nanoseconds.
const FUNCTIONS: [(&str, f64); 4] = [
    ("solve", 1e6),
    ("update", 5e5),
    ("pack", 2e5),
    ("norm", 2e6),
];

/// Size of a run.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    pub(crate) ranks: u32,
    pub(crate) steps: u64,
    pub(crate) calls: u64,
    /// Standard deviation of log times.
    pub(crate) noise: f64,
}

pub(crate) const USUAL: Size = Size {
    ranks: 8,
    steps: 20,
    calls: 20,
    noise: 0.05,
};

/// Call whose run time is planted.
#[derive(Clone, Copy)]
pub(crate) struct Call {
    pub(crate) rank: u32,
    pub(crate) step: u64,
    pub(crate) function: &'static str,
    /// Uniform random number.
    pub(crate) chance: f64,
}

/// Runs a monitor over lognormal calls. `factors` returns the factors of a run time by a slow rank and by
/// other causes. Returns the report and the time that both cost.
pub(crate) fn run(
    seed: u64,
    size: Size,
    monitor: Monitor,
    factors: impl Fn(Call) -> (f64, f64),
) -> (Report, [f64; 2]) {
    let (mut random, mut monitor) = (Random::new(seed + 1), monitor);
    let mut planted = [0.0; 2];
    let regions = FUNCTIONS.map(|(name, _)| monitor.region(0, name));
    for step in 0..size.steps {
        for rank in 0..size.ranks {
            let key = StreamKey {
                program: 0,
                rank,
                thread: 0,
            };
            let stream = monitor.stream(key);
            let mut at = Nanos(1_000_000_000 * step as i64);
            for number in 0..size.calls {
                for ((function, median), region) in FUNCTIONS.into_iter().zip(regions) {
                    let healthy = median * (size.noise * random.normal()).exp();
                    let (of_rank, of_others) = factors(Call {
                        rank,
                        step,
                        function,
                        chance: random.unit(),
                    });
                    // First calls are neither judged nor compared.
                    if (step, number) != (0, 0) {
                        planted[0] += healthy * (of_rank - 1.0);
                        planted[1] += healthy * of_rank * (of_others - 1.0);
                    }
                    monitor.push(stream, at, StreamEvent::Enter(region));
                    // The clock has a tick of a microsecond.
                    at.0 += (healthy * of_rank * of_others / 1e3).round() as i64 * 1000;
                    monitor.push(stream, at, StreamEvent::Exit(region));
                    at.0 += 3_000;
                }
            }
        }
        monitor.end_step(step);
    }
    (monitor.finish().expect("no store"), planted)
}

pub(crate) fn close(lost: Nanos, planted: f64, within: f64) -> bool {
    (lost.0 as f64 / planted - 1.0).abs() < within
}

/// The time that slow ranks lost is that of their functions, of which two may be slow on one rank, and one may be slow
/// on two.
#[test]
fn times_of_the_functions_of_slow_ranks_add_up() {
    for seed in 0..SEEDS {
        let (report, planted) = run(seed, USUAL, Monitor::default(), |call| {
            let factor = match (call.rank, call.function) {
                (2, "solve") if call.step >= 10 => 1.5,
                (2, "norm") | (5, "norm") if call.step >= 10 => 1.3,
                _ => 1.0,
            };
            (factor, 1.0)
        });
        let lost = report.lost_time().total();
        assert!(close(lost, planted[0], 0.06), "{seed}: {lost}");
        let lasting = report.lasting.lost_by_function(&report.calls);
        let of = |name: &str| {
            let all = report.losses.worst_functions().into_iter();
            let own = all.filter(|(id, _)| report.calls.function_name(*id) == name);
            let own = own.map(|(id, loss)| loss.time.0 + lasting.get(&id).map_or(0, |one| one.0));
            Nanos(own.sum())
        };
        // 200 calls of 1 and 2 ms on each of the ranks.
        assert!(close(of("solve"), 100e6, 0.1), "{seed}: {}", of("solve"));
        assert!(close(of("norm"), 240e6, 0.1), "{seed}: {}", of("norm"));
        let sum = FUNCTIONS.iter().map(|(name, _)| of(name).0).sum();
        assert!(close(Nanos(sum), lost.0 as f64, 0.01), "{seed}: {sum}");
    }
}

/// Two slow ranks of three or four: the median rank is slow, or the mean of a slow and a healthy one.
#[test]
fn two_slow_ranks_of_few_are_both_named_with_their_time() {
    type Slow = fn(Call) -> f64;
    let other: [Slow; 3] = [
        |call| if call.function == "pack" { 9.0 } else { 1.0 },
        |_| 1.6,
        |_| 1.3,
    ];
    for ranks in [3, 4] {
        for (case, other) in other.into_iter().enumerate() {
            for seed in 0..SEEDS {
                let size = Size { ranks, ..USUAL };
                let (report, planted) = run(seed, size, Monitor::default(), |call| {
                    let factor = match call.rank {
                        1 => 1.3,
                        2 => other(call),
                        _ => 1.0,
                    };
                    (factor, 1.0)
                });
                let mut slow: Vec<SlowRank> = report.lasting.peers().slow_ranks();
                slow.sort_by_key(|one| one.rank);
                let named = slow.iter().map(|one| (one.rank, one.first, one.last));
                let named = named.collect::<Vec<_>>();
                assert_eq!(named, [(1, 0, 19), (2, 0, 19)], "{ranks}, {case}, {seed}");
                let name = report.calls.function_name(slow[0].function);
                assert_eq!(name, "norm", "{ranks}, {case}, {seed}");
                assert_eq!(report.lasting.peers().slow_phases(), []);
                let lost = report.lost_time();
                assert!(
                    close(lost.total(), planted[0], 0.05),
                    "{ranks}, {case}, {seed}: {lost:?}, {planted:?}"
                );
            }
        }
    }
}

/// One rank becomes slow while another one is: the median of the ranks rises, which is no phase.
#[test]
fn a_second_slow_rank_of_few_is_no_slow_phase() {
    for ranks in [3, 4] {
        for seed in 0..SEEDS {
            let size = Size { ranks, ..USUAL };
            let (report, planted) = run(seed, size, Monitor::default(), |call| {
                let factor = match call.rank {
                    1 => 1.3,
                    2 if call.step >= 12 => 1.5,
                    _ => 1.0,
                };
                (factor, 1.0)
            });
            let mut slow: Vec<SlowRank> = report.lasting.peers().slow_ranks();
            slow.sort_by_key(|one| one.rank);
            let named: Vec<_> = slow.iter().map(|one| (one.rank, one.first)).collect();
            assert_eq!(named, [(1, 0), (2, 12)], "{ranks}, {seed}");
            assert_eq!(report.lasting.peers().slow_phases(), [], "{ranks}, {seed}");
            let lost = report.lost_time();
            assert!(
                close(lost.total(), planted[0], 0.06),
                "{ranks}, {seed}: {lost:?}, {planted:?}"
            );
        }
    }
}

/// The fastest of several equal ranks is faster than the others by chance, also with one call in a step.
#[test]
fn few_healthy_ranks_lose_nothing() {
    for ranks in [1, 2, 3, 4] {
        for (calls, noise) in [(20, 0.05), (1, 0.05), (1, 0.2), (4, 0.5)] {
            for seed in 0..HEALTHY_SEEDS {
                let size = Size {
                    ranks,
                    calls,
                    noise,
                    ..USUAL
                };
                let (report, _) = run(seed, size, Monitor::default(), |_| (1.0, 1.0));
                let slow = report.lasting.peers().slow_ranks();
                assert_eq!(slow, [], "{ranks}, {calls}, {noise}, {seed}");
                if calls > 1 && noise < 0.1 {
                    let phases = report.lasting.peers().slow_phases();
                    assert_eq!(phases, [], "{ranks}, {calls}, {noise}, {seed}");
                }
                assert_eq!(report.lasting.modes().all().count(), 0);
            }
        }
    }
}

/// Calls of a slow rank are a mode of its functions. Slow calls of other ranks are compared with the usual
/// calls of their own rank.
#[test]
fn a_new_mode_beside_a_slow_rank_has_its_factor_and_time() {
    for (share, factor) in [(0.2, 2.0), (0.1, 3.0)] {
        let mut sums = [0.0; 4];
        for seed in 0..SEEDS {
            let size = Size { steps: 24, ..USUAL };
            let (report, planted) = run(seed, size, Monitor::default(), |call| {
                let is_slow = call.function == "norm" && call.step >= 12 && call.chance < share;
                let of_rank = if call.rank == 5 { 1.3 } else { 1.0 };
                (of_rank, if is_slow { factor } else { 1.0 })
            });
            let modes: Vec<&NewMode> = report.lasting.modes().found().collect();
            assert!(!modes.is_empty(), "{share}, {factor}, {seed}");
            for mode in &modes {
                assert_eq!(report.calls.function_name(mode.function), "norm");
                assert!(
                    (mode.factor() / factor - 1.0).abs() < 0.06,
                    "{share}, {factor}, {seed}: {mode:?}"
                );
            }
            let healthy = modes.iter().map(|mode| mode.usual.0).min();
            assert!(healthy.is_some_and(|usual| (1_900_000..2_250_000).contains(&usual)));
            let [slow] = report.lasting.peers().slow_ranks()[..] else {
                panic!("{share}, {factor}, {seed}: one slow rank")
            };
            assert_eq!(slow.rank, 5);
            let lost = report.lost_time();
            for (sum, time) in sums.iter_mut().zip([
                lost.modes.0 as f64 + lost.calls.0 as f64,
                planted[1],
                slow.lost.0 as f64,
                planted[0],
            ]) {
                *sum += time;
            }
            let all = planted[0] + planted[1];
            assert!(
                close(lost.total(), all, 0.06),
                "{share}, {factor}, {seed}: {lost:?}, {planted:?}"
            );
        }
        println!("{share} {factor}: {sums:?}");
        assert!((sums[0] / sums[1] - 1.0).abs() < 0.06, "{share}: {sums:?}");
        // Calls of the mode are no part of the means of the slow rank.
        let rank = sums[2] / sums[3];
        assert!((0.93..1.01).contains(&rank), "{share}: {sums:?}");
    }
}

/// Run times count relative to the usual speed of their rank: those of a slow rank are no part of the tail of the others,
/// whether or not it comes first.
#[test]
fn a_slow_rank_hides_no_mode() {
    for (slow, speed, factor) in [(5, 1.3, 1.5), (5, 1.1, 1.3), (5, 2.0, 2.0), (0, 1.3, 1.5)] {
        for (share, ranks) in [(0.05, 4), (0.05, 8), (0.01, 8)] {
            let (mut sums, mut found) = ([0.0; 2], 0);
            for seed in 0..SEEDS {
                let size = Size {
                    steps: 30,
                    calls: 50,
                    noise: 0.03,
                    ..USUAL
                };
                let (report, planted) = run(seed, size, Monitor::default(), |call| {
                    let is_long = call.function == "norm" && call.step >= 10 && call.rank < ranks;
                    let of_rank = if call.rank == slow { speed } else { 1.0 };
                    let is_long = is_long && call.chance < share;
                    (of_rank, if is_long { factor } else { 1.0 })
                });
                for mode in report.lasting.modes().found() {
                    assert_eq!(report.calls.function_name(mode.function), "norm");
                    assert!((mode.factor() / factor - 1.0).abs() < 0.06, "{mode:?}");
                    let typical = 2e6 * factor;
                    let (from, to) = (mode.from.0 as f64, mode.to.0 as f64);
                    assert!(from < typical && typical < to, "{mode:?}");
                    sums[0] += mode.lost.0 as f64;
                    found += 1;
                }
                sums[1] += planted[1];
            }
            println!("{slow} {speed} {factor} {share} {ranks}: {found} {sums:?}");
            assert_eq!(found, SEEDS, "{slow} {speed} {factor} {share} {ranks}");
            assert!((sums[0] / sums[1] - 1.0).abs() < 0.06, "{sums:?}");
        }
    }
}

/// Of a wide mode, only the middle is known when it is found. It extends to all of its calls, and not to the tail of
/// the others.
#[test]
fn a_wide_mode_has_all_of_its_calls() {
    for deviation in [0.03, 0.1, 0.2] {
        let (mut sums, mut found) = ([0.0; 2], 0);
        for seed in 0..SEEDS {
            let size = Size {
                calls: 100,
                ..USUAL
            };
            let (report, planted) = run(seed, size, Monitor::default(), |call| {
                let chance = call.chance / 0.02;
                if call.function != "pack" || chance >= 1.0 {
                    return (1.0, 1.0);
                }
                // Logistic distribution, with longer tails than a normal one.
                let logit = (chance.max(1e-9) / (1.0 - chance)).ln();
                (1.0, 30.0 * (deviation * 0.55 * logit).exp())
            });
            let modes: Vec<&NewMode> = report.lasting.modes().found().collect();
            assert!(modes.len() <= 1, "{deviation} {seed}: {modes:?}");
            for mode in modes {
                assert_eq!(report.calls.function_name(mode.function), "pack");
                found += 1;
                sums = [sums[0] + mode.lost.0 as f64, sums[1] + planted[1]];
            }
        }
        println!("{deviation}: {found} {sums:?}");
        assert!(found >= SEEDS - 2, "{deviation}: {found}");
        assert!(
            (sums[0] / sums[1] - 1.0).abs() < 0.04,
            "{deviation}: {sums:?}"
        );
    }
}

/// The calls that make a mode known are part of the mode, and not of the means of their steps.
#[test]
fn a_new_mode_of_few_ranks_is_no_slow_phase() {
    for ranks in [1, 2] {
        for (share, factor) in [(0.1, 2.0), (0.2, 2.0), (0.1, 3.0)] {
            let mut sums = [0.0; 2];
            for seed in 0..SEEDS {
                let size = Size { ranks, ..USUAL };
                let (report, planted) = run(seed, size, Monitor::default(), |call| {
                    let is_slow = call.function == "norm" && call.step >= 10 && call.chance < share;
                    (1.0, if is_slow { factor } else { 1.0 })
                });
                let phases = report.lasting.peers().slow_phases();
                let modes = report.lasting.modes().found().count();
                assert!(
                    modes == 0 || phases.is_empty(),
                    "{ranks}, {share}, {factor}, {seed}: {phases:?}"
                );
                let lost = report.lost_time().total().0 as f64;
                assert!(
                    lost < 1.06 * planted[1],
                    "{ranks}, {share}, {factor}, {seed}"
                );
                sums = [sums[0] + lost, sums[1] + planted[1]];
            }
            println!("{ranks} {share} {factor}: {sums:?}");
            assert!((sums[0] / sums[1] - 1.0).abs() < 0.1, "{share}: {sums:?}");
        }
    }
}

/// Steps of a drift differ from their neighbours, which is no noise. They are compared with the faster steps.
#[test]
fn a_drift_of_all_ranks_is_a_slow_phase() {
    for seed in 0..SEEDS {
        let (report, planted) = run(seed, USUAL, Monitor::default(), |call| {
            let drift = if call.function == "norm" {
                0.4 * call.step as f64 / 19.0
            } else {
                0.0
            };
            (1.0, 1.0 + drift)
        });
        let phases = report.lasting.peers().slow_phases();
        let mut names = phases
            .iter()
            .map(|one| report.calls.function_name(one.function));
        let are_of_norm = names.all(|name| name == "norm");
        assert!(!phases.is_empty() && are_of_norm, "{seed}: {phases:?}");
        assert!(phases.iter().any(|one| one.lasts), "{seed}: {phases:?}");
        let share = report.lost_time().total().0 as f64 / planted[1];
        assert!((0.4..1.0).contains(&share), "{seed}: {share}");
    }
}

/// The detector soon accepts the run time of calls that vary by 10 %, so that few of them are slow to it.
#[test]
fn one_bad_call_of_each_of_many_ranks_is_a_mode() {
    for (seed, factor) in (0..5).flat_map(|seed| [(seed, 3.0), (seed, 5.0)]) {
        let size = Size {
            ranks: 256,
            steps: 1,
            calls: 60,
            noise: 0.1,
        };
        let (report, planted) = run(seed, size, Monitor::default(), |call| {
            let is_bad = call.function == "pack" && call.chance < 1.0 / 60.0;
            (1.0, if is_bad { factor } else { 1.0 })
        });
        let modes: Vec<&NewMode> = report.lasting.modes().found().collect();
        assert_eq!(modes.len(), 1, "{seed}, {factor}: {modes:?}");
        assert_eq!(report.calls.function_name(modes[0].function), "pack");
        assert!((modes[0].factor() / factor - 1.0).abs() < 0.05, "{modes:?}");
        let lost = report.lost_time().total();
        assert!(close(lost, planted[1], 0.05), "{seed}, {factor}: {lost}");
    }
}

/// Calls of accepted modes are no loss, neither as slow phases nor by the alarms before the mode is known.
#[test]
fn an_accepted_mode_loses_no_time() {
    for ranks in [1, 8] {
        for seed in 0..SEEDS {
            let size = Size { ranks, ..USUAL };
            let monitor = Monitor::default().accept("norm", "two message sizes");
            let (report, planted) = run(seed, size, monitor, |call| {
                let is_slow = call.function == "norm" && call.step >= 10 && call.chance < 0.2;
                (1.0, if is_slow { 2.0 } else { 1.0 })
            });
            assert!(report.lasting.modes().all().count() > 0);
            assert_eq!(report.lasting.peers().slow_phases(), [], "{ranks}, {seed}");
            let lost = report.lost_time().total().0 as f64;
            assert!(lost < 0.03 * planted[1], "{ranks}, {seed}: {lost}");
        }
    }
}

/// One slow rank of many has too few calls for a mode, so that its calls are alarms.
#[test]
fn a_slow_rank_of_many_keeps_its_slow_calls() {
    for (ranks, calls, factor) in [(512, 10, 1.3), (1024, 4, 1.4), (512, 2, 1.4)] {
        let seeds = if ranks > 512 { SEEDS / 4 } else { SEEDS };
        for seed in 0..seeds {
            let size = Size {
                ranks,
                calls,
                steps: 8,
                ..USUAL
            };
            let (report, planted) = run(seed, size, Monitor::default(), |call| {
                (if call.rank == 77 { factor } else { 1.0 }, 1.0)
            });
            let [slow] = report.lasting.peers().slow_ranks()[..] else {
                panic!("{ranks}, {seed}: one slow rank")
            };
            assert_eq!((slow.rank, slow.first, slow.last), (77, 0, 7));
            assert!(
                close(slow.lost, planted[0], 0.06),
                "{ranks}, {seed}: {slow:?}, {planted:?}"
            );
            let lost = report.lost_time();
            assert!(
                close(lost.total(), planted[0], 0.06),
                "{ranks}, {seed}: {lost:?}, {planted:?}"
            );
            assert_eq!(report.lasting.modes().all().count(), 0);
        }
    }
}

/// A function that each rank calls once in a step becomes slower for half of the run and more. It is a slow phase, and no
/// mode that counts as normal because it has half of the calls.
#[test]
fn a_step_in_speed_of_half_of_the_run_loses_its_time() {
    let size = Size {
        steps: 160,
        calls: 1,
        ..USUAL
    };
    for (factor, from) in [(1.5, 60), (1.5, 80), (5.0, 60), (5.0, 80)] {
        for seed in 0..5 {
            let slow = |call: Call| {
                let is_slow = call.function == "solve" && call.step >= from;
                (1.0, if is_slow { factor } else { 1.0 })
            };
            let monitor = Monitor::default().compare_steps(8);
            let (report, planted) = run(seed, size, monitor, slow);
            let lost = report.lost_time();
            assert!(
                close(lost.total(), planted[1], 0.05),
                "{factor} {from} {seed}: {lost:?}"
            );
            assert!(lost.phases.0 > 0, "{factor} {from} {seed}");
        }
    }
}
