//! [`find`]: collective operations of MPI, from attributes of the calls, for recordings that have
//! no events of collective operations, such as Chrome JSON.

use super::collective_attributes::{ByRank, Names, Operation, operations};
use super::scan::Scanned;
use super::{Call, CallCollective, CallId, CallMember};
use crate::Result;
use perf_core::{CommId, Event, Job, LocationId, TraceView};
use std::collections::{BTreeMap, BTreeSet};

/// Returns the collective operations that attributes of MPI calls describe.
pub(super) fn find(
    view: TraceView<'_>,
    scanned: &[Scanned],
    job: &Job,
) -> Result<Vec<CallCollective>> {
    let definitions = view.definitions();
    let names = Names::new(definitions);
    if !names.has_operations() {
        return Ok(Vec::new());
    }
    let mut groups: BTreeMap<Option<CommId>, ByRank> = BTreeMap::new();
    let mut roots: BTreeSet<CallId> = BTreeSet::new();
    let mut checks = job.checks();
    for (location, own) in (0..).map(LocationId).zip(scanned) {
        let Some(events) = view.trace().events().get(location.index()) else {
            continue;
        };
        for (index, at) in events.times().iter().enumerate() {
            checks.next(1)?;
            if !matches!(events.event(index), Some(Event::Enter { .. })) {
                continue;
            }
            let facts = names.facts(events, index);
            let place = own.calls.partition_point(|call| call.enter <= *at);
            let call = place.checked_sub(1).and_then(|at| own.calls.get(at));
            let is_own = |it: &&Call| it.enter == *at && !it.kind.is_local();
            let (Some(_), Some(call)) = (facts.op, call.filter(is_own)) else {
                continue;
            };
            let id = CallId {
                location,
                // There are no more calls than events, which are counted.
                index: (place - 1) as u32,
            };
            if facts.is_root {
                roots.insert(id);
            }
            let of = groups.entry(facts.group).or_default();
            let rank = definitions.system.process(location);
            of.entry(rank).or_default().push(Operation {
                facts,
                member: CallMember {
                    call: id,
                    begin: call.enter,
                    end: call.leave,
                    sent: facts.sent.unwrap_or_default(),
                    received: facts.received.unwrap_or_default(),
                },
            });
        }
    }
    let mut found = operations(groups, &definitions.comms, &roots);
    found.sort_by_key(|it| it.members.iter().map(|member| member.begin).min());
    Ok(found)
}
