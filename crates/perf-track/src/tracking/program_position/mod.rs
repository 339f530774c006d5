//! Program positions of clusters: call sites, callers, functions, and positions in aligned sequences.

pub(super) mod aligned;
pub(super) mod call_sites;
pub(super) mod callers;
pub(super) mod code_position;
pub(super) mod context;
pub(super) mod occurrence;
pub(super) mod site_times;
