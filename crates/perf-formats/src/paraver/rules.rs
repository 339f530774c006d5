//! Rules for repairs, losses and notes of reading and writing Paraver traces.

crate::rule_table::rule_table! {
    BAD_LINE: Loss = "bad-line",
        "a line is not a valid record; skipped";
    UNTERMINATED: Repair = "unterminated-line",
        "the last line has no newline; kept, but its last number may be truncated";
    CUT_OFF: Loss = "cut-off",
        "the trace ends inside a record or inside compressed data; read as far as it goes";
    ENDS_EARLY: Note = "ends-early",
        "the last record ends before the time in the header";
    UNKNOWN_OBJECT: Loss = "unknown-object",
        "a record refers to an application, task or thread that the header does not declare; \
         dropped";
    OUT_OF_ORDER: Repair = "out-of-order",
        "a record is earlier than the previous one of its thread; sorted by time";
    TIME_JUMP: Repair = "time-jump",
        "a timestamp lies beyond twice the duration in the header; replaced by that of the \
         previous record, of the next one for the end of a state, or by the other timestamp of \
         the same end of a message";
    BEYOND_DURATION: Note = "beyond-duration",
        "a record lies beyond the duration in the header; kept";
    NEGATIVE_STATE: Repair = "negative-state",
        "a state ends before it begins; its length is set to 0";
    OVERLAPPING_STATE: Repair = "overlapping-state",
        "a state begins before the previous one of its thread ends; the previous one is shortened";
    GLOBAL: Note = "global-communication",
        "a line has type 4 (global communication of old traces), which is not supported; skipped";
    NO_PCF: Note = "missing-pcf",
        "the .pcf file of the trace is missing; default names are used";
    NO_ROW: Note = "missing-row",
        "the .row file of the trace is missing; default names are used";
    STRANGE_LINE: Note = "strange-line",
        "a line of a .pcf or .row file does not fit its section; kept as text";
    /// A thread migrated to another CPU.
    CPU_CHANGED: Ordinary = "cpu-changed",
        "a thread migrated to another CPU; its CPU is not kept";
    /// A state begins inside an MPI call.
    STATE_IN_CALL: Ordinary = "state-in-call",
        "a state lies inside an MPI call; only the call is kept";
    TOO_DEEP: Loss = "deep-function",
        "a user function is nested deeper than the limit; its frame is dropped";
    TAG: Repair = "wide-tag",
        "a message tag does not fit 32 unsigned bits; its low 32 bits are kept";
    SIGN: Repair = "mixed-sign",
        "a counter has negative values and values above the signed range; the latter are read as \
         negative";
    UNKNOWN_MEMBER: Note = "unknown-member",
        "a communicator lists a task that the header does not declare; its rank has no location";
    DUPLICATE_COMM: Repair = "duplicate-communicator",
        "a communicator is defined twice; the last definition is kept";
    NAMES: Loss = "too-long-names",
        "names of functions exceed the memory of 256 strings of maximum length; numbers replace \
         further names";
    NOT_WRITTEN: Loss = "not-written",
        "an event has no counterpart in Paraver; dropped";
    UNMATCHED: Loss = "unmatched",
        "a send or receive has no partner; dropped, because Paraver requires both ends of a \
         message";
    FRACTION: Repair = "fraction",
        "a value is not an integer; rounded";
    /// Writing: a frame is inside an MPI call.
    NESTED_IN_CALL: Note = "frame-in-call",
        "a region was entered inside an MPI call; Paraver displays the call on top of it";
    /// Writing: Paraver has no unit for the resolution of the clock.
    CLOCK: Note = "clock",
        "the clock does not tick in ns, us or ms; times are rounded down to ns";
}
