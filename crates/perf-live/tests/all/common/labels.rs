//! Labels of ranks that share over HTTP, compared with those of one detector of all calls.

#![cfg(all(feature = "server", feature = "client"))]

use super::common::Random;
use perf_anomaly::calls::Calls;
use perf_anomaly::server::Client;
use perf_anomaly::{Detector, Judgement, Label, Tail};
use perf_core::{EventSink, Job, Nanos, StreamEvent, StreamKey};
use perf_live::client::{Link, Requests, Target, Who};
use perf_live::hub::Hub;
use perf_live::web::Service;
use std::collections::HashMap;

const TOKEN: &str = "a-token-of-a-test";

/// Number of steps from which on the first one is less than 1 % of the calls.
const MANY_STEPS: u64 = 120;

type Labels = HashMap<(u32, u64), Label>;

fn sink() -> Calls {
    Calls::default()
}

fn tail() -> Tail {
    let params = Tail::params().learn_first(true).check();
    Tail::new(params.expect("values in range"))
}

/// Returns the run times of a step of a rank: eight functions three times each, some slow.
fn times(rank: u32, step: u64) -> Vec<i64> {
    let mut random = Random::new(1 + u64::from(rank) * 1_000_003 + step * 7919);
    let mut time = |at: u64| {
        let usual = 20_000 * (1 + at % 8) as i64;
        let noise = (random.below(4000) + random.below(4000) + random.below(4000)) as i64;
        // Faults differ from each other; equal repetitions would be a mode.
        let slow = match random.below(500) {
            0 => 5 + random.below(95) as i64,
            _ => 1,
        };
        slow * (usual * (9_000 + noise) / 15_000)
    };
    (0..24).map(&mut time).collect()
}

fn push(calls: &mut Calls, rank: u32, times: &[i64], at: &mut i64) {
    let stream = calls.stream(StreamKey {
        program: 0,
        rank,
        thread: 0,
    });
    for (place, time) in times.iter().enumerate() {
        let region = calls.region(0, &format!("f{}", place % 8));
        calls.push(stream, Nanos(*at), StreamEvent::Enter(region));
        *at += time;
        calls.push(stream, Nanos(*at), StreamEvent::Exit(region));
        *at += 100;
    }
}

fn labels(calls: &Calls, judgements: &[Judgement], into: &mut Labels) {
    for (call, judgement) in calls.batch().calls().iter().zip(judgements) {
        let rank = calls.stream_key(call.stream).expect("it has one").rank;
        into.insert((rank, call.number), judgement.label);
    }
}

/// Runs one detector for all ranks.
fn single(ranks: u32, steps: u64) -> Labels {
    let (mut calls, mut detector, mut all) = (sink(), tail(), Labels::new());
    let mut at = vec![0; ranks as usize];
    for step in 0..steps {
        for rank in 0..ranks {
            push(&mut calls, rank, &times(rank, step), &mut at[rank as usize]);
        }
        calls.end_step(step);
        let mut judgements = Vec::new();
        detector
            .detect(calls.batch().samples(), &mut judgements, &Job::default())
            .expect("not cancelled");
        labels(&calls, &judgements, &mut all);
    }
    all
}

/// Runs one detector for each rank, each a client of a server.
fn distributed(ranks: u32, steps: u64, name: &str) -> Labels {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("perf-live-labels-{name}.sqlite"));
    let _ = std::fs::remove_file(&path);
    let params = Hub::params().check().expect("defaults");
    let hub = Hub::open(&path, params).expect("it can be made");
    let web = Service::params().token(TOKEN).check().expect("in range");
    let service = Service::start(hub.clone(), web).expect("it can listen");
    let target = Target::new(&format!("http://{}", service.address())).expect("it is sound");
    let target = target.token(TOKEN);
    // Some ranks for each thread, which do not wait for those of another.
    let threads = (ranks / 10).clamp(1, 32);
    let all: Labels = std::thread::scope(|scope| {
        let start = |thread: u32| {
            let own: Vec<u32> = (thread..ranks).step_by(threads as usize).collect();
            let target = &target;
            scope.spawn(move || share(target, &own, steps))
        };
        let running: Vec<_> = (0..threads).map(start).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, Labels>| {
            thread.join().expect("it does not fail")
        };
        running.into_iter().flat_map(join).collect()
    });
    assert_eq!(hub.overview().ranks.len(), ranks as usize);
    drop(service);
    hub.close();
    for end in ["", "-wal", "-shm", ".lock"] {
        let mut name = path.clone().into_os_string();
        name.push(end);
        let _ = std::fs::remove_file(name);
    }
    all
}

/// Runs the ranks of a thread over one connection.
fn share(target: &Target, own: &[u32], steps: u64) -> Labels {
    let first = Link::open(target, Who::new(0, own[0])).expect("it answers");
    let mut ranks: Vec<(u32, Client<Requests>, Calls, Tail, i64)> = own
        .iter()
        .map(|rank| {
            let link = first.attach(Who::new(0, *rank)).expect("it answers");
            (
                *rank,
                Client::new(link.client(), link.exchange()),
                sink(),
                tail(),
                0,
            )
        })
        .collect();
    let mut all = Labels::new();
    for step in 0..steps {
        for (rank, client, calls, detector, at) in &mut ranks {
            push(calls, *rank, &times(*rank, step), at);
            calls.end_step(step);
            let mut judgements = Vec::new();
            detector
                .detect(calls.batch().samples(), &mut judgements, &Job::default())
                .expect("not cancelled");
            labels(calls, &judgements, &mut all);
            let synced = client.step(calls, &judgements, detector);
            synced.expect("the server answers");
        }
    }
    all
}

/// Compares the labels of sharing ranks with those of one detector of all calls.
pub(crate) fn compare(ranks: u32, steps: u64, name: &str) {
    let (one, many) = (single(ranks, steps), distributed(ranks, steps, name));
    assert_eq!(
        (one.len(), one.len() as u64),
        (many.len(), u64::from(ranks) * steps * 24)
    );
    let share = |from: u64| {
        let counted = one.iter().filter(|((_, number), _)| *number >= from);
        let same = counted
            .clone()
            .filter(|(call, label)| many[call] == **label);
        same.count() as f64 / counted.count() as f64
    };
    let of = |labels: &Labels| labels.values().filter(|one| one.is_anomaly()).count();
    println!(
        "{ranks} ranks: {:.3} % of {} labels equal; {} and {} anomalies",
        100.0 * share(0),
        one.len(),
        of(&one),
        of(&many)
    );
    // In the first step ranks know nothing of each other.
    assert!(share(24) >= 0.99, "{}", share(24));
    assert!(share(0) >= 0.99 || steps < MANY_STEPS, "{}", share(0));
    assert!(
        of(&one) as u64 * 1000 > u64::from(ranks) * steps * 24,
        "what was planted is found"
    );
}
