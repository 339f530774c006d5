//! [`Ranks`]: finds the location of a rank of a communicator or window, and the [`Process`] of a
//! location.

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
    /// Process of each location.
    processes: Vec<Process>,
    /// Processes of the first group of each inter-communicator.
    first_sides: HashMap<CommId, Vec<Process>>,
    /// Number of processes.
    count: usize,
}

/// Process by its number: a location group, or a location outside of any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Process(u32);

impl Process {
    /// Returns the number of the process, which is below [`Ranks::count`].
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Returns the process of each location, and the number of processes.
fn processes(system: &SystemTree) -> (Vec<Process>, usize) {
    let mut groups: HashMap<LocationGroupId, Process> = HashMap::new();
    let mut count = 0;
    let mut next = || {
        count += 1;
        Process(count - 1)
    };
    let processes = system.location_ids().map(|id| match system.process(id) {
        Some(group) => *groups.entry(group).or_insert_with(&mut next),
        None => next(),
    });
    (processes.collect(), count as usize)
}

impl<'a> Ranks<'a> {
    pub(super) fn new(definitions: &'a Definitions) -> Self {
        let (processes, count) = processes(&definitions.system);
        let mut ranks = Ranks {
            definitions,
            processes,
            first_sides: HashMap::new(),
            count,
        };
        for (index, comm) in definitions.comms.iter().enumerate() {
            if let (Members::Between(first, _), Some(id)) =
                (&comm.members, CommId::from_index(index))
            {
                let known = first.iter().flatten();
                let mut side: Vec<Process> = known
                    .filter_map(|location| ranks.process(*location))
                    .collect();
                side.sort_unstable();
                ranks.first_sides.insert(id, side);
            }
        }
        ranks
    }

    /// Returns the number of processes.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Returns the process of a location, or `None` if the definitions do not contain the location.
    pub(super) fn process(&self, location: LocationId) -> Option<Process> {
        self.processes.get(location.index()).copied()
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
                let in_first = side.binary_search(&self.process(from)?).is_ok();
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
