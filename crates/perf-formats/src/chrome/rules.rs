//! Rules for skipped, repaired and dropped parts of Chrome traces.

pub use crate::timeline::rules::*;

crate::rule_table::rule_table! {
    PHASE: Loss = "other-phase",
        "an event is a sample, an object, a dump or of an unknown phase; dropped";
    EMPTY: Ordinary = "empty-event",
        "an event is empty, as some writers end their list";
    NO_DURATION: Repair = "no-duration",
        "a complete event has no duration; kept with length 0";
    NO_ID: Repair = "no-id",
        "an asynchronous event or a flow has no id; an empty id is assumed";
    TRAILING: Note = "trailing-text",
        "text follows the end of the trace; skipped";
    /// A bare array without its closing bracket, which the format allows.
    UNCLOSED: Ordinary = "unclosed-array",
        "the array of events has no closing bracket, which the format allows";
}
