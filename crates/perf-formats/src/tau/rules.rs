//! Rules for repairs, losses and notes that the [`Diagnostics`](perf_core::Diagnostics) of TAU profiles count.

crate::rule_table::rule_table! {
    NEGATIVE: Repair = "negative-value",
        "a value is negative; set to 0, as ParaProf does";
    MISSING_FILE: Loss = "missing-file",
        "a thread has no file for one of the metrics; its values of that metric are zero";
    MISSING_RANK: Loss = "missing-rank",
        "a number of a node or thread below the largest one has no profile; its values are missing";
    METRIC_NAME: Note = "metric-name",
        "a file names its metric differently from its folder or from earlier files; the first \
         name in a file is used, or that of the folder if another metric has that name";
    TRUNCATED_EVENTS: Loss = "truncated-events",
        "a file ends within its user events; the complete ones are kept";
    TRAILING: Note = "trailing-bytes",
        "bytes follow the end of a packed profile; skipped";
    USER_EVENTS: Ordinary = "user-events",
        "user events belong to no call path; kept beside the profile";
    UNCOVERED: Note = "uncovered-function",
        "the call paths of a function add up to less than its total; the remainder becomes a \
         root call path";
    CUT_PATHS: Note = "cut-paths",
        "call paths begin below the outermost function because of a depth limit \
         (TAU_CALLPATH_DEPTH) or of phases; their values are sums over all callers";
    DUPLICATE: Repair = "duplicate-function",
        "a thread lists a function or call path twice; the values are added";
}
