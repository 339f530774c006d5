//! The server without HTTP: single counting, storage, and restarts.
#![cfg(feature = "server")]

use crate::common;

use perf_anomaly::provenance::{Entry, Query, Sqlite, Store};
use perf_live::Error;
use perf_live::hub::{Finished, Hub, HubParams, Message, Told};
use perf_live::web::{Offline, Service, Source};
use perf_live::wire::{Bundle, Hello, NO_VIEW, Push, Welcome};
use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};

/// Database of a test, removed before and after it.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let place = Place(std::env::temp_dir().join(format!("perf-live-{name}.sqlite")));
        place.clear();
        place
    }

    fn clear(&self) {
        for end in ["", "-wal", "-shm", ".lock"] {
            let mut name = self.0.clone().into_os_string();
            name.push(end);
            let _ = std::fs::remove_file(name);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.clear();
    }
}

fn open(place: &Place, params: HubParams) -> Hub {
    Hub::open(&place.0, params.check().expect("values in range")).expect("it can be made")
}

fn push(hub: &Hub, push: &Push) -> Result<Told, Error> {
    let bytes = push.encode();
    hub.say(
        Message::push(&bytes).expect("it was just written"),
        bytes.len(),
    )
}

/// Returns all messages of a rank, delta by delta, with its entries after the first one.
fn pushes(program: u32, rank: u32, client: u64, steps: usize) -> Vec<Push> {
    let (deltas, entries) = common::recorded(program, rank, client, steps);
    let mut all: Vec<Push> = deltas
        .into_iter()
        .map(|delta| Push {
            client,
            view: 0,
            delta: Some(delta),
            records: None,
        })
        .collect();
    all[0].records = Some(Bundle {
        sequence: 1,
        entries,
    });
    all
}

fn calls(hub: &Hub) -> u64 {
    // Overviews are cached for a moment.
    std::thread::sleep(std::time::Duration::from_millis(210));
    hub.overview().total.calls
}

#[test]
fn repeated_messages_count_once_even_after_a_restart() {
    let place = Place::new("twice");
    let steps = 12;
    let all: Vec<Vec<Push>> = (0..3)
        .map(|rank| pushes(0, rank, 100 + u64::from(rank), steps))
        .collect();
    let hub = open(&place, Hub::params().log(1 << 10));
    let mut sent = 0;
    let half = all[0].len() / 2;
    for one in all.iter().flat_map(|all| &all[..half]) {
        let told = push(&hub, one).expect("it is sound");
        let sequence = one.delta.as_ref().map(|delta| delta.sequence);
        assert_eq!((Some(told.delta), told.records), (sequence, 1));
        let again = push(&hub, one).expect("it is sound");
        assert_eq!((again.delta, again.records), (told.delta, 1));
        sent += 1;
    }
    let counts = hub.counts();
    assert_eq!((counts.deltas, counts.repeated), (sent, sent + 3));
    let (before, session) = (
        calls(&hub),
        push(&hub, &all[0][0]).expect("it is sound").session,
    );
    assert!(counts.states > 0, "the state was stored on the way");
    hub.close();
    assert!(matches!(push(&hub, &all[0][0]), Err(Error::Closed)));
    drop(hub);

    let hub = open(&place, Hub::params());
    assert_eq!(calls(&hub), before);
    for one in all.iter().flatten() {
        let told = push(&hub, one).expect("it is sound");
        assert_eq!((told.session, told.records), (session, 1));
    }
    let expected = 3 * steps as u64 * common::CALLS;
    assert_eq!(calls(&hub), expected);
    let functions = hub.functions();
    let counted: u64 = functions.iter().map(|(_, stats)| stats.loss.calls).sum();
    assert_eq!(counted, expected);
    let overview = hub.overview();
    hub.close();
    drop(hub);

    // Afterwards, from the database alone.
    let finished = Finished::open(&place.0, Default::default()).expect("it is there");
    assert_eq!(finished.overview().ranks, overview.ranks);
    assert_eq!(finished.overview().total.calls, expected);
    assert_eq!(finished.functions().len(), functions.len());
}

