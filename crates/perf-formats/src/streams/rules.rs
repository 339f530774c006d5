//! Rules for lines that the reader of streams skips or repairs.

crate::rule_table::rule_table! {
    MALFORMED: Loss = "malformed-line",
        "a line is not an event; skipped";
    LONG_LINE: Loss = "long-line",
        "a line is longer than the limit for strings; skipped";
    UNKNOWN_KIND: Loss = "unknown-kind",
        "an event has an unknown kind; skipped";
    STEP_BACK: Repair = "step-backwards",
        "an event belongs to an earlier step; moved to the current one";
    STEP_AHEAD: Repair = "step-ahead",
        "the step of an event is far ahead of its neighbours; moved to the current one";
    /// A late file, or a rank that follows others in its file, completed a step that others had already ended.
    LATE: Note = "late-event",
        "a rank was late: its step ended after later steps of other ranks";
    PACKED: Loss = "packed-file",
        "a compressed file in a followed folder cannot grow; skipped";
    ABSENT: Note = "absent-file",
        "a file did not appear within the waiting time";
    /// The first line does not determine the syntax.
    HEADER: Repair = "damaged-header",
        "the first line is damaged or truncated; the default columns are assumed";
    TRUNCATED: Loss = "truncated",
        "the compressed data are truncated or damaged; the part before is kept";
    UNFINISHED: Ordinary = "unfinished-line",
        "the last line has no line feed; read anyway";
    DEFINITIONS: Loss = "too-many-definitions",
        "a name exceeds the limit for definitions; skipped";
    TIME_JUMP: Repair = "time-jump",
        "a timestamp lies 10 s or more ahead of its neighbours; replaced by that of the previous \
         event";
    OUT_OF_ORDER: Repair = "out-of-order",
        "an event is earlier than the previous one of its thread; sorted by time";
}
