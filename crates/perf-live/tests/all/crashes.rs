//! The server and clients are killed repeatedly: acknowledged data exists exactly once.
#![cfg(all(feature = "server", feature = "simulate"))]

use crate::common;

use common::Rank;
use perf_anomaly::Result;
use perf_anomaly::provenance::{Memory, Query, Sqlite, Store};
use perf_anomaly::server::{Client, Delta, Exchange, View};
use perf_live::client::{Link, Requests, Target, Who};
use perf_live::hub::{Finished, Hub};
use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const TOKEN: &str = "a-token-of-a-test";

/// Server in a separate process.
struct Process(Child);

impl Process {
    fn start(database: &Path, address: &str) -> (Self, String) {
        let mut child = Command::new(env!("CARGO_BIN_EXE_perfkit-live"))
            .arg("serve")
            .arg(database)
            .args(["--listen", address, "--history", "16"])
            .env("PERFKIT_LIVE_TOKEN", TOKEN)
            .stdout(Stdio::piped())
            .spawn()
            .expect("it was built");
        let url = common::listening(&mut child);
        (Process(child), url)
    }

    /// Kills the process with `kill -9`.
    fn kill(&mut self) {
        self.0.kill().expect("it runs");
        self.0.wait().expect("it ran");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Exchange that counts calls whose delta was acknowledged.
#[derive(Debug)]
struct Counted {
    /// Underlying exchange.
    inner: Requests,
    /// Number of acknowledged calls.
    answered: Arc<AtomicU64>,
    /// Number of calls in the last delta.
    last: u64,
}

impl Exchange for Counted {
    fn send(&mut self, delta: &Delta) -> Result<()> {
        self.inner.send(delta)?;
        if delta.sequence > self.last {
            self.last = delta.sequence;
            let calls = delta.steps.iter().map(|step| step.loss.calls).sum();
            self.answered.fetch_add(calls, Ordering::SeqCst);
        }
        Ok(())
    }

    fn receive(&mut self) -> Result<Option<View>> {
        self.inner.receive()
    }
}

fn target(url: &str) -> Target {
    let target = Target::new(url).expect("it is sound");
    target.token(TOKEN).patience(Duration::from_secs(60))
}

/// Runs a client until it is stopped, and then sends everything; returns the number of its records.
fn faithful(url: &str, rank: u32, answered: &Arc<AtomicU64>, stop: &AtomicBool) -> u64 {
    let link = Link::open(&target(url), Who::new(0, rank)).expect("it answers");
    let exchange = Counted {
        inner: link.exchange(),
        answered: Arc::clone(answered),
        last: 0,
    };
    let client = Client::new(link.client(), exchange);
    let mut one = Rank::new(0, rank, client, Box::new(link.store()));
    while !stop.load(Ordering::SeqCst) {
        one.step();
        assert!(one.error().is_none(), "it has the patience");
    }
    let report = one.watch.into_sink().finish().expect("all of it is told");
    let (_, kept) = report.store.expect("there is a recorder");
    kept.recorded + kept.normals
}

/// Runs a client that dies after some steps, and restarts as another one.
fn mortal(url: &str, rank: u32, answered: &Arc<AtomicU64>, stop: &AtomicBool) {
    while !stop.load(Ordering::SeqCst) {
        let link = Link::open(&target(url), Who::new(1, rank)).expect("it answers");
        let exchange = Counted {
            inner: link.exchange(),
            answered: Arc::clone(answered),
            last: 0,
        };
        let client = Client::new(link.client(), exchange);
        let mut one = Rank::new(1, rank, client, Box::new(Memory::new()));
        for _ in 0..7 {
            one.step();
            assert!(one.error().is_none(), "it has the patience");
        }
    }
}

#[test]
fn nothing_that_was_answered_is_lost_and_nothing_counts_twice() {
    let database = Path::new(env!("CARGO_TARGET_TMPDIR")).join("perf-live-kill.sqlite");
    clear(&database);
    let (mut server, url) = Process::start(&database, "127.0.0.1:0");
    let address = url.trim_start_matches("http://").to_string();
    let (answered, stop) = (Arc::new(AtomicU64::new(0)), AtomicBool::new(false));
    let kept: u64 = std::thread::scope(|scope| {
        let (url, answered, stop) = (&url, &answered, &stop);
        let faithful: Vec<_> = (0..4)
            .map(|rank| scope.spawn(move || faithful(url, rank, answered, stop)))
            .collect();
        let mortal: Vec<_> = (0..2)
            .map(|rank| scope.spawn(move || mortal(url, rank, answered, stop)))
            .collect();
        for round in 0..6 {
            std::thread::sleep(Duration::from_millis(120 + 37 * round));
            server.kill();
            // Acknowledged data is in the database for any reader.
            let before = answered.load(Ordering::SeqCst);
            let found = calls(&database);
            assert!(found >= before, "{found} of {before} calls");
            (server, _) = Process::start(&database, &address);
        }
        std::thread::sleep(Duration::from_millis(200));
        stop.store(true, Ordering::SeqCst);
        mortal
            .into_iter()
            .for_each(|thread| thread.join().expect("it does not fail"));
        faithful
            .into_iter()
            .map(|thread| thread.join().expect("it does not fail"))
            .sum()
    });
    let total = answered.load(Ordering::SeqCst);
    assert!(total > 20 * common::CALLS, "{total} calls");
    server.kill();
    assert_eq!(calls(&database), total);
    let mut store = Sqlite::open(&database).expect("it is sound");
    let records = store.query(&Query::default()).expect("it can be read");
    let different: HashSet<_> = records
        .iter()
        .map(|one| (one.rank, one.kind, one.call.id.clone()))
        .collect();
    assert_eq!(
        (records.len() as u64, different.len()),
        (kept, records.len())
    );
    drop(store);
    clear(&database);
}

/// Environment variable with the server address for a test process that is a client.
const SERVER: &str = "PERFKIT_LIVE_SERVER_OF_A_TEST";

/// Not a test, but the process that the next test starts. It prints the number of acknowledged
/// calls.
#[test]
fn a_client_process() {
    let Ok(url) = std::env::var(SERVER) else {
        return;
    };
    let link = Link::open(&target(&url), Who::new(2, 0)).expect("it answers");
    let answered = Arc::new(AtomicU64::new(0));
    let exchange = Counted {
        inner: link.exchange(),
        answered: Arc::clone(&answered),
        last: 0,
    };
    let client = Client::new(link.client(), exchange);
    let mut one = Rank::new(2, 0, client, Box::new(link.store()));
    loop {
        one.step();
        if one.error().is_some() {
            return;
        }
        println!("answered {}", answered.load(Ordering::SeqCst));
    }
}

/// A client is killed, and restarted as another one, a few times. Acknowledged data counts; the
/// last unacknowledged delta may count once.
#[test]
fn a_killed_client_loses_no_acknowledged_data() {
    let database = Path::new(env!("CARGO_TARGET_TMPDIR")).join("perf-live-kill-client.sqlite");
    clear(&database);
    let (mut server, url) = Process::start(&database, "127.0.0.1:0");
    let (mut answered, rounds) = (0, 5);
    for round in 0..rounds {
        let own = std::env::current_exe().expect("it runs");
        let mut client = Command::new(own)
            .args(["--exact", "crashes::a_client_process", "--nocapture"])
            .env(SERVER, &url)
            .stdout(Stdio::piped())
            .spawn()
            .expect("it was built");
        let mut lines = BufReader::new(client.stdout.take().expect("a pipe")).lines();
        let mut last = 0;
        let mut hear = |line: std::io::Result<String>| {
            let line = line.expect("it is text");
            let count = line
                .split_once("answered ")
                .map(|(_, count)| count.parse::<u64>());
            last = count.map_or(last, |count| count.expect("a number"));
            last
        };
        while hear(lines.next().expect("it speaks")) < (3 + round) * common::CALLS {}
        client.kill().expect("it runs");
        client.wait().expect("it ran");
        for line in lines {
            hear(line);
        }
        answered += last;
    }
    server.kill();
    let found = calls(&database);
    // For each, one delta may be stored without an acknowledgement.
    let unheard = found.checked_sub(answered).expect("nothing is lost");
    assert!(
        unheard <= rounds * common::CALLS && unheard.is_multiple_of(common::CALLS),
        "{unheard}"
    );
    let params = Hub::params().check().expect("defaults");
    let finished = Finished::open(&database, params).expect("it can be read");
    assert_eq!(finished.overview().clients as u64, rounds);
    let mut store = Sqlite::open(&database).expect("it is sound");
    assert!(store.query(&Query::default()).is_ok() && store.unreadable().is_none());
    drop(store);
    clear(&database);
}

/// Returns the number of calls in a database.
fn calls(database: &Path) -> u64 {
    let params = Hub::params().check().expect("defaults");
    let finished = Finished::open(database, params).expect("it can be read");
    finished.overview().total.calls
}

fn clear(database: &Path) {
    for end in ["", "-wal", "-shm", ".lock", ".token"] {
        let mut name = database.as_os_str().to_os_string();
        name.push(end);
        let _ = std::fs::remove_file(PathBuf::from(name));
    }
}

/// Returns the error of a server that cannot start.
fn refused(database: &Path, address: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_perfkit-live"))
        .arg("serve")
        .arg(database)
        .args(["--listen", address])
        .env_remove("PERFKIT_LIVE_TOKEN")
        .output()
        .expect("it was built");
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_server_whose_address_is_taken_leaves_no_files() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = taken.local_addr().expect("it is bound").to_string();
    let folder = std::env::temp_dir().join(format!("perf-live-taken-{}", std::process::id()));
    std::fs::remove_dir_all(&folder).ok();
    std::fs::create_dir(&folder).expect("it is new");
    let database = folder.join("run.db");
    let error = refused(&database, &address);
    assert!(error.contains(&address), "{error}");
    let left = || std::fs::read_dir(&folder).expect("it exists").count();
    assert_eq!(left(), 0);
    // A database that existed stays as it was.
    Hub::open(&database, Default::default())
        .expect("it is new")
        .close();
    let (files, bytes) = (left(), std::fs::read(&database).expect("it exists"));
    refused(&database, &address);
    assert_eq!(
        (left(), std::fs::read(&database).expect("it exists")),
        (files, bytes)
    );
    std::fs::remove_dir_all(&folder).ok();
}
