//! Controlled logical clock: moves events that precede an event on which they depend, and later
//! events of the location by less and less.

use super::apply;
use crate::Result;
use perf_core::{CollectiveOp, Job, LocationId, Messages, Ticks, Trace};

/// Share of an interval that remains while a location returns to its own clock.
const CONTROL: f64 = 0.99;

/// Times of all events after the repair.
pub(super) struct Repaired {
    pub(super) times: Vec<Vec<Ticks>>,
    pub(super) moved: u64,
    pub(super) farthest: u64,
}

/// Condition on an event of a location, or the part of the event in the condition of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Condition {
    /// The event receives the message that this other event sends.
    After(LocationId, usize),
    /// The event ends a member of a collective, given by number.
    EndOf(usize),
    /// The event begins a member of a collective, given by number, that sends data.
    BeginOf(usize),
}

/// Begins of a collective.
#[derive(Clone, Debug, Default)]
struct Meeting {
    /// Begins that have no time yet.
    missing: usize,
    /// Latest begin so far.
    latest: Ticks,
    /// Locations that wait for the missing begins.
    waiting: Vec<usize>,
}

/// Conditions of each location with the indices of their events, in order, and the collectives that they refer to.
struct Conditions {
    by_location: Vec<Vec<(usize, Condition)>>,
    meetings: Vec<Meeting>,
}

/// State of the repair.
struct Repair {
    recorded: Vec<Vec<Ticks>>,
    conditions: Conditions,
    repaired: Repaired,
    /// Number of conditions of each location that hold.
    met: Vec<usize>,
    /// Locations that wait for an event of each location.
    waiting: Vec<Vec<(usize, usize)>>,
    ready: Vec<usize>,
}

/// Moves each event that is before an event on which it depends to the time of that event. Later events of the location
/// move with it and return to their own times: intervals shrink to 99 % until the distance is made up.
///
/// Locations take turns: each proceeds until an event depends on another one that has no time yet. Conditions that
/// depend on each other in a circle, which no program can have recorded, are dropped.
pub(super) fn times(trace: &Trace, matched: &Messages, job: &Job) -> Result<Repaired> {
    let recorded = apply::times(trace);
    let count = recorded.len();
    let times = recorded
        .iter()
        .map(|times| Vec::with_capacity(times.len()))
        .collect();
    let mut repair = Repair {
        conditions: conditions(trace, matched, job)?,
        repaired: Repaired {
            times,
            moved: 0,
            farthest: 0,
        },
        met: vec![0; count],
        waiting: vec![Vec::new(); count],
        ready: (0..count).rev().collect(),
        recorded,
    };
    let mut is_dropping = false;
    loop {
        while let Some(location) = repair.ready.pop() {
            repair.proceed(location, is_dropping, job)?;
            is_dropping = false;
        }
        // Locations that are not done wait for each other in a circle.
        let is_stuck = |at: &usize| repair.repaired.times[*at].len() < repair.recorded[*at].len();
        let Some(stuck) = (0..count).find(is_stuck) else {
            return Ok(repair.repaired);
        };
        repair.ready.push(stuck);
        is_dropping = true;
    }
}

impl Repair {
    /// Assigns times to the events of a location up to an event that must wait. `is_dropping` drops the conditions of
    /// the first event.
    fn proceed(&mut self, location: usize, mut is_dropping: bool, job: &Job) -> Result<()> {
        let mut checks = job.checks();
        while let Some(at) = self.recorded[location]
            .get(self.repaired.times[location].len())
            .copied()
        {
            checks.next(1)?;
            let index = self.repaired.times[location].len();
            let Some(earliest) = self.earliest(location, index, is_dropping) else {
                break;
            };
            is_dropping = false;
            let last = self.repaired.times[location].last().copied();
            let before = index
                .checked_sub(1)
                .and_then(|it| self.recorded[location].get(it));
            let shrunk = last.zip(before).map_or(Ticks(0), |(last, before)| {
                let interval = at.saturating_since(*before) as f64 * CONTROL;
                Ticks(last.0.saturating_add(interval as u64))
            });
            let time = at.max(shrunk).max(earliest);
            let distance = time.saturating_since(at);
            self.repaired.moved += u64::from(distance > 0);
            self.repaired.farthest = self.repaired.farthest.max(distance);
            self.repaired.times[location].push(time);
            self.begin(location, index, time);
        }
        let done = self.repaired.times[location].len();
        let ready = &mut self.ready;
        self.waiting[location].retain(|(cause, waiter)| {
            if *cause < done {
                ready.push(*waiter);
            }
            *cause >= done
        });
        Ok(())
    }

