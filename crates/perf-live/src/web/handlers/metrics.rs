//! Handler that returns counters and gauges of the server in the text format of Prometheus.

use crate::hub::{Counts, Overview};
use crate::web::app::{App, Source, answered, refusal};
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use std::fmt::{Display, Write as _};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Returns all metrics in the text format of Prometheus.
pub(crate) async fn metrics(State(app): State<Arc<App>>) -> Response {
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    let own = Arc::clone(&app);
    match answered(&app, move || Ok(text(&own))).await {
        Ok(text) => ([(header::CONTENT_TYPE, kind)], text).into_response(),
        Err(error) => refusal(StatusCode::SERVICE_UNAVAILABLE, error),
    }
}

/// Builder of the text with the metrics.
#[derive(Default)]
struct Numbers(String);

impl Numbers {
    fn write(&mut self, kind: &str, name: &str, help: &str, value: impl Display) {
        // Writing to a string does not fail.
        let _ = writeln!(
            self.0,
            "# HELP perfkit_live_{name} {help}\n# TYPE perfkit_live_{name} {kind}\nperfkit_live_{name} {value}"
        );
    }

    /// Adds counters, given by name, description and value.
    fn counters<T: Display>(&mut self, all: &[(&str, &str, T)]) {
        for (name, help, value) in all {
            self.write("counter", &format!("{name}_total"), help, value);
        }
    }

    /// Adds gauges, given by name, description and value.
    fn gauges(&mut self, all: &[(&str, &str, usize)]) {
        for (name, help, value) in all {
            self.write("gauge", name, help, value);
        }
    }

    /// Adds the counters of requests.
    fn requests(&mut self, app: &App) {
        let seen = &app.seen;
        let all = [
            (
                "messages",
                "Messages of writers that were read.",
                &seen.messages,
            ),
            (
                "message_bytes",
                "Bytes of messages of writers.",
                &seen.bytes,
            ),
            ("strangers", "Messages without the token.", &seen.strangers),
            (
                "malformed",
                "Messages that could not be read.",
                &seen.malformed,
            ),
            (
                "busy",
                "Messages rejected because the server was busy.",
                &seen.busy,
            ),
            ("slow", "Messages that arrived too slowly.", &seen.slow),
            (
                "connections_refused",
                "Connections that were too many.",
                &seen.connections,
            ),
            (
                "questions_refused",
                "Questions that were too many.",
                &seen.questions,
            ),
        ];
        self.counters(&all.map(|(name, help, count)| (name, help, count.load(Ordering::Relaxed))));
    }

    /// Adds the counters of calls.
    fn calls(&mut self, overview: &Overview) {
        let loss = &overview.total;
        self.counters(&[
            ("calls", "Calls of all ranks.", loss.calls),
            ("too_slow", "Calls that were too slow.", loss.too_slow),
            (
                "beyond_experience",
                "Calls among these that exceed all earlier ones.",
                loss.beyond_experience,
            ),
            ("too_fast", "Calls that were too fast.", loss.too_fast),
        ]);
        let seconds = |time: perf_core::Nanos| time.0 as f64 / 1e9;
        let waiting = "Time by which abnormal calls that wait for others take longer.";
        self.counters(&[
            ("lost_seconds", "Time lost.", seconds(loss.time)),
            ("waiting_seconds", waiting, seconds(loss.waiting)),
        ]);
        let dropped = "Records dropped because of their number or age.";
        self.counters(&[("dropped", dropped, overview.dropped)]);
    }

    /// Adds the counters of messages.
    fn messages(&mut self, counts: &Counts) {
        self.counters(&[
            ("hellos", "Hello messages of clients.", counts.hellos),
            ("deltas", "Accepted deltas.", counts.deltas),
            ("repeated", "Repeated deltas and bundles.", counts.repeated),
            ("refused", "Rejected messages.", counts.refused),
            ("bundles", "Accepted bundles of records.", counts.bundles),
            ("records", "Records in accepted bundles.", counts.records),
            ("views", "Views sent to clients.", counts.views),
            ("batches", "Transactions.", counts.batches),
            ("store_failures", "Failed transactions.", counts.failures),
            (
                "unstored",
                "Messages not stored because of failed transactions.",
                counts.unstored,
            ),
            ("logged_bytes", "Bytes of logged deltas.", counts.logged),
            ("states", "Complete states stored.", counts.states),
            ("forgotten", "Forgotten clients.", counts.forgotten),
        ]);
        self.counters(&[(
            "batch_seconds",
            "Time in transactions.",
            counts.storing as f64 / 1e6,
        )]);
    }
}

fn text(app: &App) -> String {
    let mut numbers = Numbers::default();
    let overview = app.source.overview();
    let (connections, bytes) = app.load();
    numbers.requests(app);
    numbers.calls(&overview);
    numbers.gauges(&[
        ("connections", "Open connections.", connections),
        (
            "bytes_on_their_way",
            "Bytes of messages and views in transfer.",
            bytes,
        ),
        ("ranks", "Ranks.", overview.ranks.len()),
        (
            "clients",
            "Clients; each start of a program is a new one.",
            overview.clients,
        ),
    ]);
    if let Source::Live(hub) = &app.source {
        numbers.messages(&hub.counts());
        let (waiting, bytes) = hub.waiting();
        numbers.gauges(&[
            ("waiting_messages", "Waiting messages.", waiting),
            ("waiting_bytes", "Bytes of waiting messages.", bytes),
        ]);
    }
    numbers.0
}
