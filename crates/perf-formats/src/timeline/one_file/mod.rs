//! Calls, counters and names of one file of a recording, before the files are combined.

pub(super) mod arguments;
pub(super) mod begin_end_pairs;
pub(super) mod counters;
pub(super) mod memory_budget;
pub(super) mod names;
pub(super) mod outliers;
pub(super) mod part;
pub(super) mod row;
