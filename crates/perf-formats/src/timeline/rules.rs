//! Rules for the repairs and losses that the readers of all GPU recordings report.

use perf_core::{Rule, Weight};

const fn rule(name: &'static str, weight: Weight, what: &'static str) -> Rule {
    Rule { name, what, weight }
}

/// The text is truncated.
pub const TRUNCATED: Rule = rule(
    "truncated",
    Weight::Loss,
    "the file ends within an event or before its last bracket; the events before are kept",
);
/// The compressed data are damaged or truncated.
pub const DAMAGED: Rule = rule(
    "damaged-gzip",
    Weight::Loss,
    "the compressed data are truncated or damaged; the part before is kept",
);
/// A part of the text is not JSON.
pub const MALFORMED: Rule = rule(
    "malformed-event",
    Weight::Loss,
    "a part of the text is not valid JSON; skipped up to the next event",
);
/// An event exceeds the memory limit.
pub const LONG_EVENT: Rule = rule(
    "long-event",
    Weight::Loss,
    "an event is longer than four times the limit for strings; skipped",
);
/// A name is too long.
pub const LONG_NAME: Rule = rule(
    "long-name",
    Weight::Loss,
    "a name exceeds the limit for strings; the event is kept without it",
);
/// There are too many names.
pub const DEFINITIONS: Rule = rule(
    "too-many-definitions",
    Weight::Loss,
    "the number of names exceeds the limit for definitions; the event is kept without its name",
);
/// Text is not UTF-8.
pub const ENCODING: Rule = rule(
    "invalid-text",
    Weight::Repair,
    "a name or word contains invalid bytes or escapes; replaced, counted once for each text",
);
/// Commas are missing or superfluous.
pub const COMMA: Rule = rule(
    "comma",
    Weight::Ordinary,
    "a comma is missing or superfluous; read anyway",
);
/// A time is invalid.
pub const BAD_TIME: Rule = rule(
    "invalid-time",
    Weight::Loss,
    "a time is not a finite number or is out of range; the event is skipped",
);
/// An event ends before it begins.
pub const NEGATIVE: Rule = rule(
    "negative-duration",
    Weight::Repair,
    "an event ends before it begins; kept with length 0",
);
/// Calls of a thread overlap.
pub const OVERLAP: Rule = rule(
    "overlapping-calls",
    Weight::Note,
    "calls of one thread overlap without nesting; kept on additional lanes",
);
/// The limit on lanes is exceeded.
pub const TRIMMED: Rule = rule(
    "trimmed-call",
    Weight::Repair,
    "more calls of one thread overlap than there are lanes; the call is shortened to fit its \
     enclosing call",
);
/// An activity has no launch.
pub const UNLINKED: Rule = rule(
    "unlinked-work",
    Weight::Note,
    "device work has no launch with its correlation id on the host; kept without a link",
);
/// A flow has only one end.
pub const FLOW: Rule = rule(
    "loose-flow",
    Weight::Ordinary,
    "a flow has only one end or leads to no event; dropped",
);
/// An end has no begin.
pub const NO_BEGIN: Rule = rule(
    "end-without-begin",
    Weight::Loss,
    "an end event has no begin event before it; skipped",
);
/// A begin has no end.
pub const NO_END: Rule = rule(
    "begin-without-end",
    Weight::Repair,
    "a begin event has no end event; ended at the last event of its row",
);
/// An end belongs to a call other than the innermost one.
pub const MISMATCH: Rule = rule(
    "crossed-end",
    Weight::Note,
    "an end event does not name the innermost call; it ends the last call of its name",
);
/// Several processes use a correlation id.
pub const SHARED: Rule = rule(
    "shared-correlation",
    Weight::Note,
    "calls of several processes have the correlation id of device work; linked to that of the \
     process that drives the device, or else to the last call before the work",
);
/// Clocks are inconsistent.
pub const CLOCKS: Rule = rule(
    "clocks-disagree",
    Weight::Note,
    "a file begins more than 10 s after the first one or is from another host, and its times \
     are kept as recorded; or its clock is unknown in contrast to the others, and its begin is \
     aligned with theirs",
);
/// Two files have the same rank.
pub const RANK: Rule = rule(
    "rank-taken",
    Weight::Repair,
    "two files have the same rank; the later one gets the next free rank",
);
/// Times are implausible.
pub const OUTLIER: Rule = rule(
    "implausible-time",
    Weight::Loss,
    "the time of an event is 0 although the clock started long before, is at the end of the \
     64-bit range, or is more than a day and many times their spread away from all others; \
     skipped",
);
/// A file was given twice.
pub const SAME_FILE: Rule = rule(
    "same-file",
    Weight::Repair,
    "a file has exactly the events of another one and names no other rank; counted once",
);
/// Files of two ranks contain the same events.
pub const SAME_EVENTS: Rule = rule(
    "same-events",
    Weight::Note,
    "a file has exactly the events of another one but names another rank; both are kept",
);
/// Values of counters are invalid.
pub const BAD_VALUE: Rule = rule(
    "invalid-value",
    Weight::Loss,
    "a value of a counter is not a finite number; dropped",
);
/// Arguments are not supported.
pub const ARGUMENTS: Rule = rule(
    "dropped-arguments",
    Weight::Ordinary,
    "an event has arguments that are not supported; dropped",
);
