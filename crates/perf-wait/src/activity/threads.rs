//! Synchronisation of teams of threads: barriers as collectives, and links from idle threads to
//! forks and from acquisitions of locks to releases.

use super::regions::LockEvent;
use super::scan::Scanned;
use super::{Call, CallCollective, CallId, CallKind, CallLink, CallMember, NO_PATH};
use perf_core::{
    CallTree, CollectiveOp, CommId, Definitions, LocationGroupId, LocationId, RegionId, Ticks,
};
use std::collections::BTreeMap;

/// Locations of each process.
type Processes = BTreeMap<LocationGroupId, Vec<LocationId>>;

/// Returns the locations with calls of each process; none if no call is of this kind.
fn processes(definitions: &Definitions, scanned: &[Scanned], kind: CallKind) -> Processes {
    let mut processes = Processes::new();
    let mut calls = scanned.iter().flat_map(|own| &own.calls);
    if !calls.any(|call| call.kind == kind) {
        return processes;
    }
    for (id, own) in (0..).map(LocationId).zip(scanned) {
        if let Some(process) = definitions
            .system
            .process(id)
            .filter(|_| !own.calls.is_empty())
        {
            processes.entry(process).or_default().push(id);
        }
    }
    processes
}

fn calls(scanned: &[Scanned], kind: CallKind, of: &[LocationId]) -> Vec<(Ticks, CallId)> {
    let mut found = Vec::new();
    for location in of {
        let own = scanned.get(location.index());
        let calls = own.map_or(&[][..], |own| own.calls.as_slice());
        let calls = (0..).zip(calls).filter(|(_, call)| call.kind == kind);
        let location = *location;
        found.extend(calls.map(|(index, call)| (call.enter, CallId { location, index })));
    }
    found.sort_unstable();
    found
}

/// Sets the ends of parallel regions of Extrae on all threads of their teams.
pub(super) fn joins(definitions: &Definitions, scanned: &mut [Scanned]) {
    for locations in processes(definitions, scanned, CallKind::Fork).values() {
        let mut regions: Vec<(Ticks, Ticks)> = Vec::new();
        for own in locations.iter().filter_map(|it| scanned.get(it.index())) {
            regions.extend_from_slice(&own.teams.regions);
        }
        regions.sort_unstable();
        for location in locations {
            if let Some(own) = scanned.get_mut(location.index()) {
                own.set_joins(&regions);
            }
        }
    }
}

/// Adds the time after the last parallel region of Extrae as idle: threads wait for the end of the thread that forks.
/// Locations last until then. Returns what they wait for.
pub(super) fn idle_at_end(
    definitions: &Definitions,
    scanned: &mut [Scanned],
    ranges: &mut [Option<(Ticks, Ticks)>],
) -> Vec<CallLink> {
    let mut links = Vec::new();
    for locations in processes(definitions, scanned, CallKind::Fork).values() {
        let forks = |it: &&LocationId| {
            let own = scanned.get(it.index());
            own.is_some_and(|own| !own.teams.regions.is_empty())
        };
        let Some(on) = locations.iter().find(forks).copied() else {
            continue;
        };
        let Some((_, end)) = ranges.get(on.index()).copied().flatten() else {
            continue;
        };
        let Some(own) = scanned.get_mut(on.index()) else {
            continue;
        };
        let Ok(index) = u32::try_from(own.calls.len()) else {
            continue;
        };
        own.calls.push(Call {
            path: NO_PATH,
            kind: CallKind::ProcessEnd,
            enter: end,
            leave: end,
        });
        let last = CallId {
            location: on,
            index,
        };
        for location in locations {
            let own = scanned.get_mut(location.index());
            let index = own.and_then(|own| own.end_idle(end));
            let Some(index) = index else { continue };
            if let Some(Some(range)) = ranges.get_mut(location.index()) {
                range.1 = range.1.max(end);
            }
            links.push(CallLink {
                call: CallId {
                    location: *location,
                    index,
                },
                on: last,
                since: Ticks(0),
            });
        }
    }
    links
}

