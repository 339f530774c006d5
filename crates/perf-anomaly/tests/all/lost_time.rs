//! Time lost by new modes, slow ranks and slow phases, with planted truths.

use crate::common;

use common::Random;
use perf_anomaly::lost_time::{Beginning, LostTime, NewMode, NewModes, Peers, SlowPhase, SlowRank};
use perf_anomaly::{FunctionId, Judgement, Label, Monitor, Report, Sample};
use perf_core::{EventSink, Merge, Nanos, Peer, StreamEvent, StreamId, StreamKey};

const SEEDS: u64 = 10;
const RANKS: u32 = 8;

/// Runs a monitor over calls of `solve` and `pack` on eight ranks. `factor` returns the factor of the
/// run time of `solve` by rank, step and call. After each step, `look` sees the monitor.
fn run(
    seed: u64,
    steps: u64,
    factor: impl Fn(u32, u64, u64) -> f64,
    mut look: impl FnMut(u64, &Monitor),
) -> Report {
    let mut random = Random::new(seed + 1);
    let mut monitor = Monitor::default();
    let mut streams: Vec<StreamId> = Vec::new();
    for rank in 0..RANKS {
        streams.push(monitor.stream(StreamKey {
            program: 0,
            rank,
            thread: 0,
        }));
    }
    let regions = [monitor.region(0, "solve"), monitor.region(0, "pack")];
    for step in 0..steps {
        for rank in 0..RANKS {
            let mut at = Nanos(2_000_000_000 * step as i64);
            for call in 0..100 {
                for (region, usual) in regions.into_iter().zip([5e6, 1e6]) {
                    let stream = streams[rank as usize];
                    monitor.push(stream, at, StreamEvent::Enter(region));
                    let slow = if usual > 2e6 {
                        factor(rank, step, call)
                    } else {
                        1.0
                    };
                    let time = usual * slow * (1.0 + 0.05 * random.normal());
                    at.0 += time as i64;
                    monitor.push(stream, at, StreamEvent::Exit(region));
                }
            }
        }
        monitor.end_step(step);
        look(step, &monitor);
    }
    monitor.finish().expect("no store")
}

fn close(lost: Nanos, planted: f64, within: f64) -> bool {
    (lost.0 as f64 / planted - 1.0).abs() < within
}

#[test]
fn a_slow_rank_is_named_after_two_steps_with_its_time() {
    for seed in 0..SEEDS {
        let slow = |rank, _, _| if rank == 5 { 1.3 } else { 1.0 };
        let mut first = None;
        let report = run(seed, 20, slow, |step, monitor| {
            let slow = monitor.lasting().peers().slow_ranks();
            assert!(slow.iter().all(|one| one.rank == 5), "{slow:?}");
            if !slow.is_empty() {
                first.get_or_insert(step);
            }
        });
        assert!(first.is_some_and(|step| step < 2), "{seed}: {first:?}");
        let slow: Vec<SlowRank> = report.lasting.peers().slow_ranks();
        assert_eq!((slow.len(), slow[0].first, slow[0].last), (1, 0, 19));
        // 30 % of 100 calls of 5 ms in each of 20 steps.
        assert!(close(slow[0].lost, 3e9, 0.05), "{seed}: {slow:?}");
        assert_eq!(report.calls.function_name(slow[0].function), "solve");
        assert_eq!(report.lasting.peers().slow_phases(), []);
        let lost = report.lost_time();
        assert!(close(lost.total(), 3e9, 0.05), "{seed}: {lost:?}");
    }
}

#[test]
fn half_of_the_ranks_are_slower_than_the_other_half() {
    for seed in 0..SEEDS {
        for since in [0, 12] {
            let slow = |rank, step, _| {
                if rank % 2 == 1 && step >= since {
                    1.3
                } else {
                    1.0
                }
            };
            let report = run(seed, 24, slow, |_, _| {});
            let mut slow = report.lasting.peers().slow_ranks();
            slow.sort_by_key(|one| one.rank);
            let found: Vec<_> = slow.iter().map(|one| (one.rank, one.first)).collect();
            assert_eq!(found, [1, 3, 5, 7].map(|rank| (rank, since)), "{seed}");
            // Their rise is not a slow phase of all ranks too.
            assert_eq!(report.lasting.peers().slow_phases(), []);
            let lost = report.lost_time();
            let planted = 4.0 * (24 - since) as f64 * 1.5e8;
            assert!(close(lost.total(), planted, 0.05), "{seed}: {lost:?}");
        }
    }
}

