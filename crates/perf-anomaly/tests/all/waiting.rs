//! Waiting for others is no time lost: a delay of one rank counts once, and not on each rank that waits for it.

use crate::common;

use common::Random;
use perf_anomaly::server::Ranking;
use perf_anomaly::{Monitor, Report};
use perf_core::{EventSink, Nanos, StreamEvent, StreamKey};

const RANKS: u32 = 8;
const SEEDS: u64 = 20;

/// Returns the factor of a rank that is three times slower in some iterations.
fn spell(rank: usize, iteration: u64, _: f64) -> f64 {
    let is_slow = rank == 2 && (500..560).contains(&iteration);
    if is_slow { 3.0 } else { 1.0 }
}

/// Runs iterations of `solve`, after each of which all ranks wait for the last one in `wait`. `factor` returns the factor
/// by which a rank takes longer in an iteration, given a random number. Returns the report, the delay, and the time by
/// which the others wait longer.
fn run(seed: u64, wait: &str, factor: impl Fn(usize, u64, f64) -> f64) -> (Report, f64, f64) {
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
        let mut times = healthy.clone();
        for (rank, time) in times.iter_mut().enumerate() {
            *time *= factor(rank, iteration, random.unit());
            delay += *time - healthy[rank];
        }
        let last = |times: &[f64]| times.iter().copied().fold(0.0, f64::max);
        let of_all = |times: &[f64]| {
            let all = f64::from(RANKS) * last(times);
            all - times.iter().sum::<f64>()
        };
        waiting += of_all(&times) - of_all(&healthy);
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
        let (report, delay, waiting) = run(seed, "MPI_Allreduce", spell);
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
        let ranks = report.ranks.ranked(Ranking::Total);
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

/// Case of [`waiting_is_stated_alike_for_all_seeds`]: a name, the factor of a rank, an iteration and a random number, and
/// the part of the waiting that is stated.
type Case = (&'static str, fn(usize, u64, f64) -> f64, f64);

/// The method decides whether waiting is stated, and not chance: waiting that is several times as long as usual is, in
/// single iterations, in a part of the run or since a step, and that behind a rank that is always slow is usual. It stays
/// behind the delay that causes it.
#[test]
fn waiting_is_stated_alike_for_all_seeds() {
    fn slow_since(rank: usize, iteration: u64, since: u64, factor: f64) -> f64 {
        let is_slow = rank == 2 && iteration >= since;
        if is_slow { factor } else { 1.0 }
    }
    fn rarely(iteration: u64, chance: f64) -> f64 {
        let is_slow = iteration > 200 && chance < 0.03;
        if is_slow {
            2.0 + 4.0 * chance / 0.03
        } else {
            1.0
        }
    }
    let cases: [Case; 8] = [
        ("a spell", spell, 1.0),
        ("always", |rank, at, _| slow_since(rank, at, 0, 1.3), 0.0),
        (
            "since a fourth",
            |rank, at, _| slow_since(rank, at, 300, 1.3),
            1.0,
        ),
        (
            "since a half",
            |rank, at, _| slow_since(rank, at, 600, 1.3),
            1.0,
        ),
        (
            "since three fourths",
            |rank, at, _| slow_since(rank, at, 900, 2.0),
            1.0,
        ),
        ("little", |rank, at, _| slow_since(rank, at, 600, 1.1), 0.0),
        (
            "calls of all ranks",
            |_, at, chance| rarely(at, chance),
            1.0,
        ),
        (
            "calls of a rank",
            |rank, at, chance| if rank == 2 { rarely(at, chance) } else { 1.0 },
            1.0,
        ),
    ];
    for (name, factor, part) in cases {
        for seed in 0..SEEDS {
            let (report, delay, waiting) = run(seed, "MPI_Allreduce", factor);
            let lost = report.lost_time();
            let found = lost.waiting.0 as f64 / waiting;
            assert!((found - part).abs() < 0.05, "{name}, {seed}: {found}");
            let share = lost.total().0 as f64 / delay;
            assert!((0.94..1.04).contains(&share), "{name}, {seed}: {share}");
            let losses = report.losses.worst_functions();
            let lasting = &report.lasting;
            let causes = lasting.with_found(&report.calls, &report.ranks, |found| {
                found.all(&losses, |_| None)
            });
            assert!(!causes[0].waits, "{name}, {seed}: {}", causes[0].sentence);
            // Tables have the same sums.
            let ranks = report.ranks.ranked(Ranking::Total);
            let by_rank = report.lasting.waiting_by_rank(&ranks, &report.calls);
            let by_rank: i64 = by_rank.iter().map(|time| time.0).sum();
            assert_eq!(by_rank, lost.waiting.0, "{name}, {seed}");
            let in_modes = report.lasting.waiting_by_function(&report.calls);
            let in_modes: i64 = in_modes.values().map(|time| time.0).sum();
            let in_alarms = report.losses.total().waiting.0;
            assert_eq!(in_modes + in_alarms, lost.waiting.0, "{name}, {seed}");
        }
    }
}

/// The same calls under a name that does not wait are time lost.
#[test]
fn calls_of_other_functions_are_time_lost() {
    let (report, delay, waiting) = run(0, "exchange", spell);
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
