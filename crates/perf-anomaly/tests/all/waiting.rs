//! Waiting for others is no time lost: a delay of one rank counts once, and not on each rank that waits for it.

use crate::common;

use common::Random;
use perf_anomaly::{Monitor, Report};
use perf_core::{EventSink, Nanos, StreamEvent, StreamKey};

const RANKS: u32 = 8;
const SEEDS: u64 = 20;

/// Runs iterations of `solve`, after each of which all ranks wait for the last one in `wait`. Rank 2 takes longer
/// by `factor` in some iterations. Returns the report, the delay and the time that the others wait for it.
fn run(seed: u64, wait: &str, factor: f64) -> (Report, f64, f64) {
    let (mut random, mut monitor) = (Random::new(seed + 1), Monitor::default());
    let (solve, wait) = (monitor.region(0, "solve"), monitor.region(0, wait));
    let streams: Vec<_> = (0..RANKS)
        .map(|rank| {
            monitor.stream(StreamKey {
                program: 0,
                rank,
                thread: 0,
            })
        })
        .collect();
    let (mut at, mut delay, mut waiting) = (0_i64, 0.0, 0.0);
    for iteration in 0..1200_u64 {
        let healthy: Vec<f64> = streams
            .iter()
            .map(|_| 1e6 * (0.03 * random.normal()).exp())
            .collect();
        let is_slow = (500..560).contains(&iteration);
        let mut times = healthy.clone();
        if is_slow {
            times[2] *= factor;
            delay += times[2] - healthy[2];
        }
        let last = |times: &[f64]| times.iter().copied().fold(0.0, f64::max);
        let all = f64::from(RANKS - 1);
        waiting += (last(&times) - last(&healthy)) * all;
        let end = at + last(&times) as i64 + 20_000;
        for (stream, time) in streams.iter().zip(&times) {
            monitor.push(*stream, Nanos(at), StreamEvent::Enter(solve));
            monitor.push(*stream, Nanos(at + *time as i64), StreamEvent::Exit(solve));
            monitor.push(*stream, Nanos(at + *time as i64), StreamEvent::Enter(wait));
            monitor.push(*stream, Nanos(end), StreamEvent::Exit(wait));
        }
        at = end + 1000;
        if iteration % 60 == 59 {
            monitor.end_step(iteration / 60);
        }
    }
    (monitor.finish().expect("no store"), delay, waiting)
}

/// A rank is three times slower in 60 iterations. The sum is its delay, the waiting of the others is stated apart,
/// and their ranks lost nothing.
#[test]
fn a_delay_counts_once_and_waiting_for_it_apart() {
    for seed in 0..SEEDS {
        let (report, delay, waiting) = run(seed, "MPI_Allreduce", 3.0);
        let (lost, sum) = (report.lost_time(), report.losses.total());
        let share = lost.total().0 as f64 / delay;
        assert!((0.7..1.3).contains(&share), "{seed}: {share} of the delay");
        let share = lost.waiting.0 as f64 / waiting;
        assert!(
            (0.7..1.3).contains(&share),
            "{seed}: {share} of the waiting"
        );
        let sentence = lost.sentence(&sum);
        assert!(
            sentence.contains("; waiting for others took "),
            "{sentence}"
        );
        let ranks = report.ranks.ranked(perf_anomaly::server::Ranking::Total);
        let by_rank = report.lasting.lost_by_rank(&ranks, &report.calls);
        for (rank, lost) in ranks.iter().zip(by_rank) {
            let share = lost.0 as f64 / delay;
            assert!(
                (rank.rank == 2) == (share > 0.7),
                "{seed}: {share} on rank {}",
                rank.rank
            );
            assert!(rank.rank == 2 || share < 0.01, "{seed}: {share}");
        }
        let functions = report.lasting.lost_by_function(&report.calls);
        let waits = |function: &_| report.calls.function_name(*function) == "MPI_Allreduce";
        assert!(!functions.keys().any(waits));
    }
}

/// The same calls under a name that does not wait are time lost.
#[test]
fn calls_of_other_functions_are_time_lost() {
    let (report, delay, waiting) = run(0, "exchange", 3.0);
    let lost = report.lost_time();
    assert_eq!(lost.waiting, Nanos(0));
    let share = lost.total().0 as f64 / (delay + waiting);
    assert!((0.7..1.3).contains(&share), "{share}");
}

/// If only calls that wait are slow, the sentence says so.
#[test]
fn waiting_alone_is_stated_as_such() {
    let mut monitor = Monitor::default();
    let stream = monitor.stream(StreamKey::default());
    let wait = monitor.region(0, "MPI_Recv");
    for call in 0..2000_i64 {
        let at = Nanos(1_000_000 * call);
        let time = if call == 1500 {
            700_000
        } else {
            50_000 + call * 37 % 1000
        };
        monitor.push(stream, at, StreamEvent::Enter(wait));
        monitor.push(stream, Nanos(at.0 + time), StreamEvent::Exit(wait));
        if call % 100 == 99 {
            monitor.end_step(call as u64 / 100);
        }
    }
    let report = monitor.finish().expect("no store");
    let lost = report.lost_time();
    assert_eq!((lost.total(), lost.share()), (Nanos(0), Some(0.0)));
    let sentence = lost.sentence(&report.losses.total());
    assert!(
        sentence.starts_with("calls that wait for others took 649."),
        "{sentence}"
    );
    assert!(
        sentence.ends_with("; no time lost in other calls"),
        "{sentence}"
    );
}
