//! Rules for repairs, losses and notes that the [`Diagnostics`](perf_core::Diagnostics) of OTF2 archives count.

crate::rule_table::rule_table! {
    DUPLICATE_DEFINITION: Repair = "duplicate-definition",
        "an id is defined twice; the last definition is kept";
    FORWARD_REFERENCE: Ordinary = "forward-reference",
        "a definition refers to a later one";
    UNRESOLVED_DEFINITION: Repair = "unresolved-definition",
        "a definition refers to an undefined id; the reference is dropped";
    ABSENT_MEMBER: Note = "absent-member",
        "a communicator lists an undefined location; its rank has no location";
    CALLING_CONTEXT: Note = "calling-context",
        "an event enters or leaves a calling context; its region is kept, its context and unwind \
         distance are dropped";
    UNRESOLVED_ID: Repair = "unresolved-id",
        "an event refers to an undefined id; replaced by a placeholder";
    /// A record of a kind that this version does not know.
    UNKNOWN_RECORD: Note = "unknown-record",
        "a record has an unknown kind; its fields are skipped";
    DAMAGED_RECORD: Loss = "damaged-record",
        "the fields of a record do not fit its length; the record is dropped";
    /// A value of an enumeration that this version does not know.
    UNKNOWN_VALUE: Note = "unknown-value",
        "a value of an enumeration is unknown; kept as a number";
    DECLARED_EVENTS: Ordinary = "declared-events",
        "a location declares a wrong number of events";
    DECLARED_DEFINITIONS: Ordinary = "declared-definitions",
        "the anchor declares a wrong number of definitions";
    DECLARED_LOCATIONS: Note = "declared-locations",
        "the anchor declares a wrong number of locations";
    MISSING_EVENTS: Loss = "missing-events",
        "a location has no event file or an empty one; it counts as absent";
    MISSING_LOCAL: Note = "missing-local-definitions",
        "a location has no local definitions; its ids are read as global ids and its times are \
         not corrected";
    /// A local file contains definitions that belong into the global file.
    LOCAL_DEFINITION: Ordinary = "local-definition",
        "a local definition is neither a mapping table nor a clock offset; skipped";
    TIME_BACKWARDS: Repair = "time-backwards",
        "an event is earlier than the previous one of its location; moved to the latest time so \
         far";
    TIME_JUMP: Repair = "time-jump",
        "a timestamp lies far ahead of its neighbours; its events are moved to the previous \
         timestamp";
    CLOCK_OFFSETS: Repair = "clock-offsets",
        "clock offsets are not in order of time; those out of order are skipped";
    CLOCK: Repair = "clock",
        "the clock is undefined or has a resolution of 0; times are read as nanoseconds";
    OUTSIDE_CLOCK: Note = "outside-clock",
        "an event lies outside the time range of the clock properties";
    /// A file ends before its end mark.
    TRUNCATED: Loss = "truncated",
        "a file is truncated; the part before is kept";
    DAMAGED_CHUNK: Loss = "damaged-chunk",
        "a part of a chunk is damaged; skipped up to the next readable record";
    LOST_EVENTS: Loss = "lost-events",
        "an event is lost: its chunk has fewer readable events than its header declares";
    CYCLE: Repair = "cycle",
        "a definition is its own ancestor or is nested too deep; converted to a root";
    NO_ANCHOR: Loss = "no-anchor",
        "the anchor is missing, as after an aborted run; read without it";
    DAMAGED_ANCHOR: Loss = "damaged-anchor",
        "the anchor is truncated or damaged; read without it";
    NO_DEFINITIONS: Loss = "no-definitions",
        "the global definitions are missing, as after an aborted run; numbers replace names";
    CHUNK_SIZE: Repair = "chunk-size",
        "the chunk size is not declared; detected from the next chunk header";
    UNDEFINED_LOCATION: Repair = "undefined-location",
        "a location has files but no definition; its number replaces its name";
    STALE_FILES: Loss = "stale-files",
        "files belong to a location that the complete definitions do not contain; skipped";
    /// Text that is not UTF-8.
    BAD_TEXT: Repair = "bad-text",
        "a text is not UTF-8; invalid bytes are replaced";
    LONG_TEXT: Loss = "long-text",
        "a text exceeds the limit for one text or for all together; truncated";
    /// Lists whose total length exceeds the limit.
    LONG_LISTS: Loss = "long-lists",
        "the ranks of all communicators together exceed the limit; those of the communicator are \
         dropped";
    /// Several ranks define regions with equal name, source file and line.
    UNIFIED_REGIONS: Note = "unified-regions",
        "a region is defined several times under one name; the definitions are unified";
    LOST_ATTRIBUTES: Loss = "lost-attributes",
        "a chunk ends between attributes and their event; the attributes are dropped";
    LONG_EVENT: Loss = "long-event",
        "an event has more arguments than can be stored; dropped";
}
