//! Rules for repairs, losses and notes that the [`Diagnostics`](perf_core::Diagnostics) of TAU
//! profiles count.

use perf_core::{Rule, Weight};

const fn rule(name: &'static str, weight: Weight, what: &'static str) -> Rule {
    Rule { name, what, weight }
}

/// A value is negative.
pub const NEGATIVE: Rule = rule(
    "negative-value",
    Weight::Repair,
    "a value is negative; taken as 0, as ParaProf does",
);
/// A thread lacks the file of a metric.
pub const MISSING_FILE: Rule = rule(
    "missing-file",
    Weight::Loss,
    "a thread has no file for one of the metrics; its values of that are zero",
);
/// A metric has two names.
pub const METRIC_NAME: Rule = rule(
    "metric-name",
    Weight::Note,
    "a file calls its metric otherwise than its folder or the files before; the first name that \
     stands in a file counts, or that of the folder if another metric has that name",
);
/// User events are truncated.
pub const TRUNCATED_EVENTS: Rule = rule(
    "truncated-events",
    Weight::Loss,
    "a file ends within its user events; those before are kept",
);
/// Bytes follow the end.
pub const TRAILING: Rule = rule(
    "trailing-bytes",
    Weight::Note,
    "bytes follow the end of a packed profile; skipped",
);
/// User events are kept outside the profile.
pub const USER_EVENTS: Rule = rule(
    "user-events",
    Weight::Ordinary,
    "user events belong to no call path; kept beside the profile",
);
/// Call paths do not add up to their functions.
pub const UNCOVERED: Rule = rule(
    "uncovered-function",
    Weight::Note,
    "the call paths of a function are less than all of it; the rest is a root of its own",
);
/// Call paths lack their beginning.
pub const CUT_PATHS: Rule = rule(
    "cut-paths",
    Weight::Note,
    "call paths begin below the outermost function, as a limit of depth (TAU_CALLPATH_DEPTH) or phases cut \
     them; their values are of all callers together",
);
/// A function is listed twice.
pub const DUPLICATE: Rule = rule(
    "duplicate-function",
    Weight::Repair,
    "a thread has a function or call path twice; the values are added",
);
