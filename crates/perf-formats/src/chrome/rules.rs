//! Rules for skipped, repaired and dropped parts of Chrome traces.

pub use crate::timeline::rules::*;
use perf_core::{Rule, Weight};

const fn rule(name: &'static str, weight: Weight, what: &'static str) -> Rule {
    Rule { name, what, weight }
}

/// Events of an unsupported phase.
pub const PHASE: Rule = rule(
    "other-phase",
    Weight::Loss,
    "an event is a sample, an object, a dump or of an unknown phase; dropped",
);
/// An element that is not an event.
pub const EMPTY: Rule = rule(
    "empty-event",
    Weight::Ordinary,
    "an event is empty, as some writers end their list",
);
/// A complete event without a duration.
pub const NO_DURATION: Rule = rule(
    "no-duration",
    Weight::Repair,
    "a complete event has no duration; kept with length 0",
);
/// An asynchronous event without an id.
pub const NO_ID: Rule = rule(
    "no-id",
    Weight::Repair,
    "an asynchronous event or a flow has no id; an empty id is assumed",
);
/// Text after the last bracket.
pub const TRAILING: Rule = rule(
    "trailing-text",
    Weight::Note,
    "text follows the end of the trace; skipped",
);
/// A bare array without its closing bracket, which the format allows.
pub const UNCLOSED: Rule = rule(
    "unclosed-array",
    Weight::Ordinary,
    "the array of events has no closing bracket, which the format allows",
);
