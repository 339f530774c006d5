//! Findings of runs with planted problems, and of healthy ones.

use crate::common::trace;
use crate::made::{self, Rank};
use perf_core::{CollectiveOp, Job, LocationId, Trace};
use perf_wait::activity::Activities;
use perf_wait::delay::DelayCosts;
use perf_wait::findings::{Finding, FindingKind, Findings, FindingsPlan};
use perf_wait::waits::WaitStates;

const RANKS: usize = 8;
const STEPS: usize = 40;

#[derive(Clone, Copy, PartialEq)]
enum Planted {
    Nothing,
    /// Computes longer in `solve` in all steps.
    SlowRank(usize),
    /// Sends late: prepares its messages for long.
    LateSender(usize),
    /// All ranks compute longer in one step.
    SlowStep(usize),
    /// Rank 0 writes alone every fourth step.
    Serial,
    /// Messages take long.
    SlowNetwork,
}

/// A run of steps: compute, send to the next rank and receive from the one before, reduce.
fn run(seed: u64, planted: Planted) -> Trace {
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut noise = move || {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (random >> 11) as f64 / (1_u64 << 53) as f64
    };
    let mut ranks: Vec<Rank> = (0..RANKS).map(|_| Rank::default()).collect();
    let mut now = [0_u64; RANKS];
    let transfer = if planted == Planted::SlowNetwork {
        400_000
    } else {
        2_000
    };
    for step in 0..STEPS {
        let mut sent = [0; RANKS];
        for rank in 0..RANKS {
            let mut solve = 1_000_000.0 * (0.99 + 0.02 * noise());
            let mut pack = 50_000.0 * (0.99 + 0.02 * noise());
            match planted {
                Planted::SlowRank(slow) if slow == rank => solve *= 1.3,
                Planted::LateSender(late) if late == rank => pack *= 8.0,
                Planted::SlowStep(slow) if slow == step => solve *= 15.0,
                _ => {}
            }
            let own = std::mem::take(&mut ranks[rank]);
            let at = now[rank];
            let (solved, packed) = (at + solve as u64, at + solve as u64 + pack as u64);
            let own = own.user("solve", at, solved).user("pack", solved, packed);
            ranks[rank] = own.send(packed, packed + 1_000, ((rank + 1) % RANKS) as u32, 64);
            (sent[rank], now[rank]) = (packed, packed + 1_000);
        }
        for rank in 0..RANKS {
            let from = (rank + RANKS - 1) % RANKS;
            let end = now[rank].max(sent[from]) + transfer;
            let own = std::mem::take(&mut ranks[rank]);
            ranks[rank] = own.recv(now[rank], end, from as u32, 64);
            now[rank] = end;
        }
        if planted == Planted::Serial && step % 4 == 0 {
            let own = std::mem::take(&mut ranks[0]);
            ranks[0] = own.user("write", now[0], now[0] + 2_000_000);
            now[0] += 2_000_000;
        }
        let last = now.iter().copied().max().expect("there are ranks") + 1_000;
        for rank in 0..RANKS {
            let own = std::mem::take(&mut ranks[rank]);
            ranks[rank] = own.collective(
                "MPI_Allreduce",
                now[rank],
                last,
                CollectiveOp::Allreduce,
                None,
                8,
            );
            now[rank] = last;
        }
    }
    made::trace(&ranks)
}

fn find(trace: &Trace) -> (Activities, Findings) {
    let job = Job::default();
    let activities = Activities::of(trace.view(), &job).expect("it can be read");
    let waits = WaitStates::of_activities(&activities, &job).expect("likewise");
    let delays = DelayCosts::of(trace.view(), &activities, &waits, &job).expect("likewise");
    let plan = FindingsPlan::default();
    let found = plan
        .find(trace.view(), &activities, &waits, &delays, &job)
        .expect("it can be replayed");
    (activities, found)
}

/// Returns `true` if a finding is about the planted problem.
fn is_right(trace: &Trace, activities: &Activities, found: &Finding, planted: Planted) -> bool {
    let name = |path: Option<perf_core::CallPathId>| {
        path.map(|path| activities.paths().name(path, &trace.definitions().regions))
    };
    match (found.kind, planted) {
        (FindingKind::Delay { location, path }, Planted::SlowRank(rank)) => {
            location.index() == rank && name(path).as_deref() == Some("solve")
        }
        (FindingKind::Delay { location, path }, Planted::LateSender(rank)) => {
            location.index() == rank && name(path).as_deref() == Some("pack")
        }
        (FindingKind::SlowStep { step, function }, Planted::SlowStep(slow)) => {
            step as usize == slow && trace.definitions().region_name(function) == "solve"
        }
        (FindingKind::Serial { location, path }, Planted::Serial) => {
            location == LocationId(0) && name(path).as_deref() == Some("write")
        }
        (FindingKind::Transfers, Planted::SlowNetwork) => true,
        _ => false,
    }
}

#[test]
fn planted_problems_come_first() {
    let mut right = 0;
    for seed in 0..100 {
        let (rank, step) = (seed as usize % RANKS, seed as usize % STEPS);
        let planted = match seed % 5 {
            0 => Planted::SlowRank(rank),
            1 => Planted::LateSender(rank),
            2 => Planted::SlowStep(step),
            3 => Planted::Serial,
            _ => Planted::SlowNetwork,
        };
        let trace = run(seed, planted);
        let (activities, found) = find(&trace);
        let first = found.findings.first();
        if seed < 5 {
            for it in &found.findings {
                println!("{seed} {}", it.text(trace.definitions(), &activities));
            }
        }
        right += usize::from(first.is_some_and(|it| is_right(&trace, &activities, it, planted)));
    }
    assert!(right >= 95, "{right} of 100");
}

#[test]
fn healthy_runs_have_no_findings_above_two_per_cent() {
    for seed in 1_000..1_020 {
        let trace = run(seed, Planted::Nothing);
        let (activities, found) = find(&trace);
        for it in &found.findings {
            assert!(
                it.share <= 0.02,
                "{seed}: {}",
                it.text(trace.definitions(), &activities)
            );
        }
    }
}

#[test]
fn findings_of_recordings_name_calls_and_windows() {
    let trace = trace(&perf_testdata::bundled::recording("jacobi-4"));
    let estimate =
        perf_wait::clocks::ClockEstimate::of(trace.view(), Default::default(), &Job::default());
    let estimate = estimate.expect("clocks can be estimated");
    let corrected = estimate
        .correct(&trace, Default::default(), &Job::default())
        .expect("it can");
    let trace = corrected.trace;
    let (activities, found) = find(&trace);
    assert!(!found.findings.is_empty() && found.findings.len() <= 10);
    for it in &found.findings {
        println!(
            "{} {:?}",
            it.text(trace.definitions(), &activities),
            it.window
        );
    }
    assert_eq!(
        found.table(trace.definitions(), &activities).rows(),
        found.findings.len()
    );
    let bad = Findings::params().min_share(2.0).check();
    assert!(bad.is_err());
}
