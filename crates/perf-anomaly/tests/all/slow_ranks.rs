//! The function of a slow rank with its own factor and time, in the means of open and of closed blocks.

use crate::several_causes::{Call, SEEDS, Size, USUAL, close, run};
use perf_anomaly::lost_time::{Peers, SlowRank};
use perf_anomaly::{FunctionId, Judgement, Monitor, Report, Sample};
use perf_core::Nanos;

/// Returns sentences about the slow ranks of a run.
fn sentences(report: &Report) -> Vec<String> {
    let (calls, ranks) = (&report.calls, &report.ranks);
    let causes = report
        .lasting
        .with_found(calls, ranks, |found| found.lasting());
    let causes = causes.into_iter();
    let causes = causes.filter(|cause| cause.kind == "slow rank");
    causes.map(|cause| cause.sentence).collect()
}

/// Factors of functions of a slow rank, and parts of the sentence about it.
type Planted = (
    fn(&str) -> f64,
    &'static str,
    f64,
    f64,
    &'static [&'static str],
);

/// `norm` has 54 % of the time of healthy ranks, `solve` 27 %, `update` 14 % and `pack` 5 %.
const PLANTED: [Planted; 5] = [
    (
        |name| if name == "norm" { 1.2 } else { 1.0 },
        "norm",
        1.2,
        1.0,
        &[" 10 % slower than its peers since step 0, nearly all of it in norm (19 % slower): "],
    ),
    (
        |name| if name == "pack" { 3.0 } else { 1.0 },
        "pack",
        3.0,
        1.0,
        &[
            " 11 % slower than",
            ", nearly all of it in pack (3.0 times as slow): ",
        ],
    ),
    // All functions have the factor of the rank.
    (
        |_| 1.3,
        "norm",
        1.3,
        2.0 / 3.7,
        &[" 29 % slower", ", most of it in norm: "],
    ),
    (
        |name| match name {
            "norm" => 1.2,
            "solve" => 1.3,
            _ => 1.0,
        },
        "norm",
        1.2,
        4.0 / 7.0,
        &[" 18 % slower", ", most of it in norm: "],
    ),
    // Three functions of which none has half of the time.
    (
        |name| match name {
            "solve" => 1.4,
            "update" => 1.66,
            "pack" => 2.5,
            _ => 1.0,
        },
        "solve",
        1.4,
        0.4 / 1.03,
        &[
            " 28 % slower",
            ", the largest part of it in solve (40 % slower): ",
        ],
    ),
];

fn assert_function(slow: &SlowRank, report: &Report, planted: &Planted, what: &str) {
    let (_, function, factor, share, _) = planted;
    assert_eq!(
        report.calls.function_name(slow.function),
        *function,
        "{what}"
    );
    let excess = (slow.function_factor - 1.0) / (factor - 1.0);
    assert!((excess - 1.0).abs() < 0.06, "{what}: {slow:?}");
    assert!(
        close(slow.function_lost, share * slow.lost.0 as f64, 0.05),
        "{what}: {slow:?}"
    );
}

#[test]
fn the_function_of_a_slow_rank_has_its_own_factor() {
    for (case, planted) in PLANTED.iter().enumerate() {
        for seed in 0..SEEDS {
            let factors = |call: Call| {
                let factor = if call.rank == 5 {
                    (planted.0)(call.function)
                } else {
                    1.0
                };
                (factor, 1.0)
            };
            let (report, _) = run(seed, USUAL, Monitor::default(), factors);
            let what = format!("{case}, {seed}");
            let [slow] = report.lasting.peers().slow_ranks()[..] else {
                panic!("{what}: one slow rank")
            };
            assert_eq!(slow.rank, 5, "{what}");
            assert_function(&slow, &report, planted, &what);
            // Seeds round to other figures.
            let sentences = sentences(&report);
            if seed == 0 {
                for part in planted.4 {
                    assert!(sentences[0].contains(part), "{what}: {sentences:?}");
                }
            }
        }
    }
}

/// Ranks of which several are slow are compared with the fastest ones, and so are their functions.
#[test]
fn functions_of_several_slow_ranks_are_compared_with_the_fastest() {
    for (ranks, slow_ranks) in [(3, 1..3), (4, 2..4), (8, 4..8)] {
        for seed in 0..SEEDS {
            let size = Size { ranks, ..USUAL };
            let (report, _) = run(seed, size, Monitor::default(), |call| {
                let is_slow = slow_ranks.contains(&call.rank) && call.function == "norm";
                (if is_slow { 1.5 } else { 1.0 }, 1.0)
            });
            let slow = report.lasting.peers().slow_ranks();
            assert_eq!(slow.len(), slow_ranks.len(), "{ranks}, {seed}: {slow:?}");
            let planted: Planted = (|_| 1.0, "norm", 1.5, 1.0, &[]);
            for slow in slow {
                assert_function(&slow, &report, &planted, &format!("{ranks}, {seed}"));
            }
        }
    }
}

/// Of closed blocks, only the worst function of each is known, with its factor.
#[test]
fn the_function_of_a_slow_rank_keeps_its_factor_in_closed_blocks() {
    // 70 steps of 9,000 sums do not fit.
    let (ranks, functions, steps) = (3, 3_000_u32, 70);
    let judged = vec![Judgement::default(); 2 * functions as usize];
    let mut peers = Peers::default();
    for step in 0..steps {
        for rank in 0..ranks {
            let calls = (0..2 * functions).map(|at| {
                let function = at % functions;
                let usual = if function == 7 { 20_000_000 } else { 10_000 };
                let factor = if (rank, function) == (2, 7) { 3 } else { 2 };
                Sample {
                    function: FunctionId(function),
                    runtime: Nanos(factor * (usual + i64::from(at) * 37 % 101)),
                    first: false,
                }
            });
            let calls: Vec<Sample> = calls.collect();
            peers.add((0, rank), step, (&calls, &judged), &[], |_| true);
        }
        peers.end_step();
    }
    let [slow] = peers.slow_ranks()[..] else {
        panic!("one slow rank")
    };
    assert_eq!(
        (slow.rank, slow.first, slow.last, slow.function.0),
        (2, 0, steps - 1, 7)
    );
    assert!((slow.factor - 1.2).abs() < 0.01, "{slow:?}");
    assert!((slow.function_factor - 1.5).abs() < 0.001, "{slow:?}");
    assert!(
        slow.function_lost.0.abs_diff(slow.lost.0) < 1000,
        "{slow:?}"
    );
}

