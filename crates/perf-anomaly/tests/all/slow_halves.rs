//! Half of the ranks slow in one function, slow ranks without peers, and groups of slow ranks in a sentence.

use crate::several_causes::{Call, SEEDS, Size, USUAL, close, run};
use perf_anomaly::lost_time::{Peers, SlowRank};
use perf_anomaly::{FunctionId, Judgement, Monitor, Report, Sample};
use perf_core::Nanos;

fn assert_half(report: &Report, planted: f64, what: &str) {
    let peers = report.lasting.peers();
    let mut slow: Vec<u32> = peers.slow_ranks().iter().map(|slow| slow.rank).collect();
    slow.sort_unstable();
    assert_eq!(slow, (8..16).collect::<Vec<_>>(), "{what}");
    assert_eq!(peers.slow_phases(), [], "{what}");
    let lost = report.lost_time().total();
    assert!(close(lost, planted, 0.08), "{what}: {lost} of {planted}");
}

/// Half of the ranks become slower in one function, while another one differs more between ranks. The median of the
/// ranks rises with them: it was a slow phase of all ranks.
#[test]
fn half_of_the_ranks_become_slow_in_one_function() {
    let size = Size {
        ranks: 16,
        steps: 24,
        calls: 8,
        noise: 0.05,
    };
    type Factor = fn(Call) -> f64;
    let factors: [Factor; 3] = [
        |call| 1.0 + 0.1 * call.step as f64,
        |call| if call.step < 10 { 1.0 } else { 1.5 },
        |call| if call.step < 5 { 1.0 } else { 1.3 },
    ];
    for (case, factor) in factors.into_iter().enumerate() {
        for seed in 0..SEEDS {
            let (report, planted) = run(seed, size, Monitor::default(), |call| {
                let usual = match call.function {
                    "norm" => 1.0 + 0.2 * f64::from(call.rank % 4),
                    _ => 1.0,
                };
                let is_slow = call.function == "solve" && call.rank >= 8;
                // Factors of the first kind are the time lost; the usual differences are none.
                (if is_slow { factor(call) } else { 1.0 }, usual)
            });
            assert_half(&report, planted[0], &format!("{case}, {seed}"));
        }
    }
}

/// Odd ranks do more of one work, even ranks of another: each half would be slow in one function.
#[test]
fn halves_with_other_work_since_the_start_lose_no_time() {
    for ranks in [8, 16, 64] {
        let size = Size {
            ranks,
            calls: 8,
            ..USUAL
        };
        for seed in 0..SEEDS {
            let (report, _) = run(seed, size, Monitor::default(), |call| {
                let factor = match (call.function, call.rank % 2) {
                    ("solve", 1) => 1.2,
                    ("norm", 0) => 1.1,
                    _ => 1.0,
                };
                (1.0, factor)
            });
            let peers = report.lasting.peers();
            assert_eq!(peers.slow_ranks(), [], "{ranks}, {seed}");
            assert_eq!(peers.slow_phases(), [], "{ranks}, {seed}");
        }
    }
}

#[test]
fn ranks_that_are_slow_in_the_same_way_are_one_cause() {
    let size = Size { ranks: 12, ..USUAL };
    let slow_ranks = [2, 3, 4, 9];
    let (report, _) = run(0, size, Monitor::default(), |call| {
        let factor = match call.function {
            "norm" if slow_ranks.contains(&call.rank) && call.step >= 6 => 1.5,
            "pack" if call.rank == 7 => 4.0,
            _ => 1.0,
        };
        (factor, 1.0)
    });
    let (calls, ranks) = (&report.calls, &report.ranks);
    let causes = report
        .lasting
        .with_found(calls, ranks, |found| found.lasting());
    let sums = report.lasting.peers().slow_ranks();
    let of_group = sums.iter().filter(|slow| slow_ranks.contains(&slow.rank));
    let [group, single] = &causes[..] else {
        panic!("two causes: {causes:?}")
    };
    let mut named = group.ranks.clone();
    named.sort_unstable();
    assert_eq!(group.kind, "slow ranks");
    assert_eq!(named, slow_ranks.map(|rank| (0, rank)));
    assert_eq!(group.lost, Nanos(of_group.map(|slow| slow.lost.0).sum()));
    let expected = "4 ranks (2 to 4, 9) are 27 % slower than their peers since step 6, \
                    nearly all of it in norm (";
    assert!(group.sentence.starts_with(expected), "{}", group.sentence);
    assert_eq!(
        (single.kind, &single.ranks[..]),
        ("slow rank", &[(0, 7)][..])
    );
}

