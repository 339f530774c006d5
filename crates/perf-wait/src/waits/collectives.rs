//! Wait states of collective operations, and of the begin and end of MPI.

use super::{Flow, Pattern, WaitState};
use crate::Result;
use crate::activity::{Activities, CallCollective, CallId, CallKind, CallMember};
use perf_core::{Job, Ticks};

/// Returns the wait states of all collective operations.
pub(super) fn wait_states(activities: &Activities, job: &Job) -> Result<Vec<WaitState>> {
    let mut states = Vec::new();
    let mut checks = job.checks();
    for (number, collective) in (0..).zip(activities.collectives()) {
        checks.next(collective.members.len())?;
        if collective.members.len() > 1 {
            let mut found = Found {
                activities,
                number: Some(number),
                states: &mut states,
            };
            found.add(collective);
        }
    }
    let mut found = Found {
        activities,
        number: None,
        states: &mut states,
    };
    let finalize = members(activities, CallKind::Finalize);
    if let Some(last) = latest_begin(&finalize) {
        found.wait(Pattern::FinalizeWait, &finalize, last);
    }
    found.completion(
        Pattern::InitCompletion,
        &members(activities, CallKind::Init),
    );
    Ok(states)
}

/// Returns the calls of a kind as members of one operation.
fn members(activities: &Activities, kind: CallKind) -> Vec<CallMember> {
    let calls = activities.calls().filter(|(_, call)| call.kind == kind);
    let member = |(id, call): (CallId, &crate::activity::Call)| CallMember {
        call: id,
        begin: call.enter,
        end: call.leave,
        sent: 0,
        received: 0,
    };
    calls.map(member).collect()
}

/// Returns the member that begins last, the first among equals.
fn latest_begin<'a>(members: impl IntoIterator<Item = &'a CallMember>) -> Option<&'a CallMember> {
    let later = |a: &'a CallMember, b: &'a CallMember| if b.begin > a.begin { b } else { a };
    members.into_iter().reduce(later)
}

/// Returns `true` for an operation of accelerators from or to an unknown root in which all members seem to wait for all:
/// none of them ended before the last one began. NCCL passes data along a ring or tree of ranks with small buffers.
pub(crate) fn meets_without_root(activities: &Activities, collective: &CallCollective) -> bool {
    let members = &collective.members;
    let is_rooted = matches!(Flow::of(collective.op), Flow::FromRoot | Flow::ToRoot);
    let is_device = || {
        let mut kinds = members.iter().map(|it| activities.kind(it.call));
        kinds.all(|kind| kind == CallKind::DeviceCollective)
    };
    let last_begin = members.iter().map(|it| it.begin).max();
    let first_end = members.iter().map(|it| it.end).min();
    is_rooted && collective.root.is_none() && first_end > last_begin && is_device()
}

/// Wait states of one operation.
struct Found<'a> {
    activities: &'a Activities,
    number: Option<u32>,
    states: &'a mut Vec<WaitState>,
}

impl Found<'_> {
    fn add(&mut self, collective: &CallCollective) {
        let members = &collective.members;
        let root = collective.root.and_then(|root| members.get(root));
        match Flow::of(collective.op) {
            Flow::Barrier if self.are(members, CallKind::TeamBarrier) => {
                if let Some(last) = latest_begin(members) {
                    self.wait(Pattern::TeamBarrierWait, members, last);
                }
            }
            Flow::Barrier if self.are(members, CallKind::Fence) => {
                if let Some(last) = latest_begin(members) {
                    self.wait(Pattern::FenceWait, members, last);
                }
            }
            Flow::Barrier => {
                if let Some(last) = latest_begin(members) {
                    self.wait(Pattern::BarrierWait, members, last);
                }
                self.completion(Pattern::BarrierCompletion, members);
            }
            Flow::All => self.all_to_all(members),
            _ if meets_without_root(self.activities, collective) => self.all_to_all(members),
            Flow::FromRoot => {
                let Some(root) = root else { return };
                let others = members.iter().filter(|it| it.call != root.call);
                self.wait(
                    Pattern::LateBroadcast,
                    others.filter(|it| it.received > 0),
                    root,
                );
            }
            Flow::ToRoot => {
                let senders = members.iter().filter(|it| it.sent > 0);
                if let (Some(root), Some(last)) = (root, latest_begin(senders)) {
                    self.wait(Pattern::EarlyReduce, [root], last);
                }
            }
            // Members are in order of location, which is that of ranks in all recordings seen.
            Flow::Prefix => {
                for (place, member) in members.iter().enumerate() {
                    let lower = &members[..place];
                    if let Some(last) = latest_begin(lower) {
                        self.wait(Pattern::EarlyScan, [member], last);
                    }
                }
            }
            Flow::Unknown => {}
        }
    }

    /// Returns `true` if the calls of all members are of a kind.
    fn are(&self, members: &[CallMember], kind: CallKind) -> bool {
        members
            .iter()
            .all(|it| self.activities.kind(it.call) == kind)
    }

    fn all_to_all(&mut self, members: &[CallMember]) {
        let Some(last) = latest_begin(members) else {
            return;
        };
        let first_end = members.iter().map(|it| it.end).min();
        if first_end > Some(last.begin) {
            self.wait(Pattern::NxNWait, members, last);
            self.completion(Pattern::NxNCompletion, members);
        } else if let Some(last) = latest_begin(members.iter().filter(|it| it.sent > 0)) {
            let receivers: Vec<CallMember> = members
                .iter()
                .copied()
                .filter(|it| it.received > 0)
                .collect();
            self.wait(Pattern::NxNWait, &receivers, last);
            self.completion(Pattern::NxNCompletion, &receivers);
        }
    }

    /// Lets members wait until `cause` begins, but not longer than their own end.
    fn wait<'m>(
        &mut self,
        pattern: Pattern,
        members: impl IntoIterator<Item = &'m CallMember>,
        cause: &CallMember,
    ) {
        for member in members {
            let (begin, end) = self.within(member);
            let ticks = cause.begin.min(end).saturating_since(begin);
            self.push(pattern, member, begin, ticks, Some(cause.call));
        }
    }

    /// Adds the time of members after the first one has left, and the last one has begun.
    fn completion(&mut self, pattern: Pattern, members: &[CallMember]) {
        let first_end = members.iter().map(|it| it.end).min();
        let (Some(end), Some(last)) = (first_end, latest_begin(members)) else {
            return;
        };
        let complete = end.max(last.begin);
        for member in members {
            let (begin, end) = self.within(member);
            let complete = complete.max(begin);
            let ticks = end.saturating_since(complete);
            self.push(pattern, member, complete, ticks, None);
        }
    }

    /// Begin and end of a member within its call. A non-blocking operation begins in an earlier call.
    fn within(&self, member: &CallMember) -> (Ticks, Ticks) {
        let call = self.activities.call(member.call);
        call.map_or((member.begin, member.end), |call| {
            (member.begin.max(call.enter), member.end.min(call.leave))
        })
    }

    fn push(
        &mut self,
        pattern: Pattern,
        member: &CallMember,
        start: Ticks,
        ticks: u64,
        cause: Option<CallId>,
    ) {
        if ticks > 0 {
            self.states.push(WaitState {
                call: member.call,
                pattern,
                start,
                ticks,
                cause,
                message: None,
                collective: self.number,
            });
        }
    }
}
