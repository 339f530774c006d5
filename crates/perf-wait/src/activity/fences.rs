//! [`fences`]: operations that synchronise all ranks of a window of one-sided communication, as
//! barriers.

use super::scan::Scanned;
use super::{CallCollective, CallId, CallMember};
use perf_core::{
    CollectiveOp, CommId, Definitions, LocationGroupId, LocationId, Members, WindowId,
};
use std::collections::BTreeMap;

/// Returns the operations that synchronise all ranks of a window, as barriers. The n-th operations of all processes on a
/// window belong together.
pub(super) fn fences(definitions: &Definitions, scanned: &[Scanned]) -> Vec<CallCollective> {
    // A location outside of any process represents itself.
    type Process = (Option<LocationGroupId>, Option<LocationId>);
    let mut numbers: BTreeMap<(WindowId, Process), usize> = BTreeMap::new();
    let mut found: BTreeMap<(WindowId, usize), Vec<CallMember>> = BTreeMap::new();
    for (location, own) in (0..).map(LocationId).zip(scanned) {
        let group = definitions.system.process(location);
        let process = (group, group.is_none().then_some(location));
        for fence in &own.fences {
            let number = numbers.entry((fence.window, process)).or_default();
            let members = found.entry((fence.window, *number)).or_default();
            *number += 1;
            members.push(CallMember {
                call: CallId {
                    location,
                    index: fence.call,
                },
                begin: fence.begin,
                end: fence.end,
                sent: 0,
                received: 0,
            });
        }
    }
    let several = found.into_iter().filter(|(_, members)| members.len() > 1);
    several
        .map(|((window, _), members)| {
            let window = definitions.windows.get(window.index());
            let comm = window.and_then(|window| window.comm);
            let known = comm.and_then(|comm| definitions.comms.get(comm.index()));
            let size = match known.map(|comm| &comm.members) {
                Some(Members::Ranks(ranks)) => Some(ranks.len()),
                _ => None,
            };
            CallCollective {
                op: CollectiveOp::Barrier,
                comm: comm.unwrap_or(CommId(u32::MAX)),
                root: None,
                members,
                size,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::activity::Activities;
    use crate::waits::{Pattern, WaitStates};
    use perf_core::{
        CommId, Communicator, Definitions, Event, Events, Job, KindId, Location, LocationId,
        Members, Region, RegionId, SystemTree, Ticks, Trace, Window,
    };

    /// Returns the fences of three ranks as (enter, leave, level of synchronisation).
    fn fences(ranks: [&[(u64, u64, u64)]; 3]) -> Trace {
        let mut definitions = Definitions::default();
        let rank = |key| Location {
            key,
            ..Location::default()
        };
        let locations = (0..3).map(rank).collect();
        definitions.system =
            SystemTree::new(vec![], vec![], locations, &Default::default()).unwrap();
        definitions.comms.push(Communicator {
            members: Members::Ranks((0..3).map(|id| Some(LocationId(id))).collect()),
            ..Communicator::default()
        });
        definitions.windows.push(Window {
            comm: Some(CommId(0)),
            ..Window::default()
        });
        definitions.regions = vec![Region::named("solve"), Region::named("MPI_Win_fence")];
        definitions.kinds = ["RmaCollectiveBegin", "RmaCollectiveEnd"]
            .map(String::from)
            .to_vec();
        let events = ranks.map(|calls| {
            let mut events = Events::default();
            events.push_enter(Ticks(0), RegionId(0));
            for (enter, leave, level) in calls {
                let other = |kind, args| Event::Other {
                    kind: KindId(kind),
                    args,
                };
                events.push_enter(Ticks(*enter), RegionId(1));
                events.push(Ticks(*enter), other(0, &[])).unwrap();
                let end = [0, *level, 0, u64::from(u32::MAX), 0, 0];
                events.push(Ticks(*leave), other(1, &end)).unwrap();
                events.push_leave(Ticks(*leave), RegionId(1));
            }
            events.push_leave(Ticks(200), RegionId(0));
            events
        });
        Trace::new(definitions, events.to_vec()).unwrap()
    }

    #[test]
    fn ranks_wait_at_fences_that_synchronise_processes() {
        // The second fence of the last rank orders memory alone.
        let trace = fences([
            &[(10, 46, 3), (60, 91, 3)],
            &[(40, 45, 3), (50, 90, 3)],
            &[(30, 47, 3), (55, 56, 1), (80, 92, 3)],
        ]);
        let job = Job::default();
        let activities = Activities::of(trace.view(), &job).unwrap();
        let waits = WaitStates::of_activities(&activities, &job).unwrap();
        let found: Vec<_> = waits
            .states()
            .iter()
            .map(|it| {
                (
                    it.pattern,
                    it.call.location.0,
                    it.ticks,
                    it.cause.unwrap().location.0,
                )
            })
            .collect();
        let of = |location, ticks, cause| (Pattern::FenceWait, location, ticks, cause);
        let expected = [of(0, 30, 1), of(0, 20, 2), of(1, 30, 2), of(2, 10, 1)];
        assert_eq!(found, expected);
        assert_eq!(activities.collectives()[0].size, Some(3));
        // The MPI calls alone include fences.
        let alone = Activities::of_mpi(trace.view(), &job).unwrap();
        let waits = WaitStates::of_activities(&alone, &job).unwrap();
        assert_eq!(waits.total(Pattern::FenceWait), 90);
    }
}
