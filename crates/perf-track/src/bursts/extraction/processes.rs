//! [`processes`]: process number of each location, by its rank or by the order of the recording.

use perf_core::{Definitions, LocationId, LocationKind, Members};
use std::collections::HashMap;

/// Returns the process number of each location: the rank of its process in the largest communicator
/// if all threads have such a rank, otherwise the index of the process in the recording.
pub(super) fn processes(definitions: &Definitions) -> Vec<u32> {
    let system = &definitions.system;
    // Threads of one process share its group. A thread outside of any process counts as a process.
    let own = |id: LocationId| match system.process(id) {
        Some(group) => group.index(),
        None => system.groups().len() + id.index(),
    };
    let mut ranks: HashMap<usize, u32> = HashMap::new();
    let all = definitions
        .comms
        .iter()
        .filter_map(|comm| match &comm.members {
            Members::Ranks(ranks) => Some(ranks),
            _ => None,
        });
    // Of several communicators of the same size, the first is used.
    if let Some(world) = all.rev().max_by_key(|ranks| ranks.len()) {
        for (rank, location) in world.iter().enumerate() {
            if let Some(location) = location {
                ranks.entry(own(*location)).or_insert(rank as u32);
            }
        }
    }
    let is_thread = |id: &LocationId| {
        let kind = system.location(*id).map(|location| location.kind);
        matches!(kind, Some(LocationKind::CpuThread | LocationKind::Unknown))
    };
    let has_all = system
        .location_ids()
        .filter(is_thread)
        .all(|id| ranks.contains_key(&own(id)));
    if !has_all {
        // In the order of the recording.
        let mut keys: Vec<usize> = system.location_ids().filter(is_thread).map(own).collect();
        keys.sort_unstable();
        keys.dedup();
        let numbered = keys.into_iter().enumerate();
        ranks = numbered.map(|(number, key)| (key, number as u32)).collect();
    }
    // Locations that are no threads count as rank 0.
    let number = |id| ranks.get(&own(id)).copied().unwrap_or_default();
    system.location_ids().map(number).collect()
}
