//! Cells of a fold: parameters, operations, counts of states, inner loops, the fold itself, and its
//! conversion to a trace.

mod as_trace;
pub(crate) mod fold;
pub(crate) mod folder;
mod inner_loops;
pub(crate) mod operation;
pub(crate) mod params;
pub(crate) mod tally;