#[test]
fn single_slow_steps_are_one_phase_without_the_steps_between_them() {
    for seed in 0..SEEDS {
        let slow = |_, step, _| if step % 5 == 4 { 1.5 } else { 1.0 };
        let report = run(seed, 24, slow, |_, _| {});
        let [phase] = report.lasting.peers().slow_phases()[..] else {
            panic!("{seed}: one phase")
        };
        assert_eq!((phase.first, phase.last, phase.steps), (4, 19, Some(4)));
        assert!((phase.factor - 1.5).abs() < 0.03, "{seed}: {phase:?}");
        assert!(
            close(phase.lost, 4.0 * 8.0 * 2.5e8, 0.05),
            "{seed}: {phase:?}"
        );
        let steps = report.lasting.peers().slowness().phase_steps;
        let steps: Vec<u64> = steps.iter().map(|one| one.first).collect();
        assert_eq!(steps, [4, 9, 14, 19]);
    }
}

#[test]
fn a_rank_that_becomes_slow_is_slow_since_then() {
    for seed in 0..SEEDS {
        let slow = |rank, step, _| if rank == 2 && step >= 12 { 1.3 } else { 1.0 };
        let report = run(seed, 30, slow, |_, _| {});
        let slow = report.lasting.peers().slow_ranks();
        assert_eq!(
            (slow.len(), slow[0].rank, slow[0].first),
            (1, 2, 12),
            "{seed}: {slow:?}"
        );
        assert!(slow[0].lasts && close(slow[0].lost, 18.0 * 1.5e8, 0.05));
        let lost = report.lost_time();
        assert!(close(lost.total(), 18.0 * 1.5e8, 0.06), "{seed}: {lost:?}");
    }
}

#[test]
fn a_step_in_speed_is_one_phase_after_two_steps() {
    for seed in 0..SEEDS {
        for factor in [1.3, 2.0] {
            let slow = |_, step, _| if step >= 10 { factor } else { 1.0 };
            let mut first = None;
            let report = run(seed, 20, slow, |step, monitor| {
                if !monitor.lasting().peers().slow_phases().is_empty() {
                    first.get_or_insert(step);
                }
            });
            assert!(
                first.is_some_and(|step| (10..12).contains(&step)),
                "{first:?}"
            );
            let phases: Vec<SlowPhase> = report.lasting.peers().slow_phases();
            assert_eq!((phases.len(), phases[0].first), (1, 10), "{phases:?}");
            // Each of the ten steps lost its part.
            let steps = report.lasting.peers().slowness().phase_steps;
            let firsts: Vec<u64> = steps.iter().map(|step| step.first).collect();
            assert_eq!(firsts, (10..20).collect::<Vec<_>>());
            let alarms = report.lasting.peers().slowness().alarms;
            let alarmed: i64 = alarms.iter().map(|one| one.lost.0).sum();
            let sum: i64 = steps.iter().map(|step| step.lost.0).sum();
            let sum = sum + alarmed;
            assert!((sum - phases[0].lost.0).abs() < 100, "{sum} of {phases:?}");
            let planted = 8.0 * 10.0 * 5e8 * (factor - 1.0);
            let lost = report.lost_time();
            assert!(
                close(lost.total(), planted, 0.05),
                "{seed}: {lost:?}, {planted}"
            );
            let alarms = report.losses.total().anomalies();
            assert!(alarms < 20, "{seed}: {alarms} alarms");
            assert_eq!(report.lasting.modes().all().count(), 0);
        }
    }
}

