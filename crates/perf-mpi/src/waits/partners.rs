//! [`Partners`]: finds the ranks that need a message, collective or window record of a location.

use perf_core::{Definitions, Event, LocationId, Members, Transfer};
use std::collections::{BTreeMap, BTreeSet};

/// Ranks of the analysis by the processes whose locations they hold.
#[derive(Debug)]
pub(super) struct Partners<'a> {
    definitions: &'a Definitions,
    /// Ranks that hold a location of the process of each location, ascending.
    of_process: Vec<Vec<u32>>,
    /// For each communicator, the ranks that hold a location of one of its processes or a location with a collective on
    /// it, ascending.
    of_comm: Vec<Vec<u32>>,
    /// For each location of this rank, the ranks with records of one of its windows, ascending.
    of_windows: BTreeMap<LocationId, Vec<u32>>,
}

impl<'a> Partners<'a> {
    /// Finds the ranks of all processes. `held` has the locations of each rank. `comms` has the communicators of the
    /// collectives of each rank; in damaged recordings a location may take part in a collective of a communicator to
    /// which it does not belong.
    pub(super) fn new(definitions: &'a Definitions, held: &[Vec<u32>], comms: &[Vec<u32>]) -> Self {
        let system = &definitions.system;
        let count = system.locations().len();
        let mut of_process = vec![Vec::new(); count];
        // A process is the locations of one group. Each location without a group is a process.
        let mut of_group = vec![Vec::new(); system.groups().len()];
        for (rank, locations) in (0..).zip(held) {
            for location in locations.iter().copied().map(LocationId) {
                let group = system
                    .process(location)
                    .and_then(|it| of_group.get_mut(it.index()));
                if let Some(ranks) = group.or(of_process.get_mut(location.index())) {
                    ranks.push(rank);
                }
            }
        }
        for (location, ranks) in (0..).map(LocationId).zip(&mut of_process) {
            if let Some(group) = system.process(location) {
                // Only damaged definitions name a group that does not exist.
                ranks.clone_from(of_group.get(group.index()).unwrap_or(&Vec::new()));
            }
            sort(ranks);
        }
        let ranks = |members: &Members| {
            let known: Vec<LocationId> = match members {
                Members::Ranks(ranks) => ranks.iter().flatten().copied().collect(),
                Members::Between(one, other) => {
                    one.iter().chain(other).flatten().copied().collect()
                }
                Members::Own | Members::Unknown => Vec::new(),
            };
            let of = known.iter().filter_map(|it| of_process.get(it.index()));
            of.flatten().copied().collect::<Vec<u32>>()
        };
        let of_comm = definitions.comms.iter().map(|comm| ranks(&comm.members));
        let mut of_comm: Vec<Vec<u32>> = of_comm.collect();
        for (rank, comms) in (0..).zip(comms) {
            for comm in comms {
                if let Some(ranks) = of_comm.get_mut(*comm as usize) {
                    ranks.push(rank);
                }
            }
        }
        of_comm.iter_mut().for_each(sort);
        Partners {
            definitions,
            of_comm,
            of_process,
            of_windows: BTreeMap::new(),
        }
    }

    /// Adds the windows of the locations of this rank, and those of the locations of each rank.
    pub(super) fn add_windows(
        &mut self,
        own: &BTreeMap<LocationId, BTreeSet<u32>>,
        all: &[Vec<u32>],
    ) {
        let all: Vec<BTreeSet<u32>> = all
            .iter()
            .map(|windows| windows.iter().copied().collect())
            .collect();
        for (location, windows) in own {
            let ranks = (0..).zip(&all).filter(|(_, it)| !it.is_disjoint(windows));
            let ranks = ranks.map(|(rank, _)| rank).collect();
            self.of_windows.insert(*location, ranks);
        }
    }

    /// Returns the ranks that need the window records of a location of this rank, ascending.
    pub(super) fn of_windows(&self, location: LocationId) -> &[u32] {
        self.of_windows.get(&location).map_or(&[], Vec::as_slice)
    }

    /// Returns the ranks that need an event of a location, ascending.
    pub(super) fn of(&self, location: LocationId, event: Event<'static>) -> Vec<u32> {
        match event {
            Event::Send(transfer) | Event::Recv(transfer) => self.of_message(location, transfer),
            Event::CollectiveEnd(collective) => self.of_comm(collective.comm.index()).to_vec(),
            _ => Vec::new(),
        }
    }

    /// Returns the ranks of both processes of a message. Messages are counted by process, so that ranks with other
    /// threads of the two processes need the message as well.
    fn of_message(&self, location: LocationId, transfer: Transfer) -> Vec<u32> {
        let comm = transfer.comm.index();
        let members = self.definitions.comms.get(comm).map(|it| &it.members);
        let peer = match members {
            Some(Members::Ranks(ranks)) => ranks.get(transfer.peer as usize).copied().flatten(),
            // In a communicator between two groups, all ranks of both groups get the message.
            _ => None,
        };
        let others = match peer {
            Some(peer) => self.of_location(peer),
            None => self.of_comm(comm),
        };
        let mut ranks = [self.of_location(location), others].concat();
        sort(&mut ranks);
        ranks
    }

    fn of_location(&self, location: LocationId) -> &[u32] {
        self.of_process
            .get(location.index())
            .map_or(&[], Vec::as_slice)
    }

    fn of_comm(&self, comm: usize) -> &[u32] {
        self.of_comm.get(comm).map_or(&[], Vec::as_slice)
    }
}

fn sort(ranks: &mut Vec<u32>) {
    ranks.sort_unstable();
    ranks.dedup();
}
