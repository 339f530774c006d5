//! [`Plan`]: bytes, root and communicator of each collective call of an exported trace, and the
//! communicators to write, from matched messages and collectives.

use super::event_types::Names;
use super::objects::tasks_of;
use crate::paraver::names;
use perf_core::{CommId, LocationId, Members, Messages, TraceView, UnmatchedCause};
use std::collections::{BTreeSet, HashMap};

/// Matched collectives of all locations.
#[derive(Debug)]
pub(super) struct Plan {
    /// Properties of the collective that begins with an event.
    pub(super) collectives: HashMap<(LocationId, usize), Facts>,
    /// Communicators with a single rank, with application and task of the rank.
    own: BTreeSet<(CommId, (u32, u32))>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    /// Bytes sent.
    pub(super) sent: u64,
    /// Bytes received.
    pub(super) received: u64,
    /// `true` on the root.
    pub(super) is_root: bool,
    /// Number of the communicator.
    pub(super) comm: u64,
}

impl Plan {
    pub(super) fn new(
        view: TraceView<'_>,
        messages: &Messages,
        tasks: &HashMap<LocationId, (u32, u32)>,
    ) -> Self {
        let comms = &view.definitions().comms;
        let mut plan = Plan {
            collectives: HashMap::new(),
            own: BTreeSet::new(),
        };
        for instance in &messages.collectives {
            let Some(comm) = comms.get(instance.comm.index()) else {
                continue;
            };
            let known = tasks_of(&comm.members, tasks);
            for member in &instance.members {
                let location = member.begin.location;
                let Some((application, task)) = tasks.get(&location).copied() else {
                    continue;
                };
                let number = match (&comm.members, &known) {
                    (Members::Own, _) => {
                        plan.own.insert((instance.comm, (application, task)));
                        own_number(comms.len(), instance.comm, task)
                    }
                    (_, Some(_)) => instance.comm.0 + 1,
                    _ => continue,
                };
                let root = instance.root.and_then(|root| {
                    let (_, tasks) = known.as_ref()?;
                    tasks.get(root as usize).copied()
                });
                let facts = Facts {
                    sent: member.sent,
                    received: member.received,
                    is_root: root == Some(task),
                    comm: number.into(),
                };
                let key = (location, member.begin.index);
                plan.collectives.insert(key, facts);
            }
        }
        plan
    }

    /// Returns the communicators to write: application, number and tasks.
    pub(super) fn communicators(
        &self,
        view: TraceView<'_>,
        tasks: &HashMap<LocationId, (u32, u32)>,
        names: &mut Names<'_>,
    ) -> Vec<(u32, u32, Vec<u32>)> {
        let comms = &view.definitions().comms;
        let mut all = Vec::new();
        for (index, comm) in (0_u32..).zip(comms) {
            if let Some((application, tasks)) = tasks_of(&comm.members, tasks) {
                all.push((application, index + 1, tasks));
            }
        }
        for (comm, (application, task)) in &self.own {
            let number = own_number(comms.len(), *comm, *task);
            all.push((*application, number, vec![*task]));
        }
        if !self.collectives.is_empty() {
            for kind in names::COLLECTIVE_FACTS {
                names.bare(kind);
            }
        }
        all
    }

    /// Returns `true` if a cause concerns collectives or one-sided accesses instead of messages.
    pub(super) fn is_collective(&self, cause: UnmatchedCause) -> bool {
        matches!(
            cause,
            UnmatchedCause::HalfCollective
                | UnmatchedCause::OtherCollective
                | UnmatchedCause::AccessNotComplete
                | UnmatchedCause::AccessNotStarted
        )
    }
}

/// Returns the number of a communicator with a single rank. These numbers follow those of all other communicators, one
/// for each task.
fn own_number(comms: usize, comm: CommId, task: u32) -> u32 {
    (comms as u32)
        .wrapping_add(comm.0.wrapping_mul(1 << 20))
        .wrapping_add(task)
}
