//! Records of a database: their models, and the deletion of old ones.

use super::{Place, calls, hello, number, open, push, pushes};
use crate::common;
use perf_anomaly::provenance::{Entry, Record, Sqlite, Store};
use perf_anomaly::{Label, Loss};
use perf_core::Nanos;
use perf_live::hub::{Finished, Hub};
use perf_live::web::{Offline, Service, Source};

/// Returns the function of each record of a database, and the function of the model that it refers
/// to.
fn judged(place: &Place, source: impl Into<Source>) -> Vec<(u32, String, String)> {
    let database = rusqlite::Connection::open(&place.0).expect("it is there");
    let sql = "select id from call join entry using (id) where json_extract(body, '$.model') > 0";
    let mut found = database.prepare(sql).expect("it is a question");
    let found = found.query_map([], |row| row.get(0)).expect("it is one");
    let found: Vec<i64> = found.map(|id| id.expect("a number")).collect();
    let web = Service::params().token("a-token-of-a-test").check();
    let web = Offline::new(source, web.expect("in range")).expect("it has a runtime");
    let ask = |id: i64| {
        let path = format!("/api/record?id={id}");
        let reply = web.answer("GET", &path, &[("host", b"localhost")], Vec::new());
        let all: serde_json::Value = serde_json::from_slice(&reply.body).expect("it is JSON");
        let text = |of: &str| all[of]["function"].as_str().unwrap_or("none").to_string();
        let rank = all["record"]["rank"].as_u64().expect("a number") as u32;
        (rank, text("record"), text("model"))
    };
    found.into_iter().map(ask).collect()
}

/// Models are found by the records that refer to them, even after their client was forgotten: their
/// numbers are not reused.
#[test]
fn records_of_forgotten_clients_keep_their_models() {
    let place = Place::new("forgotten-models");
    let params = || Hub::params().forget(std::time::Duration::from_secs(1));
    let hub = open(&place, params());
    push(&hub, &pushes(0, 0, 5, 25)[0]).expect("it is sound");
    while hub.counts().forgotten == 0 {
        std::thread::sleep(std::time::Duration::from_millis(400));
        hub.say(hello(6), 10).expect("it answers");
    }
    hub.close();
    drop(hub);
    let hub = open(&place, params());
    push(&hub, &pushes(0, 1, 7, 25)[0]).expect("it is sound");
    let all = judged(&place, hub.clone());
    for rank in 0..2 {
        assert!(
            all.iter().filter(|one| one.0 == rank).count() > 2,
            "{all:?}"
        );
    }
    for (rank, function, model) in all {
        assert_eq!(function, model, "rank {rank}");
    }
    hub.close();
}

/// A database of an earlier version: positions of models were dropped with their clients, and their
/// numbers were reused.
#[test]
fn a_database_of_an_earlier_version_finds_its_models_again() {
    let place = Place::new("earlier");
    let checked = || Hub::params().check().expect("defaults");
    let earlier = |sql: &str| {
        let database = rusqlite::Connection::open(&place.0).expect("it is there");
        let earlier = "drop table if exists live_body; delete from live_model;
            update live_fact set value = 1 where name = 'schema';";
        database.execute_batch(earlier).expect("it can");
        database.execute_batch(sql).expect("it can");
    };
    let hub = open(&place, Hub::params());
    push(&hub, &pushes(0, 0, 5, 25)[0]).expect("it is sound");
    hub.close();
    drop(hub);
    earlier("");
    let before = judged(
        &place,
        Finished::open(&place.0, checked()).expect("it is there"),
    );
    assert!(
        before.len() > 2 && before.iter().all(|one| one.1 == one.2),
        "{before:?}"
    );
    // The numbers restart, as they did then.
    let hub = open(&place, Hub::params());
    let models = number(&place, "select max(number) from live_body").expect("some");
    push(&hub, &pushes(0, 1, 6, 25)[0]).expect("it is sound");
    hub.close();
    drop(hub);
    assert_eq!(
        number(&place, "select value from live_fact where name = 'schema'"),
        Some(2)
    );
    assert!(number(&place, "select max(number) from live_body") > Some(models));
    let renumber = |path: &str| {
        let value = format!("json_extract(body, '{path}')");
        format!(
            "update entry set body = json_set(body, '{path}', {value} - {models})
             where {value} > {models};"
        )
    };
    earlier(&[renumber("$.id"), renumber("$.model")].concat());
    for source in [
        Source::from(Finished::open(&place.0, checked()).expect("it is there")),
        Source::from(open(&place, Hub::params())),
    ] {
        let all = judged(&place, source.clone());
        assert!(all.len() > before.len(), "{all:?}");
        assert!(all.iter().all(|one| one.1 == one.2), "{all:?}");
        if let Source::Live(hub) = source {
            hub.close();
        }
    }
}

