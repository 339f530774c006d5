//! [`SpanLayer`]: layer of `tracing` that records enters and exits of spans, and counters.

use super::recorded_spans::Shared;
use std::sync::Arc;
use tracing_core::field::{Field, Visit};
use tracing_core::{Event, Subscriber, span::Id};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

/// Layer that must be added to a registry, see [`Spans`](super::Spans).
#[derive(Debug)]
pub struct SpanLayer(pub(super) Arc<Shared>);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for SpanLayer {
    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        if let Some(metadata) = context.metadata(id) {
            self.0.enter(id.into_u64(), metadata);
        }
    }

    fn on_exit(&self, id: &Id, _: Context<'_, S>) {
        self.0.exit(id.into_u64());
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        event.record(&mut Counters(&self.0));
    }
}

/// Visitor that finds the counters among the fields of an event.
struct Counters<'a>(&'a Shared);

/// Prefixes of the names of counter fields.
const COUNTERS: [&str; 4] = ["counter.", "monotonic_counter.", "gauge.", "histogram."];

impl Counters<'_> {
    fn count(&self, field: &Field, value: f64) {
        let name = COUNTERS
            .iter()
            .find_map(|start| field.name().strip_prefix(start));
        if let Some(name) = name {
            self.0.count(name, value);
        }
    }
}

impl Visit for Counters<'_> {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.count(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.count(field, value as f64);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.count(field, value as f64);
    }

    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}
