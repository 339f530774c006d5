//! Tests of timelines: `fold`, `serve`, and windows of recordings.

#[cfg(feature = "serve")]
mod clocks;
mod fold_options;
#[cfg(feature = "serve")]
mod serve;
mod windows;
