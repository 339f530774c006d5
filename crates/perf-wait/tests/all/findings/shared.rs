//! Findings about work that locations share unequally: delays that move, a master with workers, and a rank with two slow
//! call paths.

use crate::findings::find;
use crate::synthetic::{Rank, trace};
use perf_core::{CallPathId, CollectiveOp, Trace};
use perf_testdata::xorshift::Xorshift;
use perf_wait::activity::Activities;
use perf_wait::findings::FindingKind;

/// Time of a call of MPI that does not wait.
const CALL: u64 = 100;

/// Returns a run of a call path on all ranks between reductions. `time` has the time by rank and step.
fn steps(ranks: usize, steps: usize, names: &[&str], time: impl Fn(usize, usize) -> u64) -> Trace {
    let mut all: Vec<Rank> = (0..ranks).map(|_| Rank::default()).collect();
    let mut now = 0;
    for step in 0..steps {
        let name = names[step % names.len()];
        let longest = (0..ranks).map(|rank| time(rank, step)).max();
        let end = now + longest.unwrap_or_default() + CALL;
        for (rank, own) in all.iter_mut().enumerate() {
            let begin = now + time(rank, step);
            let calls = std::mem::take(own).user(name, now, begin);
            *own = calls.collective(
                "MPI_Allreduce",
                begin,
                end,
                CollectiveOp::Allreduce,
                None,
                8,
            );
        }
        now = end;
    }
    trace(&all)
}

fn name(trace: &Trace, activities: &Activities, path: Option<CallPathId>) -> String {
    let regions = &trace.definitions().regions;
    path.map_or_else(String::new, |path| activities.paths().name(path, regions))
}

#[test]
fn delays_that_move_are_one_finding() {
    for seed in 0..20 {
        let (ranks, count) = (8 + seed as usize % 9, 40);
        let mut random = Xorshift::new(seed);
        let slow: Vec<u64> = (0..count).map(|_| random.below(ranks as u64)).collect();
        let trace = steps(ranks, count, &["solve"], |rank, step| {
            10_000 + u64::from(slow[step] == rank as u64) * 5_000
        });
        let (activities, found) = find(&trace);
        let first = found.findings.first().expect("a finding");
        let text = first.text(trace.definitions(), &activities);
        let FindingKind::MovingImbalance { path } = first.kind else {
            panic!("seed {seed}: {text}");
        };
        assert_eq!(name(&trace, &activities, Some(path)), "solve");
        // Balanced, each step takes the mean instead of the longest time.
        let truth = count as f64 * 5_000.0 * (1.0 - 1.0 / ranks as f64);
        assert!(
            (first.saved.0 as f64 / truth - 1.0).abs() < 0.01,
            "seed {seed}: {text}"
        );
        let others = &found.findings[1..];
        assert!(
            others.iter().all(|it| it.kind == FindingKind::Transfers),
            "seed {seed}"
        );
    }
}

#[test]
fn steady_delays_of_several_ranks_do_not_move() {
    // Three of 12 ranks are 4 % slower in each step.
    let trace = steps(12, 40, &["solve"], |rank, _| {
        10_000 + u64::from(rank < 3) * 400
    });
    let (activities, found) = find(&trace);
    let first = found.findings.first().expect("a finding");
    let text = first.text(trace.definitions(), &activities);
    assert!(
        matches!(first.kind, FindingKind::Imbalance { .. }),
        "{text}"
    );
    assert!(text.contains("ranks 0, 1 and 2 hold up 9 others"), "{text}");
    assert!(text.contains("1.04 times as long"), "{text}");
}

#[test]
fn each_slow_call_path_of_a_rank_is_listed() {
    // Rank 2 is slow in two of three functions.
    let trace = steps(6, 60, &["solve", "update", "write"], |rank, step| {
        match (rank, step % 3) {
            (2, 0) => 30_000,
            (2, 1) => 15_000,
            _ => 10_000,
        }
    });
    let (activities, found) = find(&trace);
    let listed: Vec<(String, f64)> = found
        .findings
        .iter()
        .filter_map(|it| match it.kind {
            FindingKind::Delay { location, path } => {
                assert_eq!(location.0, 2);
                Some((name(&trace, &activities, path), it.saved.0 as f64))
            }
            _ => None,
        })
        .collect();
    assert_eq!(listed.len(), 2, "{listed:?}");
    for ((name, saved), (path, truth)) in listed.iter().zip([("solve", 400e3), ("update", 100e3)]) {
        assert_eq!(name, path);
        assert!((saved / truth - 1.0).abs() < 0.01, "{listed:?}");
    }
}

/// Returns a run in which rank 0 prepares a task for each other rank in turn, and then collects the results.
fn master(workers: usize, rounds: usize, prepare: u64, work: u64) -> (Trace, u64) {
    let mut master = Rank::default();
    let mut all: Vec<Rank> = (0..workers).map(|_| Rank::default()).collect();
    let mut free = vec![0; workers];
    let mut now = 0;
    for _ in 0..rounds {
        for (worker, own) in all.iter_mut().enumerate() {
            let to = worker as u32 + 1;
            master = master.user("prepare", now, now + prepare).send(
                now + prepare,
                now + prepare + CALL,
                to,
                64,
            );
            now += prepare + CALL;
            let begin = now.max(free[worker] + CALL);
            let end = begin + work;
            *own = std::mem::take(own)
                .recv(free[worker], begin, 0, 64)
                .user("work", begin, end)
                .send(end, end + CALL, 0, 64);
            free[worker] = end + CALL;
        }
        for (worker, free) in free.iter().enumerate() {
            let end = now.max(*free) + CALL;
            master = master.recv(now, end, worker as u32 + 1, 64);
            now = end;
        }
    }
    all.insert(0, master);
    (trace(&all), now)
}

#[test]
fn sharing_the_work_of_a_master_saves_its_replay() {
    let (workers, rounds, prepare, work) = (7, 30, 20_000, 100_000);
    let (trace, time) = master(workers, rounds, prepare, work);
    let (_, shared) = master(workers, rounds, prepare / (workers as u64 + 1), work);
    let (activities, found) = find(&trace);
    let first = found.findings.first().expect("a finding");
    let text = first.text(trace.definitions(), &activities);
    let FindingKind::Serial { location, path } = first.kind else {
        panic!("{text}");
    };
    assert_eq!(
        (location.0, name(&trace, &activities, path)),
        (0, "prepare".to_owned())
    );
    let truth = (time - shared) as f64;
    assert!(
        (first.saved.0 as f64 / truth - 1.0).abs() < 0.02,
        "{text}, not {truth}"
    );
}
