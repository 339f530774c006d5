//! Tests of the detectors, of provenance and of the server in one program, which is linked only
//! once.

#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps fails where it should"
)]

mod calibration;
mod calls;
mod calls_laws;
mod common;
mod damage;
mod drift;
mod experience;
mod laws;
mod lost_time;
mod monitor;
mod naive;
mod oracle;
mod own;
mod power;
mod provenance;
mod replay;
mod scenarios;
mod server;
mod spans;
mod streams;
mod tables;
mod times;
