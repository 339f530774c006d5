//! Data of one file of a recording while it is read, before the files are combined: a `Part` with
//! its rows of calls, counters, names and outliers.

pub(super) mod arguments;
pub(super) mod begin_end_pairs;
pub(super) mod counters;
pub(super) mod memory_budget;
pub(super) mod names;
pub(super) mod outliers;
pub(super) mod part;
pub(super) mod row;
