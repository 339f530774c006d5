//! Rules for lines that the reader of streams skips or repairs.

use perf_core::{Rule, Weight};

const fn rule(name: &'static str, weight: Weight, what: &'static str) -> Rule {
    Rule { name, what, weight }
}

/// A line is not an event.
pub const MALFORMED: Rule = rule(
    "malformed-line",
    Weight::Loss,
    "a line is not an event; skipped",
);
/// A line exceeds the limit on strings.
pub const LONG_LINE: Rule = rule(
    "long-line",
    Weight::Loss,
    "a line is longer than the limit for strings; skipped",
);
/// The kind of an event is not supported.
pub const UNKNOWN_KIND: Rule = rule(
    "unknown-kind",
    Weight::Loss,
    "an event has an unknown kind; skipped",
);
/// A step is lower than the previous one.
pub const STEP_BACK: Rule = rule(
    "step-backwards",
    Weight::Repair,
    "an event belongs to an earlier step; moved to the current one",
);
/// A step is far ahead of its neighbours.
pub const STEP_AHEAD: Rule = rule(
    "step-ahead",
    Weight::Repair,
    "the step of an event is far ahead of its neighbours; moved to the current one",
);
/// A late file completed a step that the other files had already ended.
pub const LATE: Rule = rule(
    "late-event",
    Weight::Note,
    "a file was late: its step ended after later steps of other files",
);
/// A followed folder contains a compressed file.
pub const PACKED: Rule = rule(
    "packed-file",
    Weight::Loss,
    "a compressed file in a followed folder cannot grow; skipped",
);
/// A named file did not appear.
pub const ABSENT: Rule = rule(
    "absent-file",
    Weight::Note,
    "a file did not appear within the waiting time",
);
/// The first line does not determine the syntax.
pub const HEADER: Rule = rule(
    "damaged-header",
    Weight::Repair,
    "the first line is damaged or truncated; the default columns are assumed",
);
/// The compressed data are truncated.
pub const TRUNCATED: Rule = rule(
    "truncated",
    Weight::Loss,
    "the compressed data are truncated or damaged; the part before is kept",
);
/// The last line is incomplete.
pub const UNFINISHED: Rule = rule(
    "unfinished-line",
    Weight::Ordinary,
    "the last line has no line feed; read anyway",
);
/// The limit on definitions is exceeded.
pub const DEFINITIONS: Rule = rule(
    "too-many-definitions",
    Weight::Loss,
    "a name exceeds the limit for definitions; skipped",
);
/// A timestamp lies far ahead of its neighbours.
pub const TIME_JUMP: Rule = rule(
    "time-jump",
    Weight::Repair,
    "a timestamp lies 10 s or more ahead of its neighbours; replaced by that of the previous event",
);
/// Events arrived in the wrong order.
pub const OUT_OF_ORDER: Rule = rule(
    "out-of-order",
    Weight::Repair,
    "an event is earlier than the previous one of its thread; sorted by time",
);
