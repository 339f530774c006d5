//! Numbers for Prometheus.

use super::app::{App, Source};
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

fn text(app: &App) -> String {
    let mut out = String::new();
    let seen = &app.seen;
    let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed) as f64;
    let mut tell = |name: &str, kind: &str, help: &str, value: f64| {
        // Writing to a string does not fail.
        let _ = writeln!(
            out,
            "# HELP perfkit_live_{name} {help}\n# TYPE perfkit_live_{name} {kind}\nperfkit_live_{name} {value}"
        );
    };
    let mut counter = |name: &str, help: &str, value: f64| tell(name, "counter", help, value);
    counter(
        "messages_total",
        "Messages of writers that were read.",
        of(&seen.messages),
    );
    counter("message_bytes_total", "Their bytes.", of(&seen.bytes));
    counter(
        "strangers_total",
        "Messages without the token.",
        of(&seen.strangers),
    );
    counter(
        "malformed_total",
        "Messages that could not be read.",
        of(&seen.malformed),
    );
    counter(
        "busy_total",
        "Messages that were told to come again.",
        of(&seen.busy),
    );
    counter(
        "slow_total",
        "Messages that came too slowly.",
        of(&seen.slow),
    );
    counter(
        "connections_refused_total",
        "Connections that were too many.",
        of(&seen.connections),
    );
    let overview = app.source.overview();
    let loss = &overview.total;
    counter("calls_total", "Calls of all ranks.", loss.calls as f64);
    counter(
        "too_slow_total",
        "Calls that were too slow.",
        loss.too_slow as f64,
    );
    counter(
        "too_fast_total",
        "Calls that were too fast.",
        loss.too_fast as f64,
    );
    counter("lost_seconds_total", "Time lost.", loss.time.0 as f64 / 1e9);
    if let Source::Live(hub) = &app.source {
        let counts = hub.counts();
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
        ];
        for (name, help, value) in all {
            counter(name, help, value as f64);
        }
        let storing = counts.storing as f64 / 1e6;
        counter("batch_seconds_total", "Time in transactions.", storing);
        let (waiting, bytes) = hub.waiting();
        tell(
            "waiting_messages",
            "gauge",
            "Messages that wait.",
            waiting as f64,
        );
        tell("waiting_bytes", "gauge", "Their bytes.", bytes as f64);
    }
    let (connections, bytes) = app.load();
    tell(
        "connections",
        "gauge",
        "Connections that are open.",
        connections as f64,
    );
    tell(
        "bytes_on_their_way",
        "gauge",
        "Bytes of messages and views on their way.",
        bytes as f64,
    );
    tell("ranks", "gauge", "Ranks.", overview.ranks.len() as f64);
    tell(
        "clients",
        "gauge",
        "Clients, each start being another one.",
        overview.clients as f64,
    );
    out
}
