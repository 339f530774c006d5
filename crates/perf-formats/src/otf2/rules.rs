//! Rules for repairs, losses and notes that the [`Diagnostics`](perf_core::Diagnostics) of OTF2
//! archives count.

use perf_core::{Rule, Weight};

const fn rule(name: &'static str, weight: Weight, what: &'static str) -> Rule {
    Rule { name, what, weight }
}

/// An id is defined twice; the last definition is kept.
pub const DUPLICATE_DEFINITION: Rule = rule(
    "duplicate-definition",
    Weight::Repair,
    "an id is defined twice; the last definition is kept",
);
/// A definition refers to a later one.
pub const FORWARD_REFERENCE: Rule = rule(
    "forward-reference",
    Weight::Ordinary,
    "a definition refers to a later one",
);
/// A definition refers to an id that is not defined.
pub const UNRESOLVED_DEFINITION: Rule = rule(
    "unresolved-definition",
    Weight::Repair,
    "a definition refers to an undefined id; the reference is dropped",
);
/// A communicator lists an undefined location, as in a part of an archive.
pub const ABSENT_MEMBER: Rule = rule(
    "absent-member",
    Weight::Note,
    "a communicator lists an undefined location; its rank has no location",
);
/// Enters and leaves of calling contexts are read as those of their regions.
pub const CALLING_CONTEXT: Rule = rule(
    "calling-context",
    Weight::Note,
    "an event enters or leaves a calling context; its region is kept, its context and unwind \
     distance are dropped",
);
/// An event refers to an id that is not defined.
pub const UNRESOLVED_ID: Rule = rule(
    "unresolved-id",
    Weight::Repair,
    "an event refers to an undefined id; replaced by a placeholder",
);
/// A record of a kind that this version does not know.
pub const UNKNOWN_RECORD: Rule = rule(
    "unknown-record",
    Weight::Note,
    "a record has an unknown kind; its fields are skipped",
);
/// A record has inconsistent fields.
pub const DAMAGED_RECORD: Rule = rule(
    "damaged-record",
    Weight::Loss,
    "the fields of a record do not fit its length; the record is dropped",
);
/// A value of an enumeration that this version does not know.
pub const UNKNOWN_VALUE: Rule = rule(
    "unknown-value",
    Weight::Note,
    "a value of an enumeration is unknown; kept as a number",
);
/// The anchor or a location declares a wrong number of events.
pub const DECLARED_EVENTS: Rule = rule(
    "declared-events",
    Weight::Ordinary,
    "a location declares a wrong number of events",
);
/// The anchor declares a wrong number of definitions.
pub const DECLARED_DEFINITIONS: Rule = rule(
    "declared-definitions",
    Weight::Ordinary,
    "the anchor declares a wrong number of definitions",
);
/// The anchor declares a wrong number of locations.
pub const DECLARED_LOCATIONS: Rule = rule(
    "declared-locations",
    Weight::Note,
    "the anchor declares a wrong number of locations",
);
/// A location has no event file, or an empty one.
pub const MISSING_EVENTS: Rule = rule(
    "missing-events",
    Weight::Loss,
    "a location has no event file or an empty one; it counts as absent",
);
/// A location has no file of local definitions.
pub const MISSING_LOCAL: Rule = rule(
    "missing-local-definitions",
    Weight::Note,
    "a location has no local definitions; its ids are read as global ids and its times are not \
     corrected",
);
/// A local file contains definitions that belong into the global file.
pub const LOCAL_DEFINITION: Rule = rule(
    "local-definition",
    Weight::Ordinary,
    "a local definition is neither a mapping table nor a clock offset; skipped",
);
/// An event is earlier than its predecessor.
pub const TIME_BACKWARDS: Rule = rule(
    "time-backwards",
    Weight::Repair,
    "an event is earlier than the previous one of its location; moved to the latest time so far",
);
/// A timestamp lies far ahead of its neighbours.
pub const TIME_JUMP: Rule = rule(
    "time-jump",
    Weight::Repair,
    "a timestamp lies far ahead of its neighbours; its events are moved to the previous timestamp",
);
/// Clock offsets are not in order of time.
pub const CLOCK_OFFSETS: Rule = rule(
    "clock-offsets",
    Weight::Repair,
    "clock offsets are not in order of time; those out of order are skipped",
);
/// The global clock is missing or has no resolution.
pub const CLOCK: Rule = rule(
    "clock",
    Weight::Repair,
    "the clock is undefined or has a resolution of 0; times are read as nanoseconds",
);
/// Events lie outside the time range of the clock properties.
pub const OUTSIDE_CLOCK: Rule = rule(
    "outside-clock",
    Weight::Note,
    "an event lies outside the time range of the clock properties",
);
/// A file ends before its end mark.
pub const TRUNCATED: Rule = rule(
    "truncated",
    Weight::Loss,
    "a file is truncated; the part before is kept",
);
/// A part of a chunk is unreadable.
pub const DAMAGED_CHUNK: Rule = rule(
    "damaged-chunk",
    Weight::Loss,
    "a part of a chunk is damaged; skipped up to the next readable record",
);
/// A chunk has fewer events than its header declares.
pub const LOST_EVENTS: Rule = rule(
    "lost-events",
    Weight::Loss,
    "an event is lost: its chunk has fewer readable events than its header declares",
);
/// A definition is its own ancestor, or its tree is too deep.
pub const CYCLE: Rule = rule(
    "cycle",
    Weight::Repair,
    "a definition is its own ancestor or is nested too deep; converted to a root",
);
/// The anchor is missing.
pub const NO_ANCHOR: Rule = rule(
    "no-anchor",
    Weight::Loss,
    "the anchor is missing, as after an aborted run; read without it",
);
/// The anchor is damaged.
pub const DAMAGED_ANCHOR: Rule = rule(
    "damaged-anchor",
    Weight::Loss,
    "the anchor is truncated or damaged; read without it",
);
/// The global definitions are missing.
pub const NO_DEFINITIONS: Rule = rule(
    "no-definitions",
    Weight::Loss,
    "the global definitions are missing, as after an aborted run; numbers replace names",
);
/// The chunk size is not declared and was detected from the headers.
pub const CHUNK_SIZE: Rule = rule(
    "chunk-size",
    Weight::Repair,
    "the chunk size is not declared; detected from the next chunk header",
);
/// A location has files but no definition.
pub const UNDEFINED_LOCATION: Rule = rule(
    "undefined-location",
    Weight::Repair,
    "a location has files but no definition; its number replaces its name",
);
/// Files belong to locations that the complete definitions do not contain.
pub const STALE_FILES: Rule = rule(
    "stale-files",
    Weight::Loss,
    "files belong to a location that the complete definitions do not contain; skipped",
);
/// Text that is not UTF-8.
pub const BAD_TEXT: Rule = rule(
    "bad-text",
    Weight::Repair,
    "a text is not UTF-8; invalid bytes are replaced",
);
/// Text that is too long.
pub const LONG_TEXT: Rule = rule(
    "long-text",
    Weight::Loss,
    "a text exceeds the limit for one text or for all together; truncated",
);
/// Lists whose total length exceeds the limit.
pub const LONG_LISTS: Rule = rule(
    "long-lists",
    Weight::Loss,
    "the ranks of all communicators together exceed the limit; those of the communicator are \
     dropped",
);
/// Several ranks define regions with equal name, source file and line.
pub const UNIFIED_REGIONS: Rule = rule(
    "unified-regions",
    Weight::Note,
    "a region is defined several times under one name; the definitions are unified",
);
/// No event follows the attributes.
pub const LOST_ATTRIBUTES: Rule = rule(
    "lost-attributes",
    Weight::Loss,
    "a chunk ends between attributes and their event; the attributes are dropped",
);
/// An event has more arguments than can be stored.
pub const LONG_EVENT: Rule = rule(
    "long-event",
    Weight::Loss,
    "an event has more arguments than can be stored; dropped",
);