#[test]
fn a_new_mode_keeps_counting_when_its_calls_are_normal() {
    for seed in 0..SEEDS {
        // From step 3 on, two of a hundred calls take twice as long.
        let slow = |_, step, call| {
            if step >= 3 && call % 50 == 7 {
                2.0
            } else {
                1.0
            }
        };
        let mut lost: Vec<i64> = Vec::new();
        let report = run(seed, 20, slow, |_, monitor| {
            lost.push(
                monitor
                    .lasting()
                    .modes()
                    .found()
                    .map(|mode| mode.lost.0)
                    .sum(),
            );
        });
        assert!(lost.is_sorted() && lost[3] > 0, "{lost:?}");
        let modes: Vec<&NewMode> = report.lasting.modes().all().collect();
        let [mode] = modes[..] else {
            panic!("{seed}: {modes:?}")
        };
        assert_eq!((mode.first, mode.ranks), (3, 8));
        assert_eq!(mode.beginning(), Beginning::Appeared);
        let planted = 17.0 * 8.0 * 2.0;
        assert!(
            (mode.calls as f64 / planted - 1.0).abs() < 0.05,
            "{seed}: {mode:?}"
        );
        assert!((mode.factor() - 2.0).abs() < 0.02);
        let lost: LostTime = report.lost_time();
        assert!(close(lost.total(), planted * 5e6, 0.05), "{seed}: {lost:?}");
        assert!(report.losses.total().too_slow < 50);
    }
}

/// Runs a function that takes 1 ms, and 2 ms in one of `of` calls from step `from` on. The 30 calls of the
/// first three steps are not judged.
fn beginning(from: u64, of: u64) -> (Beginning, u64) {
    let mut modes = NewModes::default();
    for step in 0..40 {
        let calls = if step < 3 { 10 } else { 20 };
        let is_slow = |call| step >= from && call % of == 7;
        let sample = |call| Sample {
            function: FunctionId(0),
            runtime: Nanos(if is_slow(call) { 2_000_000 } else { 1_000_000 }),
            first: false,
        };
        let judge = |call| {
            let is_judged = step >= 3 && !is_slow(call);
            Judgement {
                label: if is_judged {
                    Label::Normal
                } else {
                    Label::NotEnoughData
                },
                expected: (step >= 3).then_some(Nanos(1_000_000)),
                score: 0.0,
            }
        };
        let samples: Vec<Sample> = (0..calls).map(sample).collect();
        let judgements: Vec<Judgement> = (0..calls).map(judge).collect();
        modes.add((0, 0), step, &samples, &judgements);
    }
    let [mode] = modes.all().collect::<Vec<_>>()[..] else {
        panic!("one mode")
    };
    (mode.beginning(), mode.first)
}

/// A mode that was there while the detector learned began then, and not when its calls were first judged.
#[test]
fn modes_begin_with_their_first_calls() {
    assert_eq!(beginning(0, 10), (Beginning::Start, 0));
    // Three of the thirty calls would have been in the mode.
    assert_eq!(beginning(3, 10), (Beginning::Appeared, 3));
    assert_eq!(beginning(20, 10), (Beginning::Appeared, 20));
    // One or two would have been.
    assert_eq!(beginning(3, 20), (Beginning::Unknown, 3));
}

#[test]
fn a_mode_is_normal_by_a_rule_with_a_reason() {
    let mut monitor = Monitor::default().accept("so*", "two message sizes");
    let stream = monitor.stream(StreamKey::default());
    let solve = monitor.region(0, "solve");
    let mut at = 0;
    for step in 0..20 {
        for call in 0..100 {
            monitor.push(stream, Nanos(at), StreamEvent::Enter(solve));
            at += if step > 3 && call % 20 == 3 {
                30_000
            } else {
                10_000 + call * 37 % 101
            };
            monitor.push(stream, Nanos(at), StreamEvent::Exit(solve));
        }
        monitor.end_step(step as u64);
    }
    let report = monitor.finish().expect("no store");
    assert_eq!(report.lasting.modes().found().count(), 0);
    let table = NewMode::table(
        &report.lasting.modes().all().collect::<Vec<_>>(),
        &report.calls,
    );
    assert_eq!(table.text_of(0, "accepted"), "two message sizes");
    assert_eq!(report.lost_time().modes, Nanos(0));
}

