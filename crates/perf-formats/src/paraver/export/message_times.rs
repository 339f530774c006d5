//! [`Ends`]: second timestamps of messages, which are the completion of a send and the call of a receive.

use super::event_types::{Is, Names};
use super::steps::{Step, Steps};
use perf_core::{Endpoint, Event, LocationId, Ticks};
use std::collections::HashMap;

/// Second timestamps of the ends of messages; ends without one are missing.
#[derive(Debug, Default)]
pub(super) struct Ends(HashMap<Endpoint, Ticks>);

impl Ends {
    /// Returns the second timestamp of an end, or its own time if there is none.
    pub(super) fn of(&self, end: Endpoint) -> Ticks {
        self.0.get(&end).copied().unwrap_or(end.time)
    }

    /// Adds the second timestamps of a location.
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

/// Open operations of a location.
#[derive(Debug, Default)]
struct Open {
    /// Enter times of the open MPI calls.
    calls: Vec<Ticks>,
    /// Time of each posted receive request.
    posted: HashMap<u64, Ticks>,
    /// Send of each open request.
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
                // A blocking receive was called at the begin of its MPI call.
                if let Some(called) = posted.or(self.calls.last().copied()) {
                    ends.insert(end, called);
                }
            }
            _ => {}
        }
    }
}
