//! [`IdealNetwork::replay`]: replays the MPI calls of a trace on a network without latency and with
//! infinite bandwidth; [`IdealRun`]: the resulting times.

use super::{BroadcastRule, IdealNetwork};
use crate::Result;
use crate::activity::{Activities, CallCollective, CallKind};
use crate::graph::{ActivityId, ProgramGraph};
use perf_core::{CollectiveOp, Job, LocationId, Nanos};

/// Times of a run on an ideal network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct IdealRun {
    /// Run time `T*`.
    pub runtime: Nanos,
    /// Location of each process that takes part.
    pub locations: Vec<LocationId>,
    /// Sum of the bursts of each process.
    pub computation: Vec<Nanos>,
    /// End of each process.
    pub end: Vec<Nanos>,
}

impl IdealRun {
    /// Returns `u*`, the largest sum of bursts of a process.
    pub fn max_computation(&self) -> Nanos {
        self.computation.iter().copied().max().unwrap_or_default()
    }
}

impl IdealNetwork {
    /// Replays the calls of a trace on this network.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Nothing`](crate::Error::Nothing) if the trace has no MPI calls,
    /// [`Error::Cycle`](crate::Error::Cycle) with the place of the first call that waits for itself, and
    /// [`Error::Cancelled`](crate::Error::Cancelled) if the job is cancelled.
    pub fn replay(&self, activities: &Activities, job: &Job) -> Result<IdealRun> {
        let mut program = ProgramGraph::of(activities)?;
        self.depend(&mut program, job)?;
        let clock = activities.clock();
        let locations = program.locations.clone();
        let lasts: Vec<_> = locations.iter().map(|it| program.last(*it)).collect();
        let durations = program.bursts(job)?;
        let (graph, places) = program.build(&durations, job)?;
        let mut times = graph.sums(&durations);
        let runtime = graph.replay(&mut times, job)?;
        let computation = locations.iter().map(|location| {
            let bursts = places.bursts_of(activities, *location);
            let ticks = bursts.map(|(_, it)| u128::from(it.end.saturating_since(it.start)));
            clock.total(ticks.sum())
        });
        let end = |last: &Option<ActivityId>| {
            let place = last.map(|last| graph.place(last));
            let end = place.and_then(|place| times.get(place));
            end.copied().unwrap_or_default()
        };
        Ok(IdealRun {
            runtime,
            computation: computation.collect(),
            end: lasts.iter().map(end).collect(),
            locations,
        })
    }

    fn depend(&self, program: &mut ProgramGraph<'_>, job: &Job) -> Result<()> {
        let mut checks = job.checks();
        let activities = program.activities;
        // A receive waits for its send, and a rendezvous for its receive (rules 3 and 4).
        program.wait_for_entries(activities.messages(), job, |message| {
            let rendezvous = message.sent().filter(|_| message.bytes >= self.eager_limit);
            [
                Some((message.receive(), message.send())),
                rendezvous.map(|sent| (sent, message.post())),
            ]
        })?;
        for collective in activities.collectives() {
            checks.next(collective.members.len())?;
            self.collective(program, collective)?;
        }
        // Calls on windows wait for those of other ranks.
        for link in activities.links() {
            checks.next(1)?;
            if !activities.kind(link.call).is_local() {
                program.wait_for_entry(link.call, link.on)?;
            }
        }
        let everywhere = [
            (CallKind::Init, self.init_is_barrier),
            (CallKind::Finalize, self.finalize_is_barrier),
        ];
        for (kind, _) in everywhere.into_iter().filter(|it| it.1) {
            let calls = activities.calls().filter(|(_, call)| call.kind == kind);
            program.together(calls.map(|(id, _)| id))?;
        }
        Ok(())
    }

    /// Lets the members of a collective wait for each other (rule 5).
    fn collective(&self, program: &mut ProgramGraph<'_>, of: &CallCollective) -> Result<()> {
        let calls = of.members.iter().map(|member| member.call);
        let root = of.root.and_then(|root| of.members.get(root));
        match root.filter(|_| of.op == CollectiveOp::Bcast && self.broadcast == BroadcastRule::Root)
        {
            Some(root) => {
                for call in calls {
                    program.wait_for_entry(call, root.call)?;
                }
                Ok(())
            }
            None => program.together(calls).map(|_| ()),
        }
    }
}
