//! Rules for skipped, repaired and dropped parts of rocprofv3 recordings.

pub use crate::timeline::rules::*;
use perf_core::{Rule, Weight};

const fn rule(name: &'static str, weight: Weight, what: &'static str) -> Rule {
    Rule { name, what, weight }
}

/// Records of unsupported sections.
pub const SECTION: Rule = rule(
    "other-section",
    Weight::Loss,
    "a record of a section of counters, samples or others that have no noun; not kept",
);
/// A name is missing in the recording.
pub const NO_NAME: Rule = rule(
    "no-name",
    Weight::Repair,
    "a kernel or operation is not among the names; called by its number",
);
/// A record does not identify its agent.
pub const NO_AGENT: Rule = rule(
    "no-agent",
    Weight::Repair,
    "a copy names no GPU; kept as a call of the process, not as work of a device",
);
