//! [`WaitStates`]: every [`WaitState`] of a trace, the time for which a call waits for another
//! location, with sums by kind as profile and table.
//!
//! All times are charged to the location that waits, and none is longer than its call. The formulas are those of
//! Scalasca 2.6.
//!
//! | kind | waiting time |
//! |---|---|
//! | late sender | `min(enter of the send, leave of the receive) - enter of the receive`, if above 0. The receive is the call that completes it. Tests do not wait. A wait for several requests waits for the latest of them, once |
//! | late sender, wrong order | as above, if a message that was sent earlier is received in a later call of the same location, by the records of the sends |
//! | late receiver | `enter of the call that posts the receive - enter of the call that completes the send`, if that call was left later. Standard and synchronous sends and waits alone. A wait for several requests waits for the latest of them, once, and not if it has a late sender |
//! | wait at barrier | `min(latest begin, own end) - own begin`, by the records of the collective |
//! | wait at N-to-N | likewise. If a member ended before another one began, only members that received data wait, for members that sent data |
//! | late broadcast | `min(begin of the root, own end) - own begin`, if above 0, for members that received data |
//! | early reduce | `min(latest begin of a member that sent data, own end) - own begin`, at the root |
//! | early scan | likewise, for the members of lower rank |
//! | completion | `own end - max(earliest end, latest begin)` |
//! | wait at fence | as a barrier, by the records of a collective operation on a window in `MPI_Win_fence` |
//! | late post | `enter of the post - enter of the start`, for the last one of all targets with accesses; `- enter of the complete` if the start returned before |
//! | early wait | `enter of the complete - enter of the wait`, for the last one of all ranks with accesses |
//! | late complete | the part of an early wait after the last access of that rank |
//! | lock of window | `enter of the unlock of the rank before - enter of the lock`, or of the unlock if the lock returned before. That rank still holds the lock within its unlock: the time is a lower bound |
//! | wait at team barrier | as a barrier, by arrival and leave of the threads of a team. A thread arrives at its enter, or at the end of the last task that it executes in the barrier |
//! | idle thread | `enter of the fork - end of the last parallel region of the thread`; where threads stay in a barrier up to the fork, from its latest enter |
//! | lock contention | `release by the thread that held the lock before - enter of the frame that acquires it`, if above 0 |
//! | host waits for device | `end of the work - enter of the call`, for the work of the process that ends last within a synchronising call |
//! | device waits for host | `enter of the launch - end of the last work on any stream of the device`, if above 0 |
//! | stream waits for stream | `end of the work of the other stream - later one of the launch and the end of the work before`, if one of the two is a collective operation |
//! | queueing on device | `end of the work before on the stream - leave of the launch`, if above 0. Not waiting time |
//! | wait at finalize, init completion | as a barrier, by enter and leave of the calls |
//!
//! Kinds below `wait at team barrier` are not in Scalasca's results; [`Activities::of_mpi`] finds the others alone.
//!
//! Broadcasts and reductions of accelerators are N-to-N operations if their root is unknown and no member ended before
//! all had begun.
//!
//! `MPI_Alltoallv` and `MPI_Alltoallw` are no N-to-N operations, since two members may exchange nothing.
//! Members of communicators of one do not wait.

mod collectives;
mod links;
mod messages;
mod pattern;
mod profile;

pub(crate) use collectives::meets_without_root;
pub(crate) use pattern::Flow;
pub use pattern::Pattern;

use crate::Result;
use crate::activity::{Activities, CallId};
use perf_core::{Job, Profile, Table, Ticks, TraceView, parallel};
use std::collections::BTreeMap;

/// One wait state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct WaitState {
    /// Call that waits.
    pub call: CallId,
    /// Kind.
    pub pattern: Pattern,
    /// Begin of the waiting.
    pub start: Ticks,
    /// Waiting time in ticks.
    pub ticks: u64,
    /// Call that was waited for: the send, the post of the receive, or the call of the last member or root.
    pub cause: Option<CallId>,
    /// Message that was waited for, as its number in [`Activities::messages`].
    pub message: Option<u32>,
    /// Collective that was waited in, as its number in [`Activities::collectives`].
    pub collective: Option<u32>,
}

/// The wait states of a trace.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct WaitStates {
    states: Vec<WaitState>,
    #[cfg_attr(feature = "serde", serde(skip))]
    profile: Profile,
}

