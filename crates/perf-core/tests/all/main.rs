//! Tests of the nouns and of the algorithms on them, one program: each program is linked by itself.

#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps fails where it should"
)]

mod common;
mod intervals;
mod messages;
mod overlap;
mod profile;
mod profile_grids;
mod replay;
mod serde;
mod trace;
