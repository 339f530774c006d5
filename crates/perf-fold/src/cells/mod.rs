//! Cells of a fold: parameters, operations, counting, and the fold itself.

mod as_trace;
pub(crate) mod fold;
pub(crate) mod folder;
mod inner_loops;
pub(crate) mod operation;
pub(crate) mod params;
pub(crate) mod tally;
