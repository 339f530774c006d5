//! Collective operations of accelerators: kernels of NCCL and RCCL as an [`Operation`] of each
//! rank, with [`Facts`] from attributes, matched between ranks by group and number, or by order.

use super::devices::Streams;
use super::regions::{host_operation, kernel_operation};
use super::scan::Scanned;
use super::{CallCollective, CallId, CallMember};
use crate::Result;
use perf_core::{
    AttributeId, CollectiveOp, CommId, Communicator, Definitions, Event, EventId, Events, Job,
    LinkKind, LocationGroupId, LocationId, Members, TraceView, Value,
};
use std::collections::{BTreeMap, BTreeSet};

/// Largest number of shifts that are tried to match the operations of two ranks by their order.
const MAX_SHIFTS: usize = 64;

/// Attributes of collective operations.
#[derive(Default)]
pub(super) struct Names {
    op: Option<AttributeId>,
    group: Option<AttributeId>,
    number: Option<AttributeId>,
    sent: Option<AttributeId>,
    received: Option<AttributeId>,
    root: Option<AttributeId>,
}

/// Facts about an operation on one rank.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Facts {
    pub(super) op: Option<CollectiveOp>,
    pub(super) group: Option<CommId>,
    pub(super) number: Option<u64>,
    pub(super) sent: Option<u64>,
    pub(super) received: Option<u64>,
    /// `true` if the rank is known to be the root.
    pub(super) is_root: bool,
}

impl Names {
    pub(super) fn new(definitions: &Definitions) -> Self {
        let find = |name: &str| {
            let mut attributes = definitions.attributes.iter();
            AttributeId::from_index(attributes.position(|it| it.name == name)?)
        };
        Names {
            op: find("collective"),
            group: find("group"),
            number: find("sequence"),
            sent: find("sent"),
            received: find("received"),
            root: find("root"),
        }
    }

    /// Returns `true` if events may have an operation.
    pub(super) fn has_operations(&self) -> bool {
        self.op.is_some()
    }

    /// Returns the facts in the attributes of an event.
    pub(super) fn facts(&self, events: &Events, index: usize) -> Facts {
        let mut facts = Facts::default();
        for it in events.attributes(index) {
            let Value::U64(value) = it.value else {
                continue;
            };
            match Some(it.attribute) {
                id if id == self.op => {
                    facts.op = u8::try_from(value).ok().map(CollectiveOp::from_code);
                }
                id if id == self.group => facts.group = u32::try_from(value).ok().map(CommId),
                id if id == self.number => facts.number = Some(value),
                id if id == self.sent => facts.sent = Some(value),
                id if id == self.received => facts.received = Some(value),
                id if id == self.root => facts.is_root = value != 0,
                _ => {}
            }
        }
        facts
    }
}

impl Facts {
    /// Returns these facts; missing facts are taken from `other`.
    fn or(self, other: Facts) -> Facts {
        Facts {
            op: self.op.or(other.op),
            group: self.group.or(other.group),
            number: self.number.or(other.number),
            sent: self.sent.or(other.sent),
            received: self.received.or(other.received),
            is_root: self.is_root || other.is_root,
        }
    }
}

/// An operation on one rank.
#[derive(Clone, Copy)]
pub(super) struct Operation {
    pub(super) facts: Facts,
    pub(super) member: CallMember,
}

/// Operations of a group by rank, in order of time.
pub(super) type ByRank = BTreeMap<Option<LocationGroupId>, Vec<Operation>>;

/// Returns the collective operations of the streams.
pub(super) fn find(
    view: TraceView<'_>,
    streams: &Streams,
    scanned: &[Scanned],
    job: &Job,
) -> Result<Vec<CallCollective>> {
    if !streams.collectives.contains(&true) {
        return Ok(Vec::new());
    }
    let definitions = view.definitions();
    let names = Names::new(definitions);
    let around = host_facts(view, streams, &names, job)?;
    let mut groups: BTreeMap<Option<CommId>, ByRank> = BTreeMap::new();
    for (location, stream) in &streams.streams {
        job.check()?;
        let Some(events) = view.trace().events().get(location.index()) else {
            continue;
        };
        for (place, it) in stream.work.iter().enumerate() {
            if !streams.is_collective(it) {
                continue;
            }
            let own = names.facts(events, it.enter);
            let host = around.get(&(*location, place)).copied();
            let mut facts = own.or(host.unwrap_or_default());
            let name = definitions.region_name(it.region);
            facts.op = facts.op.or_else(|| kernel_operation(&name));
            let known = |call: CallId| {
                let calls = &scanned.get(call.location.index())?.calls;
                Some((call, *calls.get(call.index as usize)?))
            };
            let call = stream.collective(*location, place).and_then(known);
            let Some((call, times)) = call else {
                continue;
            };
            let rank = definitions.system.process(*location);
            let of = groups.entry(facts.group).or_default();
            of.entry(rank).or_default().push(Operation {
                facts,
                member: CallMember {
                    call,
                    begin: times.enter,
                    end: times.leave,
                    sent: facts.sent.unwrap_or_default(),
                    received: facts.received.unwrap_or_default(),
                },
            });
        }
    }
    Ok(operations(groups, &definitions.comms, &BTreeSet::new()))
}

