//! [`caller_text`]: text of a caller, with file and line; [`outside_text`]: text of a place between
//! parallel functions; [`processes`]: process number of each location.

use perf_core::{Definitions, LocationId, LocationKind, Members, RegionId};
use std::collections::HashMap;

/// Returns the text of a caller: its name, with its source file and line if they are known.
pub(super) fn caller_text(definitions: &Definitions, id: RegionId) -> String {
    let Some(region) = definitions.regions.get(id.index()) else {
        return definitions.region_name(id).into_owned();
    };
    match (&region.file, region.lines) {
        (Some(file), Some((line, _))) => format!("{} {file}:{line}", region.name),
        (Some(file), None) => format!("{} {file}", region.name),
        (None, Some((line, _))) => format!("{}:{line}", region.name),
        (None, None) => region.name.clone(),
    }
}

/// Position of a burst on a thread that executes no parallel function at the time.
pub(crate) const OUTSIDE: &str = "outside parallel functions";

/// Returns the text of the part of a thread between two parallel functions.
pub(super) fn outside_text(definitions: &Definitions, functions: [Option<RegionId>; 2]) -> String {
    let name = |id: RegionId| definitions.region_name(id).into_owned();
    match functions.map(|function| function.map(name)) {
        [Some(last), Some(next)] if last == next => format!("{OUTSIDE}, between calls of {next}"),
        [Some(last), Some(next)] => format!("{OUTSIDE}, between {last} and {next}"),
        [Some(last), None] => format!("{OUTSIDE}, after {last}"),
        [None, Some(next)] => format!("{OUTSIDE}, before {next}"),
        [None, None] => OUTSIDE.to_owned(),
    }
}

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
