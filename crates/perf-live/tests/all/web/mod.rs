//! HTTP interface of a server: access, rejection, and answers to queries.
#![cfg(all(feature = "server", feature = "client"))]

mod counters;
mod rejection;
mod stores;

use crate::common;
use common::Rank;
use perf_anomaly::server::Client;
use perf_live::client::{Background, Link, Target, Who};
use perf_live::hub::{Finished, Hub, HubParams};
use perf_live::web::{Offline, Service, WebParams};
use perf_live::wire::{Hello, Welcome};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
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
        let path =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("perf-live-web-{name}.sqlite"));
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
        by_step += row[3].as_u64().expect("a number") + row[4].as_u64().expect("a number");
    }
    assert_eq!(by_step, anomalies);
    lost_time_adds_up(&served, &run);
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
        .map(|one| one["loss"]["calls"].as_u64().expect("a number"))
        .sum();
    assert_eq!(calls, 2 * 12 * common::CALLS);
    let (status, metrics) = served.get("/metrics");
    assert_eq!(status, 200);
    agrees_with_chimbukos_queries(&served, anomalies);
    let line = format!("perfkit_live_calls_total {}", 3 * 12 * common::CALLS);
    assert!(metrics.lines().any(|one| one == line), "{metrics}");
}

/// The cells of ranks and steps, and the functions in groups of steps, add up to the time lost.
fn lost_time_adds_up(served: &Served, run: &Value) {
    let total = run["total"]["time"].as_i64().expect("a number");
    let lost = served.json("/api/lost");
    assert_eq!(
        lost["rows"],
        serde_json::json!([[0, 0, 0], [0, 1, 1], [1, 0, 0]])
    );
    assert_eq!((&lost["steps"], &lost["missing"]), (&1.into(), &0.into()));
    let cells = lost["cells"].as_array().expect("cells");
    let number = |row: &Value, at: usize| row[at].as_i64().expect("a number");
    let calls: i64 = cells.iter().map(|cell| number(cell, 3)).sum();
    assert!(calls > 0 && calls == total, "{calls}, {total}");
    for cell in cells {
        // Without merged rows and columns, a cell is its own worst rank and step.
        let row = &lost["rows"][number(cell, 0) as usize];
        assert_eq!((&cell[5], &cell[6]), (&row[1], &cell[1]), "{cell}");
    }
    for group in [1, 5] {
        let stacked = served.json(&format!("/api/stacked?group={group}"));
        let rows = stacked["rows"].as_array().expect("rows");
        assert!(rows.iter().all(|row| number(row, 2) % group == 0));
        assert_eq!(rows.iter().map(|row| number(row, 3)).sum::<i64>(), total);
    }
    for path in [
        "/api/lost?rank=1",
        "/api/stacked?group=0",
        "/api/stacked?group=x",
    ] {
        assert_eq!(served.get(path).0, 400, "{path}");
    }
}

/// The queries of Chimbuko's visualisation server return the same numbers with its names, and
/// microseconds.
fn agrees_with_chimbukos_queries(served: &Served, anomalies: u64) {
    let ranks = served.json("/api/get_anomalystats");
    let ranks = ranks.as_array().expect("ranks");
    let sum = |list: &[Value], name: &str| -> f64 {
        list.iter()
            .map(|one| one[name].as_f64().expect("a number"))
            .sum()
    };
    assert_eq!(ranks.len(), 3);
    assert_eq!(sum(ranks, "accumulate"), anomalies as f64);
    assert_eq!(
        (&ranks[2]["key"], &ranks[2]["count"]),
        (&"1:0".into(), &12.into())
    );
    let one = served.json("/api/get_anomalystats?app=0&rank=1");
    assert_eq!(one[0], ranks[1]);
    let mut of_steps = 0.0;
    for (app, rank) in [(0, 0), (0, 1), (1, 0)] {
        let steps = served.json(&format!("/api/get_anomalydata?app={app}&rank={rank}"));
        let steps = steps.as_array().expect("steps");
        of_steps += sum(steps, "n_anomalies");
        let is_in_order = |pair: &[Value]| pair[0]["step"].as_i64() < pair[1]["step"].as_i64();
        assert!(steps.windows(2).all(is_in_order));
        let last = served.json(&format!(
            "/api/get_anomalydata?app={app}&rank={rank}&limit=1"
        ));
        assert_eq!(last[0], steps[steps.len() - 1]);
    }
    assert_eq!(of_steps, anomalies as f64);
    let functions = served.json("/api/get_funcstats");
    let profile = served.json("/api/profile");
    for (at, one) in functions.as_array().expect("functions").iter().enumerate() {
        let own = profile["functions"].as_array().expect("functions").iter();
        let mut own =
            own.filter(|own| (&own["function"], &own["program"]) == (&one["name"], &one["app"]));
        let own = own.next().expect("the same functions");
        assert_eq!(one["exclusive"]["count"], own["exclusive"]["count"]);
        let nanos = own["exclusive"]["mean"].as_f64().expect("a number");
        let micros = one["exclusive"]["mean"].as_f64().expect("a number");
        assert!((1e3 * micros - nanos).abs() < 1e-9 * nanos, "{one} {own}");
        let found = own["loss"]["slow"].as_u64().expect("a number")
            + own["loss"]["fast"].as_u64().expect("a number");
        assert_eq!(one["stats"]["accumulate"], found as f64);
        assert_eq!(
            &served.json(&format!("/api/get_funcstats?fid={at}"))[0],
            one
        );
    }
    assert_eq!(
        functions.as_array().map(Vec::len),
        profile["functions"].as_array().map(Vec::len)
    );
    assert_eq!(served.get("/api/get_anomalydata?app=0").0, 400);
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
        .map(|row| row[2].as_u64().expect("a number"))
        .collect();
    assert!(!steps.is_empty() && steps.is_sorted());
}

