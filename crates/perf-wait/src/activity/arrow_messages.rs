//! [`messages`]: messages from the arrows between MPI calls, for recordings that have no records of
//! messages, such as Chrome JSON.

use super::scan::Scanned;
use super::{CallId, CallKind, CallMessage, UNKNOWN};
use crate::Result;
use perf_core::{CommId, EventId, Job, LinkKind, TraceView};

/// Returns the arrows that stand for messages, in order of sending time: those from an MPI call that sends to an MPI
/// call of another location that receives. Other arrows may mean anything. Their communicator, tag and length are unknown.
pub(super) fn messages(
    view: TraceView<'_>,
    scanned: &[Scanned],
    job: &Job,
) -> Result<Vec<CallMessage>> {
    let mut found = Vec::new();
    let mut checks = job.checks();
    let arrows = view.trace().links().iter();
    for arrow in arrows.filter(|it| it.kind == LinkKind::Flow) {
        checks.next(1)?;
        let is_between = arrow.from.location != arrow.to.location;
        let ends = call(view, scanned, arrow.from).zip(call(view, scanned, arrow.to));
        let Some(((send, sending), (receive, receiving))) = ends.filter(|_| is_between) else {
            continue;
        };
        let is_send = sending.is_blocking_send() || sending == CallKind::StartSend;
        let is_receive = receiving.is_blocking_receive() || receiving.is_wait();
        if !is_send || !is_receive {
            continue;
        }
        // Without the call that posted the receive, nothing is known about late receivers.
        let is_known = sending.is_blocking_send() && receiving.is_blocking_receive();
        let own = scanned.get(send.location.index());
        let entered = own.and_then(|own| own.calls.get(send.index as usize));
        found.push(CallMessage {
            sender: send.location,
            receiver: receive.location,
            send: send.index,
            sent: if is_known { send.index } else { UNKNOWN },
            post: receive.index,
            receive: receive.index,
            send_time: entered.map_or_else(Default::default, |call| call.enter),
            comm: CommId(u32::MAX),
            tag: 0,
            bytes: 0,
        });
    }
    found.sort_by_key(|it| it.send_time);
    Ok(found)
}

/// Returns the call that contains an event, with its role.
fn call(view: TraceView<'_>, scanned: &[Scanned], event: EventId) -> Option<(CallId, CallKind)> {
    let at = view.location(event.location)?;
    let at = at.all().time(event.index as usize)?;
    let calls = &scanned.get(event.location.index())?.calls;
    let place = calls
        .partition_point(|call| call.enter <= at)
        .checked_sub(1)?;
    let call = calls.get(place).filter(|call| at <= call.leave)?;
    let id = CallId {
        location: event.location,
        index: u32::try_from(place).ok()?,
    };
    Some((id, call.kind))
}

#[cfg(test)]
mod tests {
    use crate::activity::Activities;
    use crate::waits::{Pattern, WaitStates};
    use perf_core::{
        Definitions, EventId, Events, Job, Link, LinkKind, Location, LocationId, Region, RegionId,
        SystemTree, Ticks, Trace,
    };

    const NAMES: [&str; 5] = ["MPI_Send", "MPI_Isend", "MPI_Recv", "MPI_Waitall", "task"];
    const TO: [u32; 5] = [0, 1, 2, 3, 4];

    /// Returns two locations with a call each, and an arrow from the first to the second.
    fn trace(calls: [(u32, u64, u64); 2], kind: LinkKind) -> Trace {
        let mut definitions = Definitions::default();
        let locations = (0..2).map(|key| Location {
            key,
            ..Location::default()
        });
        definitions.system =
            SystemTree::new(vec![], vec![], locations.collect(), &Default::default()).unwrap();
        definitions.regions = NAMES.map(Region::named).to_vec();
        let events = calls.map(|(region, enter, leave)| {
            let mut events = Events::default();
            events.push_enter(Ticks(enter), RegionId(region));
            events.push_leave(Ticks(leave), RegionId(region));
            events
        });
        let [from, to] = [0, 1].map(|location| EventId {
            location: LocationId(location),
            index: 0,
        });
        let trace = Trace::new(definitions, events.to_vec()).unwrap();
        trace.with_links(vec![Link { from, to, kind }]).unwrap()
    }

    /// Returns the wait states as (kind, location, ticks).
    fn states(trace: &Trace) -> Vec<(Pattern, u32, u64)> {
        let job = Job::default();
        let activities = Activities::of(trace.view(), &job).unwrap();
        let waits = WaitStates::of_activities(&activities, &job).unwrap();
        let states = waits.states().iter();
        states
            .map(|it| (it.pattern, it.call.location.0, it.ticks))
            .collect()
    }

    #[test]
    fn arrows_between_mpi_calls_are_messages() {
        let [send, start, receive, wait, task] = TO;
        let late = |from, to| trace([(from, 50, 60), (to, 10, 62)], LinkKind::Flow);
        for (from, to) in [(send, receive), (start, receive), (send, wait)] {
            assert_eq!(states(&late(from, to)), [(Pattern::LateSender, 1, 40)]);
        }
        for (from, to) in [(task, receive), (send, task), (receive, send)] {
            assert_eq!(states(&late(from, to)), [], "{}", NAMES[from as usize]);
        }
        let launch = trace([(send, 50, 60), (receive, 10, 62)], LinkKind::Launch);
        assert_eq!(states(&launch), []);
    }

    #[test]
    fn only_arrows_to_receives_tell_late_receivers() {
        let [send, _, receive, wait, _] = TO;
        let late = |to| trace([(send, 10, 62), (to, 50, 63)], LinkKind::Flow);
        assert_eq!(states(&late(receive)), [(Pattern::LateReceiver, 0, 40)]);
        // The receive may be posted long before the wait.
        assert_eq!(states(&late(wait)), []);
    }
}
