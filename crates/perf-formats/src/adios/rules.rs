//! Rules for parts of BP files that the reader skips or repairs.

crate::rule_table::rule_table! {
    HEADER: Loss = "damaged-header",
        "the header of an index of steps is truncated, and the file has no steps; or it, or the \
         footer of BP3, is damaged and was repaired";
    /// The footer of a BP3 file, or an index that all steps need, is missing.
    NO_FOOTER: Loss = "no-footer",
        "a BP3 file is truncated, damaged or was never closed, so the positions of its steps are \
         missing; the file is skipped";
    DAMAGED_INDEX: Loss = "damaged-index",
        "a part of the index of a BP3 file is damaged; the variable or attribute is skipped";
    /// The index or data of a step are incomplete.
    DAMAGED_STEP: Loss = "damaged-step",
        "a step is truncated or damaged; skipped";
    DAMAGED_TABLE: Loss = "damaged-table",
        "a part of a table is missing, truncated or damaged; the rest of the step is kept";
    /// A step of a file arrived after that step had been returned.
    LATE: Note = "late-step",
        "a file was late: its step ended after later steps of other files";
    UNFINISHED: Note = "unfinished-step",
        "the index ends within the record of a step that was being written; the step is dropped";
    UNCLOSED: Note = "unclosed",
        "the writer is active or was killed before it closed the file; the existing steps are \
         read";
    /// A file was not closed, and no data arrived.
    GIVEN_UP: Note = "given-up",
        "a file is still open for writing, but no data arrived within the waiting time; read as \
         complete";
    /// No attribute names the number of a timer, counter or event type.
    UNNAMED: Loss = "unnamed",
        "an event has a kind, timer or counter without a name; skipped";
    UNKNOWN_KIND: Loss = "unknown-kind",
        "an event has an unknown kind; skipped";
    /// Numbers of programs, ranks or threads are implausibly high.
    CORRUPT: Loss = "corrupt-event",
        "the program, rank, thread or time of an event is implausibly large; skipped";
    COUNT: Loss = "wrong-count",
        "a table has fewer rows than its count declares; the existing rows are kept";
    LEFTOVER: Note = "rows-beyond-count",
        "a table has more rows than its count declares; the excess rows are skipped";
    DEFINITIONS: Loss = "too-many-definitions",
        "the number of a name exceeds the limit for definitions; skipped";
    METADATA: Loss = "malformed-metadata",
        "a metadata attribute does not name a rank and a thread; skipped";
}
