//! Ranks with different work, by their place in a grid or by design: a slow rank is compared with its own other steps.

use crate::several_causes::{Call, SEEDS, Size, close, run};
use perf_anomaly::lost_time::SlowRank;
use perf_anomaly::{Monitor, Report};
use perf_core::Nanos;

/// Factor of the time of a call on one of some ranks.
type Factor = fn(u32, Call) -> f64;

/// Kinds of ranks with different work.
const WORK: [(&str, Factor); 4] = [
    ("columns", |_, call| match (call.function, call.rank % 4) {
        ("solve", 0 | 3) => 1.08,
        _ => 1.0,
    }),
    ("borders of a grid", |ranks, call| {
        let width = f64::from(ranks).sqrt() as u32;
        let (column, row) = (call.rank % width, call.rank / width);
        let is_inner = (1..width - 1).contains(&column) && (1..ranks / width - 1).contains(&row);
        if is_inner { 1.0 } else { 1.08 }
    }),
    ("two kinds", |_, call| {
        match (call.function, call.rank % 2) {
            ("norm", 0) => 1.1,
            ("solve", 1) => 1.27,
            _ => 1.0,
        }
    }),
    ("all different", |_, call| {
        let mixed = u64::from(call.rank + 1) * (call.function.len() as u64 * 7919);
        let unit = (mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as f64 / (1_u64 << 24) as f64;
        0.9 + 0.2 * unit
    }),
];

/// Asserts that `slow` ranks and no others are named, and the total time lost, for each kind of work.
fn assert_slow(size: Size, slow: impl Fn(u32) -> bool, factor: Factor, within: f64) {
    for (work, usual) in WORK {
        for seed in 0..SEEDS / 4 {
            let (report, planted) = run(seed, size, Monitor::default(), |call| {
                let factor = if slow(call.rank) {
                    factor(size.ranks, call)
                } else {
                    1.0
                };
                (usual(size.ranks, call), factor)
            });
            let what = format!("{work}, {} ranks, {seed}", size.ranks);
            let peers = report.lasting.peers();
            // Ranks that are slower in all steps may have more work.
            let (always, slow_ranks): (Vec<SlowRank>, Vec<SlowRank>) =
                peers.slow_ranks().into_iter().partition(|slow| slow.always);
            let more_work: i64 = always.iter().map(|slow| slow.lost.0).sum();
            let mut named: Vec<u32> = slow_ranks.iter().map(|slow| slow.rank).collect();
            named.sort_unstable();
            named.dedup();
            let planted_ranks: Vec<u32> = (0..size.ranks).filter(|rank| slow(*rank)).collect();
            assert_eq!(named, planted_ranks, "{what}");
            assert_eq!(peers.slow_phases(), [], "{what}");
            let lost = Nanos(report.lost_time().total().0 - more_work);
            assert!(
                close(lost, planted[1], within),
                "{what}: {lost}, {planted:?}"
            );
        }
    }
}

fn size(ranks: u32) -> Size {
    Size {
        ranks,
        steps: 40,
        calls: 10,
        noise: 0.05,
    }
}

#[test]
fn a_rank_that_becomes_slow_is_compared_with_its_own_steps_before() {
    let factors: [Factor; 3] = [
        |_, call| if call.step >= 20 { 1.3 } else { 1.0 },
        |_, call| if call.step < 20 { 1.5 } else { 1.0 },
        |_, call| {
            if (12..20).contains(&call.step) {
                1.5
            } else {
                1.0
            }
        },
    ];
    for factor in factors {
        for ranks in [8, 16, 64] {
            assert_slow(size(ranks), |rank| rank == 5, factor, 0.06);
        }
    }
}

/// Its few steps before do not show how long it usually takes: it is compared with ranks of other work too.
#[test]
fn a_rank_becomes_slower_and_slower() {
    let grows: Factor = |_, call| 1.0 + call.step as f64 / 39.0;
    for ranks in [8, 16, 64] {
        assert_slow(size(ranks), |rank| rank == 5, grows, 0.15);
    }
}

#[test]
fn a_part_of_the_ranks_becomes_slow() {
    let quarter: Factor = |_, call| if call.step >= 10 { 1.3 } else { 1.0 };
    for ranks in [8, 16, 64] {
        assert_slow(size(ranks), |rank| rank % 4 == 1, quarter, 0.05);
    }
}

/// The ranks of one kind of work, or half of them in one function.
#[test]
fn half_of_the_ranks_becomes_slow() {
    let factors: [Factor; 2] = [
        |_, call| if call.step >= 20 { 1.5 } else { 1.0 },
        |_, call| {
            if call.step >= 10 && call.function == "norm" {
                2.0
            } else {
                1.0
            }
        },
    ];
    for factor in factors {
        for ranks in [8, 16, 64] {
            assert_slow(size(ranks), |rank| rank % 2 == 1, factor, 0.05);
        }
    }
}

#[test]
fn other_work_alone_loses_no_time() {
    let healthy: Factor = |_, _| 1.0;
    for ranks in [8, 16, 64] {
        for (work, usual) in WORK {
            for seed in 0..SEEDS / 4 {
                let (report, _): (Report, _) = run(seed, size(ranks), Monitor::default(), |call| {
                    (usual(ranks, call), healthy(ranks, call))
                });
                let peers = report.lasting.peers();
                let what = format!("{work}, {ranks}, {seed}");
                assert!(peers.slow_ranks().iter().all(|slow| slow.always), "{what}");
                assert_eq!(peers.slow_phases(), [], "{what}");
            }
        }
    }
}

/// A rank that is slow in all steps may have more work, whatever the noise of its first steps is; one that becomes slow may
/// not, even if it has few steps before.
#[test]
fn a_rank_may_have_more_work_if_it_is_slow_in_almost_all_steps() {
    let noisy = Size {
        calls: 2,
        noise: 0.25,
        ..size(16)
    };
    for (size, begin, expected) in [(size(8), 0, true), (noisy, 0, true), (size(8), 4, false)] {
        let (mut named, mut later) = (0, 0);
        for seed in 0..SEEDS {
            let (report, _) = run(seed, size, Monitor::default(), |call| {
                let is_slow = call.rank == 5 && call.step >= begin;
                (if is_slow { 1.3 } else { 1.0 }, 1.0)
            });
            let what = format!("{} ranks since step {begin}, {seed}", size.ranks);
            let slow_ranks = report.lasting.peers().slow_ranks();
            for slow in &slow_ranks {
                assert_eq!((slow.rank, slow.always), (5, expected), "{what}");
                named += 1;
                later += u32::from(slow.first > 1);
            }
            let causes = report.causes(|_| None);
            for cause in causes.iter().filter(|cause| cause.kind == "slow rank") {
                let is_stated = cause.sentence.contains("unless it has more work");
                assert_eq!((cause.always, is_stated), (expected, expected), "{what}");
            }
            let lost = report.lost_time();
            let always = if expected { lost.ranks } else { Nanos(0) };
            assert_eq!(lost.always, always, "{what}");
            let sentence = lost.sentence(&report.losses.total());
            let is_stated = sentence.contains("unless they have more work");
            assert_eq!(is_stated, expected && !slow_ranks.is_empty(), "{sentence}");
        }
        assert!(named > SEEDS as u32 / 2, "{named}");
        // Noise hides the first slow steps.
        assert!(size.noise < 0.1 || later > 0, "{later}");
    }
}

/// Returns an even number from 0 to 1 for a rank and a part of the run.
fn part_of_work(seed: u64, rank: u32, part: u64) -> f64 {
    let mixed = (seed << 32 | u64::from(rank) << 16 | part).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (mixed >> 40) as f64 / (1_u64 << 24) as f64
}

/// Work moves between ranks twice in a run, or wanders on each of them: some become slower and others faster.
#[test]
fn work_that_moves_between_ranks_loses_no_time() {
    let mut found = Vec::new();
    for ranks in [8, 16, 64] {
        for spread in [0.1, 0.2, 0.5] {
            for seed in 0..SEEDS {
                let (report, _) = run(seed, size(ranks), Monitor::default(), |call| {
                    let work = |rank| 1.0 + spread * part_of_work(seed, rank, call.step / 15);
                    let all: f64 = (0..ranks).map(work).sum();
                    (work(call.rank) * f64::from(ranks) / all, 1.0)
                });
                let slowness = report.lasting.peers().slowness();
                let since: Vec<SlowRank> = slowness
                    .ranks
                    .into_iter()
                    .filter(|one| !one.always)
                    .collect();
                if !since.is_empty() || !slowness.phases.is_empty() {
                    found.push((ranks, spread, seed, since.len(), slowness.phases.len()));
                }
            }
        }
    }
    println!("{} of {}: {found:?}", found.len(), 9 * SEEDS);
    // Of few ranks, hardly any become faster.
    assert!(found.len() as u64 <= 9 * SEEDS / 10, "{found:?}");
}
