//! [`Synchronisations`]: the last time before a wait state at which two locations synchronised.

use crate::activity::{Activities, CallKind};
use crate::waits::{Flow, Pattern, WaitState};
use crate::{Error, Result};
use perf_core::{Job, LocationGroupId, LocationId, Ticks, parallel};
use std::collections::HashMap;
use std::ops::Range;

/// Times at which pairs of locations synchronised.
pub(super) struct Synchronisations<'a> {
    activities: &'a Activities,
    /// Barriers and N-to-N operations of each location as latest begin and number, ascending.
    collectives: Vec<Vec<(Ticks, u32)>>,
    /// Other synchronisations of each pair, ascending.
    pairs: HashMap<(LocationId, LocationId), Vec<Ticks>>,
    /// Forks of each process, at which the threads of the team begin together, ascending.
    forks: HashMap<LocationGroupId, Vec<Ticks>>,
    start: Ticks,
}

/// Number of collectives of a waiting location that were searched for each causing one, and the latest synchronisation among
/// them. A sequence of queries at rising times looks at each collective once.
pub(super) type Searched = HashMap<LocationId, (usize, Option<Ticks>)>;

fn pair(a: LocationId, b: LocationId) -> (LocationId, LocationId) {
    (a.min(b), a.max(b))
}

/// Returns `true` if a wait state synchronises its two locations, but not all members of a collective.
fn is_pair(activities: &Activities, wait: &WaitState) -> bool {
    match wait.collective {
        None => wait.pattern != Pattern::FinalizeWait,
        Some(number) => {
            let of = activities.collectives().get(number as usize);
            let flow = of.map_or(Flow::Unknown, |it| Flow::of(it.op));
            !matches!(flow, Flow::Barrier | Flow::All)
        }
    }
}

impl<'a> Synchronisations<'a> {
    /// Finds the synchronisations that the wait states and collectives of a trace imply.
    pub(super) fn of(
        activities: &'a Activities,
        waits: &[&WaitState],
        places_of: &[Range<usize>],
        job: &Job,
    ) -> Result<Self> {
        let own = parallel::try_map(places_of.len(), |number| {
            let mut pairs: HashMap<_, Vec<Ticks>> = HashMap::new();
            let mut checks = job.checks();
            for wait in &waits[places_of[number].clone()] {
                checks.next(1)?;
                if let Some(cause) = wait.cause.filter(|_| is_pair(activities, wait)) {
                    let both = pair(wait.call.location, cause.location);
                    pairs
                        .entry(both)
                        .or_default()
                        .push(cause_time(activities, wait));
                }
            }
            Ok::<_, Error>(pairs)
        })?;
        let mut pairs: HashMap<_, Vec<Ticks>> = HashMap::new();
        for (both, mut times) in own.into_iter().flatten() {
            pairs.entry(both).or_default().append(&mut times);
        }
        for times in pairs.values_mut() {
            times.sort_unstable();
        }
        let mut collectives = vec![Vec::new(); activities.locations().len()];
        for (number, it) in (0..).zip(activities.collectives()) {
            let latest = it.members.iter().map(|member| member.begin).max();
            if let (Flow::Barrier | Flow::All, Some(latest)) = (Flow::of(it.op), latest) {
                for member in &it.members {
                    if let Some(list) = collectives.get_mut(member.call.location.index()) {
                        list.push((latest, number));
                    }
                }
            }
        }
        for list in &mut collectives {
            list.sort_unstable();
        }
        let mut forks: HashMap<_, Vec<Ticks>> = HashMap::new();
        for (id, call) in activities.calls().filter(|it| it.1.kind == CallKind::Fork) {
            if let Some(process) = activities.definitions().system.process(id.location) {
                forks.entry(process).or_default().push(call.enter);
            }
        }
        for times in forks.values_mut() {
            times.sort_unstable();
        }
        let inits = activities
            .calls()
            .filter(|(_, call)| call.kind == CallKind::Init);
        let start = inits.map(|(_, call)| call.enter).max();
        let start = start.or_else(|| activities.range().map(|range| range.0));
        Ok(Synchronisations {
            activities,
            collectives,
            pairs,
            forks,
            start: start.unwrap_or_default(),
        })
    }

    /// Returns the last synchronisation of the two locations of a wait state that is not after its begin and before the
    /// time `until` at which the waiting ends.
    ///
    /// A sequence of queries of one pair at rising times takes time in proportion to the collectives of one location.
    /// `searched` belongs to the waiting location.
    pub(super) fn before(
        &self,
        wait: &WaitState,
        cause: LocationId,
        until: Ticks,
        searched: &mut Searched,
    ) -> Ticks {
        let is_before = |time: &Ticks| *time <= wait.start && *time < until;
        let both = pair(wait.call.location, cause);
        let direct = self.pairs.get(&both).and_then(|times| {
            let after = times.partition_point(is_before);
            times.get(after.checked_sub(1)?).copied()
        });
        let direct = direct.max(self.fork_before(wait, cause, is_before));
        let all = self.collectives.get(wait.call.location.index());
        let all = all.map_or(&[][..], Vec::as_slice);
        let after = all.partition_point(|(time, _)| is_before(time));
        let is_member = |number: u32| {
            let it = self.activities.collectives().get(number as usize);
            let members = it.map_or(&[][..], |it| it.members.as_slice());
            members
                .binary_search_by_key(&cause, |member| member.call.location)
                .is_ok()
        };
        // Usually it is the last collective, of a communicator that contains all locations.
        let last = after.checked_sub(1).and_then(|last| all.get(last));
        if let Some((time, _)) = last.filter(|(_, number)| is_member(*number)) {
            return direct.max(Some(*time)).unwrap_or(self.start);
        }
        // The first search for a cause begins at the start.
        let (seen, found) = searched.get(&cause).copied().unwrap_or_default();
        let (seen, found) = if seen <= after {
            (seen, found)
        } else {
            (0, None)
        };
        let new = all[seen..after].iter().rev();
        let mut new = new.filter(|(_, number)| is_member(*number));
        let found = new.next().map(|(time, _)| *time).or(found);
        searched.insert(cause, (after, found));
        direct.max(found).unwrap_or(self.start)
    }
}

impl Synchronisations<'_> {
    /// Returns the last fork before a thread waits for another one of its team.
    fn fork_before(
        &self,
        wait: &WaitState,
        cause: LocationId,
        is_before: impl Fn(&Ticks) -> bool,
    ) -> Option<Ticks> {
        let is_of_team = matches!(
            wait.pattern,
            Pattern::TeamBarrierWait | Pattern::LockContention
        );
        let system = &self.activities.definitions().system;
        let process = system.process(cause).filter(|_| is_of_team)?;
        let is_same = system.process(wait.call.location) == Some(process);
        let forks = self.forks.get(&process).filter(|_| is_same)?;
        let after = forks.partition_point(is_before);
        forks.get(after.checked_sub(1)?).copied()
    }
}

/// Returns the time on the causing location at which the waiting ends: the enter of the call that was waited for, or its
/// begin by the record of the collective.
pub(super) fn cause_time(activities: &Activities, wait: &WaitState) -> Ticks {
    let Some(cause) = wait.cause else {
        return wait.start;
    };
    let collective = wait
        .collective
        .and_then(|it| activities.collectives().get(it as usize));
    let member = collective.and_then(|it| {
        let place = it
            .members
            .binary_search_by_key(&cause.location, |it| it.call.location);
        it.members.get(place.ok()?)
    });
    member.map_or_else(|| activities.enter(cause), |member| member.begin)
}