/// Returns the collective operations of all groups. `comms` are the communicators of the recording, and `roots` the
/// calls that are known to be those of roots.
pub(super) fn operations(
    groups: BTreeMap<Option<CommId>, ByRank>,
    comms: &[Communicator],
    roots: &BTreeSet<CallId>,
) -> Vec<CallCollective> {
    let mut found = Vec::new();
    for (group, mut ranks) in groups {
        for own in ranks.values_mut() {
            own.sort_by_key(|it| (it.member.begin, it.member.call));
        }
        let comm = group.and_then(|group| comms.get(group.index()));
        let size = match comm.map(|comm| &comm.members) {
            Some(Members::Ranks(ranks)) => Some(ranks.len()),
            _ => None,
        };
        let ranks: Vec<Vec<Operation>> = ranks.into_values().collect();
        for (op, mut members) in matched(&ranks) {
            members.sort_unstable_by_key(|it| it.call);
            found.push(CallCollective {
                op,
                comm: group.unwrap_or(CommId(u32::MAX)),
                root: members.iter().position(|it| roots.contains(&it.call)),
                members,
                size,
            });
        }
    }
    found
}

/// Returns the operations of a group with their members, matched by number if all operations have one, otherwise by
/// order.
fn matched(ranks: &[Vec<Operation>]) -> Vec<(CollectiveOp, Vec<CallMember>)> {
    let has_numbers = ranks.iter().flatten().all(|it| it.facts.number.is_some());
    let longest = ranks.iter().max_by_key(|it| it.len());
    let mut found: BTreeMap<(u64, Option<CollectiveOp>), Vec<CallMember>> = BTreeMap::new();
    for own in ranks {
        let shift = longest.map_or(0, |longest| shift(longest, own));
        for (place, it) in own.iter().enumerate() {
            let number = it.facts.number.filter(|_| has_numbers);
            let number = number.unwrap_or((place + shift) as u64);
            found
                .entry((number, it.facts.op))
                .or_default()
                .push(it.member);
        }
    }
    let several = found.into_iter().filter(|(_, members)| members.len() > 1);
    several
        .filter_map(|((_, op), members)| Some((op?, members)))
        .collect()
}

/// Returns the number of operations of the longest list that precede the first operation of `own`. This shift matches
/// the most equal operations; among such shifts, the ends of the operations are nearest.
fn shift(longest: &[Operation], own: &[Operation]) -> usize {
    let most = (longest.len() - own.len()).min(MAX_SHIFTS);
    let distance = |shift: usize| {
        let pairs = own.iter().zip(longest.iter().skip(shift));
        let (mut same, mut off) = (0_u64, 0_u128);
        for (a, b) in pairs {
            let of = |it: &Operation| (it.facts.op, it.facts.sent, it.facts.received);
            same += u64::from(of(a) == of(b));
            off += u128::from(a.member.end.0.abs_diff(b.member.end.0));
        }
        (std::cmp::Reverse(same), off)
    };
    let shifts = 0..=most;
    shifts.min_by_key(|shift| distance(*shift)).unwrap_or(0)
}

/// Returns the facts of the calls around the launches of collective operations, by stream and place of the work.
fn host_facts(
    view: TraceView<'_>,
    streams: &Streams,
    names: &Names,
    job: &Job,
) -> Result<BTreeMap<(LocationId, usize), Facts>> {
    // Launches of each host by the number of their event.
    let mut launches: BTreeMap<LocationId, BTreeMap<u32, EventId>> = BTreeMap::new();
    for link in view.trace().links() {
        let is_collective = |event: EventId| {
            let stream = streams.streams.get(&event.location)?;
            let work = stream.work.get(streams.place(event)?)?;
            Some(streams.is_collective(work))
        };
        if link.kind == LinkKind::Launch && is_collective(link.to) == Some(true) {
            let own = launches.entry(link.from.location).or_default();
            own.insert(link.from.index, link.to);
        }
    }
    let regions = view.definitions().regions.iter();
    let operations: Vec<Option<CollectiveOp>> =
        regions.map(|it| host_operation(&it.name)).collect();
    let mut found = BTreeMap::new();
    let mut checks = job.checks();
    for (location, launches) in launches {
        let Some(events) = view.trace().events().get(location.index()) else {
            continue;
        };
        let mut stack: Vec<Facts> = Vec::new();
        for index in 0..events.len() {
            checks.next(1)?;
            match events.event(index) {
                Some(Event::Enter { region }) => {
                    let outer = stack.last().copied().unwrap_or_default();
                    let op = operations.get(region.index()).copied().flatten();
                    let own = names.facts(events, index);
                    let named = Facts {
                        op,
                        ..Facts::default()
                    };
                    stack.push(own.or(named).or(outer));
                }
                Some(Event::Leave { .. }) => {
                    stack.pop();
                }
                _ => {}
            }
            let to = u32::try_from(index).ok();
            let to = to.and_then(|index| launches.get(&index));
            if let Some((to, facts)) = to.zip(stack.last())
                && let Some(place) = streams.place(*to)
            {
                found.insert((to.location, place), *facts);
            }
        }
    }
    Ok(found)
}
