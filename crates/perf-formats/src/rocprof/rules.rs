//! Rules for skipped, repaired and dropped parts of rocprofv3 recordings.

pub use crate::timeline::rules::*;

crate::rule_table::rule_table! {
    SECTION: Loss = "other-section",
        "a record belongs to a section that is not supported, such as counters or samples; \
         dropped";
    NO_NAME: Repair = "no-name",
        "a kernel or operation has no name in the recording; its number replaces it";
    /// A copy names no GPU.
    NO_AGENT: Repair = "no-agent",
        "a copy names no GPU; kept as a call of the process instead of device work";
}
