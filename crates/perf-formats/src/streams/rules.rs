//! What the reader of streams skips or mends.

use perf_core::{Rule, Weight};

const fn rule(name: &'static str, weight: Weight, what: &'static str) -> Rule {
    Rule { name, what, weight }
}

/// A line that is no event.
pub const MALFORMED: Rule = rule(
    "malformed-line",
    Weight::Loss,
    "a line is no event of a stream; skipped",
);
/// A line that is longer than a string may be.
pub const LONG_LINE: Rule = rule(
    "long-line",
    Weight::Loss,
    "a line is longer than the limit for strings; skipped",
);
/// Kinds of events without a noun.
pub const UNKNOWN_KIND: Rule = rule(
    "unknown-kind",
    Weight::Loss,
    "an event is of a kind that streams do not have; skipped",
);
/// A step below the one before.
pub const STEP_BACK: Rule = rule(
    "step-backwards",
    Weight::Repair,
    "an event belongs to an earlier step; taken into the current one",
);
/// A step far ahead of those around it.
pub const STEP_AHEAD: Rule = rule(
    "step-ahead",
    Weight::Repair,
    "an event is of a step far ahead of those before and after it; taken into the current one",
);
/// A file that was late.
pub const LATE: Rule = rule(
    "late-event",
    Weight::Note,
    "a file was quiet while others went on: its step ended after later ones of theirs",
);
/// A packed file in a folder that is followed.
pub const PACKED: Rule = rule(
    "packed-file",
    Weight::Loss,
    "a packed file in a folder that is followed cannot grow; skipped",
);
/// A file that did not appear.
pub const ABSENT: Rule = rule(
    "absent-file",
    Weight::Note,
    "a file did not appear as long as it was waited for",
);
/// A first line that does not say what the lines are.
pub const HEADER: Rule = rule(
    "damaged-header",
    Weight::Repair,
    "the first line is damaged or cut off; the usual columns are assumed",
);
/// The file ends within packed data.
pub const TRUNCATED: Rule = rule(
    "truncated",
    Weight::Loss,
    "the packed data end too early or are damaged; what came before is kept",
);
/// The last line has no end.
pub const UNFINISHED: Rule = rule(
    "unfinished-line",
    Weight::Ordinary,
    "the last line does not end with a line feed; read all the same",
);
/// More definitions than the limit.
pub const DEFINITIONS: Rule = rule(
    "too-many-definitions",
    Weight::Loss,
    "a name was defined after the limit for definitions was reached; skipped",
);
/// A timestamp that lies far ahead of those around it.
pub const TIME_JUMP: Rule = rule(
    "time-jump",
    Weight::Repair,
    "a time lies 10 s or more ahead of those around it; taken at that of the event before",
);
/// Events that came later than they happened.
pub const OUT_OF_ORDER: Rule = rule(
    "out-of-order",
    Weight::Repair,
    "an event is earlier than the one before on its thread; sorted by time",
);
