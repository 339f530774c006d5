//! HTTP interface of a server: access, rejection, and answers to queries.
#![cfg(all(feature = "server", feature = "client"))]

use crate::common;

use common::Rank;
use perf_anomaly::provenance::{Entry, ModelRecord, Record, Store};
use perf_anomaly::server::{Client, Delta};
use perf_live::client::{Background, Link, Target, Who};
use perf_live::hub::{Finished, Hub, HubParams, Message};
use perf_live::web::{Offline, Service, WebParams};
use perf_live::wire::{Hello, Push, Welcome};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const TOKEN: &str = "a-token-of-a-test";

/// Server of a test.
struct Served {
    /// Hub.
    hub: Hub,
    /// HTTP interface, while it runs.
    service: Option<Service>,
    /// Path of the database.
    path: PathBuf,
}

impl Served {
    fn new(name: &str) -> Self {
        Self::with(name, Hub::params(), Service::params())
    }

    fn with(name: &str, hub: HubParams, web: WebParams) -> Self {
        let path = std::env::temp_dir().join(format!("perf-live-web-{name}.sqlite"));
        clear(&path);
        let hub = Hub::open(&path, hub.check().expect("in range")).expect("it can be made");
        let web = web.token(TOKEN).check().expect("in range");
        let service = Service::start(hub.clone(), web).expect("it can listen");
        Served {
            hub,
            service: Some(service),
            path,
        }
    }

    fn address(&self) -> String {
        self.service
            .as_ref()
            .expect("it runs")
            .address()
            .to_string()
    }

    fn target(&self) -> Target {
        let target = Target::new(&format!("http://{}", self.address())).expect("it is sound");
        target.token(TOKEN).patience(Duration::from_secs(20))
    }

    fn rank(&self, program: u32, rank: u32) -> Rank {
        let who = Who::new(program, rank).program_name(format!("program {program} <b>"));
        let link = Link::open(&self.target(), who).expect("it answers");
        let client = Client::new(link.client(), link.exchange());
        Rank::new(program, rank, client, Box::new(link.store()))
    }

    fn get(&self, path: &str) -> (u16, String) {
        get(&self.address(), path)
    }

    fn json(&self, path: &str) -> Value {
        let (status, text) = self.get(path);
        assert_eq!(status, 200, "{path}: {text}");
        serde_json::from_str(&text).expect("it is JSON")
    }
}

fn clear(path: &std::path::Path) {
    for end in ["", "-wal", "-shm", ".lock"] {
        let mut name = path.to_path_buf().into_os_string();
        name.push(end);
        let _ = std::fs::remove_file(name);
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.service.take();
        self.hub.close();
        clear(&self.path);
    }
}

/// Returns status and body of the answer to raw bytes.
fn raw(address: &str, request: &[u8]) -> (u16, String) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .expect("it can");
    // A server that rejects early closes before all bytes are sent.
    let _ = stream.write_all(request);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let text = String::from_utf8_lossy(&answer).into_owned();
    let status = text
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    (status.unwrap_or(0), body.to_string())
}

fn get(address: &str, path: &str) -> (u16, String) {
    raw(
        address,
        format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").as_bytes(),
    )
}

fn post(address: &str, head: &str, body: &[u8]) -> (u16, String) {
    let head =
        format!("POST /v1/push HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{head}\r\n\r\n");
    raw(address, &[head.as_bytes(), body].concat())
}

fn settle() {
    std::thread::sleep(Duration::from_millis(250));
}

