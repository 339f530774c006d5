//! Changes of functions at a server: those of one detector as it reports them, those of several clients as one, also
//! after a restart of the server or of the detector, and messages of earlier versions without them.

use super::Kept;
use crate::common::Random;
use perf_anomaly::server::{Client, Delta, Exchange, Local, ReportedChange, Server, Sum};
use perf_anomaly::{Change, Drift, Functions, Monitor};
use perf_core::{EventSink, Nanos, StreamEvent, StreamKey};

/// Pushes the calls of a rank in a step; `solve` slows down in step 20.
fn step(monitor: &mut Monitor, rank: u32, number: u64) {
    let stream = monitor.stream(StreamKey {
        program: 0,
        rank,
        thread: 0,
    });
    let (pack, solve) = (monitor.region(0, "pack"), monitor.region(0, "solve"));
    let mut random = Random::new(1 + number * 31 + u64::from(rank));
    let mut at = number as i64 * 1_000_000_000 + i64::from(rank);
    for call in 0..100 {
        let region = if call % 2 == 0 { pack } else { solve };
        let factor = if region == solve && number >= 20 {
            1.5
        } else {
            1.0
        };
        let length = (factor * (100_000 + random.below(4_000)) as f64) as i64;
        monitor.push(stream, Nanos(at), StreamEvent::Enter(region));
        monitor.push(stream, Nanos(at + length), StreamEvent::Exit(region));
        at += length + 1000;
    }
}

/// Runs a detector of some ranks up to a step.
fn run<E: Exchange + 'static>(client: Client<E>, ranks: &[u32], end: u64) -> Monitor {
    let mut monitor = Monitor::default()
        .share(client)
        .watch_drift(Drift::default());
    for number in 0..end {
        ranks
            .iter()
            .for_each(|rank| step(&mut monitor, *rank, number));
        monitor.end_step(number);
    }
    assert!(monitor.error().is_none());
    monitor
}

/// Returns the changes at a server with the names of their functions.
fn changes(local: &Local) -> Vec<(String, ReportedChange)> {
    let all = local.server(|server| {
        let all = server.comparison().changes().into_iter();
        let named = all.map(|one| {
            let name = &server.names()[one.change.function.0 as usize].name;
            (name.to_string(), one)
        });
        named.collect()
    });
    all.expect("nobody panicked")
}

#[test]
fn changes_of_one_detector_are_those_of_its_report() {
    let local = Local::new(Server::default());
    let monitor = run(Client::new(7, local.clone()), &[0, 1, 2], 40);
    let report = monitor.finish().expect("nothing fails");
    let [own] = report.drift.as_ref().expect("it was watched").changes() else {
        panic!("one change")
    };
    assert!(
        (19..=20).contains(&own.step) && own.until >= 20 && own.ranks == 3,
        "{own:?}"
    );
    let found = changes(&local);
    let [(name, one)] = &found[..] else {
        panic!("one change, not {found:?}")
    };
    assert_eq!((&**name, one.clients), ("solve", 1));
    let mut expected = *own;
    expected.function = one.change.function;
    assert_eq!(one.change, expected);
    assert_eq!(one.sentence(name), own.sentence("solve"));
    // After a restart of the server.
    let bytes = local.server(|server| server.encode()).expect("no panic");
    let params = Server::params().check().expect("defaults");
    let again = Local::new(Server::decode(params, &bytes).expect("it was just written"));
    assert_eq!(changes(&again), found);
    assert_eq!(
        again.server(|server| server.encode()).expect("no panic"),
        bytes
    );
}

#[test]
fn the_same_change_of_several_clients_is_one() {
    let local = Local::new(Server::default());
    for rank in 0..5 {
        run(Client::new(rank.into(), local.clone()), &[rank], 40);
    }
    let found = changes(&local);
    let [(name, one)] = &found[..] else {
        panic!("one change, not {found:?}")
    };
    assert_eq!((one.clients, one.change.ranks), (5, 5));
    let ratio = one.change.to.0 as f64 / one.change.from.0 as f64;
    assert!((ratio - 1.5).abs() < 0.03, "{ratio}");
    let sentence = one.sentence(name);
    assert!(sentence.ends_with(" on 5 ranks"), "{sentence}");
}

