//! Collective operations.

use super::ranks::Ranks;
use super::{Endpoint, Messages, Unmatched, UnmatchedCause};
use crate::{Collective, CollectiveOp, CommId, Event, LocationId};
use std::collections::{BTreeMap, HashMap};

/// What one rank did in a collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CollectiveMember {
    /// Where it began, or was started.
    pub begin: Endpoint,
    /// Where it ended.
    pub end: Endpoint,
    /// Bytes this rank sent.
    pub sent: u64,
    /// Bytes this rank received.
    pub received: u64,
}

/// One collective operation with all ranks that recorded it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectiveInstance {
    /// What was done, as the first member has it.
    pub op: CollectiveOp,
    /// The communicator.
    pub comm: CommId,
    /// The root's rank, where there is one.
    pub root: Option<u32>,
    /// The ranks that recorded it, by location.
    pub members: Vec<CollectiveMember>,
}

/// The n-th of a communicator; a communicator that each location has to itself counts apart on each.
type Key = (CommId, Option<LocationId>, usize);

#[derive(Debug, Default)]
pub(super) struct Collectives {
    instances: BTreeMap<Key, CollectiveInstance>,
    unmatched: Vec<Unmatched>,
    begun: Option<Endpoint>,
    posted: HashMap<u64, Endpoint>,
    /// What ended on this location, to be numbered in order of its begin.
    ended: Vec<(CommId, Option<LocationId>, CollectiveMember, Collective)>,
}

impl Collectives {
    pub(super) fn start(&mut self) {
        self.begun = None;
        self.posted.clear();
    }

    pub(super) fn event(&mut self, at: Endpoint, event: Event<'_>, ranks: &Ranks<'_>) {
        match event {
            Event::CollectiveBegin => {
                if let Some(earlier) = self.begun.replace(at) {
                    self.lose(earlier);
                }
            }
            Event::CollectivePost { request } => {
                if let Some(earlier) = self.posted.insert(request, at) {
                    self.lose(earlier);
                }
            }
            Event::CollectiveEnd(collective) => {
                let begin = match collective.request {
                    Some(request) => self.posted.remove(&request),
                    None => self.begun.take(),
                };
                let Some(begin) = begin else {
                    self.lose(at);
                    return;
                };
                let owner = ranks.is_own(collective.comm).then_some(at.location);
                let Collective { sent, received, .. } = collective;
                let member = CollectiveMember {
                    begin,
                    end: at,
                    sent,
                    received,
                };
                self.ended
                    .push((collective.comm, owner, member, collective));
            }
            _ => {}
        }
    }

    pub(super) fn finish(&mut self) {
        let begun = self.begun.take();
        let posted = std::mem::take(&mut self.posted);
        for end in begun.into_iter().chain(posted.into_values()) {
            self.lose(end);
        }
        self.ended
            .sort_unstable_by_key(|(_, _, member, _)| member.begin);
        let mut numbers: HashMap<CommId, usize> = HashMap::new();
        for (comm, owner, member, collective) in self.ended.drain(..) {
            let number = numbers.entry(comm).or_default();
            let instance = self.instances.entry((comm, owner, *number));
            *number += 1;
            let new = || CollectiveInstance {
                op: collective.op,
                comm,
                root: collective.root,
                members: Vec::new(),
            };
            instance.or_insert_with(new).members.push(member);
        }
    }

    fn lose(&mut self, end: Endpoint) {
        let cause = UnmatchedCause::HalfCollective;
        self.unmatched.push(Unmatched {
            end,
            cause,
            peer: None,
        });
    }

    pub(super) fn gather(mut self, found: &mut Messages) {
        found.collectives = self.instances.into_values().collect();
        found
            .collectives
            .sort_by_key(|instance| instance.members.iter().map(|member| member.begin).min());
        found.unmatched.append(&mut self.unmatched);
    }
}
