//! [`EpochRecords`] of calls of one-sided communication; from them, links between calls that wait
//! for each other: epochs of access (start, complete) and exposure (post, wait), and locks.

use super::scan::Scanned;
use super::{Call, CallId, CallKind, CallLink};
use perf_core::{Definitions, LocationGroupId, LocationId, Members, Ticks, WindowId};
use std::collections::BTreeMap;

/// Records of one location about epochs, in order of time. Calls are numbers of the calls of the location.
#[derive(Debug, Default)]
pub(super) struct EpochRecords {
    /// Post, start, complete and wait calls.
    pub(super) synchronisations: Vec<(WindowId, u32)>,
    /// Accesses between start and complete with the rank in the window.
    pub(super) accesses: Vec<(WindowId, u32, u32)>,
    /// Acquired and released locks.
    pub(super) locks: Vec<LockRecord>,
}

impl EpochRecords {
    /// Renumbers all calls.
    pub(super) fn renumber(&mut self, number: impl Fn(&mut u32)) {
        self.synchronisations
            .iter_mut()
            .for_each(|it| number(&mut it.1));
        self.accesses.iter_mut().for_each(|it| number(&mut it.2));
        self.locks.iter_mut().for_each(|it| number(&mut it.call));
    }
}

/// Lock of a window.
type Lock = (WindowId, u64, u64);

/// Record of a lock that is acquired or released.
#[derive(Clone, Copy, Debug)]
pub(super) struct LockRecord {
    /// Window, rank of the target and number of the lock.
    pub(super) lock: Lock,
    /// `true` for an exclusive lock, `false` for a shared one, `None` for a release.
    pub(super) acquired: Option<bool>,
    /// Time of the record.
    pub(super) at: Ticks,
    /// Number of the call.
    pub(super) call: u32,
}

/// A process, or a location outside of any.
type Process = (Option<LocationGroupId>, Option<LocationId>);

/// Accesses of a process to a window, from start to complete.
struct Access {
    start: CallId,
    complete: CallId,
    targets: Vec<Process>,
}

/// Exposure of the window of a process, from post to wait.
struct Exposure {
    post: CallId,
    wait: CallId,
}

/// Epochs of all locations.
struct Epochs<'a> {
    definitions: &'a Definitions,
    scanned: &'a [Scanned],
    accesses: BTreeMap<(WindowId, Process), Vec<Access>>,
    exposures: BTreeMap<(WindowId, Process), Vec<Exposure>>,
}

/// Returns the calls that calls on windows waited for.
pub(super) fn links(definitions: &Definitions, scanned: &[Scanned]) -> Vec<CallLink> {
    let mut epochs = Epochs {
        definitions,
        scanned,
        accesses: BTreeMap::new(),
        exposures: BTreeMap::new(),
    };
    for (location, own) in (0..).map(LocationId).zip(scanned) {
        epochs.add(location, own);
    }
    let mut links = epochs.links();
    links.extend(epochs.locks());
    links
}

