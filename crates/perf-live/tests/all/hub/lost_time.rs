//! Time lost by rank and step: it adds up to the total, also after a restart and if steps were dropped, and is
//! that of the report of the detector.

use super::{Place, open, push, pushes};
use crate::common::{Random, Tape};
use perf_anomaly::server::Client;
use perf_anomaly::{Change, Drift, Monitor, Report, describe_changes};
use perf_core::{EventSink, Nanos, StreamEvent, StreamKey};
use perf_live::hub::{Finished, Hub};
use perf_live::web::{Offline, Service, Source};
use perf_live::wire::Push;
use serde_json::Value;
use std::collections::BTreeMap;

/// Returns the answer to a query.
fn ask(source: impl Into<Source>, query: &str) -> Value {
    let web = Service::params().token("a-token-of-a-test").check();
    let web = Offline::new(source, web.expect("in range")).expect("it has a runtime");
    let reply = web.answer("GET", query, &[("host", b"localhost")], Vec::new());
    serde_json::from_slice(&reply.body).expect("it is JSON")
}

/// Returns the answer to the query for the time lost by rank and step.
fn lost(source: impl Into<Source>) -> Value {
    ask(source, "/api/lost")
}

/// Returns the time lost in abnormal calls, in nanoseconds: that of all cells, and that of no cell.
fn sums(lost: &Value) -> (i64, i64) {
    let number = |value: &Value| value.as_i64().expect("a number");
    let cells = lost["cells"].as_array().expect("cells");
    let calls = cells.iter().map(|cell| number(&cell[3])).sum();
    (calls, number(&lost["missing"]))
}

fn total(hub: &Hub) -> i64 {
    // Overviews are cached for a moment.
    std::thread::sleep(std::time::Duration::from_millis(210));
    hub.overview().total.time.0
}

#[test]
fn time_lost_is_the_same_after_a_restart() {
    let place = Place::new("lost-restart");
    let all = [0, 1, 2].map(|rank| pushes(0, rank, 100 + u64::from(rank), 12));
    // The state is stored on the way, so that a part of the steps is in the log only.
    let hub = open(&place, Hub::params().log(1 << 10));
    for one in all.iter().flat_map(|all| &all[..8]) {
        push(&hub, one).expect("it is sound");
        push(&hub, one).expect("a repeated message counts once");
    }
    let (before, lost_before) = (total(&hub), lost(hub.clone()));
    assert!(before > 0);
    assert_eq!(sums(&lost_before), (before, 0));
    hub.close();
    drop(hub);

    let hub = open(&place, Hub::params());
    assert_eq!(lost(hub.clone()), lost_before);
    for one in all.iter().flatten() {
        push(&hub, one).expect("it is sound");
    }
    let after = total(&hub);
    assert!(after > before);
    let lost_after = lost(hub.clone());
    assert_eq!(sums(&lost_after), (after, 0));
    hub.close();
    let finished = Finished::open(&place.0, Default::default()).expect("it is there");
    assert_eq!(lost(finished), lost_after);
}

/// A batch that cannot be stored does not stay in the matrix.
#[test]
fn time_lost_in_a_failed_batch_counts_once() {
    let place = Place::new("lost-failure");
    let hub = open(&place, Hub::params());
    let all = pushes(0, 0, 5, 12);
    let other = rusqlite::Connection::open(&place.0).expect("it is there");
    for (at, one) in all.iter().enumerate() {
        if at == 9 {
            other
                .execute_batch("begin immediate")
                .expect("nobody writes just now");
            assert!(push(&hub, one).is_err());
            other.execute_batch("rollback").expect("it can");
        }
        push(&hub, one).expect("it can be stored again");
    }
    let total = total(&hub);
    assert!(total > 0);
    assert_eq!(sums(&lost(hub.clone())), (total, 0));
    hub.close();
}

/// Steps that the database dropped are in no cell after a restart, which is stated.
#[test]
fn time_lost_in_dropped_steps_is_stated() {
    let place = Place::new("lost-dropped");
    let params = || Hub::params().keep_steps(4);
    let hub = open(&place, params());
    for one in pushes(0, 0, 7, 40) {
        push(&hub, &one).expect("it is sound");
    }
    let before = total(&hub);
    assert_eq!(sums(&lost(hub.clone())), (before, 0));
    hub.close();
    drop(hub);
    let hub = open(&place, params());
    assert_eq!(total(&hub), before);
    let (calls, missing) = sums(&lost(hub.clone()));
    assert!(
        missing > 0 && calls + missing == before,
        "{calls} {missing} {before}"
    );
    hub.close();
}

