//! Algorithms on traces: replay, overlapping calls, message matching, profiles and windows of time.
//!
//! The other modules of this crate contain types and their invariants. This folder contains the
//! computations on them: replay of stack frames, message matching, the profile of a trace, and the
//! part of a trace within a window.

pub(crate) mod clip;
pub(crate) mod intervals;
pub(crate) mod messages;
pub(crate) mod overlap;
mod profile_estimate;
pub(crate) mod replay;
mod trace_profile;
