//! Types of the definitions of a recording and their ids: machine, functions, call paths, metrics
//! and communicators; [`Definitions`](crate::Definitions) in `trace` contains them.
//!
//! Events and severities refer to definitions by id. OTF2, whose term this is, stores them apart from events in the same
//! way.

pub(crate) mod call_path_index;
pub(crate) mod call_path_labels;
pub(crate) mod communicators;
pub(crate) mod glob;
pub(crate) mod ids;
pub(crate) mod metric;
pub(crate) mod properties;
pub(crate) mod regions;
pub(crate) mod system;
pub(crate) mod unify;
pub(crate) mod waiting_regions;