#[test]
fn ranks_share_their_models_and_queries_return_the_results() {
    let served = Served::new("share");
    let mut ranks: Vec<Rank> = (0..3).map(|rank| served.rank(rank / 2, rank % 2)).collect();
    for _ in 0..12 {
        for rank in &mut ranks {
            rank.step();
            assert!(rank.error().is_none());
        }
    }
    let anomalies: u64 = ranks.iter().map(Rank::anomalies).sum();
    assert!(anomalies > 3, "{anomalies}");
    for rank in ranks {
        rank.watch.into_sink().finish().expect("all of it was told");
    }
    settle();
    let run = served.json("/api/run");
    assert_eq!(run["live"], true);
    assert_eq!(run["total"]["calls"], 3 * 12 * common::CALLS);
    assert_eq!(run["programs"][1]["name"], "program 1 <b>");
    assert_eq!(
        (run["programs"][0]["ranks"].as_u64(), run["ranks"].as_u64()),
        (Some(2), Some(3))
    );
    let ranking = served.json("/api/ranking?by=total&top=1&bottom=1");
    assert_eq!(
        (
            ranking["ranks"].as_u64(),
            ranking["top"].as_array().map(Vec::len)
        ),
        (Some(3), Some(1))
    );
    let of = |one: &Value| one["total"].as_f64().expect("a number");
    assert!(of(&ranking["top"][0]) >= of(&ranking["bottom"][0]));
    let mut by_step = 0;
    for row in served.json("/api/steps?ranks=0.0,0.1,1.0")["rows"]
        .as_array()
        .expect("rows")
    {
        by_step += row[3].as_u64().unwrap() + row[4].as_u64().unwrap();
    }
    assert_eq!(by_step, anomalies);
    let totals = served.json("/api/totals?program=0&from=2&to=5");
    let rows = totals["rows"].as_array().expect("rows");
    assert_eq!(
        (rows.len(), rows[0][1].as_u64(), rows[0][2].as_u64()),
        (4, Some(2), Some(2 * common::CALLS))
    );
    // From a function to a call, its stack and its model.
    let functions = served.json("/api/functions");
    let function = functions["rows"][0][1]
        .as_str()
        .expect("a name")
        .to_string();
    let encoded: String = function
        .bytes()
        .map(|byte| format!("%{byte:02x}"))
        .collect();
    let samples = served.json(&format!(
        "/api/samples?function={encoded}&kind=anomaly&x=step&y=exclusive"
    ));
    let sample = &samples["rows"][0];
    assert!(sample[7].as_i64() > Some(100_000), "{sample}");
    let record = served.json(&format!("/api/record?id={}", sample[0]));
    assert_eq!(record["record"]["function"], function);
    assert_eq!(record["record"]["stack"][0]["function"], "main");
    assert_eq!(record["model"]["function"], function);
    let found = served.json("/api/records?label=beyond&severity=100000&order=severity&limit=3");
    assert_eq!(found["rows"].as_array().map(Vec::len), Some(3));
    let profile = served.json("/api/profile?program=0");
    let calls = profile["functions"].as_array().expect("rows").iter();
    let calls: u64 = calls
        .map(|one| one["loss"]["calls"].as_u64().unwrap())
        .sum();
    assert_eq!(calls, 2 * 12 * common::CALLS);
    let (status, metrics) = served.get("/metrics");
    assert_eq!(status, 200);
    let line = format!("perfkit_live_calls_total {}", 3 * 12 * common::CALLS);
    assert!(metrics.lines().any(|one| one == line), "{metrics}");
}

