//! [`IdealNetwork::replay`]: calls to an [`ActivityGraph`](crate::graph::ActivityGraph) and its replay.

use super::{BroadcastRule, IdealNetwork};
use crate::activity::{Activities, CallCollective, CallId, CallKind, CallMessage};
use crate::graph::{ActivityId, GraphBuilder, Schedule};
use crate::{Error, Result};
use perf_core::{CollectiveOp, Job, LocationId, Nanos, Ticks};

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

/// Graph of bursts and calls: of each call the burst before it and its own activity, and of each location the burst
/// after its last call.
struct Network<'a> {
    rules: &'a IdealNetwork,
    activities: &'a Activities,
    graph: GraphBuilder,
    /// First activity of each location.
    bases: Vec<u32>,
}

impl IdealNetwork {
    /// Replays the calls of a trace on this network.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Nothing`] if the trace has no MPI calls, [`Error::Cycle`] with the place of the first call that
    /// waits for itself, and [`Error::Cancelled`] if the job is cancelled.
    pub fn replay(&self, activities: &Activities, job: &Job) -> Result<IdealRun> {
        let mut network = Network {
            rules: self,
            activities,
            graph: GraphBuilder::default(),
            bases: Vec::with_capacity(activities.locations().len()),
        };
        let mut run = network.bursts(job)?;
        if run.locations.is_empty() {
            return Err(Error::Nothing { what: "MPI calls" });
        }
        network.dependencies(job)?;
        let Network { graph, bases, .. } = network;
        let place = |activity: usize| {
            let after = bases.partition_point(|base| *base as usize <= activity);
            let location = LocationId::from_index(after.checked_sub(1)?)?;
            let offset = activity - *bases.get(location.index())? as usize;
            let index = u32::try_from(offset / 2).ok()?;
            activities.place(CallId { location, index })
        };
        let graph = graph.build(job).map_err(|error| match error {
            Error::Cycle {
                activity,
                stuck,
                count,
                ..
            } => Error::Cycle {
                activity,
                stuck,
                count,
                place: place(activity),
            },
            other => other,
        })?;
        let mut times = Schedule::default();
        graph.replay(graph.durations(), &mut times, job)?;
        run.runtime = times.length();
        for location in &run.locations {
            let own = activities.locations().get(location.index());
            let calls = own.map_or(0, |own| own.calls.len());
            let last = bases
                .get(location.index())
                .map(|base| *base as usize + 2 * calls);
            let end = last.and_then(|last| times.end.get(last)).copied();
            run.end.push(end.unwrap_or_default());
        }
        Ok(run)
    }
}

impl Network<'_> {
    /// Activity of the burst before a call, whose end is the entry of the call.
    fn entry(&self, call: CallId) -> Option<ActivityId> {
        let base = self.bases.get(call.location.index())?;
        Some(ActivityId(base.checked_add(call.index.checked_mul(2)?)?))
    }

    /// Activity of a call.
    fn exit(&self, call: CallId) -> Option<ActivityId> {
        self.entry(call).map(|ActivityId(id)| ActivityId(id + 1))
    }

    /// Adds the bursts and calls of all locations in program order (rules 1 and 2).
    fn bursts(&mut self, job: &Job) -> Result<IdealRun> {
        let clock = self.activities.clock();
        let start = self.activities.range().map_or(Ticks(0), |range| range.0);
        let length = |from: Ticks, to: Ticks| clock.total(u128::from(to.saturating_since(from)));
        let (mut run, mut checks, mut count) = (IdealRun::default(), job.checks(), 0_u32);
        for (location, own) in (0..).map(LocationId).zip(self.activities.locations()) {
            self.bases.push(count);
            let Some((_, last)) = own.range.filter(|_| !own.calls.is_empty()) else {
                continue;
            };
            let (mut from, mut before, mut computation) = (start, None, Nanos(0));
            for call in &own.calls {
                checks.next(1)?;
                let burst = length(from, call.enter);
                computation = computation.saturating_add(burst);
                let entry = self.graph.add(burst)?;
                let exit = self.graph.add(Nanos(0))?;
                if let Some(before) = before {
                    self.graph.depend(entry, before)?;
                }
                self.graph.depend(exit, entry)?;
                (from, before) = (call.leave, Some(exit));
            }
            let rest = length(from, last);
            let end = self.graph.add(rest)?;
            if let Some(before) = before {
                self.graph.depend(end, before)?;
            }
            count = end.0 + 1;
            run.locations.push(location);
            run.computation.push(computation.saturating_add(rest));
        }
        Ok(run)
    }

    fn dependencies(&mut self, job: &Job) -> Result<()> {
        let mut checks = job.checks();
        let activities = self.activities;
        for message in activities.messages() {
            checks.next(1)?;
            self.message(message)?;
        }
        for collective in activities.collectives() {
            checks.next(collective.members.len())?;
            self.collective(collective)?;
        }
        let everywhere = [
            (CallKind::Init, self.rules.init_is_barrier),
            (CallKind::Finalize, self.rules.finalize_is_barrier),
        ];
        for (kind, _) in everywhere.into_iter().filter(|it| it.1) {
            let calls = activities.calls().filter(|(_, call)| call.kind == kind);
            let exits: Vec<_> = calls.filter_map(|(id, _)| self.exit(id)).collect();
            self.graph.group(&exits)?;
        }
        Ok(())
    }

    /// Lets a receive wait for its send, and a rendezvous for its receive (rules 3 and 4).
    fn message(&mut self, message: &CallMessage) -> Result<()> {
        if let (Some(receive), Some(send)) = (self.exit(message.receive), self.entry(message.send))
        {
            self.graph.depend(receive, send)?;
        }
        if message.bytes >= self.rules.eager_limit
            && let Some(sent) = message.sent.and_then(|sent| self.exit(sent))
            && let Some(post) = self.entry(message.post)
        {
            self.graph.depend(sent, post)?;
        }
        Ok(())
    }

    /// Lets the members of a collective wait for each other (rule 5).
    fn collective(&mut self, collective: &CallCollective) -> Result<()> {
        let exits = collective
            .members
            .iter()
            .filter_map(|member| self.exit(member.call));
        let exits: Vec<_> = exits.collect();
        if collective.op == CollectiveOp::Bcast
            && self.rules.broadcast == BroadcastRule::Root
            && let Some(root) = collective
                .root
                .and_then(|root| collective.members.get(root))
            && let Some(root) = self.entry(root.call)
        {
            for exit in exits {
                self.graph.depend(exit, root)?;
            }
            return Ok(());
        }
        self.graph.group(&exits)
    }
}