#[test]
fn healthy_runs_lose_nothing() {
    let mut found = 0;
    for seed in 0..5 * SEEDS {
        let report = run(seed, 20, |_, _, _| 1.0, |_, _| {});
        let peers = report.lasting.peers();
        let causes = peers.slow_ranks().len() + peers.slow_phases().len();
        found += causes + report.lasting.modes().all().count();
    }
    assert_eq!(found, 0);
}

/// Calls of `solve` in which rank 5 is slow, and step 8 on all ranks.
fn calls(rank: u32, step: u64) -> Vec<Sample> {
    let mut random = Random::new(1000 * u64::from(rank) + step + 1);
    let slow = if rank == 5 { 1.3 } else { 1.0 };
    let slow = if step == 8 { 1.5 * slow } else { slow };
    let time = |random: &mut Random| (5e6 * slow * (1.0 + 0.05 * random.normal())) as i64;
    let samples = (0..100).map(|_| Sample {
        function: FunctionId(0),
        runtime: Nanos(time(&mut random)),
        first: false,
    });
    samples.collect()
}

#[test]
fn ranks_in_four_processes_are_compared_as_in_one() {
    let add = |peers: &mut Peers, rank: u32, step: u64| {
        let samples = calls(rank, step);
        let judgements = vec![Judgement::default(); samples.len()];
        peers.add((0, rank), step, (&samples, &judgements), &[], |_| true);
    };
    let (mut one, mut merged) = (Peers::default(), Peers::default());
    for step in 0..20 {
        for rank in 0..RANKS {
            add(&mut one, rank, step);
        }
        one.end_step();
        // Each process has two ranks, and its sums of a step arrive in any order.
        for process in [2, 0, 3, 1] {
            let mut part = Peers::default();
            for rank in [2 * process, 2 * process + 1] {
                add(&mut part, rank, step);
            }
            merged.merge(&part);
        }
        merged.end_step();
    }
    assert_eq!(merged.slow_ranks(), one.slow_ranks());
    assert_eq!(merged.slow_phases(), one.slow_phases());
    assert_eq!(merged.slow_steps(), one.slow_steps());
    let [slow] = one.slow_ranks()[..] else {
        panic!("one slow rank")
    };
    let [phase] = one.slow_phases()[..] else {
        panic!("one slow phase")
    };
    assert_eq!((slow.rank, phase.first, phase.last), (5, 8, 8));
    assert_eq!((one.late(), merged.late()), (0, 0));
}

/// Adds calls of eight ranks in `steps` steps in the given order of ranks and steps.
fn compared_in_order(order: impl Iterator<Item = (u32, u64)>) -> Peers {
    let mut peers = Peers::default();
    for (rank, step) in order {
        let samples = calls(rank, step);
        let judged = vec![Judgement::default(); samples.len()];
        peers.add((0, rank), step, (&samples, &judged), &[], |_| true);
        peers.end_step();
    }
    peers
}

#[test]
fn slow_ranks_do_not_depend_on_the_order_in_which_ranks_arrive() {
    // The second number of steps does not fit the blocks of steps that are kept.
    for steps in [40, 1500] {
        let interleaved = || (0..steps).flat_map(|step| (0..RANKS).map(move |rank| (rank, step)));
        let by_rank = || (0..RANKS).flat_map(|rank| (0..steps).map(move |step| (rank, step)));
        let mut shuffled: Vec<(u32, u64)> = interleaved().collect();
        let mut random = Random::new(steps);
        for at in (1..shuffled.len()).rev() {
            shuffled.swap(at, (random.unit() * at as f64) as usize);
        }
        // One rank that is late by all steps, and one that is half of them ahead.
        let slow_last = by_rank().filter(|one| one.0 != 5);
        let slow_last = slow_last.chain(by_rank().filter(|one| one.0 == 5));
        let expected = compared_in_order(interleaved());
        let [slow] = expected.slow_ranks()[..] else {
            panic!("one slow rank")
        };
        assert_eq!((slow.rank, slow.first, slow.lasts), (5, 0, true));
        for peers in [
            compared_in_order(by_rank()),
            compared_in_order(by_rank().collect::<Vec<_>>().into_iter().rev()),
            compared_in_order(shuffled.into_iter()),
            compared_in_order(slow_last),
        ] {
            assert_eq!(peers.slowness(), expected.slowness(), "{steps}");
            assert_eq!(peers.late(), 0);
        }
    }
}