/// Drops idle times that no fork of another thread ends, and returns the forks that end the remaining idle times.
pub(super) fn idle(definitions: &Definitions, scanned: &mut [Scanned]) -> Vec<CallLink> {
    let mut links = Vec::new();
    for locations in processes(definitions, scanned, CallKind::Idle).values() {
        let forks = calls(scanned, CallKind::Fork, locations);
        let fork_times: Vec<Ticks> = forks.iter().map(|it| it.0).collect();
        let last_fork = |leave: Ticks| {
            fork_times
                .partition_point(|fork| *fork <= leave)
                .checked_sub(1)
        };
        for location in locations {
            let Some(own) = scanned.get_mut(location.index()) else {
                continue;
            };
            own.retain(|call| {
                let fork = last_fork(call.leave).and_then(|at| fork_times.get(at));
                call.kind != CallKind::Idle || fork.is_some_and(|fork| *fork >= call.enter)
            });
        }
        // The numbers of calls have changed.
        let forks = calls(scanned, CallKind::Fork, locations);
        for location in locations {
            let Some(own) = scanned.get_mut(location.index()) else {
                continue;
            };
            let mut found = Vec::new();
            for (index, call) in (0..).zip(&mut own.calls) {
                let fork = last_fork(call.leave).and_then(|at| forks.get(at));
                if let (CallKind::Idle, Some((_, on))) = (call.kind, fork) {
                    let id = CallId {
                        location: *location,
                        index,
                    };
                    found.push(CallLink {
                        call: id,
                        on: *on,
                        since: call.enter,
                    });
                }
            }
            links.append(&mut found);
        }
    }
    // Idle time outside of all frames belongs to the call path that forks.
    for link in &links {
        let call = |id: CallId| {
            scanned
                .get(id.location.index())?
                .calls
                .get(id.index as usize)
        };
        let Some(fork) = call(link.on).copied() else {
            continue;
        };
        let own = scanned.get_mut(link.call.location.index());
        let own = own.and_then(|own| own.calls.get_mut(link.call.index as usize));
        if let Some(own) = own.filter(|own| own.path().is_none()) {
            own.set_path(fork.path());
        }
    }
    links
}

/// Returns the barriers of teams.
///
/// Calls of one function and process are one barrier if all of them overlap: no thread leaves before all have entered.
/// A thread that executes tasks within its call arrives when it has completed the last of them.
pub(super) fn barriers(
    definitions: &Definitions,
    paths: &CallTree,
    scanned: &[Scanned],
) -> Vec<CallCollective> {
    let mut found = Vec::new();
    for locations in processes(definitions, scanned, CallKind::TeamBarrier).values() {
        let mut all = Vec::new();
        for (enter, id) in calls(scanned, CallKind::TeamBarrier, locations) {
            let own = scanned.get(id.location.index());
            if let Some(call) = own.and_then(|own| own.calls.get(id.index as usize)) {
                let arrival = own.map_or(enter, |own| own.arrival(id.index, enter));
                let function = call.path().and_then(|path| paths.get(path));
                let function = function.map(|path| path.region);
                all.push((function, enter, call.leave, id, arrival));
            }
        }
        all.sort_unstable();
        let mut members: Vec<CallMember> = Vec::new();
        let mut current: Option<(Option<RegionId>, Ticks)> = None;
        for (function, enter, leave, call, arrival) in all {
            let is_same = current.is_some_and(|(of, first)| of == function && enter <= first)
                && members.iter().all(|it| it.call.location != call.location);
            if !is_same {
                push(&mut found, &mut members);
                current = None;
            }
            let first = current.map_or(leave, |(_, first)| first.min(leave));
            current = Some((function, first));
            members.push(CallMember {
                call,
                begin: arrival,
                end: leave,
                sent: 0,
                received: 0,
            });
        }
        push(&mut found, &mut members);
    }
    found
}

/// Returns the forks that threads wait for within a barrier: some runtimes let threads leave a barrier only when the
/// next parallel region begins.
pub(super) fn idle_in_barriers(
    definitions: &Definitions,
    scanned: &[Scanned],
    barriers: &[CallCollective],
) -> Vec<CallLink> {
    let forks: BTreeMap<_, _> = processes(definitions, scanned, CallKind::Fork)
        .into_iter()
        .map(|(process, locations)| (process, calls(scanned, CallKind::Fork, &locations)))
        .collect();
    let mut links = Vec::new();
    for barrier in barriers {
        let Some(last) = barrier.members.iter().map(|it| it.begin).max() else {
            continue;
        };
        for member in &barrier.members {
            let process = definitions.system.process(member.call.location);
            let forks = process.and_then(|process| forks.get(&process));
            let forks = forks.map_or(&[][..], Vec::as_slice);
            let before = forks.partition_point(|it| it.0 <= member.end);
            let fork = before.checked_sub(1).and_then(|at| forks.get(at));
            let fork = fork.filter(|it| it.0 > last && it.1.location != member.call.location);
            links.extend(fork.map(|(_, on)| CallLink {
                call: member.call,
                on: *on,
                since: last,
            }));
        }
    }
    links
}

