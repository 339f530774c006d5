//! Tests of readers and writers, in one program to save link time.

#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps fails where it should"
)]

mod adios;
mod chrome;
mod common;
mod cube;
mod nsys;
mod otf2;
mod paraver;
mod perfetto;
mod rocprof;
mod streams;
mod tau;
