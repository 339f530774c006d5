//! [`RankGroups`]: defines communicators for the process groups of collectives.

use super::part::Part;
use perf_core::{CommId, Communicator, Location, LocationId, Members};
use std::collections::HashMap;

/// Groups of ranks of all parts.
#[derive(Debug, Default)]
pub(super) struct RankGroups {
    known: HashMap<(String, String), CommId>,
    /// Ranks of each communicator with a complete list, in the order of the list.
    ranks: Vec<(CommId, Vec<u64>)>,
}

impl RankGroups {
    /// Returns the communicator of each group of a part. Groups that no other part has are added to `comms`.
    pub(super) fn of(&mut self, comms: &mut Vec<Communicator>, part: &Part) -> Vec<CommId> {
        let of = |group: &(String, String)| {
            if let Some(known) = self.known.get(group) {
                return *known;
            }
            let id = CommId(comms.len() as u32);
            comms.push(Communicator {
                name: format!("process group {}", group.0),
                ..Communicator::default()
            });
            let ranks = group.1.trim().trim_start_matches('[').trim_end_matches(']');
            let ranks = ranks.split(',').map(|rank| rank.trim().parse().ok());
            // Writers shorten long lists, which then do not parse; the members remain unknown.
            if let Some(ranks) = ranks.collect::<Option<Vec<u64>>>() {
                self.ranks.push((id, ranks));
            }
            self.known.insert(group.clone(), id);
            id
        };
        part.groups.iter().map(of).collect()
    }

    /// Sets the members of the communicators. The member for a rank is the first location of the rank.
    pub(super) fn find_members(self, comms: &mut [Communicator], locations: &[Location]) {
        let mut first: HashMap<u64, LocationId> = HashMap::new();
        for (id, location) in (0..).map(LocationId).zip(locations) {
            let rank = location.properties.get("rank");
            if let Some(rank) = rank.and_then(|rank| rank.parse().ok()) {
                first.entry(rank).or_insert(id);
            }
        }
        for (id, ranks) in self.ranks {
            if let Some(comm) = comms.get_mut(id.index()) {
                let members = ranks.iter().map(|rank| first.get(rank).copied());
                comm.members = Members::Ranks(members.collect());
            }
        }
    }
}
