//! Rules that apply to all GPU recordings.

use perf_core::{Rule, Weight};

const fn rule(name: &'static str, weight: Weight, what: &'static str) -> Rule {
    Rule { name, what, weight }
}

/// The text is truncated.
pub const TRUNCATED: Rule = rule(
    "truncated",
    Weight::Loss,
    "the file ends within an event or before its last bracket; what came before is kept",
);
/// The compressed data are damaged or truncated.
pub const DAMAGED: Rule = rule(
    "damaged-gzip",
    Weight::Loss,
    "the packed data end too early or are damaged; what came before is kept",
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
    "an event is longer than four strings may be; skipped",
);
/// A name is too long.
pub const LONG_NAME: Rule = rule(
    "long-name",
    Weight::Loss,
    "a name is longer than the limit for strings; the event is kept without it",
);
/// There are too many names.
pub const DEFINITIONS: Rule = rule(
    "too-many-definitions",
    Weight::Loss,
    "there are more names than the limit for definitions; the event is kept without its own",
);
/// Text is not UTF-8.
pub const ENCODING: Rule = rule(
    "invalid-text",
    Weight::Repair,
    "a name or word holds bytes or escapes that are no text; replaced, counted once for each",
);
/// Commas are missing or superfluous.
pub const COMMA: Rule = rule(
    "comma",
    Weight::Ordinary,
    "a comma is missing or one too many; read all the same",
);
/// A time is invalid.
pub const BAD_TIME: Rule = rule(
    "invalid-time",
    Weight::Loss,
    "a time is no finite number or out of range; the event is skipped",
);
/// An event ends before it begins.
pub const NEGATIVE: Rule = rule(
    "negative-duration",
    Weight::Repair,
    "an event ends before it begins; kept with no length",
);
/// Calls of a thread overlap.
pub const OVERLAP: Rule = rule(
    "overlapping-calls",
    Weight::Note,
    "calls of one thread overlap without nesting; kept on further lanes of it",
);
/// The limit on lanes is exceeded.
pub const TRIMMED: Rule = rule(
    "trimmed-call",
    Weight::Repair,
    "more calls of one thread overlap than it has lanes; ended with the one around it",
);
/// An activity has no launch.
pub const UNLINKED: Rule = rule(
    "unlinked-work",
    Weight::Note,
    "work of a device has no launch on the host with its correlation id; kept without a link",
);
/// A flow has only one end.
pub const FLOW: Rule = rule(
    "loose-flow",
    Weight::Ordinary,
    "a flow has one end only or leads to no event; not kept",
);
/// An end has no begin.
pub const NO_BEGIN: Rule = rule(
    "end-without-begin",
    Weight::Loss,
    "an end has no begin before it; skipped",
);
/// A begin has no end.
pub const NO_END: Rule = rule(
    "begin-without-end",
    Weight::Repair,
    "a begin has no end; ended at the last event of its row",
);
/// An end belongs to a call other than the innermost one.
pub const MISMATCH: Rule = rule(
    "crossed-end",
    Weight::Note,
    "an end names another call than the one that began last; it ends the last one of its name",
);
/// Several processes use a correlation id.
pub const SHARED: Rule = rule(
    "shared-correlation",
    Weight::Note,
    "calls of several processes have the correlation id of work; linked with that of the process \
     that drives the device, or else with the last call before it",
);
/// Clocks are inconsistent.
pub const CLOCKS: Rule = rule(
    "clocks-disagree",
    Weight::Note,
    "a file begins more than 10 s after the first one or comes from another host, and its times are \
     kept as recorded; or it does not tell its clock where others do, and begins with them",
);
/// Two files have the same rank.
pub const RANK: Rule = rule(
    "rank-taken",
    Weight::Repair,
    "two files are of one rank; the later one is given the next free number",
);
/// Times are implausible.
pub const OUTLIER: Rule = rule(
    "implausible-time",
    Weight::Loss,
    "an event lies at time 0 of a clock that counts from long before, at the end of the range of 64 bits, or \
     more than a day and many times as far from the others as these are apart; skipped",
);
/// A file was given twice.
pub const SAME_FILE: Rule = rule(
    "same-file",
    Weight::Repair,
    "a file has the events of another one, to the last time, and names no other rank; counted once",
);
/// Files of two ranks contain the same events.
pub const SAME_EVENTS: Rule = rule(
    "same-events",
    Weight::Note,
    "a file has the events of another one, to the last time, though it names another rank; both are kept",
);
/// Values of counters are invalid.
pub const BAD_VALUE: Rule = rule(
    "invalid-value",
    Weight::Loss,
    "a value of a counter is no finite number; left out",
);
/// Arguments are not supported.
pub const ARGUMENTS: Rule = rule(
    "arguments-left-out",
    Weight::Ordinary,
    "an event has arguments that are not kept",
);