#[test]
fn calls_beyond_the_memory_of_blocks_are_counted() {
    let functions = 20_000;
    let samples: Vec<Sample> = (0..functions)
        .map(|function| Sample {
            function: FunctionId(function),
            runtime: Nanos(1000),
            first: false,
        })
        .collect();
    let judged = vec![Judgement::default(); samples.len()];
    let mut peers = Peers::default();
    for step in 0..40 {
        peers.add((0, 0), step, (&samples, &judged), &[], |_| true);
        peers.end_step();
    }
    // 26 steps of 20,000 functions fit.
    peers.add((0, 1), 0, (&samples, &judged), &[], |_| true);
    assert_eq!(peers.late(), u64::from(functions));
    peers.add((0, 1), 14, (&samples, &judged), &[], |_| true);
    assert_eq!(peers.late(), u64::from(functions));
    assert_eq!(peers.slowness().late, u64::from(functions));
}

/// Returns the numbers of healthy runs, out of `runs`, with a slow phase and with a slow rank. Four functions have `calls` calls in each
/// of 20 steps on `ranks` ranks, whose run times have the deviation `spread` in log time.
fn false_alarms(runs: u64, ranks: u32, calls: usize, spread: f64) -> [u64; 2] {
    let mut random = Random::new(runs + u64::from(ranks));
    let mut found = [0; 2];
    for _ in 0..runs {
        let mut peers = Peers::default();
        for step in 0..20 {
            for rank in 0..ranks {
                let samples: Vec<Sample> = (0..4 * calls)
                    .map(|call| Sample {
                        function: FunctionId(call as u32 % 4),
                        runtime: Nanos((1e6 * (spread * random.normal()).exp()) as i64),
                        first: false,
                    })
                    .collect();
                let judged = vec![Judgement::default(); samples.len()];
                peers.add((0, rank), step, (&samples, &judged), &[], |_| true);
            }
            peers.end_step();
        }
        found[0] += u64::from(!peers.slow_phases().is_empty());
        found[1] += u64::from(!peers.slow_ranks().is_empty());
    }
    found
}

#[test]
fn healthy_runs_with_few_calls_in_a_step_have_no_slow_phases_and_ranks() {
    let mut found = Vec::new();
    for ranks in [1, 4, 6, 8, 64] {
        for calls in [1, 2, 5] {
            for spread in [0.05, 0.2, 0.5] {
                let runs = false_alarms(500, ranks, calls, spread);
                found.push((ranks, calls, spread, runs));
            }
        }
    }
    let [phases, slow_ranks] = [0, 1].map(|kind| found.iter().map(|one| one.3[kind]).sum::<u64>());
    println!("{phases} of 22500 runs have a slow phase, {slow_ranks} a slow rank: {found:?}");
    // Most of them have one call in a step, of which only the differences of steps show the noise.
    assert!(phases <= 6 && slow_ranks <= 6, "{found:?}");
}

/// Returns a comparison of eight ranks over 40 steps of 20 calls of a microsecond, in which a rank also has
/// a call of half a second if `is_long` is `true` for it and the step.
fn with_long_calls(is_long: impl Fn(u32, u64) -> bool) -> Peers {
    let mut peers = Peers::default();
    for step in 0..40 {
        for rank in 0..RANKS {
            let call = |time: i64| Sample {
                function: FunctionId(0),
                runtime: Nanos(time),
                first: false,
            };
            let mut calls: Vec<Sample> = (0..20).map(|at| call(1_000 + 37 * at)).collect();
            calls.extend(is_long(rank, step).then(|| call(500_000_000)));
            let judged = vec![Judgement::default(); calls.len()];
            peers.add((0, rank), step, (&calls, &judged), &[], |_| true);
        }
        peers.end_step();
    }
    peers
}

