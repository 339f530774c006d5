//! Data of one file before the files of a recording are combined: a `Part` with its rows, counters
//! and names; pairing of begins and ends; removal of outliers.

pub(super) mod arguments;
pub(super) mod begin_end_pairs;
pub(super) mod counters;
pub(super) mod memory_budget;
pub(super) mod names;
pub(super) mod outliers;
pub(super) mod part;
pub(super) mod row;
