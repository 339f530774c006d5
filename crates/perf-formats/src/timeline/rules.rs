//! Rules for the repairs and losses that the readers of all GPU recordings report.

crate::rule_table::rule_table! {
    TRUNCATED: Loss = "truncated",
        "the file ends within an event or before its last bracket; the events before are kept";
    DAMAGED: Loss = "damaged-gzip",
        "the compressed data are truncated or damaged; the part before is kept";
    /// A part of the text is not JSON.
    MALFORMED: Loss = "malformed-event",
        "a part of the text is not valid JSON; skipped up to the next event";
    LONG_EVENT: Loss = "long-event",
        "an event is longer than four times the limit for strings; skipped";
    LONG_NAME: Loss = "long-name",
        "a name exceeds the limit for strings; the event is kept without it";
    /// There are too many names.
    DEFINITIONS: Loss = "too-many-definitions",
        "the number of names exceeds the limit for definitions; the event is kept without its \
         name";
    /// Text is not UTF-8.
    ENCODING: Repair = "invalid-text",
        "a name or word contains invalid bytes or escapes; replaced, counted once for each text";
    COMMA: Ordinary = "comma",
        "a comma is missing or superfluous; read anyway";
    BAD_TIME: Loss = "invalid-time",
        "a time is not a finite number or is out of range; the event is skipped";
    NEGATIVE: Repair = "negative-duration",
        "an event ends before it begins; kept with length 0";
    OVERLAP: Note = "overlapping-calls",
        "calls of one thread overlap without nesting; kept on additional lanes";
    TRIMMED: Repair = "trimmed-call",
        "more calls of one thread overlap than there are lanes; the call is shortened to fit its \
         enclosing call";
    UNLINKED: Note = "unlinked-work",
        "device work has no launch with its correlation id on the host; kept without a link";
    FLOW: Ordinary = "loose-flow",
        "a flow has only one end or leads to no event; dropped";
    NO_BEGIN: Loss = "end-without-begin",
        "an end event has no begin event before it; skipped";
    NO_END: Repair = "begin-without-end",
        "a begin event has no end event; ended at the last event of its row";
    /// An end belongs to a call other than the innermost one.
    MISMATCH: Note = "crossed-end",
        "an end event does not name the innermost call; it ends the last call of its name";
    SHARED: Note = "shared-correlation",
        "calls of several processes have the correlation id of device work; linked to that of \
         the process that drives the device, or else to the last call before the work";
    CLOCKS: Note = "clocks-disagree",
        "a file begins more than 10 s after the first one or is from another host, and its times \
         are kept as recorded; or its clock is unknown in contrast to the others, and its begin \
         is aligned with theirs";
    RANK: Repair = "rank-taken",
        "two files have the same rank; the later one gets the next free rank";
    OUTLIER: Loss = "implausible-time",
        "the time of an event is 0 although the clock started long before, is at the end of the \
         64-bit range, or is more than a day and many times their spread away from all others; \
         skipped";
    SAME_FILE: Repair = "same-file",
        "a file has exactly the events of another one and names no other rank; counted once";
    /// Files of two ranks contain the same events.
    SAME_EVENTS: Note = "same-events",
        "a file has exactly the events of another one but names another rank; both are kept";
    BAD_VALUE: Loss = "invalid-value",
        "a value of a counter is not a finite number; dropped";
    ARGUMENTS: Ordinary = "dropped-arguments",
        "an event has arguments that are not supported; dropped";
}
