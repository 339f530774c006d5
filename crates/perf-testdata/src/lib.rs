//! Test support of perfkit: generated and bundled recordings, the corpus, damaged copies, golden
//! files, cancellation checks, a counting allocator and random numbers.
#![doc(html_root_url = "../")]

pub mod bundled;
pub mod cancel;
pub mod corpus;
pub mod damage;
mod generators;
#[cfg(feature = "golden")]
pub mod golden;
pub mod memory;
mod repeats;
pub mod xorshift;

pub use generators::{clusters, kineto, many_ranks, paraver, planted, random, ring, run_times};
pub use repeats::repeats;
