//! Tests of bursts, clusters, tracking and trends in one program, which is linked only once.

mod bursts;
mod cluster;
mod common;
mod constructed;
mod planted;
mod reference;
mod scale;
mod scaling;
mod spmd;
mod tables;
mod tracking;
mod trend;
mod versions;
