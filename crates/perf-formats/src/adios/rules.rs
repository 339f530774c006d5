//! Rules for parts of BP files that the reader skips or repairs.

use perf_core::{Rule, Weight};

const fn rule(name: &'static str, weight: Weight, what: &'static str) -> Rule {
    Rule { name, what, weight }
}

/// A header is incomplete.
pub const HEADER: Rule = rule(
    "damaged-header",
    Weight::Loss,
    "the header of an index of steps is truncated, and the file has no steps; or it, or the footer \
     of BP3, is damaged and was repaired",
);
/// The footer of a BP3 file, or an index that all steps need, is missing.
pub const NO_FOOTER: Rule = rule(
    "no-footer",
    Weight::Loss,
    "a BP3 file is truncated, damaged or was never closed, so the positions of its steps are \
     missing; the file is skipped",
);
/// A variable or attribute of a BP3 file is damaged.
pub const DAMAGED_INDEX: Rule = rule(
    "damaged-index",
    Weight::Loss,
    "a part of the index of a BP3 file is damaged; the variable or attribute is skipped",
);
/// The index or data of a step are incomplete.
pub const DAMAGED_STEP: Rule = rule(
    "damaged-step",
    Weight::Loss,
    "a step is truncated or damaged; skipped",
);
/// The data of a table are incomplete.
pub const DAMAGED_TABLE: Rule = rule(
    "damaged-table",
    Weight::Loss,
    "a part of a table is missing, truncated or damaged; the rest of the step is kept",
);
/// A step of a file arrived after that step had been returned.
pub const LATE: Rule = rule(
    "late-step",
    Weight::Note,
    "a file was late: its step ended after later steps of other files",
);
/// The index of steps ends within a record.
pub const UNFINISHED: Rule = rule(
    "unfinished-step",
    Weight::Note,
    "the index ends within the record of a step that was being written; the step is dropped",
);
/// A file was not closed.
pub const UNCLOSED: Rule = rule(
    "unclosed",
    Weight::Note,
    "the writer is active or was killed before it closed the file; the existing steps are read",
);
/// A file was not closed, and no data arrived.
pub const GIVEN_UP: Rule = rule(
    "given-up",
    Weight::Note,
    "a file is still open for writing, but no data arrived within the waiting time; read as \
     complete",
);
/// No attribute names the number of a timer, counter or event type.
pub const UNNAMED: Rule = rule(
    "unnamed",
    Weight::Loss,
    "an event has a kind, timer or counter without a name; skipped",
);
/// An event type is not supported.
pub const UNKNOWN_KIND: Rule = rule(
    "unknown-kind",
    Weight::Loss,
    "an event has an unknown kind; skipped",
);
/// Numbers of programs, ranks or threads are implausibly high.
pub const CORRUPT: Rule = rule(
    "corrupt-event",
    Weight::Loss,
    "the program, rank, thread or time of an event is implausibly large; skipped",
);
/// A count differs from the number of rows.
pub const COUNT: Rule = rule(
    "wrong-count",
    Weight::Loss,
    "a table has fewer rows than its count declares; the existing rows are kept",
);
/// Rows beyond the count.
pub const LEFTOVER: Rule = rule(
    "rows-beyond-count",
    Weight::Note,
    "a table has more rows than its count declares; the excess rows are skipped",
);
/// The limit on definitions is exceeded.
pub const DEFINITIONS: Rule = rule(
    "too-many-definitions",
    Weight::Loss,
    "the number of a name exceeds the limit for definitions; skipped",
);
/// The rank or thread of metadata is not a number.
pub const METADATA: Rule = rule(
    "malformed-metadata",
    Weight::Loss,
    "a metadata attribute does not name a rank and a thread; skipped",
);
