//! Iterations of a recorded program are the steps of its replay.

use perf_anomaly::{Iterations, Monitor, Replay, Report};
use perf_core::{EventSource, Events, Job, Region, RegionId, Ticks, TimeRange, Trace};
use perf_testdata::many_ranks;

const NAMES: [&str; 4] = ["iterate", "assemble", "solve", "MPI_Allreduce"];
/// Number of ranks.
const RANKS: u32 = 4;
/// Number of iterations.
const COUNT: u64 = 30;

/// Call of a recorded program: index of its name, and its length in ticks.
type Call = (usize, u64);

/// Returns a trace of ranks with the calls of an iteration, in ticks of a nanosecond. Rank `r` begins `1000 r` ticks
/// later; all ranks begin with `before` calls of `assemble`.
fn trace(names: [&str; 4], before: u64, calls: impl Fn(u32, u64) -> Vec<Call>) -> Trace {
    let mut definitions = many_ranks::definitions(RANKS);
    definitions.regions = names.map(Region::named).to_vec();
    let columns = (0..RANKS).map(|rank| {
        let (mut events, mut at) = (Events::default(), 1000 * u64::from(rank));
        let mut call = |events: &mut Events, (name, length): Call| {
            events.push_enter(Ticks(at), RegionId(name as u32));
            at += length;
            events.push_leave(Ticks(at), RegionId(name as u32));
            at += 10;
        };
        for _ in 0..before {
            call(&mut events, (1, 500));
        }
        for iteration in 0..COUNT {
            for one in calls(rank, iteration) {
                call(&mut events, one);
            }
        }
        events
    });
    Trace::new(definitions, columns.collect()).expect("a column a location")
}

fn found(trace: &Trace) -> Option<Iterations> {
    let replay = Replay::in_steps(trace.view(), 100);
    replay.iterations(&Job::default()).expect("not cancelled")
}

fn report(replay: &mut Replay<'_>, monitor: Monitor) -> Report {
    let mut monitor = monitor;
    while replay
        .next_step(&mut monitor, &Job::default())
        .expect("not cancelled")
    {}
    monitor.finish().expect("no store")
}

/// Each iteration begins with `iterate`, and then calls `solve` many times, with growing lengths.
fn usual(rank: u32, iteration: u64) -> Vec<Call> {
    let solve = (0..6).map(|at| (2, 40_000 + 20_000 * at + (iteration * 37 + at * 11) % 900));
    let slow = if rank == 2 && iteration == 17 { 3 } else { 1 };
    let solve = solve.map(|(name, length)| (name, slow * length));
    [(0, 1000), (1, 5000)]
        .into_iter()
        .chain(solve)
        .chain([(3, 300)])
        .collect()
}

#[test]
fn steps_are_the_iterations_of_each_rank() {
    let trace = trace(NAMES, 7, usual);
    let iterations = found(&trace).expect("30 equal iterations");
    assert_eq!(
        (iterations.name(), iterations.every(), iterations.count()),
        ("iterate", 1, 30)
    );
    let mut replay = Replay::in_steps(trace.view(), 100).with_iterations(&iterations);
    assert_eq!(replay.steps(), 31);
    for rank in 0..RANKS {
        // Step 0 is the time before the first iteration; rank 2 is late after iteration 17.
        let (start, end) = replay.times((0, rank), 0, 0).expect("a time");
        assert_eq!((start.0, end.0), (0, 1000 * i64::from(rank) + 7 * 510));
        let length = |step| {
            let (start, end) = replay.times((0, rank), step, step).expect("a time");
            end.0 - start.0
        };
        assert!((length(18) > 2 * length(17)) == (rank == 2), "{rank}");
    }
    let report = report(&mut replay, Monitor::default());
    assert_eq!(report.steps, 31);
    for rank in 0..RANKS {
        let calls: Vec<u64> = report
            .ranks
            .steps(0, rank)
            .map(|one| one.loss.calls)
            .collect();
        assert_eq!((calls[0], &calls[1..]), (7, &[9; 30][..]));
    }
}

/// The rest of a recording after its last iteration is a step, which is not compared with the iterations.
#[test]
fn what_follows_the_last_iteration_is_a_step() {
    for seed in 0..10 {
        let trace = trace(NAMES, 7, |rank, iteration| {
            let noise = |at: u64| (seed * 13 + iteration * 37 + at * 11) % 900;
            let slow = if rank == 1 && iteration >= 15 { 2 } else { 1 };
            let solve = (0..7).map(|at| (2, slow * (40_000 + noise(at + u64::from(rank)))));
            let mut all: Vec<Call> = [(0, 1000), (1, 5000)].into_iter().chain(solve).collect();
            if iteration + 1 == COUNT {
                all.extend([(2, 900_000), (1, 500), (2, 900_000)]);
            }
            all
        });
        let iterations = found(&trace).expect("30 equal iterations");
        assert_eq!(iterations.count(), 30);
        let mut replay = Replay::in_steps(trace.view(), 100).with_iterations(&iterations);
        assert_eq!(replay.steps(), 32);
        let monitor = Monitor::default().compare_between(1..=30).compare_steps(3);
        let report = report(&mut replay, monitor);
        let calls = report.ranks.steps(0, 0).map(|one| one.loss.calls);
        assert_eq!(calls.skip(29).collect::<Vec<_>>(), [9, 9, 3]);
        let slowness = report.lasting.peers().slowness();
        assert_eq!(slowness.phases, []);
        let [slow] = slowness.ranks[..] else {
            panic!("{seed}: one slow rank, {slowness:?}")
        };
        assert_eq!((slow.rank, slow.first, slow.lasts), (1, 16, true), "{seed}");
    }
}

