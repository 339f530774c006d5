//! A detector that is stopped and restarts on the same stream counts every call once.

use crate::common::Random;
use perf_anomaly::server::{Client, Local, Ranking, Server};
use perf_anomaly::{Monitor, Watch};
use perf_core::{EventSink, Nanos, Peer, StreamEvent, StreamKey};

const CLIENT: u64 = 77;
const STEPS: u64 = 24;

/// Starts a detector on a stream, as a client of a server that may know it.
fn start(local: &Local) -> Monitor {
    let (sequence, positions) = local
        .server(|server| (server.sequence(CLIENT), server.positions(CLIENT).to_vec()))
        .expect("nobody panicked");
    let client = Client::new(CLIENT, local.clone()).resume(sequence, &positions);
    Monitor::default().share(client)
}

/// Pushes the calls of a rank in a step, from a time on.
fn step(monitor: &mut Monitor, rank: u32, number: u64, begin: i64) {
    let key = StreamKey {
        program: 0,
        rank,
        thread: 0,
    };
    let stream = monitor.stream(key);
    let (solve, pack) = (monitor.region(0, "solve"), monitor.region(0, "MPI_Send"));
    let mut random = Random::new(1 + number * 31 + u64::from(rank));
    let mut at = begin + number as i64 * 1_000_000_000 + i64::from(rank);
    for call in 0..60 {
        let mut length = 50_000 + random.below(2_000) as i64;
        if call == 30 && number % 8 == 3 {
            // No two of them are similar: labels of similar calls depend on their order.
            length *= [40, 56][rank as usize] << (number / 8);
        }
        let region = if call % 3 == 0 { pack } else { solve };
        monitor.push(stream, Nanos(at), StreamEvent::Enter(region));
        if call % 3 == 0 {
            // Messages of two sizes, which take different times.
            let is_large = call % 2 == 0;
            let bytes = if is_large { 1_000_000 } else { 1000 };
            length *= if is_large { 8 } else { 1 };
            let peer = Peer {
                bytes,
                ..Peer::default()
            };
            monitor.push(stream, Nanos(at), StreamEvent::Send(peer));
        }
        monitor.push(stream, Nanos(at + length), StreamEvent::Exit(region));
        at += length + 1000;
    }
}

/// Runs to the end, or stops without notice after some steps. The second rank is delayed by `late`
/// steps, with its own steps.
fn run(local: &Local, stop: Option<u64>, late: u64, begin: i64) {
    let mut monitor = start(local);
    let mut ended = 0;
    for number in 0..STEPS + late {
        if number < STEPS {
            step(&mut monitor, 0, number, begin);
            if late == 0 {
                step(&mut monitor, 1, number, begin);
            }
            monitor.end_step(number);
            ended += 1;
        }
        if late > 0 && number >= late {
            step(&mut monitor, 1, number - late, begin);
            monitor.end_step(number - late);
            ended += 1;
        }
        if stop.is_some_and(|stop| ended >= stop) {
            assert!(monitor.error().is_none());
            return;
        }
    }
    monitor.finish().expect("nothing fails");
}

fn local() -> Local {
    Local::new(Server::default())
}

/// Returns calls, anomalies and time of each rank and step, and of each function, and the model.
fn state(local: &Local) -> String {
    let text = local.server(|server| {
        let ranks = server.ranking(Ranking::Total);
        let steps = [0, 1].map(|rank| {
            let steps = server.steps(0, rank);
            let steps = steps.map(|one| (one.step, one.loss));
            steps.collect::<Vec<_>>()
        });
        let ranks: Vec<_> = ranks.iter().map(|one| (one.rank, one.loss)).collect();
        let functions: Vec<_> = server
            .functions()
            .into_iter()
            .map(|(id, stats)| (id, stats.loss, stats.exclusive.count(), stats.steps))
            .collect();
        let model = server.model().map(|model| model.encode());
        format!("{ranks:?}\n{steps:?}\n{functions:?}\n{model:?}")
    });
    text.expect("nobody panicked")
}

#[test]
fn a_detector_that_is_killed_and_started_again_counts_once() {
    let whole = local();
    run(&whole, None, 0, 1000);
    let expected = state(&whole);
    assert!(expected.contains("too_slow: 3"), "{expected}");
    for seed in 0..20 {
        let (killed, mut random) = (local(), Random::new(seed + 1));
        // Killed up to three times, each time further on or earlier than before.
        for _ in 0..=random.below(3) {
            run(&killed, Some(1 + random.below(STEPS)), 0, 1000);
        }
        // The server may have been restarted too.
        let server = killed.server(|server| server.encode()).expect("no panic");
        let params = Server::params().check().expect("defaults");
        let killed = Local::new(Server::decode(params, &server).expect("it was just written"));
        run(&killed, None, 0, 1000);
        assert_eq!(state(&killed), expected, "{seed}");
        // Once more after the complete stream.
        run(&killed, None, 0, 1000);
        assert_eq!(state(&killed), expected, "{seed}");
    }
}