#[test]
fn unauthorised_and_excessive_requests_are_rejected() {
    let served = Served::with("refuse", Hub::params(), Service::params().body(1 << 16));
    let address = served.address();
    let bearer = format!("authorization: Bearer {TOKEN}");
    assert_eq!(post(&address, "content-length: 3", b"abc").0, 401);
    assert_eq!(
        post(
            &address,
            "authorization: Bearer wrong\r\ncontent-length: 3",
            b"abc"
        )
        .0,
        401
    );
    assert_eq!(
        post(&address, &format!("{bearer}\r\ncontent-length: 3"), b"abc").0,
        400
    );
    assert_eq!(
        post(
            &address,
            &format!("{bearer}\r\ncontent-length: 99999999"),
            b"abc"
        )
        .0,
        413
    );
    let chunked = format!("{bearer}\r\ntransfer-encoding: chunked");
    assert_eq!(post(&address, &chunked, b"3\r\nabc\r\n0\r\n\r\n").0, 411);
    // Requests for another server, invalid requests, and unknown paths.
    assert_eq!(
        raw(
            &address,
            b"GET / HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n"
        )
        .0,
        421
    );
    assert_eq!(
        raw(&address, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03").0,
        400
    );
    let long = format!(
        "GET /{} HTTP/1.1\r\nhost: localhost\r\n\r\n",
        "a".repeat(1 << 17)
    );
    assert!([400, 414, 431, 0].contains(&raw(&address, long.as_bytes()).0));
    for path in [
        "/../../etc/passwd",
        "/%2e%2e/etc/passwd",
        "/api/../../x",
        "/api/record/1",
        "/.lock",
    ] {
        assert_eq!(served.get(path).0, 404, "{path}");
    }
    assert_eq!(served.get("/v1/push").0, 405);
    // As many ranks as a query may have, and one more.
    for (count, status) in [(64, 200), (65, 400)] {
        let ranks: Vec<String> = (0..count).map(|rank| rank.to_string()).collect();
        let path = format!("/api/steps?ranks={}", ranks.join(","));
        assert_eq!(served.get(&path).0, status, "{path}");
    }
    for (path, status) in [
        ("/api/record", 400),
        ("/api/record?id=x", 400),
        ("/api/record?id=99999999", 404),
        ("/api/record?id=1%27%20or%201=1", 400),
        ("/api/steps?ranks=1,2,x", 400),
        ("/api/records?limit=10000", 200),
        ("/api/records?limit=10001", 400),
        ("/api/records?limit=100000000", 400),
        (
            "/api/records?function=%27%3B%20drop%20table%20call%3B--",
            200,
        ),
        ("/api/samples?x=body", 400),
        ("/api/records?score=nan", 400),
        ("/api/functions?score=-inf", 400),
        ("/api/samples?score=1.5", 200),
        ("/api/ranking?by=%00", 400),
        ("/events?ranks=a", 400),
    ] {
        assert_eq!(served.get(path).0, status, "{path}");
    }
    let (_, metrics) = served.get("/metrics");
    for line in [
        "perfkit_live_strangers_total 2",
        "perfkit_live_malformed_total 1",
    ] {
        assert!(metrics.contains(line), "{line}");
    }
    // None of these changed the state.
    assert_eq!(served.json("/api/run")["total"]["calls"], 0);
}

#[test]
fn numbers_out_of_their_range_are_refused() {
    let params = || Service::params().token(TOKEN);
    let (long, short) = (Duration::MAX, Duration::ZERO);
    for (params, name) in [
        (params().token("short"), "token"),
        (params().body(1), "body"),
        (params().bodies(1), "bodies"),
        (params().bodies(usize::MAX), "bodies"),
        (params().connections(0), "connections"),
        (params().connections(usize::MAX), "connections"),
        (params().pages(usize::MAX), "pages"),
        (params().head(short), "head"),
        (params().head(long), "head"),
        (params().patience(long), "patience"),
        (params().tick(short), "tick"),
        (params().tick(long), "tick"),
    ] {
        let said = params.check().err().map(|error| error.to_string());
        assert!(said.is_some_and(|what| what.starts_with(name)), "{name}");
    }
    // The limits themselves are allowed.
    let day = Duration::from_secs(86_400);
    let most = Service::params()
        .connections(1 << 20)
        .pages(1 << 20)
        .bodies(1 << 40);
    let served = Served::with(
        "most",
        Hub::params(),
        most.head(day).patience(day).tick(day),
    );
    assert_eq!(served.get("/api/run").0, 200);
}

#[test]
fn slow_clients_do_not_block_others() {
    let web = Service::params()
        .head(Duration::from_millis(400))
        .patience(Duration::from_millis(400));
    let served = Served::with("slow", Hub::params(), web.connections(40));
    let address = served.address();
    let begin = Instant::now();
    // Heads without an end, and missing bodies.
    let head = format!(
        "POST /v1/push HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\ncontent-length: 1000\r\n\r\nabc"
    );
    let slow: Vec<TcpStream> = (0..36)
        .map(|at| {
            let mut stream = TcpStream::connect(&address).expect("it listens");
            let part: &[u8] = if at % 2 == 0 {
                b"GET / HTTP/1.1\r\nhost: loc"
            } else {
                head.as_bytes()
            };
            stream.write_all(part).expect("it takes it");
            stream
        })
        .collect();
    let mut rank = served.rank(0, 0);
    for _ in 0..5 {
        rank.step();
        assert!(rank.error().is_none());
    }
    for mut stream in slow {
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .expect("it can");
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let text = String::from_utf8_lossy(&answer).into_owned();
        assert!(
            text.is_empty() || text.starts_with("HTTP/1.1 408"),
            "{text}"
        );
    }
    assert!(begin.elapsed() < Duration::from_secs(20));
    let (_, metrics) = served.get("/metrics");
    assert!(metrics.contains("perfkit_live_slow_total 18"), "{metrics}");
}

#[test]
fn messages_beyond_the_memory_limit_are_deferred() {
    let web = Service::params().body(1 << 10).bodies(1 << 10).pages(1);
    let served = Served::with("room", Hub::params().clients(1), web.connections(5));
    let address = served.address();
    let bearer = format!("authorization: Bearer {TOKEN}");
    let open = |request: &str| {
        let mut stream = TcpStream::connect(&address).expect("it listens");
        let patience = Some(Duration::from_secs(20));
        stream.set_read_timeout(patience).expect("it can");
        stream.write_all(request.as_bytes()).expect("it takes it");
        stream
    };
    let until = |line: &str| {
        let begin = Instant::now();
        while !served.get("/metrics").1.contains(line) {
            assert!(begin.elapsed() < Duration::from_secs(20), "{line}");
        }
    };
    // A missing body holds its memory, which others lack.
    let awaited = open(&format!(
        "POST /v1/push HTTP/1.1\r\nhost: localhost\r\n{bearer}\r\ncontent-length: 1000\r\n\r\n"
    ));
    until("perfkit_live_bytes_on_their_way 1000\n");
    let head = format!("{bearer}\r\ncontent-length: 100");
    assert_eq!(post(&address, &head, &[0; 100]).0, 503);
    drop(awaited);
    until("perfkit_live_bytes_on_their_way 0\n");
    assert_eq!(post(&address, &head, &[0; 100]).0, 400);
    // One page receives events, another one is rejected.
    let mut page = open("GET /events HTTP/1.1\r\nhost: localhost\r\n\r\n");
    let mut begin = [0; 12];
    page.read_exact(&mut begin).expect("there are news");
    assert_eq!((&begin, served.get("/events").0), (b"HTTP/1.1 200", 503));
    drop(page);
    // One client beyond the limit.
    drop(Link::open(&served.target(), Who::new(0, 0)).expect("it answers"));
    let second = Link::open(&served.target(), Who::new(0, 1));
    assert!(matches!(
        second,
        Err(perf_live::Error::Refused { status: 507, .. })
    ));
    // Silent connections, and one beyond the limit.
    until("perfkit_live_connections 1\n");
    let silent: Vec<TcpStream> = (0..8).map(|_| open("")).collect();
    assert_eq!(served.get("/metrics").0, 0);
    drop(silent);
    let begin = Instant::now();
    while served.get("/metrics").0 != 200 {
        assert!(begin.elapsed() < Duration::from_secs(20), "it serves again");
    }
    assert!(
        !served
            .get("/metrics")
            .1
            .contains("connections_refused_total 0\n")
    );
}

#[test]
fn messages_of_another_session_and_unknown_functions_are_refused() {
    let served = Served::new("session");
    let (deltas, _) = common::recorded(0, 0, 7, 1);
    let send = |change: fn(&mut Delta)| {
        let mut delta = deltas[0].clone();
        change(&mut delta);
        let push = Push {
            client: 7,
            view: 0,
            delta: Some(delta),
            records: None,
        };
        let body = push.encode();
        let head = format!(
            "authorization: Bearer {TOKEN}\r\ncontent-length: {}",
            body.len()
        );
        post(&served.address(), &head, &body)
    };
    assert_eq!(send(|delta| delta.session = 5).0, 409);
    let (status, said) = send(|delta| delta.names.clear());
    assert!(
        status == 422 && said.contains("functions"),
        "{status} {said}"
    );
    // A body that ends before its declared length, and one with an invalid length.
    let address = served.address();
    let bearer = format!("authorization: Bearer {TOKEN}");
    let mut stream = TcpStream::connect(&address).expect("it listens");
    let head = format!(
        "POST /v1/push HTTP/1.1\r\nhost: localhost\r\n{bearer}\r\ncontent-length: 9\r\n\r\nabc"
    );
    stream.write_all(head.as_bytes()).expect("it takes it");
    stream.shutdown(std::net::Shutdown::Write).expect("it can");
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    assert!(
        answer.is_empty() || answer.starts_with("HTTP/1.1 400"),
        "{answer}"
    );
    let odd = format!("{bearer}\r\ncontent-length: -3");
    assert_eq!(post(&address, &odd, b"abc").0, 400);
    settle();
    assert_eq!(served.json("/api/run")["total"]["calls"], 0);
    assert_eq!(send(|_| {}).0, 200);
}

/// A client keeps sending without reading answers. Its connection is closed; the accepted messages
/// are a prefix without gaps, which the client learns when it reconnects.
#[test]
fn clients_that_read_nothing_are_disconnected_without_loss() {
    let web = Service::params().patience(Duration::from_millis(400));
    let served = Served::with("deaf", Hub::params(), web);
    let address = served.address();
    let (deltas, _) = common::recorded(0, 7, 99, 40);
    let bodies: Vec<Vec<u8>> = deltas
        .into_iter()
        .map(|delta| {
            let push = Push {
                client: 99,
                view: 0,
                delta: Some(delta),
                records: None,
            };
            push.encode()
        })
        .collect();
    let mut deaf = TcpStream::connect(&address).expect("it listens");
    let patience = Some(Duration::from_secs(20));
    deaf.set_write_timeout(patience).expect("it can");
    let many = "GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(400);
    let mut sent = 0;
    for body in &bodies {
        let head = format!(
            "POST /v1/push HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let all = [head.as_bytes(), body, many.as_bytes()].concat();
        if deaf.write_all(&all).is_err() {
            break;
        }
        sent += 1;
    }
    let begin = Instant::now();
    while deaf.write_all(many.as_bytes()).is_ok() {
        assert!(
            begin.elapsed() < Duration::from_secs(60),
            "it is not let go"
        );
    }
    // Other clients are served.
    let mut rank = served.rank(0, 0);
    rank.step();
    assert!(rank.error().is_none());
    drop(rank);
    drop(deaf);
    let hello = Hello {
        client: 99,
        rank: 7,
        ..Hello::default()
    };
    let told = served.hub.say(Message::Hello(hello), 0);
    let stored = told.expect("it answers").delta as usize;
    assert!((1..=sent + 1).contains(&stored), "{stored} of {sent}");
    for body in &bodies[stored..] {
        let message = Message::push(body).expect("it is sound");
        served.hub.say(message, body.len()).expect("it answers");
    }
    settle();
    let total = (40 + 1) * common::CALLS;
    assert_eq!(served.json("/api/run")["total"]["calls"], total);
}

#[test]
fn a_rank_in_the_background_does_not_wait() {
    let mut served = Served::new("background");
    let link = Link::open(
        &served.target().patience(Duration::from_millis(300)),
        Who::new(0, 0),
    )
    .expect("it answers");
    let exchange = Background::new(link.exchange()).expect("there can be threads");
    let client = Client::new(link.client(), exchange);
    let mut rank = Rank::new(
        0,
        0,
        client,
        Box::new(perf_anomaly::provenance::Memory::new()),
    );
    rank.step();
    // The server is stopped for a while, and returns at the same address with the same database.
    let address = served.service.as_ref().expect("it runs").address();
    served.service.take();
    served.hub.close();
    for _ in 0..5 {
        rank.step();
    }
    served.hub = Hub::open(&served.path, Default::default()).expect("it is there");
    let web = Service::params()
        .address(address)
        .token(TOKEN)
        .check()
        .expect("in range");
    served.service = Some(Service::start(served.hub.clone(), web).expect("it can listen again"));
    let begin = Instant::now();
    while served.hub.overview().total.calls < 6 * common::CALLS {
        assert!(
            begin.elapsed() < Duration::from_secs(60),
            "{:?}",
            served.hub.counts()
        );
        let _ = rank.error();
        rank.step();
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn news_come_as_they_happen_and_are_not_too_many() {
    let served = Served::new("events");
    let mut rank = served.rank(0, 3);
    rank.step();
    let mut stream = TcpStream::connect(served.address()).expect("it listens");
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .expect("it can");
    let ask = b"GET /events?ranks=0.3&by=maximum&top=2 HTTP/1.1\r\nhost: localhost\r\n\r\n";
    stream.write_all(ask).expect("it takes it");
    let begin = Instant::now();
    for _ in 0..40 {
        rank.step();
        std::thread::sleep(Duration::from_millis(30));
    }
    let mut heard = String::new();
    let mut buffer = [0; 65536];
    let wanted = format!("\"calls\":{}", 41 * common::CALLS);
    while !heard.contains(&wanted) {
        let count = stream.read(&mut buffer).expect("there are news");
        assert!(count > 0, "{heard}");
        heard.push_str(&String::from_utf8_lossy(&buffer[..count]));
    }
    let took = begin.elapsed().as_secs_f64();
    let news: Vec<Value> = heard
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .filter_map(|text| serde_json::from_str(text).ok())
        .collect();
    assert!(
        news.len() >= 2 && (news.len() as f64) < 4.0 * took + 2.0,
        "{} in {took} s",
        news.len()
    );
    assert_eq!(news[0]["ranking"]["by"], "maximum");
    let steps: Vec<u64> = news
        .iter()
        .flat_map(|one| one["steps"].as_array().expect("rows"))
        .map(|row| row[2].as_u64().unwrap())
        .collect();
    assert!(!steps.is_empty() && steps.is_sorted());
}

#[test]
fn a_run_that_is_over_is_shown_from_its_database() {
    let served = Served::new("over");
    let mut ranks: Vec<Rank> = (0..2).map(|rank| served.rank(0, rank)).collect();
    for rank in &mut ranks {
        (0..12).for_each(|_| rank.step());
    }
    settle();
    let paths = [
        "/api/run",
        "/api/ranking",
        "/api/steps?ranks=0.0",
        "/api/totals",
        "/api/records?order=severity",
        "/api/profile",
    ];
    let live: Vec<Value> = paths.iter().map(|path| served.json(path)).collect();
    let finished = Finished::open(&served.path, Default::default()).expect("it is there");
    let web = Service::params().token(TOKEN).check().expect("in range");
    let service = Service::start(finished, web).expect("it can listen");
    let address = service.address().to_string();
    for (path, live) in paths.iter().zip(live).skip(1) {
        let (status, text) = get(&address, path);
        assert_eq!(status, 200);
        let mut over: Value = serde_json::from_str(&text).expect("it is JSON");
        if over.get("revision").is_some() {
            over["revision"] = live["revision"].clone();
        }
        assert_eq!(over, live, "{path}");
    }
    let bearer = format!("authorization: Bearer {TOKEN}\r\ncontent-length: 0");
    assert_eq!(post(&address, &bearer, b"").0, 405);
    let (status, page) = get(&address, "/");
    assert!(status == 200 && page.contains("Anomalies of a run"));
}

#[test]
fn a_server_without_a_network_answers_after_storing() {
    let path = std::env::temp_dir().join("perf-live-web-offline.sqlite");
    clear(&path);
    let hub = Hub::open(&path, Default::default()).expect("it can be made");
    // One after the other on the same server, each with its own answers.
    for client in 1..=3 {
        let web = Service::params().token(TOKEN).check().expect("in range");
        let offline = Offline::new(hub.clone(), web).expect("it has a runtime");
        let hello = Hello {
            client,
            ..Hello::default()
        };
        let token = format!("Bearer {TOKEN}");
        let head: [(&str, &[u8]); 2] =
            [("host", b"localhost"), ("authorization", token.as_bytes())];
        let reply = offline.answer("POST", "/v1/hello", &head, hello.encode());
        assert_eq!(reply.status, 200);
        let welcome = Welcome::decode(&reply.body).expect("it is one");
        assert_eq!(welcome.delta, 0);
    }
    hub.close();
    clear(&path);
}

/// Types with a runtime of their own can be created, used and dropped within a task of another one,
/// even if they fail to start.
#[test]
fn servers_work_within_another_runtime() {
    let served = Served::new("runtime");
    let taken = served.service.as_ref().expect("it runs").address();
    let web = || Service::params().token(TOKEN);
    let all = async {
        let checked = web().check().expect("in range");
        let offline = Offline::new(served.hub.clone(), checked).expect("there can be threads");
        let reply = offline.answer("GET", "/api/run", &[("host", b"localhost")], Vec::new());
        assert_eq!(reply.status, 200);
        // From several threads at a time.
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let head: [(&str, &[u8]); 1] = [("host", b"localhost")];
                    let reply = offline.answer("GET", "/metrics", &head, Vec::new());
                    assert_eq!(reply.status, 200);
                });
            }
        });
        drop(offline);
        let again = web().address(taken).check().expect("in range");
        let refused = Service::start(served.hub.clone(), again);
        assert!(matches!(refused, Err(perf_live::Error::Listen { .. })));
        let other = Service::start(served.hub.clone(), web().check().expect("in range"));
        let other = other.expect("it can listen");
        assert_eq!(get(&other.address().to_string(), "/api/run").0, 200);
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("there can be one").block_on(all);
}

