//! Tests of timelines, folds and devices in one program, which is linked only once.

#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps fails where it should"
)]

mod archives;
mod as_trace;
mod cells;
mod cosmo;
mod devices;
mod folders;
mod laws;
mod message_lines;
mod naive;
mod recorded_values;
mod tables;
mod without_states;
