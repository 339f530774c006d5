//! Several of equal ranks that become slow together, with noise: their spread is not that between healthy ranks.

use crate::several_causes::{Call, SEEDS, Size, close, run};
use perf_anomaly::Monitor;

/// Numbers of slow ranks and of all.
const GROUPS: [(u32, u32); 8] = [
    (3, 8),
    (5, 8),
    (3, 6),
    (3, 12),
    (7, 16),
    (9, 16),
    (9, 20),
    (15, 32),
];
/// Standard deviations of log times, with the numbers of calls of each function in a step.
const NOISE: [(f64, u64); 4] = [(0.05, 2), (0.1, 2), (0.2, 2), (0.2, 8)];

fn size(ranks: u32, (noise, calls): (f64, u64)) -> Size {
    Size {
        ranks,
        steps: 30,
        calls,
        noise,
    }
}

/// Asserts that the slow ranks of each group are named with their first step, within one, and time.
fn assert_named(
    noise: &[(f64, u64)],
    seeds: u64,
    first: u64,
    slow: impl Fn(Call) -> f64,
    usual: impl Fn(u32) -> f64,
) {
    for (count, ranks) in GROUPS {
        for noise in noise.iter().copied() {
            for seed in 0..seeds {
                // 7 has no factor in common with their numbers.
                let is_slow = |rank: u32| (7 * rank + 3) % ranks < count;
                let (report, planted) = run(seed, size(ranks, noise), Monitor::default(), |call| {
                    let factor = if is_slow(call.rank) { slow(call) } else { 1.0 };
                    (usual(call.rank), factor)
                });
                let what = format!("{count} of {ranks}, {noise:?}, {seed}");
                let peers = report.lasting.peers();
                let found = peers.slow_ranks();
                let mut named: Vec<u32> = found.iter().map(|slow| slow.rank).collect();
                named.sort_unstable();
                let planted_ranks: Vec<u32> = (0..ranks).filter(|rank| is_slow(*rank)).collect();
                assert_eq!(named, planted_ranks, "{what}");
                assert!(
                    found.iter().all(|slow| slow.first.abs_diff(first) <= 1),
                    "{what}: {found:?}"
                );
                assert_eq!(peers.slow_phases(), [], "{what}");
                let lost = report.lost_time().total();
                assert!(
                    close(lost, planted[1], 0.1),
                    "{what}: {lost} of {planted:?}"
                );
            }
        }
    }
}

#[test]
fn several_of_equal_ranks_become_slow() {
    assert_named(
        &NOISE,
        SEEDS / 4,
        15,
        |call| if call.step >= 15 { 1.4 } else { 1.0 },
        |_| 1.0,
    );
}

#[test]
fn several_of_equal_ranks_are_slow_at_first() {
    assert_named(
        &NOISE[..2],
        SEEDS / 10,
        0,
        |call| if call.step < 12 { 1.4 } else { 1.0 },
        |_| 1.0,
    );
}

/// The usual differences of the ranks are no time lost.
#[test]
fn several_of_different_ranks_become_slow() {
    let usual = |rank: u32| 1.0 + 0.2 * f64::from(rank * 7 % 5) / 5.0;
    assert_named(
        &NOISE[..2],
        SEEDS / 10,
        15,
        |call| if call.step >= 15 { 1.4 } else { 1.0 },
        usual,
    );
}

#[test]
fn equal_ranks_with_noise_lose_no_time() {
    for (_, ranks) in GROUPS {
        for noise in NOISE {
            for seed in 0..SEEDS {
                let (report, _) = run(seed, size(ranks, noise), Monitor::default(), |_| (1.0, 1.0));
                let slowness = report.lasting.peers().slowness();
                let what = format!("{ranks}, {noise:?}, {seed}");
                assert_eq!(
                    (slowness.ranks, slowness.phases),
                    (vec![], vec![]),
                    "{what}"
                );
            }
        }
    }
}

/// A quarter of the ranks does a fifth less for a while, and the others do its work.
#[test]
fn work_that_moves_to_most_ranks_makes_no_group_slow() {
    let mut named = 0;
    for ranks in [8, 12, 16] {
        for noise in [(0.03, 2), (0.1, 2)] {
            for seed in 0..SEEDS / 2 {
                let (report, _) = run(seed, size(ranks, noise), Monitor::default(), |call| {
                    let is_donor = (7 * call.rank + 3) % ranks < ranks / 4;
                    let factor = if !(10..20).contains(&call.step) {
                        1.0
                    } else if is_donor {
                        0.8
                    } else {
                        1.0 + 0.2 / 3.0
                    };
                    (factor, 1.0)
                });
                named += usize::from(!report.lasting.peers().slow_ranks().is_empty());
            }
        }
    }
    println!("{named} of 60 runs have slow ranks");
    assert!(named <= 6, "{named}");
}