#[test]
fn records_that_are_too_many_go_the_old_and_harmless_ones_first() {
    let place = Place::new("bytes");
    let hub = open(&place, Hub::params().keep_bytes(1 << 16));
    let (mut told, mut worst, mut bytes) = (0, 0, 0);
    for rank in 0..30 {
        let first = pushes(0, rank, 50 + u64::from(rank), 25).remove(0);
        for entry in &first.records.as_ref().expect("it has some").entries {
            if let Entry::Call(record) = entry {
                told += 1;
                worst = worst.max(record.severity.0);
                bytes += entry.to_string().len();
            }
        }
        push(&hub, &first).expect("it is sound");
    }
    assert!(bytes > 2 << 16, "{bytes}");
    hub.close();
    calls(&hub);
    let dropped = hub.overview().dropped;
    drop(hub);
    let from = "from call join entry using (id)";
    let kept = number(
        &place,
        &format!("select sum(octet_length(body) + 1) {from}"),
    );
    assert!(dropped > 0 && kept <= Some(1 << 16), "{dropped}, {kept:?}");
    let count = number(&place, &format!("select count(*) {from}"));
    assert_eq!(count, Some(told - dropped.cast_signed()));
    assert_eq!(
        number(&place, "select max(severity) from call"),
        Some(worst)
    );
    // The number of dropped records is known afterwards too.
    let finished = Finished::open(&place.0, Default::default());
    assert_eq!(finished.expect("it is there").overview().dropped, dropped);
}

#[test]
fn records_that_are_too_old_go() {
    let place = Place::new("steps");
    let hub = open(&place, Hub::params().keep_steps(5));
    for one in pushes(0, 0, 9, 30) {
        push(&hub, &one).expect("it is sound");
    }
    hub.close();
    assert_eq!(calls(&hub), 30 * common::CALLS);
    assert!(hub.overview().dropped > 0);
    for table in ["call", "live_step"] {
        let first = number(&place, &format!("select min(step) from {table}"));
        assert!(first.is_none_or(|step| step >= 25), "{table} {first:?}");
    }
    let first = number(&place, "select min(step) from live_total");
    assert_eq!(first, Some(0), "what all ranks were stays");
}

/// A database that a detector wrote without a server says which calls wait for others: they lose no time, and their
/// time is shown only if no other call lost any.
#[test]
fn recorded_calls_that_wait_lose_no_time() {
    for is_lost in [true, false] {
        let place = Place::new(if is_lost { "waits" } else { "waits-only" });
        let mut store = Sqlite::create(&place.0).expect("it can be made");
        let calls = [("MPI_Recv", 7_000, true), ("solve", 9_000, false)];
        let calls = calls.iter().filter(|(.., waits)| is_lost || *waits);
        for (rank, (name, severity, waits)) in (0..).zip(calls) {
            let mut record = Record::default();
            (record.function, record.rank) = (name.to_string(), rank);
            record.label = Label::TooSlow;
            (record.severity, record.waits) = (Nanos(*severity), *waits);
            let entry = Entry::Call(Box::new(record));
            store.put(&entry).expect("it is sound");
        }
        store.commit().expect("it can be written");
        drop(store);
        let finished = Finished::open(&place.0, Default::default()).expect("it is there");
        let functions = finished.functions();
        let times = functions.iter().map(|(name, stats)| {
            let Loss { time, waiting, .. } = stats.loss;
            (&*name.name, time.0, waiting.0)
        });
        let all = [("solve", 9_000, 0), ("MPI_Recv", 0, 7_000)];
        let expected = if is_lost { &all[..] } else { &all[1..] };
        assert_eq!(times.collect::<Vec<_>>(), expected);
        let slow = finished.slow();
        assert_eq!(slow.lost.total(), Nanos(if is_lost { 9_000 } else { 0 }));
        assert_eq!(slow.lost.waiting, Nanos(7_000));
        let waits = slow.causes.iter().map(|(cause, _)| cause.waits);
        let expected = if is_lost { &[false, true][..] } else { &[true] };
        assert_eq!(waits.collect::<Vec<_>>(), expected);
        let by_rank: Vec<_> = slow.lost_by_rank.values().map(|time| time.0).collect();
        let expected = if is_lost { &[0, 9_000][..] } else { &[7_000] };
        assert_eq!(by_rank, expected);
    }
}

/// A damaged line does not hide the sums of the others; its own call counts as lost.
#[test]
fn damaged_records_count_as_lost_time() {
    let place = Place::new("damaged-waits");
    let mut store = Sqlite::create(&place.0).expect("it can be made");
    for (rank, waits) in [(0, true), (1, true), (2, false)] {
        let mut record = Record::default();
        (record.function, record.rank) = ("MPI_Recv".into(), rank);
        record.label = Label::TooSlow;
        (record.severity, record.waits) = (Nanos(1_000 << rank), waits);
        let entry = Entry::Call(Box::new(record));
        store.put(&entry).expect("it is sound");
    }
    store.commit().expect("it can be written");
    drop(store);
    let database = rusqlite::Connection::open(&place.0).expect("it is there");
    let sql = "update entry set body = 'no JSON' where id = (select min(id) from call)";
    assert_eq!(database.execute(sql, []).expect("it can be changed"), 1);
    let finished = Finished::open(&place.0, Default::default()).expect("it is there");
    let lost = finished.slow().lost;
    assert_eq!((lost.total(), lost.waiting), (Nanos(5_000), Nanos(2_000)));
}
