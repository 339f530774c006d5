//! [`Collectives`]: numbers the matched collective operations of a trace, and returns for the call
//! of each member the `args` in which PyTorch describes its own.

use crate::Result;
use perf_core::{
    Collective, CollectiveInstance, CollectiveOp, Definitions, EventId, Job, LocationId, Members,
    Messages,
};
use std::collections::HashMap;

/// Numbers of collective operations in their communicators, by the event of their end on each member.
#[derive(Debug, Default)]
pub(super) struct Collectives(HashMap<EventId, Place>);

/// Place of an operation on a member.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Number of the operation among those of its communicator.
    number: u64,
    /// Number of members.
    size: usize,
    is_root: bool,
}

impl Collectives {
    /// Numbers the matched operations with several members.
    pub(super) fn new(matched: &Messages, definitions: &Definitions, job: &Job) -> Result<Self> {
        let mut found = HashMap::new();
        let mut counts: HashMap<_, u64> = HashMap::new();
        let mut checks = job.checks();
        for instance in matched.collectives.iter().filter(|it| it.members.len() > 1) {
            checks.next(instance.members.len())?;
            let root = root(instance, definitions);
            let process = |of| definitions.system.process(of);
            let is_root = |of: LocationId| {
                let is_own =
                    |root| root == of || (process(of).is_some() && process(of) == process(root));
                root.is_some_and(is_own)
            };
            let count = counts.entry(instance.comm).or_default();
            for member in &instance.members {
                let Ok(index) = u32::try_from(member.end.index) else {
                    continue;
                };
                let location = member.end.location;
                let end = EventId { location, index };
                let place = Place {
                    number: *count,
                    size: instance.members.len(),
                    is_root: is_root(location),
                };
                found.insert(end, place);
            }
            *count += 1;
        }
        Ok(Collectives(found))
    }

    /// Returns `true` for the end of a matched operation.
    pub(super) fn contains(&self, end: EventId) -> bool {
        self.0.contains_key(&end)
    }

    /// Returns the arguments of a call with the end of an operation; `None` if it was not matched.
    pub(super) fn args(
        &self,
        end: EventId,
        own: &Collective,
    ) -> Option<Vec<(&'static str, String)>> {
        let place = self.0.get(&end)?;
        let name = name(own.op)?;
        let mut args = vec![
            ("Collective name", format!("\"{name}\"")),
            ("Process Group Name", format!("\"{}\"", own.comm.0)),
            ("Group size", place.size.to_string()),
            ("Seq", place.number.to_string()),
            ("In msg nelems", own.sent.to_string()),
            ("Out msg nelems", own.received.to_string()),
            ("dtype", "\"Byte\"".to_owned()),
        ];
        if place.is_root {
            args.push(("Is root", "1".to_owned()));
        }
        Some(args)
    }
}

/// Returns the location of the root of an operation.
fn root(instance: &CollectiveInstance, definitions: &Definitions) -> Option<LocationId> {
    let comm = definitions.comms.get(instance.comm.index())?;
    match &comm.members {
        Members::Ranks(ranks) => *ranks.get(instance.root? as usize)?,
        _ => None,
    }
}

/// Returns the name of an operation, which readers recognise; `None` for one without a name.
fn name(op: CollectiveOp) -> Option<&'static str> {
    Some(match op {
        CollectiveOp::Barrier => "barrier",
        CollectiveOp::Bcast => "broadcast",
        CollectiveOp::Gather => "gather",
        CollectiveOp::Gatherv => "gatherv",
        CollectiveOp::Scatter => "scatter",
        CollectiveOp::Scatterv => "scatterv",
        CollectiveOp::Allgather => "allgather",
        CollectiveOp::Allgatherv => "allgatherv",
        CollectiveOp::Alltoall => "alltoall",
        CollectiveOp::Alltoallv => "alltoallv",
        CollectiveOp::Alltoallw => "alltoallw",
        CollectiveOp::Allreduce => "allreduce",
        CollectiveOp::Reduce => "reduce",
        CollectiveOp::ReduceScatter => "reduce_scatter",
        CollectiveOp::Scan => "scan",
        CollectiveOp::Exscan => "exscan",
        _ => return None,
    })
}