/// Runs a detector of four ranks with slow calls, a new mode on ranks 1 and 2, a slow rank 3 and a slow phase from
/// step 24 to 29. A rule accepts the modes of the functions that match a pattern. Returns its messages and its report.
fn detected(accepted: &str) -> (Vec<Push>, Report) {
    let (tape, client) = (Tape::default(), 77);
    let sharing = Client::new(client, tape.clone()).in_flight(usize::MAX);
    let mut monitor = Monitor::default()
        .share(sharing)
        .compare_steps(2)
        .watch_drift(Drift::default())
        .accept(accepted, "it is known");
    let regions = ["solve", "exchange_data"].map(|name| monitor.region(0, name));
    let mut random = Random::new(3);
    for step in 0..40 {
        for rank in 0..4 {
            let stream = monitor.stream(StreamKey {
                program: 0,
                rank,
                thread: 0,
            });
            let mut at = 1_000_000_000 * step;
            for call in 0..80 {
                for (is_solve, region) in [true, false].into_iter().zip(regions) {
                    let mut time = 100_000 + random.below(4_000) as i64;
                    if is_solve && (1..3).contains(&rank) && step >= 10 && call % 20 == 9 {
                        time *= 2;
                    }
                    if is_solve && random.below(900) == 0 {
                        time *= 11 + random.below(50) as i64;
                    }
                    if rank == 3 {
                        time = time * 13 / 10;
                    }
                    if !is_solve && (24..30).contains(&step) {
                        time = time * 14 / 10;
                    }
                    monitor.push(stream, Nanos(at), StreamEvent::Enter(region));
                    at += time;
                    monitor.push(stream, Nanos(at), StreamEvent::Exit(region));
                }
            }
        }
        monitor.end_step(step as u64);
    }
    let report = monitor.finish().expect("no store");
    let deltas = tape.0.lock().expect("nobody panics").clone();
    let pushes = deltas.into_iter().map(|delta| Push {
        client,
        view: 0,
        delta: Some(delta),
        records: None,
    });
    (pushes.collect(), report)
}

/// Time lost in abnormal calls, on slow ranks and in new modes, by rank and step.
type Map = BTreeMap<(u64, u64), [i64; 3]>;

/// Adds time that was lost in equal parts in consecutive steps, as the charts do.
fn spread(map: &mut Map, rank: u32, (first, last): (u64, u64), lost: i64, cause: usize) {
    let (steps, mut before) = ((last - first + 1) as i64, 0);
    for (at, step) in (1..).zip(first..=last) {
        let until = lost * at / steps;
        map.entry((rank.into(), step)).or_default()[cause] += until - before;
        before = until;
    }
}

fn map_of(report: &Report) -> Map {
    let mut map = Map::new();
    for rank in 0..4 {
        for step in report.ranks.steps(0, rank) {
            let key = (rank.into(), step.step);
            map.entry(key).or_default()[0] += step.loss.time.0;
        }
    }
    for one in report.lasting.peers().slow_steps() {
        spread(&mut map, one.rank, (one.first, one.last), one.lost.0, 1);
    }
    for one in report.lasting.modes().steps() {
        spread(&mut map, one.rank, (one.first, one.last), one.lost.0, 2);
    }
    map.retain(|_, cell| *cell != [0; 3]);
    map
}

fn map_at(lost: &Value) -> Map {
    let cells = lost["cells"].as_array().expect("cells").iter();
    let number = |value: &Value| value.as_i64().expect("a number");
    let cell = |cell: &Value| {
        let key = (number(&cell[0]) as u64, number(&cell[1]) as u64);
        (key, [3, 4, 7].map(|at| number(&cell[at])))
    };
    cells.map(cell).collect()
}

/// The map of the server contains single calls, slow ranks and new modes as the report of the same detector
/// does, and its phases and functions are the same; also after a restart in the middle.
#[test]
fn the_map_is_that_of_the_report() {
    let (pushes, report) = detected("");
    let expected = map_of(&report);
    for cause in 0..3 {
        assert!(expected.values().any(|cell| cell[cause] > 0), "{cause}");
    }
    let place = Place::new("lost-map");
    let half = pushes.len() / 2;
    let hub = open(&place, Hub::params().log(1 << 14));
    for one in &pushes[..half] {
        push(&hub, one).expect("it is sound");
    }
    hub.close();
    drop(hub);
    let hub = open(&place, Hub::params());
    for one in &pushes {
        push(&hub, one).expect("it is sound");
    }
    assert_eq!(map_at(&lost(hub.clone())), expected);
    let rows = |value: &Value| value.as_array().expect("rows").clone();
    let phases = rows(&ask(hub.clone(), "/api/slow")["phases"]);
    let own = report.lasting.peers().slowness();
    assert!(!own.phase_steps.is_empty());
    let steps: Vec<Value> = phases.iter().flat_map(|one| rows(&one["steps"])).collect();
    let steps_of = own.phase_steps.iter();
    let steps_of = steps_of.map(|one| serde_json::json!([one.first, one.last, one.lost.0]));
    assert_eq!(steps, steps_of.collect::<Vec<Value>>());
    let functions = rows(&ask(hub.clone(), "/api/stacked")["rows"]);
    for (function, loss) in report.losses.worst_functions() {
        let name = report.calls.function_name(function);
        let own = functions.iter().filter(|row| row[1] == *name);
        let sum: i64 = own.map(|row| row[3].as_i64().expect("a number")).sum();
        assert_eq!(sum, loss.time.0, "{name}");
    }
    let causes = ask(hub.clone(), "/api/causes");
    assert_causes(&causes, &report);
    let changes = ask(hub.clone(), "/api/changes");
    assert_changes(&changes, &report);
    let run_times = "/api/distribution?function=exchange_data";
    let known = ask(hub.clone(), run_times);
    let bins = rows(&known["distribution"]["bins"]);
    let counts = bins.iter().map(|bin| bin[2].as_u64().expect("a number"));
    // All calls but the first one of each rank are learned.
    assert_eq!(counts.sum::<u64>(), 4 * (40 * 80 - 1));
    assert!(!rows(&known["distribution"]["normal"]).is_empty());
    let live = lost(hub.clone());
    hub.close();
    let finished = Finished::open(&place.0, Default::default()).expect("it is there");
    assert_eq!(lost(finished.clone()), live);
    assert_eq!(ask(finished.clone(), "/api/causes"), causes);
    assert_eq!(ask(finished.clone(), run_times), known);
    assert_eq!(ask(finished, "/api/changes"), changes);
}

