//! [`scan`]: finds the calls of MPI, threads and accelerators of one location, with the numbers of
//! their communication records, requests, locks, ends of tasks and one-sided windows ([`Scanned`]).

mod extrae;

use super::epochs::{EpochRecords, LockRecord};
use super::regions::{LockEvent, Regions, is_fork, is_parallel};
use super::requests::Requests;
use super::{Call, CallKind, NO_PATH};
use crate::Result;
use crate::call_path_finder::CallPathFinder;
use crate::search::up_to;
pub(super) use extrae::ExtraeEvent;
use extrae::{Constructs, Teams};
use perf_core::{
    CallPathId, CallTree, Close, Definitions, Event, Job, LocationView, RegionId, ReplayCounts,
    Ticks, Visitor, WindowId, replay,
};

/// Calls of one location.
#[derive(Debug, Default)]
pub(super) struct Scanned {
    /// Calls in order of time.
    pub(super) calls: Vec<Call>,
    /// Numbers of the first and last communication record of each call that has some, and the number of the call.
    pub(super) records: Vec<(u32, u32, u32)>,
    /// Numbers of the calls that wait for requests.
    pub(super) waits: Vec<u32>,
    /// Acquisitions and releases of locks in order of time, with the number of their call.
    pub(super) locks: Vec<(LockEvent, u64, u32)>,
    /// End of the last task that was executed within a barrier, by the number of the barrier's call.
    pub(super) arrivals: Vec<(u32, Ticks)>,
    /// Operations that synchronise all ranks of a window.
    pub(super) fences: Vec<Fence>,
    /// Epochs and locks of windows.
    pub(super) epochs: EpochRecords,
    /// Records that belong together by their request.
    pub(super) requests: Requests,
    /// Parallel regions of Extrae.
    pub(super) teams: Teams,
    /// Repairs of the frames.
    pub(super) repairs: ReplayCounts,
}

impl Scanned {
    /// Keeps the calls for which `is_kept` is `true`, which must include all calls with communication records or locks.
    pub(super) fn retain(&mut self, mut is_kept: impl FnMut(&Call) -> bool) {
        let mut numbers = Vec::with_capacity(self.calls.len());
        let mut count = 0;
        let mut kept = Vec::with_capacity(self.calls.len());
        for call in &self.calls {
            numbers.push(count);
            kept.push(is_kept(call));
            count += u32::from(kept[kept.len() - 1]);
        }
        // The number of a call that was not stored stays.
        let number = |old: &mut u32| *old = numbers.get(*old as usize).copied().unwrap_or(*old);
        self.records.iter_mut().for_each(|it| number(&mut it.2));
        self.locks.iter_mut().for_each(|it| number(&mut it.2));
        self.waits.iter_mut().for_each(number);
        self.arrivals.iter_mut().for_each(|it| number(&mut it.0));
        self.fences.iter_mut().for_each(|it| number(&mut it.call));
        self.epochs.renumber(number);
        let mut kept = kept.into_iter();
        self.calls.retain(|_| kept.next() == Some(true));
    }

    /// Returns the time at which a thread arrives at a barrier: its enter, or the end of the last task within it.
    pub(super) fn arrival(&self, call: u32, enter: Ticks) -> Ticks {
        let found = self.arrivals.binary_search_by_key(&call, |it| it.0);
        found.map_or(enter, |at| self.arrivals[at].1)
    }

    /// Returns the number of the call that contains a communication record.
    pub(super) fn call_of(&self, record: usize) -> Option<u32> {
        let record = u32::try_from(record).ok()?;
        let after = up_to(&self.records, |it| u64::from(it.0), u64::from(record));
        let (_, last, call) = self.records.get(after.checked_sub(1)?).copied()?;
        (record <= last).then_some(call)
    }
}

/// Part of a location in an operation that synchronises all ranks of a window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fence {
    /// Window.
    pub(super) window: WindowId,
    /// Number of the call.
    pub(super) call: u32,
    /// Begin of the operation.
    pub(super) begin: Ticks,
    /// End of the operation.
    pub(super) end: Ticks,
}

/// Bit of the levels of synchronisation in OTF2 that means processes, not memory alone.
const SYNCHRONISES_PROCESSES: u64 = 2;
/// Number of exclusive locks in OTF2.
const EXCLUSIVE: u64 = 0;

/// An open frame.
#[derive(Clone, Copy)]
struct Frame {
    path: CallPathId,
    enter: Ticks,
}

/// Visitor that collects the calls of one location.
struct Scan<'a> {
    definitions: &'a Definitions,
    regions: &'a Regions,
    paths: &'a mut CallTree,
    finder: CallPathFinder,
    found: Scanned,
    /// Open frames, the outermost first.
    stack: Vec<Frame>,
    /// Depth of the stack frame of the open call.
    open: Option<usize>,
    /// Depth of the outermost frame of a team.
    team: Option<usize>,
    /// Begin of the open collective operation on a window.
    fence_since: Option<Ticks>,
    /// Windows between the start and the completion of accesses.
    accessing: Vec<WindowId>,
    /// End of the last activity outside of teams.
    idle_since: Ticks,
    /// `true` if a team was forked since then.
    has_forked: bool,
    /// Open constructs of OpenMP in a recording of Extrae.
    constructs: Constructs,
    failed: Option<perf_core::Error>,
}

