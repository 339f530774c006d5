//! Rules specific to Nsight Systems recordings, in addition to those of all GPU recordings.

pub use crate::timeline::rules::*;
use perf_core::{Rule, Weight};

/// A value is invalid.
pub const VALUE: Rule = Rule {
    name: "invalid-value-of-column",
    weight: Weight::Loss,
    what: "a column holds nothing, another type or a number out of range; the row is skipped",
};
/// A name is missing.
pub const NAME: Rule = Rule {
    name: "unknown-string",
    weight: Weight::Repair,
    what: "a name refers to a string that is not there; it is named by its number",
};
/// A table is damaged.
pub const DAMAGED_TABLE: Rule = Rule {
    name: "damaged-table",
    weight: Weight::Loss,
    what: "the database is damaged or cut; what can be read of the table, or of all of it, is kept",
};
/// A table lacks a required column.
pub const COLUMN: Rule = Rule {
    name: "missing-column",
    weight: Weight::Loss,
    what: "a table lacks a column without which its rows say nothing; it is not read",
};
/// A table is not supported.
pub const TABLE: Rule = Rule {
    name: "table-left-out",
    weight: Weight::Note,
    what: "a table of events has no place in a trace; its rows are not kept",
};
/// The type of an NVTX event is unknown.
pub const NVTX: Rule = Rule {
    name: "other-nvtx",
    weight: Weight::Loss,
    what: "an NVTX event is of a kind that nobody knows; not kept",
};
/// An activity has no process.
pub const NO_PROCESS: Rule = Rule {
    name: "no-process",
    weight: Weight::Repair,
    what: "work does not say which process it is of; kept with the only one that calls the runtime, \
           or else with one numbered 0",
};
