//! Recognition of the state `Running` of Paraver recordings, which is a frame inside of the
//! function that computes, and [`function`]: the call path of that function.

use perf_core::{CallPathId, CallTree, Definitions, Paradigm, Region, RegionRole};

/// Name of the state in which a thread computes.
const RUNNING: &str = "Running";

/// Returns `true` for the state in which a thread computes.
pub(crate) fn is_running(region: &Region) -> bool {
    let is_state = (region.paradigm, region.role) == (Paradigm::User, RegionRole::Unknown);
    is_state && region.name == RUNNING
}

/// Returns `true` if the recording has states of threads.
pub(crate) fn has_states(definitions: &Definitions) -> bool {
    definitions.regions.iter().any(is_running)
}

/// Returns the call path of the function that computes in a call path: that around the state in which a thread
/// computes, `None` if there is none.
pub(crate) fn function(
    paths: &CallTree,
    definitions: &Definitions,
    path: CallPathId,
) -> Option<CallPathId> {
    let own = paths.get(path)?;
    let region = definitions.regions.get(own.region.index());
    if region.is_some_and(is_running) {
        own.parent
    } else {
        Some(path)
    }
}
