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
    "a value is negative; set to 0, as ParaProf does",
);
/// A thread lacks the file of a metric.
pub const MISSING_FILE: Rule = rule(
    "missing-file",
    Weight::Loss,
    "a thread has no file for one of the metrics; its values of that metric are zero",
);
/// A metric has two names.
pub const METRIC_NAME: Rule = rule(
    "metric-name",
    Weight::Note,
    "a file names its metric differently from its folder or from earlier files; the first name \
     in a file is used, or that of the folder if another metric has that name",
);
/// User events are truncated.
pub const TRUNCATED_EVENTS: Rule = rule(
    "truncated-events",
    Weight::Loss,
    "a file ends within its user events; the complete ones are kept",
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
    "the call paths of a function add up to less than its total; the remainder becomes a root \
     call path",
);
/// Call paths lack their beginning.
pub const CUT_PATHS: Rule = rule(
    "cut-paths",
    Weight::Note,
    "call paths begin below the outermost function because of a depth limit \
     (TAU_CALLPATH_DEPTH) or of phases; their values are sums over all callers",
);
/// A function is listed twice.
pub const DUPLICATE: Rule = rule(
    "duplicate-function",
    Weight::Repair,
    "a thread lists a function or call path twice; the values are added",
);
