//! Tests of the data model and its algorithms in one program, which is linked only once.

#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps fails where it should"
)]

mod algebra;
mod clip;
mod common;
mod intervals;
mod messages;
mod overlap;
mod profile;
mod profile_grids;
mod replay;
mod serde;
mod trace;
