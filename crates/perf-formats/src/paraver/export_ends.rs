//! The other times of messages: when a send was complete, when a receive was called.

use super::export_names::{Is, Names};
use super::export_steps::{Step, Steps};
use perf_core::{Endpoint, Event, LocationId, Ticks};
use std::collections::HashMap;

/// The other time of each end of a message that has one.
#[derive(Debug, Default)]
pub(super) struct Ends(HashMap<Endpoint, Ticks>);

impl Ends {
    /// The other time of an end; its own where there is no other.
    pub(super) fn of(&self, end: Endpoint) -> Ticks {
        self.0.get(&end).copied().unwrap_or(end.time)
    }

    /// Adds those of a location.
    pub(super) fn add(&mut self, id: LocationId, mut steps: Steps<'_>, names: &Names<'_>) {
        let mut open = Open::default();
        while let Some(now) = steps.time() {
            steps.instant(|step| {
                let end = |index: usize| Endpoint {
                    time: now,
                    location: id,
                    index,
                };
                match step {
                    Step::Enter(region) if is_call(names, region) => open.calls.push(now),
                    Step::Leave(region) if is_call(names, region) => drop(open.calls.pop()),
                    Step::Event(event, index) => open.event(now, event, end(index), &mut self.0),
                    _ => {}
                }
            });
        }
    }
}

fn is_call(names: &Names<'_>, region: perf_core::RegionId) -> bool {
    matches!(names.is(region), Is::Call(..))
}

/// What is under way on a location.
#[derive(Debug, Default)]
struct Open {
    /// When each MPI call that is open was entered.
    calls: Vec<Ticks>,
    posted: HashMap<u64, Ticks>,
    started: HashMap<u64, Endpoint>,
}

impl Open {
    fn event(
        &mut self,
        now: Ticks,
        event: Event<'_>,
        end: Endpoint,
        ends: &mut HashMap<Endpoint, Ticks>,
    ) {
        match event {
            Event::Send(transfer) => {
                if let Some(request) = transfer.request {
                    self.started.insert(request, end);
                }
            }
            Event::SendComplete { request } => {
                if let Some(send) = self.started.remove(&request) {
                    ends.insert(send, now);
                }
            }
            Event::RecvPost { request } => drop(self.posted.insert(request, now)),
            Event::Recv(transfer) => {
                let posted = transfer
                    .request
                    .and_then(|request| self.posted.remove(&request));
                // A blocking receive was called where its call began.
                if let Some(called) = posted.or(self.calls.last().copied()) {
                    ends.insert(end, called);
                }
            }
            _ => {}
        }
    }
}
