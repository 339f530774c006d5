//! Tests of clustering and its parameters.

mod dbscan;
mod eps;
mod hdbscan;
mod linfa;
mod modes;
mod one_axis;
mod peer;
mod refine_spmd;
mod search;
