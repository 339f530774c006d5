//! [`ProgramGraph`]: builds the graph of the bursts and calls of a trace with the dependencies that
//! are added; [`Places`]: their activities in it.

use super::{ActivityId, ChainGraph, Durations};
use crate::activity::{Activities, Call, CallId, CallMessage};
use crate::search::up_to;
use crate::{Error, Result};
use perf_core::{Job, LocationId, LocationKind, Ticks, parallel};
use std::collections::HashMap;

/// Messages of a task.
const TASK: usize = 1 << 14;

/// Activities of the MPI calls of a trace: of each call the burst before it and its own activity, and of each location
/// the burst after its last call.
pub(crate) struct ProgramGraph<'a> {
    pub(crate) activities: &'a Activities,
    places: Places,
    /// Locations with calls.
    pub(crate) locations: Vec<LocationId>,
    /// `true` for each stream of an accelerator without dependencies, whose durations are 0: it would last as long as
    /// recorded although the host that starts its work is faster.
    unlinked: Vec<bool>,
    /// Number of activities of all locations. Those at which calls meet come after them.
    own: u32,
    /// Number of activities.
    count: u32,
    /// Dependencies beyond the order of a location, as (activity, the one it depends on).
    edges: Vec<(u32, u32)>,
}

/// Time between two calls of a location, or before the first or after the last one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Burst {
    pub(crate) location: LocationId,
    /// Call after the burst; `None` for the last one.
    pub(crate) before: Option<CallId>,
    pub(crate) start: Ticks,
    pub(crate) end: Ticks,
}

impl<'a> ProgramGraph<'a> {
    /// Adds the bursts and calls of each location, from the first event of the trace to the last one of the location.
    pub(crate) fn of(activities: &'a Activities) -> Result<Self> {
        let mut program = ProgramGraph {
            activities,
            places: Places(Vec::with_capacity(activities.locations().len())),
            locations: Vec::new(),
            unlinked: unlinked_streams(activities),
            own: 0,
            count: 0,
            edges: Vec::new(),
        };
        for (location, own) in (0..).map(LocationId).zip(activities.locations()) {
            program.places.0.push(program.count);
            if own.calls.is_empty() || own.range.is_none() {
                continue;
            }
            program.add(own.calls.len().saturating_mul(2).saturating_add(1))?;
            program.locations.push(location);
        }
        program.own = program.count;
        if program.locations.is_empty() {
            return Err(Error::Nothing { what: "MPI calls" });
        }
        let members = activities.collectives().iter().map(|it| it.members.len());
        let others = activities.messages().len() + activities.links().len();
        program.edges.reserve(others + 2 * members.sum::<usize>());
        Ok(program)
    }

    /// Adds activities, and returns the first of them.
    fn add(&mut self, count: usize) -> Result<ActivityId> {
        let first = ActivityId(self.count);
        let count = u32::try_from(count).ok();
        let count = count.and_then(|count| self.count.checked_add(count));
        self.count = count.ok_or(Error::TooMany {
            what: "activities",
            limit: u64::from(u32::MAX),
        })?;
        Ok(first)
    }

    /// Lets `activity` begin no earlier than `before` ends.
    pub(crate) fn depend(&mut self, activity: ActivityId, before: ActivityId) -> Result<()> {
        let edge = self.edge(activity, before)?;
        self.edges.push(edge);
        Ok(())
    }

    /// Returns a dependency of an activity on one before it.
    fn edge(&self, activity: ActivityId, before: ActivityId) -> Result<(u32, u32)> {
        let unknown = [activity, before].into_iter().find(|it| it.0 >= self.count);
        if let Some(unknown) = unknown {
            return Err(Error::UnknownActivity {
                activity: unknown.index(),
                count: self.count as usize,
            });
        }
        Ok((activity.0, before.0))
    }

    /// Activity of the burst before a call, whose end is the enter of the call.
    pub(crate) fn entry(&self, call: CallId) -> Option<ActivityId> {
        let base = self.places.0.get(call.location.index())?;
        Some(ActivityId(base.checked_add(call.index.checked_mul(2)?)?))
    }

    /// Activity of a call, whose end is the leave of the call.
    pub(crate) fn exit(&self, call: CallId) -> Option<ActivityId> {
        self.entry(call).map(|ActivityId(id)| ActivityId(id + 1))
    }

    /// Activity of the burst after the last call of a location.
    pub(crate) fn last(&self, location: LocationId) -> Option<ActivityId> {
        let calls = self
            .activities
            .locations()
            .get(location.index())?
            .calls
            .len();
        self.entry(CallId {
            location,
            index: u32::try_from(calls).ok()?,
        })
    }

