//! What the reader of rocprofv3 recordings skips, mends or leaves out.

pub use crate::timeline::rules::*;
use perf_core::{Rule, Weight};

const fn rule(name: &'static str, weight: Weight, what: &'static str) -> Rule {
    Rule { name, what, weight }
}

/// Records of sections without a noun.
pub const SECTION: Rule = rule(
    "other-section",
    Weight::Loss,
    "a record of a section of counters, samples or others that have no noun; not kept",
);
/// A name that the recording does not tell.
pub const NO_NAME: Rule = rule(
    "no-name",
    Weight::Repair,
    "a kernel or operation is not among the names; called by its number",
);
/// A record without what says where it ran.
pub const NO_AGENT: Rule = rule(
    "no-agent",
    Weight::Repair,
    "a copy names no GPU; kept as a call of the process, not as work of a device",
);
