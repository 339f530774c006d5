//! Tests of all crates together. They are one program, because each test program is linked
//! separately.

#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps fails where it should"
)]

#[cfg(all(
    feature = "otf2",
    feature = "paraver",
    feature = "cube",
    feature = "tau",
    feature = "adios",
    feature = "fold",
    feature = "spectral",
    feature = "track",
    feature = "anomaly",
    feature = "chrome",
    feature = "streams",
    feature = "view"
))]
mod all_parts;
mod books;
mod correlation;