/// A change in speed is one event although it slows all functions. One that slows more is another event.
#[test]
fn functions_that_are_slow_in_the_same_steps_are_one_cause() {
    let (report, planted) = run(0, USUAL, Monitor::default(), |call| {
        let factor = match call.function {
            "pack" => 3.0,
            _ => 1.3,
        };
        (1.0, if call.step >= 8 { factor } else { 1.0 })
    });
    let (calls, ranks) = (&report.calls, &report.ranks);
    let causes = report
        .lasting
        .with_found(calls, ranks, |found| found.lasting());
    let [all, pack] = &causes[..] else {
        panic!("two causes: {causes:?}")
    };
    assert_eq!((all.kind, pack.kind), ("slow phases", "slow phase"));
    let expected =
        "3 functions (norm, solve, update) are 30 % slower since step 8 than in other steps: ";
    assert!(all.sentence.starts_with(expected), "{}", all.sentence);
    assert!(
        close(Nanos(all.lost.0 + pack.lost.0), planted[1], 0.02),
        "{causes:?}"
    );
}

/// Returns a comparison of eight ranks of 20 steps, with ten calls of each of two functions in a step. Rank 5 takes
/// `factor` times as long and has `more` steps, in which it also calls a function that others do not.
fn with_more_steps(factor: i64, more: u64) -> Peers {
    let mut peers = Peers::default();
    for step in 0..20 + more {
        for rank in 0..8 {
            if step >= 20 && rank != 5 {
                continue;
            }
            let percent = if rank == 5 { factor } else { 100 };
            let call = |at: u32| Sample {
                function: FunctionId(if step >= 20 { at % 3 } else { at % 2 }),
                runtime: Nanos(percent * (10_000 + i64::from(at * 37 + rank) * 31 % 101)),
                first: false,
            };
            let calls: Vec<Sample> = (0..30).map(call).collect();
            let judged = [Judgement::default(); 30];
            peers.add((0, rank), step, (&calls, &judged), &[], |_| true);
        }
        peers.end_step();
    }
    peers
}

/// Without barriers a slow rank runs longer than its peers. A healthy rank that does so is not slow.
#[test]
fn a_slow_rank_loses_time_after_its_peers_have_ended() {
    assert_eq!(with_more_steps(100, 6).slow_ranks(), []);
    for (factor, more) in [(130, 0), (130, 6), (200, 20)] {
        let peers = with_more_steps(factor, more);
        let [slow] = peers.slow_ranks()[..] else {
            panic!("{factor}, {more}: one slow rank")
        };
        let SlowRank {
            rank, first, last, ..
        } = slow;
        assert_eq!((rank, first, last), (5, 0, 19 + more));
        assert!(slow.lasts && (slow.factor / (factor as f64 / 100.0) - 1.0).abs() < 0.001);
        // Calls in the steps without peers are in two of three functions that the peers call.
        let calls = 30.0 * 20.0 + 20.0 * more as f64;
        let lost = calls * 10_050.0 * (factor - 100) as f64;
        assert!(close(slow.lost, lost, 0.002), "{slow:?}, {lost}");
        assert!(slow.function_lost.0 as f64 > 0.49 * lost, "{slow:?}");
        let steps: i64 = peers.slow_steps().iter().map(|step| step.lost.0).sum();
        assert!(close(Nanos(steps), lost, 0.002), "{steps}, {lost}");
    }
}
