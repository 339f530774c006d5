//! The server without HTTP: single counting, storage, and restarts.
#![cfg(feature = "server")]

mod limits;
mod lost_time;
mod records;

use crate::common;
use perf_anomaly::provenance::{Entry, Query, Sqlite, Store};
use perf_live::Error;
use perf_live::hub::{Finished, Hub, HubAnswer, HubParams, Message};
use perf_live::wire::{Bundle, Hello, NO_VIEW, Push, Welcome};
use std::path::{Path, PathBuf};

/// Database of a test, removed before and after it.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let place =
            Place(Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("perf-live-{name}.sqlite")));
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

fn push(hub: &Hub, push: &Push) -> Result<HubAnswer, Error> {
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

fn hello(client: u64) -> Message {
    Message::Hello(Hello {
        client,
        ..Hello::default()
    })
}

/// Returns a number from a database.
fn number(place: &Place, sql: &str) -> Option<i64> {
    let database = rusqlite::Connection::open(&place.0).expect("it is there");
    let found = database.query_row(sql, [], |row| row.get(0));
    found.expect("it is a question")
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

/// The server refuses the database of another application, without a file beside it.
#[test]
fn a_database_of_another_application_has_no_lock_file() {
    let place = Place::new("foreign");
    let other = rusqlite::Connection::open(&place.0).expect("it can be made");
    let made = other.execute_batch("create table mine (number integer)");
    made.expect("there is room");
    let error = Hub::open(&place.0, Default::default()).expect_err("it is no database of a run");
    assert!(error.to_string().contains("holds no provenance"), "{error}");
    let mut lock = place.0.clone().into_os_string();
    lock.push(".lock");
    assert!(!std::path::Path::new(&lock).exists());
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

/// A database in a read-only folder can be shown: with its log, or without one in its current
/// state.
#[cfg(unix)]
#[test]
fn a_database_that_cannot_be_written_is_shown() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new("written");
    let hub = open(&place, Hub::params());
    push(&hub, &pushes(0, 0, 3, 1)[0]).expect("it is sound");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("perf-live 100%#?-read-only");
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