#[test]
fn a_restarted_client_is_resumed_and_its_records_are_stored_once() {
    let place = Place::new("resumed");
    let hub = open(&place, Hub::params());
    let all = pushes(0, 3, 7, 12);
    for one in &all {
        push(&hub, one).expect("it is sound");
    }
    let records = |hub: &Hub| hub.counts().records;
    let stored = records(&hub);
    let told = hub.say(hello(7), 64).expect("it is known");
    assert_eq!((told.delta, told.records), (all.len() as u64, 1));
    let [position] = told.positions[..] else {
        panic!("{told:?}")
    };
    assert_eq!((position.program, position.rank, position.last), (0, 3, 11));
    let welcome = told.welcome(8 << 20);
    let bytes = welcome.encode_with(&told.positions);
    let read = Welcome::decode_with(&bytes).expect("it was just written");
    assert_eq!(read, (welcome, told.positions));
    assert!(Welcome::decode_with(&bytes[..bytes.len() - 1]).is_err());
    // It records the same calls again.
    let again = Push {
        delta: None,
        records: all[0].records.clone().map(|bundle| Bundle {
            sequence: 2,
            ..bundle
        }),
        ..all[0].clone()
    };
    push(&hub, &again).expect("it is sound");
    assert_eq!(records(&hub), 2 * stored);
    hub.close();
    let mut store = Sqlite::open(&place.0).expect("it is a store as others are");
    let found = store.query(&Query::default()).expect("it can be read");
    let mut keys: Vec<_> = found
        .iter()
        .map(|one| (one.thread, one.step, one.call.entry, one.function.clone()))
        .collect();
    let count = keys.len();
    keys.sort();
    keys.dedup();
    assert!(count > 0 && keys.len() == count, "{count}");
    // The database has the positions too.
    let hub = open(&place, Hub::params());
    let told = hub.say(hello(7), 64).expect("it is known");
    assert_eq!(told.positions, [position]);
}

#[test]
fn records_are_there_once_and_find_their_models() {
    let place = Place::new("records");
    let hub = open(&place, Hub::params());
    let mut kept = Vec::new();
    for rank in 0..2 {
        let all = pushes(0, rank, 7 + u64::from(rank), 12);
        push(&hub, &all[0]).expect("it is sound");
        push(&hub, &all[0]).expect("it is sound");
        kept.extend(
            all[0]
                .records
                .as_ref()
                .expect("it has some")
                .entries
                .clone(),
        );
    }
    let counts = hub.counts();
    assert_eq!((counts.bundles, counts.records as usize), (2, kept.len()));
    hub.close();
    let mut store = Sqlite::open(&place.0).expect("it is a store as others are");
    let found = store.query(&Query::default()).expect("it can be read");
    let calls = |entries: &[Entry]| {
        entries
            .iter()
            .filter(|one| matches!(one, Entry::Call(_)))
            .count()
    };
    assert_eq!(found.len(), calls(&kept));
    let mut models = Vec::new();
    let each = store.each(&mut |entry| {
        if let Entry::Model(model) = entry {
            models.push(model);
        }
        Ok(())
    });
    each.expect("it can be read");
    assert!(
        models
            .iter()
            .enumerate()
            .all(|(at, model)| model.id == at as u64 + 1)
    );
    for record in found {
        let model = models
            .iter()
            .find(|model| model.id == record.model)
            .expect("it is there");
        assert_eq!(model.function, record.function);
    }
}

#[test]
fn one_database_has_one_server() {
    let place = Place::new("lock");
    let hub = open(&place, Hub::params());
    let second = Hub::open(&place.0, Default::default());
    assert!(second.is_err_and(|error| error.to_string().contains("another server")));
    // It can be read meanwhile.
    assert!(Finished::open(&place.0, Default::default()).is_ok());
    drop(hub);
}

#[test]
fn a_client_too_many_and_other_sessions_are_refused() {
    let place = Place::new("refused");
    let hub = open(&place, Hub::params().clients(2));
    assert!(hub.say(hello(1), 0).is_ok());
    let mut other = pushes(0, 0, 2, 1).remove(0);
    if let Some(delta) = &mut other.delta {
        delta.session = 12345;
    }
    let refused = push(&hub, &other);
    assert!(matches!(
        refused,
        Err(Error::Anomaly(perf_anomaly::Error::OtherSession { .. }))
    ));
    assert!(matches!(hub.say(hello(3), 0), Err(Error::TooMany(2))));
    assert!(hub.say(hello(1), 0).is_ok(), "who is known may come again");
    assert_eq!(hub.counts().refused, 2);
}