/// Adds a barrier if it has several members.
fn push(found: &mut Vec<CallCollective>, members: &mut Vec<CallMember>) {
    let mut members = std::mem::take(members);
    if members.len() > 1 {
        members.sort_unstable_by_key(|it| it.call);
        found.push(CallCollective {
            op: CollectiveOp::Barrier,
            comm: CommId(u32::MAX),
            root: None,
            members,
            size: None,
        });
    }
}

/// Returns the releases that acquisitions of locks waited for.
pub(super) fn locks(definitions: &Definitions, scanned: &[Scanned]) -> Vec<CallLink> {
    let mut links = Vec::new();
    for locations in processes(definitions, scanned, CallKind::Acquire).values() {
        // Acquisitions and releases of each lock in order of time, releases first.
        let mut events: BTreeMap<u64, Vec<(Ticks, bool, CallId)>> = BTreeMap::new();
        for location in locations {
            let Some(own) = scanned.get(location.index()) else {
                continue;
            };
            for (event, lock, index) in &own.locks {
                if let Some(call) = own.calls.get(*index as usize) {
                    let id = CallId {
                        location: *location,
                        index: *index,
                    };
                    let is_acquire = *event == LockEvent::Acquire;
                    let events = events.entry(*lock).or_default();
                    events.push((call.leave, is_acquire, id));
                }
            }
        }
        for events in events.values_mut() {
            events.sort_unstable();
            let mut released = None;
            for (_, is_acquire, id) in events {
                if *is_acquire {
                    let other = released.filter(|on: &CallId| on.location != id.location);
                    let own = scanned.get(id.location.index());
                    let call = own.and_then(|own| own.calls.get(id.index as usize));
                    links.extend(other.zip(call).map(|(on, call)| CallLink {
                        call: *id,
                        on,
                        since: call.enter,
                    }));
                } else {
                    released = Some(*id);
                }
            }
        }
    }
    links
}

#[cfg(test)]
mod tests {
    use crate::activity::Activities;
    use crate::delay::DelayCosts;
    use crate::waits::{Pattern, WaitStates};
    use perf_core::{
        Definitions, Events, GroupKind, Job, Location, LocationGroup, LocationGroupId, LocationId,
        Region, RegionId, SystemTree, Ticks, Trace,
    };

    #[test]
    fn threads_that_execute_tasks_in_a_barrier_do_not_wait() {
        let mut definitions = Definitions::default();
        let thread = |key| Location {
            key,
            group: Some(LocationGroupId(0)),
            ..Location::default()
        };
        let process = LocationGroup {
            kind: GroupKind::Process,
            ..LocationGroup::default()
        };
        let threads = (0..2).map(thread).collect();
        definitions.system =
            SystemTree::new(vec![], vec![process], threads, &Default::default()).unwrap();
        let names = [
            "!$omp parallel @a.c:1",
            "!$omp implicit barrier @a.c:9",
            "!$omp task @a.c:3",
            "!$omp taskwait @a.c:5",
        ];
        definitions.regions = names.map(Region::named).to_vec();
        let [parallel, barrier, task, taskwait] = [0, 1, 2, 3].map(RegionId);
        // The first thread waits from 10; the second one executes tasks in the barrier up to 90.
        let mut waiting = Events::default();
        waiting.push_enter(Ticks(0), parallel);
        waiting.push_enter(Ticks(10), barrier);
        waiting.push_leave(Ticks(100), barrier);
        waiting.push_leave(Ticks(100), parallel);
        let mut working = Events::default();
        working.push_enter(Ticks(0), parallel);
        working.push_enter(Ticks(20), barrier);
        for (enter, leave) in [(30, 50), (50, 90)] {
            working.push_enter(Ticks(enter), task);
            working.push_enter(Ticks(enter), taskwait);
            working.push_leave(Ticks(enter + 1), taskwait);
            working.push_leave(Ticks(leave), task);
        }
        working.push_leave(Ticks(100), barrier);
        working.push_leave(Ticks(100), parallel);
        let trace = Trace::new(definitions, vec![waiting, working]).unwrap();

        let job = Job::default();
        let activities = Activities::of(trace.view(), &job).unwrap();
        let waits = WaitStates::of_activities(&activities, &job).unwrap();
        assert_eq!(waits.total(Pattern::TeamBarrierWait), 80);
        let state = waits.states()[0];
        assert_eq!(
            (state.call.location, state.start),
            (LocationId(0), Ticks(10))
        );
        let delays = DelayCosts::of(trace.view(), &activities, &waits, &job).unwrap();
        let largest = delays
            .costs()
            .iter()
            .max_by(|a, b| a.short.total_cmp(&b.short))
            .unwrap();
        let path = activities.paths().get(largest.path.unwrap()).unwrap();
        assert_eq!((largest.location, path.region), (LocationId(1), task));
    }
}
