//! Slow phases of functions, with planted truths.

use crate::common;

use common::Random;
use perf_anomaly::lost_time::{Peers, SlowPhase};
use perf_anomaly::{FunctionId, Judgement, Sample};
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
