//! [`trace`]: generated trace of any number of ranks and events, with calls nested up to eight deep
//! and a ring of messages; [`paths`]: trace of one rank with many call paths.

use crate::xorshift::Xorshift;
use perf_core::{
    CommId, Communicator, Definitions, Event, Events, Location, LocationGroup, LocationGroupId,
    LocationId, Members, Region, RegionId, SystemNode, SystemNodeId, SystemTree, Ticks, Trace,
    Transfer,
};

/// Number of regions of the trace.
pub const REGIONS: u32 = 200;
/// Deepest nesting of the trace.
pub const DEPTH: usize = 8;

/// Returns the definitions of the trace of `ranks` ranks: one thread for each process, 16
/// processes for each node, one communicator.
///
/// # Panics
/// Panics for 2^32 ranks or more.
pub fn definitions(ranks: u32) -> Definitions {
    let nodes = (0..ranks.div_ceil(16)).map(|node| SystemNode {
        name: format!("node{node:04}"),
        class: "node".into(),
        ..Default::default()
    });
    let groups = (0..ranks).map(|rank| LocationGroup {
        name: format!("MPI Rank {rank}"),
        parent: Some(SystemNodeId(rank / 16)),
        ..Default::default()
    });
    let threads = (0..ranks).map(|rank| Location {
        name: "Master thread".into(),
        group: Some(LocationGroupId(rank)),
        key: u64::from(rank),
        ..Default::default()
    });
    let limits = Default::default();
    let system = SystemTree::new(
        nodes.collect(),
        groups.collect(),
        threads.collect(),
        &limits,
    );
    let mut definitions = Definitions::default();
    definitions.system = system.expect("every parent exists");
    definitions.regions = (0..REGIONS)
        .map(|id| match id % 5 {
            0 => Region::named(format!("MPI_Call_{id}")),
            _ => Region::named(format!("function_{id}")),
        })
        .collect();
    definitions.comms.push(Communicator {
        name: "MPI_COMM_WORLD".into(),
        members: Members::Ranks((0..ranks).map(|rank| Some(LocationId(rank))).collect()),
        parent: None,
    });
    definitions
}

/// Returns a trace of one rank whose calls all have different call paths: `calls` MPI calls,
/// sixteen from each function, sixteen of which are called from each outer function.
///
/// # Panics
/// Does not panic.
pub fn paths(calls: u32) -> Trace {
    let mut inner = 0;
    while 16_u64.pow(inner + 1) < u64::from(calls) {
        inner += 1;
    }
    // Digits of the number of a call, the last of which belongs to the call itself.
    let region = |call: u32, level: u32| {
        let digit = call >> (4 * (inner - level)) & 15;
        RegionId(5 * digit + u32::from(level < inner))
    };
    let mut events = Events::default();
    let mut now = 0;
    let mut tick = || {
        now += 1;
        Ticks(now)
    };
    for call in 0..calls {
        let changed = match call {
            0 => inner,
            _ => (call.trailing_zeros() / 4).min(inner),
        };
        for level in (inner - changed..inner).rev().filter(|_| call > 0) {
            events.push_leave(tick(), region(call - 1, level));
        }
        for level in inner - changed..inner {
            events.push_enter(tick(), region(call, level));
        }
        events.push_enter(tick(), region(call, inner));
        events.push_leave(tick(), region(call, inner));
    }
    for level in (0..inner).rev().filter(|_| calls > 0) {
        events.push_leave(tick(), region(calls - 1, level));
    }
    Trace::new(definitions(1), vec![events]).expect("its regions and location are there")
}

/// Returns the events of one rank of the trace: exactly `count` of them, with every 32nd a send
/// to the next rank and every 32nd a receive from the previous one, and all frames closed at the
/// end. Equal arguments give equal events.
///
/// # Panics
/// Does not panic, because events are generated in order.
pub fn events(rank: u32, ranks: u32, count: usize) -> Events {
    let mut random = Xorshift::new(u64::from(rank) + 1);
    let mut events = Events::default();
    events.reserve(count);
    let mut open: Vec<RegionId> = Vec::with_capacity(DEPTH);
    let mut now = 1_000 + random.below(1_000);
    for index in 0..count {
        now += 200 + random.below(1_800);
        let left = count - index;
        let event = match (index % 32, open.len()) {
            (_, depth) if left <= depth => leave(&mut open),
            (15, depth) if left > depth + 1 => Event::Send(transfer((rank + 1) % ranks)),
            (31, depth) if left > depth + 1 => Event::Recv(transfer((rank + ranks - 1) % ranks)),
            (_, depth)
                if depth == 0 || (depth < DEPTH && random.below(2) == 0 && left > depth + 1) =>
            {
                // A single remaining event cannot be an enter, which would have no leave.
                if left == 1 {
                    Event::Measuring { on: true }
                } else {
                    let region = RegionId(random.below(u64::from(REGIONS)) as u32);
                    open.push(region);
                    Event::Enter { region }
                }
            }
            _ => leave(&mut open),
        };
        events.push(Ticks(now), event).expect("times ascend");
    }
    events
}

/// Returns a whole wide trace in memory.
///
/// # Panics
/// Panics for 2^32 ranks or more.
pub fn trace(ranks: u32, events_each: usize) -> Trace {
    let all = (0..ranks).map(|rank| events(rank, ranks, events_each));
    Trace::new(definitions(ranks), all.collect()).expect("one stream a location")
}

fn leave(open: &mut Vec<RegionId>) -> Event<'static> {
    let region = open.pop().unwrap_or_default();
    Event::Leave { region }
}

fn transfer(peer: u32) -> Transfer {
    Transfer {
        peer,
        comm: CommId(0),
        tag: 1,
        bytes: 8_192,
        request: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf_core::{Close, Job, Visitor, match_messages, replay};

    #[test]
    fn calls_are_balanced_and_messages_match() {
        struct Nothing;
        impl Visitor for Nothing {
            fn enter(&mut self, _: Ticks, _: RegionId, depth: usize) {
                assert!(depth < DEPTH);
            }
            fn leave(&mut self, _: Ticks, _: RegionId, _: usize, why: Close) {
                assert_eq!(why, Close::Top);
            }
        }
        for count in [0, 1, 2, 31, 1_000, 1_001] {
            let trace = trace(3, count);
            assert_eq!(trace.len(), 3 * count);
            for location in trace.view().locations() {
                assert_eq!(
                    replay(location, &mut Nothing, &Job::default())
                        .unwrap()
                        .repairs(),
                    0
                );
            }
        }
        let found = match_messages(trace(3, 1_001).view(), &Job::default()).unwrap();
        assert!(found.messages.len() > 80, "{}", found.messages.len());
        assert_eq!(found.unmatched, []);
    }
}