#[test]
fn a_detector_that_starts_again_reports_a_change_once() {
    for end in [10, 21, 23, 30, 40] {
        let local = Local::new(Server::default());
        drop(run(Client::new(7, local.clone()), &[0, 1], end));
        let known = |server: &mut Server| (server.sequence(7), server.positions(7).to_vec());
        let (sequence, positions) = local.server(known).expect("no panic");
        let client = Client::new(7, local.clone()).resume(sequence, &positions);
        let report = run(client, &[0, 1], 40).finish().expect("nothing fails");
        let own = report
            .drift
            .as_ref()
            .expect("it was watched")
            .changes()
            .to_vec();
        let found = changes(&local);
        assert_eq!((own.len(), found.len()), (1, 1), "{end}");
        assert_eq!(found[0].1.change.step, own[0].step, "{end}");
    }
}

/// Returns a delta with a change.
fn delta(rank: u32) -> Delta {
    let mut calls = perf_anomaly::Watch::new(perf_anomaly::calls::Calls::default(), 0, rank);
    let solve = calls.region("solve");
    for call in 0..10 {
        calls.enter(0, solve, Nanos(1_000_000 * call));
        calls.exit(0, solve, Nanos(1_000_000 * call + 50_000));
    }
    calls.end_step();
    let mut client = Client::new(rank.into(), Kept::default());
    let judgements = [perf_anomaly::Judgement::default(); 10];
    let mut detector = perf_anomaly::Tail::default();
    let sent = client.step(calls.sink(), &judgements, &mut detector);
    assert!(sent.expect("nothing fails").sent);
    let mut delta = client.exchange_mut().0.remove(0);
    let mut change = Change::default();
    (change.step, change.until, change.ranks) = (3, 5, 1);
    (change.from, change.to) = (Nanos(1000), Nanos(2000));
    delta.changes.push(change);
    delta
}

#[test]
fn messages_contain_changes_and_those_of_earlier_versions_none() {
    let mut deltas = [delta(0), delta(1)];
    let bytes = deltas[0].encode();
    assert_eq!(
        (bytes[4], Delta::decode(&bytes).expect("written")),
        (10, deltas[0].clone())
    );
    let mut server = Server::default();
    let mut sum = server.sum(&deltas[0]).expect("sound");
    sum.merge(&server.sum(&deltas[1]).expect("sound"))
        .expect("one detector");
    let ranks = sum.take_ranks();
    server
        .add(&Sum::decode(&sum.encode()).expect("written"))
        .expect("sound");
    assert_eq!(server.comparison().changes(), []);
    server
        .add(&Sum::decode(&ranks.encode()).expect("written"))
        .expect("sound");
    let [one] = server.comparison().changes()[..] else {
        panic!("one change")
    };
    assert_eq!((one.clients, one.change.ranks, one.change.step), (2, 2, 3));
    // A change of a function without a name is refused.
    deltas[0].changes[0].function.0 = 9;
    assert!(Server::default().take(&deltas[0]).is_err());
    // Version 7 of a delta and version 5 of a sum end before the changes, counters and slow calls. Losses have no time of waiting in them.
    deltas[1].changes.clear();
    deltas[1].functions = Functions::default();
    deltas[1].steps.clear();
    let mut bytes = deltas[1].encode();
    bytes.truncate(bytes.len() - 6);
    bytes[4] = 7;
    assert_eq!(Delta::decode(&bytes).expect("of version 7"), deltas[1]);
    let sum = Server::default().sum(&deltas[1]).expect("sound");
    let mut bytes = sum.encode();
    assert_eq!(bytes[4], 8);
    bytes.truncate(bytes.len() - 5);
    bytes[4] = 5;
    assert_eq!(Sum::decode(&bytes).expect("of version 5"), sum);
}