    /// Returns the next condition of an event that is not met yet, if any.
    fn condition(&self, location: usize, index: usize) -> Option<Condition> {
        let next = self.conditions.by_location[location].get(self.met[location]);
        next.filter(|it| it.0 == index).map(|it| it.1)
    }

    /// Returns the earliest time that the conditions of an event allow; `None` if one of them has no time yet.
    fn earliest(&mut self, location: usize, index: usize, is_dropping: bool) -> Option<Ticks> {
        let mut earliest = Ticks(0);
        while let Some(condition) = self.condition(location, index) {
            let time = match condition {
                Condition::After(other, cause) => {
                    let time = self.repaired.times[other.index()].get(cause).copied();
                    if time.is_none() && !is_dropping {
                        self.waiting[other.index()].push((cause, location));
                        return None;
                    }
                    time.unwrap_or_default()
                }
                Condition::EndOf(number) => {
                    let meeting = &mut self.conditions.meetings[number];
                    if meeting.missing > 0 && !is_dropping {
                        meeting.waiting.push(location);
                        return None;
                    }
                    meeting.latest
                }
                Condition::BeginOf(_) => break,
            };
            earliest = earliest.max(time);
            self.met[location] += 1;
        }
        Some(earliest)
    }

    /// Records the time of an event in the collectives that it begins.
    fn begin(&mut self, location: usize, index: usize, time: Ticks) {
        while let Some(condition) = self.condition(location, index) {
            if let Condition::BeginOf(number) = condition {
                let meeting = &mut self.conditions.meetings[number];
                meeting.missing -= 1;
                meeting.latest = meeting.latest.max(time);
                if meeting.missing == 0 {
                    self.ready.append(&mut meeting.waiting);
                }
            }
            self.met[location] += 1;
        }
    }
}

/// Returns the conditions of all locations.
fn conditions(trace: &Trace, matched: &Messages, job: &Job) -> Result<Conditions> {
    let mut found = Conditions {
        by_location: vec![Vec::new(); trace.events().len()],
        meetings: Vec::new(),
    };
    let mut checks = job.checks();
    for message in &matched.messages {
        checks.next(1)?;
        let (sender, receiver) = (message.sender, message.receiver);
        if sender.location != receiver.location {
            let condition = Condition::After(sender.location, sender.index);
            found.by_location[receiver.location.index()].push((receiver.index, condition));
        }
    }
    for collective in matched
        .collectives
        .iter()
        .filter(|it| it.op.is_all_to_all())
    {
        checks.next(collective.members.len())?;
        let is_barrier = collective.op == CollectiveOp::Barrier;
        let (number, mut meeting) = (found.meetings.len(), Meeting::default());
        for member in &collective.members {
            let list = &mut found.by_location[member.end.location.index()];
            if is_barrier || member.received > 0 {
                list.push((member.end.index, Condition::EndOf(number)));
            }
            if is_barrier || member.sent > 0 {
                list.push((member.begin.index, Condition::BeginOf(number)));
                meeting.missing += 1;
            }
        }
        found.meetings.push(meeting);
    }
    for list in &mut found.by_location {
        job.sort_by(list, Ord::cmp)?;
    }
    Ok(found)
}