#[test]
fn views_are_sent_to_clients_without_them() {
    let place = Place::new("views");
    let hub = open(&place, Hub::params().publish(4));
    let all = pushes(0, 0, 9, 6);
    let first = push(&hub, &all[0]).expect("it is sound");
    assert!(first.view.is_some());
    let same = Push {
        view: first.number,
        ..all[1].clone()
    };
    let second = push(&hub, &same).expect("it is sound");
    assert!(second.view.is_none() || second.number != first.number);
    let none = Push {
        view: NO_VIEW,
        ..all[2].clone()
    };
    assert!(push(&hub, &none).expect("it is sound").view.is_none());
}

fn hello(client: u64) -> Message {
    Message::Hello(Hello {
        client,
        ..Hello::default()
    })
}

/// Blocks the state thread of a hub in an answer until the returned value is dropped.
fn hold(hub: &Hub) -> Sender<()> {
    let (answered, is_answered) = channel();
    let (held, go) = channel::<()>();
    let offered = hub.offer(hello(1), 10, move |_| {
        let _ = answered.send(());
        let _ = go.recv();
    });
    offered.expect("nothing waits");
    is_answered.recv().expect("it is answered");
    held
}

#[test]
fn a_full_queue_says_when_to_come_again() {
    let place = Place::new("busy");
    let hub = open(&place, Hub::params().queue(1));
    let held = hold(&hub);
    hub.offer(hello(2), 10, |_| {}).expect("one may wait");
    let busy = hub.offer(hello(3), 10, |_| {});
    assert!(matches!(busy, Err(Error::Busy { .. })));
    assert_eq!(hub.waiting(), (1, 10));
    drop(held);
    assert!(hub.say(hello(3), 10).is_ok() || hub.waiting().0 > 0);
}

/// The size of waiting messages is limited like their number.
#[test]
fn waiting_bytes_are_limited() {
    let place = Place::new("bytes");
    let hub = open(&place, Hub::params().bytes(1 << 16));
    let held = hold(&hub);
    let half = 1 << 15;
    hub.offer(hello(2), half, |_| {}).expect("there is room");
    hub.offer(hello(3), half, |_| {}).expect("there is room");
    let busy = hub.offer(hello(4), 1, |_| {});
    assert!(matches!(busy, Err(Error::Busy { .. })));
    assert_eq!(hub.waiting(), (2, 1 << 16));
    drop(held);
    assert!(hub.say(hello(4), 1).is_ok() || hub.waiting().0 > 0);
}

/// Another process holds the database longer than the timeout: no message is acknowledged, and none
/// is lost.
#[test]
fn a_batch_that_cannot_be_stored_has_no_effect() {
    let place = Place::new("failure");
    let hub = open(&place, Hub::params());
    let all = pushes(0, 0, 5, 3);
    push(&hub, &all[0]).expect("it is sound");
    let other = rusqlite::Connection::open(&place.0).expect("it is there");
    other
        .execute_batch("begin immediate")
        .expect("nobody writes just now");
    assert!(hub.overview().failure.is_none());
    assert!(matches!(push(&hub, &all[1]), Err(Error::Busy { .. })));
    // Overviews are cached for a moment.
    std::thread::sleep(std::time::Duration::from_millis(210));
    let overview = hub.overview();
    let why = overview.failure.as_deref().unwrap_or_default();
    assert!(why.contains("locked"), "{why}");
    assert_eq!(overview.unstored, 1);
    other.execute_batch("rollback").expect("it can");
    let told = push(&hub, &all[1]).expect("it can be stored again");
    assert_eq!((told.delta, told.records), (2, 1));
    assert_eq!(hub.counts().failures, 1);
    assert_eq!(calls(&hub), 2 * common::CALLS);
    assert!(hub.overview().failure.is_none());
}