impl Scan<'_> {
    /// Adds a call that has no frame of its own, and returns its number.
    fn push(&mut self, kind: CallKind, enter: Ticks, leave: Ticks) -> u32 {
        let frame = self.stack.last();
        let path = frame.map_or(NO_PATH, |frame| frame.path);
        self.push_at(kind, path, enter, leave)
    }

    /// Adds a call in a call path, and returns its number.
    fn push_at(&mut self, kind: CallKind, path: CallPathId, enter: Ticks, leave: Ticks) -> u32 {
        let last = self.found.calls.last().map_or(Ticks(0), |call| call.leave);
        self.found.calls.push(Call {
            path,
            kind,
            enter: enter.max(last).min(leave),
            leave,
        });
        // There are no more calls than events, which are counted.
        (self.found.calls.len() - 1) as u32
    }

    /// Processes the begin of a frame of a team. The thread was idle before, unless it forked the team.
    fn enter_team(&mut self, at: Ticks, region: RegionId, depth: usize) {
        let entered = self.definitions.regions.get(region.index());
        if !self.regions.has_forks && entered.is_some_and(is_parallel) {
            self.has_forked |= self.team.is_none();
            self.push(CallKind::Fork, at, at);
        }
        if self.team.is_some() {
            return;
        }
        self.team = Some(depth);
        if self.regions.is_extrae {
            self.end_fork(at);
        }
        if !self.has_forked && at > self.idle_since {
            self.push(CallKind::Idle, self.idle_since, at);
        }
    }

    /// Processes the end of a task within a call. A thread that executes tasks in a barrier does not wait for others.
    fn leave_task(&mut self, at: Ticks) {
        if self.regions.is_extrae {
            return self.note_arrival(at);
        }
        let is_barrier = |call: &Call| call.kind == CallKind::TeamBarrier;
        if !self.found.calls.last().is_some_and(is_barrier) {
            return;
        }
        // There are no more calls than events, which are counted.
        let call = (self.found.calls.len() - 1) as u32;
        match self.found.arrivals.last_mut() {
            Some(last) if last.0 == call => last.1 = at,
            _ => self.found.arrivals.push((call, at)),
        }
    }

    /// Processes a record of the synchronisation of a window.
    fn window(&mut self, at: Ticks, name: &str, args: &[u64]) {
        // There are no more calls than events, and no more windows than 2^32.
        let call = self.found.calls.len().saturating_sub(1) as u32;
        let window = |window: u64| WindowId(window as u32);
        match (name, args) {
            ("RmaGroupSync", [_, of, ..]) => {
                let of = window(*of);
                match self.found.calls.last().map(|call| call.kind) {
                    Some(CallKind::WindowStart) if !self.accessing.contains(&of) => {
                        self.accessing.push(of);
                    }
                    Some(CallKind::WindowComplete) => self.accessing.retain(|it| *it != of),
                    _ => {}
                }
                self.found.epochs.synchronisations.push((of, call));
            }
            ("RmaAcquireLock", [of, rank, lock, kind, ..]) => {
                self.found.epochs.locks.push(LockRecord {
                    lock: (window(*of), *rank, *lock),
                    acquired: Some(*kind == EXCLUSIVE),
                    at,
                    call,
                });
            }
            ("RmaReleaseLock", [of, rank, lock, ..]) => {
                self.found.epochs.locks.push(LockRecord {
                    lock: (window(*of), *rank, *lock),
                    acquired: None,
                    at,
                    call,
                });
            }
            ("RmaCollectiveBegin", _) => self.fence_since = Some(at),
            ("RmaCollectiveEnd", [_, level, of, ..]) => {
                let since = self.fence_since.take();
                let is_synchronising = level & SYNCHRONISES_PROCESSES != 0;
                if let (Some(begin), true) = (since, is_synchronising) {
                    self.found.fences.push(Fence {
                        window: window(*of),
                        call,
                        begin,
                        end: at,
                    });
                }
            }
            _ => {}
        }
    }

    fn other(&mut self, at: Ticks, kind: usize, args: &[u64]) {
        let name = self.definitions.kinds.get(kind);
        if self.open.is_some() {
            // A call may begin at the time at which a parallel region ends.
            if self.regions.extrae(kind) == Some(ExtraeEvent::Parallel) && args.first() == Some(&0)
            {
                return self.extrae(at, ExtraeEvent::Parallel, 0);
            }
            return self.window(at, name.map_or("", String::as_str), args);
        }
        if !self.regions.is_hybrid {
            return;
        }
        if let Some(event) = self.regions.extrae(kind) {
            let value = args.first().copied().unwrap_or_default();
            self.extrae(at, event, value);
        } else if name.is_some_and(|name| is_fork(name)) {
            self.has_forked |= self.team.is_none();
            self.push(CallKind::Fork, at, at);
        } else if let Some((event, lock)) = LockEvent::of(self.definitions, kind, args) {
            let enter = self.stack.last().map_or(at, |frame| frame.enter);
            let call = match event {
                LockEvent::Acquire => self.push(CallKind::Acquire, enter, at),
                LockEvent::Release => self.push(CallKind::Release, at, at),
            };
            self.found.locks.push((event, lock, call));
        }
    }
}

