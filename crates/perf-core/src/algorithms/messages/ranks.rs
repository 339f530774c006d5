//! Conversion between ranks of a communicator and locations.

use crate::{CommId, Definitions, LocationGroupId, LocationId, Members, SystemTree, WindowId};
use std::collections::HashMap;

/// Conversion between the ranks of a communicator and locations.
///
/// Threads share the rank of their process, so senders and receivers are processes. A location
/// outside of any process represents itself.
#[derive(Debug)]
pub(super) struct Ranks<'a> {
    /// Definitions of the trace.
    definitions: &'a Definitions,
    /// Processes of the first group of each inter-communicator.
    first_sides: HashMap<CommId, Vec<Process>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Process {
    /// Process of a location group.
    Group(LocationGroupId),
    /// Location outside of any process.
    Alone(LocationId),
}

pub(super) fn process(system: &SystemTree, location: LocationId) -> Process {
    match system.process(location) {
        Some(group) => Process::Group(group),
        None => Process::Alone(location),
    }
}

impl<'a> Ranks<'a> {
    pub(super) fn new(definitions: &'a Definitions) -> Self {
        let mut first_sides = HashMap::new();
        for (index, comm) in definitions.comms.iter().enumerate() {
            if let (Members::Between(first, _), Some(id)) =
                (&comm.members, CommId::from_index(index))
            {
                let known = first.iter().flatten();
                let mut side: Vec<Process> = known
                    .map(|location| process(&definitions.system, *location))
                    .collect();
                side.sort_unstable();
                first_sides.insert(id, side);
            }
        }
        Ranks {
            definitions,
            first_sides,
        }
    }

    pub(super) fn process(&self, location: LocationId) -> Process {
        process(&self.definitions.system, location)
    }

    /// Returns the location of `rank` in `comm` as seen from `from`, or `None` if the definitions
    /// do not contain it.
    pub(super) fn peer(&self, from: LocationId, comm: CommId, rank: u32) -> Option<LocationId> {
        let rank = rank as usize;
        match &self.definitions.comms.get(comm.index())?.members {
            Members::Ranks(ranks) => ranks.get(rank).copied().flatten(),
            Members::Own => (rank == 0).then_some(from),
            Members::Between(first, second) => {
                let side = self.first_sides.get(&comm)?;
                let in_first = side.binary_search(&self.process(from)).is_ok();
                let other = if in_first { second } else { first };
                other.get(rank).copied().flatten()
            }
            Members::Unknown => None,
        }
    }

    /// Returns the location of `rank` in a window as seen from `from`, or `None` if the definitions
    /// do not contain it.
    pub(super) fn remote(
        &self,
        from: LocationId,
        window: WindowId,
        rank: u32,
    ) -> Option<LocationId> {
        let comm = self.definitions.windows.get(window.index())?.comm?;
        self.peer(from, comm, rank)
    }

    /// Returns `true` if each location has its own instance of the communicator.
    pub(super) fn is_own(&self, comm: CommId) -> bool {
        let found = self.definitions.comms.get(comm.index());
        found.is_some_and(|comm| comm.members == Members::Own)
    }
}
