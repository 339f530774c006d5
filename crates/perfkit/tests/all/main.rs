//! Tests of all crates together. They are one program, because each test program is linked
//! separately.

#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps fails where it should"
)]

mod books;
mod cancel;
mod correlation;
#[path = "common/linfa.rs"]
mod linfa;
#[path = "common/results.rs"]
mod results;
mod serial;
mod threads;
#[path = "common/work.rs"]
mod work;