    /// Lets the call `call` end no earlier than `other` is entered.
    pub(crate) fn wait_for_entry(&mut self, call: CallId, other: CallId) -> Result<()> {
        match (self.exit(call), self.entry(other)) {
            (Some(call), Some(other)) => self.depend(call, other),
            _ => Ok(()),
        }
    }

    /// Lets calls end no earlier than others are entered, up to two pairs of calls for each message.
    pub(crate) fn wait_for_entries(
        &mut self,
        messages: &[CallMessage],
        job: &Job,
        pairs: impl Fn(&CallMessage) -> [Option<(CallId, CallId)>; 2] + Sync,
    ) -> Result<()> {
        let this = &*self;
        let parts = parallel::try_map(parallel::chunk_count(messages.len(), TASK), |number| {
            job.check()?;
            let own = &messages[parallel::chunk(messages.len(), TASK, number)];
            let mut edges = Vec::with_capacity(own.len());
            for (call, other) in own.iter().flat_map(|it| pairs(it).into_iter().flatten()) {
                if let (Some(call), Some(other)) = (this.exit(call), this.entry(other)) {
                    edges.push(this.edge(call, other)?);
                }
            }
            Ok::<_, Error>(edges)
        })?;
        for edges in parts {
            self.edges.extend(edges);
        }
        Ok(())
    }

    /// Lets these calls end no earlier than all of them are entered. Returns the activity at which they meet.
    pub(crate) fn together(&mut self, calls: impl Iterator<Item = CallId>) -> Result<ActivityId> {
        // No group: a call may contain several collectives.
        let meeting = self.add(1)?;
        for call in calls {
            if let (Some(entry), Some(exit)) = (self.entry(call), self.exit(call)) {
                self.depend(meeting, entry)?;
                self.depend(exit, meeting)?;
            }
        }
        Ok(meeting)
    }

    /// Returns the recorded durations of all activities. Those of bursts are differences of rounded times, so that
    /// rounding does not add up. Calls and meetings take no time.
    pub(crate) fn bursts(&self, job: &Job) -> Result<Durations> {
        self.durations(false, job)
    }

    /// Returns the durations of bursts, and those of calls as well or none.
    fn durations(&self, with_calls: bool, job: &Job) -> Result<Durations> {
        let nanos = self.activities.since_begin();
        let mut durations = Durations::zero(self.count as usize);
        durations.fill_parts(&self.places.0, job, |number, part| {
            if self.unlinked.get(number) == Some(&true) {
                return;
            }
            let location = LocationId::from_index(number);
            let bursts = location.map(|it| self.places.bursts_of(self.activities, it));
            for ((_, burst), number) in bursts.into_iter().flatten().zip(0..) {
                part.set(
                    2 * number,
                    nanos(burst.end).saturating_sub(nanos(burst.start)),
                );
            }
            let own = self
                .activities
                .locations()
                .get(number)
                .filter(|_| with_calls);
            for (call, number) in own.iter().flat_map(|own| &own.calls).zip(0..) {
                let time = nanos(call.leave).saturating_sub(nanos(call.enter));
                part.set(2 * number + 1, time);
            }
        })?;
        Ok(durations)
    }

    /// Returns the recorded durations of all activities. That of a call begins when all that it waits for has happened.
    /// `meetings` are the activities at which calls meet, with their times.
    pub(crate) fn recorded(
        &self,
        meetings: &[(ActivityId, Ticks)],
        job: &Job,
    ) -> Result<Durations> {
        let nanos = self.activities.since_begin();
        let mut durations = self.durations(true, job)?;
        let meetings: HashMap<ActivityId, Ticks> = meetings.iter().copied().collect();
        let count = parallel::chunk_count(self.edges.len(), TASK);
        let parts = parallel::try_map(count, |number| {
            job.check()?;
            let own = &self.edges[parallel::chunk(self.edges.len(), TASK, number)];
            let after = |(id, before): &(u32, u32)| {
                let (id, before) = (ActivityId(*id), ActivityId(*before));
                let call = self.call(id)?.0;
                // A meeting without a time counts from tick 0.
                let at = match self.call(before) {
                    Some((before, true)) => before.leave,
                    Some((before, false)) => before.enter,
                    None => meetings.get(&before).copied().unwrap_or_default(),
                };
                Some((id, nanos(call.leave).saturating_sub(nanos(at))))
            };
            Ok::<Vec<_>, Error>(own.iter().filter_map(after).collect())
        })?;
        for (id, own) in parts.into_iter().flatten() {
            durations.set(id, own.min(durations.get(id)));
        }
        Ok(durations)
    }

    /// Returns the call of an activity, and `true` unless the activity is the burst before it.
    fn call(&self, id: ActivityId) -> Option<(&'a Call, bool)> {
        let (call, is_call) = self.places.call(id).filter(|_| id.0 < self.own)?;
        Some((self.activities.call(call)?, is_call))
    }

