//! Composition of tracked regions: parts by program position, mixed call sites, splits and merges
//! of shared clusters, and unclustered bursts.

pub(super) mod mixture;
pub(super) mod regroup;
pub(super) mod shared_clusters;
pub(super) mod unclustered;
