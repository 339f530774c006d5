//! States of streams over time, from call stacks or recorded values: classes, rules that assign
//! them, columns of transitions, and their sampling.

mod call_stack;
pub(crate) mod class;
mod overlap;
mod recorded_values;
pub(crate) mod sampling;
pub(crate) mod state_map;
pub(crate) mod timeline_builder;
pub(crate) mod timelines;
