//! Finds what is wrong with a parallel program from its recordings.
//!
//! This crate re-exports the others under nouns and adds nothing but [`open`]. Who embeds one
//! analysis depends on its crate alone; who explores depends on this one.
//!
//! | here | crate | what |
//! |---|---|---|
//! | [`core`] | `perf-core` | time, places, code, traces, profiles |
//! | [`formats`] | `perf-formats` | recordings in, core types out, and back |
//! | [`fold`] | `perf-fold` | folded timelines |

pub use perf_core as core;
#[cfg(feature = "fold")]
pub use perf_fold as fold;
pub use perf_formats as formats;