    /// Finds an order of replay with durations like these. The error about a cycle names the place of a call in it.
    pub(crate) fn build(self, durations: &Durations, job: &Job) -> Result<(ChainGraph, Places)> {
        let meetings = self.own..self.count;
        let firsts = self.places.0.iter().copied().chain(meetings);
        let graph = ChainGraph::new(durations, firsts, &self.edges, job)?;
        let graph = graph.map_err(|stuck| Error::Cycle {
            activity: stuck.activity as usize,
            stuck: stuck.count,
            count: self.count as usize,
            place: self
                .places
                .call(ActivityId(stuck.activity))
                .and_then(|(call, _)| self.activities.place(call)),
        })?;
        Ok((graph, self.places))
    }
}

/// Returns `true` for each stream of an accelerator that waits for nothing and that nothing waits for, and `false` for
/// all locations if the run would end earlier without them.
fn unlinked_streams(activities: &Activities) -> Vec<bool> {
    let system = &activities.definitions().system;
    let locations = (0..).map(LocationId).zip(activities.locations());
    let is_stream = |id| {
        let kind = system.location(id).map(|it| it.kind);
        kind == Some(LocationKind::AcceleratorStream)
    };
    let mut unlinked: Vec<bool> = locations.map(|(id, _)| is_stream(id)).collect();
    let links = activities.links().iter();
    let links = links.flat_map(|it| [it.call.location, it.on.location]);
    let members = activities.collectives().iter().flat_map(|it| &it.members);
    for id in links.chain(members.map(|it| it.call.location)) {
        if let Some(is_unlinked) = unlinked.get_mut(id.index()) {
            *is_unlinked = false;
        }
    }
    let end = activities.range().map(|range| range.1);
    let others = unlinked.iter().zip(activities.locations());
    let mut others = others.filter(|(is_unlinked, own)| !**is_unlinked && !own.calls.is_empty());
    if others.any(|(_, own)| own.range.map(|range| range.1) == end) {
        unlinked
    } else {
        vec![false; unlinked.len()]
    }
}

/// First activity of each location in a graph. Bursts and calls follow from it, and need no memory.
#[derive(Debug)]
pub(crate) struct Places(Vec<u32>);

impl Places {
    /// Returns the bursts of all locations with their activities, in the order of these.
    pub(crate) fn bursts<'a>(
        &'a self,
        activities: &'a Activities,
    ) -> impl Iterator<Item = (ActivityId, Burst)> + 'a {
        let locations = activities.locations().len();
        let locations = (0..locations).filter_map(LocationId::from_index);
        locations.flat_map(move |location| self.bursts_of(activities, location))
    }

    /// Returns the bursts of a location with their activities.
    pub(crate) fn bursts_of<'a>(
        &'a self,
        activities: &'a Activities,
        location: LocationId,
    ) -> impl Iterator<Item = (ActivityId, Burst)> + 'a {
        let begin = activities.range().map_or(Ticks(0), |range| range.0);
        let own = activities.locations().get(location.index());
        let own = own.filter(|own| !own.calls.is_empty());
        // A location without activities begins with activity 0.
        let base = self.0.get(location.index()).copied().unwrap_or_default();
        let last = own.and_then(|own| own.range).map(|range| range.1);
        let calls = own.map_or(&[][..], |own| own.calls.as_slice());
        let calls = calls.iter().map(Some).chain(own.map(|_| None)).zip(0..);
        let mut start = begin;
        calls.map(move |(call, index)| {
            let end = call.map_or(last.unwrap_or(start), |call| call.enter);
            let burst = Burst {
                location,
                before: call.map(|_| CallId { location, index }),
                start,
                end,
            };
            start = call.map_or(start, |call| call.leave);
            (ActivityId(base + 2 * index), burst)
        })
    }

    /// Returns the calls of all locations with their activities, in the order of these.
    pub(crate) fn calls<'a>(
        &'a self,
        activities: &'a Activities,
    ) -> impl Iterator<Item = (ActivityId, CallId, &'a Call)> + 'a {
        activities.calls().map(|(id, call)| {
            let base = self.0.get(id.location.index()).copied();
            let activity = ActivityId(base.unwrap_or_default() + 2 * id.index + 1);
            (activity, id, call)
        })
    }

    /// Returns the call of an activity of a location, and `true` unless the activity is the burst before it.
    fn call(&self, activity: ActivityId) -> Option<(CallId, bool)> {
        let after = up_to(&self.0, |base| u64::from(*base), u64::from(activity.0));
        let location = LocationId::from_index(after.checked_sub(1)?)?;
        let offset = activity.0 - self.0.get(location.index())?;
        let index = offset / 2;
        Some((CallId { location, index }, offset % 2 == 1))
    }
}