impl Visitor for Scan<'_> {
    fn enter(&mut self, at: Ticks, region: RegionId, depth: usize) {
        if self.open.is_none() && self.regions.is_team(region) {
            self.enter_team(at, region, depth);
        }
        let parent = self.stack.last().map(|frame| frame.path);
        let function = self.regions.function(region);
        let known = self.finder.find(self.paths, parent, function);
        let path = known.unwrap_or_else(|| {
            self.paths.child(parent, function).unwrap_or_else(|error| {
                self.failed.get_or_insert(error);
                CallPathId(0)
            })
        });
        let enter = at;
        self.stack.push(Frame { path, enter });
        if self.open.is_none()
            && let Some(kind) = self.regions.kind(region)
        {
            self.open = Some(depth);
            self.found.calls.push(Call {
                path,
                kind,
                enter: at,
                leave: at,
            });
            let number = u32::try_from(self.found.calls.len() - 1);
            if let (true, Ok(number)) = (kind.is_wait(), number) {
                self.found.waits.push(number);
            }
        }
    }

    fn leave(&mut self, at: Ticks, region: RegionId, depth: usize, _: Close) {
        let frame = self.stack.pop();
        let is_inside = self.regions.is_extrae || self.open.is_some_and(|open| open < depth);
        if is_inside && self.regions.is_task(region) {
            self.leave_task(at);
        }
        if self.open == Some(depth) {
            self.open = None;
            if let Some(call) = self.found.calls.last_mut() {
                call.leave = at;
            }
        }
        if self.team == Some(depth)
            && self.regions.is_extrae
            && let Some(frame) = frame
        {
            self.leave_outlined(at, frame.path);
        }
        if self.team.is_none_or(|team| team == depth) && !self.regions.is_inactive(region) {
            self.team = None;
            self.idle_since = at;
            self.has_forked = false;
        }
    }

    fn event(&mut self, at: Ticks, event: Event<'_>, index: usize) {
        let Ok(index) = u32::try_from(index) else {
            self.failed.get_or_insert(perf_core::Error::TooMany {
                what: "events of a location",
                limit: u64::from(u32::MAX),
            });
            return;
        };
        if let Event::Other { kind, args } = event {
            return self.other(at, kind.index(), args);
        }
        if let Event::Rma { window, remote, .. } = event
            && self.open.is_some()
            && self.accessing.contains(&window)
        {
            let call = self.found.calls.len().saturating_sub(1) as u32;
            self.found.epochs.accesses.push((window, remote, call));
        }
        self.found.requests.event(event, index as usize);
        if !is_communication(event) {
            return;
        }
        if self.open.is_none() {
            self.push(CallKind::Other, at, at);
        }
        let Some(call) = self.found.calls.len().checked_sub(1) else {
            return;
        };
        // There are no more calls than events, which were counted above.
        let call = call as u32;
        match self.found.records.last_mut() {
            Some((_, last, of)) if *of == call => *last = index,
            _ => self.found.records.push((index, index, call)),
        }
    }
}

/// Returns `true` for events of messages and collectives.
fn is_communication(event: Event<'_>) -> bool {
    matches!(
        event,
        Event::Send(_)
            | Event::SendComplete { .. }
            | Event::RecvPost { .. }
            | Event::Recv(_)
            | Event::CollectiveBegin
            | Event::CollectivePost { .. }
            | Event::CollectiveEnd(_)
    )
}

/// Returns the calls of a location, and adds the call paths of its frames to `paths`. The recording begins at `begin`.
pub(super) fn scan(
    location: LocationView<'_>,
    begin: Ticks,
    definitions: &Definitions,
    regions: &Regions,
    paths: &mut CallTree,
    job: &Job,
) -> Result<Scanned> {
    let mut scan = Scan {
        definitions,
        regions,
        paths,
        finder: CallPathFinder::new(),
        found: Scanned::default(),
        stack: Vec::new(),
        open: None,
        team: None,
        fence_since: None,
        accessing: Vec::new(),
        idle_since: begin,
        has_forked: false,
        constructs: Constructs::default(),
        failed: None,
    };
    scan.found.repairs = replay(location, &mut scan, job)?;
    scan.finish_teams();
    scan.found.requests.finish();
    match scan.failed {
        Some(error) => Err(error.into()),
        None => Ok(scan.found),
    }
}