impl Epochs<'_> {
    fn process(&self, location: LocationId) -> Process {
        let group = self.definitions.system.process(location);
        (group, group.is_none().then_some(location))
    }

    /// Returns the process of a rank in a window.
    fn rank(&self, window: WindowId, rank: u32) -> Option<Process> {
        let comm = self.definitions.windows.get(window.index())?.comm?;
        let Members::Ranks(ranks) = &self.definitions.comms.get(comm.index())?.members else {
            return None;
        };
        let location = ranks.get(rank as usize).copied().flatten()?;
        Some(self.process(location))
    }

    fn call(&self, id: CallId) -> Option<&Call> {
        let own = self.scanned.get(id.location.index())?;
        own.calls.get(id.index as usize)
    }

    /// Returns a time of a call, 0 if it does not exist.
    fn time(&self, id: CallId, of: fn(&Call) -> Ticks) -> Ticks {
        self.call(id).map(of).unwrap_or_default()
    }

    /// Adds the epochs of a location.
    fn add(&mut self, location: LocationId, own: &Scanned) {
        let process = self.process(location);
        let mut open: BTreeMap<(WindowId, bool), CallId> = BTreeMap::new();
        for (window, index) in own.epochs.synchronisations.iter().copied() {
            let call = CallId { location, index };
            let key = (window, process);
            match self.call(call).map(|call| call.kind) {
                Some(CallKind::WindowStart) => {
                    open.insert((window, true), call);
                }
                Some(CallKind::WindowPost) => {
                    open.insert((window, false), call);
                }
                Some(CallKind::WindowComplete) => {
                    let Some(start) = open.remove(&(window, true)) else {
                        continue;
                    };
                    let all = &own.epochs.accesses;
                    let from = all.partition_point(|it| it.2 < start.index);
                    let inside = all.iter().skip(from).take_while(|it| it.2 < index);
                    let ranks = inside.filter(|it| it.0 == window);
                    let mut targets: Vec<Process> =
                        ranks.filter_map(|it| self.rank(window, it.1)).collect();
                    targets.sort_unstable();
                    targets.dedup();
                    let complete = call;
                    self.accesses.entry(key).or_default().push(Access {
                        start,
                        complete,
                        targets,
                    });
                }
                Some(CallKind::WindowWait) => {
                    let Some(post) = open.remove(&(window, false)) else {
                        continue;
                    };
                    let wait = call;
                    self.exposures
                        .entry(key)
                        .or_default()
                        .push(Exposure { post, wait });
                }
                _ => {}
            }
        }
    }

    /// Returns the posts that start and complete waited for, and the completes that wait waited for: of each the last.
    fn links(&self) -> Vec<CallLink> {
        let mut posts: BTreeMap<CallId, (&Access, CallId)> = BTreeMap::new();
        let mut completes: BTreeMap<CallId, CallId> = BTreeMap::new();
        let enter = |id: CallId| self.time(id, |call| call.enter);
        for ((window, _), accesses) in &self.accesses {
            let mut of_targets: BTreeMap<Process, Vec<&Access>> = BTreeMap::new();
            for access in accesses {
                for target in &access.targets {
                    of_targets.entry(*target).or_default().push(access);
                }
            }
            for (target, accesses) in of_targets {
                let exposures = self.exposures.get(&(*window, target));
                let exposures = exposures.map_or(&[][..], Vec::as_slice);
                for (number, access) in accesses.iter().enumerate() {
                    let Some(exposure) = self.exposure(exposures, access, number, accesses.len())
                    else {
                        continue;
                    };
                    let post = posts
                        .entry(access.start)
                        .or_insert((*access, exposure.post));
                    if enter(exposure.post) > enter(post.1) {
                        post.1 = exposure.post;
                    }
                    let last = completes.entry(exposure.wait).or_insert(access.complete);
                    if enter(access.complete) > enter(*last) {
                        *last = access.complete;
                    }
                }
            }
        }
        let link = |call, on| CallLink {
            call,
            on,
            since: enter(call),
        };
        // Some libraries return from the start at once, and wait in the complete.
        let of_posts = posts.into_iter().map(|(start, (access, post))| {
            let is_in_start = enter(post) < self.time(start, |call| call.leave);
            link(if is_in_start { start } else { access.complete }, post)
        });
        let of_completes = completes.into_iter().map(|(wait, on)| link(wait, on));
        of_posts.chain(of_completes).collect()
    }

    /// Returns the exposure that an access epoch belongs to: by their numbers if a process has as many epochs as its target
    /// has exposures, otherwise the last one that was posted before the end of the epoch.
    fn exposure<'e>(
        &self,
        exposures: &'e [Exposure],
        access: &Access,
        number: usize,
        count: usize,
    ) -> Option<&'e Exposure> {
        if exposures.len() == count {
            return exposures.get(number);
        }
        let end = self.time(access.complete, |call| call.leave);
        let posted = exposures.partition_point(|it| self.time(it.post, |call| call.enter) < end);
        exposures.get(posted.checked_sub(1)?)
    }

    /// Returns the releases that locks waited for.
    fn locks(&self) -> Vec<CallLink> {
        let mut held: BTreeMap<Lock, Vec<(Ticks, Hold)>> = BTreeMap::new();
        for (location, own) in (0..).map(LocationId).zip(self.scanned) {
            let mut open: BTreeMap<Lock, (u32, bool)> = BTreeMap::new();
            for record in &own.epochs.locks {
                match record.acquired {
                    Some(is_exclusive) => {
                        open.insert(record.lock, (record.call, is_exclusive));
                    }
                    None => {
                        let Some((call, is_exclusive)) = open.remove(&record.lock) else {
                            continue;
                        };
                        let id = |index| CallId { location, index };
                        let hold = Hold {
                            lock: id(call),
                            unlock: id(record.call),
                            is_exclusive,
                        };
                        held.entry(record.lock).or_default().push((record.at, hold));
                    }
                }
            }
        }
        let mut links = Vec::new();
        for holds in held.values_mut() {
            holds.sort_unstable_by_key(|(at, hold)| (*at, hold.unlock));
            let (mut exclusive, mut all) = (Latest::default(), Latest::default());
            for (_, hold) in holds {
                let before = if hold.is_exclusive { &all } else { &exclusive };
                let location = hold.lock.location;
                if let Some(on) = before.of_others(location) {
                    let released = self.time(on, |call| call.enter);
                    // Some libraries return from the lock at once, and wait in the unlock.
                    let is_in_lock = released < self.time(hold.lock, |call| call.leave);
                    let call = if is_in_lock { hold.lock } else { hold.unlock };
                    let since = self.time(call, |call| call.enter);
                    links.push(CallLink { call, on, since });
                }
                all.add(hold.unlock);
                if hold.is_exclusive {
                    exclusive.add(hold.unlock);
                }
            }
        }
        links
    }
}

