//! Rules specific to Nsight Systems recordings, in addition to those of all GPU recordings.

pub use crate::timeline::rules::*;
use perf_core::{Rule, Weight};

/// A value is invalid.
pub const VALUE: Rule = Rule {
    name: "invalid-value-of-column",
    weight: Weight::Loss,
    what: "a column is empty, has another type or a number out of range; the row is skipped",
};
/// A name is missing.
pub const NAME: Rule = Rule {
    name: "unknown-string",
    weight: Weight::Repair,
    what: "a name refers to a missing string; its number replaces it",
};
/// A table is damaged.
pub const DAMAGED_TABLE: Rule = Rule {
    name: "damaged-table",
    weight: Weight::Loss,
    what: "the database is damaged or truncated; the readable part of the table or of the \
           database is kept",
};
/// A table lacks a required column.
pub const COLUMN: Rule = Rule {
    name: "missing-column",
    weight: Weight::Loss,
    what: "a table lacks a required column; the table is skipped",
};
/// A table is not supported.
pub const TABLE: Rule = Rule {
    name: "skipped-table",
    weight: Weight::Note,
    what: "a table of events is not supported; its rows are skipped",
};
/// The type of an NVTX event is unknown.
pub const NVTX: Rule = Rule {
    name: "other-nvtx",
    weight: Weight::Loss,
    what: "an NVTX event has an unknown kind; skipped",
};
/// An activity has no process.
pub const NO_PROCESS: Rule = Rule {
    name: "no-process",
    weight: Weight::Repair,
    what: "device work names no process; assigned to the only process that calls the runtime, \
           or else to process 0",
};
