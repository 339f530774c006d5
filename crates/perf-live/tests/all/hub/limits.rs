//! Full queues, large messages, blocked databases and extreme numbers.

use super::{Place, calls, hello, open, push, pushes};
use crate::common;
use perf_live::Error;
use perf_live::hub::{Hub, HubParams, Message};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

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

/// Repeats a message until the hub has taken those before it.
fn comes_in(hub: &Hub, client: u64, bytes: usize) {
    let until = Instant::now() + Duration::from_secs(60);
    while let Err(error) = hub.say(hello(client), bytes) {
        assert!(matches!(error, Error::Busy { .. }), "{error}");
        assert!(Instant::now() < until, "it is busy for a minute");
        std::thread::sleep(Duration::from_millis(1));
    }
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
    comes_in(&hub, 3, 10);
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
    comes_in(&hub, 4, 1);
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
