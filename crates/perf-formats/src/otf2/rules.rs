//! What the reader repairs, skips or notes: the rules that [`Diagnostics`](perf_core::Diagnostics)
//! of OTF2 archives count.

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
    "a definition refers to an id that is not defined; the reference is dropped",
);
/// A communicator lists a location that is not defined, as it is in a part of an archive.
pub const ABSENT_MEMBER: Rule = rule(
    "absent-member",
    Weight::Note,
    "a communicator lists a location that is not defined; its rank is nobody's",
);
/// Enters and leaves of calling contexts.
pub const CALLING_CONTEXT: Rule = rule(
    "calling-context",
    Weight::Note,
    "an enter or leave of a calling context; its region is kept, context and unwind distance are not",
);
/// An event refers to an id that is not defined.
pub const UNRESOLVED_ID: Rule = rule(
    "unresolved-id",
    Weight::Repair,
    "an event refers to an id that is not defined; a placeholder stands for it",
);
/// A record of a kind that this version does not know.
pub const UNKNOWN_RECORD: Rule = rule(
    "unknown-record",
    Weight::Note,
    "a record of an unknown kind; its fields are skipped",
);
/// A record that mixes up the fields of its kind.
pub const DAMAGED_RECORD: Rule = rule(
    "damaged-record",
    Weight::Loss,
    "the fields of a record do not fit its length; the record is left out",
);
/// A value of an enumeration that this version does not know.
pub const UNKNOWN_VALUE: Rule = rule(
    "unknown-value",
    Weight::Note,
    "a value of an enumeration is unknown; kept as a number",
);
/// The anchor or a location declares another number of events than there are.
pub const DECLARED_EVENTS: Rule = rule(
    "declared-events",
    Weight::Ordinary,
    "a location declares another number of events than it has",
);
/// The anchor declares another number of definitions than there are.
pub const DECLARED_DEFINITIONS: Rule = rule(
    "declared-definitions",
    Weight::Ordinary,
    "the anchor declares another number of definitions than there are",
);
/// The anchor declares another number of locations than are defined.
pub const DECLARED_LOCATIONS: Rule = rule(
    "declared-locations",
    Weight::Note,
    "the anchor declares another number of locations than are defined",
);
/// A location has no event file, or an empty one.
pub const MISSING_EVENTS: Rule = rule(
    "missing-events",
    Weight::Loss,
    "a location has no event file, or an empty one; it is absent",
);
/// A location has no file of local definitions.
pub const MISSING_LOCAL: Rule = rule(
    "missing-local-definitions",
    Weight::Note,
    "a location has no local definitions; its ids are taken as global, its clock as correct",
);
/// A local file defines things of its own.
pub const LOCAL_DEFINITION: Rule = rule(
    "local-definition",
    Weight::Ordinary,
    "a local file defines more than mapping tables and clock offsets; skipped",
);
/// An event is earlier than the one before.
pub const TIME_BACKWARDS: Rule = rule(
    "time-backwards",
    Weight::Repair,
    "time goes back inside a location; held at the latest time so far",
);
/// A timestamp that lies far ahead of those around it.
pub const TIME_JUMP: Rule = rule(
    "time-jump",
    Weight::Repair,
    "a timestamp lies far ahead of those around it; its events are taken at the one before",
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
    "the clock is not defined, or counts no ticks a second; taken as nanoseconds",
);
/// Events lie outside the time that the clock says was recorded.
pub const OUTSIDE_CLOCK: Rule = rule(
    "outside-clock",
    Weight::Note,
    "an event lies outside the time that the clock properties give",
);
/// A file ends before its end mark.
pub const TRUNCATED: Rule = rule(
    "truncated",
    Weight::Loss,
    "a file ends early; what came before is kept",
);
/// A part of a chunk that cannot be read.
pub const DAMAGED_CHUNK: Rule = rule(
    "damaged-chunk",
    Weight::Loss,
    "a part of a chunk is damaged; skipped up to the next record that can be read",
);
/// Events that the header of a chunk declares and the chunk does not have.
pub const LOST_EVENTS: Rule = rule(
    "lost-events",
    Weight::Loss,
    "an event that the header of its chunk counts could not be read",
);
/// Something is its own ancestor, or lies too deep.
pub const CYCLE: Rule = rule(
    "cycle",
    Weight::Repair,
    "something is its own ancestor or lies too deep; made a root",
);
/// The anchor is missing.
pub const NO_ANCHOR: Rule = rule(
    "no-anchor",
    Weight::Loss,
    "there is no anchor, as aborted runs leave it; read without",
);
/// The anchor is damaged.
pub const DAMAGED_ANCHOR: Rule = rule(
    "damaged-anchor",
    Weight::Loss,
    "the anchor is cut or damaged; read without",
);
/// The global definitions are missing.
pub const NO_DEFINITIONS: Rule = rule(
    "no-definitions",
    Weight::Loss,
    "there are no global definitions, as aborted runs leave it; numbers stand for names",
);
/// The size of chunks was found by looking.
pub const CHUNK_SIZE: Rule = rule(
    "chunk-size",
    Weight::Repair,
    "the size of chunks is not known; found by looking for the next chunk",
);
/// A location is known by its files alone.
pub const UNDEFINED_LOCATION: Rule = rule(
    "undefined-location",
    Weight::Repair,
    "a location has files but no definition; its number stands for its name",
);
/// Files of locations that whole definitions do not name.
pub const STALE_FILES: Rule = rule(
    "stale-files",
    Weight::Loss,
    "a location has files, but the definitions are whole and do not name it; its files are left out",
);
/// Text that is not UTF-8.
pub const BAD_TEXT: Rule = rule(
    "bad-text",
    Weight::Repair,
    "text is not UTF-8; the odd bytes are replaced",
);
/// Text that is too long.
pub const LONG_TEXT: Rule = rule(
    "long-text",
    Weight::Loss,
    "text is longer than the limit, alone or all together; cut",
);
/// Lists that are too long together.
pub const LONG_LISTS: Rule = rule(
    "long-lists",
    Weight::Loss,
    "the ranks of all communicators together are more than the limit; left out",
);
/// Regions that several ranks define each for itself, equal in name, source file and line.
pub const UNIFIED_REGIONS: Rule = rule(
    "unified-regions",
    Weight::Note,
    "a region is defined more than once under one name; taken as one",
);
/// Attributes that no event follows.
pub const LOST_ATTRIBUTES: Rule = rule(
    "lost-attributes",
    Weight::Loss,
    "a chunk ends between attributes and their event; the attributes are left out",
);
/// An event has more arguments than can be kept.
pub const LONG_EVENT: Rule = rule(
    "long-event",
    Weight::Loss,
    "an event does not fit the columns; left out",
);
