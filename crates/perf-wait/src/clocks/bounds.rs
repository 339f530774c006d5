//! [`Bounds`]: conditions that messages and collectives impose on the clocks of processes.

use super::likely::{self, LikelyBound};
use crate::Result;
use perf_core::{CollectiveInstance, CollectiveOp, Job, LocationId, Messages, Ticks, TraceView};
use std::collections::BTreeMap;

/// A time on the clock of one process that must not be after a time on the clock of another one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    /// Time of the earlier event, on its own clock.
    pub(super) early: Ticks,
    /// Time of the later event, on its own clock.
    pub(super) late: Ticks,
}

impl Bound {
    /// Returns the upper bound of the correction of the earlier process minus that of the later one.
    pub(super) fn difference(self) -> f64 {
        (i128::from(self.late.0) - i128::from(self.early.0)) as f64
    }
}

/// Begin and end of the members of an N-to-N operation, by process.
#[derive(Clone, Debug)]
pub(super) struct Meeting {
    /// Processes that send, with the begin of each.
    pub(super) begins: Vec<(usize, Ticks)>,
    /// Processes that receive, with the end of each.
    pub(super) ends: Vec<(usize, Ticks)>,
}

/// The conditions on the clocks of processes. Processes are numbered from 0.
#[derive(Debug)]
pub(super) struct Bounds {
    /// Process of each location.
    pub(super) process_of: Vec<usize>,
    /// Number of processes.
    pub(super) processes: usize,
    /// Messages by (process of the sender, process of the receiver).
    pub(super) pairs: BTreeMap<(usize, usize), Vec<Bound>>,
    /// N-to-N operations with data, and barriers.
    pub(super) meetings: Vec<Meeting>,
    /// Likely bounds by (early process, late process), which hold if calls that wait end as soon as they can.
    pub(super) likely: BTreeMap<(usize, usize), Vec<LikelyBound>>,
    /// Earliest time of a bound.
    pub(super) origin: Ticks,
    /// Latest time of a bound.
    pub(super) end: Ticks,
}

impl Bounds {
    pub(super) fn of(view: TraceView<'_>, matched: &Messages, job: &Job) -> Result<Self> {
        let system = &view.definitions().system;
        let mut numbers = BTreeMap::new();
        let process = |location: LocationId| {
            let group = system.process(location);
            let key = group.map_or((1, location.0), |group| (0, group.0));
            let next = numbers.len();
            *numbers.entry(key).or_insert(next)
        };
        let process_of: Vec<usize> = system.location_ids().map(process).collect();
        let mut bounds = Bounds {
            processes: numbers.len(),
            process_of,
            pairs: BTreeMap::new(),
            meetings: Vec::new(),
            likely: BTreeMap::new(),
            origin: Ticks(u64::MAX),
            end: Ticks(0),
        };
        let mut checks = job.checks();
        for message in &matched.messages {
            checks.next(1)?;
            let (sender, receiver) = (message.sender, message.receiver);
            let pair = bounds
                .process(sender.location)
                .zip(bounds.process(receiver.location));
            if let Some((from, to)) = pair.filter(|(from, to)| from != to) {
                bounds.see(sender.time);
                bounds.see(receiver.time);
                bounds.pairs.entry((from, to)).or_default().push(Bound {
                    early: sender.time,
                    late: receiver.time,
                });
            }
        }
        for collective in matched
            .collectives
            .iter()
            .filter(|it| it.op.is_all_to_all())
        {
            checks.next(collective.members.len())?;
            bounds.meet(collective);
        }
        bounds.origin = bounds.origin.min(bounds.end);
        bounds.likely = likely::bounds(&bounds, view, matched, job)?;
        Ok(bounds)
    }

    /// Returns the ticks from the origin to a time. The difference is exact as a float; a large absolute time is not.
    pub(super) fn since_origin(&self, time: Ticks) -> f64 {
        time.saturating_since(self.origin) as f64
    }

    /// Returns the process of a location.
    pub(super) fn process(&self, location: LocationId) -> Option<usize> {
        self.process_of.get(location.index()).copied()
    }

    fn see(&mut self, time: Ticks) {
        self.origin = self.origin.min(time);
        self.end = self.end.max(time);
    }

    fn meet(&mut self, collective: &CollectiveInstance) {
        let is_barrier = collective.op == CollectiveOp::Barrier;
        let mut meeting = Meeting {
            begins: Vec::new(),
            ends: Vec::new(),
        };
        for member in &collective.members {
            let Some(process) = self.process(member.begin.location) else {
                continue;
            };
            self.see(member.begin.time);
            self.see(member.end.time);
            if is_barrier || member.sent > 0 {
                meeting.begins.push((process, member.begin.time));
            }
            if is_barrier || member.received > 0 {
                meeting.ends.push((process, member.end.time));
            }
        }
        self.meetings.push(meeting);
    }
}