#[test]
fn silent_clients_are_forgotten_and_their_data_is_kept() {
    let place = Place::new("forget");
    let params = || Hub::params().forget(std::time::Duration::from_secs(1));
    let hub = open(&place, params());
    let silent = pushes(0, 0, 5, 2);
    push(&hub, &silent[0]).expect("it is sound");
    std::thread::sleep(std::time::Duration::from_millis(1100));
    // The check runs when another client sends a message.
    for one in pushes(0, 1, 6, 3) {
        push(&hub, &one).expect("it is sound");
    }
    let (other, mut others) = (pushes(0, 2, 7, 1), 0);
    while hub.counts().forgotten == 0 {
        std::thread::sleep(std::time::Duration::from_millis(600));
        push(&hub, &other[0]).expect("it is sound");
        others = 1;
    }
    let told = calls(&hub);
    assert_eq!(told, (4 + others) * common::CALLS);
    let stored = |place: &Place| number(place, "select count(*) from live_client where client = 5");
    assert_eq!(stored(&place), Some(0));
    hub.close();
    drop(hub);
    let hub = open(&place, params());
    assert_eq!(calls(&hub), told);
    // It returns after all.
    let again = push(&hub, &silent[1]).expect("it is sound");
    assert_eq!((again.delta, stored(&place)), (2, Some(1)));
    assert_eq!(calls(&hub), told + common::CALLS);
}

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

/// Returns a number from a database.
fn number(place: &Place, sql: &str) -> Option<i64> {
    let database = rusqlite::Connection::open(&place.0).expect("it is there");
    let found = database.query_row(sql, [], |row| row.get(0));
    found.expect("it is a question")
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

/// The largest step number is valid: the state thread continues, and older steps are dropped.
#[test]
fn the_largest_step_has_no_successor() {
    let place = Place::new("last-step");
    let hub = open(&place, Hub::params().keep_steps(5));
    let all = pushes(0, 0, 9, 3);
    push(&hub, &all[0]).expect("it is sound");
    let mut last = all[1].clone();
    if let Some(delta) = &mut last.delta {
        delta.steps[0].step = u64::MAX;
    }
    let bytes = last.encode();
    assert!(
        Message::push(&bytes).is_err(),
        "over the wire it does not come"
    );
    let message = Message::Push(Box::new(last), Vec::new());
    hub.say(message, bytes.len()).expect("it is one");
    push(&hub, &all[2]).expect("the state thread continues");
    assert_eq!(calls(&hub), 3 * common::CALLS);
    hub.close();
}

#[test]
fn numbers_out_of_their_range_are_refused() {
    let said = |params: HubParams| params.check().err().map(|error| error.to_string());
    for (params, name) in [
        (Hub::params().queue(0), "queue"),
        (Hub::params().bytes(1), "bytes"),
        (Hub::params().batch(0), "batch"),
        (Hub::params().log(1), "log"),
        (Hub::params().clients(0), "clients"),
        (Hub::params().forget(std::time::Duration::ZERO), "forget"),
        (Hub::params().keep_bytes(1), "keep_bytes"),
        (Hub::params().keep_steps(0), "keep_steps"),
        (Hub::params().names(0), "names"),
    ] {
        assert!(
            said(params).is_some_and(|what| what.starts_with(name)),
            "{name}"
        );
    }
}

/// A database in a read-only folder can be shown: with its log, or without one in its current
/// state.
#[cfg(unix)]
#[test]
fn a_database_that_cannot_be_written_is_shown() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new("written");
    let hub = open(&place, Hub::params());
    push(&hub, &pushes(0, 0, 3, 1)[0]).expect("it is sound");
    let folder = std::env::temp_dir().join("perf-live 100%#?-read-only");
    let _ = std::fs::remove_dir_all(&folder);
    for is_whole in [true, false] {
        std::fs::create_dir_all(&folder).expect("it can be made");
        if !is_whole {
            hub.close();
        }
        let copied = folder.join("run.sqlite");
        std::fs::copy(&place.0, &copied).expect("it can be copied");
        if is_whole {
            for end in ["-wal", "-shm"] {
                let of = |path: &std::path::Path| {
                    let mut name = path.as_os_str().to_os_string();
                    name.push(end);
                    PathBuf::from(name)
                };
                std::fs::copy(of(&place.0), of(&copied)).expect("it is there");
            }
        }
        let only_read = |mode| std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(&folder, only_read(0o500)).expect("it is ours");
        let finished = Finished::open(&copied, Default::default());
        std::fs::set_permissions(&folder, only_read(0o700)).expect("it is ours");
        let finished = finished.expect("it can be read");
        assert_eq!(finished.overview().total.calls, common::CALLS);
        std::fs::remove_dir_all(&folder).expect("it is ours");
    }
}