#[test]
fn slow_ranks_are_named() {
    let served = Served::new("slow-ranks");
    let mut ranks: Vec<Rank> = (0..5).map(|rank| served.rank(0, rank)).collect();
    ranks[3].percent = 130;
    let mut named = None;
    for step in 0..6 {
        for rank in &mut ranks {
            rank.step();
            assert!(rank.error().is_none());
        }
        settle();
        let slow = served.json("/api/slow");
        assert_eq!(slow["phases"].as_array().map(Vec::len), Some(0), "{slow}");
        assert_eq!(slow["late"], 0);
        for one in slow["ranks"].as_array().expect("a list") {
            assert_eq!((&one["program"], &one["rank"]), (&0.into(), &3.into()));
            assert_eq!(one["lasts"], true);
            named.get_or_insert(step);
        }
    }
    assert!(named.is_some_and(|step| step < 2), "{named:?}");
    // The time of slow ranks is spread over their steps.
    let lost = served.json("/api/lost");
    let cells = lost["cells"].as_array().expect("cells").iter();
    let slow_cells: Vec<_> = cells.filter(|cell| cell[4].as_i64() > Some(0)).collect();
    assert!(slow_cells.iter().all(|cell| cell[0] == 3), "{lost}");
    let of_cells: i64 = slow_cells.iter().filter_map(|cell| cell[4].as_i64()).sum();
    let slow = served.json("/api/slow?limit=1");
    let of_rank = slow["ranks"][0]["lost"].as_i64().expect("a number");
    // Each step is rounded to nanoseconds.
    assert!((of_cells - of_rank).abs() <= 6, "{of_cells} {slow}");
    let factor = slow["ranks"][0]["factor"].as_f64().expect("a number");
    assert!((1.27..1.33).contains(&factor), "{slow}");
    let factor = slow["ranks"][0]["function_factor"]
        .as_f64()
        .expect("a number");
    assert!((1.25..1.35).contains(&factor), "{slow}");
    assert_eq!(served.get("/api/slow?limit=x").0, 400);
}

#[test]
fn a_run_that_is_over_is_shown_from_its_database() {
    let served = Served::new("over");
    let mut ranks: Vec<Rank> = (0..2).map(|rank| served.rank(0, rank)).collect();
    for rank in &mut ranks {
        (0..12).for_each(|_| rank.step());
    }
    settle();
    let profile = served.json("/api/profile");
    let name = profile["functions"][0]["function"].as_str();
    let name = name.expect("a function").replace(' ', "%20");
    let run_times = format!("/api/distribution?function={name}");
    assert!(served.json(&run_times)["distribution"]["bins"].is_array());
    let unknown = served.json("/api/distribution?function=unknown");
    assert!(unknown["distribution"].is_null());
    assert_eq!(served.get("/api/distribution").0, 400);
    let paths = [
        "/api/run",
        "/api/ranking",
        "/api/steps?ranks=0.0",
        "/api/totals",
        "/api/records?order=severity",
        "/api/profile",
        "/api/slow",
        "/api/causes",
        "/api/changes",
        &run_times,
        "/api/lost",
        "/api/stacked",
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
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("perf-live-web-offline.sqlite");
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
