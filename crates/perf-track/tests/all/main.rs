//! Tests of bursts, clusters, tracking and trends in one program, which is linked only once.

mod bursts;
mod bursts_metrics;
mod bursts_naive;
mod bursts_recorded;
mod cluster_dbscan;
mod cluster_eps;
mod cluster_hdbscan;
mod cluster_linfa;
mod cluster_modes;
mod cluster_one_axis;
mod cluster_peer;
mod cluster_search;
mod common;
mod constructed;
mod planted;
mod reference;
mod refine_spmd;
mod scale;
mod spmd;
mod tables;
mod time_balance;
mod track_epoch;
mod track_hold_out;
mod track_planted;
mod track_presence;
mod trend;
