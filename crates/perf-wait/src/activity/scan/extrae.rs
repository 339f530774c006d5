//! [`ExtraeEvent`]: OpenMP events of Extrae recordings; converts those of a thread to calls of
//! parallel regions, barriers, idle time and critical sections, completed by [`Teams`].
//!
//! | event of Paraver | meaning |
//! |---|---|
//! | 60000001 | begin and end of a parallel region, on the thread that forks it |
//! | 60000018 | outlined function of the region, a frame on each thread of the team. The threads that have left it wait for the end of the region, and no frame says so |
//! | 60000005 | barrier |
//! | 60000016 | end of a worksharing construct, a barrier if the thread is in state Synchronization |
//! | 60000006, 60000007 | critical sections with and without a name: 3 begins to acquire, 6 has acquired, 5 releases |
//! | 60000032 | address of the critical section that was acquired |

use super::{Frame, Scan};
use crate::activity::regions::LockEvent;
use crate::activity::{Call, CallKind, NO_PATH};
use perf_core::{CallPathId, RegionRole, Ticks};

/// Event of Extrae about OpenMP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::activity) enum ExtraeEvent {
    /// Begin or end of a parallel region.
    Parallel,
    Barrier,
    /// End of a worksharing construct.
    Join,
    /// Step of a critical section.
    Critical,
    /// Address of a critical section.
    CriticalName,
}

impl ExtraeEvent {
    /// Returns the event of a kind, whose name ends in the type of Paraver in parentheses.
    pub(in crate::activity) fn of(kind: &str) -> Option<Self> {
        let (_, number) = kind.strip_suffix(')')?.rsplit_once('(')?;
        Some(match number {
            "60000001" => ExtraeEvent::Parallel,
            "60000005" => ExtraeEvent::Barrier,
            "60000006" | "60000007" => ExtraeEvent::Critical,
            "60000016" => ExtraeEvent::Join,
            "60000032" => ExtraeEvent::CriticalName,
            _ => return None,
        })
    }
}

/// Values of the event of a critical section.
const ACQUIRING: u64 = 3;
const RELEASING: u64 = 5;
const ACQUIRED: u64 = 6;

/// Constructs of OpenMP that are open on a thread.
#[derive(Default)]
pub(super) struct Constructs {
    /// Begin of each parallel region.
    regions: Vec<Ticks>,
    /// Begin of a barrier.
    barrier: Option<Ticks>,
    /// End of the last task in the barrier.
    arrival: Option<Ticks>,
    /// Begin of the acquisition of a critical section.
    acquiring: Option<Ticks>,
    /// Numbers of the acquisitions of the critical sections that the thread is in.
    held: Vec<usize>,
}

impl Scan<'_> {
    /// Processes an event of Extrae.
    pub(super) fn extrae(&mut self, at: Ticks, event: ExtraeEvent, value: u64) {
        match (event, value) {
            (ExtraeEvent::Parallel, 0) => self.join(at),
            (ExtraeEvent::Parallel, _) => {
                self.has_forked |= self.team.is_none();
                self.push_at(CallKind::Fork, self.code_path(), at, at);
                self.constructs.regions.push(at);
            }
            (ExtraeEvent::Barrier | ExtraeEvent::Join, 0) => self.leave_barrier(at),
            (ExtraeEvent::Join, _) if !self.is_synchronising(at) => {}
            (ExtraeEvent::Barrier | ExtraeEvent::Join, _) => {
                self.constructs.barrier = self.team.map(|_| at);
                self.constructs.arrival = None;
            }
            (ExtraeEvent::Critical, ACQUIRING) => self.constructs.acquiring = Some(at),
            (ExtraeEvent::Critical, ACQUIRED) => {
                let since = self.constructs.acquiring.take().unwrap_or(at);
                let call = self.push_at(CallKind::Acquire, self.code_path(), since, at);
                self.constructs.held.push(self.found.locks.len());
                // Sections without a name exclude each other.
                self.found.locks.push((LockEvent::Acquire, 0, call));
            }
            (ExtraeEvent::Critical, RELEASING) => {
                let acquired = self.constructs.held.pop();
                let acquired = acquired.and_then(|at| self.found.locks.get(at));
                if let Some((_, lock, _)) = acquired.copied() {
                    let call = self.push_at(CallKind::Release, self.code_path(), at, at);
                    self.found.locks.push((LockEvent::Release, lock, call));
                }
            }
            (ExtraeEvent::CriticalName, name) if name != 0 => {
                let last = self.constructs.held.last();
                if let Some(acquired) = last.and_then(|at| self.found.locks.get_mut(*at)) {
                    acquired.1 = name;
                }
            }
            _ => {}
        }
    }

    /// Returns the call path of the innermost frame that is no state of the thread.
    fn code_path(&self) -> CallPathId {
        let is_code = |frame: &&Frame| {
            let path = self.paths.get(frame.path);
            path.is_some_and(|path| !self.regions.is_state(path.region))
        };
        let frame = self.stack.iter().rev().find(is_code);
        frame.map_or(NO_PATH, |frame| frame.path)
    }

    /// Returns `true` if the thread has just changed to the state Synchronization.
    fn is_synchronising(&self, at: Ticks) -> bool {
        let frame = self.stack.last().filter(|frame| frame.enter == at);
        let region = frame.and_then(|frame| Some(self.paths.get(frame.path)?.region));
        let region = region.and_then(|it| self.definitions.regions.get(it.index()));
        region.is_some_and(|it| it.role == RegionRole::Barrier)
    }

    /// Processes the end of a parallel region on the thread that forked it.
    fn join(&mut self, at: Ticks) {
        if let Some(begin) = self.constructs.regions.pop() {
            self.found.teams.regions.push((begin, at));
        }
    }

    fn leave_barrier(&mut self, at: Ticks) {
        let Some((since, team)) = self.constructs.barrier.take().zip(self.team) else {
            return;
        };
        let path = self.stack.get(team).map_or(NO_PATH, |frame| frame.path);
        let call = self.push_at(CallKind::TeamBarrier, path, since, at);
        let arrival = self.constructs.arrival.take();
        self.found.arrivals.extend(arrival.map(|at| (call, at)));
    }

    /// Processes the end of a task, in a barrier of Extrae if one is open.
    pub(super) fn note_arrival(&mut self, at: Ticks) {
        if self.constructs.barrier.is_some() {
            self.constructs.arrival = Some(at);
        }
    }

    /// Processes the end of the outlined function of a parallel region: the thread begins to wait for the end of the
    /// region, which is known when all threads have been read.
    pub(super) fn leave_outlined(&mut self, at: Ticks, path: CallPathId) {
        self.constructs.barrier = None;
        let call = self.push_at(CallKind::TeamBarrier, path, at, at);
        self.found.teams.joins.push(call);
    }

    /// Lets the fork of a team last until the thread that forks begins to work in it.
    pub(super) fn end_fork(&mut self, at: Ticks) {
        if let Some(fork) = self.found.calls.last_mut()
            && fork.kind == CallKind::Fork
        {
            fork.leave = at;
        }
    }
}

