//! Wait states of threads, accelerators and windows, from the links between calls.

use super::{Pattern, WaitState};
use crate::Result;
use crate::activity::{Activities, Call, CallKind, CallLink};
use perf_core::{Job, Ticks};

/// Returns the wait states of all links between calls.
pub(super) fn wait_states(activities: &Activities, job: &Job) -> Result<Vec<WaitState>> {
    let mut states = Vec::new();
    let mut checks = job.checks();
    for link in activities.links() {
        checks.next(1)?;
        let (Some(call), Some(on)) = (activities.call(link.call), activities.call(link.on)) else {
            continue;
        };
        let pattern = match call.kind {
            CallKind::WindowStart | CallKind::WindowComplete => Pattern::LatePost,
            CallKind::WindowLock | CallKind::WindowUnlock => Pattern::WindowLock,
            CallKind::WindowWait => {
                states.extend(late_complete(activities, link, call));
                Pattern::EarlyWait
            }
            CallKind::Idle | CallKind::TeamBarrier => Pattern::IdleThread,
            CallKind::Acquire => Pattern::LockContention,
            CallKind::Synchronise => Pattern::HostWait,
            CallKind::DeviceGap if on.kind == CallKind::DeviceGap => Pattern::StreamWait,
            CallKind::DeviceGap => {
                states.extend(queueing(link, call, on));
                Pattern::DeviceIdle
            }
            _ => continue,
        };
        let start = link.since.max(call.enter);
        let ticks = on.enter.min(call.leave).saturating_since(start);
        states.extend((ticks > 0).then_some(WaitState {
            call: link.call,
            pattern,
            start,
            ticks,
            cause: Some(link.on),
            message: None,
            collective: None,
        }));
    }
    Ok(states)
}

/// Returns the part of an early wait after the last access of the rank that completes late.
fn late_complete(activities: &Activities, link: &CallLink, wait: &Call) -> Option<WaitState> {
    let own = activities.locations().get(link.on.location.index())?;
    let before = own.calls.get(..link.on.index as usize)?.iter().rev();
    let mut epoch = before.take_while(|call| call.kind != CallKind::WindowStart);
    let last = epoch.find(|call| call.kind == CallKind::WindowAccess)?;
    let start = link.since.max(last.leave);
    let end = activities.enter(link.on).min(wait.leave);
    let ticks = end.since(start).filter(|ticks| *ticks > 0)?;
    Some(WaitState {
        call: link.call,
        pattern: Pattern::LateComplete,
        start,
        ticks,
        cause: Some(link.on),
        message: None,
        collective: None,
    })
}

/// Returns the time between a launch and the end of the work before it.
fn queueing(link: &CallLink, gap: &Call, launch: &Call) -> Option<WaitState> {
    // The gap of the first work begins with the recording: there is nothing before it.
    let ticks = gap.enter.saturating_since(launch.leave);
    (ticks > 0).then_some(WaitState {
        call: link.call,
        pattern: Pattern::Queueing,
        start: Ticks(launch.leave.0),
        ticks,
        cause: None,
        message: None,
        collective: None,
    })
}