/// The other rank is the reference. Steps in which it is slower would be a phase of the mean of two.
#[test]
fn a_slow_rank_of_two_is_compared_with_the_other() {
    for (from, until, steps) in [(0, 20, 20), (12, 20, 20), (0, 8, 20), (10, 21, 40)] {
        for factor in [1.3, 1.5] {
            for seed in 0..SEEDS {
                let size = Size {
                    ranks: 2,
                    steps,
                    ..USUAL
                };
                let (report, planted) = run(seed, size, Monitor::default(), |call| {
                    let is_slow = call.rank == 1 && (from..until).contains(&call.step);
                    (if is_slow { factor } else { 1.0 }, 1.0)
                });
                let what = format!("{from}, {until}, {factor}, {seed}");
                let peers = report.lasting.peers();
                let [slow] = peers.slow_ranks()[..] else {
                    panic!("{what}: one slow rank")
                };
                assert_eq!((slow.rank, slow.peer), (1, Some(0)), "{what}");
                assert_eq!((slow.first, slow.last), (from, until - 1), "{what}");
                assert!(
                    (slow.factor / factor - 1.0).abs() < 0.02,
                    "{what}: {slow:?}"
                );
                assert_eq!(peers.slow_phases(), [], "{what}");
                let lost = report.lost_time().total();
                assert!(close(lost, planted[0], 0.06), "{what}: {lost}");
                let begin = format!(
                    "% slower than rank 0 {}",
                    if until == steps { "since" } else { "in" }
                );
                assert!(sentences(&report)[0].contains(&begin), "{what}");
            }
        }
    }
}

/// A function of two ranks of many is not compared: they are not the peers of a program of two.
#[test]
fn two_ranks_of_many_are_not_compared_with_each_other() {
    let mut peers = Peers::default();
    let judged = [Judgement::default(); 20];
    for step in 0..20 {
        for rank in 0..8 {
            let calls = (0..20).map(|at| {
                let function = FunctionId(u32::from(rank < 2 && at % 2 == 0));
                let is_slow = function.0 == 1 && rank == 1;
                Sample {
                    function,
                    runtime: Nanos(if is_slow { 3_000_000 } else { 1_000_000 } + at * 37 % 101),
                    first: false,
                }
            });
            let calls: Vec<Sample> = calls.collect();
            peers.add((0, rank), step, (&calls, &judged), &[], |_| true);
        }
        peers.end_step();
    }
    assert!(!peers.has_two_ranks());
    assert_eq!(peers.slow_ranks(), []);
}

/// A rank that has some more work in all steps is no finding, nor are two steps.
#[test]
fn a_rank_of_two_with_some_more_work_is_not_slow() {
    for (factor, from) in [(1.1, 0), (1.5, 18)] {
        for seed in 0..SEEDS {
            let size = Size { ranks: 2, ..USUAL };
            let (report, _) = run(seed, size, Monitor::default(), |call| {
                let is_slow = call.rank == 1 && call.step >= from;
                (if is_slow { factor } else { 1.0 }, 1.0)
            });
            let slow = report.lasting.peers().slow_ranks();
            assert_eq!(slow, [], "{factor}, {seed}");
        }
    }
}

/// Compares calls of two ranks, of which each makes `calls` in a step. `time` returns their run time in microseconds.
fn peers_of_two(steps: u64, calls: usize, time: impl Fn(u32, u64) -> i64) -> Peers {
    let mut peers = Peers::default();
    for step in 0..steps {
        for rank in 0..2 {
            let call = Sample {
                runtime: Nanos(1000 * time(rank, step)),
                ..Sample::default()
            };
            let judged = vec![Judgement::default(); calls];
            peers.add((0, rank), step, (&vec![call; calls], &judged), &[], |_| {
                true
            });
        }
        peers.end_step();
    }
    peers
}

/// Fewer than 32 calls of a function are not judged, and no phase. The run times are those of `cleanup_step` in a run
/// of two coupled programs, of which no call was judged.
#[test]
fn few_calls_are_no_slow_phase() {
    const TIMES: [[i64; 7]; 2] = [
        [279, 313, 233, 232, 229, 232, 233],
        [347, 314, 269, 266, 259, 256, 256],
    ];
    for (calls, found) in [(1, 0), (2, 0), (3, 1)] {
        let peers = peers_of_two(7, calls, |rank, step| TIMES[rank as usize][step as usize]);
        let phases = peers.slow_phases();
        let steps: Vec<_> = phases.iter().map(|one| (one.first, one.last)).collect();
        assert_eq!(steps, [(0, 1)][..found], "{calls}");
    }
}

#[test]
fn few_calls_are_no_slow_rank_of_two() {
    for (steps, found) in [(15, 0), (16, 1), (40, 1)] {
        let time = |rank: u32, step: u64| (1000 + 300 * i64::from(rank)) + step as i64 * 37 % 11;
        let slow = peers_of_two(steps, 1, time).slow_ranks();
        assert_eq!(slow.len(), found, "{steps}: {slow:?}");
    }
}