#[test]
fn a_long_call_of_each_rank_is_no_slow_phase_and_no_slow_rank_if_one_ends_later() {
    let together = with_long_calls(|_, step| step == 10);
    assert_eq!(together.slow_phases(), []);
    assert_eq!(together.slow_ranks(), []);
    let late = with_long_calls(|rank, step| step == if rank == 1 { 11 } else { 10 });
    assert_eq!(late.slow_ranks(), []);
    assert_eq!(late.slow_phases(), []);
}

/// The parts of an uneven loop on one rank: in each step `many` calls from 10 us to 10 ms, or in steps 6 to 15
/// two calls of about `few` instead.
fn uneven_loop(many: i64, few: i64) -> Vec<SlowPhase> {
    let mut peers = Peers::default();
    for step in 0..20 {
        let call = |time: i64| Sample {
            function: FunctionId(0),
            runtime: Nanos(time),
            first: false,
        };
        let calls: Vec<Sample> = if (6..16).contains(&step) {
            (0..2)
                .map(|at| call(few + 100_000 * (step as i64 + at)))
                .collect()
        } else {
            let time = |at: i64| 10_000.0 * 1000_f64.powf(at as f64 / (many - 1) as f64);
            (0..many).map(|at| call(time(at) as i64)).collect()
        };
        let judged = vec![Judgement::default(); calls.len()];
        peers.add((0, 0), step, (&calls, &judged), &[], |_| true);
        peers.end_step();
    }
    peers.slow_phases()
}

#[test]
fn the_long_parts_of_an_uneven_loop_are_no_slow_phase() {
    // The mean of the many calls is 1.7 ms.
    assert_eq!(uneven_loop(20, 4_000_000), []);
    // Ten times as long as any other call.
    assert_eq!(uneven_loop(20, 100_000_000).len(), 1);
}

/// A rank loses most time in `pack` in steps 10 to 14, and more in `solve` in steps 25 to 39.
#[test]
fn the_function_of_a_slow_rank_is_that_of_its_slow_steps() {
    let mut peers = Peers::default();
    for step in 0..40 {
        for rank in 0..RANKS {
            let is_slow = rank == 3;
            let pack = is_slow && (10..15).contains(&step);
            let solve = is_slow && step >= 25;
            let mut calls = Vec::new();
            for (function, time, slow) in [(0, 5_000_000, solve), (1, 1_000_000, pack)] {
                let factor = if slow { 3 } else { 1 };
                calls.extend((0..50).map(|at| Sample {
                    function: FunctionId(function),
                    runtime: Nanos(factor * (time + at * 37 % 1000)),
                    first: false,
                }));
            }
            let judged = vec![Judgement::default(); calls.len()];
            peers.add((0, rank), step, (&calls, &judged), &[], |_| true);
        }
        peers.end_step();
    }
    let mut slow = peers.slow_ranks();
    slow.sort_by_key(|slow| slow.first);
    let found = slow
        .iter()
        .map(|slow| (slow.first, slow.last, slow.function.0));
    assert_eq!(found.collect::<Vec<_>>(), [(10, 14, 1), (25, 39, 0)]);
}

/// Ranks that call a function which receives messages wait in it, whatever its name is.
#[test]
fn functions_that_communicate_are_not_compared() {
    for is_communicating in [false, true] {
        let mut monitor = Monitor::default();
        for step in 0..10 {
            for rank in 0..RANKS {
                let stream = monitor.stream(StreamKey {
                    program: 0,
                    rank,
                    thread: 0,
                });
                let exchange = monitor.region(0, "exchange");
                let mut at = 1_000_000_000 * step as i64;
                for call in 0..50 {
                    monitor.push(stream, Nanos(at), StreamEvent::Enter(exchange));
                    if is_communicating {
                        monitor.push(stream, Nanos(at), StreamEvent::Receive(Peer::default()));
                    }
                    at += (if rank == 2 { 1_300 } else { 1_000 }) * (1000 + call * 37 % 11);
                    monitor.push(stream, Nanos(at), StreamEvent::Exit(exchange));
                }
            }
            monitor.end_step(step);
        }
        let slow = monitor.lasting().peers().slow_ranks();
        assert_eq!(slow.len(), usize::from(!is_communicating), "{slow:?}");
    }
}