/// Returns a model and a record that refers to it.
fn kept(id: u64, function: &str) -> [Entry; 2] {
    let mut model = ModelRecord::default();
    (model.id, model.function) = (id, function.into());
    let mut record = Record::default();
    record.call.function = function.into();
    record.function = function.into();
    record.model = id;
    [Entry::Model(model), Entry::Call(Box::new(record))]
}

/// Several stores of a client, and a resumed client: bundles and models are numbered on.
#[test]
fn stores_of_one_client_do_not_conflict() {
    let served = Served::new("stores");
    let link = Link::open(&served.target(), Who::new(0, 0)).expect("it answers");
    let again = || Link::open_as(&served.target(), Who::new(0, 0), link.client());
    let mut stores = vec![link.store(), link.clone().store()];
    for (at, function) in ["first", "second", "third"].into_iter().enumerate() {
        // A restart of the client does not know of the two.
        if at == 2 {
            stores.push(again().expect("it answers").store());
        }
        for entry in kept(1, function) {
            stores[at].put(&entry).expect("there is room");
        }
        stores[at].commit().expect("it answers");
    }
    let counts = served.hub.counts();
    assert_eq!((counts.bundles, counts.records, counts.repeated), (3, 6, 0));
    let rows = served.json("/api/records?order=entry")["rows"].clone();
    let rows = rows.as_array().expect("rows");
    assert_eq!(rows.len(), 3);
    for row in rows {
        let found = served.json(&format!("/api/record?id={}", row[0]));
        assert_eq!(found["model"]["function"], row[6]);
    }
}

/// A permanently rejected record is dropped and reported once; later ones are accepted.
#[test]
fn permanently_rejected_records_are_reported_once() {
    let web = Service::params().body(1 << 14).bodies(1 << 14);
    let served = Served::with("for-good", Hub::params(), web);
    let link = Link::open(&served.target(), Who::new(0, 0)).expect("it answers");
    let mut store = link.store();
    let large = "a".repeat(1 << 15);
    for function in ["before", &large, "after"] {
        for entry in kept(1, function) {
            store.put(&entry).expect("there is room");
        }
    }
    let said = store.commit().expect_err("it is too large").to_string();
    assert!(said.contains("413") && said.contains("lost: 2"), "{said}");
    assert_eq!((link.lost(), served.hub.counts().records), (2, 4));
    store.commit().expect("nothing waits");
}