/// Equal parts of the run contain other parts of an iteration, so that a healthy function is slow in some of them.
#[test]
fn healthy_iterations_have_no_slow_phases() {
    let trace = trace(NAMES, 7, |_, iteration| usual(0, iteration));
    let iterations = found(&trace).expect("30 equal iterations");
    let mut replay = Replay::in_steps(trace.view(), 100).with_iterations(&iterations);
    let report = report(&mut replay, Monitor::default());
    let slowness = report.lasting.peers().slowness();
    assert_eq!((slowness.phases, slowness.ranks), (Vec::new(), Vec::new()));
    assert_eq!(report.lost_time().total().0, 0);
}

/// Functions that are called several times in an iteration begin one at every so many calls.
#[test]
fn iterations_may_have_several_calls_of_the_only_function_that_recurs() {
    let names = ["MPI_Send", "assemble", "solve", "MPI_Allreduce"];
    let other = |iteration: u64| if iteration.is_multiple_of(3) { 2 } else { 1 };
    let trace = trace(names, 0, |rank, iteration| {
        // All other functions are called less often on some ranks.
        let more = u64::from(rank != 0);
        let mut calls = vec![(0, 100), (other(iteration), 4000)];
        calls.extend((0..4 + more).map(|_| (other(iteration), 1000)));
        calls.push((0, 100));
        calls
    });
    let iterations = found(&trace).expect("two calls in each iteration");
    assert_eq!(
        (iterations.name(), iterations.every(), iterations.count()),
        ("MPI_Send", 2, 30)
    );
}

#[test]
fn irregular_runs_have_no_iterations() {
    let irregular = trace(NAMES, 0, |_, iteration| {
        vec![(2, 1000); 3 + (iteration * iteration % 17) as usize]
    });
    assert_eq!(found(&irregular), None);
    // A loop in a small part of the run.
    let short = trace(NAMES, 3_000, |_, iteration| match iteration {
        29 => vec![(1, 90_000_000)],
        _ => usual(0, iteration),
    });
    assert_eq!(found(&short), None);
    // Repeated calls of one function are no iterations.
    let one = trace(NAMES, 0, |_, _| vec![(0, 1000)]);
    assert_eq!(found(&one), None);
    // Ranks that call it differently often.
    let uneven = trace(NAMES, 0, |rank, iteration| match (rank, iteration) {
        (1, 20..) => Vec::new(),
        _ => usual(rank, iteration),
    });
    assert_eq!(found(&uneven), None);
}

/// PyTorch numbers its training steps.
#[test]
fn named_training_steps_come_first() {
    let names = ["ProfilerStep#4", "ProfilerStep#5", "solve", "MPI_Allreduce"];
    let trace = trace(names, 0, |rank, iteration| match iteration {
        10 => vec![(0, 10)],
        20 => vec![(1, 10)],
        _ => usual(rank, iteration)[2..].to_vec(),
    });
    let iterations = found(&trace).expect("two named steps");
    assert_eq!(
        (iterations.name(), iterations.count()),
        ("ProfilerStep#*", 2)
    );
    let window = TimeRange {
        start: Ticks(0),
        end: Ticks(1),
    };
    let replay = Replay::in_steps(trace.view().between(window), 100);
    let job = Job::default();
    assert_eq!(replay.iterations(&job).expect("not cancelled"), None);
    assert_eq!(
        replay.iterations_at("solver", &job).expect("not cancelled"),
        None
    );
}

/// Of many iterations, several are a step.
#[test]
fn the_number_of_steps_is_bounded() {
    let trace = trace(NAMES, 0, |rank, iteration| {
        let more = (0..100).flat_map(|at| usual(rank, 100 * iteration + at));
        more.collect()
    });
    let iterations = found(&trace).expect("3,000 equal iterations");
    assert_eq!((iterations.every(), iterations.count()), (3, 1000));
}

#[test]
fn the_search_can_be_cancelled() {
    let trace = trace(NAMES, 7, usual);
    let job = Job::default();
    job.cancel();
    assert!(
        Replay::in_steps(trace.view(), 100)
            .iterations(&job)
            .is_err()
    );
}
