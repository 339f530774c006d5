//! Rejected and deferred requests: access, limits, slow clients and wrong sessions.

use super::{Served, TOKEN, post, raw, settle};
use crate::common;
use perf_anomaly::server::Delta;
use perf_live::client::{Link, Who};
use perf_live::hub::{Hub, Message};
use perf_live::web::Service;
use perf_live::wire::{Hello, Push};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

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