/// If a rule of the client accepts a mode, its alarms are no time lost either: the map and the causes have the sum of
/// the report.
#[test]
fn accepted_modes_lose_no_time() {
    for (pattern, modes) in [("", true), ("solve", false)] {
        let (pushes, report) = detected(pattern);
        let place = Place::new("lost-accepted");
        let hub = open(&place, Hub::params());
        for one in &pushes {
            push(&hub, one).expect("it is sound");
        }
        let map = map_at(&lost(hub.clone()));
        assert_eq!(map, map_of(&report));
        let causes = ask(hub.clone(), "/api/causes");
        let own = report.lost_time();
        assert_eq!(own.modes.0 > 0, modes, "{pattern}");
        assert_eq!(causes["sentence"], own.sentence(&report.losses.total()));
        let cells: i64 = map.values().flatten().sum();
        let phases = report.lasting.peers().slowness().phase_steps;
        let phases: i64 = phases.iter().map(|one| one.lost.0).sum();
        let apart = own.total().0 - cells - phases;
        // Times of slow ranks and phases are rounded in each step.
        assert!(apart.abs() < 1000, "{pattern}: {apart}");
        hub.close();
    }
}

/// The server states the changes of the report in the same sentences and in the same order.
fn assert_changes(given: &Value, report: &Report) {
    let calls = &report.calls;
    let own = report.drift.as_ref().expect("it was watched").changes();
    assert!(own.iter().any(Change::is_slower) && own.iter().any(|one| !one.is_slower()));
    let waits = |function| !report.lasting.peers().compares(function);
    let name = |function| calls.function_name(function);
    let expected = describe_changes(own, waits, name, Change::sentence).into_iter();
    let expected: Vec<Value> = expected.map(|(_, sentence)| sentence.into()).collect();
    let rows = given["changes"].as_array().expect("changes");
    let sentences: Vec<Value> = rows.iter().map(|row| row["sentence"].clone()).collect();
    let count = &Value::from(expected.len());
    assert_eq!((sentences, &given["count"]), (expected, count));
    let times = rows.iter().filter_map(|row| row["times"].as_u64());
    assert_eq!(times.sum::<u64>(), own.len() as u64);
    let [first, ..] = &rows[..] else {
        panic!("there are changes")
    };
    let ranks = [&first["ranks"], &first["clients"]];
    assert_eq!(ranks, [&Value::from(4), &Value::from(1)]);
}

/// The server states the causes of the report in the same sentences, apart from the places of single calls, and
/// the parts and the causes add up to the same sums.
fn assert_causes(given: &Value, report: &Report) {
    let (calls, lasting) = (&report.calls, &report.lasting);
    let lost = report.lost_time();
    let parts = [lost.of, lost.calls, lost.modes, lost.ranks, lost.phases];
    let given_parts = ["of", "calls", "modes", "ranks", "phases"].map(|one| given[one].as_i64());
    assert_eq!(given_parts, parts.map(|part| Some(part.0)));
    let total = report.losses.total();
    assert_eq!(given["sentence"], lost.sentence(&total));
    let losses = report.losses.worst_functions();
    let expected = lasting.with_found(calls, &report.ranks, |found| found.all(&losses, |_| None));
    let of = |kind: &str| expected.iter().filter(|one| one.kind == kind).count();
    for kind in ["slow rank", "slow phase", "new mode", "single calls"] {
        assert!(of(kind) > 0, "{kind}");
    }
    let sentences: Vec<&str> = expected.iter().map(|one| &*one.sentence).collect();
    let rows = given["causes"].as_array().expect("causes");
    let rows: Vec<&str> = rows
        .iter()
        .filter_map(|one| one["sentence"].as_str())
        .collect();
    assert_eq!(rows, sentences);
    let sum: i64 = expected.iter().map(|one| one.lost.0).sum();
    assert_eq!(sum, lost.total().0);
}
