//! Program positions of clusters and tracked regions: call sites, callers, calls around bursts,
//! functions, and columns of aligned sequences; also the part of the run in which a region occurs.

pub(super) mod aligned;
pub(super) mod call_sites;
pub(super) mod callers;
pub(super) mod code_position;
pub(super) mod context;
pub(super) mod occurrence;
pub(super) mod site_times;