/// Time in which a location holds a lock.
#[derive(Clone, Copy)]
struct Hold {
    lock: CallId,
    unlock: CallId,
    is_exclusive: bool,
}

/// Last releases of a lock by two locations.
#[derive(Default)]
struct Latest {
    last: Option<CallId>,
    /// Last one of a location other than that of `last`.
    before: Option<CallId>,
}

impl Latest {
    fn add(&mut self, unlock: CallId) {
        if self
            .last
            .is_some_and(|last| last.location != unlock.location)
        {
            self.before = self.last;
        }
        self.last = Some(unlock);
    }

    /// Returns the last release of another location.
    fn of_others(&self, location: LocationId) -> Option<CallId> {
        let others = [self.last, self.before].into_iter().flatten();
        others.into_iter().find(|it| it.location != location)
    }
}

#[cfg(test)]
mod tests {
    use crate::activity::Activities;
    use crate::delay::DelayCosts;
    use crate::efficiency::IdealNetwork;
    use crate::waits::{Pattern, WaitStates};
    use crate::whatif::{Dependency, WhatIf};
    use perf_core::{
        CommId, Communicator, Definitions, Event, Events, Job, KindId, Location, LocationId,
        Members, Nanos, Region, RegionId, RmaOp, SystemTree, Ticks, Trace, Window, WindowId,
    };

    const NAMES: [&str; 8] = [
        "solve",
        "MPI_Win_post",
        "MPI_Win_start",
        "MPI_Put",
        "MPI_Win_complete",
        "MPI_Win_wait",
        "MPI_Win_lock",
        "MPI_Win_unlock",
    ];
    const SOLVE: u32 = 0;
    const POST: u32 = 1;
    const START: u32 = 2;
    const PUT: u32 = 3;
    const COMPLETE: u32 = 4;
    const WAIT: u32 = 5;
    const LOCK: u32 = 6;
    const UNLOCK: u32 = 7;

    /// A call of a rank: region, enter and leave, and the target of an access or 0 for an exclusive and 1 for a shared lock.
    type Call = (u32, u64, u64, u32);

    /// Returns the trace of ranks with one window. All end at 100.
    fn trace(ranks: &[&[Call]]) -> Trace {
        let mut definitions = Definitions::default();
        let rank = |key| Location {
            key,
            ..Location::default()
        };
        let count = ranks.len() as u32;
        let locations = (0..u64::from(count)).map(rank).collect();
        definitions.system =
            SystemTree::new(vec![], vec![], locations, &Default::default()).unwrap();
        definitions.comms.push(Communicator {
            members: Members::Ranks((0..count).map(|id| Some(LocationId(id))).collect()),
            ..Communicator::default()
        });
        definitions.windows.push(Window {
            comm: Some(CommId(0)),
            ..Window::default()
        });
        definitions.regions = NAMES.map(Region::named).to_vec();
        let kinds = ["RmaGroupSync", "RmaAcquireLock", "RmaReleaseLock"];
        definitions.kinds = kinds.map(String::from).to_vec();
        let events = ranks.iter().map(|calls| {
            let mut events = Events::default();
            events.push_enter(Ticks(0), RegionId(SOLVE));
            for (region, enter, leave, detail) in calls.iter().copied() {
                let other = |kind, args| Event::Other {
                    kind: KindId(kind),
                    args,
                };
                events.push_enter(Ticks(enter), RegionId(region));
                let mut push = |event| events.push(Ticks(leave), event).unwrap();
                match region {
                    PUT => push(Event::Rma {
                        op: RmaOp::Put,
                        window: WindowId(0),
                        remote: detail,
                        bytes: 8,
                        matching: enter,
                    }),
                    LOCK => push(other(1, &[0, 2, 0, u64::from(detail)])),
                    UNLOCK => push(other(2, &[0, 2, 0])),
                    _ => push(other(0, &[2, 0, 0])),
                }
                events.push_leave(Ticks(leave), RegionId(region));
            }
            events.push_leave(Ticks(100), RegionId(SOLVE));
            events
        });
        Trace::new(definitions, events.collect()).unwrap()
    }