#[test]
fn ranks_that_came_late_count_once_although_all_are_there_the_second_time() {
    let whole = local();
    run(&whole, None, 0, 1000);
    let calls = |local: &Local| {
        let ranks = local.server(|server| server.ranking(Ranking::Total));
        let mut ranks: Vec<_> = ranks
            .expect("nobody panicked")
            .iter()
            .map(|one| (one.rank, one.loss.calls, one.loss.anomalies()))
            .collect();
        ranks.sort_unstable();
        let of_step = |rank| {
            let steps = local.server(|server| {
                let steps = server.steps(0, rank);
                steps
                    .map(|one| (one.step, one.loss.calls))
                    .collect::<Vec<_>>()
            });
            steps.expect("nobody panicked")
        };
        (ranks, of_step(0), of_step(1))
    };
    for seed in 0..20 {
        let (killed, mut random) = (local(), Random::new(seed + 1));
        run(
            &killed,
            Some(1 + random.below(2 * STEPS)),
            1 + seed % 7,
            1000,
        );
        run(&killed, None, 0, 1000);
        assert_eq!(calls(&killed), calls(&whole), "{seed}");
    }
}

#[test]
fn another_run_of_the_same_client_counts_anew() {
    let local = local();
    run(&local, Some(9), 0, 1000);
    run(&local, None, 0, 5_000_000);
    let calls = local.server(|server| server.ranking(Ranking::Total)[0].loss.calls);
    assert_eq!(calls.expect("nobody panicked"), 60 * (9 + STEPS));
    // A second restart continues the first.
    run(&local, None, 0, 5_000_000);
    let calls = local.server(|server| server.ranking(Ranking::Total)[0].loss.calls);
    assert_eq!(calls.expect("nobody panicked"), 60 * (9 + STEPS));
}

#[test]
fn servers_of_earlier_versions_are_read() {
    let params = || Server::params().check().expect("defaults");
    let mut bytes = Server::new(params()).encode();
    assert_eq!(&bytes[4..6], &[12, 0]);
    // Version 11 had no slow calls outside of modes, version 10 no counters, version 9 no changes of functions and no times of waiting, version 8 no calls of modes, version 7 the reports
    // of steps by program, version 6 no modes and no functions by step, version 5 other series of run times, version 4 no run times of steps, and version 3 no positions of
    // clients either. An empty server has a count of 4 bytes for each, and no series.
    for (version, missing) in [
        (11, 0),
        (10, 1),
        (9, 4),
        (8, 0),
        (7, 0),
        (6, 8),
        (5, 0),
        (4, 4),
        (3, 4),
    ] {
        bytes[4] = version;
        bytes.truncate(bytes.len() - missing);
        let server = Server::decode(params(), &bytes).expect("it is of an earlier version");
        assert_eq!((server.clients(), server.slow_ranks()), (0, Vec::new()));
    }
    bytes[4] = 2;
    let refused = Server::decode(params(), &bytes).expect_err("nobody reads that any more");
    assert!(refused.to_string().contains("version 3 to 12"), "{refused}");
}

/// Version 7 of a server with four ranks, six steps and two functions, of which rank 2 is 50 % slower.
#[test]
fn slow_ranks_of_a_server_of_version_7_continue() {
    let bytes = include_bytes!("../../data/server-7.state");
    assert_eq!(&bytes[4..6], &[7, 0]);
    let params = || Server::params().check().expect("defaults");
    let read = Server::decode(params(), bytes).expect("it is of version 7");
    let [slow] = read.slow_ranks()[..] else {
        panic!("one slow rank")
    };
    assert_eq!(
        (slow.rank, slow.first, slow.last, slow.lasts),
        (2, 0, 5, true)
    );
    assert!((slow.factor - 1.5).abs() < 0.01, "{}", slow.factor);
    assert!(
        slow.lost.0.abs_diff(595_640_562) < 3_000_000,
        "{:?}",
        slow.lost
    );
    let calls = |server: &Server| server.ranking(Ranking::Total)[0].loss.calls;
    assert_eq!((read.clients(), calls(&read)), (4, 40 * 6));
    // Its bytes in the present version have the same contents.
    let encoded = read.encode();
    assert_eq!(encoded[4], 12);
    let again = Server::decode(params(), &encoded).expect("it was just encoded");
    assert_eq!(again.slow_ranks(), read.slow_ranks());
    assert_eq!(again.encode(), encoded);
    for length in 0..bytes.len() {
        assert!(
            Server::decode(params(), &bytes[..length]).is_err(),
            "{length}"
        );
    }
    // The ranks continue: steps up to 5 are known, and four more follow.
    let local = Local::new(read);
    for rank in 0..4 {
        let (sequence, positions) = local
            .server(|server| (server.sequence(rank), server.positions(rank).to_vec()))
            .expect("nobody panicked");
        let client = Client::new(rank, local.clone()).resume(sequence, &positions);
        let monitor = Monitor::default().share(client);
        let mut watch = Watch::new(monitor, 0, rank as u32).period(Nanos(0));
        let regions = ["solve", "pack"].map(|name| watch.region(name));
        let mut at = 0;
        for step in 0..10 {
            for call in 0..40 {
                let usual = if rank == 2 { 7_500_000 } else { 5_000_000 };
                watch.enter(0, regions[call % 2], Nanos(at));
                at += usual + (call as i64 * 7919 + step) % 50_000;
                watch.exit(0, regions[call % 2], Nanos(at));
            }
            watch.end_step();
        }
        watch.into_sink().finish().expect("the server takes all");
    }
    let slow = local
        .server(|server| server.slow_ranks())
        .expect("nobody panicked");
    let [slow] = slow[..] else {
        panic!("one slow rank")
    };
    assert_eq!((slow.rank, slow.first, slow.last), (2, 0, 9));
    // Six known steps with 40 calls, and four more of rank 2, which take 2.5 ms longer.
    let lost = slow.lost.0 as f64 / (595_640_562.0 + 4.0 * 40.0 * 2_500_000.0);
    assert!((lost - 1.0).abs() < 0.02, "{lost}");
}
