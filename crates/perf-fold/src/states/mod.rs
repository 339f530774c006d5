//! States of streams over time: classes, rules that assign them, and columns of transitions.

pub(crate) mod class;
mod overlap;
pub(crate) mod sampling;
pub(crate) mod state_map;
mod timeline_builder;
pub(crate) mod timelines;
