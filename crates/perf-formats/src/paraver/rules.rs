//! Rules of the repairs, losses and notes that reading and writing Paraver traces report in
//! [`Diagnostics`](perf_core::Diagnostics).

use perf_core::{Rule, Weight};

const fn rule(name: &'static str, weight: Weight, what: &'static str) -> Rule {
    Rule { name, what, weight }
}

/// A line of the body is not a valid record.
pub const BAD_LINE: Rule = rule(
    "bad-line",
    Weight::Loss,
    "a line is not a valid record; skipped",
);
/// The last line has no line end.
pub const UNTERMINATED: Rule = rule(
    "unterminated-line",
    Weight::Repair,
    "the last line has no newline; kept, but its last number may be truncated",
);
/// The body ends before the duration in the header.
pub const ENDS_EARLY: Rule = rule(
    "ends-early",
    Weight::Note,
    "the last record ends before the time in the header",
);
/// A record refers to a thread that the header does not declare.
pub const UNKNOWN_OBJECT: Rule = rule(
    "unknown-object",
    Weight::Loss,
    "a record refers to an application, task or thread that the header does not declare; dropped",
);
/// A record is earlier than the previous one of its thread.
pub const OUT_OF_ORDER: Rule = rule(
    "out-of-order",
    Weight::Repair,
    "a record is earlier than the previous one of its thread; sorted by time",
);
/// A timestamp lies far beyond the duration of the trace.
pub const TIME_JUMP: Rule = rule(
    "time-jump",
    Weight::Repair,
    "a timestamp lies beyond twice the duration in the header; replaced by that of the previous \
     record, of the next one for the end of a state, or by the other timestamp of the same end \
     of a message",
);
/// A record lies after the duration in the header.
pub const BEYOND_DURATION: Rule = rule(
    "beyond-duration",
    Weight::Note,
    "a record lies beyond the duration in the header; kept",
);
/// A state ends before it begins.
pub const NEGATIVE_STATE: Rule = rule(
    "negative-state",
    Weight::Repair,
    "a state ends before it begins; its length is set to 0",
);
/// A state begins before the previous one of its thread ends.
pub const OVERLAPPING_STATE: Rule = rule(
    "overlapping-state",
    Weight::Repair,
    "a state begins before the previous one of its thread ends; the previous one is shortened",
);
/// Global communication records of old traces.
pub const GLOBAL: Rule = rule(
    "global-communication",
    Weight::Note,
    "a line has type 4 (global communication of old traces), which is not supported; skipped",
);
/// There is no `.pcf` next to the trace.
pub const NO_PCF: Rule = rule(
    "missing-pcf",
    Weight::Note,
    "the .pcf file of the trace is missing; default names are used",
);
/// There is no `.row` next to the trace.
pub const NO_ROW: Rule = rule(
    "missing-row",
    Weight::Note,
    "the .row file of the trace is missing; default names are used",
);
/// A line of a companion file does not fit its section.
pub const STRANGE_LINE: Rule = rule(
    "strange-line",
    Weight::Note,
    "a line of a .pcf or .row file does not fit its section; kept as text",
);
/// A thread migrated to another CPU.
pub const CPU_CHANGED: Rule = rule(
    "cpu-changed",
    Weight::Ordinary,
    "a thread migrated to another CPU; its CPU is not kept",
);
/// A state begins inside an MPI call.
pub const STATE_IN_CALL: Rule = rule(
    "state-in-call",
    Weight::Ordinary,
    "a state lies inside an MPI call; only the call is kept",
);
/// A function is nested deeper than the limit.
pub const TOO_DEEP: Rule = rule(
    "deep-function",
    Weight::Loss,
    "a user function is nested deeper than the limit; its frame is dropped",
);
/// A message tag is not an unsigned 32-bit number.
pub const TAG: Rule = rule(
    "wide-tag",
    Weight::Repair,
    "a message tag does not fit 32 unsigned bits; its low 32 bits are kept",
);
/// A counter has both negative values and values above the signed range.
pub const SIGN: Rule = rule(
    "mixed-sign",
    Weight::Repair,
    "a counter has negative values and values above the signed range; the latter are read as \
     negative",
);
/// A communicator refers to tasks that the header does not declare.
pub const UNKNOWN_MEMBER: Rule = rule(
    "unknown-member",
    Weight::Note,
    "a communicator lists a task that the header does not declare; its rank has no location",
);
/// A communicator is defined twice.
pub const DUPLICATE_COMM: Rule = rule(
    "duplicate-communicator",
    Weight::Repair,
    "a communicator is defined twice; the last definition is kept",
);
/// The names exceed the memory budget.
pub const NAMES: Rule = rule(
    "too-long-names",
    Weight::Loss,
    "names of functions exceed the memory of 256 strings of maximum length; numbers replace \
     further names",
);
/// Writing: Paraver has no record for an event.
pub const NOT_WRITTEN: Rule = rule(
    "not-written",
    Weight::Loss,
    "an event has no counterpart in Paraver; dropped",
);
/// Writing: a message has no partner.
pub const UNMATCHED: Rule = rule(
    "unmatched",
    Weight::Loss,
    "a send or receive has no partner; dropped, because Paraver requires both ends of a message",
);
/// Writing: a value is not an integer.
pub const FRACTION: Rule = rule(
    "fraction",
    Weight::Repair,
    "a value is not an integer; rounded",
);
/// Writing: a frame is inside an MPI call.
pub const NESTED_IN_CALL: Rule = rule(
    "frame-in-call",
    Weight::Note,
    "a region was entered inside an MPI call; Paraver displays the call on top of it",
);
/// Writing: Paraver has no unit for the resolution of the clock.
pub const CLOCK: Rule = rule(
    "clock",
    Weight::Note,
    "the clock does not tick in ns, us or ms; times are rounded down to ns",
);