impl WaitStates {
    /// Finds the wait states of a view.
    ///
    /// # Errors
    ///
    /// As [`Activities::of`].
    pub fn of(view: TraceView<'_>, job: &Job) -> Result<Self> {
        Self::of_activities(&Activities::of(view, job)?, job)
    }

    /// Finds the wait states of a trace whose activities are known.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Cancelled`](crate::Error::Cancelled) if the job is cancelled.
    pub fn of_activities(activities: &Activities, job: &Job) -> Result<Self> {
        let mut states = messages::wait_states(activities, job)?;
        states.append(&mut collectives::wait_states(activities, job)?);
        states.append(&mut links::wait_states(activities, job)?);
        // A total order: which of two that overlap is shortened does not depend on the order they were found in.
        let number = |state: &WaitState| (state.message, state.collective);
        let key = |state: &WaitState| (state.call, state.pattern, state.start, number(state));
        parallel::sort_by(&mut states, |a, b| key(a).cmp(&key(b)), job)?;
        separate(&mut states);
        states.shrink_to_fit();
        let profile = profile::profile(activities, &states, job)?;
        Ok(WaitStates { states, profile })
    }

    /// Wait states in order of location, call and kind.
    ///
    /// A call may have several kinds, such as a late sender and, as a part of it, a wrong order.
    pub fn states(&self) -> &[WaitState] {
        &self.states
    }

    /// Severities by kind, call path and location in nanoseconds, exclusive.
    ///
    /// The metric `waiting` is the sum of all kinds that are [waiting time](Pattern::is_waiting), and the others are named
    /// after their kind. The call tree is [`Activities::paths`].
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Returns the sum of a kind in ticks.
    pub fn total(&self, pattern: Pattern) -> u64 {
        let states = self.states.iter().filter(|state| state.pattern == pattern);
        states.map(|state| state.ticks).sum()
    }

    /// Returns the kinds as a table: number, sum and largest of each that occurs.
    pub fn table(&self, activities: &Activities) -> Table {
        let mut kinds: BTreeMap<Pattern, (u64, u64, u64)> = BTreeMap::new();
        for state in &self.states {
            let (count, sum, largest) = kinds.entry(state.pattern).or_default();
            *count += 1;
            *sum = sum.saturating_add(state.ticks);
            *largest = (*largest).max(state.ticks);
        }
        let clock = activities.clock();
        let time = |ticks: u64| clock.total(u128::from(ticks));
        Table::new("wait states", "Number and time of each kind of wait state.")
            .text("kind", kinds.keys().map(|kind| kind.name()))
            .unsigned("count", "", kinds.values().map(|it| it.0))
            .times("sum", kinds.values().map(|it| time(it.1)))
            .times("largest", kinds.values().map(|it| time(it.2)))
    }
}

/// Returns the wait states that are waiting time, in order of location and time. Parts of others are not among them.
pub(crate) fn waiting_states<'a>(states: &'a [WaitState], job: &Job) -> Result<Vec<&'a WaitState>> {
    let waiting = states.iter().filter(|it| it.pattern.is_waiting());
    let mut waiting: Vec<&WaitState> = waiting.collect();
    let key = |it: &WaitState| (it.call, it.start);
    parallel::sort_by(&mut waiting, |a, b| key(a).cmp(&key(b)), job)?;
    Ok(waiting)
}

/// Shortens wait states of a call that overlap, as those of several damaged collectives may, so that no time counts twice.
fn separate(states: &mut Vec<WaitState>) {
    let mut at = 0;
    while let Some(first) = states.get(at).copied() {
        let same = states
            .iter()
            .skip(at)
            .take_while(|it| it.call == first.call);
        let end = at + same.count();
        let own = &mut states[at..end];
        if own.len() == 1 {
            at = end;
            continue;
        }
        let mut waiting: Vec<&mut WaitState> = own
            .iter_mut()
            .filter(|it| it.pattern.is_waiting())
            .collect();
        if waiting.len() > 1 {
            waiting.sort_by_key(|it| it.start);
            let mut free = Ticks(0);
            for state in waiting {
                let end = Ticks(state.start.0.saturating_add(state.ticks));
                state.start = state.start.max(free);
                state.ticks = end.saturating_since(state.start);
                free = free.max(end);
            }
        }
        at = end;
    }
    states.retain(|state| state.ticks > 0);
}
