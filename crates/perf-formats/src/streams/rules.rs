//! Rules for lines that the reader of streams skips or repairs.

use perf_core::{Rule, Weight};

const fn rule(name: &'static str, weight: Weight, what: &'static str) -> Rule {
    Rule { name, what, weight }
}

/// A line is not an event.
pub const MALFORMED: Rule = rule(
    "malformed-line",
    Weight::Loss,
    "a line is no event of a stream; skipped",
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
    "an event is of a kind that streams do not have; skipped",
);
/// A step is lower than the previous one.
pub const STEP_BACK: Rule = rule(
    "step-backwards",
    Weight::Repair,
    "an event belongs to an earlier step; taken into the current one",
);
/// A step is far ahead of its neighbours.
pub const STEP_AHEAD: Rule = rule(
    "step-ahead",
    Weight::Repair,
    "an event is of a step far ahead of those before and after it; taken into the current one",
);
/// A file was late.
pub const LATE: Rule = rule(
    "late-event",
    Weight::Note,
    "a file was quiet while others went on: its step ended after later ones of theirs",
);
/// A followed folder contains a compressed file.
pub const PACKED: Rule = rule(
    "packed-file",
    Weight::Loss,
    "a packed file in a folder that is followed cannot grow; skipped",
);
/// A named file did not appear.
pub const ABSENT: Rule = rule(
    "absent-file",
    Weight::Note,
    "a file did not appear as long as it was waited for",
);
/// The first line does not determine the syntax.
pub const HEADER: Rule = rule(
    "damaged-header",
    Weight::Repair,
    "the first line is damaged or cut off; the usual columns are assumed",
);
/// The compressed data are truncated.
pub const TRUNCATED: Rule = rule(
    "truncated",
    Weight::Loss,
    "the packed data end too early or are damaged; what came before is kept",
);
/// The last line is incomplete.
pub const UNFINISHED: Rule = rule(
    "unfinished-line",
    Weight::Ordinary,
    "the last line does not end with a line feed; read all the same",
);
/// The limit on definitions is exceeded.
pub const DEFINITIONS: Rule = rule(
    "too-many-definitions",
    Weight::Loss,
    "a name was defined after the limit for definitions was reached; skipped",
);
/// A timestamp lies far ahead of its neighbours.
pub const TIME_JUMP: Rule = rule(
    "time-jump",
    Weight::Repair,
    "a time lies 10 s or more ahead of those around it; taken at that of the event before",
);
/// Events arrived in the wrong order.
pub const OUT_OF_ORDER: Rule = rule(
    "out-of-order",
    Weight::Repair,
    "an event is earlier than the one before on its thread; sorted by time",
);