    /// Returns the wait states as (kind, location, start, ticks, location of the cause), and checks that the delays explain
    /// all of them and that the replay takes the recorded time.
    fn states(trace: &Trace) -> Vec<(Pattern, u32, u64, u64, u32)> {
        let (view, job) = (trace.view(), Job::default());
        let activities = Activities::of(view, &job).unwrap();
        let waits = WaitStates::of_activities(&activities, &job).unwrap();
        let delays = DelayCosts::of(view, &activities, &waits, &job).unwrap();
        let costs = delays.costs().iter().map(|it| it.short + it.long);
        let waiting = waits.states().iter().filter(|it| it.pattern.is_waiting());
        let waiting: u64 = waiting.map(|it| it.ticks).sum();
        assert!((costs.sum::<f64>() - waiting as f64).abs() < 1e-9);
        let none: &[Dependency] = &[];
        let whatif = WhatIf::of(view, &activities, none, &job).unwrap();
        assert_eq!(whatif.ask(&[], &job).unwrap().identity, Nanos(100));
        let state = |it: &crate::waits::WaitState| {
            let cause = it.cause.unwrap().location.0;
            (it.pattern, it.call.location.0, it.start.0, it.ticks, cause)
        };
        waits.states().iter().map(state).collect()
    }

    #[test]
    fn epochs_wait_for_posts_and_completes() {
        // Rank 0 puts into ranks 1 and 2. The latter posts late, and rank 0 completes late.
        let trace = trace(&[
            &[
                (START, 10, 31, 0),
                (PUT, 31, 33, 1),
                (PUT, 33, 35, 2),
                (COMPLETE, 60, 65, 0),
            ],
            &[(POST, 5, 6, 0), (WAIT, 20, 66, 0)],
            &[(POST, 30, 31, 0), (WAIT, 70, 72, 0)],
        ]);
        let expected = [
            (Pattern::LatePost, 0, 10, 20, 2),
            (Pattern::EarlyWait, 1, 20, 40, 0),
            (Pattern::LateComplete, 1, 35, 25, 0),
        ];
        assert_eq!(states(&trace), expected);
        // Rank 2 computes throughout; nothing that it waits for is later.
        let activities = Activities::of_mpi(trace.view(), &Job::default()).unwrap();
        let ideal = IdealNetwork::default()
            .replay(&activities, &Job::default())
            .unwrap();
        assert_eq!(ideal.runtime, Nanos(30 + 39 + 28));
    }

    #[test]
    fn completes_wait_for_posts_if_starts_return_at_once() {
        // The second exposure is for rank 2, which has one epoch: epochs and exposures are matched by time.
        let trace = trace(&[
            &[(START, 10, 11, 0), (PUT, 11, 12, 1), (COMPLETE, 20, 46, 0)],
            &[
                (POST, 45, 46, 0),
                (WAIT, 47, 48, 0),
                (POST, 50, 51, 0),
                (WAIT, 60, 83, 0),
            ],
            &[(START, 55, 56, 0), (PUT, 56, 57, 1), (COMPLETE, 80, 82, 0)],
        ]);
        let expected = [
            (Pattern::LatePost, 0, 20, 25, 1),
            (Pattern::EarlyWait, 1, 60, 20, 2),
            (Pattern::LateComplete, 1, 60, 20, 2),
        ];
        assert_eq!(states(&trace), expected);
    }

    #[test]
    fn locks_wait_for_locks_that_exclude_them() {
        // Rank 1 waits in its lock, rank 2 in its unlock. Ranks 3 and 4 share a lock, for which only rank 2 is in the way.
        let trace = trace(&[
            &[(LOCK, 10, 11, 0), (UNLOCK, 30, 32, 0)],
            &[(LOCK, 15, 33, 0), (UNLOCK, 40, 42, 0)],
            &[(LOCK, 16, 17, 0), (UNLOCK, 20, 50, 0)],
            &[(LOCK, 18, 51, 1), (UNLOCK, 60, 62, 0)],
            &[(LOCK, 52, 53, 1), (UNLOCK, 55, 63, 0)],
        ]);
        let expected = [
            (Pattern::WindowLock, 1, 15, 15, 0),
            (Pattern::WindowLock, 2, 20, 20, 1),
            (Pattern::WindowLock, 3, 18, 2, 2),
        ];
        assert_eq!(states(&trace), expected);
    }
}
