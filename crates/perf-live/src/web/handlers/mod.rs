//! Handlers of requests: messages of clients, the page with its queries and events, and metrics.

pub(super) mod chimbuko;
pub(super) mod client_messages;
pub(super) mod counters;
pub(super) mod distribution;
pub(super) mod events;
pub(super) mod lost;
pub(super) mod metrics;
pub(super) mod page_queries;
mod query_string;
pub(super) mod slow;
