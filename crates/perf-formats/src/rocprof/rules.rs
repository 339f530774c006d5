//! Rules for skipped, repaired and dropped parts of rocprofv3 recordings.

pub use crate::timeline::rules::*;
use perf_core::{Rule, Weight};

const fn rule(name: &'static str, weight: Weight, what: &'static str) -> Rule {
    Rule { name, what, weight }
}

/// A record belongs to an unsupported section.
pub const SECTION: Rule = rule(
    "other-section",
    Weight::Loss,
    "a record belongs to a section that is not supported, such as counters or samples; dropped",
);
/// A name is missing in the recording.
pub const NO_NAME: Rule = rule(
    "no-name",
    Weight::Repair,
    "a kernel or operation has no name in the recording; its number replaces it",
);
/// A copy names no GPU.
pub const NO_AGENT: Rule = rule(
    "no-agent",
    Weight::Repair,
    "a copy names no GPU; kept as a call of the process instead of device work",
);
