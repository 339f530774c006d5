//! Rules specific to Nsight Systems recordings, in addition to those of all GPU recordings.

pub use crate::timeline::rules::*;

crate::rule_table::rule_table! {
    VALUE: Loss = "invalid-value-of-column",
        "a column is empty, has another type or a number out of range; the row is skipped";
    NAME: Repair = "unknown-string",
        "a name refers to a missing string; its number replaces it";
    DAMAGED_TABLE: Loss = "damaged-table",
        "the database is damaged or truncated; the readable part of the table or of the database \
         is kept";
    COLUMN: Loss = "missing-column",
        "a table lacks a required column; the table is skipped";
    TABLE: Note = "skipped-table",
        "a table of events is not supported; its rows are skipped";
    /// The type of an NVTX event is unknown.
    NVTX: Loss = "other-nvtx",
        "an NVTX event has an unknown kind; skipped";
    NO_PROCESS: Repair = "no-process",
        "device work names no process; assigned to the only process that calls the runtime, or \
         else to process 0";
}