/// Parallel regions of Extrae on a thread.
#[derive(Debug, Default)]
pub(in crate::activity) struct Teams {
    /// Begins and ends of the parallel regions that the thread forked.
    pub(in crate::activity) regions: Vec<(Ticks, Ticks)>,
    /// Numbers of the calls in which the thread waits for the end of a region; their ends are not known.
    joins: Vec<u32>,
    /// End of the last region, if the thread takes part in regions of other threads alone.
    idle_since: Option<Ticks>,
}

impl super::Scanned {
    /// Sets the ends of the calls in which a thread waits for the end of a parallel region. `regions` are those of the
    /// process in order of their begin.
    pub(in crate::activity) fn set_joins(&mut self, regions: &[(Ticks, Ticks)]) {
        let joins = std::mem::take(&mut self.teams.joins);
        let mut unknown = Vec::new();
        for join in joins {
            let at = join as usize;
            let Some(enter) = self.calls.get(at).map(|call| call.enter) else {
                continue;
            };
            let before = regions.partition_point(|region| region.0 <= enter);
            let region = regions[..before].iter().rev().find(|it| it.1 >= enter);
            let next = self.calls.get_mut(at + 1);
            // A thread that works on before the region ends does not wait for its end.
            let works_until = next.as_ref().map(|next| match next.kind {
                CallKind::Idle => next.leave,
                _ => next.enter,
            });
            let end = region.map(|region| region.1);
            let end = end.filter(|end| works_until.is_none_or(|next| *end <= next));
            let Some(end) = end else {
                unknown.push(join);
                continue;
            };
            if let Some(idle) = next.filter(|next| next.kind == CallKind::Idle) {
                idle.enter = idle.enter.max(end);
            }
            if let Some(call) = self.calls.get_mut(at) {
                call.leave = end;
            }
            self.teams.idle_since = self.teams.idle_since.map(|since| since.max(end));
        }
        if !unknown.is_empty() {
            let mut number = 0;
            self.retain(|_| {
                number += 1;
                unknown.binary_search(&(number - 1)).is_err()
            });
        }
    }

    /// Adds the time after the last parallel region, at whose `end` the process ends, as idle. Returns the number of
    /// the call.
    pub(in crate::activity) fn end_idle(&mut self, end: Ticks) -> Option<u32> {
        let enter = self.teams.idle_since.filter(|since| *since < end)?;
        let number = u32::try_from(self.calls.len()).ok()?;
        let mut call = Call {
            path: NO_PATH,
            kind: CallKind::Idle,
            enter,
            leave: end,
        };
        let last = self.calls.last().map_or(Ticks(0), |call| call.leave);
        call.enter = call.enter.max(last).min(end);
        self.calls.push(call);
        Some(number)
    }
}

impl Scan<'_> {
    /// Completes the parallel regions at the end of the thread.
    pub(super) fn finish_teams(&mut self) {
        let forks = !self.found.teams.regions.is_empty() || !self.constructs.regions.is_empty();
        let is_member = !self.found.teams.joins.is_empty();
        if is_member && !forks {
            self.found.teams.idle_since = Some(self.idle_since);
        }
    }
}
