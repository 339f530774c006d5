//! [`ProgramGraph`]: the bursts and MPI calls of a trace in program order.

use super::{ActivityGraph, ActivityId, GraphBuilder};
use crate::activity::{Activities, Call, CallId};
use crate::{CallPlace, Error, Result};
use perf_core::{Job, LocationId, Nanos, Ticks};

/// Activities of the MPI calls of a trace: of each call the burst before it and its own activity, and of each location
/// the burst after its last call.
pub(crate) struct ProgramGraph<'a> {
    pub(crate) activities: &'a Activities,
    pub(crate) graph: GraphBuilder,
    /// First activity of each location, by location.
    bases: Vec<u32>,
    /// Locations with calls.
    pub(crate) locations: Vec<LocationId>,
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
    /// Adds the bursts from the first event of the trace to the last one of each location, and calls of no duration.
    /// Calls `each` with the bursts in the order of their activities.
    pub(crate) fn of(
        activities: &'a Activities,
        mut each: impl FnMut(Burst),
        job: &Job,
    ) -> Result<Self> {
        let mut program = ProgramGraph {
            activities,
            graph: GraphBuilder::default(),
            bases: Vec::with_capacity(activities.locations().len()),
            locations: Vec::new(),
        };
        let calls: usize = activities.locations().iter().map(|it| it.calls.len()).sum();
        let members: usize = activities
            .collectives()
            .iter()
            .map(|it| it.members.len())
            .sum();
        let others = activities.collectives().len() + activities.locations().len();
        let depend = activities.messages().len() + 2 * members + activities.links().len();
        program
            .graph
            .reserve(2 * calls + others, 2 * calls + depend + others);
        let clock = activities.clock();
        let begin = activities.range().map_or(Ticks(0), |range| range.0);
        // Differences of rounded times, so that rounding does not add up.
        let nanos = |at: Ticks| clock.total(u128::from(at.saturating_since(begin)));
        let (mut checks, mut count) = (job.checks(), 0_u32);
        for (location, own) in (0..).map(LocationId).zip(activities.locations()) {
            program.bases.push(count);
            let Some((_, last)) = own.range.filter(|_| !own.calls.is_empty()) else {
                continue;
            };
            let (mut start, mut earlier) = (begin, None);
            for (index, call) in (0..).zip(&own.calls) {
                checks.next(1)?;
                let before = Some(CallId { location, index });
                each(Burst {
                    location,
                    before,
                    start,
                    end: call.enter,
                });
                let burst = program
                    .graph
                    .add(nanos(call.enter).saturating_sub(nanos(start)))?;
                let own = program.graph.add(Nanos(0))?;
                if let Some(earlier) = earlier {
                    program.graph.depend(burst, earlier)?;
                }
                program.graph.depend(own, burst)?;
                (start, earlier) = (call.leave, Some(own));
            }
            each(Burst {
                location,
                before: None,
                start,
                end: last,
            });
            let rest = program
                .graph
                .add(nanos(last).saturating_sub(nanos(start)))?;
            if let Some(earlier) = earlier {
                program.graph.depend(rest, earlier)?;
            }
            count = rest.0 + 1;
            program.locations.push(location);
        }
        if program.locations.is_empty() {
            Err(Error::Nothing { what: "MPI calls" })
        } else {
            Ok(program)
        }
    }

    /// Activity of the burst before a call, whose end is the enter of the call.
    pub(crate) fn entry(&self, call: CallId) -> Option<ActivityId> {
        let base = self.bases.get(call.location.index())?;
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
            (Some(call), Some(other)) => self.graph.depend(call, other),
            _ => Ok(()),
        }
    }

    /// Lets these calls end no earlier than all of them are entered. Returns the activity at which they meet.
    pub(crate) fn together(&mut self, calls: impl Iterator<Item = CallId>) -> Result<ActivityId> {
        // No group: a call may contain several collectives.
        let meeting = self.graph.add(Nanos(0))?;
        for call in calls {
            if let (Some(entry), Some(exit)) = (self.entry(call), self.exit(call)) {
                self.graph.depend(meeting, entry)?;
                self.graph.depend(exit, meeting)?;
            }
        }
        Ok(meeting)
    }

    /// Finds an order of replay. The error about a cycle names the place of a call in it.
    pub(crate) fn build(self, job: &Job) -> Result<(ActivityGraph, Places)> {
        let (bases, activities) = (self.bases, self.activities);
        let graph = self.graph.build(job).map_err(|error| match error {
            Error::Cycle {
                activity,
                stuck,
                count,
                ..
            } => Error::Cycle {
                activity,
                stuck,
                count,
                place: place(&bases, activities, activity),
            },
            other => other,
        })?;
        Ok((graph, Places(bases)))
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
}

/// Returns the place of the call of an activity.
fn place(bases: &[u32], activities: &Activities, activity: usize) -> Option<CallPlace> {
    let after = bases.partition_point(|base| *base as usize <= activity);
    let location = LocationId::from_index(after.checked_sub(1)?)?;
    let offset = activity - *bases.get(location.index())? as usize;
    let index = u32::try_from(offset / 2).ok()?;
    activities.place(CallId { location, index })
}
