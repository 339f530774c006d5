//! Numbers for Prometheus.

use super::app::{App, Source};
use crate::hub::{Counts, Overview};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// All numbers, in the text format.
pub(super) async fn metrics(State(app): State<Arc<App>>) -> Response {
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    let text = super::app::aside(move || Ok(text(&app))).await;
    ([(header::CONTENT_TYPE, kind)], text.unwrap_or_default()).into_response()
}

/// A counter: its name, what it says, and its value.
type Counter = (&'static str, &'static str, f64);

/// What was counted of requests.
fn requests(app: &App) -> [Counter; 7] {
    let seen = &app.seen;
    let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed) as f64;
    [
        (
            "messages_total",
            "Messages of writers that were read.",
            of(&seen.messages),
        ),
        ("message_bytes_total", "Their bytes.", of(&seen.bytes)),
        (
            "strangers_total",
            "Messages without the token.",
            of(&seen.strangers),
        ),
        (
            "malformed_total",
            "Messages that could not be read.",
            of(&seen.malformed),
        ),
        (
            "busy_total",
            "Messages that were told to come again.",
            of(&seen.busy),
        ),
        (
            "slow_total",
            "Messages that came too slowly.",
            of(&seen.slow),
        ),
        (
            "connections_refused_total",
            "Connections that were too many.",
            of(&seen.connections),
        ),
    ]
}

/// What was counted of calls.
fn calls(overview: &Overview) -> [Counter; 5] {
    let loss = &overview.total;
    [
        ("calls_total", "Calls of all ranks.", loss.calls as f64),
        (
            "too_slow_total",
            "Calls that were too slow.",
            loss.too_slow as f64,
        ),
        (
            "too_fast_total",
            "Calls that were too fast.",
            loss.too_fast as f64,
        ),
        ("lost_seconds_total", "Time lost.", loss.time.0 as f64 / 1e9),
        (
            "dropped_total",
            "Records that were dropped since they were too many or too old.",
            overview.dropped as f64,
        ),
    ]
}

/// What was counted of messages and what became of them.
fn messages(counts: &Counts) -> [Counter; 13] {
    let all = [
        (
            "hellos_total",
            "Times that a client said who it is.",
            counts.hellos,
        ),
        ("deltas_total", "Deltas that were taken.", counts.deltas),
        (
            "repeated_total",
            "Deltas and bundles that had been taken before.",
            counts.repeated,
        ),
        (
            "refused_total",
            "Messages that were refused.",
            counts.refused,
        ),
        (
            "bundles_total",
            "Bundles of records that were taken.",
            counts.bundles,
        ),
        ("records_total", "Records in them.", counts.records),
        ("views_total", "Views that were told.", counts.views),
        ("batches_total", "Transactions.", counts.batches),
        (
            "store_failures_total",
            "Times that storing failed.",
            counts.failures,
        ),
        (
            "logged_bytes_total",
            "Bytes of deltas that were logged.",
            counts.logged,
        ),
        (
            "states_total",
            "Times that the state was stored as a whole.",
            counts.states,
        ),
        (
            "forgotten_total",
            "Clients that were forgotten.",
            counts.forgotten,
        ),
        (
            "batch_seconds_total",
            "Time in transactions.",
            counts.storing,
        ),
    ];
    all.map(|(name, help, value)| match name {
        "batch_seconds_total" => (name, help, value as f64 / 1e6),
        _ => (name, help, value as f64),
    })
}

fn text(app: &App) -> String {
    let mut out = String::new();
    let mut tell = |kind: &str, (name, help, value): Counter| {
        // Writing to a string does not fail.
        let _ = writeln!(
            out,
            "# HELP perfkit_live_{name} {help}\n# TYPE perfkit_live_{name} {kind}\nperfkit_live_{name} {value}"
        );
    };
    let overview = app.source.overview();
    let mut counters: Vec<Counter> = requests(app).into();
    counters.extend(calls(&overview));
    let (connections, bytes) = app.load();
    let mut gauges = vec![
        (
            "connections",
            "Connections that are open.",
            connections as f64,
        ),
        (
            "bytes_on_their_way",
            "Bytes of messages and views on their way.",
            bytes as f64,
        ),
        ("ranks", "Ranks.", overview.ranks.len() as f64),
        (
            "clients",
            "Clients, each start being another one.",
            overview.clients as f64,
        ),
    ];
    if let Source::Live(hub) = &app.source {
        counters.extend(messages(&hub.counts()));
        let (waiting, bytes) = hub.waiting();
        gauges.push(("waiting_messages", "Messages that wait.", waiting as f64));
        gauges.push(("waiting_bytes", "Their bytes.", bytes as f64));
    }
    counters.into_iter().for_each(|one| tell("counter", one));
    gauges.into_iter().for_each(|one| tell("gauge", one));
    out
}
