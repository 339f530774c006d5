//! Generators of traces, recordings and points, each from a few numbers and a seed.

pub mod clusters;
pub mod kineto;
pub mod many_ranks;
pub mod paraver;
pub mod planted;
pub mod random;
pub mod ring;
pub mod run_times;
