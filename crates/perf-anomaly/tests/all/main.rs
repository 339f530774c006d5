//! Tests of the detectors, of provenance and of the server in one program, which is linked only
//! once.

#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps fails where it should"
)]

mod common;
mod detect;
mod differing_ranks;
mod lost_time;
mod monitor;
mod naive;
mod provenance;
mod server;
mod several_causes;
mod slow_groups;
mod slow_halves;
mod slow_phases;
mod slow_ranks;
mod spans;
mod stream;
mod tables;
mod waiting;
mod wide_modes;
